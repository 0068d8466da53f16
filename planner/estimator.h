// The estimate of a plan as it is told: quantiles, probabilities, what they rest on and how far off they can be. Time from
// the laws of the stages, without sampling, where they exist; cost and what depends on both from the fast sampler; and
// everything from replicates where stages are not independent.
#ifndef RB_PLANNER_ESTIMATOR_H
#define RB_PLANNER_ESTIMATOR_H

#include "planner/score.h"

// Into candidate->estimate (all fields, methods and errors) and, if out_stages is not NULL, stages[i].time_us, cost_uusd.
bool rb_estimate_candidate(struct rb_search *search, struct rb_candidate *candidate, struct rb_plan_stage *out_stages,
                           struct rb_err *err);

// --verify: the plan again, trial by trial, with replicates that no estimate has seen.
struct rb_verification {
    int64_t samples;
    struct {
        double mean, p5, p50, p95, p99; // z-scores: (estimate - simulated) / standard error of the difference
    } time_z, cost_z;
    double p_deadline_z, p_budget_z, p_both_z;
    struct rb_estimate simulated;
};
bool rb_verify(const struct rb_scenario *s, const struct rb_plan_stage *stages, int n_stages,
               const struct rb_estimate *estimate, int64_t deadline_us, int64_t budget_uusd, int samples, int threads,
               struct rb_verification *out, struct rb_err *err);

#endif
