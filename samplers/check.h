// Checks what a job says of its sampler: options that it does not know, or that are out of range.
#ifndef RB_SAMPLERS_CHECK_H
#define RB_SAMPLERS_CHECK_H

#include "profiles/job/job.h"

// Jobs without a sampler of ours pass. Errors name file, line and key.
bool rb_sampler_check(const struct rb_job *job, struct rb_err *err);

#endif
