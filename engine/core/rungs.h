// Computes rungs, and the stages of a synchronous job that follow from them. Source: design section 10, "Rungs".
#ifndef RB_ENGINE_RUNGS_H
#define RB_ENGINE_RUNGS_H

#include "base/limits.h"
#include "profiles/job/job.h"

struct rb_rung {
    int trials;             // n_i
    int64_t resource_start; // trained before
    int64_t resource_end;   // trained to, cumulative
};

struct rb_rung_table {
    struct rb_rung rungs[RB_LIMIT_STAGES];
    int n;
};

// n trials, r, R, eta. Rung i ends at r eta^i while <= R (repeated multiplication), the last of them at R instead;
// n_i = floor(n_{i-1}/eta), and when that is 0 it is 1 and this rung is the last, ending at R.
// `additional`: the same rungs, but rung i trains r eta^i on top of what was trained; the last still ends at R.
void rb_rungs_sha(int n_trials, int64_t r, int64_t R, int eta, enum rb_rungs convention, struct rb_rung_table *out);

// One stage: every trial is trained to the end.
void rb_rungs_one(int n_trials, int64_t R, struct rb_rung_table *out);

// The stages of a job, according to its tuner (rb_tuner.stages).
bool rb_rungs_of_job(const struct rb_job *job, struct rb_rung_table *out, struct rb_err *err);

// Do its stages overlap, according to its tuner (rb_tuner.overlaps)?
bool rb_job_is_asynchronous(const struct rb_job *job);

#endif
