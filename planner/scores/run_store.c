#include "planner/scores/run_store.h"

#include <stdlib.h>
#include <string.h>

#define MOST_VALUES (4 << 20) // of all plans together: 32 MiB

struct entry {
    enum rb_run_kind kind;
    struct rb_choice stages[RB_LIMIT_STAGES];
    int n_stages;
    int64_t admit_until_us;
    int64_t *values; // [n_values]: times, costs
    int64_t n_values;
    struct rb_runs runs;
    struct entry *next; // kept after it
};

struct rb_run_store {
    struct entry *first, *last;
    int64_t n_values;
};

struct rb_run_store *rb_run_store_create(void)
{
    return rb_xcalloc(1, sizeof(struct rb_run_store));
}

static void forget_first(struct rb_run_store *store)
{
    struct entry *e = store->first;
    store->first = e->next;
    store->last = store->first ? store->last : NULL;
    store->n_values -= e->n_values;
    free(e->values);
    free(e);
}

void rb_run_store_destroy(struct rb_run_store *store)
{
    while (store && store->first)
        forget_first(store);
    free(store);
}

static bool is_of_plan(const struct entry *e, enum rb_run_kind kind, const struct rb_candidate *plan)
{
    if (e->kind != kind || e->n_stages != plan->n_stages || e->admit_until_us != plan->admit_until_us)
        return false;
    for (int i = 0; i < plan->n_stages; i++) {
        if (!rb_choice_is_same(&e->stages[i], &plan->stages[i]))
            return false;
    }
    return true;
}

static bool is_of(const struct entry *e, enum rb_run_kind kind, const struct rb_candidate *plan, int n)
{
    return e->runs.n == n && is_of_plan(e, kind, plan);
}

const struct rb_runs *rb_run_store_find(const struct rb_run_store *store, enum rb_run_kind kind,
                                        const struct rb_candidate *plan, int n)
{
    for (const struct entry *e = store->first; e; e = e->next) {
        if (is_of(e, kind, plan, n))
            return &e->runs;
    }
    return NULL;
}

const struct rb_runs *rb_run_store_longest(const struct rb_run_store *store, enum rb_run_kind kind,
                                           const struct rb_candidate *plan)
{
    const struct rb_runs *longest = NULL;
    for (const struct entry *e = store->first; e; e = e->next) {
        if ((!longest || e->runs.n > longest->n) && is_of_plan(e, kind, plan))
            longest = &e->runs;
    }
    return longest;
}

int rb_run_store_copy(const struct rb_run_store *store, enum rb_run_kind kind, const struct rb_candidate *plan, int n,
                      int64_t *out_time_us, int64_t *out_cost_uusd)
{
    const struct rb_runs *known = rb_run_store_longest(store, kind, plan);
    const int n_known = !known ? 0 : known->n < n ? known->n : n;
    if (n_known > 0) {
        memcpy(out_time_us, known->time_us, (size_t)n_known * sizeof *out_time_us);
        memcpy(out_cost_uusd, known->cost_uusd, (size_t)n_known * sizeof *out_cost_uusd);
    }
    return n_known;
}

static struct entry *entry_of(enum rb_run_kind kind, const struct rb_candidate *plan)
{
    struct entry *e = rb_xcalloc(1, sizeof *e);
    e->kind = kind;
    e->n_stages = plan->n_stages;
    e->admit_until_us = plan->admit_until_us;
    memcpy(e->stages, plan->stages, (size_t)plan->n_stages * sizeof *e->stages);
    return e;
}

static void append(struct rb_run_store *store, struct entry *e)
{
    if (store->last)
        store->last->next = e;
    else
        store->first = e;
    store->last = e;
    store->n_values += e->n_values;
}

const struct rb_runs *rb_run_store_keep(struct rb_run_store *store, enum rb_run_kind kind,
                                        const struct rb_candidate *plan, int n, const int64_t *time_us,
                                        const int64_t *cost_uusd)
{
    int64_t *values = rb_xcalloc(2 * (size_t)n, sizeof *values);
    struct entry *e = entry_of(kind, plan);
    memcpy(values, time_us, (size_t)n * sizeof *values);
    memcpy(values + n, cost_uusd, (size_t)n * sizeof *values);
    e->values = values;
    e->n_values = INT64_C(2) * n;
    e->runs = (struct rb_runs){.n = n, .time_us = values, .cost_uusd = values + n};
    e->runs.estimate = rb_estimate_of_runs(e->runs.time_us, e->runs.cost_uusd, n, -1, -1);
    while (store->first && store->n_values + e->n_values > MOST_VALUES)
        forget_first(store);
    append(store, e);
    return &e->runs;
}

size_t rb_run_store_bytes(const struct rb_run_store *store)
{
    return (size_t)store->n_values * sizeof(int64_t);
}

struct rb_estimate rb_runs_estimate(const struct rb_runs *runs, int64_t deadline_us, int64_t budget_uusd)
{
    struct rb_estimate e = runs->estimate;
    rb_estimate_count(runs->time_us, runs->cost_uusd, runs->n, deadline_us, budget_uusd, &e);
    return e;
}
