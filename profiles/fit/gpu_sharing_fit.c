// The cost of sharing a GPU, from runs that really shared one: each relative to runs of the same configuration with a
// GPU to themselves; the mean of these ratios for every number of trials.
#include "profiles/store/samples.h"

#include "base/limits.h"

#include <string.h>

static double mean_of(const double *values, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += values[i];
    return sum / n;
}

// Mean unit time of the configuration on one GPU alone; the mean of all configurations if it was never measured alone.
static double alone_s(const struct rb_samples *s, const struct rb_shared_sample *shared, const struct rb_training *t)
{
    double sum = 0;
    int n = 0;
    for (int i = 0; i < s->n_runs; i++) {
        const struct rb_run_sample *run = &s->runs[i];
        if (run->gpus == 1 && strcmp(run->accelerator, shared->accelerator) == 0 &&
            strcmp(run->config_json, shared->config_json) == 0) {
            sum += mean_of(run->unit_s, run->n_units);
            n++;
        }
    }
    return n > 0 ? sum / n : t->base_s;
}

static bool slowdown_of(const struct rb_samples *s, const struct rb_training *t, int trials, double *out)
{
    double sum = 0;
    int n = 0;
    for (int i = 0; i < s->n_shared; i++) {
        const struct rb_shared_sample *shared = &s->shared[i];
        if (shared->trials == trials && strcmp(shared->accelerator, t->accelerator) == 0) {
            sum += shared->unit_s / alone_s(s, shared, t);
            n++;
        }
    }
    if (n == 0)
        return false;
    *out = sum / n;
    return true;
}

void rb_gpu_sharing_fit(const struct rb_samples *s, struct rb_training *entries, int n, struct rb_arena *arena)
{
    for (int i = 0; i < n; i++) {
        struct rb_gpu_sharing *costs = rb_arena_array(arena, RB_LIMIT_TRIALS_PER_GPU, sizeof(*costs));
        entries[i].sharing = costs;
        for (int trials = 2; trials <= RB_LIMIT_TRIALS_PER_GPU; trials++) {
            double slowdown;
            if (slowdown_of(s, &entries[i], trials, &slowdown))
                costs[entries[i].n_sharing++] = (struct rb_gpu_sharing){trials, slowdown};
        }
    }
}
