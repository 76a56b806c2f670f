/* Pictures of every kind (tests/data/pictures) against pictures.json, and what must be refused. */
#include "allocations.h"
#include "file/gguf_bytes.h"
#include "fnv.h"
#include "folder.h"
#include "load_json.h"
#include "vact.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#define PICTURES TEST_DATA "/pictures/"

static struct bytes read_file(const char *file)
{
    struct bytes b = { 0 };
    char name[256], buffer[4096];
    size_t n;
    snprintf(name, sizeof name, PICTURES "%s", file);
    FILE *f = fopen(name, "rb");
    if (!f)
        fail_msg("cannot open %s", name);
    while ((n = fread(buffer, 1, sizeof buffer, f)) > 0)
        bytes_add(&b, buffer, n);
    fclose(f);
    return b;
}

static vact_image decode(const char *name, const void *data, size_t size)
{
    vact_image image;
    vact_error err;
    if (vact_image_decode(&image, name, data, size, &err) != VACT_OK)
        fail_msg("%s", err.text);
    return image;
}

static vact_image decode_file(const char *file)
{
    struct bytes b = read_file(file);
    const vact_image image = decode(file, b.data, b.size);
    bytes_free(&b);
    return image;
}

static size_t pixel_bytes(const vact_image *image)
{
    return 3 * (size_t)image->width * (size_t)image->height;
}

static void assert_same_pixels(const char *fact, const vact_image *a, const vact_image *b)
{
    if (a->width != b->width || a->height != b->height || memcmp(a->data, b->data, pixel_bytes(a)) != 0)
        fail_msg("%s: the pixels differ", fact);
}

/* Refused with that status and a line that starts with the name and holds `text`. The bytes are malloc'd to size, so
 * a sanitizer sees any read beyond them. */
static void assert_refused(const char *name, const void *data, size_t size, const char *text)
{
    struct bytes b = { 0 };
    bytes_add(&b, data, size);
    vact_image image = { .width = 7 };
    vact_error err;
    const vact_status status = vact_image_decode(&image, name, b.data, b.size, &err);
    if (status != VACT_EINPUT || err.code != VACT_EINPUT || image.data || image.width)
        fail_msg("%s: status %d", name, (int)status);
    if (strncmp(err.text, name, strlen(name)) != 0 || !strstr(err.text, text) || strchr(err.text, '\n'))
        fail_msg("%s: \"%s\", expected \"%s\"", name, err.text, text);
    bytes_free(&b);
}

/* ---- pictures ---- */

static void check_picture(const json_t *golden)
{
    const char *file, *hash;
    int width, height;
    json_t *pixels, *pixel;
    size_t i;
    assert_int_equal(json_unpack((json_t *)(uintptr_t)golden, "{s:s, s:i, s:i, s:s, s:o}", "file", &file, "width",
                                 &width, "height", &height, "fnv1a64", &hash, "pixels", &pixels),
                     0);
    vact_image image = decode_file(file);
    if (image.width != width || image.height != height)
        fail_msg("%s: %d x %d", file, image.width, image.height);
    assert_int_equal(image.format, VACT_RGB_U8);
    assert_false(image.prepared);
    assert_null(image.camera);
    json_array_foreach(pixels, i, pixel)
    {
        int x, y, want[3];
        assert_int_equal(json_unpack(pixel, "[i, i, i, i, i]", &x, &y, &want[0], &want[1], &want[2]), 0);
        const uint8_t *got = (const uint8_t *)image.data + 3 * (y * width + x);
        if (got[0] != want[0] || got[1] != want[1] || got[2] != want[2])
            fail_msg("%s: %d %d %d at %d, %d, expected %d %d %d", file, got[0], got[1], got[2], x, y, want[0], want[1],
                     want[2]);
    }
    if (fnv1a64(image.data, pixel_bytes(&image)) != strtoull(hash, NULL, 16))
        fail_msg("%s: other pixels", file);
    vact_image_free(&image);
    assert_null(image.data);
}

static void test_every_kind_decodes_to_its_pixels(void **state)
{
    (void)state;
    json_t *golden = load_json(TEST_DATA "/pictures.json"), *item;
    size_t i;
    assert_true(json_array_size(json_object_get(golden, "pictures")) >= 70);
    json_array_foreach(json_object_get(golden, "pictures"), i, item) check_picture(item);
    json_decref(golden);
}

static void test_a_turned_photo_and_its_upright_copy_are_the_same(void **state)
{
    (void)state;
    vact_image turned = decode_file("exif_MM_6.jpg"), upright = decode_file("exif_6_upright.png");
    assert_same_pixels("exif_MM_6.jpg", &turned, &upright);
    vact_image_free(&turned);
    vact_image_free(&upright);
}

/* Cameras leave padding, previews and further pictures behind the first. */
static void test_bytes_after_the_end_are_not_read(void **state)
{
    (void)state;
    const char *const files[] = { "ycc_420.jpg", "progressive_420.jpg", "rgb_8.png", "rgb_8_interlaced.png" };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct bytes b = read_file(files[i]), other = read_file("grey.jpg");
        vact_image alone = decode(files[i], b.data, b.size);
        bytes_add(&b, other.data, other.size);
        bytes_build(&b, "z:100 r:%ff%00%ff%d9");
        vact_image followed = decode(files[i], b.data, b.size);
        assert_same_pixels(files[i], &alone, &followed);
        vact_image_free(&alone);
        vact_image_free(&followed);
        bytes_free(&b);
        bytes_free(&other);
    }
}

static void test_a_file_loads_like_its_bytes(void **state)
{
    (void)state;
    vact_error err;
    vact_image loaded, decoded = decode_file("rgb_8.png");
    assert_int_equal(vact_image_load(&loaded, PICTURES "rgb_8.png", &err), VACT_OK);
    assert_same_pixels("rgb_8.png", &loaded, &decoded);
    vact_image_free(&loaded);
    vact_image_free(&decoded);
    vact_image_free(&decoded);
    vact_image_free(NULL);
}

/* ---- refused ---- */

static void test_other_files_are_named(void **state)
{
    (void)state;
#define EXPECTED ", expected a JPEG or PNG file"
    static const struct {
        const char *tokens, *text;
    } cases[] = {
        { "", ": found no bytes" EXPECTED },
        { "r:GIF89a z:20", ": found a GIF file" EXPECTED },
        { "r:RIFF 4:100 r:WEBPVP8", ": found a WebP file" EXPECTED },
        { "r:BM z:50", ": found a BMP file" EXPECTED },
        { "r:II* 1:0 4:8", ": found a TIFF file" EXPECTED },
        { "r:MM 1:0 r:* 4:8", ": found a TIFF file" EXPECTED },
        { "4:0x1c000000 r:ftypavif z:9", ": found a HEIF or AVIF file" EXPECTED },
        { "4:0x0c000000 r:jP%20%20 z:9", ": found a JPEG 2000 file" EXPECTED },
        { "r:P6%0a23%2017%0a255%0a", ": found a file that starts with \"P6\\n23 17\\n255\\n\"" EXPECTED },
        { "r:%1b[31m z:90", ": found a file that starts with \"\\x1b[31m\\x00" },
        { "r:%ff%d8", ": found a file that starts with \"\\xff\\xd8\"" EXPECTED },
        { "r:%89PNG%0d%0a%1a", ": found a file that starts with \"\\x89PNG\\r\\n\\x1a\"" EXPECTED },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bytes b = { 0 };
        bytes_build(&b, cases[i].tokens);
        assert_refused("x", b.data, b.size, cases[i].text);
        bytes_free(&b);
    }
}

static void test_missing_files_are_eio(void **state)
{
    (void)state;
    vact_image image;
    vact_error err;
    assert_int_equal(vact_image_load(&image, path, &err), VACT_EIO);
    assert_non_null(strstr(err.text, "picture.png: No such file or directory"));
    assert_null(image.data);
    assert_int_equal(vact_image_load(&image, folder, &err), VACT_EIO);
    assert_non_null(strstr(err.text, ": is a directory, expected a file"));
    assert_int_equal(vact_image_load(&image, folder, NULL), VACT_EIO);
}

static void test_null_is_earg(void **state)
{
    (void)state;
    vact_image image;
    vact_error err;
    assert_int_equal(vact_image_load(NULL, path, &err), VACT_EARG);
    assert_string_equal(err.text, "vact_image_load: image is NULL");
    assert_int_equal(vact_image_load(&image, NULL, NULL), VACT_EARG);
    assert_int_equal(vact_image_decode(NULL, "x", "", 0, &err), VACT_EARG);
    assert_int_equal(vact_image_decode(&image, NULL, "", 0, &err), VACT_EARG);
    assert_int_equal(vact_image_decode(&image, "x", NULL, 1, &err), VACT_EARG);
    assert_int_equal(vact_image_decode(&image, "x", NULL, 0, &err), VACT_EINPUT);
}

static void test_an_empty_file_is_refused(void **state)
{
    (void)state;
    vact_image image;
    vact_error err;
    folder_put("", 0);
    assert_int_equal(vact_image_load(&image, path, &err), VACT_EINPUT);
    assert_non_null(strstr(err.text, "picture.png: found no bytes, expected a JPEG or PNG file"));
    remove(path);
}

/* Before memory is taken for the pixels. */
static void test_sides_are_checked_first(void **state)
{
    (void)state;
    static const struct {
        const char *file, *text;
    } cases[] = {
        { "refused_zero_width.png", "Invalid IHDR data" },
        { "refused_zero_height.png", "Invalid IHDR data" },
        { "refused_wide.png", ": found 16385 x 1 pixels, expected sides of 1 to 16384" },
        { "refused_high.png", ": found 1 x 16385 pixels, expected sides of 1 to 16384" },
        { "refused_large.png", ": found 8193 x 8192 pixels, expected sides of 1 to 16384 and at most 67108864 pixels" },
        { "refused_widest.png", ": found 2147483647 x 2147483647 pixels, expected" },
        { "refused_zero_width.jpg", "Empty JPEG image" },
        { "refused_zero_height.jpg", "Empty JPEG image" },
        { "refused_wide.jpg", ": found 16385 x 1 pixels, expected sides of 1 to 16384" },
        { "refused_high.jpg", ": found 1 x 16385 pixels, expected sides of 1 to 16384" },
        { "refused_large.jpg", ": found 8193 x 8192 pixels, expected sides of 1 to 16384 and at most 67108864 pixels" },
        { "refused_widest.jpg", "65500 pixels" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bytes b = read_file(cases[i].file);
        memory.largest = 0;
        assert_refused(cases[i].file, b.data, b.size, cases[i].text);
        assert_true(memory.largest < 65536);
        bytes_free(&b);
    }
}

/* 32 MB of zeros, which pack into 33 kB. */
static void test_data_behind_the_last_row_is_not_unpacked(void **state)
{
    (void)state;
    struct bytes b = read_file("refused_behind.png");
    assert_refused("refused_behind.png", b.data, b.size, "more data than pixels");
    bytes_free(&b);
}

/* Cut anywhere, a file is refused; a JPEG may lack its end mark, if the pixels are all there. */
static void test_a_truncated_file_is_refused(void **state)
{
    (void)state;
    const char *const files[] = { "ycc_444.jpg",
                                  "ycc_420.jpg",
                                  "progressive_420.jpg",
                                  "restart.jpg",
                                  "exif_II_6.jpg",
                                  "cmyk.jpg",
                                  "rgb_8.png",
                                  "rgba_16_interlaced.png",
                                  "palette_4_transparent.png" };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct bytes b = read_file(files[i]);
        vact_image whole = decode(files[i], b.data, b.size), image;
        for (size_t n = 0; n < b.size; n++) {
            struct bytes cut = { 0 };
            bytes_add(&cut, b.data, n);
            if (n + 2 < b.size || strstr(files[i], ".png"))
                assert_refused(files[i], cut.data, cut.size, n < 8 ? ": " : "cannot decode this ");
            else if (vact_image_decode(&image, files[i], cut.data, cut.size, NULL) == VACT_OK) {
                assert_same_pixels(files[i], &whole, &image);
                vact_image_free(&image);
            }
            bytes_free(&cut);
        }
        vact_image_free(&whole);
        bytes_free(&b);
    }
}

/* In any chunk, used or not: each byte of a PNG behind the magic is under a checksum or is a length. */
static void test_a_flipped_bit_in_a_png_is_refused(void **state)
{
    (void)state;
    const char *const files[] = { "rgb_8.png", "palette_4_transparent.png", "other_chunks.png" };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct bytes b = read_file(files[i]);
        for (size_t at = 8; at < b.size; at++) {
            b.data[at] ^= 0x10;
            assert_refused(files[i], b.data, b.size, ": ");
            b.data[at] ^= 0x10;
        }
        bytes_free(&b);
    }
}

/* Each byte once, to several values: a status and one line, or pixels. */
static void test_a_damaged_jpeg_is_refused_or_decoded(void **state)
{
    (void)state;
    const char *const files[] = { "ycc_420.jpg", "progressive_444.jpg", "exif_MM_8.jpg", "ycck.jpg" };
    const uint8_t flips[] = { 0x01, 0x80, 0xff };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct bytes b = read_file(files[i]);
        for (size_t at = 3; at < b.size; at++)
            for (size_t f = 0; f < sizeof flips; f++) {
                vact_image image;
                vact_error err;
                b.data[at] ^= flips[f];
                const vact_status status = vact_image_decode(&image, files[i], b.data, b.size, &err);
                assert_true(status == VACT_OK || status == VACT_EINPUT);
                assert_true(status == VACT_OK ? image.data && image.width > 0 : !image.data && err.text[0]);
                vact_image_free(&image);
                b.data[at] ^= flips[f];
            }
        bytes_free(&b);
    }
}

/* A grey 8 x 8 JPEG by hand: one block, whose only code, one 0 bit, says no difference from 128. */
static struct bytes grey_block(const char *frame, const char *scan, int scans)
{
    struct bytes b = { 0 };
    bytes_build(&b, "r:%ff%d8%ff%db%00%43 1:0");
    for (int i = 0; i < 64; i++)
        bytes_build(&b, "1:1");
    bytes_build(&b, "r:%ff%c4%00%14 1:0 1:1 z:15 1:0 r:%ff%c4%00%14 1:0x10 1:1 z:15 1:0");
    bytes_build(&b, frame);
    struct bytes one = { 0 };
    bytes_build(&one, scan);
    uint8_t *all = malloc(one.size * (size_t)scans); /* one block: growing it scan by scan would take minutes */
    assert_non_null(all);
    for (size_t i = 0; i < one.size * (size_t)scans; i++)
        all[i] = one.data[i % one.size];
    bytes_add(&b, all, one.size * (size_t)scans);
    free(all);
    bytes_free(&one);
    bytes_build(&b, "r:%ff%d9");
    return b;
}

#define PROGRESSIVE_FRAME "r:%ff%c2%00%0b%08%00%08%00%08%01%01%11%00"
#define FIRST_SCAN        "r:%ff%da%00%08%01%01%00%00%00%00%7f"

static void test_a_jpeg_may_have_100_scans(void **state)
{
    (void)state;
    struct bytes b = grey_block(PROGRESSIVE_FRAME, FIRST_SCAN, 100);
    vact_image image = decode("x", b.data, b.size);
    assert_int_equal(image.width, 8);
    for (size_t i = 0; i < pixel_bytes(&image); i++)
        assert_int_equal(((const uint8_t *)image.data)[i], 128);
    vact_image_free(&image);
    bytes_free(&b);
    const int numbers[] = { 101, 100000 };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        b = grey_block(PROGRESSIVE_FRAME, FIRST_SCAN, numbers[i]);
        assert_refused("x", b.data, b.size, "x: found a JPEG of more than 100 scans, expected at most 100");
        bytes_free(&b);
    }
}

static void test_jpegs_that_libjpeg_lacks_are_refused_in_its_words(void **state)
{
    (void)state;
    static const struct {
        const char *frame, *text;
    } cases[] = {
        { "r:%ff%c1%00%0b%0c%00%08%00%08%01%01%11%00", "Unsupported JPEG data precision 12" },
        { "r:%ff%c5%00%0b%08%00%08%00%08%01%01%11%00", "Unsupported JPEG process: SOF type 0xc5" },
        { "r:%ff%c0%00%0e%08%00%08%00%08%02%01%11%00%02%11%00", "" }, /* two components: no known colours */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bytes b = grey_block(cases[i].frame, FIRST_SCAN, 1);
        assert_refused("x", b.data, b.size, "x: cannot decode this JPEG: ");
        assert_refused("x", b.data, b.size, cases[i].text);
        bytes_free(&b);
    }
}

/* Three components, but scans of the first only; libjpeg would make up the rest. */
static void test_a_jpeg_without_one_components_scan_is_refused(void **state)
{
    (void)state;
    struct bytes b = grey_block("r:%ff%c0%00%11%08%00%08%00%08%03%01%11%00%02%11%00%03%11%00",
                                "r:%ff%da%00%08%01%01%00%00%3f%00%3f", 1);
    assert_refused("x", b.data, b.size, "x: found a JPEG without data of component 1, expected all 3");
    bytes_free(&b);
}

/* ---- memory ---- */

static struct bytes scarce; /* the file that is decoded without memory */

static vact_status decode_scarce(double *answer, vact_error *err)
{
    vact_image image;
    const vact_status status = vact_image_decode(&image, "x", scarce.data, scarce.size, err);
    *answer = status == VACT_OK ? (double)fnv1a64(image.data, pixel_bytes(&image)) : 0;
    vact_image_free(&image);
    return status;
}

static void test_memory_that_is_not_there_is_enomem(void **state)
{
    (void)state;
    const char *const files[] = { "ycc_420.jpg", "rgba_16_interlaced.png", "palette_4_transparent.png" };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        scarce = read_file(files[i]);
        memory_check(decode_scarce);
        bytes_free(&scarce);
    }
}

static int set_up(void **state)
{
    (void)state;
    return folder_make("picture.png");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_kind_decodes_to_its_pixels),
        cmocka_unit_test(test_a_turned_photo_and_its_upright_copy_are_the_same),
        cmocka_unit_test(test_bytes_after_the_end_are_not_read),
        cmocka_unit_test(test_a_file_loads_like_its_bytes),
        cmocka_unit_test(test_other_files_are_named),
        cmocka_unit_test(test_missing_files_are_eio),
        cmocka_unit_test(test_null_is_earg),
        cmocka_unit_test(test_an_empty_file_is_refused),
        cmocka_unit_test(test_sides_are_checked_first),
        cmocka_unit_test(test_data_behind_the_last_row_is_not_unpacked),
        cmocka_unit_test(test_a_truncated_file_is_refused),
        cmocka_unit_test(test_a_flipped_bit_in_a_png_is_refused),
        cmocka_unit_test(test_a_damaged_jpeg_is_refused_or_decoded),
        cmocka_unit_test(test_a_jpeg_may_have_100_scans),
        cmocka_unit_test(test_jpegs_that_libjpeg_lacks_are_refused_in_its_words),
        cmocka_unit_test(test_a_jpeg_without_one_components_scan_is_refused),
        cmocka_unit_test(test_memory_that_is_not_there_is_enomem),
        cmocka_unit_test(folder_remove),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
