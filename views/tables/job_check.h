// The warnings about a job file: a line each on stderr and their number, or rb-check/1.
#ifndef RB_VIEWS_JOB_CHECK_H
#define RB_VIEWS_JOB_CHECK_H

#include "base/text/buf.h"
#include "profiles/lint/job_lint.h"

void rb_job_check_write(const char *path, const char *name, const struct rb_job_warnings *warnings, struct rb_buf *out);
void rb_job_check_write_json(const char *path, const char *name, const struct rb_job_warnings *warnings,
                             struct rb_buf *out);

#endif
