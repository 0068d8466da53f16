// Chooses how a stage's law is computed, and keeps what was computed.
#include "simulator/stage/stage_time.h"

#include "simulator/list_schedule/gang_openings.h"
#include "simulator/list_schedule/list_schedule.h"
#include "simulator/one_wave/one_wave.h"
#include "simulator/one_wave/trial_law.h"
#include "simulator/sampler/sampler_tables.h"
#include "simulator/stage/stage_cache.h"
#include "simulator/stage/stage_pilot.h"
#include "simulator/stage/stage_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BILLED_AT_LEAST_S  60.0
#define NOT_LATE_S         0.02               // on average: nobody sees it
#define BOUND_STEPS        64                 // splits tried for a union bound
#define SCRATCH_KEPT       ((size_t)16 << 20) // bytes
#define CROWDED            256                // points of one stage's law ...
#define DENSE              24                 // ... with this many per standard deviation: every second one will do
#define PILOT_TRIALS       500000             // drawn for one pilot: some milliseconds ...
#define FINE_PILOT         4                  // times as many, where that is asked for
#define LEAST_PILOT        2048               // ... unless these samples are more: fewer tell too little of a law
#define COARSE_ACCURACY    1e-3               // of the dynamic schedule, where there is nothing at a finer one ...
#define COARSEST_ACCURACY  3e-3               // ... and what is taken where the one asked for is not reached
#define MOSTLY             4                  // so many times what the law of gangs itself errs by, their openings do
#define SURER_THAN_SAMPLES 0.4                // at 95 %, samples err by this share of what they err by at most ...
#define SURER_THAN_GANGS   0.5 // ... and gangs on new nodes by less than this one, their mean times included
#define GANGS_COME_LATE    "trials on several nodes wait for new ones that come over too long a time"
#define LARGE_ERRORS       4    // of a bound, to be looked at a second time ...
#define MATTERS            2e-4 // ... unless it is less than this

struct rb_stage_times {
    int pilot;
    struct rb_stage_cache cache;
    struct rb_workspace *workspace;
    struct rb_sampler_tables *tables; // NULL: none asked for yet
    struct rb_arena arena;            // laws and entries
    struct rb_arena scratch;
    int64_t made[RB_STAGE_PILOT + 1];
    int user; // whose requests are being served
    int64_t n_reused;
};

const char *rb_stage_method_name(enum rb_stage_method method)
{
    static const char *const names[] = {"one wave", "dynamic schedule", "pilot samples"};
    return names[method];
}

struct rb_stage_times *rb_stage_times_create(int pilot)
{
    struct rb_stage_times *times = rb_xcalloc(1, sizeof *times);
    times->pilot = pilot;
    times->workspace = rb_workspace_create();
    rb_arena_init(&times->arena);
    rb_arena_init(&times->scratch);
    return times;
}

void rb_stage_times_destroy(struct rb_stage_times *times)
{
    if (!times)
        return;
    rb_workspace_destroy(times->workspace);
    rb_sampler_tables_destroy(times->tables);
    rb_stage_cache_finish(&times->cache);
    rb_arena_finish(&times->scratch);
    rb_arena_finish(&times->arena);
    free(times);
}

// The largest jobs take a hundred megabytes for one law: that is given back.
static void clear_scratch(struct rb_stage_times *times)
{
    if (times->scratch.used_bytes > SCRATCH_KEPT)
        rb_arena_finish(&times->scratch);
    else
        rb_arena_reset(&times->scratch);
}

size_t rb_stage_times_bytes(const struct rb_stage_times *times)
{
    return times->arena.used_bytes;
}

int64_t rb_stage_times_made(const struct rb_stage_times *times, enum rb_stage_method method)
{
    return times->made[method];
}

bool rb_stage_times_apply(const struct rb_scenario *s, int offer, const char **out_why)
{
    const struct rb_sim_offer *o = &s->sim_offers[offer];
    *out_why = NULL;
    if (!o->usable)
        *out_why = o->why_not;
    else if (o->provisioning->preemption_per_hour > 0)
        *out_why = "nodes may be taken back";
    else
        *out_why = rb_scenario_beyond_laws(s, offer);
    return !*out_why;
}

// ---- the parts that stages share

static struct rb_law *new_law(struct rb_stage_times *times, struct rb_law law)
{
    struct rb_law *kept = rb_arena_alloc(&times->arena, sizeof *kept);
    *kept = law;
    return kept;
}

static struct rb_stage_key part_key(enum rb_stage_part part)
{
    struct rb_stage_key key;
    memset(&key, 0, sizeof key);
    key.part = part;
    return key;
}

const struct rb_law *rb_stage_times_work(struct rb_stage_times *times, const struct rb_profile *profile, int64_t units)
{
    struct rb_stage_key key = part_key(RB_PART_WORK);
    key.profile = profile;
    key.units = units;
    struct rb_stage_cache_entry *e = rb_stage_cache_find(&times->cache, &key, &times->arena);
    if (!e->value)
        e->value = new_law(times, rb_work_law(profile, units, &times->arena));
    return e->value;
}

const struct rb_law *rb_stage_times_overhead(struct rb_stage_times *times, const struct rb_profile *profile)
{
    struct rb_stage_key key = part_key(RB_PART_OVERHEAD);
    key.profile = profile;
    struct rb_stage_cache_entry *e = rb_stage_cache_find(&times->cache, &key, &times->arena);
    if (!e->value)
        e->value = new_law(times, rb_overhead_law(profile, &times->arena));
    return e->value;
}

const struct rb_law *rb_stage_times_trial(struct rb_stage_times *times, const struct rb_profile *profile, int64_t units,
                                          double unit_s)
{
    struct rb_stage_key key = part_key(RB_PART_TRIAL);
    key.profile = profile;
    key.units = units;
    key.unit_s = unit_s;
    struct rb_stage_cache_entry *e = rb_stage_cache_find(&times->cache, &key, &times->arena);
    if (!e->value)
        e->value = new_law(times, rb_trial_law_of(rb_stage_times_work(times, profile, units), unit_s,
                                                  rb_stage_times_overhead(times, profile), &times->arena));
    return e->value;
}

const struct rb_law *rb_stage_times_longest(struct rb_stage_times *times, const struct rb_profile *profile,
                                            int64_t units, double unit_s, int trials)
{
    struct rb_stage_key key = part_key(RB_PART_LONGEST);
    key.profile = profile;
    key.units = units;
    key.unit_s = unit_s;
    key.trials = trials;
    struct rb_stage_cache_entry *e = rb_stage_cache_find(&times->cache, &key, &times->arena);
    if (!e->value)
        e->value = new_law(
            times, rb_law_largest_of(rb_stage_times_trial(times, profile, units, unit_s), trials, &times->arena));
    return e->value;
}

static const struct rb_law *longest_law(struct rb_stage_times *times, const struct rb_stage_key *stage)
{
    return rb_stage_times_longest(times, stage->profile, stage->units, stage->unit_s, stage->trials);
}

static const struct rb_law *trial_law(struct rb_stage_times *times, const struct rb_stage_key *stage)
{
    return rb_stage_times_trial(times, stage->profile, stage->units, stage->unit_s);
}

struct rb_sampler_tables *rb_stage_times_tables(struct rb_stage_times *times)
{
    if (!times->tables)
        times->tables = rb_sampler_tables_create(times);
    return times->tables;
}

const struct rb_law *rb_stage_times_queue(struct rb_stage_times *times, const struct rb_provisioning *p)
{
    struct rb_stage_key key = part_key(RB_PART_QUEUE);
    key.provisioning = p;
    struct rb_stage_cache_entry *e = rb_stage_cache_find(&times->cache, &key, &times->arena);
    if (!e->value)
        e->value = new_law(times, rb_queue_law(p, &times->arena));
    return e->value;
}

const struct rb_law *rb_stage_times_arrival(struct rb_stage_times *times, const struct rb_provisioning *p)
{
    struct rb_stage_key key = part_key(RB_PART_ARRIVAL);
    key.provisioning = p;
    struct rb_stage_cache_entry *e = rb_stage_cache_find(&times->cache, &key, &times->arena);
    if (!e->value)
        e->value = new_law(times, rb_arrival_law(rb_stage_times_queue(times, p), p, &times->arena));
    return e->value;
}

// Of so many nodes requested, the arrival of the rank-th.
static const struct rb_law *ranked_law(struct rb_stage_times *times, const struct rb_provisioning *p, int rank,
                                       int nodes)
{
    struct rb_stage_key key = part_key(RB_PART_RANKED);
    key.provisioning = p;
    key.nodes = nodes;
    key.kept = rank;
    struct rb_stage_cache_entry *e = rb_stage_cache_find(&times->cache, &key, &times->arena);
    if (!e->value)
        e->value = new_law(times, rb_law_ranked(rb_stage_times_arrival(times, p), rank, nodes, &times->arena));
    return e->value;
}

// ---- what a stage is

struct stage {
    const struct rb_scenario *scenario;
    const struct rb_stage_work *work;
    struct rb_stage_key key;
    int nodes_per_trial, slots_per_node; // one of them is 1
    int slots, kept_slots;
};

static void count_slots(struct stage *st)
{
    const struct rb_stage_key *k = &st->key;
    st->nodes_per_trial = (k->gpus + k->gpus_per_node - 1) / k->gpus_per_node;
    st->slots_per_node = st->nodes_per_trial > 1 ? 1 : k->gpus_per_node / k->gpus;
    st->slots = k->nodes / st->nodes_per_trial * st->slots_per_node;
    st->kept_slots = k->kept / st->nodes_per_trial * st->slots_per_node;
}

static bool describe(const struct rb_scenario *s, const struct rb_stage_work *work, struct stage *out,
                     struct rb_err *err)
{
    const struct rb_sim_offer *o = &s->sim_offers[work->offer];
    const struct rb_rung *rung = &s->stages.rungs[work->stage];
    struct stage st = {.scenario = s, .work = work, .key = part_key(RB_PART_STAGE)};
    if (!rb_scenario_unit_s(s, work->offer, work->gpus, &st.key.unit_s, err))
        return false;
    st.key.profile = s->profile;
    st.key.provisioning = o->provisioning;
    st.key.units = rb_scenario_rung_units(s, work->stage);
    st.key.trials = rung->trials;
    st.key.gpus = work->gpus;
    st.key.gpus_per_node = o->offer->gpus;
    st.key.nodes = work->nodes;
    st.key.kept = work->kept < work->nodes ? work->kept : work->nodes;
    count_slots(&st);
    if (st.slots < 1)
        return rb_err_set(
            err, RB_E_SCENARIO_SIZE,
            "stage %d: a trial of %d GPUs needs %d nodes of %s (%d GPUs each), expected at least as many, "
            "got %d",
            work->stage, work->gpus, st.nodes_per_trial, o->offer->instance_type, o->offer->gpus, work->nodes);
    *out = st;
    return true;
}

// Of a stage of one wave: more nodes than its trials need?
static bool has_nodes_to_spare(const struct stage *st)
{
    const int needed = st->nodes_per_trial > 1 ? st->key.trials * st->nodes_per_trial
                                               : (st->key.trials + st->slots_per_node - 1) / st->slots_per_node;
    return st->key.nodes > needed;
}

static bool waits_for_gangs(const struct stage *st)
{
    return st->nodes_per_trial > 1 && st->slots > st->kept_slots;
}

static struct rb_gang gang_of(const struct stage *st)
{
    return (struct rb_gang){st->key.nodes - st->key.kept, st->nodes_per_trial, st->key.kept % st->nodes_per_trial};
}

static const char *why_not_schedule(const struct stage *st)
{
    const int new_gangs = (st->slots - st->kept_slots) / st->slots_per_node;
    if (st->nodes_per_trial == 1 || new_gangs == 0)
        return NULL;
    const int waiting = st->key.trials - st->kept_slots;
    if ((new_gangs < waiting ? new_gangs : waiting) <= RB_SCHEDULE_RANKED)
        return NULL;
    return "very many trials on several nodes wait for whichever new nodes come first";
}

// ---- bounds

// Where a node is not ready at the end, the stage is the one without it, whose end T' does not depend on the node's arrival A and
// is nowhere sooner: P(A > T) = P(A > T') <= E[1 - G(T)]. So for every t: P(some node is not ready at the end) <= P(T <= t) +
// min(nodes E[1 - G(T); T > t], P(latest arrival > t)). An arrival within a step counts as of its start.
static double unready_bound(const struct rb_law *end, const struct rb_law *arrival, int requested)
{
    if (requested == 0)
        return 0;
    double least = 1, later = 0, below_next = 1;
    const double low = fmin(end->low_s, arrival->low_s), high = arrival->low_s + arrival->step_s * (arrival->n - 1);
    for (int i = BOUND_STEPS; i >= 0; i--) {
        const double t = low + (high - low) * i / BOUND_STEPS;
        const double late = rb_law_above(arrival, t), below = rb_law_below(end, t);
        const double latest = late < 1 ? -expm1(requested * log1p(-late)) : 1;
        later += requested * late * (below_next - below);
        least = fmin(least, below + fmin(later + 2 * requested * late * end->error, latest));
        below_next = below;
    }
    return fmin(1, least + end->error + requested * arrival->tail_error + arrival->error);
}

struct late {
    double node_s, latest_s; // on average, of any one node and of the last of all
};

// Where a node comes at A > t >= T, T is the end without it, which does not depend on A and is nowhere sooner. So of n nodes
// P(latest > t >= T) <= P(T <= t) min(1, n P(A > t)), and the mean of latest - T is the integral of it.
static struct late late_bound(const struct rb_law *end, const struct rb_law *arrival, int n, double unready)
{
    const double low = end->low_s, high = arrival->low_s + arrival->step_s * (arrival->n - 1);
    const double step = (high - low) / BOUND_STEPS, most = fmax(0, unready * (high - low));
    struct late sum = {0, 0};
    if (most <= NOT_LATE_S)
        return (struct late){most, most};
    for (int i = 0; i < BOUND_STEPS; i++) {
        const double t = low + i * step, ended = step * rb_law_below(end, t + step), late = rb_law_above(arrival, t);
        sum.node_s += ended * late;
        sum.latest_s += ended * fmin(1, n * late);
    }
    return (struct late){fmin(sum.node_s, most), fmin(sum.latest_s, most)};
}

// P(end - running < 60 s) <= P(running > q) + P(end < 60 s + q), for every q.
static double short_lived_bound(const struct rb_law *end, const struct rb_law *queue, int requested)
{
    if (requested == 0)
        return 0;
    double least = 1;
    const double high = queue->low_s + queue->step_s * (queue->n - 1);
    for (int i = 0; i <= BOUND_STEPS; i++) {
        const double q = queue->low_s + (high - queue->low_s) * i / BOUND_STEPS;
        least = fmin(least, rb_law_above(queue, q) + rb_law_below(end, BILLED_AT_LEAST_S + q));
    }
    return fmin(1, least + end->error + queue->error);
}

// Both laws are below the stage's time draw by draw: no trial outlasts the stage, and no more than `slots` run at once. The
// work of all is the same for any number of them.
static const struct rb_law *floor_law(struct rb_stage_times *times, const struct rb_stage_key *key,
                                      const struct rb_law *trial)
{
    struct rb_stage_cache_entry *e = rb_stage_cache_find(&times->cache, key, &times->arena);
    struct rb_stage_key alone = *key;
    if (e->value)
        return e->value;
    struct rb_law floor = *longest_law(times, key);
    alone.slots = 1;
    if (trial->mean_s * key->trials > floor.mean_s * key->slots)
        floor = key->slots == 1 ? rb_law_sum_of(trial, key->trials, &times->arena)
                                : rb_law_times(floor_law(times, &alone, trial), 1.0 / key->slots, &times->arena);
    e->value = new_law(times, floor);
    return e->value;
}

static const struct rb_law *floor_of(struct rb_stage_times *times, const struct stage *st)
{
    struct rb_stage_key key = part_key(RB_PART_FLOOR);
    key.profile = st->key.profile;
    key.units = st->key.units;
    key.unit_s = st->key.unit_s;
    key.trials = st->key.trials;
    key.slots = st->slots < st->key.trials ? st->slots : st->key.trials;
    return floor_law(times, &key, trial_law(times, &st->key));
}

// ---- laws of stages

static struct rb_stage_time *keep_time(struct rb_stage_times *times, const struct stage *st, struct rb_law law,
                                       enum rb_stage_method method, const char *why)
{
    const struct rb_provisioning *p = st->key.provisioning;
    const struct rb_law *arrival = rb_stage_times_arrival(times, p);
    const int requested = st->key.nodes - st->key.kept;
    struct rb_stage_time *t = rb_arena_alloc(&times->arena, sizeof *t);
    double unready = unready_bound(&law, arrival, requested);
    if (unready > MATTERS &&
        unready <= LARGE_ERRORS * law.error) // hardly more than the law errs by: its floor errs less
        unready = fmin(unready, unready_bound(floor_of(times, st), arrival, requested));
    if (method == RB_STAGE_ONE_WAVE && !has_nodes_to_spare(st)) // the last of them carries a trial, or one ended early
        unready = fmin(unready, law.error);
    const struct late late = late_bound(&law, rb_stage_times_arrival(times, p), requested, unready);
    *t = (struct rb_stage_time){
        .law = law,
        .method = method,
        .why = why,
        .body_error = method == RB_STAGE_SCHEDULE && waits_for_gangs(st) ? law.error : 0,
        .unready = unready,
        .late_mean_s = late.latest_s,
        .late_node_mean_s = late.node_s,
        .short_lived = short_lived_bound(&law, rb_stage_times_queue(times, p), requested),
        .queue_mean_s = rb_queue_mean_s(p),
    };
    times->made[method]++;
    return t;
}

// Every second point of a crowded grid: thousands of stages are kept, and their transforms cost what they have points.
static struct rb_law thinned(const struct rb_law *law, struct rb_arena *arena)
{
    const int stride = law->n > CROWDED && sqrt(law->variance_s2) > DENSE * law->step_s ? 2 : 1;
    struct rb_law thin = *law;
    thin.n = (law->n - 1) / stride + 1;
    thin.step_s = law->step_s * stride;
    double *below = rb_arena_array(arena, (size_t)thin.n, sizeof *below);
    double *above = rb_arena_array(arena, (size_t)thin.n, sizeof *above);
    for (int i = 0; i < thin.n; i++) {
        below[i] = law->below[i * stride];
        above[i] = law->above[i * stride];
    }
    below[thin.n - 1] = 1; // what an even number of points leaves over is less than the grid cuts off
    above[thin.n - 1] = 0;
    thin.below = below;
    thin.above = above;
    return thin;
}

// With nothing kept and one node to come, all slots open together: its arrival, then the schedule of open slots.
static bool law_after_arrival(struct rb_stage_times *times, const struct rb_list_schedule *schedule, double accuracy,
                              struct rb_law *out)
{
    struct rb_list_schedule open = *schedule;
    const char *why;
    struct rb_law law;
    open.open_slots = schedule->slots_per_node < schedule->n_trials ? schedule->slots_per_node : schedule->n_trials;
    open.new_nodes = 0;
    open.ranked = NULL;
    if (open.open_slots == open.n_trials)
        law = rb_law_largest_of(open.trial, open.n_trials, &times->scratch);
    else if (!rb_list_schedule_law(&open, accuracy / 2, accuracy, &times->scratch, &law, &why)) // the sum errs, too
        return false;
    law = rb_law_plus(rb_schedule_opening(schedule, 0), &law, &times->scratch);
    if (law.error > accuracy)
        return false;
    *out = law;
    return true;
}

// One wave on new nodes, if it errs by no more than `worst`.
static bool wave_law(struct rb_stage_times *times, const struct stage *st, double accuracy, double worst,
                     struct rb_law *out)
{
    const struct rb_one_wave wave = {
        .trial = trial_law(times, &st->key),
        .n_trials = st->key.trials,
        .open_slots = st->kept_slots,
        .arrival = rb_stage_times_arrival(times, st->key.provisioning),
        .new_nodes = st->key.nodes - st->key.kept,
        .nodes_per_slot = st->nodes_per_trial,
        .nodes_left = st->key.kept % st->nodes_per_trial,
        .slots_per_node = st->slots_per_node,
    };
    const char *why;
    struct rb_law law;
    if (st->slots < st->key.trials)
        return false;
    const bool ok = rb_one_wave_law(&wave, accuracy, worst, &times->scratch, &law, &why);
    if (ok)
        *out = thinned(&law, &times->arena);
    clear_scratch(times);
    return ok;
}

static int pilot_samples(const struct rb_stage_times *times, const struct stage *st)
{
    const int enough = PILOT_TRIALS / st->key.trials;
    const int n = enough > LEAST_PILOT ? enough : LEAST_PILOT;
    return n < times->pilot ? n : times->pilot;
}

// About as much, more often more: what all slots do on average, and one trial. Of gangs, that open by laws of their own.
static double end_varies_by_s2(const struct rb_list_schedule *s, const struct rb_law *const *openings, int slots)
{
    double openings_s2 = 0;
    for (int i = 0; i < s->new_nodes; i++)
        openings_s2 += openings[i]->variance_s2;
    const double waves = (double)s->n_trials / slots;
    return s->trial->variance_s2 * (1 + waves / slots) + openings_s2 / ((double)slots * slots);
}

// *out_why: NULL where the accuracy is reached.
static bool law_of_schedule(struct rb_stage_times *times, const struct rb_list_schedule *schedule, double accuracy,
                            struct rb_law *out, const char **out_why)
{
    const bool together = schedule->open_slots == 0 && schedule->new_nodes == 1;
    *out_why = NULL;
    return (together && law_after_arrival(times, schedule, accuracy, out)) ||
           rb_list_schedule_law(schedule, accuracy, COARSEST_ACCURACY, &times->scratch, out, out_why);
}

// `known`: as made for a coarser request, or NULL.
static bool schedule_law(struct rb_stage_times *times, const struct stage *st, const struct rb_stage_time *known,
                         double accuracy, struct rb_law *out, const char **out_why)
{
    const struct rb_law *arrival = rb_stage_times_arrival(times, st->key.provisioning), *openings[RB_SCHEDULE_RANKED];
    struct rb_law ranked[RB_SCHEDULE_RANKED];
    struct rb_list_schedule schedule = {
        .trial = trial_law(times, &st->key),
        .n_trials = st->key.trials,
        .open_slots = st->kept_slots < st->key.trials ? st->kept_slots : st->key.trials,
        .new_nodes = (st->slots - st->kept_slots) / st->slots_per_node,
        .slots_per_node = st->slots_per_node,
        .arrival = arrival,
    };
    *out_why = why_not_schedule(st);
    if (*out_why)
        return false;
    const bool gangs = waits_for_gangs(st);
    const struct rb_gang gang = gang_of(st);
    if (gangs) { // no more slots than trials that wait are ever used
        const int waiting = st->key.trials - st->kept_slots;
        schedule.new_nodes = schedule.new_nodes < waiting ? schedule.new_nodes : waiting;
        schedule.ranked = ranked;
        for (int i = 0; i < schedule.new_nodes; i++) {
            openings[i] = ranked_law(times, st->key.provisioning, rb_gang_rank(&gang, i), gang.new_nodes);
            ranked[i] = *openings[i];
        }
    }
    const double samples = SURER_THAN_SAMPLES * rb_law_samples_error(pilot_samples(times, st));
    if (gangs && SURER_THAN_GANGS * rb_gang_dependence_error(&gang, openings, schedule.new_nodes, st->slots,
                                                             end_varies_by_s2(&schedule, openings, st->slots)) >=
                     samples) {
        *out_why = GANGS_COME_LATE;
        return false;
    }
    const bool is_known = known && known->method == RB_STAGE_SCHEDULE;
    if (is_known && known->law.error <= accuracy * 1.5) {
        *out = known->law;
        return true;
    }
    struct rb_law law;
    bool ok = law_of_schedule(times, &schedule, accuracy, &law, out_why);
    if (!ok && !is_known && accuracy < COARSE_ACCURACY) { // rather than samples
        clear_scratch(times);
        ok = law_of_schedule(times, &schedule, COARSE_ACCURACY, &law, out_why);
    }
    if (ok)
        *out = thinned(&law, &times->arena);
    clear_scratch(times);
    if (ok && gangs)
        out->error += rb_gang_dependence_error(&gang, openings, schedule.new_nodes, st->slots, out->variance_s2);
    if (is_known && (!ok || known->law.error <= out->error)) {
        *out = known->law;
        return true;
    }
    const bool reached = ok && !*out_why;
    if (ok)
        *out_why = GANGS_COME_LATE;
    return ok && ((gangs ? SURER_THAN_GANGS * out->error : out->error) < samples || (!gangs && reached));
}

// Where nothing is random, one run is the law.
static bool is_certain(struct rb_stage_times *times, const struct stage *st)
{
    return trial_law(times, &st->key)->n == 1 &&
           (st->key.kept == st->key.nodes || rb_stage_times_arrival(times, st->key.provisioning)->n == 1);
}

// To the microsecond.
static bool run_once(struct rb_stage_times *times, const struct stage *st, const struct rb_plan_stage *plan,
                     double *out_s, struct rb_err *err)
{
    const struct rb_stage_runs one = {.n_kept = st->key.kept, .n = 1, .until_us = RB_STAGE_RUN_TO_THE_END};
    double time_us, cost_uusd;
    if (!rb_stage_run(st->scenario, st->work->stage, plan, &one, times->workspace, &time_us, &cost_uusd, err))
        return false;
    *out_s = time_us / (double)RB_US_PER_S;
    return true;
}

static bool run_pilot(struct rb_stage_times *times, const struct stage *st, int n, struct rb_law *out,
                      struct rb_err *err)
{
    const struct rb_plan_nodes nodes = {st->work->offer, st->key.nodes};
    const struct rb_plan_stage plan = rb_scenario_stage(st->scenario, st->work->stage, st->key.gpus, &nodes);
    RB_AUTO(rb_auto_free) double *seconds = rb_xcalloc((size_t)n, sizeof *seconds);
    if (st->work->stage == 0 && st->key.kept > 0)
        return rb_err_set(err, RB_E_SCENARIO_SIZE, "stage 0: no node can be kept from a stage before it, got %d",
                          st->key.kept);
    if (is_certain(times, st)) {
        if (!run_once(times, st, &plan, seconds, err))
            return false;
    } else if (!rb_stage_pilot(st->scenario, st->work->stage, &plan, st->key.kept, rb_stage_times_tables(times), n,
                               seconds, err)) {
        return false;
    }
    *out = rb_law_of_samples(seconds, n, &times->arena);
    return true;
}

static const struct rb_stage_time *pilot_time(struct rb_stage_times *times, struct stage *st, const char *why,
                                              struct rb_err *err)
{
    const bool certain = is_certain(times, st), finely = st->work->finely && !certain;
    struct rb_stage_key key = st->key;
    struct rb_law law;
    key.part = RB_PART_PILOT;
    key.stage = st->work->stage;
    key.seed = st->scenario->seed;
    key.finely = finely;
    struct rb_stage_cache_entry *e = rb_stage_cache_find(&times->cache, &key, &times->arena);
    if (e->value)
        return e->value;
    if (!run_pilot(times, st, certain ? 1 : pilot_samples(times, st) * (finely ? FINE_PILOT : 1), &law, err))
        return NULL;
    if (certain)
        law.error = law.tail_error = 0;
    e->value = keep_time(times, st, law, certain ? RB_STAGE_SCHEDULE : RB_STAGE_PILOT, certain ? NULL : why);
    return e->value;
}

// Into *e what needs no samples; false, and *out_why, if there is no such law.
static bool find_law(struct rb_stage_times *times, const struct stage *st, double accuracy,
                     struct rb_stage_cache_entry *e, const char **out_why)
{
    const struct rb_stage_time *known = e->value;
    struct rb_law law;
    enum rb_stage_method method = RB_STAGE_ONE_WAVE;
    if (st->kept_slots >= st->key.trials) {
        law = *longest_law(times, &st->key);
        accuracy = 0;
    } else if (is_certain(times, st)) {
        return false;
    } else if (wave_law(times, st, accuracy, accuracy, &law)) {
        method = RB_STAGE_ONE_WAVE;
    } else if (schedule_law(times, st, known, accuracy, &law, out_why)) {
        method = RB_STAGE_SCHEDULE;
        if (law.error > accuracy && st->nodes_per_trial > 1 && law.tail_error * MOSTLY < law.error)
            accuracy = 0; // arrivals depend on each other as before
    } else if (wave_law(times, st, accuracy, rb_law_samples_error(pilot_samples(times, st)), &law)) {
        accuracy = 0; // a finer request would find the same trials end early
    } else {
        return false;
    }
    if (!known || law.below != known->law.below)
        e->value = keep_time(times, st, law, method, NULL);
    e->accuracy = accuracy;
    return true;
}

void rb_stage_times_begin_user(struct rb_stage_times *times)
{
    times->user++;
    times->n_reused = 0;
}

int64_t rb_stage_times_reused(const struct rb_stage_times *times)
{
    return times->n_reused;
}

static void count_use(struct rb_stage_times *times, struct rb_stage_cache_entry *e)
{
    if (!e->value)
        e->made_for = times->user;
    else if (e->made_for != times->user && e->used_by != times->user)
        times->n_reused++;
    e->used_by = times->user;
}

// What decides nothing because of what its law errs by is sampled.
static const struct rb_stage_time *finest(struct rb_stage_times *times, struct stage *st,
                                          const struct rb_stage_time *known, struct rb_err *err)
{
    return st->work->finely && known->law.error > RB_STAGE_ROUGH
               ? pilot_time(times, st, "its law errs by more than what is to be told apart", err)
               : known;
}

const struct rb_stage_time *rb_stage_times_get(struct rb_stage_times *times, const struct rb_scenario *s,
                                               const struct rb_stage_work *work, double accuracy, struct rb_err *err)
{
    struct stage st;
    if (!describe(s, work, &st, err))
        return NULL;
    struct rb_stage_cache_entry *e = rb_stage_cache_find(&times->cache, &st.key, &times->arena);
    const struct rb_stage_time *known = e->value;
    count_use(times, e);
    if (known && known->method == RB_STAGE_PILOT)
        return pilot_time(times, &st, known->why, err);
    if (known && e->accuracy <= accuracy)
        return finest(times, &st, known, err);
    const char *why = NULL;
    if (find_law(times, &st, accuracy, e, &why))
        return finest(times, &st, e->value, err);
    const struct rb_stage_time *t = pilot_time(times, &st, why, err);
    if (t) // it has an entry of its own per stage and seed, which key the draws
        e->value = (struct rb_stage_time *)t;
    return t;
}

static const struct rb_law *made_law(const struct rb_stage_times *times, const struct rb_stage_key *key)
{
    const struct rb_stage_cache_entry *e = rb_stage_cache_look(&times->cache, key);
    const struct rb_stage_time *t = e ? e->value : NULL;
    return t && t->method != RB_STAGE_PILOT ? &t->law : NULL;
}

const struct rb_law *rb_stage_times_known(const struct rb_stage_times *times, const struct rb_scenario *s,
                                          const struct rb_stage_work *work, int most, bool *out_exact)
{
    struct stage st;
    struct rb_err err = {0};
    *out_exact = false;
    if (!describe(s, work, &st, &err))
        return NULL;
    struct rb_stage_key key = st.key;
    const struct rb_law *law = made_law(times, &key);
    *out_exact = law != NULL;
    for (int more = 1; !law && st.key.nodes + more <= most; more++) {
        key.nodes = st.key.nodes + more;
        key.kept = st.key.kept;
        law = made_law(times, &key);
        key.kept += more;
        law = law ? law : made_law(times, &key);
    }
    return law;
}

const struct rb_law *rb_stage_times_floor(struct rb_stage_times *times, const struct rb_scenario *s,
                                          const struct rb_stage_work *work, struct rb_err *err)
{
    struct stage st;
    return describe(s, work, &st, err) ? floor_of(times, &st) : NULL;
}
