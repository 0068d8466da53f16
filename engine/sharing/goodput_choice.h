// Chooses one option for every job so that the GPUs suffice and the values add up to the most: a multiple-choice knapsack,
// solved exactly by dynamic programming over GPUs.
#ifndef RB_ENGINE_SHARING_GOODPUT_CHOICE_H
#define RB_ENGINE_SHARING_GOODPUT_CHOICE_H

#include "base/arena.h"

struct rb_size_choice {
    int gpus;
    double value;
};

struct rb_size_choices {
    const struct rb_size_choice *options; // [n], n <= 255; one of them has gpus 0
    int n;
};

// out_chosen[j]: index into jobs[j].options. Ties: the earlier option. O(n_gpus x options); memory from the arena.
void rb_choose_sizes(struct rb_arena *arena, const struct rb_size_choices *jobs, int n_jobs, int n_gpus, int *out_chosen);

#endif
