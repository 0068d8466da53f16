// Checks packings against the definition of the problem, and computes the figures that tests and studies compare.
#ifndef RB_BENCH_PACKING_CHECK_H
#define RB_BENCH_PACKING_CHECK_H

#include "engine/packing/fluid_widths.h"
#include "engine/packing/pack.h"

// What studies allow the search: the limits for one group outside a run.
static const struct rb_pack_options rb_packing_study_options = {.most_branches = 50000, .most_placements = 100000};

// Checks that every trial is in the packing once, in a width that it can take, for as long as that takes, within its nodes, and
// that no GPU is held by two trials at once unless they share it.
bool rb_packing_check(const struct rb_pack_group *g, const struct rb_packing *p, struct rb_err *err);

// Fluid's lower bound: max(sum of the least areas / GPUs, longest of the least heights). It never exceeds the allotment bound.
int64_t rb_packing_simple_bound_us(const struct rb_pack_group *g);
bool rb_packing_is_optimal(const struct rb_pack_answer *a);

double rb_packing_proved_ratio(const struct rb_pack_answer *a);  // certified over bound; infinity: none
double rb_packing_reached_ratio(const struct rb_pack_answer *a); // makespan over bound

// Theorem 2's right-hand side with `optimum_us` for OPT: what the paper says StaticFluid stays below under its overhead model.
double rb_fluid_published_bound_us(const struct rb_pack_group *g, double optimum_us, double alpha, double beta);

#endif
