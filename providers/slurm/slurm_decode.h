// Reads jobs from the JSON answers of slurmrestd, in any version of its API. Pure. Answers are untrusted: node
// names are checked, because callers use them on command lines.
#ifndef RB_PROVIDERS_SLURM_DECODE_H
#define RB_PROVIDERS_SLURM_DECODE_H

#include "base/arena.h"
#include "base/document/doc.h"
#include "providers/provider.h"

struct rb_slurm_jobs {
    struct rb_instance *instances; // [n] jobs with our comment that belong to the user, ended ones included; in the arena
    int n;
};
// Other people's jobs and other jobs of ours are left out. Errors: IO, naming the field.
bool rb_slurm_decode_jobs(const struct rb_node *answer, const char *user, struct rb_arena *arena,
                          struct rb_slurm_jobs *out, struct rb_err *err);
// The id of the job that was made, 0: none was. Errors: IO.
bool rb_slurm_decode_submission(const struct rb_node *answer, int64_t *out_id, struct rb_err *err);

#endif
