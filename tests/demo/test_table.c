/* The table against the one in Python that the policy was trained on, bit by bit. tools/demo/table_goldens.py made
 * demo_table.json and says what is what; tools/demo/demo_train.py made demo_policy.json. */
#include "demo/table.h"
#include "fnv.h"
#include "load_json.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static json_t *golden; /* demo_table.json */

/* ---- reading ---- */

static const json_t *field(const json_t *object, const char *name)
{
    const json_t *found = json_object_get(object, name);
    if (!found)
        fail_msg("no field %s", name);
    return found;
}

/* JSON has neither NaN nor infinity: those are strings. */
static double real(const json_t *array, size_t i)
{
    const json_t *value = json_array_get(array, i);
    assert_true(json_is_number(value) || json_is_string(value));
    return json_is_string(value) ? strtod(json_string_value(value), NULL) : json_number_value(value);
}

static int64_t integer(const json_t *value)
{
    assert_true(json_is_integer(value));
    return json_integer_value(value);
}

static const char *text(const json_t *value)
{
    assert_true(json_is_string(value));
    return json_string_value(value);
}

static uint64_t hash_of(const json_t *value)
{
    return strtoull(text(value), NULL, 16);
}

/* ---- a table ---- */

/* A reset leaves nothing of what was there. */
static demo_table reset(uint64_t seed)
{
    demo_table t;
    memset(&t, 0xFF, sizeof t);
    demo_table_reset(&t, seed);
    return t;
}

static void get_places(const demo_table *t, double out[2 * DEMO_BLOCKS + 2])
{
    for (int k = 0; k < DEMO_BLOCKS; k++) {
        out[2 * k] = t->block[k].x;
        out[2 * k + 1] = t->block[k].y;
    }
    out[2 * DEMO_BLOCKS] = t->gripper.x;
    out[2 * DEMO_BLOCKS + 1] = t->gripper.y;
}

static void check_places(const char *where, const demo_table *t, const json_t *want, size_t n)
{
    double got[2 * DEMO_BLOCKS + 2];
    get_places(t, got);
    assert_int_equal(json_array_size(want), n);
    for (size_t i = 0; i < n; i++)
        if (got[i] != real(want, i))
            fail_msg("%s: place %zu is %.17g, expected %.17g", where, i, got[i], real(want, i));
}

typedef struct chain {
    uint64_t world, pictures;
} chain;

static uint64_t link_to(uint64_t before, const void *data, size_t size)
{
    static uint8_t bytes[sizeof before + 3 * DEMO_MOST_SIDE * DEMO_MOST_SIDE];
    memcpy(bytes, &before, sizeof before);
    memcpy(bytes + sizeof before, data, size);
    return fnv1a64(bytes, sizeof before + size);
}

static void add(chain *c, const demo_table *t)
{
    struct {
        double places[2 * DEMO_BLOCKS + 2], expert[DEMO_ACTION];
        float state[DEMO_STATE];
        int8_t closed, held, solved, end;
    } world = { .closed = t->closed, .held = (int8_t)t->held, .solved = demo_table_solved(t) };
    uint8_t picture[3 * DEMO_SIDE * DEMO_SIDE];
    get_places(t, world.places);
    demo_table_expert(t, world.expert);
    demo_table_state(t, world.state);
    demo_table_render(t, DEMO_SIDE, picture);
    c->world = link_to(c->world, &world, (size_t)((char *)&world.end - (char *)&world));
    c->pictures = link_to(c->pictures, picture, sizeof picture);
}

/* ---- resets ---- */

static void test_a_seed_gives_its_table(void **state)
{
    (void)state;
    const json_t *resets = field(golden, "resets"), *want;
    size_t i;
    assert_int_equal(json_array_size(resets), 308);
    json_array_foreach(resets, i, want)
    {
        const char *seed = text(json_array_get(want, 0));
        const json_t *colours = json_array_get(want, 2);
        const demo_table t = reset(strtoull(seed, NULL, 10));
        char told[DEMO_TEXT];
        check_places(seed, &t, json_array_get(want, 1), 2 * DEMO_BLOCKS + 2);
        for (size_t k = 0; k < DEMO_BLOCKS; k++) {
            assert_int_equal(t.colour[k], integer(json_array_get(colours, k)));
            assert_int_equal(demo_table_find(&t, t.colour[k]), k);
        }
        assert_int_equal(demo_table_find(&t, 6 - t.colour[0] - t.colour[1] - t.colour[2]), -1); /* of 0, 1, 2, 3 */
        assert_int_equal(t.target, integer(json_array_get(want, 3)));
        assert_int_equal(t.zone, integer(json_array_get(want, 4)));
        demo_table_sentence(&t, false, told);
        assert_string_equal(told, text(json_array_get(want, 5)));
        demo_table_sentence(&t, true, told);
        assert_string_equal(told, text(json_array_get(want, 6)));
        assert_false(t.closed);
        assert_int_equal(t.held, -1);
    }
}

/* ---- episodes ---- */

static void test_the_expert_solves_each_in_the_same_steps(void **state)
{
    (void)state;
    const json_t *experts = field(golden, "experts"), *want;
    size_t seed;
    assert_int_equal(json_array_size(experts), 300);
    json_array_foreach(experts, seed, want)
    {
        demo_table t = reset(seed);
        chain c = { 0 };
        int64_t steps = 0;
        for (add(&c, &t); !demo_table_solved(&t) && steps < DEMO_MAX_STEPS; add(&c, &t), steps++) {
            double action[DEMO_ACTION];
            demo_table_expert(&t, action);
            demo_table_step(&t, action);
        }
        if (steps != integer(json_array_get(want, 0)) || c.world != hash_of(json_array_get(want, 1)) ||
            c.pictures != hash_of(json_array_get(want, 2)))
            fail_msg("seed %zu: %d steps, expected %d; the world is %s, the pictures are %s", seed, (int)steps,
                     (int)integer(json_array_get(want, 0)),
                     c.world == hash_of(json_array_get(want, 1)) ? "right" : "wrong",
                     c.pictures == hash_of(json_array_get(want, 2)) ? "right" : "wrong");
    }
}

static void test_the_expert_does_the_same(void **state)
{
    (void)state;
    const json_t *teaching = field(golden, "teaching"), *actions, *want;
    size_t seed, step;
    assert_int_equal(json_array_size(teaching), 8);
    json_array_foreach(teaching, seed, actions)
    {
        demo_table t = reset(seed);
        assert_true(json_array_size(actions) > 0);
        json_array_foreach(actions, step, want)
        {
            double action[DEMO_ACTION];
            demo_table_expert(&t, action);
            for (size_t i = 0; i < DEMO_ACTION; i++)
                if (action[i] != real(want, i))
                    fail_msg("seed %zu, step %zu: value %zu is %.17g, expected %.17g", seed, step, i, action[i],
                             real(want, i));
            demo_table_step(&t, action);
        }
        assert_true(demo_table_solved(&t));
    }
}

/* Value `i` of the list of that name, by the character that stands for it. */
static double pick(const char *list, char character)
{
    const char *alphabet = text(field(golden, "alphabet")), *at = strchr(alphabet, character);
    assert_non_null(at);
    return real(field(golden, list), (size_t)(at - alphabet));
}

static uint64_t byte_at(const json_t *marks, size_t i)
{
    const char two[3] = { text(marks)[2 * i], text(marks)[2 * i + 1], 0 };
    return strtoull(two, NULL, 16);
}

/* What the file says of one more step. */
static void check_step(const json_t *episode, const demo_table *t, const chain *c, size_t step)
{
    const char *seed = text(field(episode, "seed"));
    if (demo_table_solved(t) != (text(field(episode, "solved"))[step] == '1'))
        fail_msg("seed %s: solved or not is wrong after step %zu", seed, step);
    if ((c->world & 255) != byte_at(field(episode, "world"), step))
        fail_msg("seed %s: the world is wrong after step %zu", seed, step);
    if ((c->pictures & 255) != byte_at(field(episode, "pictures"), step))
        fail_msg("seed %s: the picture is wrong after step %zu", seed, step);
}

static void test_episodes_that_go_wrong_are_the_same(void **state)
{
    (void)state;
    enum { STEPS = 80 };
    const json_t *episodes = field(golden, "episodes"), *episode;
    size_t i;
    assert_int_equal(json_array_size(episodes), 50);
    json_array_foreach(episodes, i, episode)
    {
        const char *seed = text(field(episode, "seed")), *actions = text(field(episode, "actions"));
        demo_table t = reset(strtoull(seed, NULL, 10));
        chain c = { 0 };
        assert_int_equal(strlen(actions), 3 * STEPS);
        assert_int_equal(strlen(text(field(episode, "solved"))), STEPS + 1);
        assert_int_equal(strlen(text(field(episode, "world"))), 2 * (STEPS + 1));
        assert_int_equal(strlen(text(field(episode, "pictures"))), 2 * (STEPS + 1));
        add(&c, &t);
        check_step(episode, &t, &c, 0);
        for (size_t step = 1; step <= STEPS; step++, actions += 3) {
            const double action[DEMO_ACTION] = { pick("moves", actions[0]), pick("moves", actions[1]),
                                                 pick("closes", actions[2]) };
            demo_table_step(&t, action);
            add(&c, &t);
            check_step(episode, &t, &c, step);
        }
        check_places(seed, &t, field(episode, "end"), 2 * DEMO_BLOCKS + 2);
        assert_int_equal(c.world, hash_of(json_array_get(field(episode, "last"), 0)));
        assert_int_equal(c.pictures, hash_of(json_array_get(field(episode, "last"), 1)));
    }
}

/* ---- pictures ---- */

static void test_pictures_of_other_sides_are_the_same(void **state)
{
    (void)state;
    static uint8_t picture[3 * DEMO_MOST_SIDE * DEMO_MOST_SIDE];
    const json_t *sides = field(golden, "sides"), *want;
    size_t i;
    assert_int_equal(json_array_size(sides), 5);
    json_array_foreach(sides, i, want)
    {
        const int side = (int)integer(json_array_get(want, 0));
        assert_int_equal(json_array_size(want), 7);
        for (size_t seed = 0; seed < 6; seed++) {
            const demo_table t = reset(seed);
            demo_table_render(&t, side, picture);
            assert_int_equal(link_to(0, picture, (size_t)(3 * side * side)), hash_of(json_array_get(want, seed + 1)));
        }
    }
}

/* ---- the policy's scenes ---- */

static void check_scene(const json_t *scene)
{
    const demo_table start = reset((uint64_t)integer(field(scene, "seed")));
    const json_t *expert = field(scene, "expert"), *rows = field(scene, "image_row_sums"), *want;
    demo_table t = start;
    char told[DEMO_TEXT];
    float values[DEMO_STATE];
    static uint8_t picture[DEMO_SIDE][3 * DEMO_SIDE];
    int64_t all = 0;
    size_t step;
    demo_table_sentence(&t, false, told);
    assert_string_equal(told, text(field(scene, "text")));
    assert_int_equal(t.target, integer(field(scene, "target")));
    assert_int_equal(t.zone, integer(field(scene, "zone")));
    demo_table_state(&t, values);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(t.colour[i], integer(json_array_get(field(scene, "colour"), i)));
        assert_true(t.block[i].x == real(json_array_get(field(scene, "pos"), i), 0));
        assert_true(t.block[i].y == real(json_array_get(field(scene, "pos"), i), 1));
        assert_true((double)values[i] == real(field(scene, "state"), i));
    }
    demo_table_render(&t, DEMO_SIDE, picture[0]);
    for (size_t row = 0; row < DEMO_SIDE; row++) {
        int64_t sum = 0;
        for (size_t i = 0; i < 3 * DEMO_SIDE; i++)
            sum += picture[row][i];
        assert_int_equal(sum, integer(json_array_get(rows, row)));
        all += sum;
    }
    assert_int_equal(all, integer(field(scene, "image_sum")));
    assert_int_equal(json_array_size(expert), 30);
    json_array_foreach(expert, step, want)
    {
        double action[DEMO_ACTION];
        demo_table_expert(&t, action);
        for (size_t i = 0; i < DEMO_ACTION; i++)
            assert_true((double)(float)action[i] == real(want, i)); /* written as float32 */
        demo_table_step(&t, action);
    }
}

static void test_the_scenes_of_the_policys_goldens(void **state)
{
    (void)state;
    json_t *scenes = load_json(TEST_DATA "/demo_policy.json");
    const json_t *scene;
    size_t i;
    assert_int_equal(json_array_size(scenes), 4);
    json_array_foreach(scenes, i, scene)
    {
        check_scene(scene);
    }
    json_decref(scenes);
}

/* ---- edges, by docs/demo.md ---- */

static void test_a_zone_has_no_edge(void **state)
{
    (void)state;
    static const double edges[DEMO_ZONES] = { 0.2, 1 - 0.2, 0.2, 1 - 0.2 }, beyond[DEMO_ZONES] = { 0, 1, 0, 1 };
    demo_table t = reset(0);
    for (int zone = 0; zone < DEMO_ZONES; zone++) {
        const demo_point middle = { 0.5, 0.5 };
        double *place = zone < 2 ? &t.block[t.target].x : &t.block[t.target].y;
        t.zone = zone;
        t.block[t.target] = middle;
        *place = edges[zone];
        assert_false(demo_table_solved(&t));
        *place = nextafter(edges[zone], beyond[zone]);
        assert_true(demo_table_solved(&t));
        t.held = t.target;
        assert_false(demo_table_solved(&t));
        t.held = (t.target + 1) % DEMO_BLOCKS;
        assert_true(demo_table_solved(&t));
        t.held = -1;
    }
}

/* A table with its hand open at the left edge and the blocks that far from it, above and below each other. */
static demo_table blocks_at(double first, double second, double third)
{
    demo_table t = reset(0);
    t.gripper = (demo_point){ 0, 0.5 };
    t.block[0] = (demo_point){ first, 0.5 };
    t.block[1] = (demo_point){ second, 0.5 };
    t.block[2] = (demo_point){ third, 0.5 };
    return t;
}

static void test_the_nearest_within_reach_is_taken(void **state)
{
    (void)state;
    const double close[DEMO_ACTION] = { 0, 0, 1 };
    demo_table t = blocks_at(0.3, 0.05, 0.4);
    demo_table_step(&t, close);
    assert_int_equal(t.held, -1);
    assert_true(t.closed);
    t.block[1].x = 0.01; /* too late: the hand is closed */
    demo_table_step(&t, close);
    assert_int_equal(t.held, -1);
    t = blocks_at(0.3, nextafter(0.05, 0), 0.4);
    demo_table_step(&t, close);
    assert_int_equal(t.held, 1);
    assert_true(t.block[1].x == 0 && t.block[1].y == 0.5);
    t = blocks_at(0.03, 0.02, 0.02); /* of two as near, the first */
    demo_table_step(&t, close);
    assert_int_equal(t.held, 1);
}

static int open_goldens(void **state)
{
    (void)state;
    golden = load_json(TEST_DATA "/demo_table.json");
    return 0;
}

static int close_goldens(void **state)
{
    (void)state;
    json_decref(golden);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_seed_gives_its_table),
        cmocka_unit_test(test_the_expert_solves_each_in_the_same_steps),
        cmocka_unit_test(test_the_expert_does_the_same),
        cmocka_unit_test(test_episodes_that_go_wrong_are_the_same),
        cmocka_unit_test(test_pictures_of_other_sides_are_the_same),
        cmocka_unit_test(test_the_scenes_of_the_policys_goldens),
        cmocka_unit_test(test_a_zone_has_no_edge),
        cmocka_unit_test(test_the_nearest_within_reach_is_taken),
    };
    return cmocka_run_group_tests(tests, open_goldens, close_goldens);
}
