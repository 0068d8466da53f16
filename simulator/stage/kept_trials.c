#include "simulator/stage/kept_trials.h"

#include "simulator/forecast/curve.h"

#include <stdlib.h>

#define MOST_RANGES 4

// One trial in one stage, with its key.
struct cell {
    struct rb_kept_trial trial;
    int64_t start;
};

struct run {
    struct rb_arena arena;
    struct cell **cells; // [stage x position]; NULL before the first
};

struct rb_kept_trials {
    const struct rb_scenario *scenario;
    struct rb_run_range ranges[MOST_RANGES];
    int n_ranges, n_positions, n_runs;
    size_t most_bytes; // of one run
    struct run *runs;  // over all ranges in sequence
};

static int count_positions(const struct rb_scenario *s)
{
    int n = 0;
    for (int i = 0; i < s->stages.n; i++)
        n += s->stages.rungs[i].trials;
    return n;
}

struct rb_kept_trials *rb_kept_trials_create(const struct rb_scenario *s, const struct rb_run_range *ranges,
                                             int n_ranges, size_t most_bytes)
{
    struct rb_kept_trials *kept = rb_xcalloc(1, sizeof *kept);
    kept->scenario = s;
    kept->n_positions = count_positions(s);
    for (int i = 0; i < n_ranges && i < MOST_RANGES; i++) {
        kept->ranges[kept->n_ranges++] = ranges[i];
        kept->n_runs += ranges[i].n;
    }
    kept->most_bytes = most_bytes / (size_t)(kept->n_runs > 0 ? kept->n_runs : 1);
    kept->runs = rb_xcalloc((size_t)kept->n_runs + 1, sizeof *kept->runs);
    return kept;
}

void rb_kept_trials_destroy(struct rb_kept_trials *kept)
{
    if (!kept)
        return;
    for (int i = 0; i < kept->n_runs; i++)
        rb_arena_finish(&kept->runs[i].arena);
    free(kept->runs);
    free(kept);
}

size_t rb_kept_trials_bytes(const struct rb_kept_trials *kept)
{
    size_t bytes = 0;
    for (int i = 0; kept && i < kept->n_runs; i++)
        bytes += kept->runs[i].arena.used_bytes;
    return bytes;
}

static struct run *run_of(const struct rb_kept_trials *kept, uint32_t replicate)
{
    struct run *runs = kept->runs;
    for (int i = 0; i < kept->n_ranges; runs += kept->ranges[i++].n) {
        const uint32_t number = replicate - kept->ranges[i].first;
        if (replicate >= kept->ranges[i].first && number < (uint32_t)kept->ranges[i].n)
            return &runs[number];
    }
    return NULL;
}

static struct cell *create_cell(const struct rb_kept_trials *kept, struct run *run, int stage, int position,
                                uint32_t replicate, int64_t start, int64_t end)
{
    const size_t n_units = (size_t)(end - start);
    if (run->arena.used_bytes + sizeof(struct cell) + 2 * n_units * sizeof(double) > kept->most_bytes)
        return NULL;
    struct cell *cell = rb_arena_alloc(&run->arena, sizeof *cell);
    double *values = rb_arena_array(&run->arena, 2 * n_units + 1, sizeof *values);
    cell->start = start;
    cell->trial.metrics = values + n_units;
    rb_drawn_trial_init(&cell->trial.drawn, kept->scenario, stage, position, replicate, values, end - start);
    return cell;
}

struct rb_kept_trial *rb_kept_trials_get(struct rb_kept_trials *kept, int stage, int position, uint32_t replicate,
                                         int64_t start, int64_t end)
{
    struct run *run =
        kept && position < kept->n_positions && stage < kept->scenario->stages.n ? run_of(kept, replicate) : NULL;
    if (!run)
        return NULL;
    const size_t n_cells = (size_t)kept->n_positions * (size_t)kept->scenario->stages.n;
    if (!run->cells && n_cells * sizeof *run->cells > kept->most_bytes / 2)
        return NULL;
    if (!run->cells)
        run->cells = rb_arena_array(&run->arena, n_cells, sizeof *run->cells);
    struct cell **cell = &run->cells[stage * kept->n_positions + position];
    if (!*cell)
        *cell = create_cell(kept, run, stage, position, replicate, start, end);
    return *cell && (*cell)->start == start && (*cell)->trial.drawn.cap >= end - start ? &(*cell)->trial : NULL;
}

double rb_kept_trials_metric(const struct rb_kept_trials *kept, struct rb_kept_trial *trial, int position,
                             uint32_t replicate, int64_t start, int64_t resource)
{
    const struct rb_scenario *s = kept->scenario;
    for (; start + trial->n_metrics < resource; trial->n_metrics++)
        trial->metrics[trial->n_metrics] =
            rb_synthetic_curve(s->seed, replicate, s->job->goal, position, start + trial->n_metrics + 1);
    return trial->metrics[resource - start - 1];
}
