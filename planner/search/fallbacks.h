// The machines that may replace sold-out ones of a plan: the plan's fallbacks. Which of them replaces which, and when:
// engine/plan/stand_in.h.
#ifndef RB_PLANNER_FALLBACKS_H
#define RB_PLANNER_FALLBACKS_H

#include "planner/search/search.h"

// The first machine to replace `used` of those that are not taken [n]: of the same accelerator and GPUs, the same type
// first, then by price; ties keep the order. -1: none.
int rb_best_fallback(const struct rb_offer *used, const struct rb_offer *offers, int n, const bool *taken);
// For each offer of the stages, in their order, all that the job can use. Writes offers of the scenario into out
// [n_offers] and returns their number.
int rb_fallbacks_of(const struct rb_search *search, const struct rb_plan_stage *stages, int n_stages, int *out);

#endif
