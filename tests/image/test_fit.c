/* Resize-with-pad against PyTorch's numbers (tests/data/pixels.json), closed forms, and pictures of odd shapes. */
#include "image/image.h"
#include "load_json.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The same formula as in tools/make_pixel_goldens.py. */
static uint8_t mixed(uint64_t x, uint64_t y, uint64_t c)
{
    uint64_t v = (x * 0x9E3779B97F4A7C15) ^ (y * 0xC2B2AE3D27D4EB4F) ^ (c * 0x165667B19E3779F9);
    v = (v ^ (v >> 29)) * 0xBF58476D1CE4E5B9;
    return (uint8_t)(v >> 56);
}

/* As bytes, or as the float32 that they stand for. */
static vact_image make_picture(int32_t width, int32_t height, vact_pixel_format format)
{
    const size_t n = 3 * (size_t)width * (size_t)height;
    uint8_t *bytes = malloc(n);
    float *floats = malloc(n * sizeof *floats);
    assert_true(bytes && floats);
    for (size_t i = 0; i < n; i++) {
        bytes[i] = mixed(i / 3 % (size_t)width, i / 3 / (size_t)width, i % 3);
        floats[i] = (float)bytes[i] / 255.0f;
    }
    free(format == VACT_RGB_U8 ? (void *)floats : bytes);
    return (vact_image){
        .data = format == VACT_RGB_U8 ? (void *)bytes : floats, .width = width, .height = height, .format = format
    };
}

/* malloc'd to size, so a sanitizer sees any write beyond it; NAN where nothing is written. */
static float *fit(int32_t size, const vact_image *picture)
{
    const size_t n = 3 * (size_t)size * (size_t)size;
    float *out = malloc(n * sizeof *out);
    assert_non_null(out);
    for (size_t i = 0; i < n; i++)
        out[i] = NAN;
    vact_fit_pad_left_top(out, size, picture);
    return out;
}

static double distance(const json_t *golden, vact_pixel_format format)
{
    int width, height, size;
    json_t *indices, *values;
    assert_int_equal(json_unpack((json_t *)(uintptr_t)golden, "{s:i, s:i, s:i, s:o, s:o}", "width", &width, "height",
                                 &height, "size", &size, "indices", &indices, "values", &values),
                     0);
    vact_image picture = make_picture(width, height, format);
    float *out = fit(size, &picture);
    double worst = 0;
    assert_int_equal(json_array_size(indices), json_array_size(values));
    for (size_t i = 0; i < json_array_size(indices); i++) {
        const json_int_t at = json_integer_value(json_array_get(indices, i));
        const double d = fabs((double)out[at] - json_number_value(json_array_get(values, i)));
        worst = d > worst || isnan(d) ? d : worst;
    }
    free(out);
    vact_image_free(&picture);
    return worst;
}

/* Releases of PyTorch compute positions in float32, as we do, or in double; on this noise they are 2e-6 apart. */
static void test_it_gives_what_lerobot_gives(void **state)
{
    (void)state;
    json_t *golden = load_json(TEST_DATA "/pixels.json"), *item;
    size_t i;
    assert_true(json_array_size(json_object_get(golden, "cases")) >= 11);
    json_array_foreach(json_object_get(golden, "cases"), i, item)
    {
        assert_true(distance(item, VACT_RGB_U8) <= 4e-6);
        assert_true(distance(item, VACT_RGB_F32) <= 4e-6);
    }
    json_decref(golden);
}

static void test_the_models_own_size_comes_out_to_the_bit(void **state)
{
    (void)state;
    const int32_t sizes[] = { 1, 2, 32, 224, 512 };
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        const int32_t n = sizes[s];
        vact_image bytes = make_picture(n, n, VACT_RGB_U8), floats = make_picture(n, n, VACT_RGB_F32);
        float *from_bytes = fit(n, &bytes), *from_floats = fit(n, &floats);
        assert_memory_equal(from_bytes, floats.data, 3 * (size_t)n * (size_t)n * sizeof(float));
        assert_memory_equal(from_floats, floats.data, 3 * (size_t)n * (size_t)n * sizeof(float));
        free(from_bytes);
        free(from_floats);
        vact_image_free(&bytes);
        vact_image_free(&floats);
    }
}

/* One row of 0 and 255 -> 4 columns: half-pixel centres at -0.25, 0.25, 0.75 and 1.25 between the two. */
static void test_two_pixels_by_hand(void **state)
{
    (void)state;
    const uint8_t pixels[6] = { 0, 255, 51, 255, 0, 51 };
    const vact_image picture = { .data = pixels, .width = 2, .height = 1 };
    const float first[4] = { 0, 0.25f, 0.75f, 1 };
    float *out = fit(4, &picture);
    for (int i = 0; i < 4 * 4; i++) {
        const float inside = i / 4 < 2 ? 0.0f : 1.0f; /* the picture's one row becomes two */
        assert_float_equal(out[3 * i], inside * first[i % 4], 0);
        assert_float_equal(out[3 * i + 1], inside * (1 - first[i % 4]), 0);
        assert_float_equal(out[3 * i + 2], inside * 0.2f, 1e-7);
    }
    free(out);
}

/* Whatever the shape: a white picture is white, at the right and the bottom, and at least one pixel thick. */
static void test_padding_is_on_the_left_and_on_top(void **state)
{
    (void)state;
    static const struct {
        int32_t width, height, size, columns, rows;
    } cases[] = {
        { 640, 480, 512, 512, 384 },     { 480, 640, 512, 384, 512 },   { 97, 61, 512, 512, 321 },
        { 1, 1, 512, 512, 512 },         { 3000, 2, 512, 512, 1 },      { VACT_MAX_SIDE, 1, 32, 32, 1 },
        { 1, VACT_MAX_SIDE, 32, 1, 32 }, { VACT_MAX_SIDE, 1, 1, 1, 1 }, { 2, 1, 1000, 1000, 500 },
        { 3, 7, 100, 42, 99 }, /* 7 / (7 / 100.0) is less than 100 */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int32_t size = cases[i].size;
        const size_t n = 3 * (size_t)cases[i].width * (size_t)cases[i].height;
        uint8_t *white = malloc(n);
        assert_non_null(white);
        memset(white, 255, n);
        const vact_image picture = { .data = white, .width = cases[i].width, .height = cases[i].height };
        float *out = fit(size, &picture);
        for (int32_t y = 0; y < size; y++)
            for (int32_t x = 0; x < size; x++) {
                const bool inside = x >= size - cases[i].columns && y >= size - cases[i].rows;
                for (int32_t c = 0; c < 3; c++)
                    if (fabsf(out[3 * (y * size + x) + c] - (inside ? 1.0f : 0.0f)) > 1e-6f)
                        fail_msg("%d x %d to %d: %g at %d, %d", cases[i].width, cases[i].height, size,
                                 (double)out[3 * (y * size + x) + c], x, y);
            }
        free(out);
        free(white);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_gives_what_lerobot_gives),
        cmocka_unit_test(test_the_models_own_size_comes_out_to_the_bit),
        cmocka_unit_test(test_two_pixels_by_hand),
        cmocka_unit_test(test_padding_is_on_the_left_and_on_top),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
