// How the process that last executed a run ended: the file `ended` in the run's directory, its exit code on the first
// line, then its error as printed. So a command that followed the run from outside ends in the same way. A process that was
// killed leaves none.
#ifndef RB_EXECUTOR_ENDING_H
#define RB_EXECUTOR_ENDING_H

#include "base/errors/err.h"
#include "base/text/buf.h"

void rb_run_ending_clear(const char *run_dir); // a process begins
// Before it releases the journal. err NULL: no error. A file that cannot be written is only warned about.
void rb_run_ending_keep(const char *run_dir, int code, const struct rb_err *err);
// False: unknown. out_error: "" if there was none.
bool rb_run_ending_read(const char *run_dir, int *out_code, struct rb_buf *out_error);

#endif
