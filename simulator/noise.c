#include "simulator/noise.h"

#include <stdlib.h>

#define MOST_BYTES    ((size_t)128 << 20) // 512 trials in the first of ten stages, 4096 replicates: 67 MB
#define MOST_NODES    32                  // of one request; later ones are drawn anew
#define MOST_ATTEMPTS 64                  // of a trial or a request beyond the first; hardly any has more

// An arrival that was drawn from some attempt on.
struct kept_arrival {
    int64_t running_us, ready_us, lost_us;
    int attempt; // granted
    int of;      // 1 + the attempt asked for, 0: nothing was drawn
};

// Rows of one attempt lie together, so that the pages of attempts that never happen are never touched.
struct rb_noise {
    const struct rb_scenario *scenario;
    int n_replicates, n_nodes;
    struct rb_trial_noise *trials[RB_LIMIT_STAGES]; // [attempt][replicate][trial]; zero: not drawn
    int n_attempts[RB_LIMIT_STAGES];
    int *kind; // [n_offers]: offers provisioned alike draw alike
    int n_kinds;
    struct kept_arrival **nodes; // [kind x stage], each [attempt modulo n_requests][replicate][ordinal]
    int *n_requests;             // [kind]: 1 where nothing is lost
};

// Numbers the distinct provisioning entries in use. Returns how many.
static int number_kinds(const struct rb_scenario *s, int *kind)
{
    int n = 0;
    for (int i = 0; i < s->n_offers; i++) {
        kind[i] = -1;
        for (int k = 0; k < i && kind[i] < 0; k++) {
            if (s->sim_offers[k].provisioning == s->sim_offers[i].provisioning)
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
        if (noise->kind[i] == kind && p && p->preemption_per_hour > 0)
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

// Every stage the same memory: the last have few trials, and those are the ones that are begun again and again.
static void keep_trials(struct rb_noise *noise, size_t later_bytes)
{
    const struct rb_scenario *s = noise->scenario;
    for (int i = 0; i < s->stages.n; i++) {
        const size_t row = (size_t)noise->n_replicates * (size_t)s->stages.rungs[i].trials;
        noise->n_attempts[i] = 1 + rows_within(later_bytes / (size_t)s->stages.n, row * sizeof **noise->trials);
        noise->trials[i] = rb_xcalloc((size_t)noise->n_attempts[i] * row, sizeof **noise->trials);
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
            noise->n_requests[kind] += rows_within(later_bytes / (n_lost * n_stages), row * sizeof **noise->nodes);
        for (size_t i = 0; i < n_stages; i++)
            noise->nodes[(size_t)kind * n_stages + i] =
                rb_xcalloc((size_t)noise->n_requests[kind] * row, sizeof **noise->nodes);
    }
}

struct rb_noise *rb_noise_create(const struct rb_scenario *s, int n_replicates)
{
    struct rb_noise *noise = rb_xcalloc(1, sizeof *noise);
    noise->scenario = s;
    noise->n_replicates = n_replicates;
    noise->n_nodes = s->job->resources.max_nodes < MOST_NODES ? s->job->resources.max_nodes : MOST_NODES;
    noise->kind = rb_xcalloc((size_t)s->n_offers + 1, sizeof *noise->kind);
    noise->n_kinds = number_kinds(s, noise->kind);
    const size_t first = bytes_of_first(s, (size_t)n_replicates, (size_t)noise->n_kinds, (size_t)noise->n_nodes);
    if (first > MOST_BYTES) {
        rb_noise_destroy(noise);
        return NULL;
    }
    const size_t later = count_lost_kinds(noise) > 0 ? (MOST_BYTES - first) / 2 : 0;
    keep_trials(noise, later);
    keep_nodes(noise, later);
    return noise;
}

void rb_noise_destroy(struct rb_noise *noise)
{
    if (!noise)
        return;
    for (int i = 0; i < noise->scenario->stages.n; i++)
        free(noise->trials[i]);
    for (int i = 0; noise->nodes && i < noise->n_kinds * noise->scenario->stages.n; i++)
        free(noise->nodes[i]);
    free(noise->kind);
    free(noise->nodes);
    free(noise->n_requests);
    free(noise);
}

static int64_t units_of(const struct rb_rung *rung)
{
    return rung->resource_end - rung->resource_start;
}

bool rb_noise_covers(const struct rb_noise *noise, int stage, int n_trials, int64_t units, uint32_t replicate)
{
    if (!noise || stage >= noise->scenario->stages.n || replicate >= (uint32_t)noise->n_replicates)
        return false;
    const struct rb_rung *rung = &noise->scenario->stages.rungs[stage];
    return n_trials <= rung->trials && units == units_of(rung);
}

int64_t rb_noise_trial_us(struct rb_noise *noise, int stage, int position, int attempt, uint32_t replicate,
                          double unit_s)
{
    const struct rb_scenario *s = noise->scenario;
    const struct rb_rung *rung = &s->stages.rungs[stage];
    if (attempt >= noise->n_attempts[stage])
        return rb_draw_trial_us(s, stage, position, attempt, replicate, units_of(rung), unit_s);
    const size_t row = (size_t)attempt * (size_t)noise->n_replicates + (size_t)replicate;
    struct rb_trial_noise *trial = noise->trials[stage] + row * (size_t)rung->trials + position;
    if (!(trial->fixed_s + trial->units_drawn > 0))
        *trial = rb_draw_trial_noise(s, stage, position, attempt, replicate, units_of(rung));
    return rb_trial_noise_us(trial, unit_s);
}

bool rb_noise_covers_node(const struct rb_noise *noise, int stage, int ordinal, uint32_t replicate)
{
    return noise && stage < noise->scenario->stages.n && ordinal < noise->n_nodes &&
           replicate < (uint32_t)noise->n_replicates;
}

static struct kept_arrival *cell_of(const struct rb_noise *noise, int kind, int stage, int ordinal, int attempt,
                                    uint32_t replicate)
{
    const size_t row = (size_t)(attempt % noise->n_requests[kind]) * (size_t)noise->n_replicates + (size_t)replicate;
    return noise->nodes[kind * noise->scenario->stages.n + stage] + row * (size_t)noise->n_nodes + ordinal;
}

struct rb_arrival rb_noise_arrival(struct rb_noise *noise, int offer, int stage, int ordinal, int attempt,
                                   uint32_t replicate)
{
    const int kind = noise->kind[offer];
    struct kept_arrival *kept = cell_of(noise, kind, stage, ordinal, attempt, replicate);
    if (kept->of != attempt + 1) {
        const struct rb_arrival a = rb_draw_arrival(noise->scenario, offer, stage, ordinal, attempt, replicate);
        *kept = (struct kept_arrival){a.running_us, a.ready_us, a.lost_us, a.attempt, attempt + 1};
    }
    if (kept->lost_us != INT64_MAX) // what will be asked for next is far away in memory
        __builtin_prefetch(cell_of(noise, kind, stage, ordinal, kept->attempt + 1, replicate));
    return (struct rb_arrival){kept->running_us, kept->ready_us, kept->lost_us, kept->attempt};
}
