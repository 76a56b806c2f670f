/* the names of tokenizer.ggml.pre <-> steps of byte-level tokenizers
 *
 * The expressions are those of the models' own tokenizer.json files. Qwen's also has the normal form C. */
#include "base/error.h"
#include "text/parts.h"
#include <string.h>

#define TAIL " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define HEAD "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|"
#define GPT2 "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"

const char vact_gpt2_words[] = GPT2;
const vact_edit vact_blank_before = { .kind = VACT_EDIT_PREPEND, .content = " ", .length = 1, .unless_there = true };

static const vact_recipe recipes[] = {
    { { "gpt-2" }, .splits = { GPT2 } },
    { { "smollm" }, .splits = { "\\p{N}", GPT2 } },
    { { "llama-bpe", "llama3", "llama-v3" },
      .ignore_merges = true,
      .add_bos = true,
      .splits = { HEAD "\\p{N}{1,3}|" TAIL } },
    { { "qwen2", "deepseek-r1-qwen" }, .nfc = true, .splits = { HEAD "\\p{N}|" TAIL } },
    { { "default" }, .splits = { "[\\p{P}\\$\\+<=>\\^~\\|]+", GPT2, "\\p{N}+", "[0-9][0-9][0-9]" } },
};

enum { N_RECIPES = sizeof recipes / sizeof *recipes, MOST_SPLITS = sizeof recipes->splits / sizeof *recipes->splits };

const vact_recipe *vact_recipe_find(const char *pre, size_t length)
{
    for (size_t i = 0; i < N_RECIPES; i++)
        for (size_t j = 0; j < sizeof recipes->pre / sizeof *recipes->pre && recipes[i].pre[j]; j++)
            if (vact_text_is(pre, length, recipes[i].pre[j]))
                return &recipes[i];
    return NULL;
}

static size_t count_splits(const vact_recipe *recipe)
{
    size_t n = 0;
    while (n < MOST_SPLITS && recipe->splits[n])
        n++;
    return n;
}

static bool same_steps(const vact_recipe *recipe, const vact_tokenizer *t)
{
    const vact_edit *form = &t->normaliser.edits[0];
    const bool nfc = t->normaliser.n == 1 && form->kind == VACT_EDIT_FORM && form->compose && !form->compatible;
    bool same = recipe->ignore_merges == t->ignore_merges && recipe->nfc == nfc && t->normaliser.n == (size_t)nfc &&
                t->n_splits == count_splits(recipe);
    for (size_t i = 0; i < t->n_splits && same; i++) {
        const vact_split *split = &t->splits[i];
        same = split->pattern.regex && vact_text_is(split->pattern.source, split->pattern.length, recipe->splits[i]) &&
               split->behavior == VACT_ISOLATED && !split->invert;
    }
    return same;
}

const vact_recipe *vact_recipe_of(const vact_tokenizer *t)
{
    for (size_t i = 0; i < N_RECIPES; i++)
        if (same_steps(&recipes[i], t))
            return &recipes[i];
    return NULL;
}

vact_status vact_recipe_use(const vact_recipe *recipe, vact_tokenizer *t, const char *name, vact_error *err)
{
    t->ignore_merges = recipe->ignore_merges;
    if (recipe->nfc)
        t->normaliser = (vact_edits){ .edits = { { .kind = VACT_EDIT_FORM, .compose = true } }, .n = 1 };
    const size_t n = count_splits(recipe);
    vact_status status = VACT_OK;
    for (size_t i = 0; i < n && status == VACT_OK; i++) {
        const char *source = recipe->splits[i];
        status = vact_pattern_open(&t->splits[i].pattern, name, source, strlen(source), true, err);
        t->n_splits = i + 1;
    }
    return status;
}
