/* What the tokenizer.ggml.* keys mean, on small files made by hand; and which tokenizers have no words there. Ids follow
 * from the rules that each test states. */
#include "text/cases.h"
#include "text/gguf_keys.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define BLANK       "%e2%96%81"
#define YES(key)    K(key) "4:7 1:1 "
#define NO(key)     K(key) "4:7 1:0 "
#define ID(key, id) K(key) "4:4 4:" #id " "

/* The text's ids, as "1 2 3". */
static void check(const char *file, const char *text, bool special, const char *want)
{
    struct bytes b = { 0 };
    vact_gguf *gguf = NULL;
    vact_tokenizer *t = NULL;
    vact_encoder *e = NULL;
    vact_error err = { 0 };
    const int32_t *ids = NULL;
    size_t n = 0;
    char got[256] = "";
    bytes_build(&b, file);
    if (vact_gguf_parse(&gguf, "x", b.data, b.size, &err) != VACT_OK ||
        vact_tokenizer_from_gguf(&t, gguf, &err) != VACT_OK || vact_encoder_open(&e, t, 100, &err) != VACT_OK ||
        vact_encode(e, text, strlen(text), special, &ids, &n, &err) != VACT_OK)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < n; i++)
        snprintf(got + strlen(got), sizeof got - strlen(got), "%s%d", i ? " " : "", ids[i]);
    assert_string_equal(got, want);
    vact_encoder_close(&e);
    vact_tokenizer_close(&t);
    vact_gguf_close(&gguf);
    bytes_free(&b);
}

/* ---- "llama" ---- */

/* 0 <unk> 1 <s> 2 </s> 3 _ 4 a 5 b 6 _a 7 ab 8 aa 9 ba, scores: ab -1, aa ba -2, _a -3 */
#define PIECES                                                                                                         \
    LLAMA K("tokens") "4:9 4:8 8:10 s:<unk> s:<s> s:</s> s:" BLANK " s:a s:b s:" BLANK                                 \
                      "a s:ab s:aa s:ba " K("token_type") "4:9 4:5 8:10 4:2 4:3 4:3 4:1 4:1 4:1 4:1 4:1 4:1 4:1 " K(   \
                          "scores") "4:9 4:6 8:10 f:0 f:0 f:0 f:-9 f:-9 f:-9 f:-3 f:-1 f:-2 f:-2 "

static void test_the_highest_score_is_merged_first(void **state)
{
    (void)state;
    check(F(5, PIECES NO("add_space_prefix")), "aab", false, "4 7");
    check(F(5, PIECES NO("add_space_prefix")), "bab", false, "5 7");
}

static void test_of_equal_scores_the_leftmost_is_merged_first(void **state)
{
    (void)state;
    check(F(5, PIECES NO("add_space_prefix")), "aaa", false, "8 4");
    check(F(5, PIECES NO("add_space_prefix")), "baa", false, "9 4"); /* ba and aa */
}

static void test_a_blank_is_put_before_unless_the_file_says_no(void **state)
{
    (void)state;
    check(F(4, PIECES), "a", false, "6");
    check(F(5, PIECES YES("add_space_prefix")), "a", false, "6");
    check(F(5, PIECES NO("add_space_prefix")), "a", false, "4");
    check(F(5, PIECES NO("add_space_prefix")), " a", false, "6");
    check(F(4, PIECES), " a", false, "3 6");
    check(F(4, PIECES), "", false, "");
}

static void test_beginning_and_end_have_standard_ids(void **state)
{
    (void)state;
    check(F(4, PIECES), "a", true, "1 6");
    check(F(5, PIECES NO("add_bos_token")), "a", true, "6");
    check(F(5, PIECES YES("add_eos_token")), "a", true, "1 6 2");
    check(F(6, PIECES ID("bos_token_id", 9) ID("eos_token_id", 8)), "", true, "9");
}

static void test_special_tokens_in_the_text_are_read_as_such(void **state)
{
    (void)state;
    check(F(4, PIECES), "a</s>a<unk>", false, "6 2 6 0");
}

static void test_unknown_characters_are_one_token(void **state)
{
    (void)state;
    check(F(4, PIECES), "xyzaz", false, "3 0 4 0");
}

static void test_bytes_stand_for_unknown_characters(void **state)
{
    (void)state;
    static const char file[] =
        F(5, LLAMA K("tokens") "4:9 4:8 8:5 s:<unk> s:a s:<0xC3> s:<0xA9> s:%c3%a8 " K(
                 "token_type") "4:9 4:5 8:5 4:2 4:1 "
                               "4:6 4:6 4:1 " K("scores") "4:9 4:6 8:5 f:0 f:0 f:0 f:0 f:0 " NO("add_space_prefix"));
    check(file, "a\xC3\xA9\xC3\xA8", false, "1 2 3 4");
    check(file, "\xC3\xAA<0xA9>", false, "0"); /* no byte 0xAA; the name of a byte piece is no token */
}

/* As llama.cpp's converter writes Gemma: runs of blanks are user-defined, with plain spaces, and met in the raw text. */
static void test_user_defined_runs_are_found_before_blanks_change(void **state)
{
    (void)state;
    static const char file[] =
        F(5, LLAMA K("tokens") "4:9 4:8 8:6 s:<unk> s:a s:" BLANK " s:%20%20 s:%20%20%20 s:" BLANK
                               "a " K("token_type") "4:9 4:5 8:6 4:2 4:1 4:1 4:4 4:4 4:1 " K(
                                   "scores") "4:9 4:6 8:6 f:0 f:0 f:0 f:0 f:0 f:-1 " NO("add_space_prefix"));
    check(file, "a a", false, "1 5");
    check(file, "a  a", false, "1 3 1");
    check(file, "a     a", false, "1 4 3 1");
}

static void test_unused_pieces_take_no_part(void **state)
{
    (void)state;
    static const char file[] = F(
        5, LLAMA K("tokens") "4:9 4:8 8:4 s:<unk> s:a s:aa s:[PAD3] " K("token_type") "4:9 4:5 8:4 4:2 4:1 4:5 4:5 " K(
               "scores") "4:9 4:6 8:4 f:0 f:0 f:0 f:0 " NO("add_space_prefix"));
    check(file, "aa", false, "1 1");
    check(file, "[PAD3]", false, "0");
}

static void test_listed_merges_go_before_scores(void **state)
{
    (void)state;
    check(F(6, PIECES NO("add_space_prefix") K("merges") "4:9 4:8 8:2 s:a%20a s:a%20b "), "aab", false, "8 5");
}

/* ---- "gpt2" ---- */

/* 0 a 1 b 2 (space) 3 ab 4 (space)a 5 aab 6 1 7 ! 8 <s> */
#define BYTES(pre)                                                                                                     \
    GPT2 PRE_IS(pre) K("tokens") "4:9 4:8 8:9 s:a s:b s:%c4%a0 s:ab s:%c4%a0a s:aab s:1 s:! s:<s> " K(                 \
        "token_type") "4:9 4:5 8:9 4:1 4:1 4:1 4:1 4:1 4:1 4:1 4:1 4:3 " K("merges") "4:9 4:8 8:3 s:a%20b "            \
                                                                                     "s:%c4%a0%20a s:a%20b "

static void test_merges_keep_their_order_and_the_first_of_two_wins(void **state)
{
    (void)state;
    check(F(5, BYTES("gpt-2")), "ab a ab", false, "3 4 2 3");
}

/* Then pieces are normal, and words llama.cpp's default, which takes digits by threes where GPT-2's own does not. */
static void test_a_file_may_leave_out_types_and_words(void **state)
{
    (void)state;
    static const char bare[] =
        F(3, GPT2 K("tokens") "4:9 4:8 8:5 s:a s:b s:ab s:1 s:11 " K("merges") "4:9 4:8 8:2 s:a%20b s:1%201 ");
    static const char gpt2[] = F(4, GPT2 PRE_IS("gpt-2") K("tokens") "4:9 4:8 8:5 s:a s:b s:ab s:1 s:11 " K(
                                        "merges") "4:9 4:8 8:2 s:a%20b s:1%201 ");
    check(bare, "ab1111", true, "2 4 3 3");
    check(gpt2, "ab1111", true, "2 4 4");
}

static void test_a_word_in_the_vocabulary_is_taken_whole_by_llama3(void **state)
{
    (void)state;
    check(F(5, BYTES("gpt-2")), "aab", false, "0 3");
    check(F(6, BYTES("llama-bpe") ID("bos_token_id", 8)), "aab", false, "5");
    check(F(6, BYTES("llama3") NO("add_bos_token")), "aab", true, "5");
}

static void test_only_llama3_has_a_beginning_by_itself(void **state)
{
    (void)state;
    check(F(6, BYTES("llama-bpe") ID("bos_token_id", 8)), "a", true, "8 0");
    check(F(6, BYTES("qwen2") ID("bos_token_id", 8)), "a", true, "0");
    check(F(7, BYTES("qwen2") ID("bos_token_id", 8) YES("add_bos_token")), "<s>a", true, "8 8 0");
}

/* As ByteLevel's add_prefix_space: before each text between added tokens. */
static void test_a_blank_is_put_before_bytes_if_the_file_says_so(void **state)
{
    (void)state;
    check(F(5, BYTES("gpt-2")), "aab", false, "0 3");
    check(F(6, BYTES("gpt-2") NO("add_space_prefix")), "aab", false, "0 3");
    check(F(6, BYTES("gpt-2") YES("add_space_prefix")), "aab", false, "4 3");
    check(F(6, BYTES("gpt-2") YES("add_space_prefix")), " aab", false, "4 3");
    check(F(6, BYTES("gpt-2") YES("add_space_prefix")), "  aab", false, "2 4 3");
    check(F(6, BYTES("gpt-2") YES("add_space_prefix")), "", false, "");
    check(F(6, BYTES("gpt-2") YES("add_space_prefix")), "a<s>1", false, "4 8 2 6");
}

/* The ids are those of the Python package tokenizers, as in test_tokenizer_parts.c. */
static void test_a_byte_level_blank_goes_through_a_file(void **state)
{
    (void)state;
    json_t *parts = load_json(TEST_DATA "/tokenizer_parts.json");
    size_t i, found = 0;
    json_t *part;
    json_array_foreach(parts, i, part)
    {
        const char *name = json_string_value(json_object_get(part, "name"));
        if (strcmp(name, "byte level True True") != 0 && strcmp(name, "byte level False True") != 0)
            continue;
        vact_tokenizer *t = parse_tokenizer(json_object_get(part, "tokenizer"));
        vact_tokenizer *again = through_gguf(t, "test_tokenizer_gguf_blank.gguf");
        check_cases(again, name, json_object_get(part, "cases"));
        vact_tokenizer_close(&again);
        vact_tokenizer_close(&t);
        found++;
    }
    assert_int_equal(found, 2);
    json_decref(parts);
}

/* ---- what GGUF has no words for ---- */

#define FULL     "\"vocab\":{\"?\":0,\"a\":1,\"b\":2,\"ab\":3},\"merges\":[\"a b\"]"
#define SPACES   "\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"\xE2\x96\x81\"},"
#define FALLBACK "\"byte_fallback\":true,\"fuse_unk\":true,\"unk_token\":\"?\","
#define UNK      "\"added_tokens\":[{\"id\":0,\"content\":\"?\",\"special\":true,\"normalized\":false}],"
#define BPE(all) "\"model\":{\"type\":\"BPE\"," all FULL "}}"

static void test_a_tokenizer_without_words_in_gguf_is_emodel(void **state)
{
    (void)state;
    static const struct {
        const char *document, *why;
    } cases[] = {
        { "{" BPE(""), "its steps are not SentencePiece's" },
        { "{" SPACES BPE(""), "it lacks byte_fallback, fuse_unk or an unknown token" },
        { "{" SPACES BPE(FALLBACK), "its unknown token is not an added token" },
        { "{" UNK SPACES "\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"_\"}," BPE(FALLBACK),
          "its pre-tokenizer adds text" },
        { "{\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Metaspace\",\"replacement\":\"_\","
          "\"prepend_scheme\":\"never\",\"split\":false},{\"type\":\"ByteLevel\",\"add_prefix_space\":false}]}," BPE(
              ""),
          "its pre-tokenizer adds text" },
        { "{\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"use_regex\":false}," BPE(""),
          "tokenizer.ggml.pre has no name for its steps" },
        { "{\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false}," BPE("\"unk_token\":\"?\","),
          "it is byte-level and has an unknown token" },
        { "{\"added_tokens\":[{\"id\":4,\"content\":\"x\",\"normalized\":false,\"lstrip\":true}],"
          "\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false}," BPE(""),
          "an added token is normalized, lstrip, rstrip or single_word" },
        { "{\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"x\"}},{"
          "\"Sequence\":"
          "{\"id\":\"A\"}}],\"special_tokens\":{\"x\":{\"ids\":[1,2]}}}," BPE(""),
          "it puts more than one token before or behind a text" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        vact_tokenizer *t = NULL;
        vact_gguf_writer *w = NULL;
        vact_error err = { 0 };
        char want[256];
        if (vact_tokenizer_from_json(&t, "x", cases[i].document, strlen(cases[i].document), &err) != VACT_OK)
            fail_msg("%s: %s", cases[i].why, err.text);
        assert_int_equal(vact_gguf_writer_open(&w, "test_tokenizer_gguf.gguf", NULL), VACT_OK);
        assert_int_equal(vact_tokenizer_put(t, w, &err), VACT_EMODEL);
        snprintf(want, sizeof want, "test_tokenizer_gguf.gguf: GGUF cannot hold this tokenizer: %s", cases[i].why);
        assert_string_equal(err.text, want);
        vact_gguf_writer_close(&w);
        vact_tokenizer_close(&t);
    }
}

/* ---- scores alone ---- */

/* A file as other programs write it: without the merges. */
static void copy_without_merges(const char *from, const char *to)
{
    vact_gguf *gguf = NULL;
    vact_gguf_writer *w = NULL;
    assert_int_equal(vact_gguf_open(&gguf, from, NULL), VACT_OK);
    assert_int_equal(vact_gguf_writer_open(&w, to, NULL), VACT_OK);
    for (uint64_t i = 0; i < gguf->n_values; i++)
        if (strcmp(gguf->values[i].key, "tokenizer.ggml.merges") != 0)
            assert_int_equal(vact_gguf_put_value(w, &gguf->values[i], NULL), VACT_OK);
    assert_int_equal(vact_gguf_writer_finish(w, NULL), VACT_OK);
    vact_gguf_writer_close(&w);
    vact_gguf_close(&gguf);
}

/* The same ids by scores as by the merges that they were made from, and once more through a file. */
static void check_by_scores(const json_t *all, const char *name)
{
    static const char full[] = "test_tokenizer_gguf_full.gguf", scores[] = "test_tokenizer_gguf_scores.gguf";
    vact_gguf_writer *w = NULL;
    vact_tokenizer *t = open_named(name);
    assert_int_equal(vact_gguf_writer_open(&w, full, NULL), VACT_OK);
    assert_int_equal(vact_tokenizer_put(t, w, NULL), VACT_OK);
    assert_int_equal(vact_gguf_writer_finish(w, NULL), VACT_OK);
    vact_gguf_writer_close(&w);
    vact_tokenizer_close(&t);
    copy_without_merges(full, scores);
    t = open_tokenizer(scores);
    vact_tokenizer *again = through_gguf(t, full);
    check_cases(t, name, json_object_get(json_object_get(all, name), "python"));
    check_cases(again, name, json_object_get(json_object_get(all, name), "python"));
    vact_tokenizer_close(&again);
    vact_tokenizer_close(&t);
    unlink(full);
    unlink(scores);
}

static void test_scores_alone_give_the_same_ids(void **state)
{
    (void)state;
    json_t *all = load_json(TEST_DATA "/tokenizers.json");
    check_by_scores(all, "gemma3");
    check_by_scores(all, "mistral");
    check_by_scores(all, "llama2");
    json_decref(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_highest_score_is_merged_first),
        cmocka_unit_test(test_of_equal_scores_the_leftmost_is_merged_first),
        cmocka_unit_test(test_a_blank_is_put_before_unless_the_file_says_no),
        cmocka_unit_test(test_beginning_and_end_have_standard_ids),
        cmocka_unit_test(test_special_tokens_in_the_text_are_read_as_such),
        cmocka_unit_test(test_unknown_characters_are_one_token),
        cmocka_unit_test(test_bytes_stand_for_unknown_characters),
        cmocka_unit_test(test_user_defined_runs_are_found_before_blanks_change),
        cmocka_unit_test(test_unused_pieces_take_no_part),
        cmocka_unit_test(test_listed_merges_go_before_scores),
        cmocka_unit_test(test_merges_keep_their_order_and_the_first_of_two_wins),
        cmocka_unit_test(test_a_file_may_leave_out_types_and_words),
        cmocka_unit_test(test_a_word_in_the_vocabulary_is_taken_whole_by_llama3),
        cmocka_unit_test(test_only_llama3_has_a_beginning_by_itself),
        cmocka_unit_test(test_a_blank_is_put_before_bytes_if_the_file_says_so),
        cmocka_unit_test(test_a_byte_level_blank_goes_through_a_file),
        cmocka_unit_test(test_a_tokenizer_without_words_in_gguf_is_emodel),
        cmocka_unit_test(test_scores_alone_give_the_same_ids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
