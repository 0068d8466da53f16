// Reads and writes `scheduler:` of job.yaml: the tuner and its units.
#ifndef RB_PROFILES_JOB_SCHEDULER_H
#define RB_PROFILES_JOB_SCHEDULER_H

#include "profiles/job/job.h"

// rule: asha's default rule.
bool rb_scheduler_read(const struct rb_node *node, enum rb_rule rule, struct rb_arena *arena,
                       struct rb_scheduler *out, struct rb_err *err);
void rb_scheduler_write(const struct rb_scheduler *s, struct rb_json *j);

// Hyperband's s_max = floor(log_eta(R/r)): the largest i with r eta^i <= R, by repeated multiplication.
int rb_scheduler_s_max(int64_t r, int64_t R, int eta);

#endif
