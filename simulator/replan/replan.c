#include "simulator/replan/replan.h"

#include "engine/core/placement.h"
#include "engine/core/rungs.h"
#include "profiles/catalog/reservation.h"
#include "profiles/job/job_scheduler.h"
#include "simulator/stage/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    STEP = 8,               // runs of one step, of which each takes milliseconds
    RANKED_RUNS = 64,
    JUDGED_RUNS = 1024,     // a probability within .05 at 99.9 %, a difference on common draws far better
    FIRST_JUDGED = 1 << 20, // runs that no search has used
    MOST_ROUNDS = 8,        // each takes the best exchange
    MOST_LISTED = 400,       // exchanges; fewer of jobs with many trials
    MOST_TRIALS = 20000000, // played: a minute of work
};

#define ABOUT (1.5 / RANKED_RUNS) // of probability: one run of those that rank exchanges

// How the stages to come are carried out.
struct choices {
    struct rb_stage_change stages[RB_LIMIT_STAGES]; // by stage, from `first` on
    int64_t admit_until_us;                         // 0: as before
};

struct score {
    double p, cost_uusd;
};

struct exchange {
    struct choices choices;
    struct score score; // by the runs so far
};

struct rb_replan {
    struct rb_prediction *prediction;
    struct rb_replan_limits limits;
    const struct rb_plan *plan; // in force when it began
    int stage, first, n_stages; // first: that may be changed, the one under way or the next
    bool overlaps;              // its stages
    int64_t end_us;             // by when it should have ended
    struct exchange *listed; // the plan in force first, in the order in which they are ranked, [n_listed]
    int n_listed, most_listed;
    int n_ranked, n_runs; // of them; runs of the next one
    int best, best_of_round; // index
    int round;
    double surest; // of all that were ranked
    bool searched, failed;
    int n_judged;
    int64_t *time_us[2], *cost_uusd[2]; // of the base and the best, [JUDGED_RUNS]
    struct rb_replan_found found;
    struct rb_stage_change changes[RB_LIMIT_STAGES];
};

// ---- which exchanges there are

static bool is_same(const struct rb_replan *r, const struct choices *a, const struct choices *b)
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

static bool is_known(const struct rb_replan *r, const struct choices *c)
{
    for (int i = 0; i < r->n_listed; i++) {
        if (is_same(r, &r->listed[i].choices, c))
            return true;
    }
    return false;
}

static void list(struct rb_replan *r, const struct choices *c)
{
    r->listed = rb_grow(r->listed, r->n_listed, sizeof *r->listed);
    r->listed[r->n_listed++] = (struct exchange){.choices = *c};
}

static void offer_exchange(struct rb_replan *r, const struct choices *c)
{
    for (int s = r->first; s < r->n_stages; s++) {
        if (!is_possible(r, &c->stages[s]))
            return;
    }
    if (r->n_listed < r->most_listed && !is_known(r, c))
        list(r, c);
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

static const double times_nodes[] = {0.5, 2 / 3.0, 1.5, 2, 4};
enum { N_TIMES = sizeof times_nodes / sizeof times_nodes[0] };

static void exchange_nodes(struct rb_replan *r, int stage)
{
    for (int i = -2; i < N_TIMES; i++) {
        struct choices c = r->listed[r->best].choices;
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
    for (int i = 0; i < trial->n_sizes; i++) {
        struct choices c = r->listed[r->best].choices;
        struct rb_stage_change *s = &c.stages[stage];
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
        struct choices c = r->listed[r->best].choices;
        struct rb_stage_change *s = &c.stages[stage];
        const int gpus = s->nodes * gpus_of(r, s);
        s->offer = r->plan->stages[i].nodes[0].offer;
        s->nodes = at_most((gpus + gpus_of(r, s) - 1) / gpus_of(r, s), r, s);
        offer_exchange(r, &c);
    }
}

static void exchange_all(struct rb_replan *r)
{
    for (int i = 0; i < N_TIMES; i++) {
        struct choices c = r->listed[r->best].choices;
        for (int s = r->first; s < r->n_stages; s++)
            c.stages[s].nodes = at_most(scaled(c.stages[s].nodes, times_nodes[i]), r, &c.stages[s]);
        offer_exchange(r, &c);
    }
}

static const double shares_left[] = {0, 0.125, 0.25, 0.5, 0.75}; // of the time

// Only of searches that start configurations on demand.
static void close_admission(struct rb_replan *r)
{
    const int64_t now_us = rb_engine_now_us(rb_prediction_engine(r->prediction)), left_us = r->end_us - now_us;
    if (!rb_scheduler_kind(r->plan->job->scheduler.type)->admits_one_by_one || left_us <= 0)
        return;
    for (size_t i = 0; i < sizeof shares_left / sizeof shares_left[0]; i++) {
        struct choices c = r->listed[0].choices;
        c.admit_until_us = now_us + 1 + (int64_t)(shares_left[i] * (double)left_us);
        offer_exchange(r, &c);
    }
}

// ---- what they are worth

static struct rb_event advice_of(const struct rb_replan *r, const struct choices *c)
{
    return (struct rb_event){
        .kind = RB_EVENT_ADVICE,
        .changes = &c->stages[r->first],
        .n_changes = r->n_stages - r->first,
        .admit_until_us = c->admit_until_us};
}

static bool keeps(const struct rb_replan *r, int64_t time_us, int64_t cost_uusd)
{
    return (r->limits.deadline_us < 0 || time_us <= r->limits.deadline_us) &&
           (r->limits.budget_uusd < 0 || cost_uusd <= r->limits.budget_uusd);
}

// Plays some more runs of the next one. True: it is ranked.
static bool rank_some(struct rb_replan *r)
{
    int64_t time_us[STEP], cost_uusd[STEP];
    struct exchange *x = &r->listed[r->n_ranked];
    const struct rb_event advice = advice_of(r, &x->choices);
    if (!rb_prediction_try(r->prediction, &advice, (uint32_t)r->n_runs, STEP, time_us, cost_uusd)) {
        r->failed = r->n_ranked == 0; // the plan in force; another one that comes to no end is only a bad one
        x->score = (struct score){.p = -1, .cost_uusd = INFINITY};
        return true;
    }
    for (int i = 0; i < STEP; i++) {
        x->score.p += keeps(r, time_us[i], cost_uusd[i]) ? 1.0 / RANKED_RUNS : 0;
        x->score.cost_uusd += (double)cost_uusd[i] / RANKED_RUNS;
    }
    r->n_runs += STEP;
    return r->n_runs == RANKED_RUNS;
}

static int64_t admitted_until(const struct exchange *x)
{
    return x->choices.admit_until_us ? x->choices.admit_until_us : INT64_MAX;
}

// The cheapest of those that keep the limits with the confidence; if none does, the cheapest of those that are about as
// sure as the surest.
static bool is_better(const struct rb_replan *r, const struct exchange *a, const struct exchange *b)
{
    const double enough = fmin(r->limits.confidence, r->surest - ABOUT);
    if (a->score.p < enough || b->score.p < enough)
        return a->score.p > b->score.p;
    if (a->choices.admit_until_us != b->choices.admit_until_us) // fewer configurations are always cheaper
        return admitted_until(a) > admitted_until(b);
    return a->score.cost_uusd < b->score.cost_uusd;
}

static void exchange_what_is_used(struct rb_replan *r)
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

static bool is_late(const struct rb_replan *r)
{
    return r->listed[0].score.p < r->limits.confidence;
}

static void begin_round(struct rb_replan *r)
{
    r->best_of_round = r->best;
    if (r->round == 0 && is_late(r))
        close_admission(r);
    if (r->n_listed == 1 || r->round > 0)
        exchange_what_is_used(r);
    r->round++;
}

static void rank_next(struct rb_replan *r)
{
    if (!rank_some(r))
        return;
    const int i = r->n_ranked++;
    r->n_runs = 0;
    r->surest = fmax(r->surest, r->listed[i].score.p);
    if (is_better(r, &r->listed[i], &r->listed[r->best_of_round]))
        r->best_of_round = i;
}

// The first round has only the plan in force.
static void end_round(struct rb_replan *r)
{
    const bool closed = r->round == 1 && r->listed[r->best_of_round].choices.admit_until_us > 0;
    const bool is_enough = closed && r->listed[r->best_of_round].score.p >= r->limits.confidence;
    r->searched = r->round > 0 && (is_enough || r->best_of_round == r->best || r->round == MOST_ROUNDS);
    if (r->searched) {
        r->best = r->best_of_round;
        return;
    }
    r->best = r->best_of_round;
    begin_round(r);
}

// ---- the verdict

static void judge_some(struct rb_replan *r)
{
    const struct rb_event advice = advice_of(r, &r->listed[r->best].choices);
    const uint32_t first = FIRST_JUDGED + (uint32_t)r->n_judged;
    for (int i = 0; i < 2 && !r->failed; i++)
        r->failed = !rb_prediction_try(r->prediction, i ? &advice : NULL, first, STEP,
                                       r->time_us[i] + r->n_judged, r->cost_uusd[i] + r->n_judged);
    r->n_judged += STEP;
}

static void conclude(struct rb_replan *r)
{
    struct rb_replan_found *f = &r->found;
    double before[JUDGED_RUNS], after[JUDGED_RUNS];
    for (int i = 0; i < JUDGED_RUNS; i++) {
        f->p_before += keeps(r, r->time_us[0][i], r->cost_uusd[0][i]) ? 1.0 / JUDGED_RUNS : 0;
        f->p_after += keeps(r, r->time_us[1][i], r->cost_uusd[1][i]) ? 1.0 / JUDGED_RUNS : 0;
        before[i] = (double)r->cost_uusd[0][i];
        after[i] = (double)r->cost_uusd[1][i];
        f->dearest_uusd = r->cost_uusd[1][i] > f->dearest_uusd ? r->cost_uusd[1][i] : f->dearest_uusd;
    }
    const struct rb_paired pair = rb_paired_of(before, after, JUDGED_RUNS);
    f->cost_before_uusd = rb_mean_of(before, JUDGED_RUNS).mean;
    f->cost_after_uusd = rb_mean_of(after, JUDGED_RUNS).mean;
    f->saving_se_uusd = pair.difference.sd / sqrt(JUDGED_RUNS);
    const struct rb_stage_change *base = r->listed[0].choices.stages, *best = r->listed[r->best].choices.stages;
    for (int s = r->first; s < r->n_stages; s++) {
        if (memcmp(&best[s], &base[s], sizeof best[s]) != 0)
            r->changes[f->n++] = best[s];
    }
    f->changes = r->changes;
    f->admit_until_us = r->listed[r->best].choices.admit_until_us;
}

// ---- life

// Stages of several kinds of nodes stay as they are: an exchange would need more than one entry.
static bool is_plain(const struct rb_plan *plan, int from)
{
    for (int i = from; i < plan->n_stages; i++) {
        if (plan->stages[i].n_nodes != 1)
            return false;
    }
    return true;
}

static int most_listed(const struct rb_plan *plan, int stage)
{
    int trials = 1;
    for (int i = stage; i < plan->n_stages; i++)
        trials += plan->stages[i].trials;
    const int most = MOST_TRIALS / RANKED_RUNS / trials;
    return most < MOST_LISTED ? most : MOST_LISTED;
}

// Where trials wait for GPUs, or other stages' trials may.
static int first_to_change(const struct rb_engine *e, const struct rb_plan *plan, int stage)
{
    int n_waiting;
    rb_engine_waiting(e, &n_waiting);
    return (n_waiting > 0 || rb_job_is_asynchronous(plan->job)) && plan->stages[stage].n_nodes == 1 ? stage : stage + 1;
}

static int64_t end_of(const struct rb_prediction *p, const struct rb_plan *plan, const struct rb_replan_limits *limits)
{
    const char *why;
    const struct rb_estimate *e = rb_prediction_estimate(p, &why);
    int64_t end_us = limits->deadline_us >= 0 ? limits->deadline_us : e ? e->time_us.p50 : 0;
    return plan->admit_until_us > 0 && plan->admit_until_us < end_us ? plan->admit_until_us : end_us;
}

struct rb_replan *rb_replan_begin(struct rb_prediction *p, const struct rb_replan_limits *limits)
{
    const struct rb_engine *e = rb_prediction_engine(p);
    const int stage = e ? rb_engine_stage(e) : -1;
    const struct rb_plan *plan = e ? rb_engine_present_plan(e) : NULL;
    if (!plan || stage < 0)
        return NULL;
    const int first = first_to_change(e, plan, stage);
    if (first >= plan->n_stages || !is_plain(plan, first))
        return NULL;
    struct choices base = {0};
    struct rb_replan *r = rb_xcalloc(1, sizeof *r);
    *r = (struct rb_replan){
        .prediction = p, .limits = *limits, .plan = plan, .stage = stage, .first = first, .n_stages = plan->n_stages};
    r->overlaps = rb_job_is_asynchronous(plan->job);
    r->end_us = end_of(p, plan, limits);
    for (int s = first; s < r->n_stages; s++) {
        const struct rb_plan_stage *from = &plan->stages[s];
        base.stages[s] =
            (struct rb_stage_change){s, from->nodes[0].offer, from->gpus_per_trial, from->nodes[0].count};
    }
    list(r, &base);
    r->most_listed = most_listed(plan, stage);
    for (int i = 0; i < 2; i++) {
        r->time_us[i] = rb_xcalloc(JUDGED_RUNS, sizeof *r->time_us[i]);
        r->cost_uusd[i] = rb_xcalloc(JUDGED_RUNS, sizeof *r->cost_uusd[i]);
    }
    return r;
}

void rb_replan_destroy(struct rb_replan *r)
{
    if (!r)
        return;
    for (int i = 0; i < 2; i++) {
        free(r->time_us[i]);
        free(r->cost_uusd[i]);
    }
    free(r->listed);
    free(r);
}

int rb_replan_stage(const struct rb_replan *r)
{
    return r->stage;
}

bool rb_replan_step(struct rb_replan *r)
{
    if (r->failed || r->n_judged == JUDGED_RUNS)
        return true;
    if (r->searched) {
        judge_some(r);
        if (r->n_judged == JUDGED_RUNS && !r->failed)
            conclude(r);
    } else if (r->n_ranked < r->n_listed) {
        rank_next(r);
    } else {
        end_round(r);
    }
    return false;
}

bool rb_replan_result(const struct rb_replan *r, struct rb_replan_found *out)
{
    *out = r->found;
    return !r->failed && r->n_judged == JUDGED_RUNS;
}
