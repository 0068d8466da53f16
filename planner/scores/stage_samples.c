#include "planner/scores/stage_samples.h"

#include "planner/async/endless.h"
#include "simulator/sampler/table_runs.h"
#include "simulator/stage/stage_run.h"
#include "simulator/laws/trial_laws.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#define FIRST_SLOTS  256 // of the hash table; doubles when three quarters full
#define LATE_SIGMA   4.0 // a choice that is just good enough is dropped once in 30000
#define MOST_AT_ONCE 64  // runs between two checks of how many are late

struct entry {
    uint64_t key;                   // 0: empty
    struct rb_stage_sample *sample; // in the arena: it stays where it is when the table grows
};

struct rb_stage_samples {
    const struct rb_scenario *scenario;
    struct rb_workspace *workspace;
    struct rb_sampler_tables *tables;
    int n, need;
    int64_t deadline_us, until_us; // RB_STAGE_RUN_TO_THE_END: none
    double confidence;
    struct entry *entries;
    size_t n_slots, n_used;
    struct rb_arena arena; // the samples
    double *scratch;       // [n]
};

struct rb_stage_samples *rb_stage_samples_create(const struct rb_search *search, int n, int need)
{
    struct rb_stage_samples *samples = rb_xcalloc(1, sizeof *samples);
    samples->scenario = search->scenario;
    samples->tables = rb_trial_laws_tables(search->laws);
    samples->workspace = rb_workspace_create();
    samples->n = n;
    samples->need = need;
    samples->deadline_us = samples->until_us = RB_STAGE_RUN_TO_THE_END;
    samples->n_slots = FIRST_SLOTS;
    samples->entries = rb_xcalloc(samples->n_slots, sizeof *samples->entries);
    samples->scratch = rb_xcalloc((size_t)n, sizeof *samples->scratch);
    rb_arena_init(&samples->arena);
    return samples;
}

void rb_stage_samples_limit(struct rb_stage_samples *samples, int64_t deadline_us, double confidence, int64_t until_us)
{
    samples->deadline_us = deadline_us;
    samples->confidence = confidence;
    samples->until_us = until_us;
}

void rb_stage_samples_destroy(struct rb_stage_samples *samples)
{
    if (!samples)
        return;
    rb_workspace_destroy(samples->workspace);
    rb_arena_finish(&samples->arena);
    free(samples->entries);
    free(samples->scratch);
    free(samples);
}

int rb_stage_samples_n(const struct rb_stage_samples *samples)
{
    return samples->n;
}

int rb_choice_kept(const struct rb_choice *before, const struct rb_choice *choice)
{
    if (!before || before->offer != choice->offer)
        return 0;
    return before->nodes < choice->nodes ? before->nodes : choice->nodes;
}

// --- the hash table

// The key fits by limits.h: 64 stages, 256 offers, 16384 nodes; a gang is never larger than 2^20 GPUs.
static uint64_t key_of(int stage, const struct rb_choice *c, int kept)
{
    return ((((uint64_t)stage << 8 | (uint64_t)c->offer) << 20 | (uint64_t)c->gpus) << 15 | (uint64_t)c->nodes) << 15 |
           (uint64_t)kept;
}

static struct entry *find(struct entry *entries, size_t n_slots, uint64_t key)
{
    size_t i = (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (n_slots - 1);
    while (entries[i].key != 0 && entries[i].key != key)
        i = (i + 1) & (n_slots - 1);
    return &entries[i];
}

static void grow(struct rb_stage_samples *samples)
{
    size_t n_slots = 2 * samples->n_slots;
    struct entry *entries = rb_xcalloc(n_slots, sizeof *entries);
    for (size_t i = 0; i < samples->n_slots; i++) {
        if (samples->entries[i].key != 0)
            *find(entries, n_slots, samples->entries[i].key) = samples->entries[i];
    }
    free(samples->entries);
    samples->entries = entries;
    samples->n_slots = n_slots;
}

// --- sampling

// Hoare's selection, middle pivot: deterministic.
void rb_select_low(double *values, int n, int n_low)
{
    int low = 0, high = n - 1;
    while (low < high) {
        const double pivot = values[low + (high - low) / 2];
        int i = low, j = high;
        while (i <= j) {
            while (values[i] < pivot)
                i++;
            while (values[j] > pivot)
                j--;
            if (i <= j) {
                const double swap = values[i];
                values[i++] = values[j];
                values[j--] = swap;
            }
        }
        if (n_low <= j)
            high = j;
        else if (n_low >= i)
            low = i;
        else
            break;
    }
}

// Mean of the `need` smallest, and of all.
static double low_mean(struct rb_stage_samples *samples, const double *values, double *out_mean)
{
    double sum = 0, low = 0;
    for (int r = 0; r < samples->n; r++)
        sum += samples->scratch[r] = values[r];
    if (samples->need > 0)
        rb_select_low(samples->scratch, samples->n, samples->need);
    for (int r = 0; r < samples->need; r++)
        low += samples->scratch[r];
    *out_mean = sum / samples->n;
    return samples->need > 0 ? low / samples->need : 0;
}

// True if too many of the first n runs are late for a choice that is late as often as allowed.
static bool is_hopeless(const struct rb_stage_samples *samples, const double *time_us, int n)
{
    const double late = 1 - samples->confidence;
    int n_late = 0;
    if (samples->deadline_us == RB_STAGE_RUN_TO_THE_END)
        return false;
    for (int r = 0; r < n; r++)
        n_late += time_us[r] > (double)samples->deadline_us;
    return n_late > 0.5 + n * late + LATE_SIGMA * sqrt(n * late * samples->confidence);
}

// *out_ends false: it does not finish, or too late.
static bool run(struct rb_stage_samples *samples, int stage, const struct rb_choice *c, int kept, double *time_us,
                double *cost_uusd, bool *out_ends, struct rb_err *err)
{
    const struct rb_plan_nodes nodes = {c->offer, c->nodes};
    const struct rb_plan_stage plan = rb_scenario_stage(samples->scenario, stage, c->gpus, &nodes);
    struct rb_err why = {0};
    *out_ends = true;
    if (rb_table_runs_apply(samples->scenario, &plan, 1, stage, samples->tables)) {
        const struct rb_table_runs runs = {.n = samples->n, .threads = 1};
        if (!rb_table_runs_of_stage(samples->scenario, stage, &plan, kept, &runs, samples->tables, time_us, cost_uusd,
                                    err))
            return false;
        *out_ends = !is_hopeless(samples, time_us, samples->n);
        return true;
    }
    for (int made = 0; made < samples->n && *out_ends;) {
        const int more = made < MOST_AT_ONCE ? 1 + made / 4 : MOST_AT_ONCE, left = samples->n - made;
        const struct rb_stage_runs runs = {
            .n_kept = kept, .first = made, .n = more < left ? more : left, .until_us = samples->until_us};
        *out_ends = rb_stage_run(samples->scenario, stage, &plan, &runs, samples->workspace, time_us + made,
                                 cost_uusd + made, &why);
        if (!*out_ends && why.code != RB_ERR_INFEASIBLE) {
            *err = why;
            return false;
        }
        made += runs.n;
        *out_ends = *out_ends && !is_hopeless(samples, time_us, made);
    }
    return true;
}

// Summarises both vectors and stores them in the table.
static const struct rb_stage_sample *keep(struct rb_stage_samples *samples, uint64_t key, const double *time_us,
                                          const double *cost_uusd)
{
    if (4 * (samples->n_used + 1) > 3 * samples->n_slots)
        grow(samples);
    struct rb_stage_sample *s = rb_arena_alloc(&samples->arena, sizeof *s);
    s->time_us = time_us;
    s->cost_uusd = cost_uusd;
    s->time_low_us = low_mean(samples, time_us, &s->time_mean_us);
    s->cost_low_uusd = low_mean(samples, cost_uusd, &s->cost_mean_uusd);
    *find(samples->entries, samples->n_slots, key) = (struct entry){key, s};
    samples->n_used++;
    return s;
}

const struct rb_stage_sample *rb_stage_samples_get(struct rb_stage_samples *samples, int stage,
                                                   const struct rb_choice *choice, int kept, struct rb_err *err)
{
    uint64_t key = key_of(stage, choice, kept);
    const struct entry *e = find(samples->entries, samples->n_slots, key);
    if (e->key == key)
        return e->sample;
    double *time_us = rb_arena_array(&samples->arena, (size_t)samples->n, sizeof *time_us);
    double *cost_uusd = rb_arena_array(&samples->arena, (size_t)samples->n, sizeof *cost_uusd);
    bool ends;
    if (!run(samples, stage, choice, kept, time_us, cost_uusd, &ends, err))
        return NULL;
    for (int r = 0; r < samples->n && !ends; r++)
        time_us[r] = cost_uusd[r] = (double)rb_endless_estimate(samples->n).time_us.mean;
    return keep(samples, key, time_us, cost_uusd);
}

static const struct rb_stage_sample *known(const struct rb_stage_samples *samples, int stage,
                                           const struct rb_choice *choice, int kept)
{
    const struct entry *e = find(samples->entries, samples->n_slots, key_of(stage, choice, kept));
    assert(e->key != 0);
    return e->sample;
}

const struct rb_stage_sample *rb_stage_samples_between(struct rb_stage_samples *samples, int stage,
                                                       const struct rb_choice *choice, int kept, int low, int high)
{
    const struct rb_stage_sample *a = known(samples, stage, choice, low), *b = known(samples, stage, choice, high);
    const double share = (double)(kept - low) / (high - low);
    double *time_us = rb_arena_array(&samples->arena, (size_t)samples->n, sizeof *time_us);
    double *cost_uusd = rb_arena_array(&samples->arena, (size_t)samples->n, sizeof *cost_uusd);
    for (int r = 0; r < samples->n; r++) {
        time_us[r] = a->time_us[r] + share * (b->time_us[r] - a->time_us[r]);
        cost_uusd[r] = a->cost_uusd[r] + share * (b->cost_uusd[r] - a->cost_uusd[r]);
    }
    return keep(samples, key_of(stage, choice, kept), time_us, cost_uusd);
}
