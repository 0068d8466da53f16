// Random tuning jobs for measuring planners: 2 to 4 stages, up to 64 GPUs of the first instance type and as many nodes of any
// other, every kind of scaling.
// Source of the ranges: the planning study, section 5.
#ifndef RB_BENCH_RANDOM_JOB_H
#define RB_BENCH_RANDOM_JOB_H

#include "planner/search/planner.h"

struct random_job {
    struct rb_arena arena;
    struct rb_doc job_doc, profile_doc;
    struct rb_csv prices_csv;
    struct rb_job job;
    struct rb_profile profile;
    struct rb_catalog catalog;
    struct rb_plan_request req; // no constraint, confidence 0.95, 4096 samples, 1 thread
    double tightness;           // 0: the tightest deadline there is .. 0.95: nearly the loosest that matters
};

// `n_types` instance types (1: as in the study), each on demand and on `n_markets` - 1 cheaper markets. The same numbers
// give the same job. Owns: random_job_finish.
void random_job_init(struct random_job *j, uint64_t seed, uint32_t number, int n_types, int n_markets);
void random_job_finish(struct random_job *j);

#endif
