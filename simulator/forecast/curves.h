// Chooses the learning curve of each simulated trial: measured ones from files, or the synthetic family. The seed
// chooses a measured curve for each (replicate, trial), independent of the tuner and the policy, so comparisons share
// their curves. Formats: docs/formats/curves.md.
#ifndef RB_SIMULATOR_CURVES_H
#define RB_SIMULATOR_CURVES_H

#include "base/arena.h"
#include "simulator/forecast/curve.h"

struct rb_curve_points {
    const char *source;      // file, and the trial in it if it holds several
    const int64_t *resource; // ascending, [n]
    const double *metric;    // finite
    int n;                   // >= 1
};

struct rb_curves {
    uint64_t seed;
    enum rb_goal goal;                    // of the synthetic family: accuracy or loss
    struct rb_curve_family family;
    const struct rb_curve_points *points; // [n]; none: synthetic
    int n;
    int64_t shortest;                     // resource that every measured curve reaches
    const char *says;                     // one phrase for users: what the curves are
};

// spec: NULL or "synthetic", "synthetic:b0=0.2,noise=0.01", else a file, or a directory whose files (*.csv, *.jsonl,
// sorted by name) are all read. The result lives in `arena`.
bool rb_curves_open(const char *spec, uint64_t seed, enum rb_goal goal, struct rb_arena *arena, struct rb_curves *out,
                    struct rb_err *err);

// Measured curves from the bytes of a file of this name: *.jsonl are events, all else is CSV. Seed and family are left
// 0. For tests, which have no files.
bool rb_curves_parse(const char *name, const char *bytes, size_t n, struct rb_arena *arena, struct rb_curves *out,
                     struct rb_err *err);

// A rb_curve_fn (simulator/world/world.h); ctx: struct rb_curves. Linear between two measured resources, constant
// before the first and beyond the last.
double rb_curves_metric(void *ctx, uint32_t replicate, int trial, int64_t resource);

#endif
