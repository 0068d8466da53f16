// Reads and writes `notify:` of job.yaml: who gets notices about a run.
#ifndef RB_PROFILES_JOB_NOTIFY_H
#define RB_PROFILES_JOB_NOTIFY_H

#include "profiles/job/job.h"

// The words of `on`, by enum rb_notice_kind, and of the three kinds of hooks; both end with NULL.
extern const char *const rb_notice_names[], *const rb_hook_names[];

// node NULL: no hooks.
bool rb_hooks_read(const struct rb_node *node, struct rb_arena *arena, struct rb_hook_list *out, struct rb_err *err);
void rb_hooks_write(const struct rb_hook_list *hooks, struct rb_json *j);

// The variable that holds a webhook's URL; NULL: the URL is in the job.
const char *rb_hook_url_variable(const struct rb_hook_spec *h);
// Names of the variables that programs of the job do not see of our environment: its secrets, which only trials get, and
// what its hooks need. In the arena.
struct rb_string_list rb_job_hidden_variables(const struct rb_job *job, struct rb_arena *arena);

#endif
