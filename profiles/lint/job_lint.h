// Warns about parts of a valid job that probably do not do what its author means. Scripts that `run` names are read
// from the job's workdir, never run. Only certain findings are reported.
#ifndef RB_PROFILES_JOB_LINT_H
#define RB_PROFILES_JOB_LINT_H

#include "profiles/job/job.h"

struct rb_job_warnings {
    const struct rb_err *items; // by place; number, place, key and message, [n]
    int n;
};

// root, text: the job file as it was read, for places; NULL if there is none (stdin). path: of the job file, to which
// the workdir is relative. Owns: the arena's.
void rb_job_lint(const struct rb_job *job, const struct rb_node *root, const char *text, const char *path,
                 struct rb_arena *arena, struct rb_job_warnings *out);

#endif
