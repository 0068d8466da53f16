// Computes Fluid's widths for a group, as published and as released, and the baseline of one GPU for each trial.
// Sources: Fluid (MLSys'21), Algorithms 1 and 2, section 4.2.2; the released fluid_executor.py.
#ifndef RB_ENGINE_PACKING_FLUID_WIDTHS_H
#define RB_ENGINE_PACKING_FLUID_WIDTHS_H

#include "engine/packing/group.h"

struct rb_fluid_caps {
    int most_sharers; // c: trials on one GPU
    int most_gpus;    // d: GPUs of one trial
};

// c: the largest p for which the marginal benefits O_p = 1 - (p-1)/p slowdown(p)/slowdown(p-1) of p and of all smaller
// numbers are above `threshold`. slowdowns [n]: of one trial when 1..n share the GPU; the first is 1. n >= 1. The paper
// gives no threshold; RB_FLUID_THRESHOLD requires a tenth more work done from each further trial.
#define RB_FLUID_THRESHOLD 0.1
double rb_fluid_marginal_benefit(const double *slowdowns, int p); // p >= 2
int rb_fluid_most_sharers(const double *slowdowns, int n, double threshold);
// d: the largest of the sizes up to which every step yields at least `threshold` of a GPU's work per GPU it adds.
// sizes ascending, speedups over one GPU, [n].
int rb_fluid_most_gpus(const int *sizes, const double *speedups, int n, double threshold);

// The group must offer one GPU alone, and each of its trials must be able to take it.
int rb_pack_single_gpu(const struct rb_pack_group *g); // index of that width, -1: not offered

// StaticFluid on n_gpus idle ones: w = min(max(floor(h_1 / sum h_1 * n_gpus), 1/c), d), or the next narrower width that
// the group offers and the trial can take. The list is ordered by width, the widest first, ties by time on one GPU,
// then by index.
void rb_fluid_static(const struct rb_pack_group *g, struct rb_fluid_caps caps, int n_gpus, int *out_widths,
                     int *out_order);
// DynamicFluid on all GPUs of a group that trains: heights are of the remaining work. held [n_trials]: present widths,
// -1: waits, treated as in StaticFluid. resize_us [n_trials]: the cost of a change. A trial whose change does not pay
// keeps its width.
void rb_fluid_dynamic(const struct rb_pack_group *g, struct rb_fluid_caps caps, const int *held, const int64_t *resize_us,
                      int *out_widths, int *out_order);
// As released: floor(h_1 * trials / sum h_1) clamped to 2..4, then in proportion to all GPUs; unit_us [n_trials]: time
// of one unit of resource on one GPU, which the released code uses as the remaining time. Shares of GPUs become the
// next narrower width. Only bench/packing_study.c, which compares methods, and tests call it.
void rb_fluid_released(const struct rb_pack_group *g, const int64_t *unit_us, int *out_widths, int *out_order);
// One GPU each, in the order of arrival.
void rb_pack_first_in_first_out(const struct rb_pack_group *g, int *out_widths, int *out_order);

#endif
