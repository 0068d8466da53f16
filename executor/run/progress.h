// Where a run stands, in one struct. The terminal, `rbrun status` and the pages show the same numbers.
#ifndef RB_EXECUTOR_PROGRESS_H
#define RB_EXECUTOR_PROGRESS_H

#include "engine/core/engine.h"

struct rb_progress {
    bool over;                // nothing more will happen: complete, at its target, or stopped
    int stage, n_stages;      // stage -1: not begun
    int trials_ended, trials; // of the stage; not for tuners that start trials on demand
    bool on_demand;           // a trial has no stage in common with others: n_by_state is what counts
    int n_by_state[RB_TRIAL_COMPLETED + 1];
    int nodes_ready, nodes;   // owned
    bool is_free;             // it rents nothing that has a price
    bool is_lent;             // its nodes, and their bill, belong to a pool
    const char *metric_name;
    int best_trial;           // -1: none yet
    double best_metric;
    int64_t spent_uusd, elapsed_us;
    int64_t deadline_us, budget_uusd; // of the run, as resumes have raised them; -1: none

    // How it will probably end, times since its start (simulator/model/prediction.h states the assumptions). -1, NaN:
    // unknown, and why_unknown is a phrase with the reason.
    int64_t end_p50_us, end_p95_us;
    int64_t cost_mean_uusd, cost_p95_uusd; // of the whole run
    double p_on_time, p_in_budget;         // NaN, too, where there is no deadline or budget
    double pace, pace_low, pace_high;      // time of a unit of training over the expected, and bounds at 95 %; NaN: none
                                           // was measured
    const char *foreseen_if;               // of the policy (engine/core/policy.h)
    bool is_planned;                       // the plan's own forecast, until the run has been predicted
    const char *why_unknown;               // NULL: known
};

bool rb_progress_has_price(const struct rb_plan *plan); // does anything that it may rent cost money?
// Fills in what the engine knows. Money, time and limits become -1 and the end unknown: the caller fills them in.
void rb_progress_of_engine(const struct rb_engine *e, const struct rb_plan *plan, struct rb_progress *out);
// Has the trial reached the end of its stage, or failed? A trial that was paused midway, as at the end of a run, has
// not.
bool rb_progress_has_ended(const struct rb_trial *t, int64_t resource_end);
void rb_progress_set_unknown(struct rb_progress *p, const char *why); // sets its end as unknown; `why` is borrowed

#endif
