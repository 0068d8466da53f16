// Stores simulated runs of whole plans. The runs depend on the plan alone; under another deadline or budget they are
// only counted again.
#ifndef RB_PLANNER_RUN_STORE_H
#define RB_PLANNER_RUN_STORE_H

#include "planner/search/planner.h"

enum rb_run_kind {
    RB_RUN_REPLICATES, // every latency drawn
    RB_RUN_WORLDS,     // of an asynchronous job: runs for comparing plans (planner/async/async_runs.h)
    RB_RUN_UNSEEN,     // likewise, runs for reporting
};

struct rb_runs {
    int n;
    const int64_t *time_us, *cost_uusd; // [n], in the order of their numbers
    struct rb_estimate estimate;        // over all runs, without constraints
};

// For one scenario, seed and set of tables. Not thread-safe.
struct rb_run_store;
struct rb_run_store *rb_run_store_create(void);
void rb_run_store_destroy(struct rb_run_store *store); // NULL is allowed

// Runs 0..n-1 of a plan; NULL: not kept. Borrowed until the next keep.
const struct rb_runs *rb_run_store_find(const struct rb_run_store *store, enum rb_run_kind kind,
                                        const struct rb_candidate *plan, int n);
// The largest number of runs kept of a plan; NULL: none. Borrowed likewise.
const struct rb_runs *rb_run_store_longest(const struct rb_run_store *store, enum rb_run_kind kind,
                                           const struct rb_candidate *plan);
// Copies the known runs among 0..n-1; returns their number.
int rb_run_store_copy(const struct rb_run_store *store, enum rb_run_kind kind, const struct rb_candidate *plan, int n,
                      int64_t *out_time_us, int64_t *out_cost_uusd);
// Stores a copy of the runs. If the store is full, the oldest entry is evicted.
const struct rb_runs *rb_run_store_keep(struct rb_run_store *store, enum rb_run_kind kind,
                                        const struct rb_candidate *plan, int n, const int64_t *time_us,
                                        const int64_t *cost_uusd);

size_t rb_run_store_bytes(const struct rb_run_store *store);

// The estimate from runs under constraints; -1: no such constraint.
struct rb_estimate rb_runs_estimate(const struct rb_runs *runs, int64_t deadline_us, int64_t budget_uusd);

#endif
