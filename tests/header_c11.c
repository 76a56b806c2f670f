/* The public header is all that a strict C11 program needs. */
#include "vact.h"
#include <string.h>

int main(void)
{
    vact_model *model = NULL;
    vact_error err = { 0 };
    if (vact_model_open(&model, "/nonexistent.gguf", NULL, &err) != VACT_EIO || model != NULL)
        return 1;
    vact_model_close(&model);
    return strcmp(vact_version(), VACT_VERSION) != 0 || strstr(err.text, "/nonexistent.gguf") == NULL;
}
