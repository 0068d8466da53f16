// Reads and writes `trial:` of job.yaml: how many GPUs a trial may use, on how many nodes, with which batch.
#ifndef RB_PROFILES_JOB_TRIAL_H
#define RB_PROFILES_JOB_TRIAL_H

#include "profiles/job/job.h"

// node NULL: all defaults: one GPU of its own. space: of the job, whose parameters trial.args names.
bool rb_trial_spec_read(const struct rb_node *node, const struct rb_space *space, struct rb_arena *arena,
                        struct rb_trial_spec *out, struct rb_err *err);
void rb_trial_spec_write(const struct rb_trial_spec *t, struct rb_json *j);

#endif
