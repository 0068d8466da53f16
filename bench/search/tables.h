// Tables that stand for training: configurations with their learning curves and seconds. A folder has FAMILY.yaml
// (parameters as in job.yaml, metric, max_resource, resumable) and FAMILY_TASK.csv.gz.
#ifndef RB_BENCH_SEARCH_TABLES_H
#define RB_BENCH_SEARCH_TABLES_H

#include "profiles/job/job.h"
#include "samplers/coordinates.h"

struct table {
    const char *name;             // FAMILY_TASK
    struct rb_space space;
    struct rb_coordinates coordinates;
    int n, R;
    double *u;                    // [n][coordinates.n]
    struct rb_value *values;      // [n][space.n_params]
    double *score;                // [n][R], higher is better; -INFINITY: diverged
    double *unit_s;               // [n], NAN: unknown
    bool resumable;
    double best, median;          // of final scores
};

bool table_read(const char *folder, const char *name, struct rb_arena *arena, struct table *out, struct rb_err *err);
void table_finish(struct table *t);

// The nearest row that is not used: Euclid in u; another category, or inactive against active: 1 away; ties: the
// lowest.
int table_nearest(const struct table *t, const double *u, const bool *used);

#endif
