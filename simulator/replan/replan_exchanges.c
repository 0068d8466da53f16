// Which other nodes there are for the stages to come: near a choice, and far from it.
#include "simulator/replan/replan_private.h"

#include "engine/core/placement.h"
#include "profiles/catalog/reservation.h"
#include "profiles/job/job_scheduler.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_TURNS = 8,      // in which the trials of a stage train one after another
    MOST_SINGLES = 1000, // a quarter of a second of work
};

// ---- what is possible

static bool is_same(const struct rb_replan *r, const struct rb_replan_choices *a, const struct rb_replan_choices *b)
{
    const size_t first = (size_t)r->first, n = (size_t)r->n_stages - first;
    return a->admit_until_us == b->admit_until_us &&
           memcmp(a->stages + first, b->stages + first, n * sizeof a->stages[0]) == 0;
}

static int gpus_of(const struct rb_replan *r, const struct rb_stage_change *c)
{
    return r->plan->offers[c->offer].gpus;
}

static int most_nodes(const struct rb_replan *r, const struct rb_stage_change *c)
{
    return rb_offer_most_nodes(&r->plan->offers[c->offer], r->plan->job->resources.max_nodes);
}

static int nodes_for_all(const struct rb_replan *r, const struct rb_stage_change *c)
{
    const int per_node = gpus_of(r, c), trials = r->plan->stages[c->stage].trials;
    if (r->overlaps) // trials of other stages, too
        return r->plan->job->resources.max_nodes;
    if (c->gpus_per_trial > per_node)
        return trials * ((c->gpus_per_trial + per_node - 1) / per_node);
    return (trials + per_node / c->gpus_per_trial - 1) / (per_node / c->gpus_per_trial);
}

static bool is_possible(const struct rb_replan *r, const struct rb_stage_change *c)
{
    const struct rb_job *job = r->plan->job;
    const int per_node = gpus_of(r, c), gang = (c->gpus_per_trial + per_node - 1) / per_node;
    const struct rb_scenario *s = rb_prediction_scenario(r->prediction);
    double unit_s;
    return c->nodes >= 1 && c->nodes <= most_nodes(r, c) && c->nodes <= nodes_for_all(r, c) &&
           gang <= job->trial.max_nodes && (gang == 1 || c->gpus_per_trial % per_node == 0) &&
           rb_placement_capacity(c->nodes, per_node, c->gpus_per_trial) >= 1 && s->sim_offers[c->offer].usable &&
           rb_scenario_unit_s(s, c->offer, c->gpus_per_trial, &unit_s, NULL);
}

static bool is_known(const struct rb_replan *r, const struct rb_replan_choices *c)
{
    for (int i = 0; i < r->n_listed; i++) {
        if (is_same(r, &r->listed[i].choices, c))
            return true;
    }
    return false;
}

void rb_replan_list(struct rb_replan *r, const struct rb_replan_choices *c)
{
    r->listed = rb_grow(r->listed, r->n_listed, sizeof *r->listed);
    r->listed[r->n_listed++] = (struct rb_replan_exchange){.choices = *c};
}

static bool are_possible(const struct rb_replan *r, const struct rb_replan_choices *c)
{
    bool ok = true;
    for (int s = r->first; s < r->n_stages; s++)
        ok = ok && is_possible(r, &c->stages[s]);
    return ok;
}

static void offer_exchange(struct rb_replan *r, const struct rb_replan_choices *c)
{
    if (are_possible(r, c) && r->n_listed < r->most_listed && !is_known(r, c))
        rb_replan_list(r, c);
}

static int at_most(int nodes, const struct rb_replan *r, const struct rb_stage_change *c)
{
    const int all = nodes_for_all(r, c), allowed = most_nodes(r, c);
    const int most = all < allowed ? all : allowed;
    return nodes < most ? nodes : most;
}

static int scaled(int nodes, double times)
{
    const int n = (int)lround(nodes * times);
    return n > 1 ? n : 1;
}

// ---- near

static const double times_nodes[] = {2 / 3.0, 1.5, 0.5, 2, 4};
enum { N_TIMES = sizeof times_nodes / sizeof times_nodes[0], N_NEAR = 2 };

// What is further is among the singles, if these were made.
static bool is_only_near(const struct rb_replan *r)
{
    return r->n_singles > 0;
}

static int n_times(const struct rb_replan *r)
{
    return is_only_near(r) ? N_NEAR : N_TIMES;
}

static void exchange_nodes(struct rb_replan *r, int stage)
{
    for (int i = -2; i < n_times(r); i++) {
        struct rb_replan_choices c = r->listed[r->best].choices;
        struct rb_stage_change *s = &c.stages[stage];
        const int before = s->nodes;
        s->nodes = at_most(i == -2 ? before - 1 : i == -1 ? before + 1 : scaled(before, times_nodes[i]), r, s);
        offer_exchange(r, &c);
    }
}

// As many trials at once as before, if there may be as many nodes, or on as many nodes.
static void exchange_gpus(struct rb_replan *r, int stage)
{
    const struct rb_trial_spec *trial = &r->plan->job->trial;
    int present = 0;
    const int gpus = r->listed[r->best].choices.stages[stage].gpus_per_trial;
    while (present < trial->n_sizes - 1 && trial->sizes[present] < gpus)
        present++;
    for (int i = 0; i < trial->n_sizes; i++) {
        struct rb_replan_choices c = r->listed[r->best].choices;
        struct rb_stage_change *s = &c.stages[stage];
        if (is_only_near(r) && abs(i - present) > 1)
            continue;
        const int slots = rb_placement_capacity(s->nodes, gpus_of(r, s), s->gpus_per_trial);
        s->gpus_per_trial = trial->sizes[i];
        offer_exchange(r, &c);
        const int all = nodes_for_all(r, s), trials = r->plan->stages[stage].trials;
        s->nodes = at_most((all * slots + trials - 1) / trials, r, s);
        offer_exchange(r, &c);
    }
}

// Offers of the plan's stages have prices that it was planned with; others would need new ones.
static void exchange_offers(struct rb_replan *r, int stage)
{
    for (int i = 0; i < r->n_stages; i++) {
        struct rb_replan_choices c = r->listed[r->best].choices;
        struct rb_stage_change *s = &c.stages[stage];
        const int gpus = s->nodes * gpus_of(r, s);
        s->offer = r->plan->stages[i].nodes[0].offer;
        s->nodes = at_most((gpus + gpus_of(r, s) - 1) / gpus_of(r, s), r, s);
        offer_exchange(r, &c);
    }
}

static void exchange_all(struct rb_replan *r)
{
    for (int i = 0; i < n_times(r); i++) {
        struct rb_replan_choices c = r->listed[r->best].choices;
        for (int s = r->first; s < r->n_stages; s++)
            c.stages[s].nodes = at_most(scaled(c.stages[s].nodes, times_nodes[i]), r, &c.stages[s]);
        offer_exchange(r, &c);
    }
}

static const double shares_left[] = {0, 0.125, 0.25, 0.5, 0.75}; // of the time

// Only of searches that start configurations on demand.
void rb_replan_close_admission(struct rb_replan *r)
{
    const int64_t now_us = rb_engine_now_us(rb_prediction_engine(r->prediction)), left_us = r->end_us - now_us;
    if (!rb_scheduler_kind(r->plan->job->scheduler.type)->admits_one_by_one || left_us <= 0)
        return;
    for (size_t i = 0; i < sizeof shares_left / sizeof shares_left[0]; i++) {
        struct rb_replan_choices c = r->listed[0].choices;
        c.admit_until_us = now_us + 1 + (int64_t)(shares_left[i] * (double)left_us);
        offer_exchange(r, &c);
    }
}

void rb_replan_exchange_near(struct rb_replan *r)
{
    exchange_all(r);
    for (int s = r->first; s < r->n_stages; s++) {
        exchange_nodes(r, s);
        if (s == r->stage)
            continue; // what trains goes on
        exchange_gpus(r, s);
        exchange_offers(r, s);
    }
}

// ---- far

static void single(struct rb_replan *r, const struct rb_replan_choices *c)
{
    r->singles = rb_grow(r->singles, r->n_singles, sizeof *r->singles);
    r->singles[r->n_singles++] = (struct rb_replan_exchange){.choices = *c};
}

static void add_single(struct rb_replan *r, int stage, int offer, int gpus, int turns)
{
    struct rb_replan_choices c = r->listed[0].choices;
    struct rb_stage_change *s = &c.stages[stage];
    const int trials = r->plan->stages[stage].trials, slots = (trials + turns - 1) / turns;
    s->offer = offer;
    s->gpus_per_trial = gpus;
    const int per_node = gpus_of(r, s);
    s->nodes = gpus > per_node ? slots * ((gpus + per_node - 1) / per_node)
                               : (slots + per_node / gpus - 1) / (per_node / gpus);
    const bool is_new =
        !is_same(r, &r->singles[r->n_singles - 1].choices, &c) && !is_same(r, &r->listed[0].choices, &c);
    if (is_new && r->n_singles < MOST_SINGLES && r->n_singles < 4 * r->most_listed && are_possible(r, &c))
        single(r, &c);
}

static void add_turns(struct rb_replan *r, int stage, int offer, int gpus)
{
    for (int turns = 1; turns <= MOST_TURNS; turns++)
        add_single(r, stage, offer, gpus, turns);
}

static bool is_first_of_its_offer(const struct rb_replan *r, int stage)
{
    for (int i = 0; i < stage; i++) {
        if (r->plan->stages[i].nodes[0].offer == r->plan->stages[stage].nodes[0].offer)
            return false;
    }
    return true;
}

void rb_replan_make_singles(struct rb_replan *r)
{
    const struct rb_trial_spec *trial = &r->plan->job->trial;
    single(r, &r->listed[0].choices);
    for (int s = r->first; s < r->n_stages; s++) {
        const struct rb_stage_change *now = &r->listed[0].choices.stages[s];
        if (s == r->stage) {
            add_turns(r, s, now->offer, now->gpus_per_trial);
            continue;
        }
        for (int i = 0; i < r->n_stages; i++) {
            for (int k = 0; k < trial->n_sizes && is_first_of_its_offer(r, i); k++)
                add_turns(r, s, r->plan->stages[i].nodes[0].offer, trial->sizes[k]);
        }
    }
}

// Over the plan in force, by the runs that screened both. INFINITY: it comes to no end.
static double adds_by(const struct rb_replan *r, const struct rb_replan_exchange *x, double time_price)
{
    const struct rb_replan_score *base = &r->singles[0].score;
    return x->score.p < 0 ? INFINITY
                          : x->score.cost_uusd - base->cost_uusd + time_price * (x->score.time_us - base->time_us);
}

static int stage_of(const struct rb_replan *r, const struct rb_replan_exchange *x)
{
    int s = r->first;
    while (memcmp(&x->choices.stages[s], &r->listed[0].choices.stages[s], sizeof x->choices.stages[s]) == 0)
        s++;
    return s;
}

static void combine_at(struct rb_replan *r, double time_price)
{
    struct rb_replan_choices c = r->listed[0].choices;
    double best[RB_LIMIT_STAGES] = {0};
    for (int i = 1; i < r->n_singles; i++) {
        const int s = stage_of(r, &r->singles[i]);
        const double added = adds_by(r, &r->singles[i], time_price);
        if (added < best[s]) {
            best[s] = added;
            c.stages[s] = r->singles[i].choices.stages[s];
        }
    }
    offer_exchange(r, &c);
}

// Least and greatest price of time, over the dollars an hour that the plan in force costs on average.
#define LEAST_PRICE 0.05
#define MOST_PRICE  20.0
#define PRICE_RATIO 1.4

void rb_replan_combine(struct rb_replan *r)
{
    const struct rb_replan_score *base = &r->singles[0].score;
    const double usual = base->cost_uusd / fmax(base->time_us, 1);
    for (double price = LEAST_PRICE; price < MOST_PRICE; price *= PRICE_RATIO)
        combine_at(r, price * usual);
}
