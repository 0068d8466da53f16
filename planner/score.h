// Scores of whole plans from stage-time objects, without sampling: stages are independent, so times add up by their
// transforms and mean costs by themselves. The one place that says what a stage costs on average.
#ifndef RB_PLANNER_SCORE_H
#define RB_PLANNER_SCORE_H

#include "planner/search.h"
#include "simulator/stage_time.h"

// Mean micro-dollars of a stage's part of the bill: rate (machine and disk) times mean node-seconds from running to the end
// of the stage, and for every new node its data and the half second that rounding up costs on average.
double rb_stage_cost_mean_uusd(const struct rb_scenario *s, const struct rb_choice *choice, int kept,
                               const struct rb_stage_time *time);
// How far off it may be: numerics, pilot samples, the billing minimum, rounding where times are constants.
double rb_stage_cost_error_uusd(const struct rb_scenario *s, const struct rb_choice *choice, int kept,
                                const struct rb_stage_time *time);
// Do scores apply to this request? All offers that can be used have stage times as independent laws. Else *out_why, for
// people: then plans are scored by replicates (planner/stage_samples.h).
bool rb_score_applies(const struct rb_search *search, const char **out_why);

struct rb_score {
    double time_mean_us, cost_mean_uusd;
    double p_deadline;       // 1 without a deadline
    double p_error;          // bound on |p_deadline - truth|: numerics, pilot samples, nodes not ready at a barrier
    double unready;          // of p_error, nodes not ready at a barrier: they can only make a plan later
    double cost_error_uusd;  // bound on |cost_mean - truth|: pilot samples, the billing minimum
};

// Of one candidate. `accuracy` of the stage times: 1e-3 while searching, 1e-4 for what is told.
bool rb_score_candidate(struct rb_search *search, const struct rb_candidate *candidate, double accuracy,
                        struct rb_score *out, struct rb_err *err);

#endif
