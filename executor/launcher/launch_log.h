// Logs which launches of a run may have been sent: the file `launches` in its directory, one line per launch, written
// to disk before the first byte of the request is sent. The journal has all of them too; the file is needed when the
// journal is not whole: a journal without its -wal, or an older copy, can be read but lacks rows, and only this file
// shows it. It also shows where to look when the journal cannot be read at all.
#ifndef RB_EXECUTOR_LAUNCH_LOG_H
#define RB_EXECUTOR_LAUNCH_LOG_H

#include "base/errors/err.h"

#include <stdbool.h>

enum { RB_LAUNCH_ID_MAX = 39 }; // hexadecimal digits

// Appends a line. durable: also waits for the disk.
bool rb_launch_log_add(const char *run_dir, const char *launch_id, const char *infra, bool durable, struct rb_err *err);

typedef bool rb_launch_log_fn(void *ctx, const char *launch_id, const char *infra, struct rb_err *err);
// Calls fn for every line, until it returns false. No file, as in runs of older versions: no lines. An incomplete last
// line does not count: nothing was sent. DAMAGED: a line is not in our format.
bool rb_launch_log_each(const char *run_dir, rb_launch_log_fn *fn, void *ctx, struct rb_err *err);

#endif
