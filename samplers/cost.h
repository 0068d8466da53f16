// How long a unit of training takes, by configuration: ln seconds ~ Bayesian linear regression on (1, u).
#ifndef RB_SAMPLERS_COST_H
#define RB_SAMPLERS_COST_H

#include "samplers/sampler.h"

#define RB_RULE_COST \
    {.key = "cost", .kind = RB_SETTING_CHOICE, .choices = rb_cost_names, .fallback = 1, \
     .summary = "prefer configurations that train fast, while most of the budget is left"}

extern const char *const rb_cost_names[]; // "aware", "blind"

struct rb_cost {
    const struct rb_coordinates *coordinates;
    int n_features;
    double *weights;            // [n_features], NULL: too few times are known
    double exponent;            // 1: expected improvement a dollar .. 0: costs do not count any more
};

// exponent = (budget - spent) / budget: cost cooling. Source: Lee et al., "Cost-aware Bayesian optimization", 2020
// (CArBO). Without a budget or times it is 0.
void rb_cost_fit(struct rb_cost *cost, const struct rb_coordinates *c, const struct rb_history *h,
                 const struct rb_ask *ask, struct rb_arena *arena);
// What to subtract from ln of an expected improvement: exponent * ln(seconds a unit, relative to the mean).
double rb_cost_penalty(const struct rb_cost *cost, const double *u);

#endif
