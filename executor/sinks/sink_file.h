// A file that only grows, and whose bytes are a function of the run. What is there already is compared, not written again; the
// rest is appended. So after a kill at any byte the file is completed exactly, and another run's file is never touched.
#ifndef RB_EXECUTOR_SINK_FILE_H
#define RB_EXECUTOR_SINK_FILE_H

#include "base/errors/err.h"

#include <stddef.h>
#include <stdint.h>

struct rb_sink_file;

// Opens it, or makes it; directories on the way are made, too.
bool rb_sink_file_open(const char *path, struct rb_sink_file **out, struct rb_err *err);
// The next bytes of the file. Buffered; SINK_OTHERS_FILE: other bytes are there.
bool rb_sink_file_put(struct rb_sink_file *f, const void *bytes, size_t n, struct rb_err *err);
bool rb_sink_file_flush(struct rb_sink_file *f, struct rb_err *err); // all of it is in the file
void rb_sink_file_close(struct rb_sink_file *f);                     // what was not flushed is dropped; NULL is fine

// Makes the directories of a path; the path itself, too, if it is one. 0700 under a umask of 077.
bool rb_sink_make_dirs(const char *path, bool is_dir, struct rb_err *err);
// Replaces a file by a rename, so that readers see the old one or the new one whole. mode: 0644 for readers of other users.
bool rb_sink_replace(const char *path, const char *bytes, size_t n, int mode, struct rb_err *err);

#endif
