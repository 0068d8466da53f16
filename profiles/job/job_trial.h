// Reads and writes `trial:` of job.yaml: how many GPUs a trial may use, on how many nodes, with which batch.
#ifndef RB_PROFILES_JOB_TRIAL_H
#define RB_PROFILES_JOB_TRIAL_H

#include "profiles/job/job.h"

// node NULL: all defaults: one GPU of its own. space: of the job, whose parameters trial.args names.
bool rb_trial_spec_read(const struct rb_node *node, const struct rb_space *space, struct rb_arena *arena,
                        struct rb_trial_spec *out, struct rb_err *err);
// What a trial gets one or several of, for people: GPUs, or, in a job with trial.cpus, `each` CPUs a slot.
struct rb_trial_unit {
    const char *one, *many; // "GPU", "GPUs"
    int each;               // 1 for GPUs
};
struct rb_trial_unit rb_trial_unit(const struct rb_trial_spec *t);
// "1 GPU", "4 CPUs" of that many GPUs or slots.
const char *rb_trial_unit_text(const struct rb_trial_spec *t, int n, char out[static 32]);

void rb_trial_spec_write(const struct rb_trial_spec *t, struct rb_json *j);

#endif
