// Measured applications: the duration of an iteration for every placement and batch size, and the course of training
// for every batch size. docs/formats/trace.md describes the layout of their folder. Immutable once loaded. All progress
// of an application is counted in iterations at its initial batch size.
#ifndef RB_SIMULATOR_APPS_H
#define RB_SIMULATOR_APPS_H

#include "base/arena.h"
#include "base/errors/err.h"
#include "profiles/fit/goodput_batches.h"
#include "profiles/fit/grad_noise.h"

#include <stdbool.h>
#include <stdint.h>

#define RB_APP_MAX_NODES 16 // the widest measured; jobs on more nodes train as on this many
#define RB_APP_MAX_GPUS  64 // of one job

// One iteration: its duration, and the part that waits for gradients of others. Seconds.
struct rb_app_step {
    double step_s, sync_s;
};

// Measured iterations on one placement, by batch size per GPU.
struct rb_app_times {
    int n;
    const int *local_batch; // ascending, [n]
    const struct rb_app_step *steps;
};

// Training with one batch size: the end of each epoch.
struct rb_app_training {
    int batch;
    const double *progress, *iteration; // [n_epochs]
    const double *grad_sqr, *grad_var;  // of the gradient, at the initial batch size; [n_epochs]
};

struct rb_app_between; // simulator/cluster/apps_between.h

struct rb_app {
    const char *name;
    int init_batch, max_batch;             // of all GPUs together
    int min_local_batch, max_local_batch;  // of one GPU
    int n_epochs;
    const double *progress;                // [n_epochs + 1]: where epoch e begins; the last: where training ends
    const struct rb_app_training *trainings; // ascending by batch, [n_trainings]
    int n_trainings;
    const int *placements;                 // measured, one decimal digit per node's GPUs; ascending, [n_placements]
    const struct rb_app_times *placement_times; // [n_placements]
    int n_placements;
    // Interpolation between them, one of the two: NULL, or the triangulation of the measured points, or its derived
    // grid, [nodes][gpus], both from 1, n = 0: outside.
    const struct rb_app_between *between;
    const struct rb_app_times (*grid)[RB_APP_MAX_GPUS + 1];
};

struct rb_apps {
    struct rb_arena arena;
    const struct rb_app *apps; // sorted by name, [n]
    int n;
};

// The caller finishes it with rb_apps_finish; nothing to finish on failure.
bool rb_apps_load(struct rb_apps *out, const char *dir, struct rb_err *err);
void rb_apps_finish(struct rb_apps *apps);
const struct rb_app *rb_apps_find(const struct rb_apps *apps, const char *name); // NULL: unknown

struct rb_batch_limits rb_app_limits(const struct rb_app *app);
// A batch of about this size for this number of GPUs, with as little accumulation as fits, but some if `accumulates`.
struct rb_batch rb_app_cut(const struct rb_app *app, int batch, int gpus, bool accumulates);

// The placement of a job of the application, as the tables key it.
struct rb_app_layout {
    int nodes, gpus;
    const struct rb_app_times *measured; // NULL: not on this exact placement
};

// `gpus[0..n)` are the GPUs used on each node in the order of the workers, none 0, n >= 1. Placements are rings: a
// rotation changes nothing.
struct rb_app_layout rb_app_layout(const struct rb_app *app, const int *gpus, int n);
// Interpolated; false: outside the measured range.
bool rb_app_step(const struct rb_app *app, const struct rb_app_layout *layout, int local_batch, struct rb_app_step *out);

// Course of training in an epoch (from 0, < n_epochs) with a batch size, interpolated between the two measured
// neighbours; constant beyond the smallest and the largest.
struct rb_grad_noise rb_app_noise(const struct rb_app *app, int batch, int epoch);
double rb_app_iteration(const struct rb_app *app, int batch, int epoch); // iterations done at the end of that epoch

#endif
