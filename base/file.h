// Whole files in and out. Reading is bounded, writing is atomic.
#ifndef RB_BASE_FILE_H
#define RB_BASE_FILE_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

// Whole file into memory; more than max_bytes is an error that names the limit. NUL added after *out_len bytes.
// The caller frees *out_bytes. "-" reads stdin.
bool rb_read_file(const char *path, size_t max_bytes, char **out_bytes, size_t *out_len, struct rb_err *err);
// Writes to path.tmp, fsyncs, renames; several writers of one path take turns. "-" writes to stdout.
bool rb_write_file(const char *path, const char *bytes, size_t n, struct rb_err *err);
// To stdout, flushed; frees. Errors: a full disk, a closed pipe.
bool rb_print(struct rb_buf *out, struct rb_err *err);
// Is a file of that kind, by its name? ending: ".json".
bool rb_has_ending(const char *path, const char *ending);
// By flock, which the kernel takes back from whoever dies; held until fd is closed. False: somebody else holds it (errno is
// EWOULDBLOCK), or it cannot be locked. Whoever only asks keeps nobody out.
bool rb_file_lock(int fd);
bool rb_file_is_locked(int fd); // by somebody; fd is open for this question alone
// First thing in a main: a standard stream that came closed (`rbrun plan.json >&-`) becomes one that refuses every read or
// write, so that no socket or journal opened later takes its number and our output with it.
void rb_keep_standard_streams(void);

#endif
