/* A tokenizer's keys in a GGUF file, for bytes_build(). */
#ifndef TESTS_TEXT_GGUF_KEYS_H
#define TESTS_TEXT_GGUF_KEYS_H

#include "file/gguf_bytes.h"

#define F(n, all)   "r:GGUF 4:3 8:0 8:" #n " " all /* a file of n keys */
#define K(name)     "s:tokenizer.ggml." name " "
#define GPT2        K("model") "4:8 s:gpt2 "
#define LLAMA       K("model") "4:8 s:llama "
#define PRE_IS(pre) K("pre") "4:8 s:" pre " "

#endif
