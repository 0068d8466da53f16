// The plan of least mean cost among all whose mean time keeps the deadline, and the proof: planner/proof/exact.h for a deadline
// on average instead of one kept with a probability. Both means add up over independent stages, so a beginning of a plan is
// two numbers. Prices of time give bounds and good plans (planner/proof/togo.h); of two beginnings that own the same nodes, the
// one that is neither cheaper nor sooner leads nowhere that the other does not.
#ifndef RB_PLANNER_MEAN_DEADLINE_H
#define RB_PLANNER_MEAN_DEADLINE_H

#include "planner/search/search.h"

// Rules that exclude beginnings of plans; without any of them every plan is looked at.
struct rb_mean_options {
    double accuracy; // of stage times
    bool samples;    // a few replicates raise a bound before it is made exact
    bool prices;     // what time costs where the deadline binds, as a Lagrangian bound
    bool fastest;    // the fastest remaining stages as a feasibility cut
    bool labels;     // label dominance
};
struct rb_mean_options rb_mean_defaults(void);

// For requests with a deadline, no budget and min_cost, whose stages have independent laws; the confidence asked has no say.
// The result is told as rb_exact_plan's. Infeasible: nearest_deadline_us is the least mean time of any plan, and
// nearest_confidence NAN.
bool rb_mean_deadline_plan(struct rb_search *search, const struct rb_mean_options *opt, struct rb_plan_result *out,
                           struct rb_err *err);

#endif
