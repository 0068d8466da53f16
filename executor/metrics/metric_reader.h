// Finds the reports of one start of a trial in what it prints and in the files it writes, in any of the formats of
// profiles/job/job_metric.h. The bytes come from a node and are untrusted: a line that is not a report is ordinary output, never an
// error. Memory is bounded whatever the script prints.
#ifndef RB_EXECUTOR_METRIC_READER_H
#define RB_EXECUTOR_METRIC_READER_H

#include "executor/metrics/metric_line.h"
#include "profiles/job/job_metric.h"

struct rb_metric_reader; // opaque

struct rb_metric_reader_config {
    const struct rb_report_form *form; // must outlive the reader
    const char *unit, *metric_name;    // likewise
    int64_t start;                     // the resource from which this start trains: fastai counts every fit from 0
};

// Called for every line that reports the metric, gradient statistics or RB_PACED, in order. Repeated resources are reported
// again: the caller ignores a resource that has not risen.
typedef void rb_metric_fn(void *ctx, const struct rb_metric_line *line);

// Owned by the caller; free it with rb_metric_reader_free, which takes NULL.
struct rb_metric_reader *rb_metric_reader_new(const struct rb_metric_reader_config *config);
void rb_metric_reader_free(struct rb_metric_reader *r);

// One frame of the output: the bytes before a line feed or a carriage return, without it. ANSI sequences are removed, and a
// backspace removes the byte before it. True: it was a report or statistics, not ordinary output.
bool rb_metric_reader_line(struct rb_metric_reader *r, const char *bytes, size_t n, rb_metric_fn *fn, void *ctx);

// The next bytes of a file of `metric.file`, split anywhere. name: the file's path below `metric.file`, "" if that is the file.
void rb_metric_reader_file(struct rb_metric_reader *r, const char *name, const char *bytes, size_t n, rb_metric_fn *fn,
                           void *ctx);
// The file begins again from its first byte: it was truncated or rewritten.
void rb_metric_reader_file_restart(struct rb_metric_reader *r, const char *name);

// After the last byte: a last line without a line feed counts.
void rb_metric_reader_end(struct rb_metric_reader *r, rb_metric_fn *fn, void *ctx);

// What was found instead, for a message: "metrics seen: train_loss, val_loss; highest epoch: 3" or "no metric was recognised in
// its output". Returns out.
char *rb_metric_reader_seen(const struct rb_metric_reader *r, char *out, size_t size);

#endif
