// Reads and writes the key resources.kubernetes of a job.
#ifndef RB_PROFILES_JOB_KUBERNETES_H
#define RB_PROFILES_JOB_KUBERNETES_H

#include "profiles/job/job.h"

// node NULL: absent; *out is then all zero. Names that become parts of requests are checked.
bool rb_job_kubernetes_read(const struct rb_node *node, struct rb_arena *arena, struct rb_kubernetes_spec *out,
                            struct rb_err *err);
// Writes the key with its value, nothing where the job has none: digests of jobs without it stay as they are.
void rb_job_kubernetes_write(const struct rb_kubernetes_spec *s, struct rb_json *j);

#endif
