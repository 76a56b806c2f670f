/* Files that must be refused: the status, and the sentence to the letter. */
#include "file/gguf.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "gguf_bytes.h"

#define HEAD(tensors, values) "r:GGUF 4:3 8:" #tensors " 8:" #values " "
#define ROOM                  " z:64" /* so that counts pass and the fault itself is met */
#define MAX_64                "0xffffffffffffffff"

struct malformed {
    const char *fact, *tokens, *text;
};

static const struct malformed headers[] = {
    { "empty file", "", "found a file of 0 bytes, expected at least 24" },
    { "shorter than the magic", "r:GG", "found a file of 2 bytes, expected at least 24" },
    { "magic alone", "r:GGUF", "found a file of 4 bytes, expected at least 24" },
    { "header cut", "r:GGUF 4:3 8:0", "found a file of 16 bytes, expected at least 24" },
    { "other magic", "r:GGML z:20", "found the magic \"GGML\", expected \"GGUF\"" },
    { "unprintable magic", "r:%00%ff%0a%22 z:20", "found the magic \"\\x00\\xff\\n\\\"\", expected \"GGUF\"" },
    { "short file of other magic", "r:PK%03%04", "found the magic \"PK\\x03\\x04\", expected \"GGUF\"" },
    { "version 0", "r:GGUF 4:0 z:16", "found GGUF version 0, expected 2 or 3" },
    { "version 1", "r:GGUF 4:1 z:16", "found GGUF version 1, expected 2 or 3" },
    { "version 4", "r:GGUF 4:4 z:16", "found GGUF version 4, expected 2 or 3" },
    { "version of four bytes", "r:GGUF 4:0x01020304 z:16", "found GGUF version 16909060, expected 2 or 3" },
    { "big-endian", "r:GGUF 4:0x03000000 z:16", "found a big-endian file, expected little-endian" },
    { "2^60 tensors", HEAD(0x1000000000000000, 0),
      "found 1152921504606846976 tensors, expected at most 0 in a file of 24 bytes" },
    { "2^60 values", HEAD(0, 0x1000000000000000) ROOM,
      "found 1152921504606846976 values, expected at most 4 in a file of 88 bytes" },
    { "2^64-1 tensors", HEAD(0xffffffffffffffff, 1) ROOM,
      "found 18446744073709551615 tensors, expected at most 1 in a file of 88 bytes" },
    { "counts that fit only alone", HEAD(1, 4) ROOM, "found 4 values, expected at most 2 in a file of 88 bytes" },
};

#define ALIGNMENT HEAD(0, 1) "s:general.alignment "

static const struct malformed values[] = {
    { "key of length 0", HEAD(0, 1) "8:0" ROOM, "key 0: found a name of 0 bytes, expected 1 to 65535" },
    { "key of length 65536", HEAD(0, 1) "8:65536 z:70000", "key 0: found a name of 65536 bytes, expected 1 to 65535" },
    { "key of length 2^64-1", HEAD(0, 2) "s:a 4:0 1:0 8:" MAX_64 ROOM,
      "key 1: found a name of 18446744073709551615 bytes, expected 1 to 65535" },
    { "key beyond the end", HEAD(0, 1) "8:300 r:abcdefgh", "key 0: found a file of 40 bytes, expected at least 332" },
    { "key with a NUL", HEAD(0, 1) "s:a%00b 4:0 1:0" ROOM, "key a\\x00b: found a NUL byte in the name, expected none" },
    { "key with terminal codes", HEAD(0, 1) "s:%1b[31m%0a%c3%a4 4:13 1:0" ROOM,
      "key \\x1b[31m\\n\\xc3\\xa4: found value type 13, expected 0 to 12" },
    { "type cut", HEAD(0, 1) "s:abcdef 2:0", "key abcdef: found a file of 40 bytes, expected at least 42" },
    { "value type 13", HEAD(0, 1) "s:a 4:13 1:0", "key a: found value type 13, expected 0 to 12" },
    { "value type 2^32-1", HEAD(0, 1) "s:a 4:-1 1:0", "key a: found value type 4294967295, expected 0 to 12" },
    { "value cut", HEAD(0, 1) "s:abcdef 4:12 z:7", "key abcdef: found a file of 49 bytes, expected at least 50" },
    { "array of arrays", HEAD(0, 1) "s:a 4:9 4:9 8:1 4:0 8:1 1:0",
      "key a: found an array of arrays, expected an array of numbers, bools or strings" },
    { "element type 99", HEAD(0, 1) "s:a 4:9 4:99 8:1 1:0", "key a: found element type 99, expected 0 to 12" },
    { "2^61 numbers", HEAD(0, 1) "s:a 4:9 4:10 8:0x2000000000000000 z:16",
      "key a: found 2305843009213693952 elements of u64, expected at most 2 in a file of 65 bytes" },
    { "2^64-1 bytes", HEAD(0, 1) "s:a 4:9 4:0 8:" MAX_64 " z:16",
      "key a: found 18446744073709551615 elements of u8, expected at most 16 in a file of 65 bytes" },
    { "2^61 strings", HEAD(0, 1) "s:a 4:9 4:8 8:0x2000000000000000 z:16",
      "key a: found 2305843009213693952 elements of string, expected at most 2 in a file of 65 bytes" },
    { "array one element too long", HEAD(0, 1) "s:a 4:9 4:4 8:3 z:11",
      "key a: found 3 elements of u32, expected at most 2 in a file of 60 bytes" },
    { "string beyond the end", HEAD(0, 1) "s:a 4:8 8:5 r:abcd",
      "key a: found a file of 49 bytes, expected at least 50" },
    { "string of length 2^64-1", HEAD(0, 1) "s:a 4:8 8:" MAX_64 " r:abcd",
      "key a: found a file of 49 bytes, expected at least 18446744073709551615" },
    { "second string beyond the end", HEAD(0, 1) "s:a 4:9 4:8 8:2 s:ok 8:3 r:no",
      "key a: found a file of 69 bytes, expected at least 70" },
    { "length of a string cut", HEAD(0, 1) "s:a 4:9 4:8 8:2 s:abcdefgh 4:0",
      "key a: found a file of 69 bytes, expected at least 73" },
    { "bool 2", HEAD(0, 1) "s:a 4:7 1:2", "key a: found the bool 2, expected 0 or 1" },
    { "bool 255 in an array", HEAD(0, 1) "s:a 4:9 4:7 8:3 1:0 1:1 1:255",
      "key a: found the bool 255, expected 0 or 1" },
    { "the same key twice", HEAD(0, 3) "s:a 4:0 1:0 s:b 4:0 1:0 s:a 4:4 4:0", "key a: found twice, expected once" },
    { "alignment of another type", ALIGNMENT "4:10 8:32", "key general.alignment: found type u64, expected u32" },
    { "alignment as a text", ALIGNMENT "4:8 s:32", "key general.alignment: found type string, expected u32" },
    { "alignment in an array", ALIGNMENT "4:9 4:4 8:1 4:32", "key general.alignment: found type array, expected u32" },
    { "alignment 0", ALIGNMENT "4:4 4:0", "key general.alignment: found 0, expected a power of two from 8 to 65536" },
    { "alignment 4", ALIGNMENT "4:4 4:4", "key general.alignment: found 4, expected a power of two from 8 to 65536" },
    { "alignment 48", ALIGNMENT "4:4 4:48",
      "key general.alignment: found 48, expected a power of two from 8 to 65536" },
    { "alignment 2^17", ALIGNMENT "4:4 4:131072",
      "key general.alignment: found 131072, expected a power of two from 8 to 65536" },
};

/* One f32 [8] at the offset 0 of its data section, 32 bytes. */
#define GOOD(name) "s:" name " 4:1 8:8 4:0 8:0 "

static const struct malformed tensors[] = {
    { "name of length 0", HEAD(1, 0) "8:0" ROOM, "tensor 0: found a name of 0 bytes, expected 1 to 65535" },
    { "name of length 65536", HEAD(2, 0) GOOD("a") "8:65536 z:70000",
      "tensor 1: found a name of 65536 bytes, expected 1 to 65535" },
    { "name with a NUL", HEAD(1, 0) "s:%00 4:1 8:8 4:0 8:0" ROOM,
      "tensor \\x00: found a NUL byte in the name, expected none" },
    { "no dimension", HEAD(1, 0) "s:t 4:0 8:1 4:0 8:0" ROOM, "tensor t: found 0 dimensions, expected 1 to 4" },
    { "five dimensions", HEAD(1, 0) "s:t 4:5 8:1 8:1 8:1 8:1 8:1 4:0 8:0" ROOM,
      "tensor t: found 5 dimensions, expected 1 to 4" },
    { "dimensions cut", HEAD(1, 0) "s:t 4:4 8:1 8:1 8:1", "tensor t: found a file of 61 bytes, expected at least 69" },
    { "first dimension 0", HEAD(1, 0) "s:t 4:1 8:0 4:0 8:0" ROOM,
      "tensor t: found dimension 0 of size 0, expected at least 1" },
    { "last dimension 0", HEAD(1, 0) "s:t 4:3 8:1 8:1 8:0 4:0 8:0" ROOM,
      "tensor t: found dimension 2 of size 0, expected at least 1" },
    { "2^64 values", HEAD(1, 0) "s:t 4:2 8:0x100000000 8:0x100000000 4:24 8:0" ROOM,
      "tensor t: found 2^63 values or more, expected fewer" },
    { "2^64 values of 0 bytes by wrapping", HEAD(1, 0) "s:t 4:3 8:0x80000000 8:0x80000000 8:4 4:24 8:0" ROOM,
      "tensor t: found 2^63 values or more, expected fewer" },
    { "2^63 values", HEAD(1, 0) "s:t 4:1 8:0x8000000000000000 4:24 8:0" ROOM,
      "tensor t: found 2^63 values or more, expected fewer" },
    { "2^63 bytes", HEAD(1, 0) "s:t 4:1 8:0x2000000000000000 4:0 8:0" ROOM,
      "tensor t: found 2^63 bytes or more, expected fewer" },
    { "type 99", HEAD(1, 0) "s:t 4:1 8:8 4:99 8:0" ROOM, "tensor t: found tensor type 99, expected a known one" },
    { "withdrawn type 4", HEAD(1, 0) "s:t 4:1 8:8 4:4 8:0" ROOM,
      "tensor t: found tensor type 4, expected a known one" },
    { "type 2^32-1", HEAD(1, 0) "s:t 4:1 8:8 4:-1 8:0" ROOM,
      "tensor t: found tensor type 4294967295, expected a known one" },
    { "half a block in a row", HEAD(1, 0) "s:t 4:2 8:48 8:2 4:8 8:0" ROOM,
      "tensor t: found rows of 48 values, expected a multiple of 32 for q8_0" },
    { "less than a block in all", HEAD(1, 0) "s:t 4:1 8:128 4:16 8:0" ROOM,
      "tensor t: found rows of 128 values, expected a multiple of 256 for iq2_xxs" },
    { "offset between two multiples", HEAD(1, 0) "s:t 4:1 8:8 4:0 8:40" ROOM,
      "tensor t: found the data offset 40, expected a multiple of 32" },
    { "offset not on the file's alignment", HEAD(1, 1) "s:general.alignment 4:4 4:64 s:t 4:1 8:8 4:0 8:32" ROOM,
      "tensor t: found the data offset 32, expected a multiple of 64" },
    { "offset beyond the end", HEAD(1, 0) "s:t 4:1 8:8 4:0 8:320 a:32 z:32",
      "tensor t: found a file of 96 bytes, expected at least 416" },
    { "offset that wraps", HEAD(1, 0) "s:t 4:1 8:8 4:0 8:0xffffffffffffffe0 a:32 z:32",
      "tensor t: found a file of 96 bytes, expected at least 18446744073709551615" },
    { "one byte of data missing", HEAD(1, 0) GOOD("t") "a:32 z:31",
      "tensor t: found a file of 95 bytes, expected at least 96" },
    { "no data section", HEAD(1, 0) GOOD("t"), "tensor t: found a file of 57 bytes, expected at least 96" },
    { "the size that all tensors need", HEAD(3, 0) GOOD("a") "s:b 4:1 8:8 4:0 8:64 s:c 4:1 8:8 4:0 8:128 a:32 z:70",
      "tensor b: found a file of 198 bytes, expected at least 288" },
    { "overlap by one alignment", HEAD(2, 0) "s:a 4:1 8:9 4:0 8:0 s:b 4:1 8:8 4:0 8:32 a:32 z:96",
      "tensor b: found the data offset 32, expected at least 36, the end of tensor a" },
    { "overlap told in order of offsets", HEAD(2, 0) "s:a 4:1 8:8 4:0 8:32 s:b%0a 4:1 8:16 4:0 8:0 a:32 z:96",
      "tensor a: found the data offset 32, expected at least 64, the end of tensor b\\n" },
    { "the same tensor twice", HEAD(3, 0) GOOD("t") "s:u 4:1 8:8 4:0 8:32 s:t 4:1 8:8 4:0 8:64 a:32 z:96",
      "tensor t: found twice, expected once" },
};

/* ---- running them ---- */

/* The bytes are malloc'd to size, so a sanitizer sees any read beyond them. */
static void check_refused(const struct bytes *b, const char *fact, const char *expected)
{
    vact_gguf *gguf = (vact_gguf *)1;
    vact_error err = { 0 };
    const vact_status status = vact_gguf_parse(&gguf, "x.gguf", b->data, b->size, &err);
    if (status != VACT_EFORMAT || err.code != VACT_EFORMAT || gguf)
        fail_msg("%s: status %d", fact, (int)status);
    if (strncmp(err.text, "x.gguf: ", 8) != 0 || (expected && strcmp(err.text + 8, expected) != 0))
        fail_msg("%s: \"%s\", expected \"%s\"", fact, err.text, expected ? expected : "x.gguf: ...");
}

static void check_table(const struct malformed *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct bytes b = { 0 };
        bytes_build(&b, cases[i].tokens);
        check_refused(&b, cases[i].fact, cases[i].text);
        bytes_free(&b);
    }
}

static void test_malformed_headers_are_eformat(void **state)
{
    (void)state;
    check_table(headers, sizeof headers / sizeof *headers);
}

static void test_malformed_values_are_eformat(void **state)
{
    (void)state;
    check_table(values, sizeof values / sizeof *values);
}

static void test_malformed_tensors_are_eformat(void **state)
{
    (void)state;
    check_table(tensors, sizeof tensors / sizeof *tensors);
}

static void test_long_names_are_cut_in_errors(void **state)
{
    (void)state;
    struct bytes b = { 0 };
    char expected[200] = "key ";
    bytes_build(&b, HEAD(0, 1) "8:65535");
    for (int i = 0; i < 65535; i++)
        bytes_add(&b, "k", 1);
    bytes_build(&b, "4:77 1:0");
    memset(expected + 4, 'k', 96);
    strcpy(expected + 100, "...: found value type 77, expected 0 to 12");
    check_refused(&b, "long key", expected);
    bytes_free(&b);
}

static void test_long_paths_leave_room_for_the_reason(void **state)
{
    (void)state;
    char path[3000];
    vact_gguf *gguf = NULL;
    vact_error err = { 0 };
    memset(path, 'd', sizeof path - 1);
    strcpy(path + sizeof path - 8, "/x.gguf");
    assert_int_equal(vact_gguf_parse(&gguf, path, (const uint8_t *)"GGML", 4, &err), VACT_EFORMAT);
    assert_non_null(strstr(err.text, "ddd/x.gguf: found the magic \"GGML\", expected \"GGUF\""));
}

static void test_an_error_struct_is_optional(void **state)
{
    (void)state;
    vact_gguf *gguf = NULL;
    assert_int_equal(vact_gguf_parse(&gguf, "x", (const uint8_t *)"GGML", 4, NULL), VACT_EFORMAT);
    assert_null(gguf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_malformed_headers_are_eformat),
        cmocka_unit_test(test_malformed_values_are_eformat),
        cmocka_unit_test(test_malformed_tensors_are_eformat),
        cmocka_unit_test(test_long_names_are_cut_in_errors),
        cmocka_unit_test(test_long_paths_leave_room_for_the_reason),
        cmocka_unit_test(test_an_error_struct_is_optional),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
