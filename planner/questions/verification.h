// rbplan --verify: compares a plan's estimate with trial-by-trial runs of the plan that no estimate has used.
#ifndef RB_PLANNER_VERIFICATION_H
#define RB_PLANNER_VERIFICATION_H

#include "simulator/model/evaluate.h"

// z-scores: (estimate - simulated) / standard error of the difference, which includes both errors if both are sampled.
// A quantile is compared through the share of runs at or below it. INFINITY: two exact figures differ.
struct rb_verified {
    double mean, p5, p50, p95, p99;
};

struct rb_verification {
    int64_t samples;
    struct rb_verified time_z, cost_z;
    double p_deadline_z, p_budget_z, p_both_z;
    struct rb_estimate simulated; // from these runs alone
};

// Stages refer to the scenario's offers. -1: no such limit. samples >= 2.
bool rb_verify(const struct rb_scenario *s, const struct rb_plan_stage *stages, int n_stages,
               const struct rb_estimate *estimate, int64_t deadline_us, int64_t budget_uusd, int samples, int threads,
               struct rb_verification *out, struct rb_err *err);

// For a plan whose job is asynchronous: runs of the engine in the virtual world.
bool rb_verify_by_engine(const struct rb_scenario *s, const struct rb_plan *plan, int samples, int threads,
                         struct rb_verification *out, struct rb_err *err);

// A run under resources.spot: safe, by RB_PLAN_REPLAYS replays that have neither chosen the plan nor priced it.
struct rb_verified_spot {
    struct rb_estimate replayed;           // from these replays and the plan on demand
    double time_z, cost_z, p_both_z;       // of means and of a share
};

// plan: rb_make_plan's, read back or not. False: nothing is known of such runs (no deadline, no spot machine among the
// fallbacks, a market without spells, an asynchronous job), and nothing is verified.
bool rb_verify_spot(const struct rb_plan *plan, struct rb_verified_spot *out);

// (stated - seen) in standard errors, for a mean or a probability with known variances. tolerance: for rounding.
double rb_z_score(double stated, double seen, double variance, double tolerance);

#endif
