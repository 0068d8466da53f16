// The sums of products behind on_time.h, built twice to the same bits: with AVX2 where the processor has it, and without.
//   on_time_body.h         the loops; on_time_kernel_avx2.c, on_time_kernel_plain.c: what they are built with
// Internal to on_time.c and its test.
#ifndef RB_PLANNER_ON_TIME_KERNEL_H
#define RB_PLANNER_ON_TIME_KERNEL_H

#include "planner/scores/on_time.h"

#define RB_ON_TIME_LANES 8 // sums run side by side, in an order that no compiler may change; all lengths are multiples of it

struct rb_on_time_kernel {
    void (*multiply)(struct rb_product *out, const struct rb_product *a, const struct rb_transform *b);
    double (*below)(const struct rb_product *p, const struct rb_limit_weights *limit);
    double (*below_with)(const struct rb_product *a, const struct rb_transform *b, const struct rb_limit_weights *limit);
    double (*transforms_below)(const struct rb_transform *const *factors, int n_factors,
                               const struct rb_limit_weights *limit);
};
extern const struct rb_on_time_kernel rb_on_time_kernel_plain;
extern const struct rb_on_time_kernel rb_on_time_kernel_avx2; // only where it is built: RB_ON_TIME_HAS_AVX2

#endif
