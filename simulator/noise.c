#include "simulator/noise.h"

#include "simulator/draws.h"

#include <stdlib.h>

#define MOST_BYTES ((size_t)256 << 20) // 512 trials in the first of ten stages, 4096 replicates: 67 MB

struct rb_noise {
    const struct rb_scenario *scenario;
    int n_replicates;
    struct rb_trial_noise *rows[RB_LIMIT_STAGES]; // [n_replicates][trials]
    bool *filled[RB_LIMIT_STAGES];                // [n_replicates]
};

static size_t bytes_needed(const struct rb_scenario *s, int n_replicates)
{
    size_t n_trials = 0;
    for (int i = 0; i < s->stages.n; i++)
        n_trials += (size_t)s->stages.rungs[i].trials;
    return n_trials * (size_t)n_replicates * sizeof(struct rb_trial_noise);
}

struct rb_noise *rb_noise_create(const struct rb_scenario *s, int n_replicates)
{
    if (bytes_needed(s, n_replicates) > MOST_BYTES)
        return NULL;
    struct rb_noise *noise = rb_xcalloc(1, sizeof *noise);
    noise->scenario = s;
    noise->n_replicates = n_replicates;
    for (int i = 0; i < s->stages.n; i++) {
        noise->rows[i] =
            rb_xcalloc((size_t)n_replicates * (size_t)s->stages.rungs[i].trials, sizeof *noise->rows[i]);
        noise->filled[i] = rb_xcalloc((size_t)n_replicates, sizeof *noise->filled[i]);
    }
    return noise;
}

void rb_noise_destroy(struct rb_noise *noise)
{
    if (!noise)
        return;
    for (int i = 0; i < noise->scenario->stages.n; i++) {
        free(noise->rows[i]);
        free(noise->filled[i]);
    }
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
    struct rb_trial_noise *row = noise->rows[stage] + (size_t)replicate * (size_t)rung->trials;
    if (!noise->filled[stage][replicate]) {
        for (int k = 0; k < rung->trials; k++)
            row[k] = rb_draw_trial_noise(noise->scenario, stage, k, 0, replicate, units_of(rung));
        noise->filled[stage][replicate] = true;
    }
    return rb_trial_noise_us(&row[position], unit_s);
}
