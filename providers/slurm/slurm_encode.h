// Writes requests to slurmrestd as JSON, per version of its API. Pure.
#ifndef RB_PROVIDERS_SLURM_ENCODE_H
#define RB_PROVIDERS_SLURM_ENCODE_H

#include "base/text/buf.h"
#include "profiles/job/job.h"
#include "providers/provider.h"

// The parts of an instance type of Slurm: "gpu:4" or "gpu:a100:4", its own spelling of GRES, or "cpu:8", slots without
// GPUs.
struct rb_slurm_shape {
    const char *gres; // NULL: none
    int units;        // GPUs, or slots
};
// Errors: INVALID, naming the spelling.
bool rb_slurm_shape(const char *instance_type, struct rb_slurm_shape *out, struct rb_err *err);

// Texts of a job's comment: "rubberband owner=... run=... launch=... token=...". Absent ones are left out; a blank or a
// control character in one becomes '_'.
void rb_slurm_comment(const struct rb_launch *launch, struct rb_buf *out);

// The body of a submission. The script is the launch's user data.
void rb_slurm_write_submission(const struct rb_launch *launch, const struct rb_slurm_shape *shape,
                               const struct rb_slurm_spec *spec, int api, struct rb_buf *out);

#endif
