// The evaluator and the virtual world tell the same story: replicate by replicate, the same microsecond and the same
// micro-dollar, over random jobs and plans. RB_TEST_SEED=n reruns one.
#include "action_text.h"
#include "random_plan.h"

#include "simulator/model/evaluate.h"
#include "simulator/world/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define N_PLANS      3000
#define N_REPLICATES 3

// How often the plans did what they are meant to do.
struct seen {
    int gangs, waves, lost, together, refused, early, ties, infeasible; // together: at the instant of another loss
    int saved, resumed;                                                  // starts from the middle of a stage
};

struct watch {
    struct seen *seen;
    int64_t last_us, last_lost_us;
    enum rb_event_kind last_kind;
    int64_t stage_end_us[RB_LIMIT_STAGES];
    const struct rb_plan *plan;
    struct rb_engine *replay; // gets the same events
    struct rb_actions again;
};

// An engine that knows nothing of the world orders the same.
static void replay(struct watch *w, const struct rb_event *event, const struct rb_actions *actions)
{
    RB_AUTO(rb_buf_finish) struct rb_buf first = RB_BUF_INIT, second = RB_BUF_INIT;
    rb_engine_step(w->replay, event, &w->again);
    actions_text(actions, w->plan, &first);
    actions_text(&w->again, w->plan, &second);
    assert_string_equal(rb_buf_str(&second), rb_buf_str(&first));
}

static void observe(void *ctx, const struct rb_engine *e, const struct rb_event *event,
                    const struct rb_actions *actions)
{
    struct watch *w = ctx;
    w->seen->lost += event->kind == RB_EVENT_NODE_LOST;
    w->seen->together += event->kind == RB_EVENT_NODE_LOST && event->time_us == w->last_lost_us;
    w->last_lost_us = event->kind == RB_EVENT_NODE_LOST ? event->time_us : w->last_lost_us;
    w->seen->refused += event->kind == RB_EVENT_NODE_REFUSED;
    w->seen->early += event->kind == RB_EVENT_TIME;
    w->seen->ties += event->time_us == w->last_us && event->kind != w->last_kind;
    w->last_us = event->time_us;
    w->last_kind = event->kind;
    w->seen->saved += event->kind == RB_EVENT_TRIAL_SAVED;
    for (int i = 0; i < actions->n; i++) {
        const struct rb_action *a = &actions->items[i];
        w->seen->gangs += a->kind == RB_ACTION_START_TRIAL && a->n_slots > 1;
        w->seen->resumed +=
            a->kind == RB_ACTION_START_TRIAL && a->resource_start > w->plan->stages[a->stage].resource_start;
    }
    if (w->replay)
        replay(w, event, actions);
    for (int i = 0; i <= rb_engine_stage(e); i++)
        w->stage_end_us[i] = rb_engine_stage_end_us(e, i);
}

// Where configurations differ in speed, a plan takes survivors as chosen in order, and here they are.
static double first_is_best(void *ctx, uint32_t replicate, int trial, int64_t resource)
{
    const struct rb_job *job = ctx;
    (void)replicate;
    (void)resource;
    return job->goal == RB_GOAL_MAXIMIZE ? -trial : trial;
}

static void compare(const struct random_plan *p, const struct rb_scenario *s, uint64_t seed, uint32_t replicate,
                    struct rb_workspace *ws, struct seen *seen)
{
    struct watch watch = {.seen = seen, .last_us = -1, .last_lost_us = -1, .plan = &p->plan};
    const struct rb_world_options opt = {.replicate = replicate,
                                         .curve = p->profile.configuration ? first_is_best : NULL,
                                         .curve_ctx = (void *)&p->job,
                                         .observe = observe,
                                         .observe_ctx = &watch,
                                         .deadline_us = -1,
                                         .budget_uusd = -1};
    struct rb_world_result world;
    struct rb_replicate fast;
    struct rb_err world_err, fast_err;
    if (p->job.checkpoint_every_us != 0)
        assert_true(rb_engine_create(&p->plan, &watch.replay, &world_err));
    const bool world_ok = rb_world_run(s, &p->plan, &opt, &world, &world_err);
    rb_engine_destroy(watch.replay);
    rb_actions_finish(&watch.again);
    const bool fast_ok = rb_replicate_run(s, p->stages, p->plan.n_stages, replicate, ws, &fast, &fast_err);
    if (world_ok != fast_ok)
        fail_msg("RB_TEST_SEED=%llu replicate %u: world: %s; evaluator: %s", (unsigned long long)seed, replicate,
                 world_ok ? "ok" : world_err.message, fast_ok ? "ok" : fast_err.message);
    if (!world_ok) {
        seen->infeasible++;
        return;
    }
    if (world.time_us != fast.time_us || world.cost_uusd != fast.cost_uusd)
        fail_msg("RB_TEST_SEED=%llu replicate %u: world %lld us %lld uusd, evaluator %lld us %lld uusd",
                 (unsigned long long)seed, replicate, (long long)world.time_us, (long long)world.cost_uusd,
                 (long long)fast.time_us, (long long)fast.cost_uusd);
    struct rb_replicate again; // from what the first has left to be kept, where anything is
    assert_true(rb_replicate_run(s, p->plan.stages, p->plan.n_stages, replicate, ws, &again, &fast_err));
    assert_true(again.time_us == fast.time_us && again.cost_uusd == fast.cost_uusd);
    int64_t end_us = 0, cost_uusd = 0;
    for (int i = 0; i < p->plan.n_stages; i++) {
        end_us += fast.stage_time_us[i];
        cost_uusd += fast.stage_cost_uusd[i];
        assert_int_equal(watch.stage_end_us[i], end_us);
        assert_true(fast.stage_cost_uusd[i] >= 0);
    }
    assert_int_equal(end_us, fast.time_us);
    assert_int_equal(cost_uusd, fast.cost_uusd);
}

// tuner NULL: any that trains rung by rung.
static void check_seed(uint64_t seed, const char *tuner, bool saves, struct rb_workspace *ws, struct seen *seen)
{
    static struct random_plan p; // large; remade every time
    struct rb_scenario s;
    struct rb_err err;
    random_plan_make_of(&p, seed, tuner);
    random_plan_keep_markets_up(&p);
    if (rb_job_is_asynchronous(&p.job))
        return;                                             // its stages overlap: only the world knows how
    const bool clones = tuner && strcmp(tuner, "pbt") == 0; // have speeds of their own, which a plan does not know
    if (seed % 4 == 0 && !clones)
        random_plan_let_configurations_differ(&p);
    if (saves)
        random_plan_let_scripts_save(&p, seed);
    if (!rb_scenario_init(&s, &p.job, &p.profile, p.offers, p.plan.n_offers, &p.catalog, seed, &err))
        fail_msg("RB_TEST_SEED=%llu: %s", (unsigned long long)seed, err.message);
    for (int i = 0; i < p.plan.n_stages; i++)
        seen->waves += p.stages[i].waves > 1;
    if (seed % 2 == 1)
        rb_scenario_keep_noise(&s, N_REPLICATES - 1, RB_KEPT_NOISE_BYTES); // what is kept changes nothing
    for (uint32_t r = 0; r < N_REPLICATES; r++)
        compare(&p, &s, seed, r, ws, seen);
    rb_scenario_finish(&s);
}

static void both_agree_on_every_replicate(void **state)
{
    (void)state;
    struct rb_workspace *ws = rb_workspace_create();
    struct seen seen = {0};
    const char *one = getenv("RB_TEST_SEED");
    if (one) {
        check_seed(strtoull(one, NULL, 10), NULL, false, ws, &seen);
    } else {
        for (uint64_t seed = 1; seed <= N_PLANS; seed++)
            check_seed(seed, NULL, false, ws, &seen);
        print_message(
            "%d plans x %d replicates: %d gang starts, %d stages in waves, %d nodes lost, %d of them with others, %d "
            "requests refused, %d early wake-ups, %d ties, %d without end\n",
            N_PLANS, N_REPLICATES, seen.gangs, seen.waves, seen.lost, seen.together, seen.refused, seen.early,
            seen.ties, seen.infeasible);
        assert_true(seen.gangs > 1000 && seen.waves > 1000 && seen.lost > 1000 && seen.refused > 1000);
        assert_true(seen.together > 500 && seen.early > 1000 && seen.ties > 1000 && seen.infeasible < N_PLANS / 100);
    }
    rb_workspace_destroy(ws);
}

// Hyperband's brackets in turn are stages like any others.
static void both_agree_on_brackets_in_turn(void **state)
{
    (void)state;
    struct rb_workspace *ws = rb_workspace_create();
    struct seen seen = {0};
    for (uint64_t seed = 1; seed <= N_PLANS / 3; seed++)
        check_seed(seed, "hyperband", false, ws, &seen);
    print_message("%d gang starts, %d stages in waves, %d nodes lost, %d without end\n", seen.gangs, seen.waves,
                  seen.lost, seen.infeasible);
    assert_true(seen.gangs > 1000 && seen.waves > 300 && seen.lost > 1000 && seen.infeasible < N_PLANS / 100);
    rb_workspace_destroy(ws);
}

// So are the stages of a synchronous population, whichever trial is copied.
static void both_agree_on_populations(void **state)
{
    (void)state;
    struct rb_workspace *ws = rb_workspace_create();
    struct seen seen = {0};
    for (uint64_t seed = 1; seed <= N_PLANS / 3; seed++)
        check_seed(seed, "pbt", false, ws, &seen);
    print_message("%d gang starts, %d stages in waves, %d nodes lost, %d without end\n", seen.gangs, seen.waves,
                  seen.lost, seen.infeasible);
    assert_true(seen.gangs > 1000 && seen.waves > 300 && seen.lost > 1000 && seen.infeasible < N_PLANS / 100);
    rb_workspace_destroy(ws);
}

// A start that was lost goes on from its last save, and every save takes its time.
static void both_agree_where_scripts_save(void **state)
{
    (void)state;
    static const char *const tuners[] = {NULL, "hyperband", "pbt"};
    struct rb_workspace *ws = rb_workspace_create();
    struct seen seen = {0};
    for (uint64_t seed = 1; seed <= N_PLANS / 2; seed++)
        check_seed(seed, tuners[seed % 5 < 3 ? 0 : seed % 5 - 2], true, ws, &seen);
    print_message("%d saves, %d starts from them, %d nodes lost, %d of them with others, %d without end\n", seen.saved,
                  seen.resumed, seen.lost, seen.together, seen.infeasible);
    assert_true(seen.saved > 5000 && seen.resumed > 500 && seen.together > 200 && seen.infeasible < N_PLANS / 200);
    rb_workspace_destroy(ws);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_agree_on_every_replicate),
        cmocka_unit_test(both_agree_on_brackets_in_turn),
        cmocka_unit_test(both_agree_on_populations),
        cmocka_unit_test(both_agree_where_scripts_save),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
