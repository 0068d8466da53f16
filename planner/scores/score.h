// Scores of whole plans from stage-time objects, without sampling: stages are independent, so times add up by their
// transforms and mean costs by themselves. The one place that says what a stage costs on average.
#ifndef RB_PLANNER_SCORE_H
#define RB_PLANNER_SCORE_H

#include "planner/search/search.h"
#include "simulator/stage/stage_time.h"

// Mean micro-dollars of a stage's part of the bill: rate (machine and disk) times mean node-seconds from running to the end
// of the stage, and for every new node its data and the half second that rounding up costs on average.
double rb_stage_cost_mean_uusd(const struct rb_scenario *s, const struct rb_choice *choice, int kept,
                               const struct rb_stage_time *time);
// One node, machine and disk: micro-dollars a second.
double rb_node_rate_uusd(const struct rb_billing *billing);

// The same where many stages are told on nodes of one kind.
struct rb_node_bill {
    double rate_uusd, data_uusd; // a second; a new node
    double unbilled_s;           // of a new node, from the stage's start
};
struct rb_node_bill rb_node_bill_of(const struct rb_billing *billing, double queue_mean_s);
static inline double rb_node_bill_mean_uusd(const struct rb_node_bill *bill, int nodes, int kept, double mean_s)
{
    const double new_s = mean_s > bill->unbilled_s ? mean_s - bill->unbilled_s : 0;
    return bill->rate_uusd * (kept * mean_s + (nodes - kept) * new_s) + (nodes - kept) * bill->data_uusd;
}

// Does the stage request nodes that on average only run once it has ended? Such plans are not in the space: what its own
// stage does not use is an early request for a later one, and no sum over stages knows what that costs.
bool rb_stage_is_too_short(const struct rb_choice *choice, int kept, const struct rb_stage_time *time);
// How far off it may be: numerics, pilot samples, rounding where times are constants.
double rb_stage_cost_error_uusd(const struct rb_scenario *s, const struct rb_choice *choice, int kept,
                                const struct rb_stage_time *time);
// How far off the mean of its time may be: numerics, or pilot samples. Seconds.
double rb_stage_mean_error_s(const struct rb_stage_time *time);
// Do scores apply to this request? All offers that can be used have stage times as independent laws. Else *out_why, for
// people: then plans are scored by replicates (planner/scores/stage_samples.h).
bool rb_score_applies(const struct rb_search *search, const char **out_why);

// What the time of one stage of a candidate depends on.
struct rb_stage_work rb_score_stage_work(const struct rb_candidate *candidate, int stage);
// The law of one stage of a candidate (`finely`: struct rb_stage_work); *out_kept: nodes that it inherits. NULL on error.
const struct rb_stage_time *rb_score_stage_time(struct rb_search *search, const struct rb_candidate *candidate, int stage,
                                                double accuracy, bool finely, int *out_kept, struct rb_err *err);

// Standard deviation of the time of a fast plan: what times of this request are measured by. Seconds.
bool rb_score_deviation_s(struct rb_search *search, double *out_s, struct rb_err *err);

#define RB_SCORE_ACCURACY        1e-4 // of what is told
#define RB_SCORE_SEARCH_ACCURACY 2e-3 // while searching: where it decides, nothing finer is made
#define RB_SCORE_ROUNDING_S      1e-6 // a sum of constants is not further off

struct rb_score {
    double time_mean_us, cost_mean_uusd;
    double p_deadline;       // 1 without a deadline
    double p_error;          // bound on |p_deadline - truth|: numerics, pilot samples, nodes not ready at a barrier
    double unready;          // of p_error, nodes not ready at a barrier: they can only make a plan later
    double cost_error_uusd;  // bound on |cost_mean - truth|: pilot samples, and
    double above_sum_uusd;   // of it, late nodes and the billing minimum, which only make a plan dearer (planner/proof/billed.h)
    bool rough;              // a stage time is sampled, or has a law that errs by as much as samples might,
    bool finely;             // ... and p_deadline comes from more samples, to be told from the confidence asked
    double finest_uusd;      // cost_mean_uusd from those samples; the same where there are no more
};

// Of one candidate. `accuracy` of the stage times: 2e-3 while searching, 1e-4 for what is told. Then stage times that are
// sampled, or have rough laws, are sampled more often, too, for p_deadline alone and where that is in doubt.
bool rb_score_candidate(struct rb_search *search, const struct rb_candidate *candidate, double accuracy,
                        struct rb_score *out, struct rb_err *err);

// Smallest time that it keeps with probability `p`. Seconds.
bool rb_score_quantile_s(struct rb_search *search, const struct rb_candidate *candidate, double p, double accuracy,
                         double *out_s, struct rb_err *err);

// What a search compares, into candidate->estimate: means and probabilities, no quantiles. A budget that moments do not
// decide, and a probability that nodes not ready might spoil, are settled by draws (planner/scores/draws.h).
bool rb_score_estimate(struct rb_search *search, struct rb_candidate *candidate, struct rb_err *err);

#endif
