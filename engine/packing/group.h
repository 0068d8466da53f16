// Describes a group of trials to be packed, as strips (GPUs) and malleable rectangles (trials), and computes lower bounds on
// the length of any packing. A trial takes one of a list of widths, shares of a GPU or whole GPUs. A table has its remaining
// time at each width, as measured, including the cost of changing to it. The table may have any form.
// Source: Fluid (MLSys'21) sections 3 and 4; lower bound by allotments: Turek, Wolf, Yu (SPAA'92), Ludwig, Tiwari (SODA'94).
#ifndef RB_ENGINE_PACKING_GROUP_H
#define RB_ENGINE_PACKING_GROUP_H

#include "base/errors/err.h"
#include "engine/core/placement.h"

#include <stdbool.h>
#include <stdint.h>

#define RB_PACK_MOST_WIDTHS 64    // sets of widths are bits of a word
#define RB_PACK_NEVER INT64_MAX // a height: this trial cannot take this width

struct rb_pack_group {
    int n_trials;
    const struct rb_width *widths; // narrowest first, [n_widths]; trials are ranked by their time on the single GPU, if it is listed
    int n_widths;
    const int64_t *height_us;      // [n_trials * n_widths], > 0, or RB_PACK_NEVER
    int n_nodes, node_gpus;        // a width beyond node_gpus takes whole nodes
    // Both may be NULL: none.
    const int64_t *free_us;        // when others release each GPU, [n_nodes * node_gpus], by node; 0: now
    const int64_t *tail_us;        // the time that must follow a trial's end before all is done, as height_us, >= 0
};

// Widths ascending and known, heights positive, every trial can run somewhere, and no area overflows.
bool rb_pack_group_check(const struct rb_pack_group *g, struct rb_err *err);

int64_t rb_pack_height_us(const struct rb_pack_group *g, int trial, int width);
int64_t rb_pack_needs_us(const struct rb_pack_group *g, int trial, int width); // height and tail
int64_t rb_pack_tail_us(const struct rb_pack_group *g, int trial, int width);
int64_t rb_pack_last_free_us(const struct rb_pack_group *g); // when others have released all GPUs
int rb_pack_n_gpus(const struct rb_pack_group *g);
bool rb_pack_fits(const struct rb_pack_group *g, int width); // on these nodes at all

// GPUs are counted in parts, so that a share of one is a whole number.
#define RB_PACK_PARTS 2520 // least common multiple of 1..RB_LIMIT_TRIALS_PER_GPU
// Parts that one trial holds; whole nodes beyond one node.
int64_t rb_pack_parts(const struct rb_pack_group *g, int width);

// The end of a packing is that of its last trial, tails included. No packing ends sooner than this bound: the least, over all
// choices of a width for each trial, of max(total of their areas / GPUs, longest).
// out_widths [n_trials], may be NULL: a choice that attains it. allowed [n_widths], NULL: all widths.
int64_t rb_pack_allotment_bound_us(const struct rb_pack_group *g, const bool *allowed, int *out_widths);

// The width of least area (ties: narrowest) with which the trial and its tail end within limit_us; -1: none.
int rb_pack_least_area(const struct rb_pack_group *g, int trial, int64_t limit_us, const bool *allowed);

#endif
