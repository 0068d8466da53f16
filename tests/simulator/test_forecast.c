// Forecasts: curves, the choice of sizes against every other choice, the pool against its budget, and whole runs.
#include "small_scenario.h"

#include "base/text/buf.h"
#include "engine/policies/lookahead.h"
#include "simulator/forecast/forecast.h"
#include "simulator/forecast/forecast_choice.h"
#include "simulator/forecast/forecast_curve.h"
#include "simulator/forecast/forecast_pool.h"
#include "simulator/model/prediction.h"
#include "simulator/model/spending.h"
#include "simulator/world/world.h"

#include <math.h>
#include <stdlib.h>

static struct rb_stream stream_of(uint64_t seed)
{
    struct rb_stream s;
    rb_stream_init(&s, &(struct rb_stream_key){.seed = seed, .purpose = RB_DRAW_SEARCH});
    return s;
}

static double normal(struct rb_stream *s)
{
    const double radius = sqrt(-2 * log(rb_stream_uniform(s)));
    return radius * cos(2 * M_PI * rb_stream_uniform(s));
}

// ---- curves

enum { R = 100 };

// A power law that is among the shapes: 0.2 + (0.3 + 0.01 i) x_k(r).
static double power_law(int trial, int k, double resource)
{
    double x[RB_CURVE_SHAPES];
    rb_curve_shapes_at(resource, R, x);
    return 0.2 + (0.3 + 0.01 * trial) * x[k];
}

static void a_curve_of_a_known_shape_is_continued(void **state)
{
    (void)state;
    for (int k = 0; k < RB_CURVE_SHAPES; k++) {
        RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
        struct rb_seen_curves seen;
        double x[RB_CURVE_SHAPES];
        rb_seen_curves_init(&seen, R);
        for (int i = 0; i < 20; i++) {
            for (int r = 1; r <= 30; r++)
                rb_seen_curves_add(&seen, i, r, power_law(i, k, r));
        }
        const struct rb_curve_model *m = rb_curve_model_fit(&seen, &arena);
        assert_non_null(m);
        rb_curve_shapes_at(60, R, x);
        for (int i = 0; i < 20; i++) {
            const struct rb_prospect p = rb_curve_prospect(m, i, x);
            const double off = fabs(p.mean - power_law(i, k, 60));
            if (off > 0.02 || off > 4 * p.sd)
                fail_msg("shape %d, trial %d: off by %g, sd %g", k, i, off, p.sd);
        }
        rb_seen_curves_finish(&seen);
    }
}

// Curves of no shape that it knows: a - (a - 0.1) exp(-r/t), with noise. Forecasts to twice as far are a third as
// far off as none at all, and most are within what they say; normal errors of known size would be in 95 of 100 cases.
static void forecasts_are_of_use_and_mostly_within_their_spread(void **state)
{
    (void)state;
    int n = 0, n_within = 0;
    double off = 0, naive_off = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
        struct rb_stream s = stream_of(seed);
        struct rb_seen_curves seen;
        double a[30], t[30], x[RB_CURVE_SHAPES];
        rb_seen_curves_init(&seen, R);
        for (int i = 0; i < 30; i++) {
            a[i] = 0.5 + 0.4 * rb_stream_uniform(&s);
            t[i] = 5 + 40 * rb_stream_uniform(&s);
            for (int r = 1; r <= 10 + i; r++)
                rb_seen_curves_add(&seen, i, r, a[i] - (a[i] - 0.1) * exp(-r / t[i]) + 0.01 * normal(&s));
        }
        const struct rb_curve_model *m = rb_curve_model_fit(&seen, &arena);
        for (int i = 0; i < 30; i++) {
            const double far = 2 * (10 + i), truth = a[i] - (a[i] - 0.1) * exp(-far / t[i]);
            rb_curve_shapes_at(far, R, x);
            const struct rb_prospect p = rb_curve_prospect(m, i, x);
            n++;
            n_within += fabs(p.mean - truth) <= 2 * p.sd;
            off += fabs(p.mean - truth);
            naive_off += fabs(a[i] - (a[i] - 0.1) * exp(-(10 + i) / t[i]) - truth);
        }
        rb_seen_curves_finish(&seen);
    }
    if (n_within < 0.7 * n || off > 0.5 * naive_off)
        fail_msg("%d of %d within 2 sd; mean error %g, of no forecast %g", n_within, n, off / n, naive_off / n);
}

static void nothing_is_said_before_two_reports(void **state)
{
    (void)state;
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    struct rb_seen_curves seen;
    rb_seen_curves_init(&seen, R);
    assert_null(rb_curve_model_fit(&seen, &arena));
    rb_seen_curves_add(&seen, 0, 1, 0.5);
    assert_null(rb_curve_model_fit(&seen, &arena));
    rb_seen_curves_add(&seen, 0, 2, 0.5);
    assert_non_null(rb_curve_model_fit(&seen, &arena));
    rb_seen_curves_finish(&seen);
}

// ---- the choice

// E max(X, Y) of independent normals: m1 F(d) + m2 F(-d) + s f(d), s^2 = s1^2 + s2^2, d = (m1 - m2) / s. Source: Clark,
// "The greatest of a finite set of random variables", 1961.
static double clark(struct rb_prospect a, struct rb_prospect b)
{
    const double s = sqrt(a.sd * a.sd + b.sd * b.sd), d = (a.mean - b.mean) / s;
    return a.mean * 0.5 * erfc(-d / M_SQRT2) + b.mean * 0.5 * erfc(d / M_SQRT2) +
           s * exp(-0.5 * d * d) / sqrt(2 * M_PI);
}

static void the_expected_best_of_two_is_clarks(void **state)
{
    (void)state;
    struct rb_choice c = {.n_trials = 2, .n_sizes = 2, .gpus = {0, 1}, .now = {1, 1}, .n_gpus = 2, .reached = -1};
    struct rb_chosen chosen;
    c.prospects[0][1] = (struct rb_prospect){0.5, 0.1};
    c.prospects[1][1] = (struct rb_prospect){0.6, 0.2};
    rb_choose(&c, &chosen);
    assert_true(fabs(chosen.value_now - clark(c.prospects[0][1], c.prospects[1][1])) < 1e-3);
    assert_true(chosen.size[0] == 1 && chosen.size[1] == 1);
}

static void make_choice(struct rb_choice *c, uint64_t seed)
{
    struct rb_stream s = stream_of(seed);
    *c = (struct rb_choice){.n_trials = 3, .n_sizes = 4, .gpus = {0, 1, 2, 4}, .now = {1, 1, 1}, .n_gpus = 5};
    for (int i = 0; i < 3; i++) {
        const double mean = rb_stream_uniform(&s), sd = 0.3 * rb_stream_uniform(&s), gain = 0.3 * rb_stream_uniform(&s);
        for (int size = 1; size < 4; size++)
            c->prospects[i][size] = (struct rb_prospect){mean + gain * log2(c->gpus[size]), sd};
    }
}

// Of every assignment: rb_choose is asked what staying with it is worth.
static double best_of_all(struct rb_choice c)
{
    struct rb_chosen chosen;
    double best = -INFINITY;
    for (int a = 0; a < 64; a++) {
        c.now[0] = a % 4;
        c.now[1] = a / 4 % 4;
        c.now[2] = a / 16;
        if (c.gpus[c.now[0]] + c.gpus[c.now[1]] + c.gpus[c.now[2]] > c.n_gpus)
            continue;
        rb_choose(&c, &chosen);
        best = fmax(best, chosen.value_now);
    }
    return best;
}

static void exchanges_find_the_best_of_all_choices(void **state)
{
    (void)state;
    int n_best = 0;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct rb_choice c;
        struct rb_chosen chosen;
        make_choice(&c, seed);
        rb_choose(&c, &chosen);
        int gpus = 0;
        for (int i = 0; i < 3; i++)
            gpus += c.gpus[chosen.size[i]];
        const double best = best_of_all(c);
        assert_true(gpus <= c.n_gpus);
        assert_true(chosen.value >= chosen.value_now && chosen.value <= best + 1e-9);
        assert_true(chosen.value > best - 0.01);
        n_best += chosen.value > best - 1e-9;
    }
    assert_true(n_best >= 195);
}

static void newcomers_are_tried_where_they_may_be_better(void **state)
{
    (void)state;
    struct rb_choice c = {.n_trials = 1, .n_sizes = 3, .gpus = {0, 1, 2}, .now = {1}, .n_gpus = 2, .reached = 0.5};
    struct rb_prospect bad = {0.1, 0.01}, good = {0.9, 0.01};
    struct rb_chosen chosen;
    c.prospects[0][1] = (struct rb_prospect){0.6, 0.01};
    c.prospects[0][2] = (struct rb_prospect){0.65, 0.01};
    c.n_newcomers = 1;
    c.newcomers_per_gpu = 1;
    c.newcomers = &bad;
    rb_choose(&c, &chosen);
    assert_true(!chosen.newcomers && chosen.size[0] == 2);
    c.newcomers = &good;
    rb_choose(&c, &chosen);
    assert_true(chosen.newcomers && chosen.size[0] == 1 && fabs(chosen.value - 0.9) < 0.01);
}

// ---- runs

static double exponential(void *ctx, uint32_t replicate, int trial, int64_t resource)
{
    (void)ctx;
    struct rb_stream s = stream_of((uint64_t)replicate * 1000 + (uint64_t)trial);
    const double a = 0.5 + 0.45 * rb_stream_uniform(&s), t = 4 + 20 * rb_stream_uniform(&s);
    return a - (a - 0.1) * exp(-(double)resource / t);
}

static void make_job(struct small_scenario *s, const char *policy, int n_trials)
{
    small_scenario_make(s);
    s->p.job.scheduler = (struct rb_scheduler){.type = "asha",
                                               .num_trials = n_trials,
                                               .min_resource = 2,
                                               .max_resource = 32,
                                               .eta = 4,
                                               .brackets = 1,
                                               .rule = RB_RULE_SPECULATE};
    s->p.job.policy_options = (struct rb_policy_options){
        .speculation = true, .overhead = true, .admission = true, .resize_interval = 6, .atom_gpus = 1};
    s->p.plan.policy = policy;
    s->p.plan.deadline_us = 900 * RB_US_PER_S;
    s->p.plan.budget_uusd = -1;
    small_scenario_compile(s, 7);
    for (int i = 0; i < s->scenario.stages.n; i++) {
        s->p.nodes[i][0] = (struct rb_plan_nodes){.offer = LARGE, .count = 1};
        s->p.stages[i] = rb_scenario_stage(&s->scenario, i, 1, s->p.nodes[i]);
    }
    s->p.plan.n_stages = s->scenario.stages.n;
}

static struct rb_world_result run(struct small_scenario *s, struct rb_world_options opt)
{
    struct rb_world_result out;
    struct rb_err err;
    opt.curve = exponential;
    opt.deadline_us = s->p.plan.deadline_us;
    opt.budget_uusd = -1;
    if (!rb_world_run(&s->scenario, &s->p.plan, &opt, &out, &err))
        fail_msg("%s", err.message);
    return out;
}

static void without_an_adviser_it_is_hypersched(void **state)
{
    (void)state;
    struct small_scenario ours, theirs;
    make_job(&ours, "lookahead", 30);
    make_job(&theirs, "hypersched", 30);
    for (uint32_t i = 0; i < 20; i++) {
        const struct rb_world_result a = run(&ours, (struct rb_world_options){.replicate = i});
        const struct rb_world_result b = run(&theirs, (struct rb_world_options){.replicate = i});
        assert_true(a.best_trial == b.best_trial && a.best_metric >= b.best_metric && a.best_metric <= b.best_metric);
        assert_int_equal(a.n_events, b.n_events);
        assert_int_equal(a.n_trained, b.n_trained);
    }
    small_scenario_finish(&ours);
    small_scenario_finish(&theirs);
}

struct replay {
    struct rb_engine *engine; // given the same events, advice and all
    struct rb_actions actions;
    int n_forecasts, n_resized;
    int64_t most_uusd;
    const struct rb_scenario *scenario;
};

static void step_beside(void *ctx, const struct rb_engine *e, const struct rb_event *event,
                        const struct rb_actions *actions)
{
    struct replay *r = ctx;
    rb_engine_step(r->engine, event, &r->actions);
    assert_int_equal(r->actions.n, actions->n);
    for (int i = 0; i < actions->n; i++) {
        assert_int_equal(r->actions.items[i].kind, actions->items[i].kind);
        assert_int_equal(r->actions.items[i].trial, actions->items[i].trial);
        assert_int_equal(r->actions.items[i].gpus, actions->items[i].gpus);
        r->n_resized += actions->items[i].kind == RB_ACTION_START_TRIAL && actions->items[i].gpus > 1;
    }
    r->n_forecasts += event->kind == RB_EVENT_FORECAST;
    const int64_t spent = rb_spending_at(r->scenario, e, event->time_us);
    r->most_uusd = spent > r->most_uusd ? spent : r->most_uusd;
}

static struct replay run_beside(struct small_scenario *s, uint32_t replicate, struct rb_world_result *out)
{
    struct rb_forecaster f = {.scenario = &s->scenario, .plan = &s->p.plan};
    struct replay r = {.scenario = &s->scenario};
    struct rb_err err;
    if (!rb_engine_create(&s->p.plan, &r.engine, &err))
        fail_msg("%s", err.message);
    *out = run(s, (struct rb_world_options){.replicate = replicate,
                                            .observe = step_beside,
                                            .observe_ctx = &r,
                                            .advise = rb_forecast,
                                            .advise_ctx = &f});
    rb_engine_destroy(r.engine);
    rb_actions_finish(&r.actions);
    return r;
}

static void a_replay_needs_no_adviser(void **state)
{
    (void)state;
    struct small_scenario s;
    struct rb_world_result out;
    int n_forecasts = 0, n_resized = 0;
    make_job(&s, "lookahead", 30);
    s.p.plan.deadline_us = 300 * RB_US_PER_S;
    for (uint32_t i = 0; i < 10; i++) {
        const struct replay r = run_beside(&s, i, &out);
        n_forecasts += r.n_forecasts;
        n_resized += r.n_resized;
        assert_true(out.outcome == RB_JOB_COMPLETE && out.time_us <= s.p.plan.deadline_us);
    }
    if (n_forecasts <= 100 || n_resized <= 10)
        fail_msg("%d forecasts, %d resized", n_forecasts, n_resized);
    small_scenario_finish(&s);
}

// A prediction is given every event up to half the deadline, while they happen: what they point to is gone afterwards.
struct beginning {
    struct rb_prediction *prediction;
    int64_t until_us, now_us;
    int n_forecasts;
};

static void tell_beginning(void *ctx, const struct rb_engine *e, const struct rb_event *event,
                           const struct rb_actions *actions)
{
    struct beginning *h = ctx;
    (void)e;
    (void)actions;
    if (event->time_us > h->until_us)
        return;
    rb_prediction_event(h->prediction, event);
    h->now_us = event->time_us;
    h->n_forecasts += event->kind == RB_EVENT_FORECAST;
}

// What sizes the last forecast has chosen, stays: then it ends at the deadline or with its last trial, as the real one does.
static void its_end_is_foreseen_from_the_forecasts_there_are(void **state)
{
    (void)state;
    struct small_scenario s;
    int n_forecasts = 0;
    make_job(&s, "lookahead", 12);
    s.p.plan.deadline_us = 400 * RB_US_PER_S;
    const struct rb_forecaster f = {.scenario = &s.scenario, .plan = &s.p.plan};
    for (uint32_t i = 0; i < 10; i++) {
        struct beginning h = {.prediction = rb_prediction_create(&s.p.plan), .until_us = s.p.plan.deadline_us / 2};
        const char *why;
        const struct rb_world_result r = run(&s, (struct rb_world_options){.replicate = i,
                                                                           .observe = tell_beginning,
                                                                           .observe_ctx = &h,
                                                                           .advise = rb_forecast,
                                                                           .advise_ctx = (void *)&f});
        rb_prediction_begin(h.prediction, &(struct rb_prediction_now){.now_us = h.now_us,
                                                                      .spent_uusd = -1,
                                                                      .deadline_us = s.p.plan.deadline_us,
                                                                      .budget_uusd = -1});
        while (!rb_prediction_make(h.prediction, 100))
            ;
        const struct rb_estimate *e = rb_prediction_estimate(h.prediction, &why);
        if (!e)
            fail_msg("%s", why);
        const double off_s = (double)(e->time_us.p50 - r.time_us) / 1e6;
        print_message("ends after %.0f s, foreseen off by %.0f s after %d forecasts\n", (double)r.time_us / 1e6, off_s,
                      h.n_forecasts);
        assert_true(e->time_us.p5 >= h.now_us && e->time_us.p99 <= s.p.plan.deadline_us);
        assert_true(fabs(off_s) < 10);
        n_forecasts += h.n_forecasts;
        rb_prediction_destroy(h.prediction);
    }
    assert_true(n_forecasts > 10);
    small_scenario_finish(&s);
}

// A node costs 1000 micro-dollars a second; one until the deadline takes 0.9 USD.
static void nodes_are_bought_and_the_budget_is_kept(void **state)
{
    (void)state;
    struct small_scenario s;
    struct rb_world_result out;
    int n_bought = 0;
    make_job(&s, "lookahead", 60);
    s.p.plan.budget_uusd = 3000000;
    for (uint32_t i = 0; i < 10; i++) {
        const struct replay r = run_beside(&s, i, &out);
        assert_true(r.most_uusd <= s.p.plan.budget_uusd);
        n_bought += out.n_nodes - 1;
    }
    assert_true(n_bought >= 10);
    s.p.plan.budget_uusd = 940000; // for one, and not for the least that another costs
    run_beside(&s, 0, &out);
    assert_int_equal(out.n_nodes, 1);
    small_scenario_finish(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_curve_of_a_known_shape_is_continued),
        cmocka_unit_test(forecasts_are_of_use_and_mostly_within_their_spread),
        cmocka_unit_test(nothing_is_said_before_two_reports),
        cmocka_unit_test(the_expected_best_of_two_is_clarks),
        cmocka_unit_test(exchanges_find_the_best_of_all_choices),
        cmocka_unit_test(newcomers_are_tried_where_they_may_be_better),
        cmocka_unit_test(without_an_adviser_it_is_hypersched),
        cmocka_unit_test(a_replay_needs_no_adviser),
        cmocka_unit_test(its_end_is_foreseen_from_the_forecasts_there_are),
        cmocka_unit_test(nodes_are_bought_and_the_budget_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
