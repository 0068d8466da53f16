// The lines of frameworks. A format turns a line into names and numbers; the number of the unit is passed under the name
// RB_METRIC_RESOURCE. What a format remembers from earlier lines is in its part of struct rb_format_state.
// Sources: Keras 3 utils/progbar.py and callbacks/progbar_logger.py, transformers trainer_callback.py and trainer.py (log),
// xgboost callback.py (EvaluationMonitor), lightgbm callback.py (log_evaluation), fastai callback/progress.py.
#ifndef RB_EXECUTOR_METRIC_FORMATS_H
#define RB_EXECUTOR_METRIC_FORMATS_H

#include "executor/metrics/metric_line.h"
#include "executor/metrics/metric_table.h"
#include "profiles/job/job_metric.h"

#define RB_METRIC_RESOURCE "resource"

// All zero: nothing was read yet.
struct rb_format_state {
    bool has_keras_epoch;
    double keras_epoch;            // of the last line "Epoch 3/9"
    struct rb_metric_table fastai;
};
void rb_format_state_finish(struct rb_format_state *s);

typedef void rb_metric_format_fn(struct rb_format_state *state, const char *line, size_t n, rb_metric_value_fn *fn,
                                 void *ctx);

struct rb_metric_format_row {
    enum rb_metric_format format;
    rb_metric_format_fn *read; // one line of text, clean; NULL: it is read from a file only
    int base;                  // its number of the first unit
    double tolerance;          // how far from a whole number a resource may be printed
    bool is_automatic;         // RB_METRIC_AUTO tries it
    bool counts_each_start;    // its first unit is the first of this start, not of the trial
};

extern const struct rb_metric_format_row rb_metric_format_rows[]; // the last one has no `read` and is RB_METRIC_AUTO
const struct rb_metric_format_row *rb_metric_format_row(enum rb_metric_format format);

#endif
