/* What is declared and streamed is in the file to the byte; a file that is not whole never appears. */
#include "file/gguf.h"
#include "folder.h"
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "gguf_bytes.h"

static int make_folder(void **state)
{
    (void)state;
    return folder_make("out.gguf");
}

static int count_files(void)
{
    int n = 0;
    DIR *d = opendir(folder);
    assert_non_null(d);
    for (struct dirent *e = readdir(d); e; e = readdir(d))
        n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

static vact_gguf_writer *begin(void)
{
    vact_gguf_writer *w = NULL;
    vact_error err = { 0 };
    if (vact_gguf_writer_open(&w, path, &err) != VACT_OK)
        fail_msg("%s", err.text);
    return w;
}

/* Three tensors whose sizes are 24 (padded), 64 (whole) and 34 (padded) bytes. */
static void declare(vact_gguf_writer *w)
{
    assert_int_equal(vact_gguf_put_text(w, "general.architecture", "smolvla", NULL), VACT_OK);
    assert_int_equal(vact_gguf_put_u32(w, "hidden", 960, NULL), VACT_OK);
    assert_int_equal(vact_gguf_put_tensor(w, "a", VACT_DTYPE_F32, 2, (uint64_t[]){ 3, 2 }, NULL), VACT_OK);
    assert_int_equal(vact_gguf_put_f32(w, "eps", 1e-5f, NULL), VACT_OK);
    assert_int_equal(vact_gguf_put_tensor(w, "b", VACT_DTYPE_BF16, 1, (uint64_t[]){ 32 }, NULL), VACT_OK);
    assert_int_equal(vact_gguf_put_f64(w, "theta", 10000.5, NULL), VACT_OK);
    assert_int_equal(vact_gguf_put_text(w, "empty", "", NULL), VACT_OK);
    assert_int_equal(vact_gguf_put_tensor(w, "c", VACT_DTYPE_Q8_0, 3, (uint64_t[]){ 32, 1, 1 }, NULL), VACT_OK);
}

enum { DATA_BYTES = 24 + 64 + 34 };

static void fill(uint8_t *data)
{
    for (int i = 0; i < DATA_BYTES; i++)
        data[i] = (uint8_t)(i + 1);
}

static void build_expected(struct bytes *b)
{
    uint8_t data[DATA_BYTES];
    fill(data);
    bytes_build(b, "r:GGUF 4:3 8:3 8:5 s:general.architecture 4:8 s:smolvla s:hidden 4:4 4:960 s:eps 4:6 f:1e-5 "
                   "s:theta 4:12 d:10000.5 s:empty 4:8 8:0 "
                   "s:a 4:2 8:3 8:2 4:0 8:0 s:b 4:1 8:32 4:30 8:32 s:c 4:3 8:32 8:1 8:1 4:8 8:96 a:32");
    bytes_add(b, data, 24);
    bytes_build(b, "a:32");
    bytes_add(b, data + 24, 64);
    bytes_add(b, data + 88, 34);
    bytes_build(b, "a:32");
}

static void test_the_bytes_do_not_depend_on_how_data_is_cut(void **state)
{
    (void)state;
    struct bytes expected = { 0 };
    uint8_t data[DATA_BYTES];
    fill(data);
    build_expected(&expected);
    for (size_t chunk = 1; chunk <= DATA_BYTES; chunk++) {
        vact_gguf_writer *w = begin();
        declare(w);
        for (size_t at = 0; at < DATA_BYTES; at += chunk) {
            const size_t n = DATA_BYTES - at < chunk ? DATA_BYTES - at : chunk;
            assert_int_equal(vact_gguf_write_data(w, data + at, n, NULL), VACT_OK);
        }
        assert_int_equal(vact_gguf_write_data(w, NULL, 0, NULL), VACT_OK);
        assert_int_equal(vact_gguf_writer_finish(w, NULL), VACT_OK);
        vact_gguf_writer_close(&w);
        assert_null(w);
        folder_check(expected.data, expected.size);
        assert_int_equal(count_files(), 1);
    }
    assert_int_equal(unlink(path), 0);
    bytes_free(&expected);
}

static void test_a_written_file_reads_back(void **state)
{
    (void)state;
    vact_gguf *gguf = NULL;
    vact_error err = { 0 };
    uint8_t data[DATA_BYTES];
    fill(data);
    vact_gguf_writer *w = begin();
    declare(w);
    assert_int_equal(vact_gguf_write_data(w, data, sizeof data, NULL), VACT_OK);
    assert_int_equal(vact_gguf_writer_finish(w, NULL), VACT_OK);
    vact_gguf_writer_close(&w);

    assert_int_equal(vact_gguf_open(&gguf, path, &err), VACT_OK);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(gguf->version, 3);
    const vact_gguf_text arch = vact_gguf_get_text(vact_gguf_find(gguf, "general.architecture"), 0);
    assert_int_equal(arch.length, 7);
    assert_memory_equal(arch.data, "smolvla", 7);
    assert_int_equal(vact_gguf_get_uint(vact_gguf_find(gguf, "hidden"), 0), 960);
    assert_true(vact_gguf_get_float(vact_gguf_find(gguf, "eps"), 0) == (double)1e-5f);
    assert_true(vact_gguf_get_float(vact_gguf_find(gguf, "theta"), 0) == 10000.5);
    assert_int_equal(vact_gguf_get_text(vact_gguf_find(gguf, "empty"), 0).length, 0);
    const vact_gguf_tensor *c = vact_gguf_find_tensor(gguf, "c");
    assert_int_equal(c->n_dims, 3);
    assert_int_equal(c->bytes, 34);
    assert_memory_equal(c->data, data + 88, 34);
    vact_gguf_close(&gguf);
}

static void test_a_file_may_have_no_tensors(void **state)
{
    (void)state;
    struct bytes expected = { 0 };
    bytes_build(&expected, "r:GGUF 4:3 8:0 8:1 s:k 4:4 4:7 a:32");
    vact_gguf_writer *w = begin();
    assert_int_equal(vact_gguf_put_u32(w, "k", 7, NULL), VACT_OK);
    assert_int_equal(vact_gguf_writer_finish(w, NULL), VACT_OK);
    vact_gguf_writer_close(&w);
    folder_check(expected.data, expected.size);
    assert_int_equal(unlink(path), 0);
    bytes_free(&expected);
}

/* Checked with the Python package gguf 0.19: its reader gives these keys, types and values. */
static void test_arrays_texts_and_bools_are_as_the_format_says(void **state)
{
    (void)state;
    const struct {
        vact_gguf_type type;
        const void *data;
        uint64_t count;
    } arrays[] = {
        { VACT_GGUF_U8, (uint8_t[]){ 1, 255 }, 2 },     { VACT_GGUF_I8, (int8_t[]){ -1 }, 1 },
        { VACT_GGUF_U16, (uint16_t[]){ 65535 }, 1 },    { VACT_GGUF_I16, (int16_t[]){ -2, 2 }, 2 },
        { VACT_GGUF_U32, (uint32_t[]){ 1, 2, 3 }, 3 },  { VACT_GGUF_I32, (int32_t[]){ -7 }, 1 },
        { VACT_GGUF_F32, (float[]){ 0.5f, -1.5f }, 2 }, { VACT_GGUF_BOOL, (uint8_t[]){ 0, 1 }, 2 },
        { VACT_GGUF_U64, (uint64_t[]){ 1 }, 1 },        { VACT_GGUF_I64, (int64_t[]){ -1 }, 1 },
        { VACT_GGUF_F64, (double[]){ 1e300 }, 1 },      { VACT_GGUF_F32, NULL, 0 },
    };
    static const vact_gguf_text texts[] = { { "a\0b", 3 }, { NULL, 0 }, { "\xc4\xa0the", 5 } };
    struct bytes expected = { 0 };
    bytes_build(&expected, "r:GGUF 4:3 8:0 8:16 s:yes 4:7 1:1 s:no 4:7 1:0 "
                           "s:a 4:9 4:0 8:2 1:1 1:255 s:b 4:9 4:1 8:1 1:-1 s:c 4:9 4:2 8:1 2:65535 "
                           "s:d 4:9 4:3 8:2 2:-2 2:2 s:e 4:9 4:4 8:3 4:1 4:2 4:3 s:f 4:9 4:5 8:1 4:-7 "
                           "s:g 4:9 4:6 8:2 f:0.5 f:-1.5 s:h 4:9 4:7 8:2 1:0 1:1 s:i 4:9 4:10 8:1 8:1 "
                           "s:j 4:9 4:11 8:1 8:-1 s:k 4:9 4:12 8:1 d:1e300 s:l 4:9 4:6 8:0 "
                           "s:texts 4:9 4:8 8:3 s:a%00b 8:0 s:%c4%a0the s:none 4:9 4:8 8:0 a:32");
    vact_gguf_writer *w = begin();
    assert_int_equal(vact_gguf_put_bool(w, "yes", true, NULL), VACT_OK);
    assert_int_equal(vact_gguf_put_bool(w, "no", false, NULL), VACT_OK);
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        assert_int_equal(vact_gguf_put_array(w, (char[]){ (char)('a' + i), 0 }, arrays[i].type, arrays[i].data,
                                             arrays[i].count, NULL),
                         VACT_OK);
    assert_int_equal(vact_gguf_put_texts(w, "texts", texts, 3, NULL), VACT_OK);
    assert_int_equal(vact_gguf_put_texts(w, "none", NULL, 0, NULL), VACT_OK);
    assert_int_equal(vact_gguf_writer_finish(w, NULL), VACT_OK);
    vact_gguf_writer_close(&w);
    folder_check(expected.data, expected.size);
    assert_int_equal(unlink(path), 0);
    bytes_free(&expected);
}

static void test_an_unfinished_writer_leaves_no_file(void **state)
{
    (void)state;
    for (int steps = 0; steps < 3; steps++) {
        vact_gguf_writer *w = begin();
        assert_int_equal(count_files(), 1);
        assert_int_equal(access(path, F_OK), -1);
        if (steps > 0)
            declare(w);
        if (steps > 1)
            assert_int_equal(vact_gguf_write_data(w, "abc", 3, NULL), VACT_OK);
        vact_gguf_writer_close(&w);
        assert_int_equal(count_files(), 0);
    }
    vact_gguf_writer_close(NULL);
}

static void test_an_older_file_stays_until_finish(void **state)
{
    (void)state;
    struct bytes old = { 0 };
    bytes_build(&old, "r:old");
    folder_put(old.data, old.size);
    vact_gguf_writer *w = begin();
    declare(w);
    assert_int_equal(vact_gguf_write_data(w, "abc", 3, NULL), VACT_OK);
    folder_check(old.data, old.size);
    vact_gguf_writer_close(&w);
    folder_check(old.data, old.size);
    assert_int_equal(unlink(path), 0);
    bytes_free(&old);
}

static void test_the_leftover_of_a_killed_process_is_no_obstacle(void **state)
{
    (void)state;
    char leftover[128];
    snprintf(leftover, sizeof leftover, "%s.tmp.%ld.0", path, (long)getpid());
    FILE *f = fopen(leftover, "wb");
    assert_non_null(f);
    fclose(f);
    vact_gguf_writer *w = begin();
    assert_int_equal(vact_gguf_writer_finish(w, NULL), VACT_OK);
    vact_gguf_writer_close(&w);
    assert_int_equal(count_files(), 2);
    assert_int_equal(unlink(leftover), 0);
    assert_int_equal(unlink(path), 0);
}

/* ---- refusals ---- */

static void check_failed(vact_gguf_writer *w, vact_status status, const vact_error *err, const char *expected)
{
    assert_int_equal(status, VACT_EARG);
    assert_int_equal(err->code, VACT_EARG);
    assert_int_equal(strncmp(err->text, path, strlen(path)), 0);
    assert_string_equal(err->text + strlen(path), expected);
    /* From here on nothing but closing works. */
    assert_int_equal(vact_gguf_put_u32(w, "later", 1, NULL), VACT_EARG);
    assert_int_equal(vact_gguf_write_data(w, "a", 1, NULL), VACT_EARG);
    assert_int_equal(vact_gguf_writer_finish(w, NULL), VACT_EARG);
    vact_gguf_writer_close(&w);
    assert_int_equal(count_files(), 0);
}

static void test_keys_that_readers_refuse_are_earg(void **state)
{
    (void)state;
    static char endless[65537];
    static const struct {
        const char *key, *text;
    } bad[] = {
        { "", ": key : found a name of 0 bytes, expected 1 to 65535" },
        { "general.alignment", ": key general.alignment: found by name, expected none: the writer aligns to 32" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        vact_error err = { 0 };
        vact_gguf_writer *w = begin();
        assert_int_equal(vact_gguf_put_f32(w, "hidden", 0, &err), VACT_OK);
        check_failed(w, vact_gguf_put_u32(w, bad[i].key, 1, &err), &err, bad[i].text);
    }
    vact_error err = { 0 };
    vact_gguf_writer *w = begin();
    memset(endless, 'k', sizeof endless - 1);
    assert_int_equal(vact_gguf_put_u32(w, endless, 1, &err), VACT_EARG);
    assert_non_null(strstr(err.text, "kkk...: found a name of 65536 bytes, expected 1 to 65535"));
    vact_gguf_writer_close(&w);
}

static void test_arrays_that_readers_refuse_are_earg(void **state)
{
    (void)state;
    static const struct {
        vact_gguf_type element;
        const char *text;
    } bad[] = {
        { VACT_GGUF_BOOL, ": key k: found the bool 2, expected 0 or 1" },
        { VACT_GGUF_STRING, ": key k: found elements of string, expected numbers or bools" },
        { VACT_GGUF_ARRAY, ": key k: found elements of array, expected numbers or bools" },
        { VACT_GGUF_TYPE_END, ": key k: found elements of unknown, expected numbers or bools" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        vact_error err = { 0 };
        vact_gguf_writer *w = begin();
        check_failed(w, vact_gguf_put_array(w, "k", bad[i].element, (uint8_t[]){ 0, 2 }, 2, &err), &err, bad[i].text);
    }
}

static void test_tensors_that_readers_refuse_are_earg(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint32_t dtype, n_dims;
        uint64_t ne[4];
        const char *text;
    } bad[] = {
        { "", 0, 1, { 1 }, ": tensor : found a name of 0 bytes, expected 1 to 65535" },
        { "t", 99, 1, { 1 }, ": tensor t: found tensor type 99, expected a known one" },
        { "t", 0, 0, { 1 }, ": tensor t: found 0 dimensions, expected 1 to 4" },
        { "t", 0, 5, { 1 }, ": tensor t: found 5 dimensions, expected 1 to 4" },
        { "t", 0, 2, { 1, 0 }, ": tensor t: found dimension 1 of size 0, expected at least 1" },
        { "t", 8, 1, { 33 }, ": tensor t: found rows of 33 values, expected a multiple of 32 for q8_0" },
        { "t", 0, 1, { UINT64_MAX }, ": tensor t: found 2^63 values or more, expected fewer" },
        { "t", 24, 1, { INT64_MAX }, ": tensor t: found 2^63 bytes or more in all, expected fewer" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        vact_error err = { 0 };
        vact_gguf_writer *w = begin();
        assert_int_equal(vact_gguf_put_tensor(w, "good", 0, 1, (uint64_t[]){ 1 }, &err), VACT_OK);
        check_failed(w, vact_gguf_put_tensor(w, bad[i].name, bad[i].dtype, bad[i].n_dims, bad[i].ne, &err), &err,
                     bad[i].text);
    }
}

static void test_names_that_are_there_twice_are_earg(void **state)
{
    (void)state;
    vact_error err = { 0 };
    vact_gguf_writer *w = begin();
    assert_int_equal(vact_gguf_put_f32(w, "hidden", 0, &err), VACT_OK);
    assert_int_equal(vact_gguf_put_f32(w, "width", 0, &err), VACT_OK);
    assert_int_equal(vact_gguf_put_u32(w, "hidden", 0, &err), VACT_OK);
    check_failed(w, vact_gguf_writer_finish(w, &err), &err, ": key hidden: found twice, expected once");

    err = (vact_error){ 0 };
    w = begin();
    assert_int_equal(vact_gguf_put_f32(w, "t", 0, &err), VACT_OK); /* a key may be called like a tensor */
    assert_int_equal(vact_gguf_put_tensor(w, "t", 0, 1, (uint64_t[]){ 1 }, &err), VACT_OK);
    assert_int_equal(vact_gguf_put_tensor(w, "t", 0, 1, (uint64_t[]){ 1 }, &err), VACT_OK);
    check_failed(w, vact_gguf_write_data(w, "a", 1, &err), &err, ": tensor t: found twice, expected once");
}

/* Compared with one another they would take longer than a test may. */
static void test_there_may_be_very_many_names(void **state)
{
    (void)state;
    enum { N = 300000 };
    vact_gguf *gguf = NULL;
    vact_error err = { 0 };
    vact_gguf_writer *w = begin();
    for (uint32_t i = 0; i < N; i++) {
        char key[32];
        snprintf(key, sizeof key, "%u", i * 7919 % N);
        assert_int_equal(vact_gguf_put_u32(w, key, i, NULL), VACT_OK);
    }
    assert_int_equal(vact_gguf_writer_finish(w, NULL), VACT_OK);
    vact_gguf_writer_close(&w);
    assert_int_equal(vact_gguf_open(&gguf, path, &err), VACT_OK);
    assert_int_equal(gguf->n_values, N);
    assert_int_equal(vact_gguf_get_uint(vact_gguf_find(gguf, "7919"), 0), 1);
    vact_gguf_close(&gguf);
    assert_int_equal(unlink(path), 0);
}

static void test_too_little_data_is_earg(void **state)
{
    (void)state;
    vact_error err = { 0 };
    vact_gguf_writer *w = begin();
    declare(w);
    check_failed(w, vact_gguf_writer_finish(w, &err), &err, ": tensor a: found 0 of 24 bytes, expected all");

    err = (vact_error){ 0 };
    w = begin();
    declare(w);
    assert_int_equal(vact_gguf_write_data(w, (uint8_t[30]){ 0 }, 30, &err), VACT_OK);
    check_failed(w, vact_gguf_writer_finish(w, &err), &err, ": tensor b: found 6 of 64 bytes, expected all");
}

static void test_too_much_data_is_earg(void **state)
{
    (void)state;
    vact_error err = { 0 };
    vact_gguf_writer *w = begin();
    declare(w);
    check_failed(w, vact_gguf_write_data(w, (uint8_t[DATA_BYTES + 1]){ 0 }, DATA_BYTES + 1, &err), &err,
                 ": found more data than the tensors declare");
}

static void test_declaring_after_data_is_earg(void **state)
{
    (void)state;
    vact_error err = { 0 };
    vact_gguf_writer *w = begin();
    declare(w);
    assert_int_equal(vact_gguf_write_data(w, "a", 1, &err), VACT_OK);
    check_failed(w, vact_gguf_put_u32(w, "late", 1, &err), &err,
                 ": found a declaration after data, expected it before");
}

static void test_nothing_follows_finish(void **state)
{
    (void)state;
    vact_gguf_writer *w = begin();
    assert_int_equal(vact_gguf_writer_finish(w, NULL), VACT_OK);
    assert_int_equal(vact_gguf_writer_finish(w, NULL), VACT_EARG);
    vact_gguf_writer_close(&w);
    w = begin();
    assert_int_equal(vact_gguf_writer_finish(w, NULL), VACT_OK);
    assert_int_equal(vact_gguf_write_data(w, "a", 1, NULL), VACT_EARG);
    vact_gguf_writer_close(&w);
    assert_int_equal(count_files(), 1);
    assert_int_equal(unlink(path), 0);
}

/* ---- the system's errors ---- */

static void check_open_is_eio(const char *target, const char *reason)
{
    vact_error err = { 0 };
    vact_gguf_writer *w = NULL;
    assert_int_equal(vact_gguf_writer_open(&w, target, &err), VACT_EIO);
    assert_null(w);
    assert_int_equal(strncmp(err.text, target, strlen(target)), 0);
    if (!strstr(err.text, reason))
        fail_msg("\"%s\", expected \"%s\" in it", err.text, reason);
}

static void test_targets_that_cannot_be_replaced_are_eio(void **state)
{
    (void)state;
    char missing[128];
    snprintf(missing, sizeof missing, "%s/missing/out.gguf", folder);
    check_open_is_eio(missing, ": cannot create a temporary file beside it: No such file or directory");
    check_open_is_eio(folder, ": is a directory, expected a file");
    check_open_is_eio("/dev/null", ": is not a regular file");
    assert_int_equal(count_files(), 0);
}

static void test_a_full_disk_is_eio_and_leaves_nothing(void **state)
{
    (void)state;
    static uint8_t big[1 << 16];
    struct rlimit was, small;
    vact_error err = { 0 };
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    vact_gguf_writer *w = begin();
    assert_int_equal(vact_gguf_put_tensor(w, "t", 24, 1, (uint64_t[]){ sizeof big }, &err), VACT_OK);
    small = was;
    small.rlim_cur = 4096;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    vact_status status = vact_gguf_write_data(w, big, sizeof big, &err);
    if (status == VACT_OK)
        status = vact_gguf_writer_finish(w, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
    signal(SIGXFSZ, handler);
    assert_int_equal(status, VACT_EIO);
    assert_string_equal(err.text + strlen(path), ": cannot write: File too large");
    assert_int_equal(vact_gguf_writer_finish(w, NULL), VACT_EIO);
    vact_gguf_writer_close(&w);
    assert_int_equal(count_files(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_bytes_do_not_depend_on_how_data_is_cut),
        cmocka_unit_test(test_a_written_file_reads_back),
        cmocka_unit_test(test_a_file_may_have_no_tensors),
        cmocka_unit_test(test_arrays_texts_and_bools_are_as_the_format_says),
        cmocka_unit_test(test_an_unfinished_writer_leaves_no_file),
        cmocka_unit_test(test_an_older_file_stays_until_finish),
        cmocka_unit_test(test_the_leftover_of_a_killed_process_is_no_obstacle),
        cmocka_unit_test(test_keys_that_readers_refuse_are_earg),
        cmocka_unit_test(test_arrays_that_readers_refuse_are_earg),
        cmocka_unit_test(test_tensors_that_readers_refuse_are_earg),
        cmocka_unit_test(test_names_that_are_there_twice_are_earg),
        cmocka_unit_test(test_there_may_be_very_many_names),
        cmocka_unit_test(test_too_little_data_is_earg),
        cmocka_unit_test(test_too_much_data_is_earg),
        cmocka_unit_test(test_declaring_after_data_is_earg),
        cmocka_unit_test(test_nothing_follows_finish),
        cmocka_unit_test(test_targets_that_cannot_be_replaced_are_eio),
        cmocka_unit_test(test_a_full_disk_is_eio_and_leaves_nothing),
        cmocka_unit_test(folder_remove),
    };
    return cmocka_run_group_tests(tests, make_folder, NULL);
}
