#include "simulator/stage/common_draws.h"

#include "engine/core/placement.h"
#include "simulator/sampler/sampler_lanes.h"

#include <stdlib.h>
#include <string.h>

#define N          RB_COMMON_REPLICATES
#define MOST_STEPS 16384 // trials x slots: every start sorts one end among the slots
#define AT_ONCE    32    // replicates side by side, for the sake of vectors
#define ROW        (N * sizeof(float))

enum stream { WORK, OVERHEAD, ARRIVAL }; // of the draws of one stage

// A number drawn for each of n trials or nodes, in every replicate.
struct rows {
    int n;
    float *drawn; // [n][N]; NULL: always the mean
    double mean_s;
};

struct trials {
    bool known, smooth;
    struct rows work, overhead; // a trial takes overhead + unit_s x work
    struct rb_common_draw total, longest;
};

// Of nodes that are requested together.
struct batch {
    float *sorted; // [new nodes][N]
    struct rb_common_draw mean;
};

struct arrivals {
    const struct rb_provisioning *provisioning;
    struct rows rows;
    struct batch *batches; // [rows.n + 1], by their number; sorted NULL: not made
    bool smooth;
    struct arrivals *next;
};

struct rb_common_draws {
    const struct rb_scenario *scenario;
    struct rb_stage_times *times;
    struct trials trials[RB_LIMIT_STAGES];
    struct arrivals *arrivals;
    struct rb_arena arena;
};

struct rb_common_draws *rb_common_draws_create(const struct rb_scenario *s, struct rb_stage_times *times)
{
    struct rb_common_draws *d = rb_xcalloc(1, sizeof *d);
    d->scenario = s;
    d->times = times;
    rb_arena_init(&d->arena);
    return d;
}

void rb_common_draws_destroy(struct rb_common_draws *d)
{
    if (!d)
        return;
    rb_arena_finish(&d->arena);
    free(d);
}

// ---- draws

static bool is_constant(const struct rb_law *law)
{
    return law->n == 1;
}

static bool is_smooth(const struct rb_law *law)
{
    return is_constant(law) || !(law->jump > 0);
}

// A law whose quantiles are asked for one after the other, each not far from the last one.
struct walk {
    const struct rb_law *law;
    int *at; // the cell of the last quantile
};

static double walk_to(const void *ctx, double u)
{
    const struct walk *w = ctx;
    const bool lower = u < 0.5;
    const double *values = lower ? w->law->below : w->law->above, wanted = lower ? u : 1 - u, sign = lower ? 1 : -1;
    int i = *w->at;
    while (i > 0 && sign * values[i] > sign * wanted)
        i--;
    while (i + 2 < w->law->n && sign * values[i + 1] < sign * wanted)
        i++;
    *w->at = i;
    const double rise = values[i + 1] - values[i], share = sign * rise > 0 ? (wanted - values[i]) / rise : 1;
    return w->law->low_s + w->law->step_s * (i + (share < 0 ? 0 : share > 1 ? 1 : share));
}

static void draw_rows(struct rb_common_draws *d, const struct rb_law *law, int n, enum stream stream, int stage,
                      struct rows *out)
{
    int at = 0;
    const struct walk walk = {law, &at};
    *out = (struct rows){.n = n, .mean_s = law->mean_s};
    if (is_constant(law))
        return;
    out->drawn = rb_arena_alloc(&d->arena, (size_t)n * ROW);
    struct rb_sampler_table table;
    rb_sampler_table_fill(&table, walk_to, &walk);
    for (int block = 0; block < N / LANES; block++) {
        struct lane_stream g =
            lane_stream_of(d->scenario->seed, (uint32_t)block, (uint32_t)(3 * stage + (int)stream + 2));
        for (int k = 0; k < n; k++)
            lanes_store(out->drawn + (size_t)k * N + block * LANES, draw_lanes(&g, &table));
    }
}

static void add_rows(float *restrict sum, const float *restrict row, float factor)
{
    for (int r = 0; r < N; r++)
        sum[r] += factor * row[r];
}

static void summarize(struct rb_common_draws *d, const struct rb_law *work, struct trials *t)
{
    t->total = (struct rb_common_draw){rb_arena_alloc(&d->arena, ROW), t->work.n * work->mean_s};
    t->longest.seconds = rb_arena_alloc(&d->arena, ROW);
    for (int k = 0; k < t->work.n; k++) {
        const float *row = t->work.drawn + (size_t)k * N;
        add_rows(t->total.seconds, row, 1);
        for (int r = 0; r < N; r++)
            t->longest.seconds[r] = row[r] > t->longest.seconds[r] ? row[r] : t->longest.seconds[r];
    }
    struct rb_arena scratch;
    rb_arena_init(&scratch);
    t->longest.mean_s = rb_law_largest_of(work, t->work.n, &scratch).mean_s;
    rb_arena_finish(&scratch);
}

static struct trials *get_trials(struct rb_common_draws *d, int stage)
{
    struct trials *t = &d->trials[stage];
    const struct rb_rung *rung = &d->scenario->stages.rungs[stage];
    if (t->known)
        return t;
    t->known = true;
    const struct rb_profile *profile = d->scenario->profile;
    const struct rb_law *work = rb_stage_times_work(d->times, profile, rb_scenario_rung_units(d->scenario, stage));
    const struct rb_law *overhead = rb_stage_times_overhead(d->times, profile);
    t->smooth = is_smooth(work) && is_smooth(overhead);
    if (!t->smooth || rung->trials > MOST_STEPS)
        return t;
    draw_rows(d, work, rung->trials, WORK, stage, &t->work);
    draw_rows(d, overhead, rung->trials, OVERHEAD, stage, &t->overhead);
    if (t->work.drawn)
        summarize(d, work, t);
    return t;
}

// All stages see the same arrivals: they are never added up.
static struct arrivals *get_arrivals(struct rb_common_draws *d, int offer, int n)
{
    const struct rb_provisioning *p = d->scenario->sim_offers[offer].provisioning;
    for (struct arrivals *a = d->arrivals; a; a = a->next) {
        if (a->provisioning == p && (!a->smooth || a->rows.n >= n))
            return a;
    }
    struct arrivals *a = rb_arena_alloc(&d->arena, sizeof *a);
    const struct rb_law *law = rb_stage_times_arrival(d->times, p);
    const int most = n > 16 ? 2 * n : 32;
    *a = (struct arrivals){.provisioning = p, .smooth = is_smooth(law), .next = d->arrivals};
    if (a->smooth)
        draw_rows(d, law, most, ARRIVAL, 0, &a->rows);
    a->batches = rb_arena_array(&d->arena, (size_t)a->rows.n + 1, sizeof *a->batches);
    d->arrivals = a;
    return a;
}

// One row more among sorted ones.
static void sort_in(float *rows, int n, const float *row)
{
    float moved[N];
    memcpy(moved, row, sizeof moved);
    for (int i = 0; i < n; i++) {
        float *at = rows + (size_t)i * N;
        for (int r = 0; r < N; r++) {
            const float here = at[r], other = moved[r];
            at[r] = here < other ? here : other;
            moved[r] = here > other ? here : other;
        }
    }
    memcpy(rows + (size_t)n * N, moved, sizeof moved);
}

// Of fewer nodes, as many as there are a batch of already: sorted[0, n), and their sum. Returns n.
static int begin_batch(const struct arrivals *a, int most, float *sorted, float *sum)
{
    int n = most;
    while (n > 0 && !a->batches[n].sorted)
        n--;
    if (n > 0) {
        memcpy(sorted, a->batches[n].sorted, (size_t)n * ROW);
        add_rows(sum, a->batches[n].mean.seconds, (float)n);
    }
    return n;
}

static const struct batch *get_batch(struct rb_common_draws *d, int offer, int n)
{
    struct arrivals *a = get_arrivals(d, offer, n);
    struct batch *b = &a->batches[n];
    if (b->sorted)
        return b;
    float *sorted = rb_arena_alloc(&d->arena, (size_t)n * ROW), *mean = rb_arena_alloc(&d->arena, ROW);
    for (int i = a->rows.drawn ? begin_batch(a, n, sorted, mean) : n; i < n; i++) {
        sort_in(sorted, i, a->rows.drawn + (size_t)i * N);
        add_rows(mean, a->rows.drawn + (size_t)i * N, 1);
    }
    for (int r = 0; r < N; r++)
        mean[r] /= (float)n;
    for (int r = 0; r < n * N && !a->rows.drawn; r++)
        sorted[r] = (float)a->rows.mean_s;
    *b = (struct batch){sorted, {mean, a->rows.mean_s}};
    return b;
}

// ---- the dynamic schedule

struct layout {
    const struct trials *trials;
    float unit_s;
    const struct batch *batch; // of the new nodes; NULL: there are none
    int n_trials, n_slots, kept, slots_per_node, nodes_per_slot;
};

static struct layout describe(struct rb_common_draws *d, const struct rb_stage_work *work, double unit_s)
{
    const int per_node = d->scenario->offers[work->offer].gpus,
              n_trials = d->scenario->stages.rungs[work->stage].trials;
    const int slots = rb_placement_capacity(work->nodes, per_node, work->gpus);
    return (struct layout){
        .trials = get_trials(d, work->stage),
        .unit_s = (float)unit_s,
        .batch = work->nodes > work->kept ? get_batch(d, work->offer, work->nodes - work->kept) : NULL,
        .n_trials = n_trials,
        .n_slots = slots < n_trials ? slots : n_trials,
        .kept = work->kept,
        .slots_per_node = work->gpus < per_node ? per_node / work->gpus : 1,
        .nodes_per_slot = work->gpus > per_node ? (work->gpus + per_node - 1) / per_node : 1,
    };
}

// A slot opens when the last of its nodes is ready; those that are ready already come first.
static void open_slots(const struct layout *y, int first, float *free_s)
{
    for (int slot = 0; slot < y->n_slots; slot++) {
        const int node = y->nodes_per_slot == 1 ? slot / y->slots_per_node : (slot + 1) * y->nodes_per_slot - 1;
        if (node < y->kept)
            memset(free_s + slot * AT_ONCE, 0, AT_ONCE * sizeof *free_s);
        else
            memcpy(free_s + slot * AT_ONCE, y->batch->sorted + (size_t)(node - y->kept) * N + first,
                   AT_ONCE * sizeof *free_s);
    }
}

static void add_duration(const struct layout *y, int trial, int first, float *at)
{
    const struct rows *work = &y->trials->work, *overhead = &y->trials->overhead;
    const size_t row = (size_t)trial * N + (size_t)first;
    for (int r = 0; r < AT_ONCE; r++)
        at[r] += y->unit_s * (work->drawn ? work->drawn[row + (size_t)r] : (float)work->mean_s);
    for (int r = 0; r < AT_ONCE; r++)
        at[r] += overhead->drawn ? overhead->drawn[row + (size_t)r] : (float)overhead->mean_s;
}

// An end takes its place among the n sorted rows after the first, which is gone.
static void replace_first(float *rows, int n, float *end)
{
    for (int i = 1; i < n; i++) {
        float *at = rows + (i - 1) * AT_ONCE;
        for (int r = 0; r < AT_ONCE; r++) {
            const float next = at[AT_ONCE + r], moved = end[r];
            at[r] = next < moved ? next : moved;
            end[r] = next > moved ? next : moved;
        }
    }
    memcpy(rows + (n - 1) * AT_ONCE, end, AT_ONCE * sizeof *end);
}

// The next trial always takes the first slot; no more of them count than there are trials left.
static void run_some(const struct layout *y, int first, float *free_s, float *latest)
{
    open_slots(y, first, free_s);
    memset(latest, 0, AT_ONCE * sizeof *latest);
    for (int k = 0; k < y->n_trials; k++) {
        float end[AT_ONCE];
        const int left = y->n_trials - k;
        memcpy(end, free_s, sizeof end);
        add_duration(y, k, first, end);
        for (int r = 0; r < AT_ONCE; r++)
            latest[r] = end[r] > latest[r] ? end[r] : latest[r];
        replace_first(free_s, left < y->n_slots ? left : y->n_slots, end);
    }
}

bool rb_common_draws_apply(struct rb_common_draws *d, const struct rb_stage_work *work)
{
    const int64_t n_trials = d->scenario->stages.rungs[work->stage].trials;
    const int slots = rb_placement_capacity(work->nodes, d->scenario->offers[work->offer].gpus, work->gpus);
    if (n_trials * (slots < n_trials ? slots : n_trials) > MOST_STEPS || !get_trials(d, work->stage)->smooth)
        return false;
    return work->nodes == work->kept || get_arrivals(d, work->offer, work->nodes - work->kept)->smooth;
}

bool rb_common_draws_run(struct rb_common_draws *d, const struct rb_stage_work *work, float *out_s, struct rb_err *err)
{
    double unit_s;
    if (!rb_scenario_unit_s(d->scenario, work->offer, work->gpus, &unit_s, err))
        return false;
    const struct layout y = describe(d, work, unit_s);
    RB_AUTO(rb_auto_free) float *free_s = rb_xcalloc((size_t)y.n_slots * AT_ONCE, sizeof *free_s);
    for (int first = 0; first < N; first += AT_ONCE)
        run_some(&y, first, free_s, out_s + first);
    return true;
}

int rb_common_draws_known(struct rb_common_draws *d, const struct rb_stage_work *work,
                          struct rb_common_draw out[RB_COMMON_KNOWN])
{
    const struct trials *t = get_trials(d, work->stage);
    int n = 0;
    if (t->work.drawn) {
        out[n++] = t->total;
        out[n++] = t->longest;
    }
    if (work->nodes > work->kept) {
        const struct batch *b = get_batch(d, work->offer, work->nodes - work->kept);
        if (get_arrivals(d, work->offer, work->nodes - work->kept)->rows.drawn)
            out[n++] = b->mean;
    }
    return n;
}
