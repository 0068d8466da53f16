#include "planner/floors.h"

#include "simulator/trial_law.h"

#include <math.h>
#include <stdlib.h>

#define RANKS       8    // the r-th of m arrivals, r up to this: a later one is bounded by it
#define RANKED_FROM 1e-6 // of the chances that are ranked, at either end
#define UNLIKELY    1e-3 // a bound that may fail more often than this is not worth its correction

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
    int most;                // nodes
    struct rb_times *ranked; // [RANKS][most + 1]: the (r + 1)-th of m arrivals
    double *shared;          // [most + 1][RB_N_TILTS]: log tilt of an m-th of one arrival
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
    for (int k = 0; k < RB_N_TILTS; k++) {
        decay[k] = exp(-theta[k] * scale * law->step_s);
        at[k] = 1;
        sum[k] = law->below[0];
    }
    for (int i = 1; i < law->n; i++) {
        const double step = law->below[i] - law->below[i - 1];
        for (int k = 0; k < RB_N_TILTS; k++) {
            sum[k] += step * at[k];
            at[k] *= decay[k];
        }
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
    t->one = *rb_stage_times_trial(f->search->times, s->profile, rung->resource_end - rung->resource_start, unit_s);
    t->longest = rb_law_largest_of(&t->one, rung->trials, &f->arena);
    t->longest_times = rb_times_of(&t->longest, f->theta);
    f->trials = t;
    return t;
}

const struct rb_law *rb_floors_longest(struct rb_floors *f, int stage, int offer, int gpus, struct rb_err *err)
{
    const struct trials *t = get_trials(f, stage, offer, gpus, err);
    return t ? &t->longest : NULL;
}

// Of the ranks of m arrivals: P(at least r of m by t) = F P(at least r - 1 of m - 1) + (1 - F) P(at least r of m - 1).
static void rank(const struct rb_floors *f, struct arrivals *a)
{
    const struct rb_law *law = &a->law;
    size_t n = (size_t)a->most + 1;
    double *chance = rb_xcalloc((RANKS + 1) * n, sizeof *chance), *last = rb_xcalloc(RANKS * n, sizeof *last);
    double *tilts = rb_xcalloc(RANKS * n * RB_N_TILTS, sizeof *tilts);
    int first = 0, end = law->n; // what is left out counts as if it came sooner
    while (first + 1 < law->n && law->below[first + 1] < RANKED_FROM)
        first++;
    while (end > first + 1 && law->above[end - 2] < RANKED_FROM)
        end--;
    for (int i = first; i < end; i++) {
        double p = law->below[i], x = law->low_s + law->step_s * (i > first ? i - 1 : 0);
        for (size_t m = 0; m < n; m++)
            chance[m] = 1;
        for (size_t r = 1; r <= RANKS; r++) {
            double *here = chance + r * n, *before = here - n;
            here[0] = 0;
            for (size_t m = 1; m < n; m++)
                here[m] = p * before[m - 1] + (1 - p) * here[m - 1];
        }
        double weight[RB_N_TILTS];
        for (int k = 0; k < RB_N_TILTS; k++)
            weight[k] = exp(-f->theta[k] * x);
        for (size_t j = 0; j < RANKS * n; j++) {
            double step = i + 1 < end ? chance[n + j] - last[j] : 1 - last[j]; // the last cell takes what is left
            a->ranked[j].mean_s += step * x;
            for (int k = 0; k < RB_N_TILTS; k++)
                tilts[j * RB_N_TILTS + (size_t)k] += step * weight[k];
            last[j] = chance[n + j];
        }
    }
    for (size_t j = 0; j < RANKS * n; j++) {
        for (int k = 0; k < RB_N_TILTS; k++)
            a->ranked[j].tilted_s[k] = -log(tilts[j * RB_N_TILTS + (size_t)k]) / f->theta[k];
    }
    free(chance);
    free(last);
    free(tilts);
}

static struct arrivals *get_arrivals(struct rb_floors *f, int offer)
{
    const struct rb_provisioning *p = f->search->scenario->sim_offers[offer].provisioning;
    int most = rb_search_useful_nodes(f->search, 0, offer);
    for (struct arrivals *a = f->arrivals; a; a = a->next) {
        if (a->provisioning == p && a->most >= most)
            return a;
    }
    struct arrivals *a = rb_arena_alloc(&f->arena, sizeof *a);
    *a = (struct arrivals){.provisioning = p, .most = most, .next = f->arrivals};
    a->law = *rb_stage_times_arrival(f->search->times, p);
    a->ranked = rb_arena_array(&f->arena, RANKS * ((size_t)most + 1), sizeof *a->ranked);
    a->shared = rb_arena_array(&f->arena, RB_N_TILTS * ((size_t)most + 1), sizeof *a->shared);
    for (int m = 1; m <= most; m++)
        log_tilts(&a->law, f->theta, 1.0 / m, a->shared + RB_N_TILTS * m);
    rank(f, a);
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
    int n_trials, nodes, nodes_per_trial;
    double node_share;           // nodes that one trial holds
    double work[RB_N_TILTS];     // log tilt of one trial's share of the nodes' time
    const double *arrival;       // of one arrival's
    double late_s[2], late_p[2]; // times by which all but so few arrivals have come
};

static void raise(struct rb_times *t, double mean_s, const double *tilted_s)
{
    t->mean_s = fmax(t->mean_s, mean_s);
    for (int i = 0; i < RB_N_TILTS; i++)
        t->tilted_s[i] = fmax(t->tilted_s[i], tilted_s[i]);
}

// The mean time of all nodes from their arrival to the stage's end is at least the work over the nodes, where all of them
// arrive before the end; *all_s are the sums when the new nodes' arrivals count, *work_s when they do not.
static void average(const struct stage *s, int new_nodes, double *out_mean_s, double *tilted_s)
{
    *out_mean_s =
        (s->n_trials * s->node_share * s->trials->one.mean_s + new_nodes * s->arrivals->law.mean_s) / s->nodes;
    for (int i = 0; i < RB_N_TILTS; i++)
        tilted_s[i] = (s->n_trials * s->work[i] + new_nodes * s->arrival[i]) / s->floors->theta[i];
}

// At most P(a new node comes after the end).
static double missed(const struct stage *s, int new_nodes, const double *work_s)
{
    double least = 1;
    for (int k = 0; k < 2; k++) {
        double soon = rb_law_below(&s->trials->longest, s->late_s[k]);
        for (int i = 0; i < RB_N_TILTS; i++)
            soon = fmin(soon, exp(s->floors->theta[i] * (s->late_s[k] - work_s[i])));
        least = fmin(least, soon + new_nodes * s->late_p[k]);
    }
    return least;
}

static void raise_by_work(const struct stage *s, int new_nodes, struct rb_times *t)
{
    double mean_s, with_s, tilted_s[RB_N_TILTS], all_s[RB_N_TILTS];
    average(s, 0, &mean_s, tilted_s);
    raise(t, mean_s, tilted_s);
    double p = new_nodes > 0 ? missed(s, new_nodes, t->tilted_s) : 1;
    if (p > UNLIKELY)
        return;
    average(s, new_nodes, &with_s, all_s);
    for (int i = 0; i < RB_N_TILTS; i++) {
        double theta = s->floors->theta[i];
        all_s[i] = -log(exp(-theta * all_s[i]) + p * exp(-theta * s->trials->longest.low_s)) / theta;
    }
    raise(t, with_s * (1 - 1.5 * sqrt(p)), all_s); // E[average; missed] <= sqrt(p E average^2)
}

// Nothing runs before the first gang's nodes are there.
static void wait_for_first(const struct stage *s, int kept, struct rb_times *t)
{
    int lacking = s->nodes_per_trial - kept, new_nodes = s->nodes - kept;
    if (lacking <= 0)
        return;
    int r = lacking < RANKS ? lacking : RANKS;
    const struct rb_times *first =
        &s->arrivals->ranked[(size_t)(r - 1) * ((size_t)s->arrivals->most + 1) + (size_t)new_nodes];
    t->mean_s += first->mean_s;
    for (int i = 0; i < RB_N_TILTS; i++)
        t->tilted_s[i] += first->tilted_s[i];
}

static bool describe(struct rb_floors *f, int stage, const struct rb_choice *c, struct stage *out, struct rb_err *err)
{
    int per_node = rb_search_gpus_per_node(f->search, c->offer);
    struct stage s = {.floors = f, .n_trials = rb_search_n_trials(f->search, stage), .nodes = c->nodes};
    s.trials = get_trials(f, stage, c->offer, c->gpus, err);
    if (!s.trials)
        return false;
    s.arrivals = get_arrivals(f, c->offer);
    s.nodes_per_trial = rb_nodes_per_trial(per_node, c->gpus);
    s.node_share = c->gpus > per_node ? s.nodes_per_trial : 1.0 / (per_node / c->gpus);
    log_tilts(&s.trials->one, f->theta, s.node_share / c->nodes, s.work);
    s.arrival = s.arrivals->shared + RB_N_TILTS * c->nodes;
    for (int k = 0; k < 2; k++) {
        s.late_p[k] = k == 0 ? 1e-9 : 1e-6;
        s.late_s[k] =
            s.arrivals->law.n == 1 ? s.arrivals->law.low_s : rb_law_quantile(&s.arrivals->law, 1 - s.late_p[k]);
    }
    *out = s;
    return true;
}

bool rb_floors_get(struct rb_floors *f, int stage, const struct rb_choice *choice, const int *kept, int n,
                   struct rb_times *out, struct rb_err *err)
{
    struct stage s;
    if (!describe(f, stage, choice, &s, err))
        return false;
    for (int i = 0; i < n; i++) {
        struct rb_times waiting = s.trials->longest_times;
        double mean_s, tilted_s[RB_N_TILTS];
        average(&s, 0, &mean_s, tilted_s);
        raise(&waiting, mean_s, tilted_s);
        wait_for_first(&s, kept[i], &waiting);
        raise_by_work(&s, choice->nodes - kept[i], &waiting);
        out[i] = waiting;
    }
    return true;
}
