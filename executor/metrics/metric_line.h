// Parses one line of a training script: `epoch=4 val_acc=0.81 ...` or a JSON object {"epoch": 4, "val_acc": 0.81}.
// The bytes come from a node and are untrusted: a line that is not a report is ordinary output, never an
// error.
#ifndef RB_EXECUTOR_METRIC_LINE_H
#define RB_EXECUTOR_METRIC_LINE_H

#include "engine/events/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RB_CHECKPOINT_NAME_MAX = 64 };

struct rb_metric_line {
    bool is_report;   // both resource and metric were there
    int64_t resource; // 0..2^53
    double metric;    // NaN and infinities as written: "nan", "NaN", "-inf", "Infinity"
    bool paced;       // the line says RB_PACED=1: the accelerator's speed is emulated
    // The midway checkpoint that the report announces; "": none. Untrusted: see rb_is_checkpoint_name
    char checkpoint[RB_CHECKPOINT_NAME_MAX + 2];
    struct rb_step_stats steps; // those of grad_sqr with grad_var, step_s, sync_s that are there and plausible
};

// 1 to 64 letters, digits and . _ -, the first a letter or a digit: it names no other folder, and needs no quoting.
bool rb_is_checkpoint_name(const char *name);

// A name and its number. The name is not terminated.
typedef void rb_metric_value_fn(void *ctx, const char *name, size_t name_len, double value);

// Every name=value pair of the line, or every number of a JSON object, in order.
void rb_metric_line_values(const char *bytes, size_t n, rb_metric_value_fn *fn, void *ctx);

// unit: the scheduler's label ("epoch"); `resource` is understood as well. The last value of a repeated name
// counts, except in JSON, where a repeated name makes the line ordinary output.
void rb_metric_line_parse(const char *bytes, size_t n, const char *unit, const char *metric_name,
                          struct rb_metric_line *out);

// Lines of single steps report their gradients' noise without the metric. Their mean since the last report becomes that
// of the next one, unless that reports one itself. Zero-initialised is valid.
struct rb_step_lines {
    struct rb_grad_noise_mean noise;
};
// Whole lines, in their order. scale: samples of a step over those of the initial batch.
void rb_step_lines_take(struct rb_step_lines *l, struct rb_metric_line *line, double scale);

#endif
