/* The demo's table: three coloured blocks, a gripper, and a sentence such as "put the green block on the right side".
 *
 * The table is the unit square, x to the right, y downwards. Blocks don't collide and an open hand passes over them.
 * docs/demo.md defines all of it to the last rounding; tools/demo/demo_env.py, which the policy was trained on, is the
 * same in Python. */
#ifndef VACT_DEMO_TABLE_H
#define VACT_DEMO_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    DEMO_BLOCKS = 3,
    DEMO_COLOURS = 4,
    DEMO_SENTENCES = 8,   /* that the policy was trained on */
    DEMO_HELD_OUT = 2,    /* that it never saw */
    DEMO_SIDE = 64,       /* of the camera's picture, in pixels */
    DEMO_MOST_SIDE = 512, /* of a picture for people */
    DEMO_STATE = 3,       /* gripper x and y, opening: 1 open, 0.5 closed on a block, 0 closed on nothing */
    DEMO_ACTION = 3,      /* dx and dy, each within 0.05; close if above 0.5 */
    DEMO_MAX_STEPS = 80,
    DEMO_TEXT = 64 /* room for any sentence, in bytes, with its end */
};

enum { DEMO_LEFT, DEMO_RIGHT, DEMO_TOP, DEMO_BOTTOM, DEMO_ZONES };

extern const char *const demo_colours[DEMO_COLOURS + 1]; /* "red", "green", ...; NULL ends */
extern const char *const demo_zones[DEMO_ZONES + 1];     /* "left", "right", "top", "bottom" */

typedef struct demo_point {
    double x, y;
} demo_point;

typedef struct demo_table {
    demo_point block[DEMO_BLOCKS]; /* centres */
    int colour[DEMO_BLOCKS];       /* index of demo_colours, each another one */
    demo_point gripper;
    bool closed;
    int held;   /* block in the hand; -1: none */
    int target; /* the named block */
    int zone;   /* where it has to go: DEMO_LEFT.., index of demo_zones */
    int sentence;
} demo_table;

/* Draw i of a seed's stream, in [0, 1): splitmix64, the upper 24 bits. */
double demo_uniform(uint64_t seed, uint64_t i);

void demo_table_reset(demo_table *table, uint64_t seed);

void demo_table_state(const demo_table *table, float state[DEMO_STATE]);

/* A NaN moves nothing. */
void demo_table_step(demo_table *table, const double action[DEMO_ACTION]);

/* The named block lies in the zone, let go of, and no other block does. */
bool demo_table_solved(const demo_table *table);

/* What the camera sees, at any side up to DEMO_MOST_SIDE: [side, side, 3], row-major RGB. The policy's have DEMO_SIDE. */
void demo_table_render(const demo_table *table, int side, uint8_t *rgb);

/* Sentence 0..DEMO_SENTENCES-1; held out: one of the DEMO_HELD_OUT that the policy was never trained on instead. */
void demo_sentence(int sentence, bool held_out, const char *colour, const char *zone, char out[DEMO_TEXT]);

/* The table's sentence about its target and zone. */
void demo_table_sentence(const demo_table *table, bool held_out, char out[DEMO_TEXT]);

/* The block of a colour, or -1. */
int demo_table_find(const demo_table *table, int colour);

/* What the scripted expert, who taught the policy, does next: a function of the present state. */
void demo_table_expert(const demo_table *table, double action[DEMO_ACTION]);

#endif
