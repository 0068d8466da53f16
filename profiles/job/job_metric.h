// Reads and writes `metric:` of job.yaml: which number is optimised, and how it is found in what a script prints or writes.
// Source: docs/formats/job.md.
#ifndef RB_PROFILES_JOB_METRIC_H
#define RB_PROFILES_JOB_METRIC_H

#include "base/arena.h"
#include "base/document/doc.h"
#include "base/document/json.h"

#include <stdbool.h>
#include <stdint.h>

// How reports look. `native` is name=value and lines of JSON (docs/formats/trial.md).
enum rb_metric_format {
    RB_METRIC_AUTO, // native, hf, keras, xgboost, lightgbm and fastai are tried; the first that reports is kept
    RB_METRIC_NATIVE,
    RB_METRIC_KERAS,
    RB_METRIC_HF,
    RB_METRIC_LIGHTNING, // the CSV file of Lightning's CSVLogger
    RB_METRIC_XGBOOST,
    RB_METRIC_LIGHTGBM,
    RB_METRIC_FASTAI,
    RB_METRIC_CSV,         // needs `file`
    RB_METRIC_JSON,        // an object a line
    RB_METRIC_TENSORBOARD, // event files; needs `file`
    RB_METRIC_PATTERN,     // what `pattern` says; not a word of the job file
};

enum { RB_METRIC_BASE_OF_FORMAT = -1 };

struct rb_report_form {
    enum rb_metric_format format;
    const char *file;  // a file or a folder, with the words of trial.args ({checkpoint}, ...); NULL: what it prints
    int64_t base;      // what the script calls the first unit: 0 or 1; RB_METRIC_BASE_OF_FORMAT: as the format does
    struct {
        const char *const *items; // checked by rb_metric_pattern_check
        int n;
    } patterns;
};

// Reads format, file, base and pattern of a map that was begun with these keys among others.
bool rb_report_form_read(struct rb_map *m, struct rb_arena *arena, struct rb_report_form *out, struct rb_err *err);
// Their members, in the object of `metric`. What is at its default is left out.
void rb_report_form_write(const struct rb_report_form *form, struct rb_json *j);

#endif
