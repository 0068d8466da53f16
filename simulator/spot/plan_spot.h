// A plan under resources.spot: safe: its spot markets, the guard's times, and the policy for its stages. These are taken as
// equal nodes, one for each trial at work, that work for the stage's median time without its cold start. Pure.
#ifndef RB_SIMULATOR_PLAN_SPOT_H
#define RB_SIMULATOR_PLAN_SPOT_H

#include "base/limits.h"
#include "engine/plan/plan.h"
#include "simulator/spot/spot_policy.h"

#define RB_PLAN_SPOT_QUANTILE 0.999 // of every part of a cold start

struct rb_plan_spot {
    double start_s[3]; // by mode: quantile of a cold start with the trial's start-up, of the slowest offer
    double rate[3];    // micro-dollars a second of one node, of the most expensive offer
    // NULL: the profile does not have the spells of every spot market, or the job is asynchronous.
    struct rb_spot_policy *policy;
    // With a policy:
    struct rb_spot_stage stages[RB_LIMIT_STAGES];
    int n_stages;
    struct rb_plan_paid {                     // of a stage in a reservation: while that is open, no spot machine is asked for
        bool is_paid;
        double opens_s, notice_s;             // of the run; INFINITY: it never closes
        double rate;                          // micro-dollars a second of one node, mostly 0
    } paid[RB_LIMIT_STAGES];
    double deadline_s, start_mean_s, slack_s; // the latter at the start of the run, the cold start included
    double spread[RB_LIMIT_STAGES];           // of a stage's time, in normal logarithms
    double correlation;                       // of any two of them
    double sure_sd; // the guard reckons with a rest that is this number of standard deviations longer, in normal logarithms
};

// The first spot offer among the plan's fallbacks; -1: there is none, and nothing below can be asked.
int rb_plan_spot_offer(const struct rb_plan *plan);
// The plan has a deadline. Trials save inside a stage where the job says how often (checkpoint.every); under `auto` it is
// not known whether the script does.
void rb_plan_spot_init(struct rb_plan_spot *s, const struct rb_plan *plan);
void rb_plan_spot_finish(struct rb_plan_spot *s);

#endif
