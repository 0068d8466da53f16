// A table that stands for training: configurations with their learning curves and seconds. FAMILY_TASK.csv[.gz] with
// FAMILY.yaml beside it. Format: docs/formats/blackbox.md.
#ifndef RB_SIMULATOR_BLACKBOX_TABLE_H
#define RB_SIMULATOR_BLACKBOX_TABLE_H

#include "profiles/job/job.h"
#include "samplers/coordinates.h"

struct rb_blackbox {
    const char *path, *family_path;
    const char *metric_name;
    enum rb_goal goal;
    const char *unit;
    struct rb_space space;
    struct rb_coordinates coordinates;
    int max_resource;              // R
    bool resumable;                // false: every start trains from the beginning
    int n_rows;
    const struct rb_value *values; // [n_rows][space.n_params]
    const double *u;               // [n_rows][coordinates.n]
    const double *metrics;         // [n_rows][max_resource]; NAN: diverged
    const double *unit_s;          // [n_rows], seconds of one unit on one worker; NULL: unknown
    double best, median;           // of the metrics at R, diverged rows being the worst; both are finite
};

// path: "-" is no table, its family is found by its name. What it holds lives in `arena`; finish it in any case.
bool rb_blackbox_read(const char *path, struct rb_arena *arena, struct rb_blackbox *out, struct rb_err *err);
// From bytes, with names for messages. For tests, which have no files.
bool rb_blackbox_parse(const char *family_name, const char *family, size_t family_len, const char *name,
                       const char *bytes, size_t n, struct rb_arena *arena, struct rb_blackbox *out, struct rb_err *err);
void rb_blackbox_finish(struct rb_blackbox *t); // zero-initialised is valid

const struct rb_value *rb_blackbox_values(const struct rb_blackbox *t, int row);
double rb_blackbox_metric(const struct rb_blackbox *t, int row, int64_t resource); // beyond R: at R

// The nearest row that is not used, in the unit cube (samplers/coordinates.h): Euclid; another category, or inactive
// against active: 1 away; ties: the lowest row. -1: all are used. used [n_rows].
int rb_blackbox_nearest(const struct rb_blackbox *t, const double *u, const bool *used);

// (best possible - metric) / (best possible - median at R), within 0..1; 1 if the metric is not finite.
double rb_blackbox_regret(const struct rb_blackbox *t, double metric);

#endif
