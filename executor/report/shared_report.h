// Reports that a team shares in a folder: FOLDER/RUN/report.json, an rb-run-page/1, and report.html, the same as a
// page. Never a journal. What lies in such a folder was written by others: names, kinds of files and sizes are
// checked.
#ifndef RB_EXECUTOR_SHARED_REPORT_H
#define RB_EXECUTOR_SHARED_REPORT_H

#include "base/document/doc.h"
#include "base/text/buf.h"

#include <sys/stat.h>

// May this be the name of a run's directory there? Letters, digits, "-", "_" and ".", at most 127, none of them "."
// first.
bool rb_shared_report_is_name(const char *run);

// Replaces both files, each at once; report.json last, so that a reader who sees it sees the page, too. The folder is
// made if it is missing. Others may read the files, whatever the umask.
bool rb_shared_report_write(const char *folder, const char *run, const struct rb_buf *document,
                            const struct rb_buf *page, struct rb_err *err);

// Reads report.json into *out_bytes, which the caller frees. NOT_FOUND: there is none. INVALID: its name, its kind or
// its size.
bool rb_shared_report_read(const char *folder, const char *run, char **out_bytes, size_t *out_n, struct rb_err *err);
// What a list compares to see whether the file has changed; false: there is none.
bool rb_shared_report_stat(const char *folder, const char *run, struct stat *out);

// Calls fn for everything in the folder whose name does not begin with ".", except files: pages and notes may lie
// beside the reports.
bool rb_shared_report_each(const char *folder, void (*fn)(void *ctx, const char *name), void *ctx, struct rb_err *err);

#endif
