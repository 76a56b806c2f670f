/* An original checkpoint under a toy architecture: what its configuration and shapes tell, and what is wrong with it. */
#include "tensor/import.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- the architecture ---- */

struct config {
    int32_t width, inner, layers, steps, image, patch, patches, every;
    float eps;
    double period;
};

struct layer {
    vact_weight w, odd;
};

struct toy {
    struct config c;
    vact_weight in, patch;
    const float *pos;
    struct layer *layers;
};

#define D(field) VACT_DIM(struct config, field)
#define F(field) offsetof(struct config, field)

static const vact_key keys[] = {
    VACT_KEY("width", F(width), 1, 64, NULL),
    VACT_KEY("inner", F(inner), 1, 64, NULL),
    VACT_KEY("layers", F(layers), 1, 8, "?depth"),
    VACT_KEY("steps", F(steps), 1, 100, "solver/steps/1"),
    VACT_KEY("every", F(every), 1, 4, "every"),
    VACT_KEY_OR("image", F(image), 32, 1, 64, "image"),
    VACT_KEY_OR("patch", F(patch), 16, 1, 64, NULL),
    { "eps", VACT_GGUF_F32, F(eps), false, 0.25, 0, 1, NULL, false, NULL },
    { "period", VACT_GGUF_F64, F(period), true, 0, 0.001, 10, "period", false, NULL },
    { 0 },
};

static const vact_row model_rows[] = {
    VACT_MATRIX(F32, offsetof(struct toy, in), "in", D(inner), D(width), 1, "net.in.weight"),
    { "patch",
      VACT_ROW_MATRIX,
      offsetof(struct toy, patch),
      { D(width), 3, D(patch), D(patch) },
      { 0 },
      "net.conv",
      false },
    VACT_VECTOR(F32, offsetof(struct toy, pos), "pos", D(patches), 0, 1, "net.pos"),
    { 0 },
};
static const vact_row layer_rows[] = {
    VACT_MATRIX(F32, offsetof(struct layer, w), "blk.%d.w", D(width), D(width), 1, "net.layers.%d.w"),
    { 0 },
};
static const vact_row odd_rows[] = {
    VACT_MATRIX(F32, offsetof(struct layer, odd), "blk.%d.odd", D(width), 2, 1, "net.layers.%d.odd"),
    { 0 },
};

static bool is_odd(const void *config, int layer)
{
    return layer % ((const struct config *)config)->every != 0;
}

static const vact_table tables[] = {
    { model_rows, 0, 0, 0, NULL },
    { layer_rows, D(layers), offsetof(struct toy, layers), sizeof(struct layer), NULL },
    { odd_rows, D(layers), offsetof(struct toy, layers), sizeof(struct layer), is_odd },
    { 0 },
};

static const vact_expectation expectations[] = {
    { "attention", "\"cross\"" },
    { "sizes/1", "=sizes/0" },
    { 0 },
};

static void infer(void *config)
{
    struct config *c = config;
    if (c->image == 0)
        c->image = c->patch * (int32_t)sqrt((double)c->patches);
}

static const char *derive(void *config, char *text, size_t size)
{
    struct config *c = config;
    if (c->image % c->patch == 0)
        return NULL;
    snprintf(text, size, "toy.image is %d, expected a multiple of %d", c->image, c->patch);
    return text;
}

static const vact_schema schema = {
    "toy", sizeof(struct config), sizeof(struct toy), keys, tables, NULL, expectations, infer, derive,
};

/* ---- the checkpoint ---- */

static const vact_safetensor whole[] = {
    { .name = "net.in.weight", .dtype = VACT_DTYPE_BF16, .type_name = "BF16", .n_dims = 2, .dims = { 12, 8 } },
    { .name = "net.conv", .dtype = VACT_DTYPE_F32, .type_name = "F32", .n_dims = 4, .dims = { 8, 3, 4, 4 } },
    { .name = "net.pos", .dtype = VACT_DTYPE_F16, .type_name = "F16", .n_dims = 1, .dims = { 9 } },
    { .name = "net.layers.0.w", .dtype = VACT_DTYPE_F32, .type_name = "F32", .n_dims = 2, .dims = { 8, 8 } },
    { .name = "net.layers.1.w", .dtype = VACT_DTYPE_F32, .type_name = "F32", .n_dims = 2, .dims = { 8, 8 } },
    { .name = "net.layers.2.w", .dtype = VACT_DTYPE_F32, .type_name = "F32", .n_dims = 2, .dims = { 8, 8 } },
    { .name = "net.layers.1.odd", .dtype = VACT_DTYPE_F32, .type_name = "F32", .n_dims = 2, .dims = { 8, 2 } },
};
enum { TENSORS = sizeof whole / sizeof *whole };

#define CONFIG                                                                                                         \
    "{\"depth\": -1, \"solver\": {\"steps\": [5, 7]}, \"every\": 2, \"period\": 0.5, \"image\": null, "                \
    "\"attention\": \"cross\", \"sizes\": [64, 64]}"

typedef struct checkpoint {
    vact_safetensor tensors[TENSORS];
} checkpoint;

static const vact_safetensor *find(const void *user, const char *name)
{
    const checkpoint *c = user;
    for (int i = 0; i < TENSORS; i++)
        if (strcmp(c->tensors[i].name, name) == 0)
            return &c->tensors[i];
    return NULL;
}

/* Imports CONFIG with `from` replaced by `to`; the config, and what was wrong. */
static vact_faults import(const checkpoint *c, const char *from, const char *to, struct config *config)
{
    char text[1024] = CONFIG;
    vact_faults faults = { 0 };
    if (from) {
        const char *at = strstr(CONFIG, from);
        assert_non_null(at);
        snprintf(text, sizeof text, "%.*s%s%s", (int)(at - CONFIG), CONFIG, to, at + strlen(from));
    }
    json_t *json = json_loads(text, 0, NULL);
    assert_non_null(json);
    const vact_source source = { "dir", json, "config.json", find, c };
    memset(config, 0, sizeof *config);
    vact_schema_import(&schema, &source, config, &faults);
    json_decref(json);
    return faults;
}

static checkpoint a_checkpoint(void)
{
    checkpoint c;
    memcpy(c.tensors, whole, sizeof whole);
    return c;
}

/* ---- tests ---- */

static void test_numbers_come_from_the_configuration_and_sizes_from_shapes(void **state)
{
    (void)state;
    const checkpoint c = a_checkpoint();
    struct config config;
    const vact_faults faults = import(&c, NULL, NULL, &config);
    assert_string_equal(faults.first, "");
    assert_int_equal(config.steps, 7);
    assert_int_equal(config.width, 8);
    assert_int_equal(config.inner, 12);
    assert_int_equal(config.layers, 3);
    assert_int_equal(config.patch, 4);
    assert_int_equal(config.image, 12);
    assert_true(config.period == 0.5);
    assert_true(config.eps == 0.25f);
}

static void test_a_depth_that_is_said_counts_though_there_are_more_layers(void **state)
{
    (void)state;
    const checkpoint c = a_checkpoint();
    struct config config;
    const vact_faults faults = import(&c, "-1", "2", &config);
    assert_int_equal(faults.count, 0);
    assert_int_equal(config.layers, 2);
}

static void test_what_the_configuration_says_wrongly_is_told(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to, *fault;
    } cases[] = {
        { "\"every\": 2, ", "", "dir: config.json: every is missing, expected a number" },
        { "\"every\": 2", "\"every\": null", "dir: config.json: every is missing, expected a number" },
        { "\"every\": 2", "\"every\": \"2\"", "dir: config.json: every is a string, expected a number" },
        { "\"every\": 2", "\"every\": 9", "dir: config.json: every is 9, expected 1 to 4" },
        { "\"every\": 2", "\"every\": 1.5", "dir: config.json: every is 1.5, expected a whole number" },
        { "[5, 7]", "[5]", "dir: config.json: solver/steps/1 is missing, expected a number" },
        { "0.5", "0", "dir: config.json: period is 0, expected 0.001 to 10" },
        { "\"cross\"", "\"self\"", "dir: config.json: attention is \"self\", expected \"cross\"" },
        { "[64, 64]", "[64, 48]", "dir: config.json: sizes/1 is 48, expected 64" },
        { "[64, 64]", "[null, 64]", "dir: config.json: sizes/1 is 64, expected null" },
        { "\"cross\"", "\"an answer that goes on and on, and on again, to no end, ever\"",
          "dir: config.json: attention is \"an answer that goes on and on, and on again, to no end, eve, expected "
          "\"cross\"" },
        { "\"image\": null", "\"image\": 10", "dir: toy.image is 10, expected a multiple of 4" },
        { "-1", "7", "dir: tensor net.layers.3.w is missing, expected [8, 8]" },
    };
    const checkpoint c = a_checkpoint();
    struct config config;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const vact_faults faults = import(&c, cases[i].from, cases[i].to, &config);
        assert_string_equal(faults.first, cases[i].fault);
    }
}

static void test_what_is_wrong_with_tensors_is_told(void **state)
{
    (void)state;
    struct config config;
    checkpoint c = a_checkpoint();
    c.tensors[6].name = "elsewhere";
    assert_string_equal(import(&c, NULL, NULL, &config).first,
                        "dir: tensor net.layers.1.odd is missing, expected [8, 2]");

    c = a_checkpoint();
    c.tensors[4].dims[1] = 9;
    assert_string_equal(import(&c, NULL, NULL, &config).first, "dir: tensor net.layers.1.w is [8, 9], expected [8, 8]");

    c = a_checkpoint();
    c.tensors[4].n_dims = 3;
    c.tensors[4].dims[2] = 1;
    assert_string_equal(import(&c, NULL, NULL, &config).first,
                        "dir: tensor net.layers.1.w is [8, 8, 1], expected [8, 8]");

    c = a_checkpoint();
    c.tensors[1].dtype = UINT32_MAX;
    c.tensors[1].type_name = "I64";
    assert_string_equal(import(&c, NULL, NULL, &config).first,
                        "dir: tensor net.conv has type I64, expected one of: F32, F16, BF16");

    c = a_checkpoint();
    for (int i = 0; i < TENSORS; i++)
        c.tensors[i].name = "elsewhere";
    assert_string_equal(import(&c, NULL, NULL, &config).first,
                        "dir: no tensor tells toy.width, expected those of a whole toy checkpoint");
}

static void test_dimensions_beyond_what_a_key_allows_are_told(void **state)
{
    (void)state;
    struct config config;
    checkpoint c = a_checkpoint();
    c.tensors[0].dims[0] = 65;
    assert_string_equal(import(&c, NULL, NULL, &config).first, "dir: toy.inner is 65, expected 1 to 64");

    c = a_checkpoint(); /* no bytes, so it can be: it must be seen before an image's size is made of it */
    c.tensors[1].dims[0] = 0;
    c.tensors[1].dims[2] = c.tensors[1].dims[3] = 1 << 30;
    assert_string_equal(import(&c, NULL, NULL, &config).first, "dir: toy.patch is 1073741824, expected 1 to 64");

    c = a_checkpoint();
    c.tensors[0].dims[0] = (uint64_t)1 << 40;
    assert_string_equal(import(&c, NULL, NULL, &config).first,
                        "dir: no tensor tells toy.inner, expected those of a whole toy checkpoint");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_come_from_the_configuration_and_sizes_from_shapes),
        cmocka_unit_test(test_a_depth_that_is_said_counts_though_there_are_more_layers),
        cmocka_unit_test(test_what_the_configuration_says_wrongly_is_told),
        cmocka_unit_test(test_what_is_wrong_with_tensors_is_told),
        cmocka_unit_test(test_dimensions_beyond_what_a_key_allows_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
