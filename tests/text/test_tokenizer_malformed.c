/* Tokenizers that must be refused: the status, and the sentence to the letter. */
#include "text/gguf_keys.h"
#include "text/tokenizer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct malformed {
    const char *fact, *input;
    vact_status status;
    const char *text;
};

/* ---- tokenizer.json ---- */

/* A document with single quotes for double ones. */
#define MODEL        "'model':{'type':'BPE','vocab':{'a':0,'b':1,'ab':2},'merges':['a b']}"
#define WITH(fields) "{" fields "," MODEL "}"
#define BPE(fields)  "{'model':{'type':'BPE'," fields "}}"
#define ADDED(token) WITH("'added_tokens':[" token "]")
#define PRE(value)   WITH("'pre_tokenizer':" value)
#define NORM(value)  WITH("'normalizer':" value)
#define POST(value)  WITH("'post_processor':" value)
#define SPLIT(regex) PRE("{'type':'Split','behavior':'Isolated','pattern':{'Regex':'" regex "'}}")

static const struct malformed documents[] = {
    { "nothing", "", VACT_EFORMAT, "not JSON at line 1, column 0: '[' or '{' expected near end of file" },
    { "an array", "[]", VACT_EFORMAT, "the document is an array, expected an object" },
    { "no model", "{}", VACT_EFORMAT, "field model: found missing, expected an object" },
    { "a model of no type", "{'model':{}}", VACT_EFORMAT, "field model.type: found missing, expected \"BPE\"" },
    { "another model", "{'model':{'type':'Unigram'}}", VACT_EMODEL,
      "field model: the type \"Unigram\" is not supported" },
    { "no vocabulary", BPE("'merges':[]"), VACT_EFORMAT, "field model.vocab: found missing, expected an object" },
    { "no merges", BPE("'vocab':{}"), VACT_EFORMAT, "field model.merges: found missing, expected an array" },
    { "an id of another type", BPE("'vocab':{'a':'0'}"), VACT_EFORMAT,
      "field model.vocab: an id is a string, expected an integer" },
    { "a negative id", BPE("'vocab':{'a':-1}"), VACT_EFORMAT,
      "field model.vocab: found the id -1, expected 0 to 2097151" },
    { "a huge id", BPE("'vocab':{'a':9000000000000000000}"), VACT_EFORMAT,
      "field model.vocab: found the id 9000000000000000000, expected 0 to 2097151" },
    { "an id twice", BPE("'vocab':{'a':3,'b':3},'merges':[]"), VACT_EFORMAT,
      "field model.vocab: found the id 3 twice, expected it once" },
    { "a piece twice", BPE("'vocab':{'a':3,'a':4},'merges':[]"), VACT_EFORMAT,
      "not JSON at line 1, column 41: duplicate object key near '\"a\"'" },
    { "an empty piece", BPE("'vocab':{'':0}"), VACT_EFORMAT,
      "field model.vocab: found a piece of 0 bytes, expected 1 to 1024" },
    { "a merge of one", BPE("'vocab':{'a':0},'merges':['a']"), VACT_EFORMAT,
      "field model.merges[0]: is \"a\", expected two pieces" },
    { "a merge of three", BPE("'vocab':{'a':0},'merges':[['a','a','a']]"), VACT_EFORMAT,
      "field model.merges[0]: found an array, expected \"left right\" or [left, right]" },
    { "a merge of numbers", BPE("'vocab':{'a':0},'merges':[[1,2]]"), VACT_EFORMAT,
      "field model.merges[0]: found an array, expected \"left right\" or [left, right]" },
    { "a merge of an unknown piece", BPE("'vocab':{'a':0,'ab':1},'merges':['a b']"), VACT_EFORMAT,
      "field model.merges[0]: is \"a b\", expected two pieces" },
    { "a merge of two unknown pieces", BPE("'vocab':{'a':0},'merges':[['b','c\\n']]"), VACT_EFORMAT,
      "field model.merges[0]: is \"b c\\n\", expected two pieces" },
    { "a merge that makes no piece", BPE("'vocab':{'a':0,'b':1,'ab':2},'merges':['a b','b a']"), VACT_EFORMAT,
      "field model.merges[1]: is \"b a\", which makes no piece" },
    { "a merge that is a number", BPE("'vocab':{'a':0},'merges':[7]"), VACT_EFORMAT,
      "field model.merges[0]: found an integer, expected \"left right\" or [left, right]" },
    { "an unknown unknown", BPE("'vocab':{'a':0},'merges':[],'unk_token':'?'"), VACT_EFORMAT,
      "field model.unk_token: is no piece of model.vocab" },
    { "an unknown of another type", BPE("'vocab':{'a':0},'merges':[],'unk_token':0"), VACT_EFORMAT,
      "field model.unk_token: found an integer, expected a string or null" },
    { "a flag of another type", BPE("'vocab':{'a':0},'merges':[],'fuse_unk':1"), VACT_EFORMAT,
      "field model.fuse_unk: found an integer, expected true or false" },
    { "dropout", BPE("'vocab':{'a':0},'merges':[],'dropout':0.1"), VACT_EMODEL,
      "field model.dropout: found a number, expected null" },
    { "a prefix of subwords", BPE("'vocab':{'a':0},'merges':[],'continuing_subword_prefix':'##'"), VACT_EMODEL,
      "field model.continuing_subword_prefix: found a string, expected null" },
    { "truncation", WITH("'truncation':{'max_length':5}"), VACT_EMODEL,
      "field truncation: found an object, expected null" },
    { "padding", WITH("'padding':{}"), VACT_EMODEL, "field padding: found an object, expected null" },
    { "added tokens in an object", WITH("'added_tokens':{}"), VACT_EFORMAT,
      "field added_tokens: found an object, expected an array" },
    { "an added token that is a text", ADDED("'<x>'"), VACT_EFORMAT,
      "field added_tokens: an id is missing, expected an integer" },
    { "an added token without a text", ADDED("{'id':5}"), VACT_EFORMAT,
      "field added_tokens: a content is missing, expected a string" },
    { "an added token of nothing", ADDED("{'id':5,'content':''}"), VACT_EFORMAT,
      "field added_tokens: found a piece of 0 bytes, expected 1 to 1024" },
    { "an added token of a huge id", ADDED("{'id':2097152,'content':'x'}"), VACT_EFORMAT,
      "field added_tokens: found the id 2097152, expected 0 to 2097151" },
    { "an added token on another's id", ADDED("{'id':1,'content':'x\\n'}"), VACT_EFORMAT,
      "field added_tokens: \"x\\n\" has the id 1, and model.vocab says otherwise" },
    { "an added token that the normalizer makes long",
      WITH("'normalizer':{'type':'Replace','pattern':{'String':'a'},'content':'0123456789ABCDEF0123456789ABCDEF'},"
           "'added_tokens':[{'id':3,'content':'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa','normalized':true}]"),
      VACT_EFORMAT, "field added_tokens: found a piece of 1056 bytes, expected 1 to 1024" },
    { "an added token of two ids", ADDED("{'id':7,'content':'ab'}"), VACT_EFORMAT,
      "field added_tokens: \"ab\" has the id 7, and model.vocab says otherwise" },
    { "an added token twice",
      ADDED("{'id':3,'content':'x','normalized':false},{'id':4,'content':'x','normalized':false}"), VACT_EFORMAT,
      "field added_tokens: found \"x\" twice, expected it once" },
    { "an added token of a strange flag", ADDED("{'id':3,'content':'x','special':0}"), VACT_EFORMAT,
      "field added_tokens.special: found an integer, expected true or false" },
    { "a normalizer that is a text", NORM("'NFC'"), VACT_EFORMAT,
      "field normalizer: found a string, expected an object with a type" },
    { "a normalizer without a type", NORM("{}"), VACT_EFORMAT,
      "field normalizer: its type is missing, expected a string" },
    { "an unknown normalizer", NORM("{'type':'Lowercase'}"), VACT_EMODEL,
      "field normalizer: the type \"Lowercase\" is not supported" },
    { "a strange name", NORM("{'type':'\\u001b[31m\\n'}"), VACT_EMODEL,
      "field normalizer: the type \"\\x1b[31m\\n\" is not supported" },
    { "a sequence of nothing", NORM("{'type':'Sequence'}"), VACT_EFORMAT,
      "field normalizer: found missing in a Sequence's normalizers, expected an array" },
    { "nine normalizers",
      NORM("{'type':'Sequence','normalizers':[{'type':'NFC'},{'type':'NFC'},{'type':'NFC'},{'type':'NFC'},{'type':'NFC'"
           "},"
           "{'type':'NFC'},{'type':'NFC'},{'type':'NFC'},{'type':'NFC'}]}"),
      VACT_EMODEL, "field normalizer: more than 8 steps" },
    { "Prepend of nothing", NORM("{'type':'Prepend'}"), VACT_EFORMAT,
      "field normalizer.prepend: found missing, expected a string" },
    { "Replace of nothing", NORM("{'type':'Replace','content':'x'}"), VACT_EFORMAT,
      "field normalizer.String: found missing, expected a string" },
    { "Replace by a number", NORM("{'type':'Replace','pattern':{'String':'a'},'content':1}"), VACT_EFORMAT,
      "field normalizer.content: found an integer, expected a string" },
    { "an unknown pre-tokenizer", PRE("{'type':'BertPreTokenizer'}"), VACT_EMODEL,
      "field pre_tokenizer: the type \"BertPreTokenizer\" is not supported" },
    { "Split without a behavior", PRE("{'type':'Split','pattern':{'String':'a'}}"), VACT_EFORMAT,
      "field pre_tokenizer: the behavior of a Split is missing, expected Isolated, Removed, MergedWithPrevious, "
      "MergedWithNext or Contiguous" },
    { "Split of another behavior", PRE("{'type':'Split','behavior':'Removed ','pattern':{'String':'a'}}"), VACT_EFORMAT,
      "field pre_tokenizer: the behavior of a Split is \"Removed \", expected Isolated, Removed, MergedWithPrevious, "
      "MergedWithNext or Contiguous" },
    { "Split of a strange pattern", PRE("{'type':'Split','behavior':'Removed','pattern':'a'}"), VACT_EFORMAT,
      "field pre_tokenizer.String: found missing, expected a string" },
    { "a step behind ByteLevel",
      PRE("{'type':'Sequence','pretokenizers':[{'type':'ByteLevel','add_prefix_space':false},{'type':'Digits'}]}"),
      VACT_EMODEL, "field pre_tokenizer: a step behind ByteLevel is not supported" },
    { "a prefix behind a split", PRE("{'type':'Sequence','pretokenizers':[{'type':'Digits'},{'type':'ByteLevel'}]}"),
      VACT_EMODEL, "field pre_tokenizer: ByteLevel with add_prefix_space adds text behind a step that splits" },
    { "a strange scheme", PRE("{'type':'Metaspace','replacement':'_','prepend_scheme':'last'}"), VACT_EFORMAT,
      "field pre_tokenizer: prepend_scheme is \"last\", expected always, first or never" },
    { "an unknown post-processor", POST("{'type':'BertProcessing'}"), VACT_EMODEL,
      "field post_processor: the type \"BertProcessing\" is not supported" },
    { "a template without a list", POST("{'type':'TemplateProcessing'}"), VACT_EFORMAT,
      "field post_processor: the template's single is missing, expected an array" },
    { "a template without the text", POST("{'type':'TemplateProcessing','single':[]}"), VACT_EFORMAT,
      "field post_processor: the template's single has no Sequence A" },
    { "a template of two texts", POST("{'type':'TemplateProcessing','single':[{'Sequence':{'id':'B'}}]}"), VACT_EFORMAT,
      "field post_processor: the template's single has something beside SpecialToken and one Sequence A" },
    { "a template of an unknown token",
      POST("{'type':'TemplateProcessing','single':[{'SpecialToken':{'id':'x'}},{'Sequence':{'id':'A'}}]}"),
      VACT_EFORMAT, "field post_processor: a SpecialToken of the template has no ids in special_tokens" },
    { "a template of an id without a piece",
      POST("{'type':'TemplateProcessing','single':[{'SpecialToken':{'id':'x'}}],'special_tokens':{'x':{'ids':[3]}}}"),
      VACT_EFORMAT, "field post_processor: the id 3 is no token's" },
    { "a pattern that doesn't end", SPLIT("(a"), VACT_EMODEL,
      "the pattern \"(a\" is not supported: missing closing parenthesis" },
    { "words", SPLIT("\\\\w+"), VACT_EMODEL, "the pattern \"\\\\w+\" is not supported: \\\\w" },
    { "a set in a set", SPLIT("[a[b]]"), VACT_EMODEL, "the pattern \"[a[b]]\" is not supported: [b" },
    { "an intersection of sets", SPLIT("[a&&b]"), VACT_EMODEL, "the pattern \"[a&&b]\" is not supported: &&" },
    { "an option", SPLIT("(?m)a"), VACT_EMODEL, "the pattern \"(?m)a\" is not supported: (?m)" },
    { "a verb", SPLIT("(*UTF)a"), VACT_EMODEL, "the pattern \"(*UTF)a\" is not supported: (*UT" },
    { "a repeated repetition", SPLIT("a{2}+"), VACT_EMODEL, "the pattern \"a{2}+\" is not supported: }+" },
};

static void check_refused(const struct malformed *m, vact_status status, const vact_error *err, const void *t)
{
    if (status != m->status || err->code != status || t)
        fail_msg("%s: status %d: %s", m->fact, (int)status, err->text);
    if (strncmp(err->text, "x: ", 3) != 0 || strcmp(err->text + 3, m->text) != 0)
        fail_msg("%s: \"%s\", expected \"x: %s\"", m->fact, err->text, m->text);
}

static void test_malformed_documents_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof documents / sizeof *documents; i++) {
        vact_tokenizer *t = NULL;
        vact_error err = { 0 };
        char *text = strdup(documents[i].input);
        assert_non_null(text);
        for (char *c = text; *c; c++)
            *c = *c == '\'' ? '"' : *c;
        const vact_status status = vact_tokenizer_from_json(&t, "x", text, strlen(text), &err);
        check_refused(&documents[i], status, &err, t);
        free(text);
    }
}

/* The good document, so that the faults above are the only ones. */
static void test_the_document_without_faults_is_read(void **state)
{
    (void)state;
    vact_tokenizer *t = NULL;
    vact_error err = { 0 };
    static const char text[] =
        "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1,\"ab\":2},\"merges\":[\"a b\"]}}";
    assert_int_equal(vact_tokenizer_from_json(&t, "x", text, sizeof text - 1, &err), VACT_OK);
    assert_int_equal(vact_tokenizer_size(t), 3);
    vact_tokenizer_close(&t);
}

/* The text is at fault, not the tokenizer. */
static void test_a_text_that_a_pattern_gives_up_on_is_einput(void **state)
{
    (void)state;
    vact_tokenizer *t = NULL;
    vact_encoder *e = NULL;
    vact_error err = { 0 };
    const int32_t *ids = NULL;
    size_t n = 0;
    static const char text[] = "{\"pre_tokenizer\":{\"type\":\"Split\",\"behavior\":\"Isolated\",\"pattern\":"
                               "{\"Regex\":\"(?:a|a|a|a)+b\"}},"
                               "\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[]}}";
    assert_int_equal(vact_tokenizer_from_json(&t, "x", text, sizeof text - 1, &err), VACT_OK);
    assert_int_equal(vact_encoder_open(&e, t, 40, &err), VACT_OK);
    assert_int_equal(vact_encode(e, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", 32, false, &ids, &n, &err), VACT_OK);
    assert_int_equal(vact_encode(e, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac b", 34, false, &ids, &n, &err), VACT_EINPUT);
    assert_null(ids);
    assert_string_equal(err.text, "the tokenizer's pattern gives up on this text of 34 bytes");
    vact_encoder_close(&e);
    vact_tokenizer_close(&t);
}

static void test_a_piece_of_1025_bytes_is_refused(void **state)
{
    (void)state;
    char text[2000];
    vact_tokenizer *t = NULL;
    vact_error err = { 0 };
    snprintf(text, sizeof text, "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"%01025d\":0},\"merges\":[]}}", 0);
    assert_int_equal(vact_tokenizer_from_json(&t, "x", text, strlen(text), &err), VACT_EFORMAT);
    assert_string_equal(err.text, "x: field model.vocab: found a piece of 1025 bytes, expected 1 to 1024");
}

/* ---- GGUF ---- */

#define PRE_GPT2 PRE_IS("gpt-2")
#define TOKENS   K("tokens") "4:9 4:8 8:3 s:a s:b s:ab "
#define TYPES    K("token_type") "4:9 4:5 8:3 4:1 4:1 4:1 "
#define MERGES   K("merges") "4:9 4:8 8:1 s:a%20b "
#define SCORES   K("scores") "4:9 4:6 8:3 f:0 f:0 f:0 "

static const struct malformed files[] = {
    { "no tokenizer", F(0, ""), VACT_EFORMAT,
      "holds no tokenizer; vact inspect --embed-tokenizer writes a copy that does" },
    { "a model of another type", F(1, K("model") "4:4 4:1"), VACT_EFORMAT,
      "key tokenizer.ggml.model: found u32, expected string" },
    { "another model", F(1, K("model") "4:8 s:t5%0a"), VACT_EMODEL,
      "key tokenizer.ggml.model: \"t5\\n\" is not supported, expected gpt2 or llama" },
    { "no tokens", F(1, GPT2), VACT_EFORMAT, "key tokenizer.ggml.tokens: is missing, expected array of string" },
    { "tokens that are numbers", F(2, GPT2 K("tokens") "4:9 4:4 8:1 4:0"), VACT_EFORMAT,
      "key tokenizer.ggml.tokens: found array of u32, expected array of string" },
    { "no pieces", F(3, GPT2 K("tokens") "4:9 4:8 8:0 " K("token_type") "4:9 4:5 8:0"), VACT_EFORMAT,
      "key tokenizer.ggml.tokens: found 0 pieces, expected 1 to 2097152" },
    { "too few types", F(3, GPT2 TOKENS K("token_type") "4:9 4:5 8:2 4:1 4:1"), VACT_EFORMAT,
      "key tokenizer.ggml.token_type: found 2 elements, expected 3" },
    { "a strange type", F(3, GPT2 TOKENS K("token_type") "4:9 4:5 8:3 4:1 4:1 4:7"), VACT_EFORMAT,
      "key tokenizer.ggml.token_type: element 2 is 7, expected 1 to 6" },
    { "a piece twice", F(3, GPT2 K("tokens") "4:9 4:8 8:3 s:a s:b s:a " TYPES), VACT_EFORMAT,
      "key tokenizer.ggml.tokens: found \"a\" twice, expected it once" },
    { "a special token that is not UTF-8",
      F(3, GPT2 K("tokens") "4:9 4:8 8:3 s:a s:b s:%82 " K("token_type") "4:9 4:5 8:3 4:1 4:1 4:3"), VACT_EFORMAT,
      "key tokenizer.ggml.tokens: piece 2 is not UTF-8" },
    { "a pre of another type", F(4, GPT2 TOKENS TYPES K("pre") "4:4 4:1"), VACT_EFORMAT,
      "key tokenizer.ggml.pre: found u32, expected string" },
    { "an unknown pre", F(4, GPT2 TOKENS TYPES K("pre") "4:8 s:tekken"), VACT_EMODEL,
      "key tokenizer.ggml.pre: \"tekken\" is not supported" },
    { "a blank before of another type", F(5, GPT2 TOKENS TYPES PRE_GPT2 K("add_space_prefix") "4:4 4:1"), VACT_EFORMAT,
      "key tokenizer.ggml.add_space_prefix: found u32, expected bool" },
    { "no merges", F(4, GPT2 TOKENS TYPES PRE_GPT2), VACT_EFORMAT,
      "key tokenizer.ggml.merges: is missing, expected array of string" },
    { "a merge of one", F(5, GPT2 TOKENS TYPES PRE_GPT2 K("merges") "4:9 4:8 8:1 s:ab"), VACT_EFORMAT,
      "key tokenizer.ggml.merges: element 0 is \"ab\", expected two pieces" },
    { "a merge of nothing", F(5, GPT2 TOKENS TYPES PRE_GPT2 K("merges") "4:9 4:8 8:1 s:"), VACT_EFORMAT,
      "key tokenizer.ggml.merges: element 0 is \"\", expected two pieces" },
    { "a merge of an unknown piece", F(5, GPT2 TOKENS TYPES PRE_GPT2 K("merges") "4:9 4:8 8:2 s:a%20b s:a%20c"),
      VACT_EFORMAT, "key tokenizer.ggml.merges: element 1 is \"a c\", expected two pieces" },
    { "a merge that makes no piece", F(5, GPT2 TOKENS TYPES PRE_GPT2 K("merges") "4:9 4:8 8:1 s:b%20a"), VACT_EFORMAT,
      "key tokenizer.ggml.merges: element 0 is \"b a\", which makes no piece" },
    { "a beginning that isn't known", F(6, GPT2 TOKENS TYPES PRE_GPT2 MERGES K("add_bos_token") "4:7 1:1"),
      VACT_EFORMAT, "key tokenizer.ggml.bos_token_id: is missing, expected u32" },
    { "a beginning out of range",
      F(7, GPT2 TOKENS TYPES PRE_GPT2 MERGES K("add_bos_token") "4:7 1:1 " K("bos_token_id") "4:4 4:3"), VACT_EFORMAT,
      "key tokenizer.ggml.bos_token_id: found the id 3, expected less than 3" },
    { "a flag of another type", F(6, GPT2 TOKENS TYPES PRE_GPT2 MERGES K("add_bos_token") "4:4 4:1"), VACT_EFORMAT,
      "key tokenizer.ggml.add_bos_token: found u32, expected bool" },
    { "no scores", F(3, LLAMA TOKENS TYPES), VACT_EFORMAT,
      "key tokenizer.ggml.scores: is missing, expected array of f32" },
    { "too many scores", F(4, LLAMA TOKENS TYPES K("scores") "4:9 4:6 8:4 f:0 f:0 f:0 f:0"), VACT_EFORMAT,
      "key tokenizer.ggml.scores: found 4 elements, expected 3" },
    { "a score that is no number", F(4, LLAMA TOKENS TYPES K("scores") "4:9 4:6 8:3 f:0 f:nan f:0"), VACT_EFORMAT,
      "key tokenizer.ggml.scores: found NaN, expected a number" },
    { "an unknown token out of range", F(5, LLAMA TOKENS TYPES SCORES K("unknown_token_id") "4:4 4:9"), VACT_EFORMAT,
      "key tokenizer.ggml.unknown_token_id: found the id 9, expected less than 3" },
    { "an end that isn't a number",
      F(6, LLAMA TOKENS TYPES SCORES K("add_eos_token") "4:7 1:1 " K("eos_token_id") "4:8 s:x"), VACT_EFORMAT,
      "key tokenizer.ggml.eos_token_id: found string, expected u32" },
};

static void test_malformed_keys_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct bytes b = { 0 };
        vact_gguf *gguf = NULL;
        vact_tokenizer *t = NULL;
        vact_error err = { 0 };
        bytes_build(&b, files[i].input);
        if (vact_gguf_parse(&gguf, "x", b.data, b.size, &err) != VACT_OK)
            fail_msg("%s: %s", files[i].fact, err.text);
        const vact_status status = vact_tokenizer_from_gguf(&t, gguf, &err);
        check_refused(&files[i], status, &err, t);
        vact_gguf_close(&gguf);
        bytes_free(&b);
    }
}

static void test_a_missing_file_is_eio(void **state)
{
    (void)state;
    vact_tokenizer *t = NULL;
    vact_error err = { 0 };
    assert_int_equal(vact_tokenizer_open(&t, "no such file", &err), VACT_EIO);
    assert_null(t);
    assert_string_equal(err.text, "no such file: No such file or directory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_malformed_documents_are_refused),
        cmocka_unit_test(test_the_document_without_faults_is_read),
        cmocka_unit_test(test_a_text_that_a_pattern_gives_up_on_is_einput),
        cmocka_unit_test(test_a_piece_of_1025_bytes_is_refused),
        cmocka_unit_test(test_malformed_keys_are_refused),
        cmocka_unit_test(test_a_missing_file_is_eio),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
