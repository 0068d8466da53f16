// Where a run stands, in one struct. The same numbers go to the terminal, to `rbrun status` and to pages.
#ifndef RB_EXECUTOR_PROGRESS_H
#define RB_EXECUTOR_PROGRESS_H

#include "engine/core/engine.h"

struct rb_progress {
    bool over;                // nothing is to come: complete, at its target, or stopped
    int stage, n_stages;      // stage -1: not begun
    int trials_ended, trials; // of the stage; not for tuners that hand trials out on demand
    bool on_demand;           // a trial's place in the job is its own: what counts is how many stand how
    int n_by_state[RB_TRIAL_COMPLETED + 1];
    int nodes_ready, nodes;   // owned
    bool is_free;             // nothing that it may rent has a price
    bool is_lent;             // its nodes are a pool's, and so is their bill
    const char *metric_name;
    int best_trial;           // -1: none yet
    double best_metric;
    int64_t spent_uusd, elapsed_us;
    int64_t deadline_us, budget_uusd; // of the run, as resumes have raised them; -1: none

    // How it will probably end, times since its start (simulator/model/prediction.h says what this rests on). -1, NaN: unknown, and
    // why_unknown is a phrase that says why.
    int64_t end_p50_us, end_p95_us;
    int64_t cost_mean_uusd, cost_p95_uusd; // of the whole run
    double p_on_time, p_in_budget;         // NaN, too, where no deadline or budget was asked for
    double pace;                           // time of a unit of training over the expected; NaN: too little was seen
    const char *foreseen_if;               // of the policy (engine/core/policy.h)
    bool is_planned;                       // the plan's own forecast: the run has not been predicted yet
    const char *why_unknown;               // NULL: known
};

// What the engine says of itself. Money, time and limits become -1, the end unknown: they are the caller's to fill in.
void rb_progress_of_engine(const struct rb_engine *e, const struct rb_plan *plan, struct rb_progress *out);
// Has it come to the end of its stage, or failed? One that was paused midway, as the end of a run does, has not.
bool rb_progress_has_ended(const struct rb_trial *t, int64_t resource_end);
void rb_progress_set_unknown(struct rb_progress *p, const char *why); // how it will end; `why` is borrowed

#endif
