/* Templates of instructions. */
#ifndef VACT_BLOCKS_PROMPT_H
#define VACT_BLOCKS_PROMPT_H

#include <stddef.h>

/* The text, and a line feed if it doesn't end in one. */
int vact_prompt_line(char *out, size_t size, const char *text);

#endif
