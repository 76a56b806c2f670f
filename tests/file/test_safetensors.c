/* Safetensors files of the format's own package and by hand, and checkpoints in shards: what they hold, to the byte. */
#include "allocations.h"
#include "base/error.h"
#include "file/safetensors.h"
#include "folder.h"
#include "safetensors_bytes.h"
#include "safetensors_walk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static int set_up(void **state)
{
    (void)state;
    memory_count_json();
    return folder_make("m.safetensors");
}

/* ---- one file ---- */

static const vact_safetensor *check_tensor(const vact_safetensors *set, uint64_t place, const char *name,
                                           const char *type_name, uint32_t dtype, uint32_t n_dims, const uint64_t *dims)
{
    const vact_safetensor *t = vact_safetensors_find(set, name);
    assert_ptr_equal(t, &set->tensors[place]);
    assert_string_equal(t->name, name);
    assert_string_equal(t->type_name, type_name);
    assert_int_equal(t->dtype, dtype);
    assert_int_equal(t->n_dims, n_dims);
    for (uint32_t i = 0; i < VACT_SAFETENSOR_DIMS; i++)
        assert_int_equal(t->dims[i], i < n_dims ? dims[i] : 1);
    return t;
}

static void check_data(const vact_safetensor *t, const void *want, size_t bytes)
{
    assert_int_equal(t->bytes, bytes);
    assert_memory_equal(t->data, want, bytes);
}

/* tools/reference/make_safetensors.py wrote it. */
static void test_a_file_of_the_formats_own_package(void **state)
{
    (void)state;
    static const char file[] = TEST_DATA "/small.safetensors";
    static const float norm[] = { 1, -0.5f, 3.25f };
    static const uint16_t half[] = { 0x3E00, 0xC000, 0x7BFF, 0 };                 /* 1.5, -2, 65504, 0 */
    static const uint16_t proj[] = { 0x3FC0, 0xC000, 0, 0x3E80, 0x42C0, 0xBC00 }; /* 1.5, -2, 0, 1/4, 96, -1/128 */
    static const int64_t count = 1234567890123;
    vact_safetensors *set = NULL;
    vact_error err = { 0 };
    if (vact_safetensors_open(&set, file, &err) != VACT_OK)
        fail_msg("%s", err.text);
    assert_int_equal(set->n_tensors, 6);
    check_data(check_tensor(set, 0, "normalize.count", "I64", UINT32_MAX, 0, NULL), &count, 8);
    check_data(check_tensor(set, 1, "empty", "F32", VACT_DTYPE_F32, 3, (uint64_t[]){ 2, 0, 3 }), "", 0);
    check_data(check_tensor(set, 2, "model.norm.weight", "F32", VACT_DTYPE_F32, 1, (uint64_t[]){ 3 }), norm, 12);
    check_data(check_tensor(set, 3, "model.proj.weight", "BF16", VACT_DTYPE_BF16, 2, (uint64_t[]){ 2, 3 }), proj, 12);
    check_data(check_tensor(set, 4, "model.half", "F16", VACT_DTYPE_F16, 4, (uint64_t[]){ 1, 2, 1, 2 }), half, 8);
    check_data(check_tensor(set, 5, "gr\303\266\303\237e.mask", "BOOL", UINT32_MAX, 1, (uint64_t[]){ 3 }), "\1\0\1", 3);
    static const char *const sorted[] = {
        "empty", "gr\303\266\303\237e.mask", "model.half", "model.norm.weight", "model.proj.weight", "normalize.count"
    };
    for (int i = 0; i < 6; i++)
        assert_string_equal(set->by_name[i]->name, sorted[i]);
    assert_string_equal(set->tensors[0].file, vact_path_end(file));
    assert_string_equal(set->path, vact_path_end(file));
    assert_int_equal(set->n_metadata, 1);
    assert_string_equal(vact_safetensors_metadata(set, "format"), "pt");
    assert_null(vact_safetensors_metadata(set, "forma"));
    assert_null(vact_safetensors_find(set, "model"));
    assert_null(vact_safetensors_find(set, ""));
    assert_null(vact_safetensors_find(set, "__metadata__"));
    vact_safetensors_close(&set);
    assert_null(set);
    vact_safetensors_close(&set);
    vact_safetensors_close(NULL);
}

static vact_safetensors *parse(struct bytes *b, const char *header, size_t data)
{
    vact_safetensors *set = NULL;
    vact_error err = { 0 };
    uint64_t sum = 0;
    bytes_add_safetensors(b, header, data);
    if (vact_safetensors_parse(&set, "x", b->data, b->size, &err) != VACT_OK)
        fail_msg("%s: %s", header, err.text);
    assert_true(walk_safetensors(set, true, &sum));
    return set;
}

/* In any order, with blanks after, between and of any kind, data at any address, and fields that nobody knows. */
static void test_a_header_in_any_layout(void **state)
{
    (void)state;
    struct bytes b = { 0 };
    vact_safetensors *set =
        parse(&b,
              "{ \"z\" :\n{\"data_offsets\":[3,5],\"shape\":[ 1,1,1,1,1,1,1,2 ],\"dtype\":\"U8\",\"x\":[{}]},"
              "\"__metadata__\":{\"b\":\"a \\\"quoted\\\"\\n\\u00e4 text\",\"a\":\"\"},"
              "\"\\u0061\":{\"dtype\":\"I8\",\"shape\":[0],\"data_offsets\":[3,3]},"
              "\"b\":{\"dtype\":\"BOOL\",\"shape\":[3],\"data_offsets\":[0,3]},"
              "\"c\":{\"dtype\":\"F64\",\"shape\":[0,4611686018427387904,4611686018427387904],\"data_offsets\":[5,5]}}"
              " \t\r\n ",
              5);
    assert_int_equal(set->n_tensors, 4);
    check_data(check_tensor(set, 0, "b", "BOOL", UINT32_MAX, 1, (uint64_t[]){ 3 }), "\1\2\3", 3);
    check_data(check_tensor(set, 1, "a", "I8", UINT32_MAX, 1, (uint64_t[]){ 0 }), "", 0);
    check_data(check_tensor(set, 2, "z", "U8", UINT32_MAX, 8, (uint64_t[]){ 1, 1, 1, 1, 1, 1, 1, 2 }), "\4\5", 2);
    check_tensor(set, 3, "c", "F64", UINT32_MAX, 3, (uint64_t[]){ 0, 1ull << 62, 1ull << 62 });
    assert_int_equal(set->tensors[2].offset, 3);
    assert_int_equal(set->n_metadata, 2);
    assert_string_equal(vact_safetensors_metadata(set, "a"), "");
    assert_string_equal(vact_safetensors_metadata(set, "b"), "a \"quoted\"\n\xC3\xA4 text");
    vact_safetensors_close(&set);
    bytes_free(&b);
}

static void test_files_without_tensors(void **state)
{
    (void)state;
    static const char *const headers[] = { "{}", "{\"__metadata__\":null}", "{\"__metadata__\":{}}  " };
    for (int i = 0; i < 3; i++) {
        struct bytes b = { 0 };
        vact_safetensors *set = parse(&b, headers[i], 0);
        assert_int_equal(set->n_tensors, 0);
        assert_int_equal(set->n_metadata, 0);
        assert_null(vact_safetensors_find(set, "a"));
        assert_null(vact_safetensors_metadata(set, "a"));
        vact_safetensors_close(&set);
        bytes_free(&b);
    }
}

/* Bits of each of the reference's types, so bytes of eight values. */
static void test_every_type_has_its_size(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int bits;
    } types[] = { { "BOOL", 8 },        { "F4", 4 },      { "F6_E2M3", 6 }, { "F6_E3M2", 6 }, { "U8", 8 },
                  { "I8", 8 },          { "F8_E5M2", 8 }, { "F8_E4M3", 8 }, { "F8_E8M0", 8 }, { "F8_E4M3FNUZ", 8 },
                  { "F8_E5M2FNUZ", 8 }, { "I16", 16 },    { "U16", 16 },    { "F16", 16 },    { "BF16", 16 },
                  { "I32", 32 },        { "U32", 32 },    { "F32", 32 },    { "C64", 64 },    { "F64", 64 },
                  { "I64", 64 },        { "U64", 64 } };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        struct bytes b = { 0 };
        char header[128];
        snprintf(header, sizeof header, "{\"t\":{\"dtype\":\"%s\",\"shape\":[2,4],\"data_offsets\":[0,%d]}}",
                 types[i].name, types[i].bits);
        vact_safetensors *set = parse(&b, header, (size_t)types[i].bits);
        assert_int_equal(set->tensors[0].bytes, types[i].bits);
        assert_string_equal(set->tensors[0].type_name, types[i].name);
        vact_safetensors_close(&set);
        bytes_free(&b);
    }
}

/* ---- files and directories ---- */

static void in_folder(char out[96], const char *name)
{
    snprintf(out, 96, "%s/%s", folder, name);
}

static void put(const char *name, const struct bytes *b)
{
    char kept[sizeof path];
    memcpy(kept, path, sizeof path);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    folder_put(b->data, b->size);
    memcpy(path, kept, sizeof path);
}

static void put_text(const char *name, const char *text)
{
    struct bytes b = { 0 };
    bytes_add(&b, text, strlen(text));
    put(name, &b);
    bytes_free(&b);
}

static void put_safetensors(const char *name, const char *header, size_t data)
{
    struct bytes b = { 0 };
    bytes_add_safetensors(&b, header, data);
    put(name, &b);
    bytes_free(&b);
}

static void drop(const char *name)
{
    char whole[96];
    in_folder(whole, name);
    assert_int_equal(unlink(whole), 0);
}

/* The text begins with the folder's path. */
static void check_dir_refused(vact_status code, const char *text)
{
    vact_safetensors *set = (vact_safetensors *)1;
    vact_error err = { 0 };
    const vact_status status = vact_safetensors_open_dir(&set, folder, "m", &err);
    if (status != code || err.code != code || set || strncmp(err.text, folder, strlen(folder)) != 0 ||
        strcmp(err.text + strlen(folder), text) != 0)
        fail_msg("status %d, \"%s\", expected \"%s\"", (int)status, err.text, text);
}

static vact_safetensors *open_dir(const char *dir)
{
    vact_safetensors *set = NULL;
    vact_error err = { 0 };
    uint64_t sum = 0;
    if (vact_safetensors_open_dir(&set, dir, "m", &err) != VACT_OK)
        fail_msg("%s", err.text);
    assert_true(walk_safetensors(set, false, &sum));
    return set;
}

#define U8(name, offsets, n) "\"" name "\":{\"dtype\":\"U8\",\"shape\":[" n "],\"data_offsets\":" offsets "}"
#define INDEX                "m.safetensors.index.json"

static void put_shards(void)
{
    put_text(INDEX, "{\"metadata\":{\"total_size\":6},\"weight_map\":"
                    "{\"d\":\"m-2\",\"a\":\"m-2\",\"b\":\"m-1\",\"c\":\"m-1\"}}");
    put_safetensors("m-1", "{\"__metadata__\":{\"format\":\"pt\"}," U8("c", "[0,2]", "2") "," U8("b", "[2,3]", "1") "}",
                    3);
    put_safetensors("m-2",
                    "{\"__metadata__\":{\"format\":\"np\",\"more\":\"x\"}," U8("a", "[1,3]", "2") "," U8(
                        "d", "[0,1]", "1") "," U8("unpromised", "[3,4]", "1") "}",
                    4);
}

static void drop_shards(void)
{
    drop(INDEX);
    drop("m-1");
    drop("m-2");
}

static void check_place(const vact_safetensors *set, int place, const char *name, const char *file, const char *data)
{
    char whole[96];
    const vact_safetensor *t = &set->tensors[place];
    in_folder(whole, file);
    assert_string_equal(t->name, name);
    assert_string_equal(t->file, whole);
    check_data(t, data, strlen(data));
}

static void test_shards_are_one_checkpoint(void **state)
{
    (void)state;
    char with_slash[96];
    put_shards();
    in_folder(with_slash, "");
    vact_safetensors *set = open_dir(with_slash);
    assert_int_equal(set->n_tensors, 5);
    check_place(set, 0, "c", "m-1", "\1\2");
    check_place(set, 1, "b", "m-1", "\3");
    check_place(set, 2, "d", "m-2", "\1");
    check_place(set, 3, "a", "m-2", "\2\3");
    check_place(set, 4, "unpromised", "m-2", "\4");
    assert_int_equal(set->n_metadata, 3);
    assert_string_equal(vact_safetensors_metadata(set, "format"), "pt");
    assert_string_equal(vact_safetensors_metadata(set, "more"), "x");
    vact_safetensors_close(&set);
    drop_shards();
}

static void test_a_single_file_is_preferred(void **state)
{
    (void)state;
    put_text(INDEX, "what it says doesn't matter");
    put_safetensors("m.safetensors", "{" U8("a", "[0,1]", "1") "}", 1);
    vact_safetensors *set = open_dir(folder);
    assert_int_equal(set->n_tensors, 1);
    check_place(set, 0, "a", "m.safetensors", "\1");
    vact_safetensors_close(&set);
    drop("m.safetensors");
    drop(INDEX);
}

static void test_shards_that_dont_fit_together(void **state)
{
    (void)state;
    check_dir_refused(VACT_EIO, ": found neither m.safetensors nor m.safetensors.index.json");
    put_text(INDEX, "{\"weight_map\":{\"a\":\"../m-1\"}}");
    check_dir_refused(VACT_EFORMAT,
                      "/" INDEX ": weight_map.a: found the shard \"../m-1\", expected a file name in ASCII "
                      "without \"/\"");
    put_text(INDEX, "{\"weight_map\":{\"a\":\"m-2\",\"b\":\"m-1\",\"c\":\"m-3\"}}");
    put_safetensors("m-1", "{" U8("b", "[0,2]", "2") "}", 2);
    check_dir_refused(VACT_EIO, "/" INDEX ": found 1 of 3 shards, m-2 is missing");
    put_safetensors("m-2", "{" U8("a", "[0,2]", "2") "}", 1);
    check_dir_refused(VACT_EIO, "/" INDEX ": found 2 of 3 shards, m-3 is missing");
    put_safetensors("m-3", "{" U8("b", "[0,1]", "1") "," U8("c", "[1,2]", "1") "}", 2);
    check_dir_refused(VACT_EFORMAT, "/m-2: found a file of 62 bytes, expected 63, 2 of data behind the first 61");
    put_safetensors("m-2", "{" U8("a", "[0,2]", "2") "}", 2);
    check_dir_refused(VACT_EFORMAT, "/" INDEX ": tensor b: found in m-1 and m-3, expected in one shard");
    put_safetensors("m-3", "{" U8("c\\n", "[0,1]", "1") "}", 1);
    check_dir_refused(VACT_EFORMAT, "/" INDEX ": tensor c: not found in the shard m-3, expected there");
    put_safetensors("m-3", "{" U8("c", "[0,1]", "1") "}", 1);
    vact_safetensors *set = open_dir(folder);
    assert_int_equal(set->n_tensors, 3);
    vact_safetensors_close(&set);
    put_text(INDEX, "{\"weight_map\":{\"a\":\"m-2\",\"b\":\"m-1\",\"c\":\"m-1\",\"d\":\"m-3\"}}");
    check_dir_refused(VACT_EFORMAT, "/" INDEX ": tensor c: not found in the shard m-1, expected there");
    put_text(INDEX, "{\"weight_map\":{\"a\":\"m-2\",\"b\":\"m-3\",\"c\":\"m-1\"}}");
    check_dir_refused(VACT_EFORMAT, "/" INDEX ": tensor b: not found in the shard m-3, expected there");
    drop("m-3");
    drop_shards();
}

static void test_what_is_no_directory_or_file(void **state)
{
    (void)state;
    vact_safetensors *set = NULL;
    vact_error err = { 0 };
    char text[160];
    put_text("m.safetensors", "x");
    assert_int_equal(vact_safetensors_open_dir(&set, path, "m", &err), VACT_EIO);
    snprintf(text, sizeof text, "%s: Not a directory", path);
    assert_string_equal(err.text, text);
    drop("m.safetensors");
    err = (vact_error){ 0 };
    assert_int_equal(vact_safetensors_open_dir(&set, path, "m", &err), VACT_EIO);
    snprintf(text, sizeof text, "%s: No such file or directory", path);
    assert_string_equal(err.text, text);
    err = (vact_error){ 0 };
    assert_int_equal(vact_safetensors_open(&set, path, &err), VACT_EIO);
    assert_string_equal(err.text, text);
    assert_int_equal(mkdir(path, 0700), 0);
    check_dir_refused(VACT_EIO, "/m.safetensors: is a directory, expected a file");
    assert_int_equal(rmdir(path), 0);
    assert_null(set);
}

/* ---- memory ---- */

/* Pages of files that this process has in memory. */
static long file_pages(void)
{
    long size = 0, resident = 0, shared = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%ld %ld %ld", &size, &resident, &shared), 3);
    fclose(f);
    return shared;
}

static uint64_t sum_pages(const vact_safetensor *t)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < t->bytes; i += 1024)
        sum += t->data[i];
    return sum;
}

static void test_what_is_forgotten_takes_no_memory(void **state)
{
    (void)state;
    const size_t size = 32 << 20, pages = size / (size_t)sysconf(_SC_PAGESIZE);
    struct bytes b = { 0 };
    vact_safetensors *set = NULL;
    bytes_add_safetensors(&b, "{" U8("t", "[0,33554432]", "33554432") "}", 0);
    b.data = realloc(b.data, b.size + size);
    assert_non_null(b.data);
    memset(b.data + b.size, 7, size);
    b.size += size;
    put("m.safetensors", &b);
    bytes_free(&b);
    assert_int_equal(vact_safetensors_open(&set, path, NULL), VACT_OK);
    const vact_safetensor *t = &set->tensors[0];
    const long before = file_pages();
    assert_int_equal(sum_pages(t), 7 * (size / 1024));
    assert_true(file_pages() - before > (long)(pages / 2)); /* the kernel's counts lag */
    vact_safetensors_forget(set, t->data, t->bytes);
    assert_true(file_pages() - before < (long)(pages / 8));
    assert_int_equal(sum_pages(t), 7 * (size / 1024));
    vact_safetensors_forget(set, t->data, t->bytes / 2);
    assert_true(file_pages() - before < (long)(pages / 2 + pages / 8));
    vact_safetensors_forget(set, t->data + t->bytes, 0);
    vact_safetensors_close(&set);
    drop("m.safetensors");
}

/* No string is longer than the JSON library's first buffer for one: growing that buffer it takes no notice of failures
 * (jansson 2.14). */
static vact_status open_shards(double *answer, vact_error *err)
{
    vact_safetensors *set = NULL;
    uint64_t sum = 0;
    const vact_status status = vact_safetensors_open_dir(&set, folder, "m", err);
    if (status == VACT_OK)
        assert_true(walk_safetensors(set, false, &sum));
    else
        assert_null(set);
    *answer = (double)sum;
    vact_safetensors_close(&set);
    return status;
}

static void test_any_allocation_may_fail(void **state)
{
    (void)state;
    put_shards();
    memory_check(open_shards);
    drop_shards();
    put_safetensors("m.safetensors", "{\"__metadata__\":{\"a\":\"b\"}," U8("a", "[0,1]", "1") "}", 1);
    memory_check(open_shards);
    drop("m.safetensors");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_file_of_the_formats_own_package),
        cmocka_unit_test(test_a_header_in_any_layout),
        cmocka_unit_test(test_files_without_tensors),
        cmocka_unit_test(test_every_type_has_its_size),
        cmocka_unit_test(test_shards_are_one_checkpoint),
        cmocka_unit_test(test_a_single_file_is_preferred),
        cmocka_unit_test(test_shards_that_dont_fit_together),
        cmocka_unit_test(test_what_is_no_directory_or_file),
        cmocka_unit_test(test_what_is_forgotten_takes_no_memory),
        cmocka_unit_test(test_any_allocation_may_fail),
        cmocka_unit_test(folder_remove),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
