// The exact search against brute force on random small jobs: every plan of the space scored by the same laws.
#include "case.h"

#include "planner/exact.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define N_CHANCE  60
#define N_MEDIAN  30 // confidence 0.5: the deadline is about the mean
#define MAX_PLANS 6000

struct world {
    struct rb_case c;
    struct rb_scenario scenario;
    struct rb_search search;
};

static void open_world(struct world *w, uint32_t number, struct rb_stage_times *times)
{
    struct rb_offer *offers;
    struct rb_err err = {0};
    int n_offers;
    case_random(&w->c, number);
    w->c.req.times = times;
    if (!rb_planner_offers(&w->c.job, &w->c.catalog, &w->c.arena, &offers, &n_offers, &err) ||
        !rb_scenario_init(&w->scenario, &w->c.job, &w->c.profile, offers, n_offers, &w->c.catalog, w->c.req.seed, &err))
        fail_msg("%s", err.message);
}

// false: no size fits any node.
static bool start_search(struct world *w)
{
    struct rb_err err = {0};
    if (!rb_search_init(&w->search, &w->c.req, &w->scenario, &err)) {
        assert_string_equal(err.key, "trial.gpus");
        return false;
    }
    assert_true(w->search.by_laws);
    return true;
}

// --- brute force

struct choices {
    struct rb_choice items[64];
    int n;
};

static struct choices list_choices(const struct world *w, int stage)
{
    struct choices list = {.n = 0};
    for (int offer = 0; offer < w->scenario.n_offers; offer++) {
        const struct rb_sizes *sizes = &w->search.sizes[offer];
        for (int nodes = 1; nodes <= rb_search_useful_nodes(&w->search, stage, offer); nodes++) {
            for (int i = 0; i < sizes->n; i++) {
                if (rb_nodes_per_trial(rb_search_gpus_per_node(&w->search, offer), sizes->gpus[i]) <= nodes)
                    list.items[list.n++] = (struct rb_choice){offer, sizes->gpus[i], nodes};
            }
        }
    }
    return list;
}

static double n_plans(const struct world *w)
{
    double n = 1;
    for (int stage = 0; stage < w->scenario.stages.n; stage++)
        n *= list_choices(w, stage).n;
    return n;
}

struct brute {
    struct choices choices[RB_LIMIT_STAGES];
    struct rb_candidate best;
    double best_uusd, fastest_s;
};

static void score_plan(struct world *w, struct brute *b, struct rb_candidate *plan)
{
    struct rb_score score;
    struct rb_err err = {0};
    if (!rb_score_candidate(&w->search, plan, RB_SCORE_ACCURACY, &score, &err))
        fail_msg("%s", err.message);
    b->fastest_s = fmin(b->fastest_s, score.time_mean_us / 1e6);
    if (score.cost_mean_uusd >= b->best_uusd)
        return;
    if (!rb_search_score(&w->search, plan, w->c.req.samples, &err))
        fail_msg("%s", err.message);
    if (!rb_search_feasible(&w->search, &plan->estimate))
        return;
    b->best_uusd = score.cost_mean_uusd;
    b->best = *plan;
}

static void try_all(struct world *w, struct brute *b, struct rb_candidate *plan, int stage)
{
    plan->n_stages = w->scenario.stages.n;
    if (stage == plan->n_stages) {
        score_plan(w, b, plan);
        return;
    }
    for (int i = 0; i < b->choices[stage].n; i++) {
        plan->stages[stage] = b->choices[stage].items[i];
        try_all(w, b, plan, stage + 1);
    }
}

static struct brute brute_force(struct world *w)
{
    struct brute b = {.best_uusd = INFINITY, .fastest_s = INFINITY};
    struct rb_candidate plan = {0};
    for (int stage = 0; stage < w->scenario.stages.n; stage++)
        b.choices[stage] = list_choices(w, stage);
    try_all(w, &b, &plan, 0);
    return b;
}

// --- comparison

struct tally {
    int n_plans_feasible, n_infeasible, n_proved, n_types, n_held;
    double least_gap, worst;
};

static struct rb_plan_result plan_exactly(struct world *w, const struct rb_exact_options *opt)
{
    struct rb_plan_result result;
    struct rb_err err = {0};
    if (!rb_exact_plan(&w->search, opt, &result, &err))
        fail_msg("%s", err.message);
    return result;
}

static double mean_cost(struct world *w, const struct rb_candidate *plan)
{
    struct rb_score score;
    struct rb_err err = {0};
    if (!rb_score_candidate(&w->search, plan, RB_SCORE_ACCURACY, &score, &err))
        fail_msg("%s", err.message);
    return score.cost_mean_uusd;
}

// More nodes than the trials of a stage can use.
static bool holds_nodes(const struct world *w, const struct rb_candidate *c)
{
    for (int i = 0; i < c->n_stages; i++) {
        const struct rb_choice *x = &c->stages[i];
        if (x->nodes > rb_nodes_to_hold(w->scenario.offers[x->offer].gpus, w->scenario.stages.rungs[i].trials, x->gpus))
            return true;
    }
    return false;
}

static void check_result(struct world *w, const struct brute *b, const struct rb_plan_result *r, uint32_t number,
                         struct tally *tally)
{
    if (r->feasible != !isinf(b->best_uusd))
        fail_msg("case %u: feasible %d, brute force %g", number, r->feasible, b->best_uusd);
    if (!r->feasible) {
        tally->n_infeasible++;
        return;
    }
    double found = mean_cost(w, &r->best);
    tally->worst = fmax(tally->worst, found / b->best_uusd);
    if (fabs(found - b->best_uusd) > 1e-7 * b->best_uusd)
        fail_msg("case %u: %.3f, brute force %.3f", number, found, b->best_uusd);
    assert_true(r->bound.present && r->bound.gap >= 0);
    assert_true((double)r->bound.cost_uusd <= b->best_uusd * (1 + 1e-9));
    assert_true(r->bound.proved == (r->bound.why_not == NULL));
    tally->n_plans_feasible++;
    tally->n_proved += r->bound.proved;
    tally->n_types += w->scenario.n_offers > 1;
    tally->n_held += holds_nodes(w, &r->best);
    tally->least_gap = fmin(tally->least_gap, r->bound.gap);
}

// Deadlines from too tight to loose.
static int64_t draw_deadline(struct world *w, struct rb_stream *s)
{
    struct brute b = {.best_uusd = INFINITY, .fastest_s = INFINITY};
    struct rb_candidate plan = {0};
    w->c.req.deadline_us = -1;
    assert_true(start_search(w));
    for (int stage = 0; stage < w->scenario.stages.n; stage++)
        b.choices[stage] = list_choices(w, stage);
    try_all(w, &b, &plan, 0);
    struct rb_score cheapest;
    struct rb_err err = {0};
    assert_true(rb_score_candidate(&w->search, &b.best, RB_SCORE_ACCURACY, &cheapest, &err));
    rb_search_finish(&w->search);
    double slow_s = cheapest.time_mean_us / 1e6, u = rb_stream_uniform(s);
    return (int64_t)(1e6 * (0.97 * b.fastest_s + u * u * 1.1 * fmax(0, slow_s - b.fastest_s) + u * 0.1 * b.fastest_s));
}

static void check_case(uint32_t number, double confidence, const struct rb_exact_options *options, int n_options,
                       struct tally *tally)
{
    struct world w;
    struct rb_stream s;
    struct rb_stage_times *times = rb_stage_times_create(256);
    open_world(&w, number, times);
    rb_stream_init(&s, &(struct rb_stream_key){.seed = 11, .purpose = RB_DRAW_SEARCH, .index = number});
    w.c.req.confidence = confidence;
    bool usable = start_search(&w), small = usable && n_plans(&w) <= MAX_PLANS;
    if (usable)
        rb_search_finish(&w.search);
    if (small) {
        w.c.req.deadline_us = draw_deadline(&w, &s);
        assert_true(start_search(&w));
        struct brute b = brute_force(&w);
        for (int i = 0; i < n_options; i++) {
            struct rb_plan_result r = plan_exactly(&w, &options[i]);
            check_result(&w, &b, &r, number, tally);
        }
        rb_search_finish(&w.search);
    }
    rb_scenario_finish(&w.scenario);
    case_finish(&w.c);
    rb_stage_times_destroy(times);
}

// Stage times as accurate as those that brute force scores by.
static struct rb_exact_options options(void)
{
    struct rb_exact_options opt = rb_exact_defaults();
    opt.accuracy = RB_SCORE_ACCURACY;
    return opt;
}

static void print(const char *what, const struct tally *t)
{
    print_message("%s: %d plans (%d proved, %d with several types, %d holding nodes), %d infeasible, least gap %g\n",
                  what, t->n_plans_feasible, t->n_proved, t->n_types, t->n_held, t->n_infeasible, t->least_gap);
}

static void equals_brute_force_at_95_percent(void **state)
{
    struct tally t = {.least_gap = INFINITY};
    struct rb_exact_options opt = options();
    (void)state;
    for (uint32_t i = 0; t.n_plans_feasible < N_CHANCE; i++)
        check_case(i, 0.95, &opt, 1, &t);
    print("p95", &t);
    assert_true(t.n_infeasible > 0 && t.n_types > N_CHANCE / 4 && t.n_held > 0);
    assert_true(t.n_proved > N_CHANCE / 2);
}

static void equals_brute_force_at_the_median(void **state)
{
    struct tally t = {.least_gap = INFINITY};
    struct rb_exact_options opt = options();
    (void)state;
    for (uint32_t i = 5000; t.n_plans_feasible < N_MEDIAN; i++)
        check_case(i, 0.5, &opt, 1, &t);
    print("median", &t);
}

// Every rule switched off by itself, and all of them.
static void pruning_changes_no_optimum(void **state)
{
    struct tally t = {.least_gap = INFINITY};
    struct rb_exact_options opt[6];
    (void)state;
    for (int i = 0; i < 6; i++)
        opt[i] = options();
    opt[0].tilts = opt[1].envelope = opt[2].labels = opt[3].samples = false;
    opt[4].tilts = opt[4].envelope = opt[4].labels = opt[4].samples = false;
    for (uint32_t i = 9000; i < 9015; i++)
        check_case(i, 0.9, opt, 6, &t);
    print("rules off", &t);
    assert_true(t.n_plans_feasible > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_brute_force_at_95_percent),
        cmocka_unit_test(equals_brute_force_at_the_median),
        cmocka_unit_test(pruning_changes_no_optimum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
