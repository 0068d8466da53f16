// The machines that may replace sold-out ones of a plan: the plan's fallbacks. Which of them replaces which, and when:
// engine/plan/stand_in.h.
#ifndef RB_PLANNER_FALLBACKS_H
#define RB_PLANNER_FALLBACKS_H

#include "planner/search/search.h"

// For each offer of the stages, in their order: those with the same accelerator and GPUs that the job can use, the same
// type first, then by price; ties keep the canonical order. Writes offers of the scenario into out [n_offers] and
// returns their number.
int rb_fallbacks_of(const struct rb_search *search, const struct rb_plan_stage *stages, int n_stages, int *out);

// Is `other` a machine like `used`? Which of two comes first for it? < 0: a.
bool rb_fallback_fits(const struct rb_offer *used, const struct rb_offer *other);
int rb_fallback_compare(const struct rb_offer *used, const struct rb_offer *a, const struct rb_offer *b);

#endif
