/* Text -> token ids, as the models' own tokenizers do it.
 *
 * Two families, one machine: byte-level BPE (GPT-2, SmolLM2, Qwen2/3, Llama 3) and SentencePiece-style BPE with byte
 * fallback (Llama 2, Gemma, Mistral). Both are read from a Hugging Face tokenizer.json or from the tokenizer.ggml.*
 * keys of a GGUF file (ggml-org/ggml docs/gguf.md), and end up as the same tables:
 *
 *   text -> added tokens cut out -> normaliser -> pre-tokenizer words -> symbols -> merges by rank -> ids
 *
 * Text is UTF-8; each byte that belongs to no valid sequence counts as U+FFFD. A tokenizer is read-only after opening
 * and may be shared by threads; an encoder is one thread's working memory. */
#ifndef VACT_TEXT_TOKENIZER_H
#define VACT_TEXT_TOKENIZER_H

#include "file/gguf.h"

typedef struct vact_tokenizer vact_tokenizer;

/* Whether the file carries a tokenizer at all. */
bool vact_tokenizer_in_gguf(const vact_gguf *gguf);

/* The parsers copy what they keep. EFORMAT or ENOMEM, with one line that names the file and the key or field;
 * EMODEL: well-formed, but of a kind not implemented (its name is said). */
vact_status vact_tokenizer_from_gguf(vact_tokenizer **out, const vact_gguf *gguf, vact_error *err);
vact_status vact_tokenizer_from_json(vact_tokenizer **out, const char *name, const char *text, size_t length,
                                     vact_error *err);
/* From a file of either kind, told apart by its first bytes. */
vact_status vact_tokenizer_open(vact_tokenizer **out, const char *path, vact_error *err);
void vact_tokenizer_close(vact_tokenizer **tokenizer); /* accepts NULL and a pointer to NULL */

/* Largest id + 1. */
int32_t vact_tokenizer_size(const vact_tokenizer *tokenizer);

/* Declares the tokenizer.ggml.* keys that read back as this tokenizer; ids without a piece become unused pieces.
 * EMODEL: GGUF has no words for it (the reason is said). */
vact_status vact_tokenizer_put(const vact_tokenizer *tokenizer, vact_gguf_writer *w, vact_error *err);

/* ---- encoding ---- */

typedef struct vact_encoder vact_encoder;

/* The tokenizer outlives the encoder. Texts of up to `bytes` are encoded without allocating, but for those that the
 * tokenizer's steps make more than 3 times longer, or of which more ids come than bytes went in. */
vact_status vact_encoder_open(vact_encoder **out, const vact_tokenizer *tokenizer, size_t bytes, vact_error *err);
void vact_encoder_close(vact_encoder **encoder); /* accepts NULL and a pointer to NULL */

/* *ids [*n] are the encoder's, until its next call. With `special` the tokens that the tokenizer puts around every
 * text (beginning, end) are there; special tokens spelled out in the text are always read as such.
 * ENOMEM. EINPUT: a regular expression of the tokenizer's takes for ever on this text; those of known models don't. */
vact_status vact_encode(vact_encoder *encoder, const char *text, size_t length, bool special, const int32_t **ids,
                        size_t *n, vact_error *err);

#endif
