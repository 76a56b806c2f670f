/* Every op on every device against numbers that were worked out on paper. */
#include "harness.h"

#include <math.h>
#include <string.h>

/* A program's result on each device. */
static void check(ops_fn fn, const float *want, size_t n, double bound)
{
    ops_target all[OPS_CPUS + 1];
    float got[64];
    for (size_t i = 0, count = ops_all(all); i < count; i++) {
        assert_true(n <= COUNT(got));
        ops_run(&all[i], fn, got);
        if (bound > 0)
            ops_near(&all[i], want, got, n, bound);
        else
            ops_same(&all[i], want, got, n);
    }
}

#define CHECK(fn, bound, ...)                                                                                          \
    do {                                                                                                               \
        const float want_[] = { __VA_ARGS__ };                                                                         \
        ops_begin("%s", #fn);                                                                                          \
        check(fn, want_, COUNT(want_), bound);                                                                         \
    } while (0)

#define MATRIX(type, values, rows, cols, row_bytes)                                                                    \
    {                                                                                                                  \
        (const uint8_t *)(values), type, rows, cols, row_bytes                                                         \
    }

static const float identity[] = { 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1 };
static const vact_linear same = { MATRIX(VACT_DTYPE_F32, identity, 4, 4, 16), NULL };

static const float sums[] = { 1, 1, 1, 1, 1, -1, 1, -1 };
static const float sums_bias[] = { 100, 200 };
static const vact_linear two = { MATRIX(VACT_DTYPE_F32, sums, 2, 4, 16), sums_bias };

/* ---- site ---- */

static void linear_with_bias(vact_run *r, void *out)
{
    static const float x[] = { 1, 2, 3, 4, 0.5f, 0, -0.5f, 8 };
    const vact_buf y = vact_tmp(r, 2, 2);
    vact_site(r, .x = ops_put(r, x, 2, 4), .out = { { y, &two } });
    ops_get(r, y, out);
}

static void linear_added(vact_run *r, void *out)
{
    static const float x[] = { 1, 2, 3, 4 }, before[] = { 1000, 2000 };
    const vact_buf y = ops_put(r, before, 1, 2);
    vact_site(r, .x = ops_put(r, x, 1, 4), .out = { { y, &two } }, .add = true);
    ops_get(r, y, out);
}

/* 110 and 198 times 2 and -1, added to what is there. */
static void gated_addition(vact_run *r, void *out)
{
    static const float x[] = { 1, 2, 3, 4 }, before[] = { 1000, 2000 }, gate[] = { 2, -1 };
    const vact_buf y = ops_put(r, before, 1, 2);
    vact_site(r, .x = ops_put(r, x, 1, 4), .out = { { y, &two } }, .gate_row = ops_put(r, gate, 1, 2), .add = true);
    ops_get(r, y, out);
}

static void bias_row_for_the_first_of_two(vact_run *r, void *out)
{
    static const float x[] = { 1, 2, 3, 4 }, bias[] = { 0.5f, 0.25f, 0, 1 };
    const vact_buf y = vact_tmp(r, 1, 6);
    vact_site(r, .x = ops_put(r, x, 1, 4), .out = { { ops_cols(y, 0, 4), &same }, { ops_cols(y, 4, 2), &two } },
              .bias_row = ops_put(r, bias, 1, 4));
    ops_get(r, y, out);
}

static void test_a_site_is_a_linear_map(void **state)
{
    (void)state;
    CHECK(linear_with_bias, 0, 110, 198, 108, 192);
    CHECK(linear_added, 0, 1110, 2198);
    CHECK(gated_addition, 0, 1220, 1802);
    CHECK(bias_row_for_the_first_of_two, 0, 1.5f, 2.25f, 3, 5, 110, 198);
}

static void normed_site(vact_run *r, void *out, const float *x, vact_norm norm)
{
    const vact_buf y = vact_tmp(r, 1, 4);
    vact_site(r, .x = ops_put(r, x, 1, 4), .norm = norm, .out = { { y, &same } });
    ops_get(r, y, out);
}

static const float weight[] = { 1, 2, 3, 4 }, bias[] = { 0.5f, 0.5f, 0, 0 };

/* Mean 2, variance 1. */
static void layer_norm(vact_run *r, void *out)
{
    static const float x[] = { 1, 3, 1, 3 };
    normed_site(r, out, x, VACT_LAYER_NORM(weight, bias, 0));
}

static void layer_norm_with_epsilon(vact_run *r, void *out)
{
    static const float x[] = { 1, 3, 1, 3 };
    normed_site(r, out, x, VACT_LAYER_NORM(weight, bias, 3));
}

/* Mean square 25. */
static void rms_norm(vact_run *r, void *out)
{
    static const float x[] = { 1, -1, 7, -7 };
    normed_site(r, out, x, VACT_RMS_NORM(weight, 0));
}

/* The same, its weight and bias the rows of a step; a site and the op of its own. */
static void adaptive_norm(vact_run *r, void *out)
{
    static const float x[] = { 1, -1, 7, -7 };
    const vact_buf rows = vact_tmp(r, 2, 6), y = vact_tmp(r, 1, 4);
    vact_upload(r, rows, (const float[]){ 9, 1, 2, 3, 4, 9, 9, 0.5f, 0.5f, 0, 0, 9 });
    const vact_buf part = vact_cols(rows, 1, 4);
    const vact_norm norm = VACT_ADA_RMS_NORM(vact_rows(part, 0, 1), vact_rows(part, 1, 1), 0);
    vact_site(r, .x = ops_put(r, x, 1, 4), .norm = norm, .out = { { y, &same } });
    ops_get(r, y, out);
}

static void adaptive_norm_of_rows(vact_run *r, void *out)
{
    static const float x[] = { 1, -1, 7, -7 };
    const vact_buf weights = ops_put(r, weight, 1, 4), biases = ops_put(r, bias, 1, 4), y = ops_put(r, x, 1, 4);
    vact_norm_rows(r, y, y, VACT_ADA_RMS_NORM(weights, biases, 0));
    ops_get(r, y, out);
}

static void rms_norm_with_epsilon(vact_run *r, void *out)
{
    static const float x[] = { 1, -1, 7, -7 };
    normed_site(r, out, x, VACT_RMS_NORM(weight, 11));
}

static void norm_in_place(vact_run *r, void *out)
{
    static const float x[] = { 1, 3, 1, 3, 10, 14, 14, 10 };
    const vact_buf rows = ops_put(r, x, 2, 4);
    vact_norm_rows(r, rows, rows, VACT_LAYER_NORM(weight, bias, 0));
    ops_get(r, rows, out);
}

static void norm_alone(vact_run *r, void *out)
{
    static const float x[] = { 1, -1, 7, -7 };
    const vact_buf y = vact_tmp(r, 1, 4);
    vact_norm_rows(r, y, ops_put(r, x, 1, 4), VACT_RMS_NORM(weight, 11));
    ops_get(r, y, out);
}

static void test_norms_are_worked_out_by_hand(void **state)
{
    (void)state;
    CHECK(layer_norm, 1e-6, -0.5f, 2.5f, -3, 4);
    CHECK(layer_norm_with_epsilon, 1e-6, 0, 1.5f, -1.5f, 2);
    CHECK(rms_norm, 1e-6, 0.2f, -0.4f, 4.2f, -5.6f);
    CHECK(adaptive_norm, 1e-6, 0.7f, 0.1f, 4.2f, -5.6f);
    CHECK(adaptive_norm_of_rows, 1e-6, 0.7f, 0.1f, 4.2f, -5.6f);
    CHECK(rms_norm_with_epsilon, 1e-6, 1.0f / 6, -2.0f / 6, 3.5f, -28.0f / 6);
    CHECK(norm_in_place, 1e-6, -0.5f, 2.5f, -3, 4, -0.5f, 2.5f, 3, -4);
    CHECK(norm_alone, 1e-6, 1.0f / 6, -2.0f / 6, 3.5f, -28.0f / 6);
}

/* u Phi(u), from tables of the normal distribution. */
static void gelu_erf(vact_run *r, void *out)
{
    static const float x[] = { 0, 1, -1, 2 };
    const vact_buf y = vact_tmp(r, 1, 4);
    vact_site(r, .x = ops_put(r, x, 1, 4), .out = { { y, &same } }, .act = VACT_ACT_GELU_ERF);
    ops_get(r, y, out);
}

static void gelu_tanh(vact_run *r, void *out)
{
    static const float x[] = { 0, 1, -1, 2 };
    const vact_buf y = vact_tmp(r, 1, 4);
    vact_site(r, .x = ops_put(r, x, 1, 4), .out = { { y, &same } }, .act = VACT_ACT_GELU_TANH);
    ops_get(r, y, out);
}

/* u / (1 + e^-u) of ln 3 is 3/4 ln 3. */
static void silu(vact_run *r, void *out)
{
    static const float x[] = { 0, 1.0986122887f, -1.0986122887f, 100 };
    const vact_buf y = vact_tmp(r, 1, 4);
    vact_site(r, .x = ops_put(r, x, 1, 4), .out = { { y, &same } }, .act = VACT_ACT_SILU);
    ops_get(r, y, out);
}

/* y += silu(x + bias) * (2 x + 1) */
static void gated(vact_run *r, void *out)
{
    static const float x[] = { 0, 1.0986122887f, -1.0986122887f, 1 }, before[] = { 10, 20, 30, 40 };
    static const float doubles[] = { 2, 0, 0, 0, 0, 2, 0, 0, 0, 0, 2, 0, 0, 0, 0, 2 }, ones[] = { 1, 1, 1, 1 };
    static const float shift[] = { 0, 0, 0, -1 };
    static const vact_linear gate = { MATRIX(VACT_DTYPE_F32, identity, 4, 4, 16), shift };
    static const vact_linear up = { MATRIX(VACT_DTYPE_F32, doubles, 4, 4, 16), ones };
    const vact_buf y = ops_put(r, before, 1, 4);
    vact_site(r, .x = ops_put(r, x, 1, 4), .out = { { y, &gate }, { .w = &up } }, .gated = true, .add = true,
              .act = VACT_ACT_SILU);
    ops_get(r, y, out);
}

static void test_activations_are_worked_out_by_hand(void **state)
{
    (void)state;
    CHECK(gelu_erf, 1e-6, 0, 0.8413447461f, -0.1586552539f, 1.9544997361f);
    CHECK(gelu_tanh, 1e-6, 0, 0.8411919906f, -0.1588080094f, 1.9545976840f);
    CHECK(silu, 1e-6, 0, 0.8239592165f, -0.2746530722f, 100);
    CHECK(gated, 1e-6, 10, 22.6343764f, 30.3288220f, 40);
}

/* ---- weight types ---- */

/* Channel 0: 1.5 at column 0; channel 1: -2 at column 1. */
static const uint16_t bf16_pair[] = { 0x3fc0, 0, 0, 0xc000 }, f16_pair[] = { 0x3e00, 0, 0, 0xc000 };
static const vact_linear bf16 = { MATRIX(VACT_DTYPE_BF16, bf16_pair, 2, 2, 4), NULL };
static const vact_linear f16 = { MATRIX(VACT_DTYPE_F16, f16_pair, 2, 2, 4), NULL };

static void halves(vact_run *r, void *out)
{
    static const float x[] = { 3, 5 };
    const vact_buf rows = ops_put(r, x, 1, 2), y = vact_tmp(r, 1, 4);
    vact_site(r, .x = rows, .out = { { ops_cols(y, 0, 2), &bf16 }, { ops_cols(y, 2, 2), &f16 } });
    ops_get(r, y, out);
}

/* One block each: scale 0.5 (q8_0), 2 (q4_0), code i at value i (the low nibbles come first). */
static void quantised(vact_run *r, void *out)
{
    static uint8_t q8[34] = { 0x00, 0x38 }, q4[18] = { 0x00, 0x40 };
    static const vact_linear w8 = { MATRIX(VACT_DTYPE_Q8_0, q8, 1, 32, 34), NULL };
    static const vact_linear w4 = { MATRIX(VACT_DTYPE_Q4_0, q4, 1, 32, 18), NULL };
    float x[96] = { [0] = 1, [31] = 10, [32 + 3] = 1, [64 + 20] = 1 };
    for (int i = 0; i < 32; i++)
        q8[2 + i] = (uint8_t)(i - 16); /* -16 .. 15 */
    for (int i = 0; i < 16; i++)
        q4[2 + i] = (uint8_t)(i | (15 - i) << 4); /* 0 .. 15, then 15 .. 0; less 8 */
    const vact_buf y = vact_tmp(r, 3, 2);
    vact_site(r, .x = ops_put(r, x, 3, 32), .out = { { ops_cols(y, 0, 1), &w8 }, { ops_cols(y, 1, 1), &w4 } });
    ops_get(r, y, out);
}

static void test_weight_types_decode_to_hand_made_values(void **state)
{
    (void)state;
    CHECK(halves, 0, 4.5f, -10, 4.5f, -10);
    CHECK(quantised, 0, 0.5f * -16 + 5 * 15, 2 * -8 + 20 * -8, 0.5f * -13, 2 * -5, 0.5f * 4, 2 * 3);
}

/* ---- attention ---- */

typedef struct key_rows {
    int32_t heads, head_dim, n;
    const float *k, *v;
} key_rows;

static vact_kv cache(vact_run *r, key_rows keys)
{
    const int32_t width = keys.heads * keys.head_dim;
    const vact_kv kv = vact_tmp_kv(r, 1, keys.n + 3, keys.heads, keys.head_dim);
    vact_kv_write(r, kv, 0, ops_put(r, keys.k, keys.n, width), ops_put(r, keys.v, keys.n, width));
    return kv;
}

/* Scores ln 3 and 0, so weights 3/4 and 1/4. */
static void two_keys(vact_run *r, void *out)
{
    static const float q[] = { 2, 0 }, k[] = { 1.0986122887f, 9, 0, -9 }, v[] = { 4, 8, 12, -8 };
    const vact_kv kv = cache(r, (key_rows){ 1, 2, 2, k, v });
    const vact_buf x = ops_put(r, q, 1, 2);
    vact_attention(r, .y = x, .q = x, .heads = 1, .scale = 0.5f, .segments = { { kv, 2 } });
    ops_get(r, x, out);
}

/* Equal scores: the mean of what a row sees; nothing gives 0; the second segment's keys are 2 and 3. */
static void means_of_intervals(vact_run *r, void *out)
{
    static const float zeros[12], v[] = { 1, 2, 4, 8 };
    static const vact_span spans[] = { { 0, 4 }, { 0, 1 }, { 1, 3 }, { 3, 4 }, { 2, 2 }, { 2, 4 } };
    const vact_kv kv = cache(r, (key_rows){ 1, 1, 2, zeros, v }), more = cache(r, (key_rows){ 1, 1, 2, zeros, v + 2 });
    const vact_buf q = ops_put(r, zeros, 6, 1), y = vact_tmp(r, 6, 1);
    vact_attention(r, .y = y, .q = q, .heads = 1, .scale = 1, .segments = { { kv, 2 }, { more, 2 } }, .spans = spans);
    ops_get(r, y, out);
}

/* Heads 0 and 1 share key head 0, heads 2 and 3 key head 1. */
static void grouped_heads(vact_run *r, void *out)
{
    static const float q[] = { 1, 2, 3, 4 }, k[] = { 1, 1 }, v[] = { 10, 20 };
    const vact_kv kv = cache(r, (key_rows){ 2, 1, 1, k, v });
    const vact_buf y = vact_tmp(r, 1, 4);
    vact_attention(r, .y = y, .q = ops_put(r, q, 1, 4), .heads = 4, .scale = 1, .segments = { { kv, 1 } });
    ops_get(r, y, out);
}

static void no_keys(vact_run *r, void *out)
{
    static const float q[] = { 1, 2, 3, 4 };
    const vact_buf y = vact_tmp(r, 2, 2);
    vact_attention(r, .y = y, .q = ops_put(r, q, 2, 2), .heads = 1, .scale = 1);
    ops_get(r, y, out);
}

static void test_attention_is_worked_out_by_hand(void **state)
{
    (void)state;
    CHECK(two_keys, 1e-6, 6, 4);
    CHECK(means_of_intervals, 1e-6, 3.75f, 1, 3, 8, 0, 6);
    CHECK(grouped_heads, 0, 10, 10, 20, 20);
    CHECK(no_keys, 0, 0, 0, 0, 0);
}

/* Row 1 asks with NaN; row 0's answer is a number. */
static void nan_query(vact_run *r, void *out)
{
    static const float q[] = { 1, NAN }, k[] = { 1, 2, 3 }, v[] = { 5, 5, 5 };
    static const vact_span spans[] = { { 0, 3 }, { 1, 2 } };
    const vact_kv kv = cache(r, (key_rows){ 1, 1, 3, k, v });
    const vact_buf y = vact_tmp(r, 2, 1);
    vact_attention(r, .y = y, .q = ops_put(r, q, 2, 1), .heads = 1, .scale = 1, .segments = { { kv, 3 } },
                   .spans = spans);
    ops_get(r, y, out);
}

/* Broken weights are found by their NaN, so no op may swallow one. */
static void test_a_nan_query_gives_nan(void **state)
{
    (void)state;
    ops_target all[OPS_CPUS + 1];
    ops_begin("NaN query");
    for (size_t i = 0, n = ops_all(all); i < n; i++) {
        float got[2];
        ops_run(&all[i], nan_query, got);
        ops_near(&all[i], (const float[]){ 5 }, got, 1, 1e-6);
        assert_true(isnan(got[1]));
    }
}

/* ---- rows ---- */

/* Two heads; cos and sin of a pair's halves differ, so their places show. */
static void rope(vact_run *r, void *out)
{
    static const float x[] = { 1, 10, 100, 1000, 1, 0, 0, 1, 5, 6, 7, 8, 5, 6, 7, 8 };
    static const float cosines[] = { 1, 2, 3, 4, 0, 1, 0, 1 }, sines[] = { 5, 6, 7, 8, 1, 0, 1, 0 };
    const vact_buf rows = ops_put(r, x, 2, 8);
    vact_rope(r, rows, (vact_rope_table){ ops_put(r, cosines, 2, 4), ops_put(r, sines, 2, 4) });
    ops_get(r, rows, out);
}

static void pixel_shuffle(vact_run *r, void *out)
{
    float x[32]; /* two groups of a 4x4 grid; the value is the token */
    for (int i = 0; i < 32; i++)
        x[i] = (float)(i % 16 + i / 16 * 100);
    const vact_buf y = vact_tmp(r, 8, 4);
    vact_pixel_shuffle(r, y, ops_put(r, x, 32, 1), 4, 2);
    ops_get(r, y, out);
}

static void pixel_shuffle_of_two_channels(vact_run *r, void *out)
{
    static const float x[] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    const vact_buf y = vact_tmp(r, 1, 8);
    vact_pixel_shuffle(r, y, ops_put(r, x, 4, 2), 2, 2);
    ops_get(r, y, out);
}

/* Two patches side by side; value i of the image is i / 32, so i / 16 - 1 as a pixel. */
static void patchify_floats(vact_run *r, void *out)
{
    float pixels[24];
    for (int i = 0; i < 24; i++)
        pixels[i] = (float)i / 32;
    const vact_buf y = vact_tmp(r, 2, 12);
    vact_patchify(r, y, &(vact_image){ .data = pixels, .width = 4, .height = 2, .format = VACT_RGB_F32 }, 2);
    ops_get(r, y, out);
    for (int i = 0; i < 24; i++)
        ((float *)out)[i] = 16 * (((float *)out)[i] + 1);
}

/* Patches of one pixel, one above the other. */
static void patchify_bytes(vact_run *r, void *out)
{
    static const uint8_t pixels[] = { 0, 51, 102, 153, 204, 255 };
    const vact_buf y = vact_tmp(r, 2, 3);
    vact_patchify(r, y, &(vact_image){ .data = pixels, .width = 1, .height = 2 }, 1);
    ops_get(r, y, out);
}

static const vact_weight table = MATRIX(VACT_DTYPE_F32, sums, 2, 4, 16);

static void embed(vact_run *r, void *out)
{
    static const int32_t ids[] = { 1, 0, 1 };
    const vact_buf y = vact_tmp(r, 3, 4);
    vact_embed(r, y, &table, ids, 0.5f);
    ops_get(r, y, out);
}

static void add_table(vact_run *r, void *out)
{
    static const float x[] = { 1, 2, 3, 4, 5, 6, 7, 8, 10, 20, 30, 40, 50, 60, 70, 80 };
    const vact_buf y = ops_put(r, x, 4, 4);
    vact_add_table(r, y, &table);
    ops_get(r, y, out);
}

/* Views of columns: the columns between are as before. */
static void copy_and_axpy(vact_run *r, void *out)
{
    static const float x[] = { 1, 2, 3, 4 }, before[] = { 10, 20, 30, 40, 50, 60 };
    const vact_buf from = ops_put(r, x, 2, 2), y = ops_put(r, before, 2, 3);
    vact_copy(r, ops_cols(y, 1, 2), from, 3);
    vact_axpy(r, ops_cols(y, 0, 2), -2, from);
    ops_get(r, y, out);
}

/* Shapes of 0 rows are what a request without images gives. */
static void no_rows(vact_run *r, void *out)
{
    static const float before[] = { 7, 7, 7, 7 };
    const vact_buf y = ops_put(r, before, 1, 4), none = vact_rows(y, 0, 0);
    const vact_kv kv = cache(r, (key_rows){ 1, 4, 1, before, before });
    vact_copy(r, none, none, 2);
    vact_axpy(r, none, 2, none);
    vact_embed(r, none, &table, NULL, 2);
    vact_site(r, .x = none, .norm = VACT_RMS_NORM(weight, 0), .out = { { none, &same } });
    vact_attention(r, .y = none, .q = none, .heads = 1, .scale = 1, .segments = { { kv, 1 } });
    ops_get(r, y, out);
}

static void test_row_ops_are_worked_out_by_hand(void **state)
{
    (void)state;
    CHECK(rope, 0, -499, -5980, 307, 4080, 1, -6, 7, 4, -7, 6, 5, 8, -7, 6, 5, 8);
    CHECK(pixel_shuffle, 0, 0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15, 100, 101, 104, 105, 102, 103, 106,
          107, 108, 109, 112, 113, 110, 111, 114, 115);
    CHECK(pixel_shuffle_of_two_channels, 0, 1, 2, 3, 4, 5, 6, 7, 8);
    CHECK(patchify_floats, 0, 0, 3, 12, 15, 1, 4, 13, 16, 2, 5, 14, 17, 6, 9, 18, 21, 7, 10, 19, 22, 8, 11, 20, 23);
    CHECK(patchify_bytes, 1e-7, -1, -0.6f, -0.2f, 0.2f, 0.6f, 1);
    CHECK(embed, 0, 0.5f, -0.5f, 0.5f, -0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f, -0.5f, 0.5f, -0.5f);
    CHECK(add_table, 0, 2, 3, 4, 5, 6, 5, 8, 7, 11, 21, 31, 41, 51, 59, 71, 79);
    CHECK(copy_and_axpy, 0, 8, -1, 6, 34, 1, 12);
    CHECK(no_rows, 0, 7, 7, 7, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_site_is_a_linear_map),
        cmocka_unit_test(test_norms_are_worked_out_by_hand),
        cmocka_unit_test(test_activations_are_worked_out_by_hand),
        cmocka_unit_test(test_weight_types_decode_to_hand_made_values),
        cmocka_unit_test(test_attention_is_worked_out_by_hand),
        cmocka_unit_test(test_a_nan_query_gives_nan),
        cmocka_unit_test(test_row_ops_are_worked_out_by_hand),
    };
    return cmocka_run_group_tests(tests, NULL, ops_teardown);
}
