// A small job with a plan that tests bend: successive halving of 4 trials (4 -> 1, 2 -> 2, 1 -> 4), one GPU each, on
// "small" nodes of 2 GPUs; stage 0 has two of them, then one, then one.
#ifndef RB_TESTS_ENGINE_SMALL_PLAN_H
#define RB_TESTS_ENGINE_SMALL_PLAN_H

#include "engine/plan/plan.h"

enum { SMALL, SMALL_SPOT, LARGE, N_SMALL_OFFERS }; // 2, 2 and 4 GPUs

struct small_plan {
    struct rb_job job;
    int sizes[3], share;
    struct rb_layout layouts[6];
    struct rb_training training;
    struct rb_profile profile;
    struct rb_offer offers[N_SMALL_OFFERS];
    struct rb_plan_nodes nodes[3][2];
    struct rb_plan_early early[2];
    struct rb_plan_stage stages[3];
    struct rb_plan plan;
};

void small_plan_make(struct small_plan *out);

#endif
