#include "engine/sharing/goodput_choice.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

// best[g]: the largest value of the jobs so far on at most g GPUs; taken[g]: this job's option in it.
static void add_job(const struct rb_size_choices *job, int n_gpus, const double *before, double *best, uint8_t *taken)
{
    for (int g = 0; g <= n_gpus; g++)
        best[g] = -INFINITY;
    for (int i = 0; i < job->n; i++) {
        const int gpus = job->options[i].gpus;
        const double value = job->options[i].value;
        for (int g = gpus; g <= n_gpus; g++) {
            const double with = before[g - gpus] + value;
            taken[g] = with > best[g] ? (uint8_t)i : taken[g];
            best[g] = with > best[g] ? with : best[g];
        }
    }
}

void rb_choose_sizes(struct rb_arena *arena, const struct rb_size_choices *jobs, int n_jobs, int n_gpus,
                     int *out_chosen)
{
    const size_t n = (size_t)n_gpus + 1;
    double *before = rb_arena_array(arena, n, sizeof *before), *best = rb_arena_array(arena, n, sizeof *best);
    uint8_t *taken = rb_arena_array(arena, n * (size_t)n_jobs, sizeof *taken);
    for (int j = 0; j < n_jobs; j++) {
        assert(jobs[j].n <= UINT8_MAX);
        add_job(&jobs[j], n_gpus, before, best, taken + (size_t)j * n);
        double *swapped = before;
        before = best;
        best = swapped;
    }
    for (int j = n_jobs - 1, g = n_gpus; j >= 0; j--) {
        out_chosen[j] = taken[(size_t)j * n + (size_t)g];
        g -= jobs[j].options[out_chosen[j]].gpus;
    }
}
