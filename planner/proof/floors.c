#include "planner/proof/floors.h"

#include "base/larger.h"
#include "simulator/one_wave/trial_law.h"

#include "engine/core/placement.h"

#include <math.h>
#include <stdlib.h>

#define RANKS       8    // the r-th of m arrivals, r up to this: a later one is bounded by it
#define RANKED_FROM 1e-6 // of the chances that are ranked, at either end
#define ARRIVALS_AT 128  // times at which they are told from each other
#define UNLIKELY    1e-3 // a bound that may fail more often than this is not worth its correction

static const double late_p[2] = {1e-9, 1e-6};

// One trial of a stage with a size, on nodes of a kind.
struct trials {
    const struct rb_training *training;
    int stage, gpus;
    double unit_s;
    struct rb_law one, longest;
    struct rb_times longest_times;
    struct trials *next;
};

struct arrivals {
    const struct rb_provisioning *provisioning;
    struct rb_law law;
    int most, ranks;         // nodes; of them, that one trial may have to wait for
    struct rb_times *ranked; // [ranks][most + 1]: the (r + 1)-th of m arrivals
    double *shared;          // [most + 1][RB_N_TILTS]: log tilt of an m-th of one arrival
    double late_s[2];        // by which all but late_p[] of them have come
    struct arrivals *next;
};

struct rb_floors {
    const struct rb_search *search;
    double theta[RB_N_TILTS];
    struct trials *trials;
    struct arrivals *arrivals;
    struct rb_arena arena;
};

struct rb_floors *rb_floors_create(const struct rb_search *search, const double *theta)
{
    struct rb_floors *f = rb_xcalloc(1, sizeof *f);
    f->search = search;
    for (int i = 0; i < RB_N_TILTS; i++)
        f->theta[i] = theta[i];
    rb_arena_init(&f->arena);
    return f;
}

void rb_floors_destroy(struct rb_floors *f)
{
    if (!f)
        return;
    rb_arena_finish(&f->arena);
    free(f);
}

// --- tilts

// -ln E exp(-theta T) for every theta[i] * scale: each step of the distribution function counts as if it stood at the start of
// its cell.
static void log_tilts(const struct rb_law *law, const double *theta, double scale, double *out)
{
    double decay[RB_N_TILTS], at[RB_N_TILTS], sum[RB_N_TILTS];
    const double *below = law->below;
    for (int k = 0; k < RB_N_TILTS; k++) {
        decay[k] = exp(-theta[k] * scale * law->step_s);
        at[k] = 1;
        sum[k] = below[0];
    }
    int i = 1;
    for (; i + 1 < law->n; i += 2) { // in twos: half as many products that wait for each other
        const double first = below[i] - below[i - 1], second = below[i + 1] - below[i];
        for (int k = 0; k < RB_N_TILTS; k++) {
            sum[k] += (first + second * decay[k]) * at[k];
            at[k] *= decay[k] * decay[k];
        }
    }
    for (int k = 0; k < RB_N_TILTS && i < law->n; k++) {
        sum[k] += (below[i] - below[i - 1]) * at[k];
        at[k] *= decay[k];
    }
    for (int k = 0; k < RB_N_TILTS; k++) {
        const double low = theta[k] * scale * law->low_s;
        out[k] = law->n == 1 ? low : low - log(fmin(1, sum[k] + law->above[law->n - 1] * at[k]));
    }
}

struct rb_times rb_times_of(const struct rb_law *law, const double *theta)
{
    struct rb_times t = {.mean_s = law->mean_s, .variance_s2 = law->variance_s2};
    log_tilts(law, theta, 1, t.tilted_s);
    for (int i = 0; i < RB_N_TILTS; i++)
        t.tilted_s[i] /= theta[i];
    return t;
}

// --- laws, each made once

static struct trials *get_trials(struct rb_floors *f, int stage, int offer, int gpus, struct rb_err *err)
{
    const struct rb_scenario *s = f->search->scenario;
    const struct rb_rung *rung = &s->stages.rungs[stage];
    const struct rb_training *training = s->sim_offers[offer].training;
    double unit_s;
    if (!rb_scenario_unit_s(s, offer, gpus, &unit_s, err))
        return NULL;
    for (struct trials *t = f->trials; t; t = t->next) {
        if (t->stage == stage && t->gpus == gpus && t->training == training && fabs(t->unit_s - unit_s) <= 0)
            return t;
    }
    struct trials *t = rb_arena_alloc(&f->arena, sizeof *t);
    *t = (struct trials){.training = training, .stage = stage, .gpus = gpus, .unit_s = unit_s, .next = f->trials};
    const int64_t units = rb_scenario_rung_units(s, stage);
    t->one = *rb_stage_times_trial(f->search->times, s->profile, units, unit_s);
    t->longest = *rb_stage_times_longest(f->search->times, s->profile, units, unit_s, rung->trials);
    t->longest_times = rb_times_of(&t->longest, f->theta);
    f->trials = t;
    return t;
}

const struct rb_law *rb_floors_longest(struct rb_floors *f, int stage, int offer, int gpus, struct rb_err *err)
{
    const struct trials *t = get_trials(f, stage, offer, gpus, err);
    return t ? &t->longest : NULL;
}

// Every so-manieth point of a law, and its last: what is in a cell counts as if it came at the cell's start.
static struct rb_law thinned(const struct rb_law *law, struct rb_arena *arena)
{
    const int stride = 1 + (law->n - 2) / ARRIVALS_AT, n = 1 + (law->n - 1 + stride - 1) / stride;
    if (stride <= 1)
        return *law;
    double *below = rb_arena_array(arena, (size_t)n, sizeof *below),
           *above = rb_arena_array(arena, (size_t)n, sizeof *above);
    for (int i = 0; i < n; i++) {
        const int from = i + 1 < n ? i * stride : law->n - 1;
        below[i] = law->below[from];
        above[i] = law->above[from];
    }
    return (struct rb_law){.low_s = law->low_s, .step_s = law->step_s * stride, .n = n, .below = below, .above = above};
}

// Of the ranks of m arrivals: P(at least r of m by t) = F P(at least r - 1 of m - 1) + (1 - F) P(at least r of m - 1). What is
// left out, and all of a cell, counts as if it came as soon as it can.
static void rank(const struct rb_floors *f, const struct rb_law *law, struct arrivals *a)
{
    const size_t n = (size_t)a->most + 1, ranks = (size_t)a->ranks;
    double *chance = rb_xcalloc((ranks + 1) * n, sizeof *chance), *last = rb_xcalloc(ranks * n, sizeof *last);
    double *tilts = rb_xcalloc(ranks * n * RB_N_TILTS, sizeof *tilts);
    int first = 0, end = law->n;
    while (first + 1 < law->n && law->below[first + 1] < RANKED_FROM)
        first++;
    while (end > first + 1 && law->above[end - 2] < RANKED_FROM)
        end--;
    for (int i = first; i < end; i++) {
        const double p = law->below[i], x = law->low_s + law->step_s * (i > first ? i - 1 : 0);
        double weight[RB_N_TILTS];
        for (size_t m = 0; m < n; m++)
            chance[m] = 1;
        for (size_t r = 1; r <= ranks; r++) {
            double *here = chance + r * n;
            const double *fewer = here - n;
            here[0] = 0;
            for (size_t m = 1; m < n; m++)
                here[m] = p * fewer[m - 1] + (1 - p) * here[m - 1];
        }
        for (int k = 0; k < RB_N_TILTS; k++)
            weight[k] = exp(-f->theta[k] * x);
        for (size_t j = 0; j < ranks * n; j++) {
            double step = i + 1 < end ? chance[n + j] - last[j] : 1 - last[j]; // the last cell takes what is left
            a->ranked[j].mean_s += step * x;
            for (int k = 0; k < RB_N_TILTS; k++)
                tilts[j * RB_N_TILTS + (size_t)k] += step * weight[k];
            last[j] = chance[n + j];
        }
    }
    for (size_t j = 0; j < ranks * n; j++) {
        for (int k = 0; k < RB_N_TILTS; k++)
            a->ranked[j].tilted_s[k] = -log(tilts[j * RB_N_TILTS + (size_t)k]) / f->theta[k];
    }
    free(chance);
    free(last);
    free(tilts);
}

// The most nodes that a trial on this offer needs, as far as ranks go.
static int ranks_of(const struct rb_floors *f, int offer)
{
    const struct rb_sizes *sizes = &f->search->sizes[offer];
    const int largest = sizes->n > 0 ? sizes->gpus[sizes->n - 1] : 1;
    const int needed = rb_nodes_per_trial(rb_search_gpus_per_node(f->search, offer), largest);
    return needed < RANKS ? needed : RANKS;
}

static struct arrivals *get_arrivals(struct rb_floors *f, int offer)
{
    const struct rb_provisioning *p = f->search->scenario->sim_offers[offer].provisioning;
    int most = rb_search_useful_nodes(f->search, 0, offer), ranks = ranks_of(f, offer);
    for (struct arrivals *a = f->arrivals; a; a = a->next) {
        if (a->provisioning == p && a->most >= most && a->ranks >= ranks)
            return a;
    }
    struct arrivals *a = rb_arena_alloc(&f->arena, sizeof *a);
    *a = (struct arrivals){.provisioning = p, .most = most, .ranks = ranks, .next = f->arrivals};
    a->law = *rb_stage_times_arrival(f->search->times, p);
    a->ranked = rb_arena_array(&f->arena, (size_t)ranks * ((size_t)most + 1), sizeof *a->ranked);
    a->shared = rb_arena_array(&f->arena, RB_N_TILTS * ((size_t)most + 1), sizeof *a->shared);
    const struct rb_law few = thinned(&a->law, &f->arena);
    for (int m = 1; m <= most; m++)
        log_tilts(&few, f->theta, 1.0 / m, a->shared + RB_N_TILTS * m);
    for (int k = 0; k < 2; k++)
        a->late_s[k] = a->law.n == 1 ? a->law.low_s : rb_law_quantile(&a->law, 1 - late_p[k]);
    rank(f, &few, a);
    f->arrivals = a;
    return a;
}

const struct rb_law *rb_floors_arrival(struct rb_floors *f, int offer)
{
    return &get_arrivals(f, offer)->law;
}

// --- bounds

// What does not depend on how many nodes are kept.
struct stage {
    const struct rb_floors *floors;
    const struct trials *trials;
    const struct arrivals *arrivals;
    int nodes, nodes_per_trial;
    struct rb_times least; // with all nodes ready: the longest trial, and the work shared by all nodes
    double work_s, work_tilted_s[RB_N_TILTS];       // that work alone ...
    double arrival_s, arrival_tilted_s[RB_N_TILTS]; // ... and what a new node adds to it: its arrival, shared likewise
    double over[2];                                 // P(the longest trial has ended by arrivals->late_s[])
};

static void raise(struct rb_times *t, double mean_s, const double *tilted_s)
{
    t->mean_s = rb_larger(t->mean_s, mean_s);
    for (int i = 0; i < RB_N_TILTS; i++)
        t->tilted_s[i] = rb_larger(t->tilted_s[i], tilted_s[i]);
}

// At most P(a new node comes after the end) of a stage whose tilts are these or more.
static double missed(const struct stage *s, int new_nodes, const double *tilted_s)
{
    double least = 1;
    for (int k = 0; k < 2; k++) {
        double exponent = 0;
        for (int i = 0; i < RB_N_TILTS; i++)
            exponent = rb_smaller(exponent, s->floors->theta[i] * (s->arrivals->late_s[k] - tilted_s[i]));
        least = rb_smaller(least, rb_smaller(s->over[k], exp(exponent)) + new_nodes * late_p[k]);
    }
    return least;
}

// The mean time of all nodes from their arrival to the stage's end is at least the work over the nodes, where all of them
// arrive before the end.
static void raise_by_work(const struct stage *s, int new_nodes, struct rb_times *t)
{
    const double mean_s = s->work_s + new_nodes * s->arrival_s;
    double tilted_s[RB_N_TILTS];
    bool raises = mean_s > t->mean_s;
    for (int i = 0; i < RB_N_TILTS; i++) {
        tilted_s[i] = s->work_tilted_s[i] + new_nodes * s->arrival_tilted_s[i];
        raises |= tilted_s[i] > t->tilted_s[i];
    }
    if (!raises) // nor where some are missed
        return;
    const double p = new_nodes > 0 ? missed(s, new_nodes, t->tilted_s) : 1;
    if (p > UNLIKELY)
        return;
    for (int i = 0; i < RB_N_TILTS; i++) {
        const double theta = s->floors->theta[i], all_s = tilted_s[i];
        // -ln(exp(-theta all) + p exp(-theta low)) / theta, what counts as missed ending at the soonest
        if (all_s > t->tilted_s[i])
            tilted_s[i] = all_s - log1p(p * exp(theta * (all_s - s->trials->longest.low_s))) / theta;
    }
    // E[average; missed] <= sqrt(p E average^2)
    raise(t, mean_s * (1 - 1.5 * sqrt(p)), tilted_s);
}

// Nothing runs before the first gang's nodes are there.
static void wait_for_first(const struct stage *s, int kept, struct rb_times *t)
{
    int lacking = s->nodes_per_trial - kept, new_nodes = s->nodes - kept;
    if (lacking <= 0)
        return;
    int r = lacking < s->arrivals->ranks ? lacking : s->arrivals->ranks;
    const struct rb_times *first =
        &s->arrivals->ranked[(size_t)(r - 1) * ((size_t)s->arrivals->most + 1) + (size_t)new_nodes];
    t->mean_s += first->mean_s;
    for (int i = 0; i < RB_N_TILTS; i++)
        t->tilted_s[i] += first->tilted_s[i];
}

// The work of n trials of which each holds so many nodes.
static void share_work(struct stage *s, int n_trials, double nodes_a_trial)
{
    const double *theta = s->floors->theta, *arrival = s->arrivals->shared + RB_N_TILTS * s->nodes;
    double work[RB_N_TILTS];
    log_tilts(&s->trials->one, theta, nodes_a_trial / s->nodes, work);
    s->work_s = n_trials * nodes_a_trial * s->trials->one.mean_s / s->nodes;
    s->arrival_s = s->arrivals->law.mean_s / s->nodes;
    for (int i = 0; i < RB_N_TILTS; i++) {
        s->work_tilted_s[i] = n_trials * work[i] / theta[i];
        s->arrival_tilted_s[i] = arrival[i] / theta[i];
    }
}

static bool describe(struct rb_floors *f, int stage, const struct rb_choice *c, struct stage *out, struct rb_err *err)
{
    int per_node = rb_search_gpus_per_node(f->search, c->offer);
    struct stage s = {.floors = f, .nodes = c->nodes};
    s.trials = get_trials(f, stage, c->offer, c->gpus, err);
    if (!s.trials)
        return false;
    s.arrivals = get_arrivals(f, c->offer);
    s.nodes_per_trial = rb_nodes_per_trial(per_node, c->gpus);
    share_work(&s, rb_search_n_trials(f->search, stage),
               c->gpus > per_node ? s.nodes_per_trial : 1.0 / (per_node / c->gpus));
    s.least = s.trials->longest_times;
    raise(&s.least, s.work_s, s.work_tilted_s);
    for (int k = 0; k < 2; k++)
        s.over[k] = rb_law_below(&s.trials->longest, s.arrivals->late_s[k]);
    *out = s;
    return true;
}

// Ready slots work alone until new ones open, all at once. A trial that one of these carries out begins with it.
static double roughly_s(const struct stage *s, int per_node, const struct rb_choice *c, int n_trials, int kept)
{
    const int slots = rb_placement_capacity(c->nodes, per_node, c->gpus),
              ready = rb_placement_capacity(kept, per_node, c->gpus);
    const double all_s = n_trials * s->trials->one.mean_s, opening_s = s->arrivals->law.mean_s;
    if (slots == ready || all_s <= ready * opening_s)
        return all_s / ready;
    return rb_larger((all_s + (slots - ready) * opening_s) / slots,
                     slots >= n_trials ? opening_s + s->trials->longest.mean_s : 0);
}

bool rb_floors_get(struct rb_floors *f, int stage, const struct rb_choice *choice, const int *kept, int n,
                   struct rb_times *out, double *out_roughly_s, struct rb_err *err)
{
    const int per_node = rb_search_gpus_per_node(f->search, choice->offer),
              n_trials = rb_search_n_trials(f->search, stage);
    struct stage s;
    if (!describe(f, stage, choice, &s, err))
        return false;
    for (int i = 0; i < n; i++) {
        out[i] = s.least;
        wait_for_first(&s, kept[i], &out[i]);
        raise_by_work(&s, choice->nodes - kept[i], &out[i]);
        if (out_roughly_s)
            out_roughly_s[i] = roughly_s(&s, per_node, choice, n_trials, kept[i]);
    }
    return true;
}
