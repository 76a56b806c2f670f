/* A toy architecture and files by hand: what binds, and what is refused in which words. */
#include "tensor/schema.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../file/gguf_bytes.h"
#include "kernels/kernels.h"

/* ---- the toy ---- */

struct config {
    int32_t width, layers;
    float eps;
    double period;
    int32_t twice; /* derived */
};

struct layer {
    vact_weight w, even;
    const float *norm;
};

struct toy {
    struct config c;
    vact_weight patch, cut;
    const float *mean;
    struct layer *layers;
};

#define D(field) VACT_DIM(struct config, field)

static const vact_key keys[] = {
    { "width", VACT_GGUF_U32, offsetof(struct config, width), true, 0, 1, 64, NULL, false, NULL },
    { "layers", VACT_GGUF_U32, offsetof(struct config, layers), false, 2, 1, 8, NULL, false, NULL },
    { "eps", VACT_GGUF_F32, offsetof(struct config, eps), true, 0, 0, 1, NULL, false, NULL },
    { "period", VACT_GGUF_F64, offsetof(struct config, period), false, 0.25, 0.001, 10, NULL, false, NULL },
    { 0 },
};

static const vact_row model_rows[] = {
    { "patch", VACT_ROW_MATRIX, offsetof(struct toy, patch), { D(width), 2, 2, 3 }, { 0 }, NULL, false },
    { "cut.weight", VACT_ROW_FLOAT_MATRIX, offsetof(struct toy, cut), { 2, D(twice) }, { 0 }, NULL, false },
    { "mean", VACT_ROW_VECTOR, offsetof(struct toy, mean), { D(width) }, { 0 }, NULL, false },
    { 0 },
};
static const vact_row layer_rows[] = {
    { "blk.%d.w", VACT_ROW_MATRIX, offsetof(struct layer, w), { 2, D(width) }, { 0 }, NULL, false },
    { "blk.%d.norm", VACT_ROW_VECTOR, offsetof(struct layer, norm), { D(width) }, { 0 }, NULL, false },
    { 0 },
};
static const vact_row even_rows[] = {
    { "blk.%d.even", VACT_ROW_MATRIX, offsetof(struct layer, even), { 1, D(width) }, { 0 }, NULL, false },
    { 0 },
};

static bool is_even(const void *config, int layer)
{
    (void)config;
    return layer % 2 == 0;
}

static const vact_table tables[] = {
    { model_rows, 0, 0, 0, NULL },
    { layer_rows, D(layers), offsetof(struct toy, layers), sizeof(struct layer), NULL },
    { even_rows, D(layers), offsetof(struct toy, layers), sizeof(struct layer), is_even },
    { 0 },
};

static const char *derive(void *config, char *text, size_t size)
{
    struct config *c = config;
    c->twice = 2 * c->width;
    if (c->width % 4 == 0)
        return NULL;
    snprintf(text, size, "toy.width is %d, expected a multiple of 4", c->width);
    return text;
}

static const vact_schema toy = { "toy", sizeof(struct config), sizeof(struct toy), keys, tables, NULL, NULL, NULL,
                                 derive };

/* ---- a file ---- */

#define NAME   "s:toy.architecture 4:8 s:toy "
#define WIDTH  "s:toy.width 4:4 4:4 "
#define LAYERS "s:toy.layers 4:4 4:2 "
#define EPS    "s:toy.eps 4:6 f:0.5 "
#define PERIOD "s:toy.period 4:12 d:2.5 "

enum { F32 = 0, F16 = 1, Q8_0 = 8, IQ2_XXS = 16, I32 = 26, BF16 = 30 };
#define COMPUTED "f32, f16, q4_0, q4_1, q5_0, q5_1, q8_0, q2_k, q3_k, q4_k, q5_k, q6_k, bf16"

typedef struct tensor {
    const char *name;
    uint32_t type, n_dims;
    uint64_t ne[4]; /* fastest first */
} tensor;

enum { TENSORS = 8 };
static const tensor whole[TENSORS] = {
    { "patch", F32, 4, { 3, 2, 2, 4 } }, { "cut.weight", F16, 2, { 8, 2 } }, { "mean", BF16, 1, { 4 } },
    { "blk.0.w", BF16, 2, { 4, 2 } },    { "blk.0.norm", F32, 1, { 4 } },    { "blk.1.w", F32, 2, { 4, 2 } },
    { "blk.1.norm", F16, 1, { 4 } },     { "blk.0.even", F32, 2, { 4, 1 } },
};

static struct bytes file;
static vact_gguf *gguf;

/* The data section counts up from 0. */
static void make_file(const char *key_tokens, int n_keys, const tensor *tensors, int n)
{
    char tokens[400];
    uint64_t offset = 0;
    bytes_free(&file);
    snprintf(tokens, sizeof tokens, "r:GGUF 4:3 8:%d 8:%d ", n, n_keys);
    bytes_build(&file, tokens);
    bytes_build(&file, key_tokens);
    for (int i = 0; i < n; i++) {
        const tensor *t = &tensors[i];
        uint64_t size;
        char why[100];
        assert_true(vact_dtype_shape_bytes(t->type, t->n_dims, t->ne, &size, why, sizeof why));
        snprintf(tokens, sizeof tokens, "s:%s 4:%u ", t->name, t->n_dims);
        bytes_build(&file, tokens);
        bytes_add(&file, t->ne, t->n_dims * sizeof *t->ne);
        snprintf(tokens, sizeof tokens, "4:%u 8:%llu ", t->type, (unsigned long long)offset);
        bytes_build(&file, tokens);
        offset += (size + 31) / 32 * 32;
    }
    bytes_build(&file, "a:32 ");
    const size_t data = file.size;
    bytes_add_zeros(&file, (size_t)offset);
    for (size_t at = data; at < file.size; at++)
        file.data[at] = (uint8_t)(at - data);
    vact_error err = { 0 };
    vact_gguf_close(&gguf);
    if (vact_gguf_parse(&gguf, "toy.gguf", file.data, file.size, &err) != VACT_OK)
        fail_msg("%s", err.text);
}

static uint8_t *data_of(const char *name)
{
    const vact_gguf_tensor *t = vact_gguf_find_tensor(gguf, name);
    assert_non_null(t);
    return file.data + t->offset;
}

static struct toy model;
static vact_faults faults;
static vact_arena arena;
static char reported[2000]; /* every fault, a line each */

static void report(void *user, const char *line)
{
    assert_ptr_equal(user, reported);
    assert_true(strlen(reported) + strlen(line) + 2 < sizeof reported);
    strcat(reported, line);
    strcat(reported, "\n");
}

static void start(void)
{
    model = (struct toy){ 0 };
    faults = (vact_faults){ .report = report, .user = reported };
    reported[0] = 0;
    vact_arena_free(&arena);
}

static void read_keys(void)
{
    start();
    vact_schema_read(&toy, gguf, &model, &faults);
}

static void bind_all(void)
{
    vact_kernels kernels;
    vact_error err = { 0 };
    vact_kernels_init(&kernels, VACT_ISA_SCALAR);
    assert_int_equal(vact_schema_bind(&toy, gguf, &model, kernels.decode, &arena, &faults, &err), VACT_OK);
}

static int clean(void **state)
{
    (void)state;
    vact_gguf_close(&gguf);
    bytes_free(&file);
    vact_arena_free(&arena);
    return 0;
}

/* ---- what binds ---- */

static void test_keys_fill_the_config(void **state)
{
    (void)state;
    make_file(NAME WIDTH "s:toy.layers 4:4 4:3 " EPS PERIOD, 5, whole, 0);
    read_keys();
    assert_int_equal(faults.count, 0);
    assert_int_equal(model.c.width, 4);
    assert_int_equal(model.c.layers, 3);
    assert_true(model.c.eps == 0.5f);
    assert_true(model.c.period == 2.5);
    assert_int_equal(model.c.twice, 8);
}

static void test_keys_that_may_be_left_out_have_a_value(void **state)
{
    (void)state;
    make_file(NAME WIDTH EPS, 3, whole, 0);
    read_keys();
    assert_int_equal(faults.count, 0);
    assert_int_equal(model.c.layers, 2);
    assert_true(model.c.period == 0.25);
}

static void test_the_ends_of_a_range_are_in_it(void **state)
{
    (void)state;
    make_file(NAME "s:toy.width 4:4 4:64 s:toy.layers 4:4 4:1 s:toy.eps 4:6 f:1 s:toy.period 4:12 d:10 ", 5, whole, 0);
    read_keys();
    assert_int_equal(faults.count, 0);
    assert_int_equal(model.c.width, 64);
    assert_true(model.c.eps == 1);
}

static void test_matrices_are_views_of_the_file(void **state)
{
    (void)state;
    make_file(NAME WIDTH EPS, 3, whole, TENSORS);
    read_keys();
    bind_all();
    assert_string_equal(reported, "");
    assert_ptr_equal(model.patch.data, data_of("patch"));
    assert_int_equal(model.patch.dtype, F32);
    assert_int_equal(model.patch.rows, 4); /* [width, 2 * 2 * 3] */
    assert_int_equal(model.patch.cols, 12);
    assert_int_equal(model.patch.row_bytes, 48);
    assert_ptr_equal(model.cut.data, data_of("cut.weight"));
    assert_int_equal(model.cut.dtype, F16);
    assert_int_equal(model.cut.cols, 8);
    assert_int_equal(model.cut.row_bytes, 16);
    assert_ptr_equal(model.layers[0].w.data, data_of("blk.0.w"));
    assert_ptr_equal(model.layers[1].w.data, data_of("blk.1.w"));
    assert_int_equal(model.layers[0].w.dtype, BF16);
    assert_int_equal(model.layers[1].w.dtype, F32);
}

static void test_a_table_applies_to_the_layers_it_says(void **state)
{
    (void)state;
    make_file(NAME WIDTH EPS, 3, whole, TENSORS);
    read_keys();
    bind_all();
    assert_ptr_equal(model.layers[0].even.data, data_of("blk.0.even"));
    assert_null(model.layers[1].even.data);
}

static void test_vectors_are_float32_whatever_the_file_has(void **state)
{
    (void)state;
    static const uint16_t bf16[] = { 0x3f80, 0xc000, 0x3e80, 0x4120 }; /* 1, -2, 0.25, 10 */
    static const uint16_t f16[] = { 0x3c00, 0xc000, 0x3400, 0x4900 };
    make_file(NAME WIDTH EPS, 3, whole, TENSORS);
    memcpy(data_of("mean"), bf16, sizeof bf16);
    memcpy(data_of("blk.1.norm"), f16, sizeof f16);
    read_keys();
    bind_all();
    static const float want[] = { 1, -2, 0.25f, 10 };
    assert_memory_equal(model.mean, want, sizeof want);
    assert_memory_equal(model.layers[1].norm, want, sizeof want);
    assert_ptr_equal(model.layers[0].norm, data_of("blk.0.norm")); /* borrowed */
}

static void test_quantised_matrices_bind(void **state)
{
    (void)state;
    static const tensor wide[] = { { "patch", F32, 4, { 3, 2, 2, 32 } }, { "cut.weight", F32, 2, { 64, 2 } },
                                   { "mean", F32, 1, { 32 } },           { "blk.0.w", Q8_0, 2, { 32, 2 } },
                                   { "blk.0.norm", F32, 1, { 32 } },     { "blk.0.even", Q8_0, 2, { 32, 1 } } };
    make_file(NAME "s:toy.width 4:4 4:32 s:toy.layers 4:4 4:1 " EPS, 4, wide, 6);
    read_keys();
    bind_all();
    assert_string_equal(reported, "");
    assert_int_equal(model.layers[0].w.dtype, Q8_0);
    assert_int_equal(model.layers[0].w.row_bytes, 34);
}

static void test_parameters_are_the_values_of_all_tensors(void **state)
{
    (void)state;
    const struct config c = { .width = 4, .layers = 3, .twice = 8 };
    /* 48 + 16 + 4, layers of 8 + 4, and 4 more in layers 0 and 2 */
    assert_int_equal(vact_schema_parameters(&toy, &c), 68 + 3 * 12 + 2 * 4);
}

static bool append_name(void *user, const char *name, const vact_row *row, const vact_table *table, int layer)
{
    (void)row, (void)table;
    char *names = user;
    snprintf(names + strlen(names), 200 - strlen(names), "%s/%d ", name, layer);
    return strcmp(name, "blk.1.norm") != 0;
}

static void test_a_walk_is_in_file_order_and_stops_when_told(void **state)
{
    (void)state;
    const struct config c = { .width = 4, .layers = 3, .twice = 8 };
    char names[200] = "";
    vact_schema_walk(&toy, &c, append_name, names);
    assert_string_equal(names, "patch/0 cut.weight/0 mean/0 blk.0.w/0 blk.0.norm/0 blk.1.w/1 blk.1.norm/1 ");
}

static void test_columns_of_a_weight_are_a_view(void **state)
{
    (void)state;
    static const uint8_t data[1000];
    const vact_weight bf16 = { data, BF16, 3, 10, 20 };
    const vact_weight part = vact_weight_cols(bf16, 4, 5);
    assert_ptr_equal(part.data, data + 8);
    assert_int_equal(part.rows, 3);
    assert_int_equal(part.cols, 5);
    assert_int_equal(part.row_bytes, 20);
    assert_ptr_equal(vact_weight_row(&part, 2), data + 48);
    const vact_weight q8 = { data, Q8_0, 3, 96, 102 };
    assert_ptr_equal(vact_weight_cols(q8, 64, 32).data, data + 68); /* two blocks of 34 */
}

/* ---- what is refused ---- */

typedef struct wrong {
    const char *tokens;
    int n;
    const char *text; /* all faults */
} wrong;

#define LINE(text) "toy.gguf: " text "\n"

static const wrong wrong_keys[] = {
    { NAME EPS, 2, LINE("key toy.width is missing, expected a u32") },
    { NAME WIDTH, 2, LINE("key toy.eps is missing, expected a f32") },
    { NAME EPS "s:toy.width 4:5 4:4 ", 3, LINE("key toy.width has type i32, expected u32") },
    { NAME EPS "s:toy.width 4:8 s:4 ", 3, LINE("key toy.width has type string, expected u32") },
    { NAME WIDTH "s:toy.eps 4:12 d:0.5 ", 3, LINE("key toy.eps has type f64, expected f32") },
    { NAME EPS "s:toy.width 4:4 4:0 ", 3, LINE("key toy.width is 0, expected 1 to 64") },
    { NAME EPS "s:toy.width 4:4 4:65 ", 3, LINE("key toy.width is 65, expected 1 to 64") },
    { NAME EPS "s:toy.width 4:4 4:0xfffffffc ", 3, LINE("key toy.width is 4294967292, expected 1 to 64") },
    { NAME WIDTH EPS "s:toy.layers 4:4 4:9 ", 4, LINE("key toy.layers is 9, expected 1 to 8") },
    { NAME WIDTH "s:toy.eps 4:6 f:-0.5 ", 3, LINE("key toy.eps is -0.5, expected 0 to 1") },
    { NAME WIDTH "s:toy.eps 4:6 4:0x7fc00000 ", 3, LINE("key toy.eps is nan, expected 0 to 1") },
    { NAME WIDTH "s:toy.eps 4:6 4:0x7f800000 ", 3, LINE("key toy.eps is inf, expected 0 to 1") },
    { NAME WIDTH EPS "s:toy.period 4:12 d:0 ", 4, LINE("key toy.period is 0, expected 0.001 to 10") },
    { WIDTH EPS, 2, LINE("key toy.architecture is missing, expected the string \"toy\"") },
    { "s:toy.architecture 4:4 4:1 " WIDTH EPS, 3, LINE("key toy.architecture has type u32, expected string") },
    { "s:toy.architecture 4:8 s:toys " WIDTH EPS, 3, LINE("key toy.architecture is \"toys\", expected \"toy\"") },
    { "s:toy.architecture 4:8 s:to " WIDTH EPS, 3, LINE("key toy.architecture is \"to\", expected \"toy\"") },
    { NAME EPS "s:toy.width 4:4 4:6 ", 3, LINE("toy.width is 6, expected a multiple of 4") },
    { "s:toy.layers 4:6 f:1 s:toy.width 4:4 4:6 ", 2, /* derive is not asked about what has faults */
      LINE("key toy.architecture is missing, expected the string \"toy\"")
          LINE("key toy.layers has type f32, expected u32") LINE("key toy.eps is missing, expected a f32") },
};

static void check_reported(const char *want)
{
    int lines = 0;
    for (const char *c = want; *c; c++)
        lines += *c == '\n';
    assert_string_equal(reported, want);
    assert_int_equal(faults.count, lines);
    assert_int_equal(strlen(faults.first), strcspn(want, "\n"));
    assert_memory_equal(faults.first, want, strlen(faults.first));
}

static void test_wrong_keys_are_told(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wrong_keys / sizeof *wrong_keys; i++) {
        make_file(wrong_keys[i].tokens, wrong_keys[i].n, whole, 0);
        read_keys();
        check_reported(wrong_keys[i].text);
    }
}

typedef struct wrong_tensor {
    int at;
    tensor is; /* instead of whole[at] */
    const char *text;
} wrong_tensor;

static const wrong_tensor wrong_tensors[] = {
    { 0, { "patches", F32, 1, { 1 } }, LINE("tensor patch is missing, expected [4, 2, 2, 3]") },
    { 6, { "blk.2.norm", F32, 1, { 4 } }, LINE("tensor blk.1.norm is missing, expected [4]") },
    { 7, { "blk.1.even", F32, 2, { 4, 1 } }, LINE("tensor blk.0.even is missing, expected [1, 4]") },
    { 0, { "patch", F32, 4, { 3, 2, 4, 2 } }, LINE("tensor patch is [2, 4, 2, 3], expected [4, 2, 2, 3]") },
    { 0, { "patch", F32, 2, { 12, 4 } }, LINE("tensor patch is [4, 12], expected [4, 2, 2, 3]") },
    { 2, { "mean", F32, 1, { 5 } }, LINE("tensor mean is [5], expected [4]") },
    { 3, { "blk.0.w", F32, 2, { 2, 4 } }, LINE("tensor blk.0.w is [4, 2], expected [2, 4]") },
    { 3, { "blk.0.w", F32, 3, { 4, 2, 2 } }, LINE("tensor blk.0.w is [2, 2, 4], expected [2, 4]") },
    { 3, { "blk.0.w", I32, 2, { 4, 2 } }, LINE("tensor blk.0.w has type i32, expected one of: " COMPUTED) },
    { 2, { "mean", I32, 1, { 4 } }, LINE("tensor mean has type i32, expected one of: f32, f16, bf16") },
    { 1, { "cut.weight", I32, 2, { 8, 2 } }, LINE("tensor cut.weight has type i32, expected one of: f32, f16, bf16") },
};

static void test_wrong_tensors_are_told(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wrong_tensors / sizeof *wrong_tensors; i++) {
        tensor tensors[TENSORS];
        memcpy(tensors, whole, sizeof tensors);
        tensors[wrong_tensors[i].at] = wrong_tensors[i].is;
        make_file(NAME WIDTH EPS, 3, tensors, TENSORS);
        read_keys();
        bind_all();
        check_reported(wrong_tensors[i].text);
    }
}

/* Rows of 256 and 512 values, which quantised types can have. */
static void test_types_that_a_row_cannot_have_are_told(void **state)
{
    (void)state;
    static const vact_row rows[] = {
        { "m", VACT_ROW_MATRIX, offsetof(struct toy, patch), { 2, 256 }, { 0 }, NULL, false },
        { "f", VACT_ROW_FLOAT_MATRIX, offsetof(struct toy, cut), { 2, 512 }, { 0 }, NULL, false },
        { "v", VACT_ROW_VECTOR, offsetof(struct toy, mean), { 256 }, { 0 }, NULL, false },
        { 0 },
    };
    static const vact_table table[] = { { rows, 0, 0, 0, NULL }, { 0 } };
    static const vact_schema quantised = {
        "toy", sizeof(struct config), sizeof(struct toy), keys, table, NULL, NULL, NULL, derive
    };
    static const tensor tensors[] = { { "m", IQ2_XXS, 2, { 256, 2 } },
                                      { "f", Q8_0, 2, { 512, 2 } },
                                      { "v", Q8_0, 1, { 256 } } };
    vact_kernels kernels;
    vact_error err = { 0 };
    vact_kernels_init(&kernels, VACT_ISA_SCALAR);
    make_file(NAME WIDTH EPS, 3, tensors, 3);
    start();
    assert_int_equal(vact_schema_bind(&quantised, gguf, &model, kernels.decode, &arena, &faults, &err), VACT_OK);
    check_reported(LINE("tensor m has type iq2_xxs, expected one of: " COMPUTED)
                       LINE("tensor f has type q8_0, expected one of: f32, f16, bf16")
                           LINE("tensor v has type q8_0, expected one of: f32, f16, bf16"));
    assert_null(model.patch.data);
}

static void test_every_fault_counts_without_a_listener(void **state)
{
    (void)state;
    make_file(NAME WIDTH EPS, 3, whole, 0);
    start();
    faults.report = NULL;
    vact_schema_read(&toy, gguf, &model, &faults);
    bind_all();
    assert_int_equal(faults.count, TENSORS);
    assert_string_equal(faults.first, "toy.gguf: tensor patch is missing, expected [4, 2, 2, 3]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys_fill_the_config),
        cmocka_unit_test(test_keys_that_may_be_left_out_have_a_value),
        cmocka_unit_test(test_the_ends_of_a_range_are_in_it),
        cmocka_unit_test(test_matrices_are_views_of_the_file),
        cmocka_unit_test(test_a_table_applies_to_the_layers_it_says),
        cmocka_unit_test(test_vectors_are_float32_whatever_the_file_has),
        cmocka_unit_test(test_quantised_matrices_bind),
        cmocka_unit_test(test_parameters_are_the_values_of_all_tensors),
        cmocka_unit_test(test_a_walk_is_in_file_order_and_stops_when_told),
        cmocka_unit_test(test_columns_of_a_weight_are_a_view),
        cmocka_unit_test(test_wrong_keys_are_told),
        cmocka_unit_test(test_wrong_tensors_are_told),
        cmocka_unit_test(test_types_that_a_row_cannot_have_are_told),
        cmocka_unit_test(test_every_fault_counts_without_a_listener),
    };
    return cmocka_run_group_tests(tests, NULL, clean);
}
