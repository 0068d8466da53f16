#include "planner/proof/lattice.h"

#include "planner/proof/node_counts.h"
#include "planner/scores/probability_error.h"
#include "planner/scores/stage_samples.h"

#include "base/larger.h"
#include "simulator/list_schedule/list_schedule.h"
#include "simulator/one_wave/trial_law.h"
#include "simulator/stage/stage_pilot.h"

#include "engine/core/placement.h"

#include <math.h>
#include <stdlib.h>

#define ENVELOPE_POINTS 256
#define AVOIDED_S       1e9  // longer than any plan takes
#define EXCLUDED_UUSD   1e18 // more than any plan costs

#define REPLICATES             96 // that raise a bound: enough to carry five standard errors
#define TIGHTENING_SIGMA       5
#define WORTH_A_LOOK           1e-3 // of a mean: a bound that is raised by less is as it was
#define SURE_SHARE_OF_VARIANCE 0.5  // of the sampled one: only guides the search

// Of theta in standard deviations of a whole plan: 0.35 bounds a plan that just keeps its deadline best, the others serve
// plans whose spread is smaller or larger.
#define A_TILT 0.05

// z with P(N <= z) = p for a standard normal N.
static double normal_quantile(double p)
{
    double low = -10, high = 10;
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        if (erfc(-middle / sqrt(2)) / 2 < p)
            low = middle;
        else
            high = middle;
    }
    return low;
}

// --- values of one entry

struct values {
    double mean_s, delay_s[RB_N_DELAYS];
};

static struct values values_of(const struct rb_lattice *l, const struct rb_times *times)
{
    struct values v = {.mean_s = times->mean_s};
    v.delay_s[RB_DELAY_CAUTIOUS] = times->mean_s + l->caution * times->variance_s2;
    for (int i = 0; i < RB_N_TILTS; i++)
        v.delay_s[RB_DELAY_TILT + i] = times->tilted_s[i];
    return v;
}

int rb_lattice_kept_nodes(const struct rb_lattice *l, const struct rb_lattice_entry *e, int kept)
{
    return kept == 0 ? 0 : l->counts[e->choice.offer].nodes[kept - 1];
}

// The part of a stage's mean bill that its time decides, and what its new nodes add.
static double cost_uusd(const struct rb_lattice *l, const struct rb_lattice_entry *e, int kept, double mean_s)
{
    return rb_node_bill_mean_uusd(&l->bills[e->choice.offer], e->choice.nodes, rb_lattice_kept_nodes(l, e, kept),
                                  mean_s);
}

static void raise_likely(const struct rb_lattice *l, struct rb_lattice_entry *e, int kept, const struct values *v)
{
    if (v->mean_s > e->likely_mean_s[kept]) {
        e->likely_mean_s[kept] = v->mean_s;
        e->likely_uusd[kept] = cost_uusd(l, e, kept, v->mean_s);
    }
    e->likely_s[kept] = rb_larger(e->likely_s[kept], v->delay_s[RB_DELAY_CAUTIOUS]);
}

// What was thought likely, before more is known.
static void forget_likely(struct rb_lattice_entry *e, int kept)
{
    e->likely_mean_s[kept] = e->mean_s[kept];
    e->likely_uusd[kept] = e->cost_uusd[kept];
    e->likely_s[kept] = e->delay_s[RB_DELAY_CAUTIOUS][kept];
}

static void raise_bound(const struct rb_lattice *l, struct rb_lattice_entry *e, int kept, const struct values *v)
{
    raise_likely(l, e, kept, v);
    if (v->mean_s > e->mean_s[kept]) {
        e->mean_s[kept] = v->mean_s;
        e->cost_uusd[kept] = cost_uusd(l, e, kept, v->mean_s);
    }
    for (int i = 0; i < RB_N_DELAYS; i++)
        e->delay_s[i][kept] = rb_larger(e->delay_s[i][kept], v->delay_s[i]);
}

static void set_exact(const struct rb_lattice *l, struct rb_lattice_entry *e, int kept, const struct values *v,
                      const struct rb_stage_time *time)
{
    e->time[kept] = time;
    e->mean_s[kept] = v->mean_s;
    e->cost_uusd[kept] = cost_uusd(l, e, kept, v->mean_s);
    // A law's tail on the left is no more accurate than the law, so replicates may know more of its tilts.
    for (int i = 0; i < RB_N_DELAYS; i++)
        e->delay_s[i][kept] = i < RB_DELAY_TILT ? v->delay_s[i] : rb_larger(e->delay_s[i][kept], v->delay_s[i]);
    if (time && rb_stage_is_too_short(&e->choice, rb_lattice_kept_nodes(l, e, kept), time)) {
        e->cost_uusd[kept] = EXCLUDED_UUSD;
        e->delay_s[RB_DELAY_CAUTIOUS][kept] = AVOIDED_S;
    }
    forget_likely(e, kept);
}

// Trials on several nodes that wait for new ones, and gangs that these make up: the fewer of both. 0: none.
static int waiting_gangs(const struct rb_lattice *l, int stage, const struct rb_lattice_entry *e, int kept)
{
    const int per_trial = rb_nodes_per_trial(rb_search_gpus_per_node(l->search, e->choice.offer), e->choice.gpus);
    const int gangs = e->choice.nodes / per_trial, kept_gangs = rb_lattice_kept_nodes(l, e, kept) / per_trial;
    const int waiting = rb_search_n_trials(l->search, stage) - kept_gangs, new_gangs = gangs - kept_gangs;
    return per_trial == 1 || waiting < 0 ? 0 : waiting < new_gangs ? waiting : new_gangs;
}

bool rb_lattice_waits_for_gangs(const struct rb_lattice *l, int stage, const struct rb_lattice_entry *e, int kept)
{
    return waiting_gangs(l, stage, e, kept) > 0;
}

// Very many: simulator/stage/stage_time.h has no closed form.
static bool is_sampled(const struct rb_lattice *l, int stage, const struct rb_lattice_entry *e, int kept)
{
    return waiting_gangs(l, stage, e, kept) > RB_SCHEDULE_RANKED;
}

// Under a fixed order of trials every start moves with every opening of a slot: fewer nodes, or fewer of them kept, are
// nowhere sooner. likely: what replicates say on average, or v; law: NULL, or what the values are of.
static void bound_fewer(struct rb_lattice *l, int stage, const struct rb_lattice_entry *made, int kept,
                        const struct values *v, const struct values *likely, const struct rb_law *law)
{
    const struct rb_lattice_stage *list = &l->stages[stage];
    l->n_changes[stage]++;
    for (int i = list->first[made->choice.offer]; i < list->first[made->choice.offer + 1]; i++) {
        struct rb_lattice_entry *e = &list->entries[i];
        if (e->choice.gpus != made->choice.gpus || e->count > made->count)
            continue;
        for (int k = kept < e->count + 1 ? kept : e->count + 1; k >= 0; k--) {
            if (e->time[k])
                continue;
            raise_bound(l, e, k, v);
            raise_likely(l, e, k, likely);
            if (law && (!e->soonest[k] || e->soonest[k]->mean_s < law->mean_s))
                e->soonest[k] = law;
        }
    }
}

// --- bounds from a few replicates

// The mean less five of its standard errors.
static double surely_below(double sum, double squares, int n)
{
    double mean = sum / n, variance = fmax(0, squares / n - mean * mean) / (n - 1);
    return mean - TIGHTENING_SIGMA * sqrt(variance);
}

static struct rb_times surely_not_above(const struct rb_lattice *l, const double *seconds, int n)
{
    struct rb_times t = {.mean_s = 0};
    double sum = 0, squares = 0;
    for (int r = 0; r < n; r++) {
        sum += seconds[r];
        squares += seconds[r] * seconds[r];
    }
    t.mean_s = fmax(0, surely_below(sum, squares, n));
    t.variance_s2 = SURE_SHARE_OF_VARIANCE * fmax(0, squares / n - sum / n * (sum / n));
    for (int i = 0; i < RB_N_TILTS; i++) {
        double weights = 0, weight_squares = 0;
        for (int r = 0; r < n; r++) {
            double w = exp(-l->theta[i] * (seconds[r] - sum / n));
            weights -= w;
            weight_squares += w * w;
        }
        t.tilted_s[i] = fmax(0, sum / n - log(-surely_below(weights, weight_squares, n)) / l->theta[i]);
    }
    return t;
}

static struct values likely_values(const struct rb_lattice *l, const double *seconds, int n)
{
    struct rb_times t = {.mean_s = 0};
    for (int r = 0; r < n; r++)
        t.mean_s += seconds[r] / n;
    for (int r = 0; r < n; r++)
        t.variance_s2 += (seconds[r] - t.mean_s) * (seconds[r] - t.mean_s) / (n - 1);
    return values_of(l, &t);
}

bool rb_lattice_sample(const struct rb_lattice *l, int stage, const struct rb_lattice_entry *e, int kept, int n,
                       double *out_s, struct rb_err *err)
{
    struct rb_plan_nodes nodes = {e->choice.offer, e->choice.nodes};
    struct rb_plan_stage plan = rb_scenario_stage(l->search->scenario, stage, e->choice.gpus, &nodes);
    return rb_stage_pilot(l->search->scenario, stage, &plan, rb_lattice_kept_nodes(l, e, kept),
                          rb_stage_times_tables(l->search->times), n, out_s, err);
}

static struct rb_stage_work work_of(const struct rb_lattice *l, int stage, const struct rb_lattice_entry *e, int kept)
{
    return (struct rb_stage_work){stage, e->choice.offer, e->choice.gpus, e->choice.nodes,
                                  rb_lattice_kept_nodes(l, e, kept)};
}

const float *rb_lattice_replicates(const struct rb_lattice *l, const struct rb_lattice_entry *e, int kept)
{
    return l->replicates[e->sampled[kept]].seconds;
}

static void add_replicates(struct rb_lattice *l, struct rb_lattice_entry *e, int kept, const float *seconds)
{
    const int n = l->n_replicates;
    if (n > 1 && (n & (n - 1)) == 0) // a power of 2: full
        l->replicates = rb_xrealloc(l->replicates, 2 * (size_t)n, sizeof *l->replicates);
    l->replicates[n] = (struct rb_lattice_replicates){seconds, -1};
    e->sampled[kept] = n;
    l->n_replicates++;
}

// Of a choice that common draws apply to: run once.
static bool get_replicates(struct rb_lattice *l, const struct rb_stage_work *work, struct rb_lattice_entry *e, int kept,
                           struct rb_lattice_replicates **out, struct rb_err *err)
{
    if (!e->sampled[kept]) {
        float *seconds = rb_arena_array(&l->arena, RB_COMMON_REPLICATES, sizeof *seconds);
        if (!rb_common_draws_run(l->draws, work, seconds, err))
            return false;
        add_replicates(l, e, kept, seconds);
    }
    *out = &l->replicates[e->sampled[kept]];
    return true;
}

// The law of a choice is known: what its replicates say of it helps to tell others from theirs.
static bool add_control(struct rb_lattice *l, const struct rb_stage_work *work, struct rb_lattice_entry *e, int kept,
                        const struct rb_law *law, struct rb_err *err)
{
    struct rb_lattice_replicates *r;
    if (!rb_common_draws_apply(l->draws, work))
        return true;
    if (!get_replicates(l, work, e, kept, &r, err))
        return false;
    if (r->seconds)
        rb_controls_add(&l->controls[work->stage], r->seconds, law);
    return true;
}

// Again after more controls have come, for a gain that matters.
static bool tighten_by_controls(struct rb_lattice *l, const struct rb_stage_work *work, struct rb_lattice_entry *e,
                                int kept, bool *out_tighter, struct rb_err *err)
{
    const struct rb_controls *controls = &l->controls[work->stage];
    struct rb_lattice_replicates *r;
    struct rb_common_draw known[RB_COMMON_KNOWN];
    struct rb_times below, likely;
    const double before_s = e->mean_s[kept];
    if (!get_replicates(l, work, e, kept, &r, err))
        return false;
    if (!r->seconds || r->n_controls == controls->n_added)
        return true;
    const int n_known = rb_common_draws_known(l->draws, work, known);
    rb_controls_estimate(controls, known, n_known, r->seconds, l->theta, &below, &likely);
    below.variance_s2 *= SURE_SHARE_OF_VARIANCE;
    const struct values v = values_of(l, &below), average = values_of(l, &likely);
    forget_likely(e, kept);
    bound_fewer(l, work->stage, e, kept, &v, &average, NULL);
    *out_tighter = r->n_controls < 0 || e->mean_s[kept] > before_s * (1 + WORTH_A_LOOK);
    l->n_tightened += r->n_controls < 0;
    r->n_controls = controls->n_added;
    return true;
}

static bool tighten_alone(struct rb_lattice *l, const struct rb_stage_work *work, struct rb_lattice_entry *e, int kept,
                          bool *out_tighter, struct rb_err *err)
{
    double seconds[REPLICATES];
    if (e->sampled[kept])
        return true;
    if (!rb_lattice_sample(l, work->stage, e, kept, REPLICATES, seconds, err))
        return false;
    struct rb_times times = surely_not_above(l, seconds, REPLICATES);
    struct values v = values_of(l, &times), likely = likely_values(l, seconds, REPLICATES);
    forget_likely(e, kept);
    bound_fewer(l, work->stage, e, kept, &v, &likely, NULL);
    add_replicates(l, e, kept, NULL);
    l->n_tightened++;
    *out_tighter = true;
    return true;
}

bool rb_lattice_tighten(struct rb_lattice *l, int stage, struct rb_lattice_entry *e, int kept, bool *out_tighter,
                        struct rb_err *err)
{
    const struct rb_stage_work work = work_of(l, stage, e, kept);
    const int per_node = rb_search_gpus_per_node(l->search, e->choice.offer);
    *out_tighter = false;
    if (e->time[kept] ||
        rb_placement_capacity(work.kept, per_node, e->choice.gpus) >= rb_search_n_trials(l->search, stage))
        return true;
    if (rb_common_draws_apply(l->draws, &work))
        return tighten_by_controls(l, &work, e, kept, out_tighter, err);
    return tighten_alone(l, &work, e, kept, out_tighter, err);
}

const struct rb_law *rb_lattice_floor(struct rb_lattice *l, int stage, const struct rb_lattice_entry *e, int kept,
                                      struct rb_err *err)
{
    if (e->soonest[kept])
        return e->soonest[kept];
    struct rb_stage_work work = {stage, e->choice.offer, e->choice.gpus, e->choice.nodes, 0};
    return rb_stage_times_floor(l->search->times, l->search->scenario, &work, err);
}

bool rb_lattice_make(struct rb_lattice *l, int stage, struct rb_lattice_entry *e, int kept, struct rb_err *err)
{
    if (e->time[kept])
        return true;
    l->n_changes[stage]++;
    if (l->n_sampled >= l->most_sampled && is_sampled(l, stage, e, kept)) {
        e->delay_s[RB_DELAY_CAUTIOUS][kept] = AVOIDED_S;
        return true;
    }
    const struct rb_stage_work work = work_of(l, stage, e, kept);
    const struct rb_stage_time *time =
        rb_stage_times_get(l->search->times, l->search->scenario, &work, l->accuracy, err);
    if (!time)
        return false;
    struct rb_times times = rb_times_of(&time->law, l->theta);
    struct values v = values_of(l, &times);
    set_exact(l, e, kept, &v, time);
    if (time->law.error <= 2 * RB_SCORE_SEARCH_ACCURACY) {
        bound_fewer(l, stage, e, kept, &v, &v, &time->law);
        if (!add_control(l, &work, e, kept, &time->law, err))
            return false;
    }
    for (int k = kept - 1; k >= 0; k--) {
        if (!e->time[k])
            raise_bound(l, e, k, &v);
    }
    double error = rb_stage_probability_error(time, l->search->req->confidence);
    l->worst_error[stage] = fmax(l->worst_error[stage], error);
    l->n_made++;
    l->n_sampled += time->method == RB_STAGE_PILOT;
    return true;
}

// --- which entries exist

static int list_entries(struct rb_lattice *l, int stage, int offer, struct rb_lattice_entry *out)
{
    const struct rb_sizes *sizes = &l->search->sizes[offer];
    const struct rb_lattice_counts *counts = &l->counts[offer];
    int per_node = rb_search_gpus_per_node(l->search, offer), n = 0;
    int most = counts->n > 0 ? rb_search_useful_nodes(l->search, stage, offer) : 0;
    for (int c = 0; c < counts->n && counts->nodes[c] <= most; c++) {
        for (int i = 0; i < sizes->n; i++) {
            if (rb_nodes_per_trial(per_node, sizes->gpus[i]) > counts->nodes[c])
                continue;
            if (out)
                out[n] = (struct rb_lattice_entry){.choice = {offer, sizes->gpus[i], counts->nodes[c]}, .count = c};
            n++;
        }
    }
    return n;
}

static void allot(struct rb_lattice *l, struct rb_lattice_entry *e)
{
    size_t n = (size_t)e->count + 2;
    double *values = rb_arena_array(&l->arena, n * (5 + RB_N_DELAYS), sizeof *values);
    e->cost_uusd = values;
    e->mean_s = values + n;
    for (int i = 0; i < RB_N_DELAYS; i++)
        e->delay_s[i] = values + (5 + (size_t)i) * n;
    e->likely_uusd = values + 2 * n;
    e->likely_mean_s = values + 3 * n;
    e->likely_s = values + 4 * n;
    e->time = rb_arena_array(&l->arena, n, sizeof(const struct rb_stage_time *));
    e->soonest = rb_arena_array(&l->arena, n, sizeof(const struct rb_law *));
    e->sampled = rb_arena_array(&l->arena, n, sizeof *e->sampled);
}

static bool fill_floor(struct rb_lattice *l, int stage, struct rb_lattice_entry *e, struct rb_err *err)
{
    int n = stage > 0 ? e->count + 2 : 1;
    for (int k = 0; k < n; k++)
        l->kept[k] = rb_lattice_kept_nodes(l, e, k);
    if (!rb_floors_get(l->floors, stage, &e->choice, l->kept, n, l->times, l->roughly_s, err))
        return false;
    for (int k = 0; k < n; k++) {
        struct values v = values_of(l, &l->times[k]);
        set_exact(l, e, k, &v, NULL);
        v.delay_s[RB_DELAY_CAUTIOUS] += l->roughly_s[k] - v.mean_s;
        v.mean_s = l->roughly_s[k];
        raise_likely(l, e, k, &v);
    }
    return true;
}

static bool list_stage(struct rb_lattice *l, int stage, struct rb_err *err)
{
    struct rb_lattice_stage *list = &l->stages[stage];
    int n_offers = l->search->scenario->n_offers, n = 0;
    for (int offer = 0; offer < n_offers; offer++)
        n += list_entries(l, stage, offer, NULL);
    list->entries = rb_arena_array(&l->arena, (size_t)n + 1, sizeof *list->entries);
    list->first = rb_arena_array(&l->arena, (size_t)n_offers + 1, sizeof *list->first);
    for (int offer = 0; offer < n_offers; offer++) {
        list->first[offer] = list->n;
        list->n += list_entries(l, stage, offer, &list->entries[list->n]);
    }
    list->first[n_offers] = list->n;
    for (int i = 0; i < list->n; i++) {
        allot(l, &list->entries[i]);
        if (!fill_floor(l, stage, &list->entries[i], err))
            return false;
    }
    return true;
}

bool rb_lattice_init(struct rb_lattice *l, struct rb_search *search, double accuracy, struct rb_err *err)
{
    double deviation_s;
    *l = (struct rb_lattice){.search = search, .accuracy = accuracy, .n_stages = search->scenario->stages.n};
    if (!rb_score_deviation_s(search, &deviation_s, err))
        return false;
    rb_arena_init(&l->arena);
    double deviation = fmax(deviation_s, 1e-3); // times are rounded to the microsecond: no plan is that sure
    for (int i = 0; i < RB_N_TILTS; i++)
        l->theta[i] = rb_tilts[i] * A_TILT / deviation;
    l->normal_quantile = normal_quantile(search->req->confidence);
    l->caution = fmax(0, l->normal_quantile / (2 * deviation));
    rb_node_counts(l);
    l->bills = rb_arena_array(&l->arena, (size_t)search->scenario->n_offers, sizeof *l->bills);
    for (int offer = 0; offer < search->scenario->n_offers; offer++) {
        const struct rb_sim_offer *o = &search->scenario->sim_offers[offer];
        if (l->counts[offer].n > 0)
            l->bills[offer] = rb_node_bill_of(&o->billing, rb_queue_mean_s(o->provisioning));
    }
    l->floors = rb_floors_create(search, l->theta);
    l->draws = rb_common_draws_create(search->scenario, search->times);
    l->controls = rb_arena_array(&l->arena, (size_t)l->n_stages, sizeof *l->controls);
    l->replicates = rb_xcalloc(2, sizeof *l->replicates);
    l->n_replicates = 1;
    l->kept = rb_arena_array(&l->arena, (size_t)l->most_counts + 2, sizeof *l->kept);
    l->times = rb_arena_array(&l->arena, (size_t)l->most_counts + 2, sizeof *l->times);
    l->roughly_s = rb_arena_array(&l->arena, (size_t)l->most_counts + 2, sizeof *l->roughly_s);
    for (int stage = 0; stage < l->n_stages; stage++) {
        if (!list_stage(l, stage, err)) {
            rb_lattice_finish(l);
            return false;
        }
    }
    return true;
}

void rb_lattice_finish(struct rb_lattice *l)
{
    rb_floors_destroy(l->floors);
    rb_common_draws_destroy(l->draws);
    free(l->replicates);
    rb_arena_finish(&l->arena);
}

// --- paths

int rb_lattice_kept(const struct rb_lattice_entry *before, const struct rb_lattice_entry *entry)
{
    if (!before || before->choice.offer != entry->choice.offer)
        return 0;
    return (before->count < entry->count ? before->count : entry->count) + 1;
}

struct rb_candidate rb_lattice_candidate(const struct rb_lattice *l, const struct rb_lattice_path *path)
{
    struct rb_candidate c = {.n_stages = l->n_stages};
    for (int stage = 0; stage < l->n_stages; stage++)
        c.stages[stage] = l->stages[stage].entries[path->entry[stage]].choice;
    return c;
}

bool rb_lattice_find(const struct rb_lattice *l, const struct rb_candidate *candidate, struct rb_lattice_path *out)
{
    for (int stage = 0; stage < l->n_stages; stage++) {
        const struct rb_lattice_stage *list = &l->stages[stage];
        const struct rb_choice *c = &candidate->stages[stage];
        int found = -1;
        for (int i = list->first[c->offer]; i < list->first[c->offer + 1] && found < 0; i++) {
            if (list->entries[i].choice.nodes == c->nodes && list->entries[i].choice.gpus == c->gpus)
                found = i;
        }
        if (found < 0)
            return false;
        out->entry[stage] = found;
    }
    return true;
}

// --- envelope

// For one offer and size the most nodes are the fastest: the others need no look.
static bool is_fastest(const struct rb_lattice_stage *list, int i)
{
    const struct rb_choice *c = &list->entries[i].choice;
    for (int k = i + 1; k < list->n && list->entries[k].choice.offer == c->offer; k++) {
        if (list->entries[k].choice.gpus == c->gpus)
            return false;
    }
    return true;
}

static void widen(const struct rb_law *law, bool *any, double *low_s, double *high_s)
{
    double high = law->low_s + law->step_s * (law->n - 1);
    *low_s = *any ? fmin(*low_s, law->low_s) : law->low_s;
    *high_s = *any ? fmin(*high_s, high) : high; // beyond the first that is certain the envelope is 1
    *any = true;
}

static bool make_envelope(struct rb_lattice *l, int stage, struct rb_law *out, struct rb_err *err)
{
    const struct rb_lattice_stage *list = &l->stages[stage];
    double low_s = 0, high_s = 0, *below = rb_arena_array(&l->arena, ENVELOPE_POINTS, sizeof *below);
    double *above = rb_arena_array(&l->arena, ENVELOPE_POINTS, sizeof *above);
    bool any = false;
    for (int i = 0; i < list->n; i++) {
        const struct rb_choice *c = &list->entries[i].choice;
        if (!is_fastest(list, i))
            continue;
        const struct rb_law *law = rb_floors_longest(l->floors, stage, c->offer, c->gpus, err);
        if (!law)
            return false;
        widen(law, &any, &low_s, &high_s);
    }
    // The value at the end of a cell is taken at its start: nowhere below the truth, whatever jumps there are.
    double step_s = fmax((high_s - low_s) / (ENVELOPE_POINTS - 2), 1e-6);
    for (int i = 0; i < list->n; i++) {
        if (!is_fastest(list, i))
            continue;
        const struct rb_choice *c = &list->entries[i].choice;
        const struct rb_law *law = rb_floors_longest(l->floors, stage, c->offer, c->gpus, err);
        for (int k = 0; k < ENVELOPE_POINTS; k++)
            below[k] = fmax(below[k], rb_law_below(law, low_s + step_s * k));
    }
    *out = (struct rb_law){
        .low_s = low_s - step_s, .step_s = step_s, .n = ENVELOPE_POINTS, .below = below, .above = above};
    below[ENVELOPE_POINTS - 1] = 1;
    out->mean_s = out->low_s;
    for (int k = 0; k < ENVELOPE_POINTS; k++) {
        above[k] = 1 - below[k];
        out->mean_s += above[k] * step_s;
    }
    return true;
}

const struct rb_law *rb_lattice_envelope(struct rb_lattice *l, int stage, struct rb_err *err)
{
    struct rb_law *law = &l->envelopes[stage];
    return law->n > 0 || make_envelope(l, stage, law, err) ? law : NULL;
}
