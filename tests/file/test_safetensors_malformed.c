/* Safetensors files and indexes that must be refused: the status, and the sentence to the letter. */
#include "file/safetensors_parts.h"
#include "safetensors_bytes.h"
#include "safetensors_walk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

/* ---- by bytes ---- */

/* The bytes are malloc'd to size, so a sanitizer sees any read beyond them. A text that ends in '*' is the beginning of
 * what is said: the rest is the JSON library's. */
static void check_text(const char *fact, const char *got, const char *want)
{
    const size_t n = strlen(want);
    const bool begins = want[n - 1] == '*';
    if (begins ? strncmp(got, want, n - 1) != 0 : strcmp(got, want) != 0)
        fail_msg("%s: \"%s\", expected \"%s\"", fact, got, want);
}

static void check_refused(const char *fact, const struct bytes *b, const char *text)
{
    vact_safetensors *set = (vact_safetensors *)1;
    vact_error err = { 0 };
    const vact_status status = vact_safetensors_parse(&set, "x", b->data, b->size, &err);
    if (status != VACT_EFORMAT || err.code != VACT_EFORMAT || set)
        fail_msg("%s: status %d", fact, (int)status);
    check_text(fact, err.text, text);
}

static void test_malformed_beginnings_are_eformat(void **state)
{
    (void)state;
    static const struct {
        const char *fact, *tokens, *text;
    } cases[] = {
        { "empty file", "", "x: found a file of 0 bytes, expected at least 8" },
        { "length cut", "4:2 2:0 1:0", "x: found a file of 7 bytes, expected at least 8" },
        { "no header", "8:0", "x: found a header that begins with \"\", expected \"{\"" },
        { "header of 2^60 bytes", "8:0x1000000000000000 r:{}",
          "x: found a header of 1152921504606846976 bytes, expected at most 100000000" },
        { "header of 2^64-1 bytes", "8:0xffffffffffffffff r:{}",
          "x: found a header of 18446744073709551615 bytes, expected at most 100000000" },
        { "one byte more than the most", "8:100000001 r:{}",
          "x: found a header of 100000001 bytes, expected at most 100000000" },
        { "as many as the most", "8:100000000 r:{}",
          "x: found a header of 100000000 bytes, expected at most 2 in a file of 10 bytes" },
        { "header cut", "8:3 r:{}", "x: found a header of 3 bytes, expected at most 2 in a file of 10 bytes" },
        { "header that the end cuts", "8:30 r:{\"a\":{\"dtype\":\"F32\",\"shape\"",
          "x: found a header of 30 bytes, expected at most 27 in a file of 35 bytes" },
        { "blanks first", "8:3 r:%20{}", "x: found a header that begins with \" \", expected \"{\"" },
        { "an array", "8:2 r:[]", "x: found a header that begins with \"[\", expected \"{\"" },
        { "unprintable", "8:2 r:%00%1b", "x: found a header that begins with \"\\x00\", expected \"{\"" },
        { "not JSON", "8:2 r:{x", "x: header: not JSON at line 1, column 2: *" },
        { "no UTF-8", "8:7 r:{\"%ff\":1}", "x: header: not JSON at line 1, column *" },
        { "a NUL after the JSON", "8:3 r:{}%00", "x: header: not JSON at line 1, column *" },
        { "more JSON", "8:4 r:{}{}", "x: header: not JSON at line 1, column *" },
        { "NUL in a name", "8:14 r:{\"a\\u0000b\":1}", "x: header: not JSON at line 1, column *" },
        { "another format", "r:GGUF 4:3 8:0 8:0",
          "x: found a header of 14064895815 bytes, expected at most 100000000" },
        { "what Git LFS leaves", "r:version%20https://git-lfs.github.com/spec/v1%0aoid%20sha256:0",
          "x: found a pointer of Git LFS, expected the file it stands for (git lfs pull)" },
        { "bytes without a tensor", "8:2 r:{} z:1",
          "x: found a file of 11 bytes, expected 10, 0 of data behind the first 10" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bytes b = { 0 };
        bytes_build(&b, cases[i].tokens);
        check_refused(cases[i].fact, &b, cases[i].text);
        bytes_free(&b);
    }
}

/* ---- by header ---- */

#define TENSOR(name, dtype, shape, offsets)                                                                            \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}"
#define ONE(dtype, shape, offsets) "{" TENSOR("t", dtype, shape, offsets) "}"
#define TYPES                                                                                                          \
    "BOOL, F4, F6_E2M3, F6_E3M2, U8, I8, F8_E5M2, F8_E4M3, F8_E8M0, F8_E4M3FNUZ, F8_E5M2FNUZ, I16, U16, F16, BF16, "   \
    "I32, U32, F32, C64, F64, I64 or U64"

struct malformed {
    const char *fact, *header;
    size_t data;
    const char *text;
};

static void check_table(const struct malformed *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct bytes b = { 0 };
        bytes_add_safetensors(&b, cases[i].header, cases[i].data);
        check_refused(cases[i].fact, &b, cases[i].text);
        bytes_free(&b);
    }
}

static const struct malformed fields[] = {
    { "no object", "{\"t\":[]}", 0, "x: tensor t: is an array, expected an object" },
    { "no name", "{" TENSOR("", "F32", "[1]", "[0,4]") "}", 4,
      "x: tensor : found an empty name, expected at least one byte" },
    { "no dtype", "{\"t\":{\"shape\":[1],\"data_offsets\":[0,4]}}", 4,
      "x: tensor t: dtype is missing, expected a string" },
    { "no shape", "{\"t\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", 4,
      "x: tensor t: shape is missing, expected an array" },
    { "no offsets", "{\"t\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4,
      "x: tensor t: data_offsets is missing, expected an array" },
    { "dtype 7", "{\"t\":{\"dtype\":7,\"shape\":[1],\"data_offsets\":[0,4]}}", 4,
      "x: tensor t: dtype is an integer, expected a string" },
    { "unknown dtype", ONE("F33", "[1]", "[0,4]"), 4, "x: tensor t: found the dtype \"F33\", expected " TYPES },
    { "dtype in small letters", ONE("f32", "[1]", "[0,4]"), 4,
      "x: tensor t: found the dtype \"f32\", expected " TYPES },
    { "dtype with a NUL", ONE("F32\\u0000", "[1]", "[0,4]"), 4,
      "x: tensor t: found the dtype \"F32\\x00\", expected " TYPES },
    { "shape 1", ONE("F32", "1", "[0,4]"), 4, "x: tensor t: shape is an integer, expected an array" },
    { "nine dimensions", ONE("F32", "[1,1,1,1,1,1,1,1,1]", "[0,4]"), 4,
      "x: tensor t: found 9 dimensions, expected at most 8" },
    { "dimension -1", ONE("F32", "[2,-1]", "[0,4]"), 4, "x: tensor t: shape[1] is -1, expected 0 or more" },
    { "dimension 1.0", ONE("F32", "[1.0]", "[0,4]"), 4, "x: tensor t: shape[0] is a number, expected an integer" },
    { "dimension \"1\"", ONE("F32", "[\"1\"]", "[0,4]"), 4, "x: tensor t: shape[0] is a string, expected an integer" },
    { "dimension 2^64", ONE("F32", "[18446744073709551616]", "[0,4]"), 4, "x: header: not JSON at *" },
    { "2^63 values", ONE("U8", "[4294967296,2147483648]", "[0,0]"), 0,
      "x: tensor t: found 2^63 values or more, expected fewer" },
    { "2^64 values, 0 by wrapping", ONE("U8", "[4294967296,4294967296]", "[0,0]"), 0,
      "x: tensor t: found 2^63 values or more, expected fewer" },
    { "overflow before a 0", ONE("F32", "[4611686018427387904,4611686018427387904,0]", "[0,0]"), 0,
      "x: tensor t: found 2^63 values or more, expected fewer" },
    { "2^64 bytes, 0 by wrapping", ONE("F32", "[4611686018427387904]", "[0,0]"), 0,
      "x: tensor t: found 2^63 bits or more, expected fewer" },
    { "half a byte", ONE("F4", "[3]", "[0,2]"), 2, "x: tensor t: found 3 values of F4, expected whole bytes" },
    { "six bits of four bytes", ONE("F6_E2M3", "[5]", "[0,4]"), 4,
      "x: tensor t: found 5 values of F6_E2M3, expected whole bytes" },
    { "offsets an object", ONE("F32", "[1]", "{}"), 4, "x: tensor t: data_offsets is an object, expected an array" },
    { "one offset", ONE("F32", "[1]", "[0]"), 4, "x: tensor t: found 1 data_offsets, expected 2" },
    { "three offsets", ONE("F32", "[1]", "[0,4,8]"), 4, "x: tensor t: found 3 data_offsets, expected 2" },
    { "offset -4", ONE("F32", "[1]", "[-4,0]"), 4, "x: tensor t: data_offsets[0] is -4, expected 0 or more" },
    { "offset true", ONE("F32", "[1]", "[0,true]"), 4, "x: tensor t: data_offsets[1] is true, expected an integer" },
    { "offsets swapped", ONE("F32", "[1]", "[4,0]"), 4,
      "x: tensor t: found data_offsets [4, 0], expected 4 bytes for F32 [1]" },
    { "a byte too few", ONE("BF16", "[2,3]", "[0,11]"), 11,
      "x: tensor t: found data_offsets [0, 11], expected 12 bytes for BF16 [2, 3]" },
    { "a byte too many", ONE("F32", "[]", "[0,5]"), 5,
      "x: tensor t: found data_offsets [0, 5], expected 4 bytes for F32 []" },
    { "bytes of nothing", ONE("F32", "[3,0]", "[0,4]"), 4,
      "x: tensor t: found data_offsets [0, 4], expected 0 bytes for F32 [3, 0]" },
    { "the same name twice", "{" TENSOR("t", "U8", "[1]", "[0,1]") "," TENSOR("t", "U8", "[1]", "[1,2]") "}", 2,
      "x: header: not JSON at line 1, column *" },
    { "terminal codes in a name", "{\"\\u001b[31m\\n\xC3\xA4\":1}", 0,
      "x: tensor \\x1b[31m\\n\\xc3\\xa4: is an integer, expected an object" },
    { "metadata in a list", "{\"__metadata__\":[]}", 0, "x: __metadata__ is an array, expected an object" },
    { "a number in metadata", "{\"__metadata__\":{\"a\":\"b\",\"n\":1}}", 0,
      "x: __metadata__.n is an integer, expected a string" },
    { "a NUL in metadata", "{\"__metadata__\":{\"a\":\"b\\u0000c\"}}", 0,
      "x: found a NUL byte in __metadata__.a, expected none" },
};

static void test_malformed_fields_are_eformat(void **state)
{
    (void)state;
    check_table(fields, sizeof fields / sizeof *fields);
}

#define PAIR(a, b) "{" TENSOR("a", "F32", "[1]", a) "," TENSOR("b", "F32", "[2]", b) "}"

static const struct malformed places[] = {
    { "one byte of data missing", PAIR("[0,4]", "[4,12]"), 11,
      "x: found a file of 127 bytes, expected 128, 12 of data behind the first 116" },
    { "no data", PAIR("[0,4]", "[4,12]"), 0,
      "x: found a file of 116 bytes, expected 128, 12 of data behind the first 116" },
    { "one byte too many", PAIR("[0,4]", "[4,12]"), 13,
      "x: found a file of 129 bytes, expected 128, 12 of data behind the first 116" },
    { "a hole", PAIR("[0,4]", "[8,16]"), 16, "x: tensor b: found the data offset 8, expected 4, the end of tensor a" },
    { "a hole first", PAIR("[4,8]", "[8,16]"), 16,
      "x: tensor a: found the data offset 4 of the first data, expected 0" },
    { "overlap", PAIR("[0,4]", "[2,10]"), 10, "x: tensor b: found the data offset 2, expected 4, the end of tensor a" },
    { "overlap told in order of offsets", PAIR("[4,8]", "[0,8]"), 8,
      "x: tensor a: found the data offset 4, expected 8, the end of tensor b" },
    { "the same place", PAIR("[0,4]", "[0,8]"), 8,
      "x: tensor b: found the data offset 0, expected 4, the end of tensor a" },
    { "nothing in the middle of another",
      "{" TENSOR("n", "U8", "[0]", "[2,2]") "," TENSOR("t", "F32", "[]", "[0,4]") "}", 4,
      "x: tensor n: found the data offset 2, expected 4, the end of tensor t" },
    { "far beyond the end", ONE("U8", "[4611686018427387904]", "[4611686018427387904,9223372036854775807]"), 4,
      "x: tensor t: found 2^63 bits or more, expected fewer" },
    { "at the far end", ONE("U8", "[1]", "[9223372036854775806,9223372036854775807]"), 1,
      "x: tensor t: found the data offset 9223372036854775806 of the first data, expected 0" },
    { "2^60 bytes that aren't there", ONE("U8", "[1152921504606846975]", "[0,1152921504606846975]"), 1,
      "x: found a file of 98 bytes, expected 1152921504606847072, 1152921504606846975 of data behind the first 97" },
};

static void test_malformed_places_are_eformat(void **state)
{
    (void)state;
    check_table(places, sizeof places / sizeof *places);
}

/* Each value takes memory, from as little as two bytes of text. */
static void test_too_many_values_are_eformat(void **state)
{
    (void)state;
    struct bytes b = { 0 };
    const size_t n = 3 << 20;
    char *header = malloc(n + 1);
    assert_non_null(header);
    memset(header, ',', n);
    memcpy(header, "{\"t\":[", 6);
    header[n] = '\0';
    bytes_add_safetensors(&b, header, 0);
    check_refused("many values", &b, "x: header: found more than 1048576 values, expected fewer");
    bytes_free(&b);
    free(header);
}

static void test_long_paths_and_names_leave_room_for_the_reason(void **state)
{
    (void)state;
    char path[3000], header[3000];
    struct bytes b = { 0 };
    vact_safetensors *set = NULL;
    vact_error err = { 0 };
    memset(path, 'd', sizeof path - 1);
    strcpy(path + sizeof path - 3, "/x");
    memset(header, 'n', sizeof header - 1);
    memcpy(header, "{\"", 2);
    strcpy(header + 2000, "\":{\"dtype\":\"Z\"}}");
    bytes_add_safetensors(&b, header, 0);
    assert_int_equal(vact_safetensors_parse(&set, path, b.data, b.size, &err), VACT_EFORMAT);
    assert_non_null(strstr(err.text, "ddd/x: tensor nnn"));
    assert_non_null(strstr(err.text, "nnn...: found the dtype \"Z\", expected BOOL, F4"));
    assert_int_equal(vact_safetensors_parse(&set, "x", b.data, b.size, NULL), VACT_EFORMAT);
    bytes_free(&b);
}

/* ---- any byte ---- */

static void read_small(struct bytes *b)
{
    uint8_t data[4096];
    FILE *f = fopen(TEST_DATA "/small.safetensors", "rb");
    assert_non_null(f);
    bytes_add(b, data, fread(data, 1, sizeof data, f));
    fclose(f);
}

static void test_a_file_cut_anywhere_is_eformat(void **state)
{
    (void)state;
    struct bytes b = { 0 };
    read_small(&b);
    for (size_t size = 0; size < b.size; size++) {
        struct bytes cut = { 0 };
        bytes_add(&cut, b.data, size);
        check_refused("cut", &cut,
                      size < 8     ? "x: found a file of *"
                      : size < 448 ? "x: found a header of 440 bytes, *"
                                   : "x: found a file of *");
        bytes_free(&cut);
    }
    bytes_free(&b);
}

/* A changed file is refused in one line, or all that it says can be read. */
static void test_any_changed_byte_is_survived(void **state)
{
    (void)state;
    struct bytes b = { 0 };
    int refused = 0, read = 0;
    read_small(&b);
    for (size_t i = 0; i < b.size; i++)
        for (int change = 1; change < 256; change += 1 + (change > 16) * 6) {
            vact_safetensors *set = NULL;
            vact_error err = { 0 };
            uint64_t sum = 0;
            b.data[i] ^= (uint8_t)change;
            const vact_status status = vact_safetensors_parse(&set, "x", b.data, b.size, &err);
            if (status == VACT_OK
                    ? !walk_safetensors(set, true, &sum)
                    : status != VACT_EFORMAT || set || strncmp(err.text, "x: ", 3) != 0 || strchr(err.text, '\n'))
                fail_msg("byte %zu ^ %d: status %d, \"%s\"", i, change, (int)status, err.text);
            if (i >= 448)
                assert_int_equal(status, VACT_OK); /* values are anything */
            refused += status != VACT_OK;
            read += status == VACT_OK;
            vact_safetensors_close(&set);
            b.data[i] ^= (uint8_t)change;
        }
    assert_true(refused > 1000 && read > 1000);
    bytes_free(&b);
}

/* ---- index ---- */

static void test_malformed_indexes_are_eformat(void **state)
{
    (void)state;
    static const struct {
        const char *fact, *text, *error;
    } cases[] = {
        { "empty", "", "i: not JSON at *" },
        { "no object", "[]", "i: the document is an array, expected an object" },
        { "cut", "{\"weight_map\":{\"a\":\"b\"}", "i: not JSON at *" },
        { "a tensor twice", "{\"weight_map\":{\"a\":\"b\",\"a\":\"c\"}}", "i: not JSON at *" },
        { "no map", "{\"metadata\":{\"total_size\":4}}", "i: weight_map is missing, expected an object" },
        { "a list for a map", "{\"weight_map\":[]}", "i: weight_map is an array, expected an object" },
        { "an empty map", "{\"weight_map\":{}}", "i: weight_map is empty, expected a shard for each tensor" },
        { "a number for a shard", "{\"weight_map\":{\"a\":1}}", "i: weight_map.a is an integer, expected a string" },
#define SHARD(text, shown)                                                                                             \
    "{\"weight_map\":{\"ok\":\"s\",\"a.b\":\"" text "\"}}",                                                            \
        "i: weight_map.a.b: found the shard \"" shown "\", expected a file name in ASCII without \"/\""
        { "no name", SHARD("", "") },
        { "the directory", SHARD(".", ".") },
        { "the directory above", SHARD("..", "..") },
        { "a file above", SHARD("../s", "../s") },
        { "a file in a folder", SHARD("a/s", "a/s") },
        { "a file anywhere", SHARD("/etc/passwd", "/etc/passwd") },
        { "a NUL", SHARD("s\\u0000", "s\\x00") },
        { "a NUL that hides a path", SHARD("s\\u0000/../x", "s\\x00/../x") },
        { "terminal codes", SHARD("\\u001b[31m", "\\x1b[31m") },
        { "DEL", SHARD("\x7F", "\\x7f") },
        { "beyond ASCII", SHARD("\xC2\x9B"
                                "1m",
                                "\\xc2\\x9b1m") },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        vact_shard_index index;
        vact_error err = { 0 };
        assert_int_equal(vact_shard_index_read(&index, "i", cases[i].text, strlen(cases[i].text), &err), VACT_EFORMAT);
        check_text(cases[i].fact, err.text, cases[i].error);
        assert_null(index.root);
        assert_null(index.shards);
    }
}

static void test_an_index_of_100_megabytes_is_eformat(void **state)
{
    (void)state;
    vact_shard_index index;
    vact_error err = { 0 };
    assert_int_equal(vact_shard_index_read(&index, "i", "{", 100000001, &err), VACT_EFORMAT);
    assert_string_equal(err.text, "i: found 100000001 bytes, expected at most 100000000");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_malformed_beginnings_are_eformat),
        cmocka_unit_test(test_malformed_fields_are_eformat),
        cmocka_unit_test(test_malformed_places_are_eformat),
        cmocka_unit_test(test_too_many_values_are_eformat),
        cmocka_unit_test(test_long_paths_and_names_leave_room_for_the_reason),
        cmocka_unit_test(test_a_file_cut_anywhere_is_eformat),
        cmocka_unit_test(test_any_changed_byte_is_survived),
        cmocka_unit_test(test_malformed_indexes_are_eformat),
        cmocka_unit_test(test_an_index_of_100_megabytes_is_eformat),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
