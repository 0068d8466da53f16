// A workload of bench/workloads: a job, its profile, its prices, and a plan to run it by.
#ifndef RB_BENCH_WORKLOAD_H
#define RB_BENCH_WORKLOAD_H

#include "simulator/model/scenario.h"

struct workload {
    struct rb_arena arena;
    struct rb_job job;
    struct rb_profile profile;
    struct rb_catalog catalog;
    struct rb_scenario scenario;
    struct rb_plan_stage stages[RB_LIMIT_STAGES];
    struct rb_plan_nodes nodes[RB_LIMIT_STAGES];
    int n_stages;
    int64_t n_trials; // over all stages
};

// From job.yaml, profile.yaml, prices.csv and plan.yaml in `folder`.
bool workload_read(struct workload *w, const char *folder, uint64_t seed, struct rb_err *err);
void workload_finish(struct workload *w);

// For the baselines, as plain text on stdout: distributions, node, and for each stage its trials, mean seconds of one,
// GPUs and nodes.
bool workload_describe(const struct workload *w, struct rb_err *err);

#endif
