#include "demo/table.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

static const double ZONE_WIDTH = 0.2, REACH = 0.05, MOST_STEP = 0.05;

const char *const demo_colours[DEMO_COLOURS + 1] = { "red", "green", "blue", "yellow", NULL };
const char *const demo_zones[DEMO_ZONES + 1] = { "left", "right", "top", "bottom", NULL };

static const char *const sentences[DEMO_SENTENCES + DEMO_HELD_OUT] = {
    "move the %s block to the %s",       "put the %s block on the %s side",
    "push the %s cube to the %s edge",   "take the %s block to the %s side",
    "slide the %s one to the %s",        "bring the %s cube to the %s",
    "place the %s block at the %s edge", "carry the %s cube over to the %s side",
    "put the %s one at the %s side",     "take the %s cube over to the %s edge",
};

/* ---- reset ---- */

double demo_uniform(uint64_t seed, uint64_t i)
{
    uint64_t z = seed * 0x100000001B3u + (i + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return (double)((z ^ (z >> 31)) >> 40) / 16777216.0;
}

/* The first k of a shuffle of 0..n-1: draws first .. first+k-1 of the seed. */
static void pick(int n, int k, uint64_t seed, uint64_t first, int *out)
{
    enum { MOST = 9 };
    int all[MOST];
    assert(n <= MOST && k <= n);
    for (int i = 0; i < n; i++)
        all[i] = i;
    for (int i = 0; i < k; i++) {
        const int j = i + (int)(demo_uniform(seed, first + (uint64_t)i) * (n - i));
        out[i] = all[j];
        all[j] = all[i];
    }
}

/* Blocks get cells of a 3 x 3 grid in the middle of the table, where no zone is, and a little jitter. */
void demo_table_reset(demo_table *t, uint64_t seed)
{
    enum { GRID = 3, CELLS = 0, JITTER = 3, COLOURS = 9, GRIPPER = 12, TARGET = 14, ZONE = 15, SENTENCE = 16 };
    const double start = 0.24, cell = 0.52 / 3, jitter = 0.03;
    int cells[DEMO_BLOCKS];
    pick(GRID * GRID, DEMO_BLOCKS, seed, CELLS, cells);
    for (int k = 0; k < DEMO_BLOCKS; k++) {
        const double u = demo_uniform(seed, JITTER + 2 * (uint64_t)k),
                     v = demo_uniform(seed, JITTER + 2 * (uint64_t)k + 1);
        t->block[k].x = start + cell * (cells[k] % GRID + 0.5) + jitter * (2 * u - 1);
        t->block[k].y = start + cell * (cells[k] / GRID + 0.5) + jitter * (2 * v - 1);
    }
    pick(DEMO_COLOURS, DEMO_BLOCKS, seed, COLOURS, t->colour);
    t->gripper.x = 0.1 + 0.8 * demo_uniform(seed, GRIPPER);
    t->gripper.y = 0.1 + 0.8 * demo_uniform(seed, GRIPPER + 1);
    t->closed = false;
    t->held = -1;
    t->target = (int)(DEMO_BLOCKS * demo_uniform(seed, TARGET));
    t->zone = (int)(DEMO_ZONES * demo_uniform(seed, ZONE));
    t->sentence = (int)(DEMO_SENTENCES * demo_uniform(seed, SENTENCE));
}

void demo_sentence(int sentence, bool held_out, const char *colour, const char *zone, char out[DEMO_TEXT])
{
    snprintf(out, DEMO_TEXT, sentences[held_out ? DEMO_SENTENCES + sentence % DEMO_HELD_OUT : sentence], colour, zone);
}

void demo_table_sentence(const demo_table *t, bool held_out, char out[DEMO_TEXT])
{
    demo_sentence(t->sentence, held_out, demo_colours[t->colour[t->target]], demo_zones[t->zone], out);
}

int demo_table_find(const demo_table *t, int colour)
{
    for (int k = 0; k < DEMO_BLOCKS; k++)
        if (t->colour[k] == colour)
            return k;
    return -1;
}

/* ---- moving ---- */

static double clamp(double v, double low, double high)
{
    return v < low ? low : v > high ? high : v;
}

static double distance(demo_point a, demo_point b)
{
    const double x = a.x - b.x, y = a.y - b.y;
    return sqrt(x * x + y * y);
}

static double opening(const demo_table *t)
{
    return !t->closed ? 1 : t->held >= 0 ? 0.5 : 0;
}

void demo_table_state(const demo_table *t, float state[DEMO_STATE])
{
    state[0] = (float)t->gripper.x;
    state[1] = (float)t->gripper.y;
    state[2] = (float)opening(t);
}

static int nearest_block(const demo_table *t)
{
    int nearest = 0;
    for (int k = 1; k < DEMO_BLOCKS; k++)
        if (distance(t->block[k], t->gripper) < distance(t->block[nearest], t->gripper))
            nearest = k;
    return nearest;
}

static double moved(double at, double by)
{
    return clamp(at + (isnan(by) ? 0 : clamp(by, -MOST_STEP, MOST_STEP)), 0, 1);
}

void demo_table_step(demo_table *t, const double action[DEMO_ACTION])
{
    t->gripper.x = moved(t->gripper.x, action[0]);
    t->gripper.y = moved(t->gripper.y, action[1]);
    if (t->held >= 0)
        t->block[t->held] = t->gripper;
    const bool close = action[2] > 0.5;
    const int nearest = nearest_block(t);
    if (!close)
        t->held = -1;
    else if (!t->closed && distance(t->block[nearest], t->gripper) < REACH) {
        t->held = nearest;
        t->block[nearest] = t->gripper;
    }
    t->closed = close;
}

static bool in_zone(const demo_table *t, demo_point p)
{
    switch (t->zone) {
    case DEMO_LEFT:
        return p.x < ZONE_WIDTH;
    case DEMO_RIGHT:
        return p.x > 1 - ZONE_WIDTH;
    case DEMO_TOP:
        return p.y < ZONE_WIDTH;
    default:
        return p.y > 1 - ZONE_WIDTH;
    }
}

bool demo_table_solved(const demo_table *t)
{
    bool others = false;
    for (int k = 0; k < DEMO_BLOCKS; k++)
        others |= k != t->target && in_zone(t, t->block[k]);
    return in_zone(t, t->block[t->target]) && t->held != t->target && !others;
}

/* ---- the scripted expert ---- */

static double least(double a, double b)
{
    return a < b ? a : b;
}

/* The named block; while that is held, the nearest point well within the zone. */
static demo_point waypoint(const demo_table *t)
{
    const double inside = ZONE_WIDTH / 2;
    demo_point goal = { clamp(t->gripper.x, inside, 1 - inside), clamp(t->gripper.y, inside, 1 - inside) };
    if (t->held != t->target)
        return t->block[t->target];
    switch (t->zone) {
    case DEMO_LEFT:
        goal.x = inside;
        break;
    case DEMO_RIGHT:
        goal.x = 1 - inside;
        break;
    case DEMO_TOP:
        goal.y = inside;
        break;
    default:
        goal.y = 1 - inside;
    }
    return goal;
}

void demo_table_expert(const demo_table *t, double action[DEMO_ACTION])
{
    const double let_go = 0.02, grasp = 0.015;
    const bool carrying = t->held == t->target;
    const bool done = in_zone(t, t->block[t->target]) && !carrying, must_open = t->closed && !carrying;
    const demo_point goal = waypoint(t);
    const double far = distance(goal, t->gripper), part = far > MOST_STEP ? MOST_STEP / far : 1;
    const bool stay = done || must_open;
    action[0] = stay ? 0 : (goal.x - t->gripper.x) * part;
    action[1] = stay ? 0 : (goal.y - t->gripper.y) * part;
    action[2] = !stay && (carrying ? far >= let_go : far < grasp);
}

/* ---- the camera ---- */

/* How much of pixel i a stretch of `half` either side of `middle` covers. */
static float cover(double middle, double half, int side, int i)
{
    const double high = least((middle + half) * side, i + 1), low = (middle - half) * side;
    return (float)clamp(high - (low > i ? low : i), 0, 1);
}

typedef struct rectangle {
    demo_point middle, half;
    float colour[3];
} rectangle;

enum { RECTANGLES = DEMO_BLOCKS + 2 };

/* Blocks in their order, then the two jaws. */
static void arrange(const demo_table *t, rectangle out[RECTANGLES])
{
    static const float colours[DEMO_COLOURS][3] = {
        { 220, 50, 40 }, { 50, 170, 70 }, { 50, 90, 210 }, { 235, 200, 40 }
    };
    const double half = 0.05, gap = 0.03 + 0.03 * opening(t);
    for (int k = 0; k < DEMO_BLOCKS; k++) {
        const float *rgb = colours[t->colour[k]];
        out[k] = (rectangle){ t->block[k], { half, half }, { rgb[0], rgb[1], rgb[2] } };
    }
    for (int jaw = 0; jaw < 2; jaw++)
        out[DEMO_BLOCKS + jaw] =
            (rectangle){ { t->gripper.x + (jaw == 0 ? -gap : gap), t->gripper.y }, { 0.0125, 0.045 }, { 30, 30, 30 } };
}

/* Blends a rectangle into row `row` of a picture by how much of each pixel it covers. */
static void draw(float *pixels, int side, int row, const rectangle *r)
{
    const float down = cover(r->middle.y, r->half.y, side, row);
    for (int col = 0; down > 0 && col < side; col++) {
        const float share = down * cover(r->middle.x, r->half.x, side, col);
        for (int c = 0; c < 3; c++)
            pixels[3 * col + c] += share * (r->colour[c] - pixels[3 * col + c]);
    }
}

void demo_table_render(const demo_table *t, int side, uint8_t *rgb)
{
    const float table = 236, zone = 216;
    const int first = (int)lround(side * ZONE_WIDTH), last = side - first; /* of what is in no zone */
    float pixels[3 * DEMO_MOST_SIDE];
    rectangle rectangles[RECTANGLES];
    assert(side > 0 && side <= DEMO_MOST_SIDE);
    arrange(t, rectangles);
    for (int row = 0; row < side; row++, rgb += 3 * side) {
        for (int i = 0; i < 3 * side; i++)
            pixels[i] = row >= first && row < last && i >= 3 * first && i < 3 * last ? table : zone;
        for (int k = 0; k < RECTANGLES; k++)
            draw(pixels, side, row, &rectangles[k]);
        for (int i = 0; i < 3 * side; i++)
            rgb[i] = (uint8_t)(pixels[i] + 0.5f);
    }
}
