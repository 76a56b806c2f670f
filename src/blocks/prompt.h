/* Templates of instructions: what the tokenizer gets for the user's text. */
#ifndef VACT_BLOCKS_PROMPT_H
#define VACT_BLOCKS_PROMPT_H

#include <stddef.h>
#include <stdint.h>

typedef struct vact_prompt {
    const char *text;
    const float *state; /* [n_state], normalised, for policies that read it as text */
    int32_t n_state;
} vact_prompt;

/* The text, and a line feed if it doesn't end in one. Writes to out [size] with a closing NUL; returns the length. */
int vact_prompt_line(char *out, size_t size, const vact_prompt *prompt);

#endif
