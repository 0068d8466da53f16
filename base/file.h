// Reads and writes whole files. Reading is bounded, writing is atomic.
#ifndef RB_BASE_FILE_H
#define RB_BASE_FILE_H

#include "base/text/buf.h"
#include "base/errors/err.h"

#include <stdbool.h>
#include <stddef.h>

// Whole file into memory; more than max_bytes is an error that names the limit. NUL added after *out_len bytes.
// The caller frees *out_bytes. "-" reads stdin.
bool rb_read_file(const char *path, size_t max_bytes, char **out_bytes, size_t *out_len, struct rb_err *err);
// Writes to path.tmp, fsyncs, renames; several writers of one path take turns. "-" writes to stdout.
bool rb_write_file(const char *path, const char *bytes, size_t n, struct rb_err *err);
// To stdout, flushed; frees. Errors: a full disk, a closed pipe.
bool rb_print(struct rb_buf *out, struct rb_err *err);
// Does the file's name end with `ending` (".json")?
bool rb_has_ending(const char *path, const char *ending);
// Locks the file by flock, which the kernel releases when the process dies; held until fd is closed. False: another process
// holds the lock (errno is EWOULDBLOCK), or the file cannot be locked.
bool rb_file_lock(int fd);
// Does a process hold the lock? fd is opened only for this question. Asking does not keep others from locking.
bool rb_file_is_locked(int fd);
// Call this first in a main. It replaces a closed standard stream (`rbrun plan.json >&-`) by one that refuses every
// read and write. Otherwise a socket or journal that is opened later would get its number, and our output with it.
void rb_keep_standard_streams(void);

#endif
