#include "simulator/model/noise.h"

#include <stdatomic.h>
#include <stdlib.h>

#define PAGE_BYTES    4096 // allocation granularity, whatever the machine's own page size
#define MOST_NODES    32   // of one request; later ones are drawn again
#define MOST_ATTEMPTS 64   // of a trial or a request beyond the first; hardly any has more

// An arrival that was drawn from some attempt on.
struct kept_arrival {
    int64_t running_us, ready_us, lost_us;
    int attempt; // granted
    int of;      // 1 + the attempt asked for, 0: nothing was drawn
};

// Numbers that are drawn on demand, and which of their pages hold any.
struct table {
    void *cells;
    atomic_uchar *pages; // 1: touched
};

// Rows of one attempt are contiguous, so the pages of attempts that never happen are never touched.
struct rb_noise {
    const struct rb_scenario *scenario;
    int n_replicates, n_nodes;
    struct table trials[RB_LIMIT_STAGES]; // of rb_trial_noise, [attempt][replicate][trial]; zero: not drawn
    int n_attempts[RB_LIMIT_STAGES];
    int *kind; // [n_offers]: offers provisioned alike draw alike
    int n_kinds;
    struct table *nodes;   // [kind x stage], each of kept_arrival, [attempt modulo n_requests][replicate][ordinal]
    int *n_requests;       // [kind]: 1 where nothing is lost
    atomic_size_t n_pages; // touched, of all tables
};

static struct table create_table(size_t n_cells, size_t cell_bytes)
{
    return (struct table){rb_xcalloc(n_cells, cell_bytes), rb_xcalloc(n_cells * cell_bytes / PAGE_BYTES + 1, 1)};
}

static void finish_table(struct table *t)
{
    free(t->cells);
    free((void *)t->pages);
}

// A cell is being drawn. The first thread that reaches a page counts it: the sum does not depend on which.
static void count_page(struct rb_noise *noise, const struct table *t, const void *cell)
{
    atomic_uchar *page = &t->pages[(size_t)((const char *)cell - (const char *)t->cells) / PAGE_BYTES];
    if (!atomic_load_explicit(page, memory_order_relaxed) && !atomic_exchange_explicit(page, 1, memory_order_relaxed))
        atomic_fetch_add_explicit(&noise->n_pages, 1, memory_order_relaxed);
}

// Numbers the distinct delays of nodes in use: entries of the provisioning, and of readings. Returns how many.
static int number_kinds(const struct rb_scenario *s, int *kind)
{
    int n = 0;
    for (int i = 0; i < s->n_offers; i++) {
        kind[i] = -1;
        for (int k = 0; k < i && kind[i] < 0; k++) {
            if (s->sim_offers[k].provisioning == s->sim_offers[i].provisioning &&
                s->sim_offers[k].reading == s->sim_offers[i].reading && s->sim_offers[k].data_us == s->sim_offers[i].data_us)
                kind[i] = kind[k];
        }
        kind[i] = kind[i] < 0 ? n++ : kind[i];
    }
    return n;
}

// One attempt of every trial, and one request of every node.
static size_t bytes_of_first(const struct rb_scenario *s, size_t n_replicates, size_t n_kinds, size_t n_nodes)
{
    size_t n_trials = 0;
    for (int i = 0; i < s->stages.n; i++)
        n_trials += (size_t)s->stages.rungs[i].trials;
    return n_replicates * (n_trials * sizeof(struct rb_trial_noise) +
                           n_kinds * (size_t)s->stages.n * n_nodes * sizeof(struct kept_arrival));
}

static bool is_lost(const struct rb_noise *noise, int kind)
{
    for (int i = 0; i < noise->scenario->n_offers; i++) {
        const struct rb_provisioning *p = noise->scenario->sim_offers[i].provisioning;
        if (noise->kind[i] == kind && p && rb_provisioning_may_lose(p))
            return true;
    }
    return false;
}

static int count_lost_kinds(const struct rb_noise *noise)
{
    int n = 0;
    for (int kind = 0; kind < noise->n_kinds; kind++)
        n += is_lost(noise, kind);
    return n;
}

static int rows_within(size_t bytes, size_t row_bytes)
{
    const size_t rows = bytes / row_bytes;
    return rows < MOST_ATTEMPTS ? (int)rows : MOST_ATTEMPTS;
}

// Every stage gets the same memory: the last ones have few trials, and those are the ones that restart most often.
static void keep_trials(struct rb_noise *noise, size_t later_bytes)
{
    const struct rb_scenario *s = noise->scenario;
    for (int i = 0; i < s->stages.n; i++) {
        const size_t row = (size_t)noise->n_replicates * (size_t)s->stages.rungs[i].trials;
        noise->n_attempts[i] = 1 + rows_within(later_bytes / (size_t)s->stages.n, row * sizeof(struct rb_trial_noise));
        noise->trials[i] = create_table((size_t)noise->n_attempts[i] * row, sizeof(struct rb_trial_noise));
    }
}

static void keep_nodes(struct rb_noise *noise, size_t later_bytes)
{
    const size_t n_stages = (size_t)noise->scenario->stages.n, n_lost = (size_t)count_lost_kinds(noise);
    const size_t row = (size_t)noise->n_replicates * (size_t)noise->n_nodes;
    noise->nodes = rb_xcalloc((size_t)noise->n_kinds * n_stages, sizeof *noise->nodes);
    noise->n_requests = rb_xcalloc((size_t)noise->n_kinds, sizeof *noise->n_requests);
    for (int kind = 0; kind < noise->n_kinds; kind++) {
        noise->n_requests[kind] = 1;
        if (is_lost(noise, kind))
            noise->n_requests[kind] +=
                rows_within(later_bytes / (n_lost * n_stages), row * sizeof(struct kept_arrival));
        for (size_t i = 0; i < n_stages; i++)
            noise->nodes[(size_t)kind * n_stages + i] =
                create_table((size_t)noise->n_requests[kind] * row, sizeof(struct kept_arrival));
    }
}

struct rb_noise *rb_noise_create(const struct rb_scenario *s, int n_replicates, size_t most_bytes)
{
    struct rb_noise *noise = rb_xcalloc(1, sizeof *noise);
    noise->scenario = s;
    noise->n_replicates = n_replicates;
    noise->n_nodes = s->job->resources.max_nodes < MOST_NODES ? s->job->resources.max_nodes : MOST_NODES;
    noise->kind = rb_xcalloc((size_t)s->n_offers + 1, sizeof *noise->kind);
    noise->n_kinds = number_kinds(s, noise->kind);
    const size_t first = bytes_of_first(s, (size_t)n_replicates, (size_t)noise->n_kinds, (size_t)noise->n_nodes);
    if (first > most_bytes) {
        rb_noise_destroy(noise);
        return NULL;
    }
    const size_t later = count_lost_kinds(noise) > 0 ? (most_bytes - first) / 2 : 0;
    keep_trials(noise, later);
    keep_nodes(noise, later);
    return noise;
}

void rb_noise_destroy(struct rb_noise *noise)
{
    if (!noise)
        return;
    for (int i = 0; i < noise->scenario->stages.n; i++)
        finish_table(&noise->trials[i]);
    for (int i = 0; noise->nodes && i < noise->n_kinds * noise->scenario->stages.n; i++)
        finish_table(&noise->nodes[i]);
    free(noise->kind);
    free(noise->nodes);
    free(noise->n_requests);
    free(noise);
}

size_t rb_noise_bytes(const struct rb_noise *noise)
{
    return noise ? PAGE_BYTES * atomic_load_explicit(&noise->n_pages, memory_order_relaxed) : 0;
}

bool rb_noise_covers(const struct rb_noise *noise, int stage, int n_trials, int64_t units, uint32_t replicate)
{
    if (!noise || stage >= noise->scenario->stages.n || replicate >= (uint32_t)noise->n_replicates)
        return false;
    const struct rb_rung *rung = &noise->scenario->stages.rungs[stage];
    return n_trials <= rung->trials && units == rb_scenario_rung_units(noise->scenario, stage);
}

struct rb_trial_noise rb_noise_trial(struct rb_noise *noise, int stage, int position, int attempt, uint32_t replicate)
{
    const struct rb_scenario *s = noise->scenario;
    const struct rb_rung *rung = &s->stages.rungs[stage];
    if (attempt >= noise->n_attempts[stage])
        return rb_draw_trial_noise(s, stage, position, attempt, replicate, rb_scenario_rung_units(s, stage));
    const size_t row = (size_t)attempt * (size_t)noise->n_replicates + (size_t)replicate;
    struct rb_trial_noise *cells = noise->trials[stage].cells, *trial = cells + row * (size_t)rung->trials + position;
    if (!(trial->fixed_s + trial->units_drawn > 0)) {
        *trial = rb_draw_trial_noise(s, stage, position, attempt, replicate, rb_scenario_rung_units(s, stage));
        count_page(noise, &noise->trials[stage], trial);
    }
    return *trial;
}

bool rb_noise_covers_node(const struct rb_noise *noise, int stage, int ordinal, uint32_t replicate)
{
    return noise && stage < noise->scenario->stages.n && ordinal < noise->n_nodes &&
           replicate < (uint32_t)noise->n_replicates;
}

static const struct table *nodes_of(const struct rb_noise *noise, int kind, int stage)
{
    return &noise->nodes[kind * noise->scenario->stages.n + stage];
}

static struct kept_arrival *cell_of(const struct rb_noise *noise, int kind, int stage, int ordinal, int attempt,
                                    uint32_t replicate)
{
    struct kept_arrival *cells = nodes_of(noise, kind, stage)->cells;
    const size_t row = (size_t)(attempt % noise->n_requests[kind]) * (size_t)noise->n_replicates + (size_t)replicate;
    return cells + row * (size_t)noise->n_nodes + ordinal;
}

struct rb_arrival rb_noise_arrival(struct rb_noise *noise, int offer, int stage, int ordinal, int attempt,
                                   uint32_t replicate)
{
    const int kind = noise->kind[offer];
    struct kept_arrival *kept = cell_of(noise, kind, stage, ordinal, attempt, replicate);
    if (kept->of != attempt + 1) {
        const struct rb_arrival a = rb_draw_arrival(noise->scenario, offer, stage, ordinal, attempt, replicate);
        *kept = (struct kept_arrival){a.running_us, a.ready_us, a.lost_us, a.attempt, attempt + 1};
        count_page(noise, nodes_of(noise, kind, stage), kept);
    }
    if (kept->lost_us != INT64_MAX) // the next request is far away in memory
        __builtin_prefetch(cell_of(noise, kind, stage, ordinal, kept->attempt + 1, replicate));
    return (struct rb_arrival){kept->running_us, kept->ready_us, kept->lost_us, kept->attempt};
}
