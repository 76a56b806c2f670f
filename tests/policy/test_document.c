/* Request documents: what is read, and what is refused in which words; reply documents. In the texts here ' stands
 * for ". */
#include "policy/document.h"
#include "policy/small_model.h"
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Bytes 0 .. 11; floats 0, 0.25 .. 2.75; floats -1, -0.75 .. 1.75. */
#define BYTES    "AAECAwQFBgcICQoL"
#define FLOATS   "AAAAAAAAgD4AAAA/AABAPwAAgD8AAKA/AADAPwAA4D8AAABAAAAQQAAAIEAAADBA"
#define EMBEDDED "AACAvwAAQL8AAAC/AACAvgAAAAAAAIA+AAAAPwAAQD8AAIA/AACgPwAAwD8AAOA/"
#define U8(data) "{'width': 2, 'height': 2, 'format': 'rgb_u8', 'data': '" data "'}"

static vact_document document;
static vact_error err;
static const char *folder; /* of the documents here; NULL: they may name no files */

/* malloc'd to size, so a sanitizer sees any read beyond it. */
static char *unquote(const char *text)
{
    const size_t length = strlen(text);
    char *copy = malloc(length + !length);
    assert_non_null(copy);
    for (size_t i = 0; i < length; i++)
        copy[i] = text[i] == '\'' ? '"' : text[i];
    return copy;
}

static vact_status parse(const char *text)
{
    char *copy = unquote(text);
    err = (vact_error){ 0 };
    const vact_status status = vact_document_parse(
        &document, &info,
        &(vact_document_source){ .name = "doc", .folder = folder, .text = copy, .length = strlen(text) }, &err);
    free(copy);
    return status;
}

static void parse_good(const char *text)
{
    if (parse(text) != VACT_OK)
        fail_msg("%s: %s", text, err.text);
}

/* ---- what is read ---- */

static void test_a_whole_document_is_read(void **state)
{
    (void)state;
    parse_good("{'images': [" U8(
        BYTES) ", {'data': '" FLOATS "', 'format': 'rgb_f32', 'height': 2, 'width': 2}],"
               " 'tokens': [0, 9, 3], 'state': [0.5, -2, 1e3], 'state_units': 'model', 'action_units': 'real',"
               " 'noise': [1, 2, 3, 4, 5, -6.5], 'trace': ['prefix.*.k', 'step.0.x']}");
    const vact_request *q = &document.request;
    assert_int_equal(q->n_images, 2);
    assert_int_equal(q->images[0].width, 2);
    assert_int_equal(q->images[0].height, 2);
    assert_int_equal(q->images[0].format, VACT_RGB_U8);
    for (int i = 0; i < 12; i++)
        assert_int_equal(((const uint8_t *)q->images[0].data)[i], i);
    assert_int_equal(q->images[1].format, VACT_RGB_F32);
    for (int i = 0; i < 12; i++)
        assert_true(((const float *)q->images[1].data)[i] == (float)i / 4);
    assert_null(q->image_embeddings);
    assert_int_equal(q->n_tokens, 3);
    assert_memory_equal(q->tokens, ((const int32_t[]){ 0, 9, 3 }), 12);
    assert_int_equal(q->n_state, 3);
    assert_memory_equal(q->state, ((const float[]){ 0.5f, -2, 1000 }), 12);
    assert_int_equal(q->state_units, VACT_UNITS_MODEL);
    assert_int_equal(q->action_units, VACT_UNITS_REAL);
    assert_memory_equal(q->noise, ((const float[]){ 1, 2, 3, 4, 5, -6.5f }), 24);
    assert_false(q->has_seed);
    assert_string_equal(document.trace[0], "prefix.*.k");
    assert_string_equal(document.trace[1], "step.0.x");
    assert_null(document.trace[2]);
    vact_document_free(&document);
    assert_null(document.request.images);
}

/* tests/data/pictures/interlaced_5x1.png, whose pixels are in tests/data/pictures.json. */
#define PNG                                                                                                            \
    "iVBORw0KGgoAAAANSUhEUgAAAAUAAAABCAIAAAHum8MyAAAAG0lEQVR42mNg"                                                     \
    "sLnFwLH8P0Pwx36GCvGtemeyAD9gB0B4X+FdAAAAAElFTkSuQmCC"

static void test_pictures_come_as_files_or_pixels(void **state)
{
    (void)state;
    folder = TEST_DATA "/pictures";
    parse_good("{'images': [{'path': 'interlaced_5x1.png', 'name': 'front'}, {'data': '" PNG "', 'prepared': true},"
               " {'width': 4, 'height': 1, 'format': 'rgb_u8', 'data': '" BYTES "', 'prepared': false}],"
               " 'text': 'pick \\u00fcp'}");
    folder = NULL;
    const vact_image *images = document.request.images;
    assert_int_equal(document.request.n_images, 3);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(images[i].width, 5);
        assert_int_equal(images[i].height, 1);
        assert_int_equal(images[i].format, VACT_RGB_U8);
        const uint8_t *rgb = images[i].data;
        assert_memory_equal(rgb, ((const uint8_t[]){ 0, 60, 218, 120, 23, 181 }), 6);
        assert_memory_equal(rgb + 12, ((const uint8_t[]){ 8, 167, 255 }), 3);
    }
    assert_string_equal(images[0].camera, "front");
    assert_null(images[1].camera);
    assert_false(images[0].prepared);
    assert_true(images[1].prepared);
    assert_int_equal(images[2].width, 4);
    assert_false(images[2].prepared);
    assert_string_equal(document.request.text, "pick \xc3\xbcp");
    vact_document_free(&document);
}

static void test_pictures_that_cannot_be_read_are_refused(void **state)
{
    (void)state;
    folder = "no/such/folder";
    assert_int_equal(parse("{'images': [{'data': '" PNG "'}, {'path': 'x.png'}]}"), VACT_EIO);
    assert_string_equal(err.text, "no/such/folder/x.png: No such file or directory");
    folder = "";
    assert_int_equal(parse("{'images': [{'path': '/no/such.png'}]}"), VACT_EIO);
    assert_string_equal(err.text, "/no/such.png: No such file or directory");
    folder = NULL;
    assert_int_equal(parse("{'images': [{'data': '" BYTES "'}]}"), VACT_EINPUT);
    assert_memory_equal(err.text, "doc: field images[0].data: ", 27);
    assert_int_equal(parse("{'images': [{'data': ''}]}"), VACT_EINPUT);
    assert_memory_equal(err.text, "doc: field images[0].data: ", 27);
}

static void test_embeddings_and_a_seed_are_read(void **state)
{
    (void)state;
    parse_good("{'image_embeddings': {'views': 2, 'data': '" EMBEDDED "'}, 'seed': 9223372036854775807}");
    const vact_request *q = &document.request;
    assert_int_equal(q->n_embedded_views, 2);
    for (int i = 0; i < 12; i++)
        assert_true(q->image_embeddings[i] == (float)i / 4 - 1);
    assert_true(q->has_seed);
    assert_true(q->seed == INT64_MAX);
    vact_document_free(&document);
}

static void test_what_is_left_out_is_as_in_an_empty_request(void **state)
{
    (void)state;
    static const vact_request empty;
    parse_good(" { } \n");
    const vact_request *q = &document.request;
    assert_true(!q->images && !q->image_embeddings && !q->tokens && !q->state && !q->noise && !q->has_seed);
    assert_true(q->n_images == empty.n_images && q->n_tokens == 0 && q->n_state == 0 && q->n_embedded_views == 0);
    assert_int_equal(q->action_units, VACT_UNITS_REAL);
    assert_null(document.trace);
    vact_document_free(&document);
}

static void test_empty_lists_are_read(void **state)
{
    (void)state;
    parse_good("{'images': [], 'tokens': [], 'state': [], 'trace': []}");
    assert_int_equal(document.request.n_images, 0);
    assert_int_equal(document.request.n_tokens, 0);
    assert_int_equal(document.request.n_state, 0);
    assert_null(document.trace[0]);
    vact_document_free(&document);
}

/* True if the patterns ask for an intermediate of that name, and its values are then kept. */
static bool keeps(const char *const *patterns, const char *name)
{
    const float values[] = { 1, 2, 3 };
    vact_traces traces;
    vact_error e = { 0 };
    assert_int_equal(vact_traces_open(&traces, patterns, &e), VACT_OK);
    vact_traces_keep(&traces, name, values, 1, 3);
    const bool kept = traces.n == 1;
    if (kept) {
        assert_string_equal(traces.list[0].name, name);
        assert_memory_equal(traces.list[0].values, values, sizeof values);
    }
    vact_traces_close(&traces);
    return kept;
}

static void test_traces_match_as_file_names_do(void **state)
{
    (void)state;
    parse_good("{'trace': ['prefix.*.k', 'step.[01].x', 'vision.out']}");
    assert_true(keeps(document.trace, "prefix.11.k"));
    assert_true(keeps(document.trace, "step.1.x"));
    assert_true(keeps(document.trace, "vision.out"));
    assert_false(keeps(document.trace, "prefix.11.v"));
    assert_false(keeps(document.trace, "step.2.x"));
    assert_false(keeps(document.trace, "vision.out.x"));
    vact_document_free(&document);
    assert_null(document.trace);
}

/* Beyond float32: an infinity, which vact_predict refuses by name. */
static void test_a_number_too_large_for_float32_is_infinite(void **state)
{
    (void)state;
    parse_good("{'state': [1e300, -1e300, 1e-300, 123456789012345678]}");
    const float *values = document.request.state;
    assert_true(values[0] == INFINITY && values[1] == -INFINITY && values[2] == 0);
    assert_true(values[3] == 123456789012345678.0f);
    vact_document_free(&document);
}

/* ---- what is refused ---- */

typedef struct refusal {
    const char *document, *text;
} refusal;

#define VIEW(fields) "{'images': [{" fields "}]}"
#define SIZES        "'width': 2, 'height': 2, "

static const refusal refusals[] = {
    { "[1]", "the document is an array, expected an object" },
    { "{'token': [1]}", "unknown field token, did you mean tokens?" },
    { "{'seed': 1, 'image_embedding': 1}", "unknown field image_embedding, did you mean image_embeddings?" },
    { "{'something': 1}", "unknown field something, expected one of images, image_embeddings, text, tokens, "
                          "state, state_units, action_units, noise, seed, trace" },
    { "{'\\u001b[31mseed-of-all': 1}", "unknown field ?[31mseed-of-all, expected one of images, image_embeddings, "
                                       "text, tokens, state, state_units, action_units, noise, seed, trace" },
    { "{'noise': [1, 2, 3, 4, 5, 6], 'seed': 1}", "fields noise and seed are both given, expected one of them" },

    { "{'images': {}}", "field images is an object, expected an array" },
    { "{'images': [3]}", "field images[0] is an integer, expected an object" },
    { "{'images': [" U8(BYTES) ", null]}", "field images[1] is null, expected an object" },
    { VIEW("'size': 2"),
      "unknown field images[0].size, expected one of path, data, width, height, format, prepared, name" },
    { VIEW("'widht': 2"), "unknown field images[0].widht, did you mean width?" },
    { VIEW("'height': 2"), "field images[0].width is missing, expected an integer" },
    { VIEW("'width': 2"), "field images[0].height is missing, expected an integer" },
    { VIEW("'width': 2.0, 'height': 2"), "field images[0].width is a number, expected an integer" },
    { VIEW("'width': 0, 'height': 2"), "field images[0].width is 0, expected 1 to 16384" },
    { VIEW("'width': 2, 'height': 4294967298"), "field images[0].height is 4294967298, expected 1 to 16384" },
    { VIEW(SIZES "'data': ''"), "field images[0].format is missing, expected rgb_u8 or rgb_f32" },
    { VIEW(SIZES "'format': 8"), "field images[0].format is an integer, expected rgb_u8 or rgb_f32" },
    { VIEW(SIZES "'format': 'bgr'"), "field images[0].format is bgr, expected rgb_u8 or rgb_f32" },
    { VIEW(SIZES "'format': 'rgb_u8'"), "field images[0].data is missing, expected a base64 string" },
    { VIEW(SIZES "'format': 'rgb_f32'"), "field images[0].data is missing, expected a base64 string" },
    { VIEW(SIZES "'format': 'rgb_u8', 'data': [1]"), "field images[0].data is an array, expected a base64 string" },
    { "{'images': [" U8("AAECAwQFBgcICQ==") "]}", "field images[0].data holds 10 bytes, expected 12" },
    { "{'images': [" U8("") "]}", "field images[0].data holds 0 bytes, expected 12" },
    { "{'images': [" U8(BYTES "AAAA") "]}", "field images[0].data holds 15 bytes, expected 12" },
    { "{'images': [" U8("AAECAw$FBgcICQoL") "]}", "field images[0].data is not base64 at character 6" },
    { "{'images': [" U8("AAECAw\\u0000FBgcICQoL") "]}", "field images[0].data is not base64 at character 6" },

    { VIEW("'format': 'rgb_u8', 'data': '" BYTES "'"), "field images[0].width is missing, expected an integer" },
    { VIEW("'width': 16384, 'height': 16384, 'format': 'rgb_f32', 'data': 'AAAA'"),
      "field images[0].data holds 3 bytes, expected 3221225472" },
    { VIEW("'path': 'a.png', 'data': 'AAAA'"), "field images[0] has a path and pixels, expected one of them" },
    { VIEW("'path': 'a.png', 'width': 2"), "field images[0] has a path and pixels, expected one of them" },
    { VIEW("'path': 'a.png'"), "field images[0].path: files are not read for this request, expected data" },
    { VIEW("'path': 3"), "field images[0].path is an integer, expected a string" },
    { VIEW("'path': 'a\\u0000b'"), "field images[0].path has a NUL in it" },
    { VIEW("'name': 3"), "field images[0].name is an integer, expected a string" },
    { VIEW("'prepared': 1"), "field images[0].prepared is an integer, expected true or false" },
    { VIEW(""), "field images[0].data is missing, expected a base64 string" },

    { "{'image_embeddings': []}", "field image_embeddings is an array, expected an object" },
    { "{'image_embeddings': {'view': 1}}", "unknown field image_embeddings.view, did you mean views?" },
    { "{'image_embeddings': {}}", "field image_embeddings.views is missing, expected an integer" },
    { "{'image_embeddings': {'views': 0}}", "field image_embeddings.views is 0, expected 1 to 16" },
    { "{'image_embeddings': {'views': 17}}", "field image_embeddings.views is 17, expected 1 to 16" },
    { "{'image_embeddings': {'views': 16}}", "field image_embeddings.data is missing, expected a base64 string" },
    { "{'image_embeddings': {'views': 1, 'data': '" EMBEDDED "'}}",
      "field image_embeddings.data holds 48 bytes, expected 24" },

    { "{'text': ['pick']}", "field text is an array, expected a string" },
    { "{'text': 'pick\\u0000up'}", "field text has a NUL in it" },
    { "{'tokens': 'pick'}", "field tokens is a string, expected an array of token ids" },
    { "{'tokens': [1, 2, 3, 4, 5]}", "field tokens has 5 token ids, expected 1 to 4" },
    { "{'tokens': [1, 10]}", "field tokens[1] is 10, expected 0 to 9" },
    { "{'tokens': [-1]}", "field tokens[0] is -1, expected 0 to 9" },
    { "{'tokens': [4294967296]}", "field tokens[0] is 4294967296, expected 0 to 9" },
    { "{'tokens': [1, true]}", "field tokens[1] is true, expected an integer" },
    { "{'tokens': [1.5]}", "field tokens[0] is a number, expected an integer" },

    { "{'state': 0.5}", "field state is a number, expected an array of numbers" },
    { "{'state': [0.5, false]}", "field state[1] is false, expected a number" },
    { "{'state': [0.5, [[[[1]]]]]}", "field state[1] is an array, expected a number" },
    { "{'state_units': 'degrees'}", "field state_units is degrees, expected \"real\" or \"model\"" },
    { "{'state_units': null}", "field state_units is null, expected \"real\" or \"model\"" },
    { "{'action_units': {}}", "field action_units is an object, expected \"real\" or \"model\"" },
    { "{'noise': true}", "field noise is true, expected an array of numbers" },
    { "{'noise': ['1']}", "field noise[0] is a string, expected a number" },
    { "{'noise': [1, 2, 3, 4, 5]}", "field noise has 5 values, expected 6 (2 rows of 3)" },
    { "{'noise': []}", "field noise has 0 values, expected 6 (2 rows of 3)" },
    { "{'seed': -1}", "field seed is -1, expected 0 to 2^63-1" },
    { "{'seed': 1.0}", "field seed is a number, expected an integer from 0 to 2^63-1" },
    { "{'seed': '1'}", "field seed is a string, expected an integer from 0 to 2^63-1" },
    { "{'trace': ['a\\u0000b']}", "field trace[0] has a NUL in it" },
    { "{'trace': 'step.*'}", "field trace is a string, expected an array of name patterns" },
    { "{'trace': ['step.*', 1]}", "field trace[1] is an integer, expected a string" },
};

static void check_refused(const char *text, const char *want)
{
    static const vact_document none;
    const vact_status status = parse(text);
    if (status != VACT_EINPUT || strncmp(err.text, "doc: ", 5) != 0 || strcmp(err.text + 5, want) != 0)
        fail_msg("%s: status %d, \"%s\", expected \"doc: %s\"", text, (int)status, err.text, want);
    assert_int_equal(err.code, VACT_EINPUT);
    assert_memory_equal(&document, &none, sizeof none); /* nothing is left to free */
}

static void test_wrong_documents_are_refused_to_the_letter(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
        check_refused(refusals[i].document, refusals[i].text);
}

static void test_too_many_views_are_refused(void **state)
{
    (void)state;
    char text[100] = "{'images': [3";
    for (int i = 1; i < 17; i++)
        strcat(text, ", 3");
    strcat(text, "]}");
    check_refused(text, "field images has 17 views, expected at most 16");
}

static void test_a_long_unknown_name_is_cut(void **state)
{
    (void)state;
    char text[300], want[400];
    snprintf(text, sizeof text, "{'%0200d': 1}", 0);
    snprintf(want, sizeof want,
             "unknown field %064d, expected one of images, image_embeddings, text, tokens, state, state_units, "
             "action_units, noise, seed, trace",
             0);
    check_refused(text, want);
}

/* The place is ours, the reason the JSON library's. */
static void check_not_json(const char *text, int line, int column)
{
    char want[100];
    snprintf(want, sizeof want, "doc: not JSON at line %d, column %d: ", line, column);
    const vact_status status = parse(text);
    if (status != VACT_EINPUT || strncmp(err.text, want, strlen(want)) != 0 || strlen(err.text) == strlen(want))
        fail_msg("%.40s: status %d, \"%s\", expected \"%s...\"", text, (int)status, err.text, want);
}

static void test_what_is_not_json_is_told_with_its_place(void **state)
{
    (void)state;
    check_not_json("", 1, 0);
    check_not_json("3", 1, 1);
    check_not_json("{'seed': 1", 1, 10);
    check_not_json("{'seed':\n 1,\n }", 3, 2);
    check_not_json("{'seed': 1} 2", 1, 13);
    check_not_json("{'seed': 1, 'seed': 1}", 1, 18);
    check_not_json("{'seed': 9223372036854775808}", 1, 28);
    check_not_json("{'state': [1e999]}", 1, 16);
    check_not_json("{'state': [NaN]}", 1, 14);
    check_not_json("{'trace': ['\xff']}", 1, 12);
}

/* 6 MB of text would become 300 MB of empty arrays. */
static void test_more_values_than_memory_is_for_are_refused(void **state)
{
    (void)state;
    enum { MOST = 4194304 };
    static const char before[] = "{'images': [", each[] = "[],";
    const size_t length = sizeof before - 1 + (MOST / 2) * (sizeof each - 1);
    char *text = malloc(length + 1);
    assert_non_null(text);
    memcpy(text, before, sizeof before);
    for (size_t at = sizeof before - 1; at < length; at += sizeof each - 1)
        memcpy(text + at, each, sizeof each);
    check_refused(text, "found more than 4194304 values, expected fewer");
    text[length - 6] = '\0'; /* without the last two arrays there are few enough */
    assert_int_equal(parse(text), VACT_EINPUT);
    assert_non_null(strstr(err.text, "doc: not JSON at line 1"));
    free(text);
}

static void test_deep_nesting_is_refused(void **state)
{
    (void)state;
    enum { DEPTH = 100000 };
    char *text = malloc(DEPTH + 20);
    assert_non_null(text);
    strcpy(text, "{'state': ");
    memset(text + 10, '[', DEPTH);
    text[10 + DEPTH] = '\0';
    assert_int_equal(parse(text), VACT_EINPUT);
    assert_memory_equal(err.text, "doc: not JSON at line 1, ", 25);
    free(text);
}

/* ---- replies ---- */

static char *write_reply(const vact_model_info *of, const vact_request *q, const vact_reply *reply,
                         const vact_traced *traces, size_t n)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    err = (vact_error){ 0 };
    assert_int_equal(vact_document_write(out, of, q, reply, traces, n, &err), VACT_OK);
    fclose(out);
    return text;
}

static void test_a_reply_is_one_line(void **state)
{
    (void)state;
    float actions[] = { 1, -0.5f, 0.1f, 3e-20f }, trace[] = { 1, NAN, INFINITY, 4, 5, 6 };
    const vact_reply reply = { actions, 7, { 4.5, 2, 1.5, 1 }, "cpu" };
    const vact_traced traces[] = { { "vision.out", trace, 2, 3 }, { "step.0.x", trace, 1, 1 } };
    char *text = write_reply(&info, &(vact_request){ .n_images = 2 }, &reply, traces, 2);
    static const char want[] = "{'actions':[[1.0,-0.5],[0.100000001,2.9999999e-20]],"
                               "'timing_ms':{'total':4.5,'vision':2.0,'prefix':1.5,'denoise':1.0},"
                               "'seed':7,'devices':['cpu','cpu'],"
                               "'traces':{'vision.out':[[1.0,null,null],[4.0,5.0,6.0]],'step.0.x':[[1.0]]}}\n";
    for (char *c = text; *c; c++)
        *c = *c == '"' ? '\'' : *c;
    assert_string_equal(text, want);
    free(text);

    const vact_request given = { .noise = trace }; /* no seed, no views, no traces */
    text = write_reply(&info, &given, &reply, NULL, 0);
    assert_non_null(strstr(text, "\"denoise\":1.0},\"devices\":[]}\n"));
    free(text);
}

static void test_actions_come_back_to_the_bit(void **state)
{
    (void)state;
    enum { ROWS = 100, COLS = 7 };
    const vact_model_info wide = { .horizon = ROWS, .action_dim = COLS };
    float actions[ROWS * COLS] = { 0, FLT_MAX, -FLT_MAX, FLT_MIN, FLT_TRUE_MIN, 1 + FLT_EPSILON, 16777215 };
    uint32_t bits = 1;
    for (int i = 7; i < ROWS * COLS; i++) {
        bits = bits * 1664525 + 1013904223;
        const uint32_t finite = bits & 0xbfffffff;
        memcpy(&actions[i], &finite, sizeof finite);
    }
    char *text =
        write_reply(&wide, &(vact_request){ 0 }, &(vact_reply){ .actions = actions, .device = "cpu" }, NULL, 0);
    vact_arena arena = { 0 };
    const float *read = NULL;
    int32_t rows = 0, cols = 0;
    assert_int_equal(vact_document_actions("doc", text, strlen(text), &arena, &read, &rows, &cols, &err), VACT_OK);
    assert_int_equal(rows, ROWS);
    assert_int_equal(cols, COLS);
    assert_memory_equal(read, actions, sizeof actions);
    vact_arena_free(&arena);
    free(text);
}

static void test_a_reply_that_cannot_be_written_is_eio(void **state)
{
    (void)state;
    float actions[4] = { 0 };
    FILE *full = fopen("/dev/full", "w");
    if (!full)
        skip();
    setvbuf(full, NULL, _IONBF, 0);
    err = (vact_error){ 0 };
    const vact_reply reply = { .actions = actions, .device = "cpu" };
    assert_int_equal(vact_document_write(full, &info, &(vact_request){ 0 }, &reply, NULL, 0, &err), VACT_EIO);
    assert_string_equal(err.text, "cannot write the reply: No space left on device");
    fclose(full);
}

/* ---- actions of a document ---- */

static vact_status read_actions(const char *text, vact_arena *arena, const float **actions, int32_t *rows,
                                int32_t *cols)
{
    char *copy = unquote(text);
    err = (vact_error){ 0 };
    const vact_status status = vact_document_actions("doc", copy, strlen(text), arena, actions, rows, cols, &err);
    free(copy);
    return status;
}

static void test_actions_are_read_from_any_object_that_has_them(void **state)
{
    (void)state;
    vact_arena arena = { 0 };
    const float *actions = NULL;
    int32_t rows = 0, cols = 0;
    assert_int_equal(read_actions("{'other': [], 'actions': [[1, 2.5, -3]]}", &arena, &actions, &rows, &cols), VACT_OK);
    assert_int_equal(rows, 1);
    assert_int_equal(cols, 3);
    assert_memory_equal(actions, ((const float[]){ 1, 2.5f, -3 }), 12);
    vact_arena_free(&arena);
}

static void test_wrong_actions_are_refused_before_memory_is_taken(void **state)
{
    (void)state;
#define NO_ROWS "field actions is missing or empty, expected an array of rows"
    static const refusal cases[] = {
        { "[]", "the document is an array, expected an object" },
        { "{}", NO_ROWS },
        { "{'actions': 3}", NO_ROWS },
        { "{'actions': []}", NO_ROWS },
        { "{'actions': [[]]}", NO_ROWS },
        { "{'actions': [1, 2]}", NO_ROWS },
        { "{'actions': [[1, 2], [3]]}", "field actions[1] has 1 values, expected 2" },
        { "{'actions': [[1], 2]}", "field actions[1] has 0 values, expected 1" },
        { "{'actions': [[1, 2, 3, 4, 5, 6, 7, 8, 9], [], [], [], []]}", "field actions[1] has 0 values, expected 9" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        vact_arena arena = { 0 };
        const float *actions = NULL;
        int32_t rows, cols;
        assert_int_equal(read_actions(cases[i].document, &arena, &actions, &rows, &cols), VACT_EINPUT);
        assert_memory_equal(err.text, "doc: ", 5);
        assert_string_equal(err.text + 5, cases[i].text);
        assert_int_equal(arena.bytes, 0);
    }
}

static void test_actions_that_are_no_numbers_are_refused(void **state)
{
    (void)state;
    vact_arena arena = { 0 };
    const float *actions = NULL;
    int32_t rows, cols;
    assert_int_equal(read_actions("{'actions': [[1, 2], [3, null]]}", &arena, &actions, &rows, &cols), VACT_EINPUT);
    assert_string_equal(err.text, "doc: field actions[1][1] is null, expected a number");
    assert_null(actions);
    vact_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_whole_document_is_read),
        cmocka_unit_test(test_pictures_come_as_files_or_pixels),
        cmocka_unit_test(test_pictures_that_cannot_be_read_are_refused),
        cmocka_unit_test(test_embeddings_and_a_seed_are_read),
        cmocka_unit_test(test_what_is_left_out_is_as_in_an_empty_request),
        cmocka_unit_test(test_empty_lists_are_read),
        cmocka_unit_test(test_traces_match_as_file_names_do),
        cmocka_unit_test(test_a_number_too_large_for_float32_is_infinite),
        cmocka_unit_test(test_wrong_documents_are_refused_to_the_letter),
        cmocka_unit_test(test_too_many_views_are_refused),
        cmocka_unit_test(test_a_long_unknown_name_is_cut),
        cmocka_unit_test(test_what_is_not_json_is_told_with_its_place),
        cmocka_unit_test(test_more_values_than_memory_is_for_are_refused),
        cmocka_unit_test(test_deep_nesting_is_refused),
        cmocka_unit_test(test_a_reply_is_one_line),
        cmocka_unit_test(test_actions_come_back_to_the_bit),
        cmocka_unit_test(test_a_reply_that_cannot_be_written_is_eio),
        cmocka_unit_test(test_actions_are_read_from_any_object_that_has_them),
        cmocka_unit_test(test_wrong_actions_are_refused_before_memory_is_taken),
        cmocka_unit_test(test_actions_that_are_no_numbers_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
