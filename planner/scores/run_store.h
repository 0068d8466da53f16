// Simulated runs of whole plans, kept. They depend on the plan alone: under another deadline or budget they are only counted
// again.
#ifndef RB_PLANNER_RUN_STORE_H
#define RB_PLANNER_RUN_STORE_H

#include "planner/search/planner.h"

enum rb_run_kind {
    RB_RUN_REPLICATES, // every latency drawn
    RB_RUN_WORLDS,     // of an asynchronous job: what its plans are compared by (planner/async/async_runs.h)
    RB_RUN_UNSEEN,     // likewise, and what they are reported by
};

struct rb_runs {
    int n;
    const int64_t *time_us, *cost_uusd; // [n], in the order of their numbers
    struct rb_estimate estimate;        // of all of them, without constraints
};

// Of one scenario, seed and set of tables. Not thread-safe.
struct rb_run_store;
struct rb_run_store *rb_run_store_create(void);
void rb_run_store_destroy(struct rb_run_store *store); // NULL is fine

// Runs 0..n-1 of a plan; NULL: not kept. Borrowed until the next keep.
const struct rb_runs *rb_run_store_find(const struct rb_run_store *store, enum rb_run_kind kind,
                                        const struct rb_candidate *plan, int n);
// The most runs of a plan that are kept; NULL: none. Borrowed likewise.
const struct rb_runs *rb_run_store_longest(const struct rb_run_store *store, enum rb_run_kind kind,
                                           const struct rb_candidate *plan);
// Copies what is known of runs 0..n-1; returns how many there are.
int rb_run_store_copy(const struct rb_run_store *store, enum rb_run_kind kind, const struct rb_candidate *plan, int n,
                      int64_t *out_time_us, int64_t *out_cost_uusd);
// Keeps a copy of them. Where the store is full, what was kept first goes.
const struct rb_runs *rb_run_store_keep(struct rb_run_store *store, enum rb_run_kind kind,
                                        const struct rb_candidate *plan, int n, const int64_t *time_us,
                                        const int64_t *cost_uusd);

size_t rb_run_store_bytes(const struct rb_run_store *store);

// The estimate of runs under constraints; -1: none.
struct rb_estimate rb_runs_estimate(const struct rb_runs *runs, int64_t deadline_us, int64_t budget_uusd);

#endif
