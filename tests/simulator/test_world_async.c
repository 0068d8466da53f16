// Asynchronous jobs in the virtual world: a run worked out by hand, and what must hold of any run: the same again, other
// policies on the same draws, and the engine's decisions from the recorded events alone.
#include "random_plan.h"
#include "small_scenario.h"

#include "base/text/buf.h"
#include "engine/core/tuner.h"
#include "simulator/stage/kept_trials.h"
#include "simulator/world/world.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct rb_world_options unlimited = {.deadline_us = -1, .budget_uusd = -1};

// ---- by hand

// What a trial reports whatever it has trained; ctx: by trial.
static double level(void *ctx, uint32_t replicate, int trial, int64_t resource)
{
    (void)replicate;
    (void)resource;
    return ((const double *)ctx)[trial];
}

static void make_asha(struct small_scenario *s, int n_trials, enum rb_rule rule)
{
    static const int ends[] = {1, 2, 4};
    small_scenario_make(s);
    s->p.job.scheduler.type = "asha";
    s->p.job.scheduler.num_trials = n_trials;
    s->p.job.scheduler.rule = rule;
    for (int i = 0, n = n_trials; i < 3; i++, n /= 2) {
        s->p.nodes[i][0] = (struct rb_plan_nodes){.offer = SMALL, .count = 1};
        s->p.stages[i].trials = n > 0 ? n : 1;
        s->p.stages[i].resource_end = ends[i];
    }
    small_scenario_compile(s, 1);
}

static struct rb_world_result run(const struct rb_scenario *s, const struct rb_plan *plan,
                                  const struct rb_world_options *opt)
{
    struct rb_world_result out;
    struct rb_err err;
    if (!rb_world_run(s, plan, opt, &out, &err))
        fail_msg("%s", err.message);
    return out;
}

// Two GPUs, ready at 15 s; a unit takes 10 s, a start 2 s, a checkpoint 1 s. Trials 0 and 1 end level 0 at 28: of two
// results the better one is promoted, trial 1; trial 2 has begun beside it. At 41 trial 3 begins, the last; trial 1 of one
// result at level 1 is not promoted. At 54 trial 3 is among the better half of four and goes on, at 67 level 1 has two
// results: trial 1 trains the 2 units to R, until 67 + 2 + 20 + 1.
static void promotions_by_hand(void **state)
{
    (void)state;
    double metrics[] = {0.1, 0.9, 0.5, 0.7};
    struct small_scenario s;
    struct rb_world_options opt = unlimited;
    make_asha(&s, 4, RB_RULE_PROMOTE);
    opt.curve = level;
    opt.curve_ctx = metrics;
    const struct rb_world_result r = run(&s.scenario, &s.p.plan, &opt);
    assert_int_equal(r.outcome, RB_JOB_COMPLETE);
    assert_int_equal(r.time_us, 90 * RB_US_PER_S);
    assert_int_equal(r.first_full_us, 89 * RB_US_PER_S);
    assert_int_equal(r.cost_uusd, 85 * 1000); // running from 5 on
    assert_int_equal(r.best_trial, 1);
    assert_int_equal(r.n_trained, 4);
    assert_int_equal(r.n_full, 1);
    small_scenario_finish(&s);
}

// `stop` trains straight on: trials 0 and 1 report at 27; 0 is better than no one and goes on, 1 is best. Trial 0 is not
// judged again before level 1, where it is the worse of two and stopped; so is no one else who begins later and is best.
static void stopping_by_hand(void **state)
{
    (void)state;
    double metrics[] = {0.1, 0.9};
    struct small_scenario s;
    struct rb_world_options opt = unlimited;
    make_asha(&s, 2, RB_RULE_STOP);
    opt.curve = level;
    opt.curve_ctx = metrics;
    const struct rb_world_result r = run(&s.scenario, &s.p.plan, &opt);
    // 0 reports first in the microsecond, alone at its rung each time: it is never below anybody, and reaches R as 1 does.
    assert_int_equal(r.n_full, 2);
    assert_int_equal(r.time_us, (15 + 2 + 40 + 1) * RB_US_PER_S);
    metrics[0] = 0.9;
    metrics[1] = 0.1; // now the one that reports second is below
    const struct rb_world_result q = run(&s.scenario, &s.p.plan, &opt);
    assert_int_equal(q.n_full, 1);
    assert_int_equal(q.best_trial, 0);
    small_scenario_finish(&s);
}

// Source: Li et al., MLSys'20: with eta^(levels - s) workers the first configuration is at R within 2 time(R), where training
// goes on from checkpoints and nothing else takes time.
static void first_at_R(int64_t r, int64_t R, int eta, int workers)
{
    struct small_scenario s;
    struct rb_rung_table rungs;
    struct rb_plan_stage stages[RB_LIMIT_STAGES];
    struct rb_err err;
    small_scenario_make(&s);
    s.p.job.scheduler = (struct rb_scheduler){
        .type = "asha", .num_trials = 4096, .min_resource = r, .max_resource = R, .eta = eta, .brackets = 1};
    s.p.profile.startup_s = s.p.profile.checkpoint_s = rb_dist_constant(0);
    s.provisioning.queue_s = s.provisioning.init_s = rb_dist_constant(0);
    small_scenario_compile(&s, 1);
    assert_true(rb_rungs_of_job(&s.p.job, &rungs, &err));
    const struct rb_plan_nodes nodes = {.offer = SMALL, .count = workers};
    for (int i = 0; i < rungs.n; i++)
        stages[i] = (struct rb_plan_stage){.trials = rungs.rungs[i].trials,
                                           .resource_start = rungs.rungs[i].resource_start,
                                           .resource_end = rungs.rungs[i].resource_end,
                                           .gpus_per_trial = 2, // of 2: a node is a worker
                                           .trials_per_gpu = 1,
                                           .nodes = &nodes,
                                           .n_nodes = 1};
    s.p.plan.stages = stages;
    s.p.plan.n_stages = rungs.n;
    double unit_s;
    assert_true(rb_scenario_unit_s(&s.scenario, SMALL, 2, &unit_s, &err));
    const int64_t time_R_us = rb_us_from_seconds(unit_s * (double)R);
    struct rb_world_options opt = unlimited;
    opt.deadline_us = 4 * time_R_us;
    const struct rb_world_result result = run(&s.scenario, &s.p.plan, &opt);
    assert_true(result.first_full_us >= time_R_us - RB_US_PER_S);
    assert_true(result.first_full_us <= 2 * time_R_us);
    small_scenario_finish(&s);
}

static void the_first_is_at_R_within_twice_its_time(void **state)
{
    (void)state;
    static const struct {
        int64_t r, R;
        int eta, levels;
    } cases[] = {{1, 64, 4, 3}, {1, 27, 3, 3}, {1, 50, 3, 3}, {2, 32, 2, 4}, {3, 100, 3, 3}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t r = cases[i].r;
        for (int s = 0; s <= cases[i].levels; s++, r *= cases[i].eta) {
            int workers = 1;
            for (int level = s; level < cases[i].levels; level++)
                workers *= cases[i].eta;
            first_at_R(r, cases[i].R, cases[i].eta, workers);
        }
    }
}

// ---- of any run

static void choose_policy(struct random_plan *p, uint64_t seed, const char *policy)
{
    p->plan.policy = policy;
    p->job.policy_options = (struct rb_policy_options){
        .speculation = true,
        .overhead = seed % 2,
        .admission = seed % 3,
        .allocation = (enum rb_spare_gpus)(seed % 5),
        .resize_interval = 1 + (int)(seed % 4),
        .atom_gpus = 1,
    };
    if (strcmp(policy, "hypersched") == 0 && p->plan.deadline_us < 0)
        p->plan.deadline_us = (int64_t)(seed % 7 + 1) * 300 * RB_US_PER_S;
}

// Events as they came, and the orders that followed, as text.
struct record {
    struct rb_event *events;
    int n, cap;
    struct rb_buf orders;
    bool watched; // by a policy
};

static void write_orders(const struct rb_actions *actions, struct rb_buf *out)
{
    for (int i = 0; i < actions->n; i++) {
        const struct rb_action *a = &actions->items[i];
        rb_buf_printf(
            out, "%s node %d offer %d ordinal %d trial %d attempt %d stage %d k %d from %lld to %lld gpus %d at %lld",
            rb_action_kind_name(a->kind), a->node, a->offer, a->ordinal, a->trial, a->attempt, a->stage, a->position,
            (long long)a->resource_start, (long long)a->resource_end, a->gpus, (long long)a->at_us);
        for (int k = 0; k < a->n_slots; k++)
            rb_buf_printf(out, " %d:%llx", a->slots[k].node, (unsigned long long)a->slots[k].gpus);
        rb_buf_putc(out, '\n');
    }
    rb_buf_puts(out, "--\n");
}

// What the engine keeps for policies that watch is what one would count.
static void standings_are_kept(const struct rb_engine *e)
{
    int n, n_claimed = 0, n_standing = 0;
    const int *ids = rb_engine_running(e, &n);
    for (int i = 0; i < n; i++) {
        const struct rb_trial *t = rb_engine_trial(e, ids[i]);
        n_claimed += t->gpus > t->next_gpus ? t->gpus : t->next_gpus;
        n_standing += t->next_gpus > 0;
        assert_int_equal(rb_engine_place(e, ids[i]) >= 0, t->next_gpus > 0);
    }
    ids = rb_engine_waiting(e, &n);
    for (int i = 0; i < n; i++)
        n_claimed += rb_engine_trial(e, ids[i])->gpus;
    assert_int_equal(rb_engine_claimed_gpus(e), n_claimed);
    assert_int_equal(rb_engine_n_standing(e), n_standing);
    for (int i = 1; i < n_standing; i++) {
        const int before = rb_engine_standing(e, i - 1), after = rb_engine_standing(e, i);
        assert_true(
            rb_score_compare(rb_engine_trial(e, before)->score, before, rb_engine_trial(e, after)->score, after) < 0);
    }
}

static void record(void *ctx, const struct rb_engine *e, const struct rb_event *event, const struct rb_actions *actions)
{
    struct record *r = ctx;
    if (r->watched)
        standings_are_kept(e);
    if (r->n == r->cap) {
        r->cap = r->cap ? 2 * r->cap : 256;
        r->events = rb_xrealloc(r->events, (size_t)r->cap, sizeof *r->events);
    }
    r->events[r->n++] = *event;
    write_orders(actions, &r->orders);
}

static void finish_record(struct record *r)
{
    free(r->events);
    rb_buf_finish(&r->orders);
}

static void replays_alike(const struct rb_plan *plan, const struct record *recorded)
{
    struct rb_engine *engine;
    struct rb_err err;
    struct rb_actions actions = {0};
    struct rb_buf orders = RB_BUF_INIT;
    if (!rb_engine_create(plan, &engine, &err))
        fail_msg("%s", err.message);
    for (int i = 0; i < recorded->n; i++) {
        rb_engine_step(engine, &recorded->events[i], &actions);
        write_orders(&actions, &orders);
    }
    assert_string_equal(rb_buf_str(&orders), rb_buf_str(&recorded->orders));
    rb_buf_finish(&orders);
    rb_actions_finish(&actions);
    rb_engine_destroy(engine);
}

static const struct {
    const char *tuner, *policy;
} pairs[] = {
    {"asha", "elastic"}, {"asha", "static"}, {"asha", "hypersched"}, {"hyperband", "elastic"}, {"hyperband", "static"}};

// A job that loses its nodes again and again may not come to an end: that is said, and is no part of this test.
static bool try_run(const struct rb_scenario *s, const struct rb_plan *plan, const struct rb_world_options *opt,
                    struct rb_world_result *out)
{
    struct rb_err err;
    if (rb_world_run(s, plan, opt, out, &err))
        return true;
    assert_int_equal(err.code, RB_ERR_INFEASIBLE);
    return false;
}

// What is kept changes nothing, neither when it is first drawn nor later, by whatever plan.
static void draws_are_kept(struct rb_scenario *s, const struct rb_plan *plan, const struct rb_world_options *opt,
                           const struct rb_world_result *drawn, size_t most_bytes)
{
    static const struct rb_run_range elsewhere_and_here[] = {{7, 3}, {0, 1}};
    struct rb_world_options unwatched = *opt;
    unwatched.observe = NULL;
    rb_scenario_keep_trials(s, elsewhere_and_here, 2, most_bytes);
    for (int i = 0; i < 3; i++) {
        struct rb_world_result kept;
        assert_true(try_run(s, plan, &unwatched, &kept));
        assert_true(kept.time_us == drawn->time_us && kept.cost_uusd == drawn->cost_uusd);
        assert_int_equal(kept.n_events, drawn->n_events);
        assert_int_equal(kept.best_trial, drawn->best_trial);
        assert_memory_equal(&kept.best_metric, &drawn->best_metric, sizeof kept.best_metric);
    }
    assert_true(rb_scenario_kept_bytes(s) <= most_bytes);
    assert_true(most_bytes < RB_KEPT_TRIALS_BYTES || s->profile->restarts || rb_scenario_kept_bytes(s) > 0);
}

static void any_run_is_repeated_and_replayed(void **state)
{
    (void)state;
    static struct random_plan p; // large; remade every time
    int n_runs = 0, n_full = 0, n_resized = 0;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
            struct rb_scenario s;
            struct rb_err err;
            struct record a = {.watched = strcmp(pairs[i].policy, "hypersched") == 0}, b = {0};
            struct rb_world_result first, again;
            random_plan_make_of(&p, seed, pairs[i].tuner);
            choose_policy(&p, seed, pairs[i].policy);
            if (!rb_scenario_init(&s, &p.job, &p.profile, p.offers, p.plan.n_offers, &p.catalog, seed, &err))
                fail_msg("%s", err.message);
            struct rb_world_options opt = {.deadline_us = -1, .budget_uusd = -1, .observe = record, .observe_ctx = &a};
            if (strcmp(pairs[i].policy, "hypersched") == 0)
                opt.deadline_us = p.plan.deadline_us;
            if (try_run(&s, &p.plan, &opt, &first)) {
                opt.observe_ctx = &b;
                assert_true(try_run(&s, &p.plan, &opt, &again));
                assert_string_equal(rb_buf_str(&a.orders), rb_buf_str(&b.orders));
                assert_true(first.time_us == again.time_us && first.cost_uusd == again.cost_uusd);
                assert_true(first.n_full <= first.n_trained);
                replays_alike(&p.plan, &a);
                draws_are_kept(&s, &p.plan, &opt, &first, RB_KEPT_TRIALS_BYTES);
                draws_are_kept(&s, &p.plan, &opt, &first, 40000); // and not all of it
                n_runs++;
                n_full += first.n_full > 0;
                n_resized += strstr(rb_buf_str(&a.orders), "yield_trial") != NULL;
            }
            finish_record(&a);
            finish_record(&b);
            rb_scenario_finish(&s);
        }
    }
    assert_true(n_runs > 200 && n_full > 100 && n_resized > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(promotions_by_hand),
        cmocka_unit_test(stopping_by_hand),
        cmocka_unit_test(the_first_is_at_R_within_twice_its_time),
        cmocka_unit_test(any_run_is_repeated_and_replayed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
