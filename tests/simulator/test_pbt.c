// Populations in the virtual world: the toy of the published figure, and the curves of clones. Source of the toy: Jaderberg
// et al., arXiv:1711.09846, section 4.1 and figure 2: Q = 1.2 - |theta|^2 is scored, and training climbs
// 1.2 - sum h_i theta_i^2, so that each of two members sees one half of what is scored.
#include "small_scenario.h"

#include "samplers/follow.h"
#include "samplers/model/normal.h"
#include "simulator/world/world.h"

#include <math.h>
#include <stdlib.h>

enum { UNITS = 200, EVERY = 10, STAGES = UNITS / EVERY, MEMBERS = 2, MOST = MEMBERS * STAGES };
#define STEP 0.01

// Where hyperparameters of clones come from.
enum explorer { KEEPS_ITS_OWN, ADDS_NOISE, SAMPLER, NONE_IS_COPIED };

struct toy {
    struct small_scenario s;
    struct rb_plan_stage stages[STAGES];
    struct rb_param params[2];
    struct rb_setting setting;
    enum explorer explorer;
    struct rb_follower *follower;
    struct rb_suggester suggester;
    const struct rb_engine *engine;
    double h[MOST][2], theta[MOST][UNITS + 1][2]; // by trial, after this many units
};

static void make(struct toy *t, enum explorer explorer, uint64_t seed)
{
    struct rb_scheduler *scheduler = &t->s.p.job.scheduler;
    const bool copies = explorer != NONE_IS_COPIED;
    small_scenario_make(&t->s);
    t->explorer = explorer;
    t->setting = (struct rb_setting){.key = "ready_every", .kind = RB_NODE_INT, .number = EVERY};
    t->params[0] = (struct rb_param){.name = "h0", .kind = RB_PARAM_UNIFORM, .min = 0, .max = 1};
    t->params[1] = (struct rb_param){.name = "h1", .kind = RB_PARAM_UNIFORM, .min = 0, .max = 1};
    *scheduler = (struct rb_scheduler){.type = copies ? "pbt" : "random",
                                       .num_trials = MEMBERS,
                                       .min_resource = 1,
                                       .max_resource = UNITS,
                                       .eta = 3,
                                       .brackets = 1,
                                       .options = {&t->setting, copies}};
    scheduler->sampler.type = copies ? "pbt" : "random";
    t->s.p.job.seed = seed;
    t->s.p.job.space = (struct rb_space){t->params, 2};
    t->s.p.plan.stages = t->stages;
    t->s.p.plan.n_stages = copies ? STAGES : 1;
    for (int i = 0; i < STAGES; i++) {
        t->stages[i] = t->s.p.stages[0];
        t->stages[i].trials = MEMBERS;
        t->stages[i].resource_start = i * EVERY;
        t->stages[i].resource_end = copies ? (i + 1) * EVERY : UNITS;
    }
    small_scenario_compile(&t->s, seed);
}

static double curve(void *ctx, uint32_t replicate, int trial, int64_t resource)
{
    struct toy *t = ctx;
    const struct rb_trial *of = rb_engine_trial(t->engine, trial);
    double *now = t->theta[trial][resource];
    (void)replicate;
    if (resource == of->cloned_at + 1 || resource == 1)
        for (int i = 0; i < 2; i++) {
            t->h[trial][i] = of->values[i].number;
            t->theta[trial][of->cloned_at][i] = of->parent < 0 ? 0.9 : t->theta[of->parent][of->cloned_at][i];
        }
    for (int i = 0; i < 2; i++) {
        const double before = t->theta[trial][resource - 1][i];
        now[i] = before - STEP * 2 * t->h[trial][i] * before;
    }
    return 1.2 - (now[0] * now[0] + now[1] * now[1]);
}

static void saw(void *ctx, const struct rb_engine *e, const struct rb_event *event, const struct rb_actions *actions)
{
    struct toy *t = ctx;
    t->engine = e;
    if (t->follower)
        rb_follower_suggester(t->follower)->saw(rb_follower_suggester(t->follower)->ctx, e, event, actions);
}

// The member whose place the clone takes: with two members, the one that it does not copy.
static int replaced_by(const struct rb_engine *e, int trial)
{
    const struct rb_trial *t = rb_engine_trial(e, trial);
    for (int i = trial - 1; i >= 0; i--)
        if (i != t->parent && rb_engine_trial(e, i)->resource == t->cloned_at)
            return i;
    fail_msg("trial %d replaces no trial", trial);
    return -1;
}

static void choose(const struct toy *t, const struct rb_engine *e, int trial, double *h)
{
    const struct rb_trial *of = rb_engine_trial(e, trial);
    struct rb_stream s;
    rb_stream_init(
        &s, &(struct rb_stream_key){.seed = t->s.p.job.seed, .purpose = RB_DRAW_SEARCH, .index = (uint32_t)trial});
    for (int i = 0; i < 2; i++) {
        if (of->parent < 0)
            h[i] = i == trial;
        else if (t->explorer == KEEPS_ITS_OWN)
            h[i] = t->h[replaced_by(e, trial)][i];
        else
            h[i] = fmax(0, t->h[of->parent][i] + 0.1 * rb_normal_quantile(rb_stream_uniform(&s)));
    }
}

static bool suggest(void *ctx, const struct rb_engine *e, int trial, int64_t resource, struct rb_arena *arena,
                    struct rb_event *out)
{
    struct toy *t = ctx;
    double h[2];
    if (t->explorer == SAMPLER && rb_engine_trial(e, trial)->parent >= 0) {
        const struct rb_suggester *sampler = rb_follower_suggester(t->follower);
        return sampler->suggest(sampler->ctx, e, trial, resource, arena, out);
    }
    choose(t, e, trial, h);
    const struct rb_value values[2] = {{.kind = RB_VALUE_FLOAT, .number = h[0]},
                                       {.kind = RB_VALUE_FLOAT, .number = h[1]}};
    rb_suggested_event(&t->s.p.job.space, trial, values, "toy", NULL, arena, out);
    return true;
}

static double play(enum explorer explorer, uint64_t seed)
{
    static struct toy t;
    struct rb_err err;
    struct rb_world_result r;
    t = (struct toy){0};
    make(&t, explorer, seed);
    t.suggester = (struct rb_suggester){.ctx = &t, .saw = saw, .suggest = suggest};
    if (explorer == SAMPLER)
        assert_true(rb_follower_create(&t.s.p.plan, &t.follower, &err));
    const struct rb_world_options opt = {.curve = curve,
                                         .curve_ctx = &t,
                                         .curve_has_clones = true,
                                         .suggester = &t.suggester,
                                         .deadline_us = -1,
                                         .budget_uusd = -1};
    if (!rb_world_run(&t.s.scenario, &t.s.p.plan, &opt, &r, &err))
        fail_msg("%s", err.message);
    assert_int_equal(r.outcome, RB_JOB_COMPLETE);
    assert_int_equal(r.n_full, MEMBERS);
    rb_follower_destroy(t.follower);
    small_scenario_finish(&t.s);
    return r.best_metric;
}

static double mean_of_seeds(enum explorer explorer)
{
    double sum = 0;
    for (uint64_t seed = 1; seed <= 200; seed++)
        sum += play(explorer, seed);
    return sum / 200;
}

static void the_toy_reaches_what_was_published(void **state)
{
    (void)state;
    const double grid = play(NONE_IS_COPIED, 1), weights = play(KEEPS_ITS_OWN, 1);
    const double noise = mean_of_seeds(ADDS_NOISE), sampler = mean_of_seeds(SAMPLER);
    print_message("grid %.4f, weights copied alone %.4f; means of 200 seeds: noise %.4f, the sampler %.4f\n", grid,
                  weights, noise, sampler);
    assert_true(fabs(grid - 0.390) < 0.0005);
    assert_true(fabs(weights - 1.172) < 0.0006);
    assert_true(noise >= 1.1);
    assert_true(sampler >= 1.1);
}

// ---- curves of clones

static double level(void *ctx, uint32_t replicate, int trial, int64_t resource)
{
    (void)replicate;
    (void)resource;
    return ((const double *)ctx)[trial];
}

static void record(void *ctx, const struct rb_engine *e, const struct rb_event *event, const struct rb_actions *actions)
{
    double(*metrics)[5] = ctx;
    (void)e;
    (void)actions;
    if (event->kind == RB_EVENT_REPORT)
        metrics[event->trial][event->resource] = event->metric;
}

// Of two members the worse goes on from the better at 2 of 4 units: its lead has halved at 3, and is gone at the end.
static void a_clone_approaches_its_own_curve(void **state)
{
    (void)state;
    double levels[] = {0.1, 0.9, 0.3}, metrics[3][5] = {0};
    struct small_scenario s;
    struct rb_world_result r;
    struct rb_err err;
    const struct rb_setting every = {.key = "ready_every", .kind = RB_NODE_INT, .number = 2};
    const struct rb_world_options opt = {.curve = level,
                                         .curve_ctx = levels,
                                         .observe = record,
                                         .observe_ctx = metrics,
                                         .deadline_us = -1,
                                         .budget_uusd = -1};
    small_scenario_make(&s);
    s.p.job.scheduler.type = "pbt";
    s.p.job.scheduler.num_trials = 2;
    s.p.job.scheduler.options = (struct rb_settings){&every, 1};
    s.p.plan.n_stages = 2;
    for (int i = 0; i < 2; i++) {
        s.p.stages[i].trials = 2;
        s.p.stages[i].resource_start = 2 * i;
        s.p.stages[i].resource_end = 2 * i + 2;
    }
    small_scenario_compile(&s, 1);
    if (!rb_world_run(&s.scenario, &s.p.plan, &opt, &r, &err))
        fail_msg("%s", err.message);
    assert_int_equal(r.n_trained, 3);
    assert_int_equal(r.best_trial, 1);
    assert_true(fabs(metrics[0][2] - 0.1) < 1e-12 && metrics[0][3] == 0);
    assert_true(fabs(metrics[2][3] - 0.6) < 1e-12);
    assert_true(fabs(metrics[2][4] - 0.3) < 1e-12);
    small_scenario_finish(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_toy_reaches_what_was_published),
        cmocka_unit_test(a_clone_approaches_its_own_curve),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
