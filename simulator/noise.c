#include "simulator/noise.h"

#include <stdlib.h>

#define MOST_BYTES ((size_t)128 << 20) // 512 trials in the first of ten stages, 4096 replicates: 67 MB
#define MOST_NODES 32                  // of one request; later ones are drawn anew

struct rb_noise {
    const struct rb_scenario *scenario;
    int n_replicates, n_nodes;
    struct rb_trial_noise *trials[RB_LIMIT_STAGES]; // [n_replicates][trials]
    bool *trials_drawn[RB_LIMIT_STAGES];            // [n_replicates]
    int *kind;                                      // [n_offers]: offers provisioned alike draw alike
    int n_kinds;
    struct rb_arrival *nodes; // [kind][stage][n_replicates][n_nodes]
    bool *nodes_drawn;        // [kind][stage][n_replicates]
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

static size_t bytes_needed(const struct rb_scenario *s, size_t n_replicates, size_t n_kinds, size_t n_nodes)
{
    size_t n_trials = 0;
    for (int i = 0; i < s->stages.n; i++)
        n_trials += (size_t)s->stages.rungs[i].trials;
    return n_replicates * (n_trials * sizeof(struct rb_trial_noise) +
                           n_kinds * (size_t)s->stages.n * n_nodes * sizeof(struct rb_arrival));
}

struct rb_noise *rb_noise_create(const struct rb_scenario *s, int n_replicates)
{
    const size_t n = (size_t)n_replicates;
    struct rb_noise *noise = rb_xcalloc(1, sizeof *noise);
    noise->scenario = s;
    noise->n_replicates = n_replicates;
    noise->n_nodes = s->job->resources.max_nodes < MOST_NODES ? s->job->resources.max_nodes : MOST_NODES;
    noise->kind = rb_xcalloc((size_t)s->n_offers + 1, sizeof *noise->kind);
    noise->n_kinds = number_kinds(s, noise->kind);
    if (bytes_needed(s, n, (size_t)noise->n_kinds, (size_t)noise->n_nodes) > MOST_BYTES) {
        rb_noise_destroy(noise);
        return NULL;
    }
    for (int i = 0; i < s->stages.n; i++) {
        noise->trials[i] = rb_xcalloc(n * (size_t)s->stages.rungs[i].trials, sizeof *noise->trials[i]);
        noise->trials_drawn[i] = rb_xcalloc(n, sizeof *noise->trials_drawn[i]);
    }
    const size_t n_rows = (size_t)noise->n_kinds * (size_t)s->stages.n * n;
    noise->nodes = rb_xcalloc(n_rows * (size_t)noise->n_nodes, sizeof *noise->nodes);
    noise->nodes_drawn = rb_xcalloc(n_rows, sizeof *noise->nodes_drawn);
    return noise;
}

void rb_noise_destroy(struct rb_noise *noise)
{
    if (!noise)
        return;
    for (int i = 0; i < noise->scenario->stages.n; i++) {
        free(noise->trials[i]);
        free(noise->trials_drawn[i]);
    }
    free(noise->kind);
    free(noise->nodes);
    free(noise->nodes_drawn);
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

int64_t rb_noise_trial_us(struct rb_noise *noise, int stage, int position, uint32_t replicate, double unit_s)
{
    const struct rb_rung *rung = &noise->scenario->stages.rungs[stage];
    struct rb_trial_noise *row = noise->trials[stage] + (size_t)replicate * (size_t)rung->trials;
    if (!noise->trials_drawn[stage][replicate]) {
        for (int k = 0; k < rung->trials; k++)
            row[k] = rb_draw_trial_noise(noise->scenario, stage, k, 0, replicate, units_of(rung));
        noise->trials_drawn[stage][replicate] = true;
    }
    return rb_trial_noise_us(&row[position], unit_s);
}

bool rb_noise_covers_node(const struct rb_noise *noise, int stage, int ordinal, uint32_t replicate)
{
    return noise && stage < noise->scenario->stages.n && ordinal < noise->n_nodes &&
           replicate < (uint32_t)noise->n_replicates;
}

struct rb_arrival rb_noise_arrival(struct rb_noise *noise, int offer, int stage, int ordinal, uint32_t replicate)
{
    const struct rb_scenario *s = noise->scenario;
    const size_t row =
        ((size_t)noise->kind[offer] * (size_t)s->stages.n + (size_t)stage) * (size_t)noise->n_replicates +
        (size_t)replicate;
    struct rb_arrival *nodes = noise->nodes + row * (size_t)noise->n_nodes;
    if (!noise->nodes_drawn[row]) {
        for (int k = 0; k < noise->n_nodes; k++)
            nodes[k] = rb_draw_arrival(s, offer, stage, k, 0, replicate);
        noise->nodes_drawn[row] = true;
    }
    return nodes[ordinal];
}
