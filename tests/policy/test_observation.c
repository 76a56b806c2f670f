/* What a robot gives: an instruction in words, camera pictures of any size, views by name. On SmolVLA's tiny synthetic
 * checkpoint with a part of SmolLM2's vocabulary (tests/data/tokenizers). */
#include "convert/rewrite.h"
#include "file/gguf.h"
#include "image/image.h"
#include "models/golden.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define TINY      "test_observation_tiny.gguf"
#define CAMERAS   "test_observation_cameras.gguf"
#define TOKENIZER TEST_DATA "/tokenizers/smollm2.tokenizer.json"
enum { SIZE = 32, HORIZON = 5, ACTION = 6, WIDTH = 50, HEIGHT = 30, VALUES = HORIZON * ACTION };

static vact_model *model, *with_cameras;
static vact_session *session, *camera_session;
static uint8_t front[3 * WIDTH * HEIGHT], wrist[3 * SIZE * SIZE];
static const int32_t three_tokens[] = { 1, 100, 2 };

static vact_image picture(const uint8_t *pixels, int32_t width, int32_t height, const char *camera)
{
    return (vact_image){ .data = pixels, .width = width, .height = height, .camera = camera };
}

static vact_request request(const vact_image *images, int32_t n)
{
    return (vact_request){
        .images = images, .n_images = n, .tokens = three_tokens, .n_tokens = 3, .has_seed = true, .seed = 5
    };
}

static vact_status put_cameras(const void *user, vact_gguf_writer *w, vact_error *err)
{
    const vact_gguf_text names[] = { { "front", 5 }, { "wrist", 5 } };
    (void)user;
    return vact_gguf_put_texts(w, "vact.cameras", names, 2, err);
}

static int set_up(void **state)
{
    (void)state;
    vact_gguf *gguf = NULL;
    vact_error err = { 0 };
    for (size_t i = 0; i < sizeof front; i++)
        front[i] = (uint8_t)(i * i / 7);
    for (size_t i = 0; i < sizeof wrist; i++)
        wrist[i] = (uint8_t)(i * 31);
    golden_model("smolvla", "tiny", TINY);
    if (vact_gguf_open(&gguf, TINY, &err) != VACT_OK ||
        vact_rewrite_to(&(vact_rewrite){ .in = gguf, .dropped = "vact.", .put = put_cameras }, CAMERAS, &err) !=
            VACT_OK)
        fail_msg("%s", err.text);
    vact_gguf_close(&gguf);
    const vact_settings settings = { .threads = 1, .tokenizer = TOKENIZER };
    if (vact_model_open(&model, TINY, &settings, &err) != VACT_OK ||
        vact_model_open(&with_cameras, CAMERAS, NULL, &err) != VACT_OK)
        fail_msg("%s", err.text);
    session = golden_session(model, NULL);
    camera_session = golden_session(with_cameras, NULL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    vact_session_close(&session);
    vact_session_close(&camera_session);
    vact_model_close(&model);
    vact_model_close(&with_cameras);
    unlink(TINY);
    unlink(CAMERAS);
    return 0;
}

static void predict(vact_session *s, const vact_request *q, float actions[VALUES])
{
    vact_error err;
    vact_reply reply = { .actions = actions };
    if (vact_predict(s, q, &reply, &err) != VACT_OK)
        fail_msg("%s", err.text);
}

static void assert_refused(vact_session *s, const vact_request *q, const char *text)
{
    vact_error err;
    float actions[VALUES];
    vact_reply reply = { .actions = actions };
    assert_int_equal(vact_predict(s, q, &reply, &err), VACT_EINPUT);
    assert_string_equal(err.text, text);
}

static void assert_same(vact_session *s, const vact_request *a, const vact_request *b)
{
    float of_a[VALUES], of_b[VALUES];
    predict(s, a, of_a);
    predict(s, b, of_b);
    assert_memory_equal(of_a, of_b, sizeof of_a);
}

/* ---- text ---- */

/* Ids of the Python package `tokenizers`, for the text with the line feed that SmolVLA's client adds. */
static void test_text_becomes_the_ids_of_the_reference(void **state)
{
    (void)state;
    json_t *golden = load_json(TEST_DATA "/tokenizers.json");
    const json_t *cases = json_object_get(json_object_get(golden, "smollm2"), "python"), *one;
    const vact_image image = picture(front, WIDTH, HEIGHT, NULL);
    int compared = 0;
    for (size_t i = 0; i < json_array_size(cases) && compared < 20; i++) {
        one = json_array_get(cases, i);
        char text[256];
        const json_t *whole = json_object_get(one, "text");
        snprintf(text, sizeof text, "%s", json_string_value(whole));
        const size_t length = strlen(text);
        const json_t *ids = json_object_get(one, "ids");
        int32_t tokens[12];
        const size_t n = json_array_size(ids);
        if (n < 1 || n > 12 || length < 2 || text[length - 1] != '\n' || text[length - 2] == '\n' ||
            length != json_string_length(whole))
            continue;
        for (size_t j = 0; j < n; j++)
            tokens[j] = (int32_t)json_integer_value(json_array_get(ids, j));
        vact_request by_tokens = request(&image, 1), by_text = by_tokens;
        by_tokens.tokens = tokens;
        by_tokens.n_tokens = (int32_t)n;
        by_text.tokens = NULL;
        by_text.n_tokens = 0;
        by_text.text = text;
        assert_same(session, &by_text, &by_tokens);
        text[length - 1] = 0; /* the template puts it there again */
        assert_same(session, &by_text, &by_tokens);
        compared++;
    }
    assert_true(compared >= 5);
    json_decref(golden);
}

static void test_text_that_cannot_be_read_is_refused(void **state)
{
    (void)state;
    static char longest[VACT_MAX_TEXT + 2];
    const vact_image image = picture(front, WIDTH, HEIGHT, NULL);
    vact_request q = request(&image, 1);
    q.text = "pick up the bowl";
    assert_refused(session, &q, "text and tokens are both given, expected one of them");
    q.n_tokens = 0;
    assert_refused(camera_session, &q,
                   "the request has text, but this policy came without a tokenizer: expected tokens, or a tokenizer "
                   "in the file or the settings");
    memset(longest, 'a', VACT_MAX_TEXT + 1);
    q.text = longest;
    assert_refused(session, &q, "text is longer than 8192 bytes");
    q.text = "0123456789012";
    assert_refused(session, &q, "text is 14 tokens long in the policy's template, expected at most 12");
    q.text = "bowl \xc3\x28";
    assert_refused(session, &q, "text is not UTF-8 at byte 5");
    q.text = NULL;
    assert_refused(session, &q, "the request has 0 tokens, expected 1 to 12");
}

static void test_a_tokenizer_that_does_not_fit_is_refused(void **state)
{
    (void)state;
    vact_error err;
    vact_model *none = NULL;
    const vact_settings larger = { .tokenizer = TEST_DATA "/tokenizers/llama3.tokenizer.json" };
    assert_int_equal(vact_model_open(&none, TINY, &larger, &err), VACT_EFORMAT);
    assert_non_null(strstr(err.text, "llama3.tokenizer.json: the tokenizer has ids up to 128"));
    assert_non_null(strstr(err.text, ", expected at most 49279, the model's"));
    const vact_settings missing = { .tokenizer = "no.json" };
    assert_int_equal(vact_model_open(&none, TINY, &missing, &err), VACT_EIO);
    const vact_settings without = { .tokenizer = TINY };
    assert_int_equal(vact_model_open(&none, TINY, &without, &err), VACT_EFORMAT);
    assert_null(none);
}

static void test_the_model_says_whether_it_reads_text(void **state)
{
    (void)state;
    assert_true(vact_model_get_info(model)->reads_text);
    assert_false(vact_model_get_info(with_cameras)->reads_text);
}

/* ---- pictures ---- */

static void test_a_picture_gets_the_policy_s_preprocessing(void **state)
{
    (void)state;
    static float fitted[3 * SIZE * SIZE];
    const vact_image image = picture(front, WIDTH, HEIGHT, NULL);
    vact_fit_pad_left_top(fitted, SIZE, &image); /* whose pixels are checked by tests/image */
    const vact_image prepared = {
        .data = fitted, .width = SIZE, .height = SIZE, .format = VACT_RGB_F32, .prepared = true
    };
    const vact_request q = request(&image, 1), want = request(&prepared, 1);
    assert_same(session, &q, &want);
}

static void test_a_picture_of_the_model_s_size_is_as_good_as_prepared(void **state)
{
    (void)state;
    const vact_image image = picture(wrist, SIZE, SIZE, NULL);
    const vact_image prepared = { .data = wrist, .width = SIZE, .height = SIZE, .prepared = true };
    const vact_request q = request(&image, 1), want = request(&prepared, 1);
    assert_same(session, &q, &want);
}

static void test_pictures_and_prepared_pixels_mix(void **state)
{
    (void)state;
    static float fitted[3 * SIZE * SIZE];
    const vact_image image = picture(front, WIDTH, HEIGHT, NULL);
    const vact_image other = { .data = wrist, .width = SIZE, .height = SIZE, .prepared = true };
    vact_fit_pad_left_top(fitted, SIZE, &image);
    const vact_image prepared = {
        .data = fitted, .width = SIZE, .height = SIZE, .format = VACT_RGB_F32, .prepared = true
    };
    const vact_request q = request((const vact_image[]){ other, image }, 2);
    const vact_request want = request((const vact_image[]){ other, prepared }, 2);
    assert_same(session, &q, &want);
}

static void test_pictures_of_impossible_sizes_are_refused(void **state)
{
    (void)state;
    static const struct {
        int32_t width, height;
        const char *text;
    } bad[] = {
        { 0, 30, "image 0 is 0x30, expected sides of 1 to 16384 and at most 67108864 pixels" },
        { 50, -1, "image 0 is 50x-1, expected sides of 1 to 16384 and at most 67108864 pixels" },
        { 16385, 1, "image 0 is 16385x1, expected sides of 1 to 16384 and at most 67108864 pixels" },
        { 16384, 16384, "image 0 is 16384x16384, expected sides of 1 to 16384 and at most 67108864 pixels" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const vact_image image = picture(front, bad[i].width, bad[i].height, NULL);
        const vact_request q = request(&image, 1);
        assert_refused(session, &q, bad[i].text);
    }
}

/* ---- cameras ---- */

static void test_views_by_name_go_to_their_places(void **state)
{
    (void)state;
    const vact_image in_order[] = { picture(front, WIDTH, HEIGHT, NULL), picture(wrist, SIZE, SIZE, NULL) };
    const vact_image named[] = { picture(wrist, SIZE, SIZE, "wrist"), picture(front, WIDTH, HEIGHT, "front") };
    const vact_image half_named[] = { picture(wrist, SIZE, SIZE, "wrist"), picture(front, WIDTH, HEIGHT, NULL) };
    const vact_image first_named[] = { picture(front, WIDTH, HEIGHT, "front"), picture(wrist, SIZE, SIZE, NULL) };
    const vact_request want = request(in_order, 2), a = request(named, 2), b = request(half_named, 2),
                       c = request(first_named, 2);
    assert_same(camera_session, &a, &want);
    assert_same(camera_session, &b, &want);
    assert_same(camera_session, &c, &want);
    const vact_image swapped[] = { in_order[1], in_order[0] };
    const vact_request other = request(swapped, 2);
    float actions[VALUES], different[VALUES];
    predict(camera_session, &want, actions);
    predict(camera_session, &other, different);
    assert_memory_not_equal(actions, different, sizeof actions);
    const vact_image alone[] = { picture(wrist, SIZE, SIZE, "wrist") }, unnamed[] = { in_order[1] };
    const vact_request one = request(alone, 1), same = request(unnamed, 1);
    assert_same(camera_session, &one, &same); /* no gap is left for the front camera */
}

static void test_cameras_that_cannot_be_placed_are_refused(void **state)
{
    (void)state;
    const vact_image stranger[] = { picture(wrist, SIZE, SIZE, NULL), picture(wrist, SIZE, SIZE, "top") };
    const vact_image twice[] = { picture(wrist, SIZE, SIZE, "front"), picture(wrist, SIZE, SIZE, "front") };
    const vact_image three[] = { stranger[0], stranger[0], stranger[0] };
    vact_request q = request(stranger, 2);
    assert_refused(camera_session, &q, "image 1 is of camera \"top\", expected one of: front, wrist");
    assert_refused(session, &q, "image 1 is of camera \"top\", but the policy's file names no cameras");
    q = request(twice, 2);
    assert_refused(camera_session, &q, "images 0 and 1 are both of camera \"front\"");
    q = request(three, 3);
    assert_refused(camera_session, &q, "the request has 3 camera views, expected at most the 2 that the file names");
}

static void test_the_model_names_its_cameras(void **state)
{
    (void)state;
    const vact_model_info *info = vact_model_get_info(with_cameras);
    assert_int_equal(info->n_cameras, 2);
    assert_string_equal(info->cameras[0], "front");
    assert_string_equal(info->cameras[1], "wrist");
    assert_int_equal(vact_model_get_info(model)->n_cameras, 0);
}

typedef struct camera_key {
    vact_gguf_text names[17];
    uint64_t n;
    const char *text; /* of the message, after the file */
} camera_key;

static vact_status put_key(const void *user, vact_gguf_writer *w, vact_error *err)
{
    const camera_key *key = user;
    return key->n ? vact_gguf_put_texts(w, "vact.cameras", key->names, key->n, err)
                  : vact_gguf_put_u32(w, "vact.cameras", 2, err);
}

static void test_a_wrong_camera_key_is_refused(void **state)
{
    (void)state;
    static const camera_key keys[] = {
        { { { NULL, 0 } }, 0, "key vact.cameras: found u32, expected array of string" },
        { { { "a", 1 }, { "", 0 } }, 2, "key vact.cameras[1] is no name, expected 1 to 64 bytes of UTF-8" },
        { { { "a\0b", 3 } }, 1, "key vact.cameras[0] is no name, expected 1 to 64 bytes of UTF-8" },
        { { { "\xff", 1 } }, 1, "key vact.cameras[0] is no name, expected 1 to 64 bytes of UTF-8" },
        { { { "a", 1 }, { "b", 1 }, { "a", 1 } }, 3, "key vact.cameras names \"a\" twice" },
        { { { "", 0 } }, 17, "key vact.cameras has 17 names, expected 1 to 16" },
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        vact_gguf *gguf = NULL;
        vact_model *none = NULL;
        vact_error err;
        char want[200];
        assert_int_equal(vact_gguf_open(&gguf, TINY, &err), VACT_OK);
        const vact_rewrite rewrite = { .in = gguf, .dropped = "vact.", .put = put_key, .user = &keys[i] };
        assert_int_equal(vact_rewrite_to(&rewrite, "wrong.gguf", &err), VACT_OK);
        vact_gguf_close(&gguf);
        assert_int_equal(vact_model_open(&none, "wrong.gguf", NULL, &err), VACT_EFORMAT);
        snprintf(want, sizeof want, "wrong.gguf: %s", keys[i].text);
        assert_string_equal(err.text, want);
        unlink("wrong.gguf");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_becomes_the_ids_of_the_reference),
        cmocka_unit_test(test_text_that_cannot_be_read_is_refused),
        cmocka_unit_test(test_a_tokenizer_that_does_not_fit_is_refused),
        cmocka_unit_test(test_the_model_says_whether_it_reads_text),
        cmocka_unit_test(test_a_picture_gets_the_policy_s_preprocessing),
        cmocka_unit_test(test_a_picture_of_the_model_s_size_is_as_good_as_prepared),
        cmocka_unit_test(test_pictures_and_prepared_pixels_mix),
        cmocka_unit_test(test_pictures_of_impossible_sizes_are_refused),
        cmocka_unit_test(test_views_by_name_go_to_their_places),
        cmocka_unit_test(test_cameras_that_cannot_be_placed_are_refused),
        cmocka_unit_test(test_the_model_names_its_cameras),
        cmocka_unit_test(test_a_wrong_camera_key_is_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
