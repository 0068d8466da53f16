// How a run will end, said while it goes on: against what then happens in the virtual world.
#include "random_plan.h"
#include "small_scenario.h"

#include "engine/core/policy.h"
#include "simulator/model/prediction.h"
#include "simulator/model/survivors.h"
#include "simulator/posterior/posterior.h"
#include "simulator/world/world.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// A run of the virtual world with all that happened in it.
struct lived {
    struct rb_event *events;
    int n, cap;
    struct rb_world_result result;
};

static void keep(void *ctx, const struct rb_engine *e, const struct rb_event *event, const struct rb_actions *actions)
{
    struct lived *l = ctx;
    (void)e;
    (void)actions;
    if (l->n == l->cap) {
        l->cap = l->cap ? 2 * l->cap : 64;
        l->events = rb_xrealloc(l->events, (size_t)l->cap, sizeof *l->events);
    }
    l->events[l->n] = *event;
    if (event->kind != RB_EVENT_ADVICE)
        l->events[l->n].stage = 0; // the journal does not keep it
    l->n++;
}

static bool live(const struct rb_scenario *s, const struct rb_plan *plan, uint32_t replicate, struct lived *out)
{
    struct rb_err err;
    *out = (struct lived){0};
    const struct rb_world_options opt = {
        .replicate = replicate, .observe = keep, .observe_ctx = out, .deadline_us = -1, .budget_uusd = -1};
    return rb_world_run(s, plan, &opt, &out->result, &err);
}

// ---- the world that goes on

// Cut after any event, a run that draws what it would have drawn anyhow ends as it would have ended; what trials take is
// rounded once more for each cut unit.
static void check_cut(const struct random_plan *p, const struct rb_scenario *s, uint64_t seed, const struct lived *l,
                      int n_happened)
{
    const struct rb_world_options opt = {
        .deadline_us = -1,
        .budget_uusd = -1,
        .history = l->events,
        .n_history = n_happened,
        .now_us = l->events[n_happened - 1].time_us,
    };
    struct rb_world_result r;
    struct rb_err err;
    if (!rb_world_run(s, &p->plan, &opt, &r, &err))
        fail_msg("RB_TEST_SEED=%llu after %d: %s", (unsigned long long)seed, n_happened, err.message);
    const int64_t off_us = llabs(r.time_us - l->result.time_us);
    if (off_us > 2 * p->plan.n_stages)
        fail_msg("RB_TEST_SEED=%llu after %d of %d events: %lld us, uncut %lld us", (unsigned long long)seed,
                 n_happened, l->n, (long long)r.time_us, (long long)l->result.time_us);
    if (off_us > 0)
        return;
    assert_int_equal(r.n_nodes, l->result.n_nodes);
    assert_int_equal(r.cost_uusd, l->result.cost_uusd);
}

// Between two losses of one instant: the past does not tell that the second comes with the first.
static bool is_amid_losses(const struct lived *l, int n_happened)
{
    const struct rb_event *last = &l->events[n_happened - 1];
    bool amid = false;
    for (int i = n_happened; i < l->n && l->events[i].time_us == last->time_us; i++)
        amid = amid || l->events[i].kind == RB_EVENT_NODE_LOST;
    return amid;
}

static int check_plan(uint64_t seed, bool saves)
{
    static struct random_plan p; // large; remade every time
    struct rb_scenario s;
    struct rb_err err;
    struct lived l;
    int n_cuts = 0;
    random_plan_make(&p, seed);
    if (saves)
        random_plan_let_scripts_save(&p, seed);
    random_plan_keep_markets_up(&p); // the past does not tell what was refused
    if (!rb_scenario_init(&s, &p.job, &p.profile, p.offers, p.plan.n_offers, &p.catalog, seed, &err))
        fail_msg("RB_TEST_SEED=%llu: %s", (unsigned long long)seed, err.message);
    if (live(&s, &p.plan, 0, &l)) {
        const int step = l.n / 7 + 1;
        for (int n = 1 + (int)(seed % (uint64_t)step); n <= l.n; n += step) {
            if (is_amid_losses(&l, n))
                continue;
            check_cut(&p, &s, seed, &l, n);
            n_cuts++;
        }
    }
    free(l.events);
    rb_scenario_finish(&s);
    return n_cuts;
}

static void a_cut_run_ends_as_it_would_have_ended(void **state)
{
    (void)state;
    const char *one = getenv("RB_TEST_SEED");
    int n_cuts = 0;
    for (uint64_t seed = 1; seed <= 500 && !one; seed++)
        n_cuts += check_plan(seed, false) + check_plan(seed, true);
    if (one)
        check_plan(strtoull(one, NULL, 10), getenv("RB_TEST_SAVES") != NULL);
    else
        assert_true(n_cuts > 4000);
}

// ---- the prediction

// Noise everywhere, so that no two runs are alike.
static void noisy(struct small_scenario *s)
{
    small_scenario_make(s);
    s->p.profile.between = small_dist(RB_DIST_LOGNORMAL, 1, 0.1);
    s->p.profile.within = small_dist(RB_DIST_LOGNORMAL, 1, 0.2);
    s->p.profile.startup_s = small_dist(RB_DIST_LOGNORMAL, 2, 0.3);
    s->p.profile.checkpoint_s = small_dist(RB_DIST_LOGNORMAL, 1, 0.3);
    s->p.plan.seed = 7;
    s->provisioning.queue_s = small_dist(RB_DIST_LOGNORMAL, 5, 0.5);
    s->provisioning.init_s = small_dist(RB_DIST_LOGNORMAL, 10, 0.5);
    small_scenario_compile(s, 7);
}

static const struct rb_estimate *predict(struct rb_prediction *p, const struct lived *l, int n_happened,
                                         const struct rb_prediction_now *now)
{
    const char *why;
    for (int i = 0; i < n_happened; i++)
        rb_prediction_event(p, &l->events[i]);
    rb_prediction_begin(p, now);
    while (!rb_prediction_make(p, 100))
        ;
    const struct rb_estimate *e = rb_prediction_estimate(p, &why);
    if (!e)
        fail_msg("%s", why);
    assert_null(why);
    return e;
}

static void before_anything_has_happened_it_is_the_estimate_of_the_plan(void **state)
{
    (void)state;
    struct small_scenario s;
    struct lived l;
    struct rb_err err;
    struct rb_estimate planned;
    noisy(&s);
    const struct rb_prediction_now now = {.spent_uusd = -1, .deadline_us = 70 * RB_US_PER_S, .budget_uusd = 130000};
    struct rb_evaluate_options opt = rb_evaluate_defaults();
    opt.samples = RB_PREDICTION_SAMPLES;
    opt.deadline_us = now.deadline_us;
    opt.budget_uusd = now.budget_uusd;
    assert_true(live(&s.scenario, &s.p.plan, 0, &l));
    assert_true(rb_evaluate(&s.scenario, s.p.stages, s.p.plan.n_stages, &opt, &planned, NULL, &err));
    struct rb_prediction *p = rb_prediction_create(&s.p.plan);
    assert_ptr_equal(rb_prediction_planned(p), &s.p.plan.estimate); // until there is a better one
    const struct rb_estimate *e = predict(p, &l, 1, &now);
    assert_null(rb_prediction_planned(p));
    assert_memory_equal(&e->time_us, &planned.time_us, sizeof e->time_us);
    assert_memory_equal(&e->cost_uusd, &planned.cost_uusd, sizeof e->cost_uusd);
    assert_true(e->p_deadline == planned.p_deadline && e->p_deadline > 0.01 && e->p_deadline < 0.99);
    assert_true(e->p_budget == planned.p_budget && e->p_budget > 0.01 && e->p_budget < 0.99);
    struct rb_prediction_pace pace;
    assert_false(rb_prediction_pace(p, &pace));
    rb_prediction_destroy(p);
    free(l.events);
    small_scenario_finish(&s);
}

// Of runs cut anywhere, as many end by the median and by the other quantiles as these say.
static void its_quantiles_are_kept(void **state)
{
    (void)state;
    enum { RUNS = 400 };
    struct small_scenario s;
    int n_p5 = 0, n_p50 = 0, n_p95 = 0;
    noisy(&s);
    for (int i = 0; i < RUNS; i++) {
        struct lived l;
        assert_true(live(&s.scenario, &s.p.plan, 100000 + (uint32_t)i, &l));
        const int n = 1 + i % (l.n - 1);
        const struct rb_prediction_now now = {
            .now_us = l.events[n - 1].time_us, .spent_uusd = -1, .deadline_us = -1, .budget_uusd = -1};
        struct rb_prediction *p = rb_prediction_create(&s.p.plan);
        const struct rb_estimate *e = predict(p, &l, n, &now);
        n_p5 += l.result.time_us <= e->time_us.p5;
        n_p50 += l.result.time_us <= e->time_us.p50;
        n_p95 += l.result.time_us <= e->time_us.p95;
        assert_true(e->time_us.p5 >= now.now_us);
        rb_prediction_destroy(p);
        free(l.events);
    }
    print_message("of %d runs %d end by p5, %d by p50, %d by p95\n", RUNS, n_p5, n_p50, n_p95);
    // four standard errors of a share of 400 runs, and one more for the 256 behind each quantile
    assert_true(n_p5 <= 45 && n_p50 > 150 && n_p50 < 250 && n_p95 >= 355);
    small_scenario_finish(&s);
}

// Training takes half as long again as the profile says: that is seen, and what is left is foreseen at that pace.
static void it_keeps_the_pace_it_has_seen(void **state)
{
    (void)state;
    struct small_scenario planned, real;
    struct lived l;
    noisy(&planned);
    noisy(&real);
    small_scenario_one_stage(&planned, 4, 40, 2);
    small_scenario_one_stage(&real, 4, 40, 2);
    real.p.training.base_s *= 1.5;
    rb_scenario_finish(&planned.scenario);
    rb_scenario_finish(&real.scenario);
    rb_workspace_destroy(planned.ws);
    rb_workspace_destroy(real.ws);
    small_scenario_compile(&planned, 7);
    small_scenario_compile(&real, 7);
    assert_true(live(&real.scenario, &real.p.plan, 3, &l));
    const int n = l.n / 2;
    const struct rb_prediction_now now = {
        .now_us = l.events[n - 1].time_us, .spent_uusd = 1000000, .deadline_us = -1, .budget_uusd = -1};
    struct rb_prediction *p = rb_prediction_create(&planned.p.plan);
    const struct rb_estimate *e = predict(p, &l, n, &now);
    const double off = (double)e->time_us.p50 / (double)l.result.time_us - 1;
    struct rb_prediction_pace pace;
    assert_true(rb_prediction_pace(p, &pace));
    print_message("pace %.2f (%.2f to %.2f), end foreseen %+.1f %% off\n", pace.pace, pace.low, pace.high, 100 * off);
    assert_true(pace.pace > 1.35 && pace.pace < 1.6 && pace.low > 1.2 && pace.high < 1.8);
    assert_true(pace.stage == 0 && pace.n_trials == 4);
    assert_true(fabs(log(pace.reckoned) / 1.96 - RB_POSTERIOR_EXACT) < 1e-4); // its profile says nothing of its error
    assert_true(fabs(off) < 0.08);
    // What was really spent counts, not what the plan's prices would make of it.
    assert_true(e->cost_uusd.p5 > 1000000);
    rb_prediction_destroy(p);
    free(l.events);
    small_scenario_finish(&planned);
    small_scenario_finish(&real);
}

// The profile is wrong by as much as it says it may be: half-way the end is within p5..p95 as often as it should be, in an
// interval much narrower than that of the plan. bench/predictions has larger cases.
static void an_uncertain_speed_is_learned(void **state)
{
    (void)state;
    enum { RUNS = 100 };
    struct small_scenario planned;
    int n_covered = 0;
    double width = 0;
    noisy(&planned);
    small_scenario_one_stage(&planned, 4, 40, 2);
    planned.p.training.relative_error = 0.25;
    rb_scenario_finish(&planned.scenario);
    rb_workspace_destroy(planned.ws);
    small_scenario_compile(&planned, 7);
    for (uint32_t i = 0; i < RUNS; i++) {
        struct lived l;
        assert_true(live(&planned.scenario, &planned.p.plan, 1000 + i, &l)); // the world draws the error
        const int n = l.n / 2;
        const struct rb_prediction_now now = {
            .now_us = l.events[n - 1].time_us, .spent_uusd = -1, .deadline_us = -1, .budget_uusd = -1};
        struct rb_prediction *p = rb_prediction_create(&planned.p.plan);
        const struct rb_estimate *e = predict(p, &l, n, &now);
        n_covered += l.result.time_us >= e->time_us.p5 && l.result.time_us <= e->time_us.p95;
        struct rb_prediction_pace pace;
        assert_true(rb_prediction_pace(p, &pace) && fabs(log(pace.reckoned) / 1.96 - 0.25) < 1e-4);
        width += (double)(e->time_us.p95 - e->time_us.p5) / (double)e->time_us.p50 / RUNS;
        rb_prediction_destroy(p);
        free(l.events);
    }
    print_message("%d of %d within p5..p95, %.3f wide\n", n_covered, RUNS, width);
    assert_true(n_covered >= 80 && n_covered <= 98 && width < 0.2);
    small_scenario_finish(&planned);
}

// Of runs of one stage of 32 trials on 16 nodes, predicted when all but one have passed an event of this kind: how many
// end by the median and by the 95 % quantile, and how long after the prediction the latter is, on average.
struct kept_tail {
    int n_p50, n_p95;
    double p95_after_s;
};

static int nth_of_kind(const struct lived *l, enum rb_event_kind kind, int n)
{
    for (int i = 0; i < l->n; i++) {
        n -= l->events[i].kind == kind;
        if (n == 0)
            return i + 1;
    }
    fail_msg("no such event");
    return 0;
}

static struct kept_tail predict_the_last(struct small_scenario *s, enum rb_event_kind kind, int n_before, int runs)
{
    struct kept_tail t = {0};
    small_scenario_one_stage(s, 32, 1, 16);
    small_scenario_compile(s, 7);
    for (int i = 0; i < runs; i++) {
        struct lived l;
        assert_true(live(&s->scenario, &s->p.plan, 5000 + (uint32_t)i, &l));
        const int n = nth_of_kind(&l, kind, n_before);
        const struct rb_prediction_now now = {
            .now_us = l.events[n - 1].time_us, .spent_uusd = -1, .deadline_us = -1, .budget_uusd = -1};
        struct rb_prediction *p = rb_prediction_create(&s->p.plan);
        const struct rb_estimate *e = predict(p, &l, n, &now);
        t.n_p50 += l.result.time_us <= e->time_us.p50;
        t.n_p95 += l.result.time_us <= e->time_us.p95;
        t.p95_after_s += (double)(e->time_us.p95 - now.now_us) / RB_US_PER_S / runs;
        rb_prediction_destroy(p);
        free(l.events);
    }
    print_message("of %d runs %d end by p50, %d by p95, which is %.2f s later on average\n", runs, t.n_p50, t.n_p95,
                  t.p95_after_s);
    return t;
}

// The slowest of 32 trials is 1.2 times as slow as the mean, which the first unit of few is. It does not begin again.
static void the_last_trial_is_late_but_not_by_another_unit(void **state)
{
    (void)state;
    enum { RUNS = 200, UNIT_S = 10 };
    struct small_scenario s;
    small_scenario_make(&s);
    s.p.profile.between = small_dist(RB_DIST_LOGNORMAL, 1, 0.1);
    s.p.training.relative_error = 0.05;
    const struct kept_tail t = predict_the_last(&s, RB_EVENT_REPORT, 31, RUNS);
    assert_true(t.n_p50 > 70 && t.n_p50 < 130 && t.n_p95 > 175 && t.n_p95 < 200);
    assert_true(t.p95_after_s < 0.3 * UNIT_S);
    small_scenario_finish(&s);
}

static void the_last_node_is_late_but_does_not_boot_again(void **state)
{
    (void)state;
    enum { RUNS = 200, INIT_S = 60, UNIT_S = 200 };
    struct small_scenario s;
    small_scenario_make(&s);
    s.p.training.base_s = UNIT_S; // so long that no node trains in another's stead
    s.provisioning.init_s = small_dist(RB_DIST_LOGNORMAL, INIT_S, 0.2);
    const struct kept_tail t = predict_the_last(&s, RB_EVENT_NODE_READY, 15, RUNS);
    assert_true(t.n_p50 > 70 && t.n_p50 < 130 && t.n_p95 > 175 && t.n_p95 < 200);
    assert_true(t.p95_after_s < UNIT_S + 0.5 * INIT_S);
    small_scenario_finish(&s);
}

// Of a trial nothing is known while it has not reported: it is among the best third in a third of the runs.
static void a_trial_without_a_report_survives_like_any_other(void **state)
{
    (void)state;
    enum { TRIALS = 32, REPORTED = 20, RUNS = 4000 };
    struct small_scenario s;
    struct lived l;
    struct rb_survivors survivors = {0};
    noisy(&s);
    small_scenario_one_stage(&s, TRIALS, 1, 16);
    assert_true(live(&s.scenario, &s.p.plan, 5, &l));
    struct rb_prediction *p = rb_prediction_create(&s.p.plan);
    for (int i = 0; i < nth_of_kind(&l, RB_EVENT_REPORT, REPORTED); i++)
        rb_prediction_event(p, &l.events[i]);
    const struct rb_engine *e = rb_prediction_engine(p);
    rb_survivors_make(&survivors, e, RB_GOAL_MAXIMIZE, 7);
    assert_int_equal(survivors.n_metrics, REPORTED);
    int trial = 0, n_among_best = 0;
    while (!isnan(rb_engine_trial(e, trial)->metric))
        trial++;
    for (uint32_t i = 0; i < RUNS; i++)
        n_among_best += rb_survivors_draw(&survivors, i, trial) > survivors.metrics[REPORTED - REPORTED / 3 - 1];
    print_message("among the best %d of %d in %.3f of the runs\n", REPORTED / 3, REPORTED, (double)n_among_best / RUNS);
    assert_true(n_among_best > 0.27 * RUNS && n_among_best < 0.33 * RUNS);
    rb_survivors_finish(&survivors);
    rb_prediction_destroy(p);
    free(l.events);
    small_scenario_finish(&s);
}

// A stopped run ends now; resumed, it takes about as long as one that begins, its nodes being new ones.
static void a_resumed_run_is_foreseen_again(void **state)
{
    (void)state;
    struct small_scenario s;
    struct lived l;
    noisy(&s);
    assert_true(live(&s.scenario, &s.p.plan, 5, &l));
    const int n = l.n / 4;
    const int64_t stopped_us = l.events[n - 1].time_us, resumed_us = stopped_us + 3600 * RB_US_PER_S;
    l.events[n] = (struct rb_event){.kind = RB_EVENT_STOP, .time_us = stopped_us, .reason = RB_STOP_USER};
    l.events[n + 1] = (struct rb_event){.kind = RB_EVENT_RESUME, .time_us = resumed_us};
    struct rb_prediction *p = rb_prediction_create(&s.p.plan);
    struct rb_prediction_now now = {.now_us = stopped_us, .spent_uusd = -1, .deadline_us = -1, .budget_uusd = -1};
    assert_int_equal(predict(p, &l, n + 1, &now)->time_us.p95, stopped_us);
    now.now_us = resumed_us;
    rb_prediction_event(p, &l.events[n + 1]);
    rb_prediction_begin(p, &now);
    while (!rb_prediction_make(p, 100))
        ;
    const char *why;
    const struct rb_estimate *e = rb_prediction_estimate(p, &why);
    assert_non_null(e);
    assert_true(e->time_us.p5 > resumed_us + 40 * RB_US_PER_S && e->time_us.p95 < resumed_us + 100 * RB_US_PER_S);
    rb_prediction_destroy(p);
    free(l.events);
    small_scenario_finish(&s);
}

// A configuration's values are lent for one step; then their memory holds something else.
static void lent_values_are_not_kept(void **state)
{
    (void)state;
    static const struct rb_param rate = {.name = "lr", .kind = RB_PARAM_UNIFORM, .max = 1};
    struct small_scenario s;
    struct lived l;
    noisy(&s);
    s.p.job.space = (struct rb_space){&rate, 1};
    s.p.job.scheduler.sampler.type = "random";
    assert_true(live(&s.scenario, &s.p.plan, 5, &l));
    struct rb_prediction *p = rb_prediction_create(&s.p.plan);
    int n_suggested = 0;
    for (int i = 0; i < l.n / 2; i++) {
        struct rb_named_value lent = {"lr", {.kind = RB_VALUE_FLOAT, .number = 0.5}};
        n_suggested += l.events[i].kind == RB_EVENT_SUGGESTED;
        if (l.events[i].kind == RB_EVENT_SUGGESTED)
            l.events[i].values = &lent;
        rb_prediction_event(p, &l.events[i]);
        memset(&lent, 0xff, sizeof lent);
    }
    assert_true(n_suggested > 0);
    rb_prediction_begin(p, &(struct rb_prediction_now){.now_us = l.events[l.n / 2 - 1].time_us,
                                                       .spent_uusd = -1,
                                                       .deadline_us = -1,
                                                       .budget_uusd = -1});
    while (!rb_prediction_make(p, 100))
        ;
    const char *why;
    assert_non_null(rb_prediction_estimate(p, &why));
    rb_prediction_destroy(p);
    free(l.events);
    small_scenario_finish(&s);
}

// ---- a job of a pool

static int64_t end_with(struct rb_prediction *p, uint64_t gpus, const char **out_why)
{
    const int64_t now_us = 20 * RB_US_PER_S;
    rb_prediction_event(p, &(struct rb_event){.kind = RB_EVENT_LENT, .time_us = now_us, .gpus = gpus});
    rb_prediction_begin(
        p, &(struct rb_prediction_now){.now_us = now_us, .spent_uusd = 0, .deadline_us = -1, .budget_uusd = -1});
    while (!rb_prediction_make(p, 100))
        ;
    const struct rb_estimate *e = rb_prediction_estimate(p, out_why);
    return e ? e->time_us.p50 : -1;
}

// Two trials of 40 units, 10 s each on a GPU: side by side or one after the other, or no one knows when.
static void a_lent_job_is_foreseen_with_the_gpus_it_has_now(void **state)
{
    (void)state;
    const int64_t trial_us = (2 + 400 + 1) * RB_US_PER_S, begun_us = 20 * RB_US_PER_S;
    struct small_scenario s;
    const char *why;
    small_scenario_make(&s);
    small_scenario_one_stage(&s, 2, 40, 1);
    s.p.plan.policy = "shared";
    struct rb_prediction *p = rb_prediction_create(&s.p.plan);
    const struct rb_event before[] = {
        {.kind = RB_EVENT_START},
        {.kind = RB_EVENT_NODE_RUNNING, .time_us = 5 * RB_US_PER_S},
        {.kind = RB_EVENT_NODE_READY, .time_us = 15 * RB_US_PER_S},
    };
    for (size_t i = 0; i < sizeof before / sizeof before[0]; i++)
        rb_prediction_event(p, &before[i]);
    assert_int_equal(end_with(p, 0, &why), -1);
    assert_string_equal(why, "no GPU is lent now");
    assert_int_equal(end_with(p, 1, &why), begun_us + 2 * trial_us);
    assert_int_equal(end_with(p, 3, &why), begun_us + trial_us);
    assert_null(why);
    assert_string_equal(rb_policy_find("shared")->foreseen_if, "the GPUs that the job is lent now stay as they are");
    assert_int_equal(end_with(p, 0, &why), -1); // asked back: no end that was known before is given again
    assert_string_equal(why, "no GPU is lent now");
    rb_prediction_destroy(p);
}

static void what_cannot_be_foreseen_says_why(void **state)
{
    (void)state;
    struct small_scenario s;
    const char *why;
    small_scenario_make(&s);
    s.p.plan.policy = "shared";
    s.p.plan.unpredicted = true;
    struct rb_prediction *p = rb_prediction_create(&s.p.plan);
    rb_prediction_event(p, &(struct rb_event){.kind = RB_EVENT_START});
    rb_prediction_begin(p, &(struct rb_prediction_now){.spent_uusd = -1, .deadline_us = -1, .budget_uusd = -1});
    assert_true(rb_prediction_make(p, 1));
    assert_null(rb_prediction_estimate(p, &why));
    assert_string_equal(why, "it owns the nodes of a pool, and ends when their jobs have ended");
    rb_prediction_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cut_run_ends_as_it_would_have_ended),
        cmocka_unit_test(before_anything_has_happened_it_is_the_estimate_of_the_plan),
        cmocka_unit_test(its_quantiles_are_kept),
        cmocka_unit_test(it_keeps_the_pace_it_has_seen),
        cmocka_unit_test(an_uncertain_speed_is_learned),
        cmocka_unit_test(the_last_trial_is_late_but_not_by_another_unit),
        cmocka_unit_test(the_last_node_is_late_but_does_not_boot_again),
        cmocka_unit_test(a_trial_without_a_report_survives_like_any_other),
        cmocka_unit_test(a_resumed_run_is_foreseen_again),
        cmocka_unit_test(lent_values_are_not_kept),
        cmocka_unit_test(a_lent_job_is_foreseen_with_the_gpus_it_has_now),
        cmocka_unit_test(what_cannot_be_foreseen_says_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
