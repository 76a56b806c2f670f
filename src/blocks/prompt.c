#include "blocks/prompt.h"

#include <stdio.h>
#include <string.h>

int vact_prompt_line(char *out, size_t size, const vact_prompt *prompt)
{
    const char *text = prompt->text;
    const size_t length = strlen(text);
    return snprintf(out, size, "%s%s", text, length && text[length - 1] == '\n' ? "" : "\n");
}
