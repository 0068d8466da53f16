// Stage-time objects against the schedule itself: the same stage run draw by draw, its quantiles and its mean compared
// with the law's, and the bounds on what makes stages depend on each other compared with how often that happens.
#include "small_scenario.h"

#include "simulator/model/draws.h"
#include "simulator/stage/stage_run.h"
#include "simulator/stage/stage_time.h"

#include <math.h>
#include <stdlib.h>

#define RUNS     6000
#define ACCURACY 1e-4

struct world {
    struct small_scenario small;
    struct rb_stage_times *times;
    double time_us[RUNS], cost[RUNS];
};

// Two stages, so that the second may find nodes ready.
static void make(struct world *w, int trials, int64_t units, int gpus_per_node)
{
    small_scenario_make(&w->small);
    struct small_plan *p = &w->small.p;
    p->job.scheduler = (struct rb_scheduler){
        .type = "sha", .num_trials = trials, .min_resource = units, .max_resource = 2 * units, .eta = 2, .brackets = 1};
    p->profile.startup_s = small_dist(RB_DIST_LOGNORMAL, 8, 0.3);
    p->profile.between = small_dist(RB_DIST_LOGNORMAL, 1, 0.2);
    p->profile.within = small_dist(RB_DIST_LOGNORMAL, 1, 0.1);
    w->small.provisioning.queue_s = small_dist(RB_DIST_LOGNORMAL, 20, 0.5);
    w->small.provisioning.init_s = small_dist(RB_DIST_NORMAL, 40, 0.2);
    p->offers[0].gpus = gpus_per_node;
}

static void compile(struct world *w, uint64_t seed)
{
    small_scenario_compile(&w->small, seed);
    w->times = rb_stage_times_create(4096);
}

static void finish(struct world *w)
{
    rb_stage_times_destroy(w->times);
    small_scenario_finish(&w->small);
}

static const struct rb_stage_time *ask(struct world *w, const struct rb_stage_work *work, double accuracy)
{
    struct rb_err err;
    const struct rb_stage_time *t = rb_stage_times_get(w->times, &w->small.scenario, work, accuracy, &err);
    if (!t)
        fail_msg("%s", err.message);
    return t;
}

static void run(struct world *w, const struct rb_stage_work *work)
{
    const struct rb_rung *rung = &w->small.scenario.stages.rungs[work->stage];
    const struct rb_plan_nodes nodes = {work->offer, work->nodes};
    const struct rb_plan_stage plan = {
        .trials = rung->trials,
        .resource_start = rung->resource_start,
        .resource_end = rung->resource_end,
        .gpus_per_trial = work->gpus,
        .trials_per_gpu = 1,
        .nodes = &nodes,
        .n_nodes = 1,
    };
    struct rb_err err;
    const struct rb_stage_runs runs = {.n_kept = work->kept, .n = RUNS, .until_us = RB_STAGE_RUN_TO_THE_END};
    if (!rb_stage_run(&w->small.scenario, work->stage, &plan, &runs, w->small.ws, w->time_us, w->cost, &err))
        fail_msg("%s", err.message);
}

// How often one of the requested nodes is not ready at the end, and how often the first of them lives less than a minute.
static void count(struct world *w, const struct rb_stage_work *work, double *out_unready, double *out_short)
{
    *out_unready = *out_short = 0;
    for (uint32_t r = 0; r < RUNS; r++) {
        bool unready = false;
        for (int i = 0; i < work->nodes - work->kept; i++) {
            const struct rb_arrival a = rb_draw_arrival(&w->small.scenario, work->offer, work->stage, i, 0, r);
            unready |= (double)a.ready_us > w->time_us[r];
            *out_short += i == 0 && w->time_us[r] - (double)a.running_us < 60e6 ? 1.0 / RUNS : 0;
        }
        *out_unready += unready ? 1.0 / RUNS : 0;
    }
}

// Would the stage's trials not all run at once on a node less?
static bool needs_every_node(const struct world *w, const struct rb_stage_work *work)
{
    const int per_node = w->small.scenario.offers[work->offer].gpus, fewer = work->nodes - 1;
    const int at_once =
        work->gpus > per_node ? fewer / ((work->gpus + per_node - 1) / per_node) : fewer * (per_node / work->gpus);
    return at_once < w->small.scenario.stages.rungs[work->stage].trials;
}

// Standard errors between the law and the runs; four are passed by chance once in 16000.
static void agree(struct world *w, const struct rb_stage_work *work, const struct rb_stage_time *t)
{
    static const double levels[] = {0.05, 0.5, 0.95, 0.99};
    double mean = 0, unready, short_lived;
    for (int r = 0; r < RUNS; r++)
        mean += w->time_us[r] / 1e6 / RUNS;
    const double deviation = sqrt(t->law.variance_s2);
    const double z = (mean - t->law.mean_s) / (deviation / sqrt(RUNS) + 2 * t->law.error * deviation + 1e-6);
    if (fabs(z) > 4.2)
        fail_msg("%s: mean %.4f s, runs %.4f s, z %.2f", rb_stage_method_name(t->method), t->law.mean_s, mean, z);
    for (int i = 0; i < 4; i++) {
        const double at = rb_law_quantile(&t->law, levels[i]);
        double below = 0;
        for (int r = 0; r < RUNS; r++)
            below += w->time_us[r] / 1e6 <= at ? 1.0 / RUNS : 0;
        const double error = t->law.error - t->body_error * (1 - fmin(1, RB_BODY_FALLS * (1 - levels[i])));
        const double zp = (below - levels[i]) / (sqrt(levels[i] * (1 - levels[i]) / RUNS) + error);
        if (fabs(zp) > 4.2)
            fail_msg("%s: p%g at %.4f s, but %.4f of the runs are below, z %.2f", rb_stage_method_name(t->method),
                     100 * levels[i], at, below, zp);
    }
    count(w, work, &unready, &short_lived);
    assert_true(unready <= t->unready + 4 * sqrt(t->unready / RUNS) + 1e-9);
    if (t->method == RB_STAGE_ONE_WAVE && needs_every_node(w, work))
        assert_true(t->unready <= t->law.error);
    assert_true(short_lived <= t->short_lived + 4 * sqrt(t->short_lived / RUNS) + 1e-9);
}

struct table_case {
    int trials, units, gpus_per_node, stage, gpus, nodes, kept;
    enum rb_stage_method method;
};

static const struct table_case table[] = {
    {8, 3, 4, 1, 1, 1, 1, RB_STAGE_ONE_WAVE},   // four trials, four slots
    {8, 3, 4, 1, 1, 2, 1, RB_STAGE_ONE_WAVE},   // a node more than is needed
    {8, 3, 4, 0, 1, 2, 0, RB_STAGE_SCHEDULE},   // one wave on new nodes
    {32, 3, 4, 1, 1, 1, 1, RB_STAGE_SCHEDULE},  // four waves
    {32, 3, 4, 1, 2, 3, 1, RB_STAGE_SCHEDULE},  // some kept, some new
    {40, 2, 4, 0, 1, 4, 0, RB_STAGE_SCHEDULE},  // all new, waves
    {12, 4, 4, 0, 3, 3, 0, RB_STAGE_SCHEDULE},  // a GPU of each node idle
    {4, 6, 4, 1, 8, 4, 4, RB_STAGE_ONE_WAVE},   // gangs of two nodes, kept
    {8, 6, 4, 1, 8, 4, 2, RB_STAGE_SCHEDULE},   // one new gang
    {2, 6, 4, 0, 8, 2, 0, RB_STAGE_SCHEDULE},   // the only gang is new
    {8, 40, 4, 0, 8, 6, 0, RB_STAGE_SCHEDULE},  // three new gangs
    {8, 40, 4, 1, 8, 6, 3, RB_STAGE_SCHEDULE},  // a gang kept and half of one left over, two new
    {8, 40, 4, 0, 8, 5, 0, RB_STAGE_SCHEDULE},  // a node more than two gangs need
    {2, 6, 4, 0, 8, 3, 0, RB_STAGE_SCHEDULE},   // ... or one, whichever two come first
    {8, 2, 4, 0, 8, 6, 0, RB_STAGE_PILOT},      // trials so short that the order of arrivals is what counts
    {60, 20, 4, 0, 8, 40, 0, RB_STAGE_PILOT},   // very many new gangs
    {32, 3, 4, 0, 1, 1, 0, RB_STAGE_SCHEDULE},  // one new node: its slots open together
    {8, 3, 4, 0, 4, 1, 0, RB_STAGE_SCHEDULE},   // ... and it has one slot only
    {4, 3, 4, 0, 1, 1, 0, RB_STAGE_ONE_WAVE},   // ... and they are enough
    {8, 30, 4, 0, 1, 2, 0, RB_STAGE_ONE_WAVE},  // new nodes, trials that outlast their arrival
    {12, 30, 4, 1, 1, 4, 1, RB_STAGE_ONE_WAVE}, // ... some kept, some to spare, the last of them partly used
    {8, 60, 4, 1, 8, 8, 2, RB_STAGE_SCHEDULE},  // ... gangs, one of which may end before the last has begun
    {6, 60, 4, 1, 8, 7, 3, RB_STAGE_ONE_WAVE},  // ... half a gang left over, and a node to spare
};

static void laws_agree_with_the_schedule(void **state)
{
    (void)state;
    static struct world w;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const struct table_case *c = &table[i];
        make(&w, c->trials, c->units, c->gpus_per_node);
        w.small.p.job.trial.max_nodes = 2;
        compile(&w, 7 + i);
        const struct rb_stage_work work = {c->stage, 0, c->gpus, c->nodes, c->kept};
        const struct rb_stage_time *t = ask(&w, &work, ACCURACY);
        if (t->method != c->method)
            fail_msg("case %zu: %s, expected %s (%s)", i, rb_stage_method_name(t->method),
                     rb_stage_method_name(c->method), t->why ? t->why : "");
        assert_true((t->why != NULL) == (t->method == RB_STAGE_PILOT));
        run(&w, &work);
        agree(&w, &work, t);
        finish(&w);
    }
}

static int below(struct rb_stream *s, int n)
{
    return (int)rb_stream_below(s, (uint64_t)n);
}

// Any number of trials, of nodes and of those kept, with any family of noise.
static void random_stages_agree(void **state)
{
    (void)state;
    static struct world w;
    static const enum rb_dist_kind kinds[] = {RB_DIST_LOGNORMAL, RB_DIST_NORMAL, RB_DIST_GAMMA, RB_DIST_WEIBULL,
                                              RB_DIST_EXPONENTIAL};
    for (uint32_t i = 0; i < 12; i++) {
        struct rb_stream s;
        rb_stream_init(&s, &(struct rb_stream_key){.seed = 31, .purpose = RB_DRAW_SEARCH, .index = i});
        const int trials = 2 * (1 + below(&s, 24)), units = 1 + below(&s, 8);
        make(&w, trials, units, 4);
        const enum rb_dist_kind within = kinds[below(&s, 5)], init = kinds[below(&s, 5)];
        w.small.p.profile.within = small_dist(within, 1, within == RB_DIST_EXPONENTIAL ? 1 : 0.25);
        w.small.provisioning.init_s = small_dist(init, 30, init == RB_DIST_EXPONENTIAL ? 1 : 0.3);
        compile(&w, i);
        const int nodes = 1 + below(&s, 6), kept = below(&s, nodes + 1), gpus = 1 << below(&s, 2);
        const struct rb_stage_work work = {1, 0, gpus, nodes, kept};
        const struct rb_stage_time *t = ask(&w, &work, 1e-3);
        run(&w, &work);
        agree(&w, &work, t);
        finish(&w);
    }
}

// Trials of two nodes on new ones, with or without a node left over or to spare, few or many of them kept: what the
// openings' dependence adds to the error is enough.
static void random_gangs_agree(void **state)
{
    (void)state;
    static struct world w;
    int n_schedules = 0;
    for (uint32_t i = 0; i < 24; i++) {
        struct rb_stream s;
        rb_stream_init(&s, &(struct rb_stream_key){.seed = 37, .purpose = RB_DRAW_SEARCH, .index = i});
        const int trials = 2 * (2 + below(&s, 12)), gpus = 2 << below(&s, 3);
        make(&w, trials, 6 + below(&s, 60), gpus / 2);
        w.small.p.profile.between = small_dist(RB_DIST_LOGNORMAL, 1, 0.05 + 0.05 * below(&s, 8));
        compile(&w, i);
        const int nodes = 2 + below(&s, 16), kept = below(&s, nodes);
        const struct rb_stage_work work = {1, 0, gpus, nodes, kept};
        const struct rb_stage_time *t = ask(&w, &work, 1e-3);
        n_schedules += t->method == RB_STAGE_SCHEDULE;
        run(&w, &work);
        agree(&w, &work, t);
        finish(&w);
    }
    assert_true(n_schedules >= 10);
}

// What lies between the fields is nobody's.
static void assert_same(const struct rb_stage_time *a, const struct rb_stage_time *b)
{
    assert_int_equal(a->method, b->method);
    assert_int_equal(a->law.n, b->law.n);
    assert_ptr_equal(a->law.below, b->law.below);
    assert_memory_equal(&a->law.mean_s, &b->law.mean_s, sizeof a->law - offsetof(struct rb_law, mean_s));
    assert_memory_equal(&a->body_error, &b->body_error, sizeof *a - offsetof(struct rb_stage_time, body_error));
}

static void objects_are_shared(void **state)
{
    (void)state;
    static struct world w;
    make(&w, 32, 3, 4);
    compile(&w, 3);
    const struct rb_stage_work work = {1, 0, 1, 2, 1};
    const struct rb_stage_time *coarse = ask(&w, &work, 1e-3), copy = *coarse;
    assert_ptr_equal(ask(&w, &work, 1e-3), coarse);
    assert_ptr_equal(ask(&w, &work, 1e-2), coarse);
    assert_int_equal(rb_stage_times_made(w.times, RB_STAGE_SCHEDULE), 1);
    const struct rb_stage_time *fine = ask(&w, &work, 1e-4);
    assert_ptr_not_equal(fine, coarse);
    assert_ptr_equal(ask(&w, &work, 1e-3), fine);
    assert_same(coarse, &copy); // an old pointer stays valid
    assert_int_equal(rb_stage_times_made(w.times, RB_STAGE_SCHEDULE), 2);
    const struct rb_stage_work other = {1, 0, 1, 2, 2};
    assert_ptr_not_equal(ask(&w, &other, 1e-4), fine);
    finish(&w);
}

static const struct rb_stage_time *ask_finely(struct world *w, struct rb_stage_work work)
{
    work.finely = true;
    return ask(w, &work, 1e-4);
}

// Four times the samples err by the square root of that less, and those drawn for a search stay as they were.
static void finer_samples_err_less(void **state)
{
    (void)state;
    static struct world w;
    make(&w, 60, 20, 4);
    w.small.p.job.trial.max_nodes = 2;
    compile(&w, 5);
    const struct rb_stage_work work = {0, 0, 8, 40, 0};
    const struct rb_stage_time *coarse = ask(&w, &work, 1e-3), copy = *coarse;
    assert_int_equal(coarse->method, RB_STAGE_PILOT);
    assert_ptr_equal(ask(&w, &work, 1e-3), coarse);
    assert_ptr_equal(ask(&w, &work, 1e-4), coarse);
    const struct rb_stage_time *fine = ask_finely(&w, work);
    assert_float_equal(fine->law.error, coarse->law.error / 2, 0.1 * fine->law.error);
    assert_same(coarse, &copy);
    assert_ptr_equal(ask(&w, &work, 1e-4), coarse);
    run(&w, &work);
    agree(&w, &work, fine);
    finish(&w);
}

// A gang's law that errs by more than samples of a plan would is sampled where it is asked for finely, and nowhere else.
static void rough_laws_are_sampled_where_they_decide(void **state)
{
    (void)state;
    static struct world w;
    make(&w, 8, 40, 4);
    w.small.p.job.trial.max_nodes = 2;
    compile(&w, 5);
    const struct rb_stage_work work = {0, 0, 8, 6, 0};
    const struct rb_stage_time *law = ask(&w, &work, 1e-4), copy = *law;
    assert_int_equal(law->method, RB_STAGE_SCHEDULE);
    assert_true(law->law.error > RB_STAGE_ROUGH);
    const struct rb_stage_time *fine = ask_finely(&w, work);
    assert_int_equal(fine->method, RB_STAGE_PILOT);
    assert_ptr_equal(ask(&w, &work, 1e-4), law);
    assert_same(law, &copy);
    run(&w, &work);
    agree(&w, &work, fine);
    finish(&w);
}

// Where nothing is random there is nothing to sample: three waves of 2 + 30 + 1 s on new nodes that take 15 s.
static void certain_times_are_exact(void **state)
{
    (void)state;
    static struct world w;
    make(&w, 12, 3, 4);
    w.small.p.profile.startup_s = rb_dist_constant(2);
    w.small.p.profile.between = w.small.p.profile.within = rb_dist_constant(1);
    w.small.provisioning.queue_s = rb_dist_constant(5);
    w.small.provisioning.init_s = rb_dist_constant(10);
    compile(&w, 3);
    const struct rb_stage_work work = {0, 0, 1, 1, 0};
    const struct rb_stage_time *t = ask(&w, &work, 1e-4);
    assert_int_equal(t->law.n, 1);
    assert_float_equal(t->law.low_s, 15 + 3 * 33, 1e-9);
    assert_float_equal(t->law.error, 0, 0);
    assert_float_equal(t->unready, 0, 0);
    assert_float_equal(t->short_lived, 0, 0);
    finish(&w);
}

static void floors_are_below(void **state)
{
    (void)state;
    static struct world w;
    make(&w, 32, 3, 4);
    compile(&w, 3);
    for (int nodes = 1; nodes <= 6; nodes++) {
        for (int kept = 0; kept <= nodes; kept++) {
            const struct rb_stage_work work = {1, 0, 1, nodes, kept};
            struct rb_err err;
            const struct rb_law *floor = rb_stage_times_floor(w.times, &w.small.scenario, &work, &err);
            const struct rb_stage_time *t = ask(&w, &work, 1e-3);
            assert_non_null(floor);
            assert_true(floor->mean_s <= t->law.mean_s * (1 + 1e-6));
            for (int i = 1; i < 100; i++) {
                const double at = rb_law_quantile(&t->law, i / 100.0);
                assert_true(rb_law_below(floor, at) >= i / 100.0 - t->law.error - floor->error);
            }
        }
    }
    finish(&w);
}

// Of the fewest more nodes: as many kept, or as many new. Gangs with nodes left over, too.
static void laws_of_more_nodes_are_below(void **state)
{
    (void)state;
    static struct world w;
    int n_known = 0;
    for (uint32_t i = 0; i < 24; i++) {
        struct rb_stream s;
        rb_stream_init(&s, &(struct rb_stream_key){.seed = 41, .purpose = RB_DRAW_SEARCH, .index = i});
        const int gpus = 1 << below(&s, 4), fewest = gpus > 4 ? 2 : 1;
        make(&w, 4 + 2 * below(&s, 14), 6 + below(&s, 60), 4);
        w.small.p.job.trial.max_nodes = 2;
        compile(&w, i);
        const int nodes = fewest + below(&s, 6), kept = below(&s, nodes + 1), more = 1 + below(&s, 3);
        const struct rb_stage_work work = {1, 0, gpus, nodes, kept};
        const struct rb_stage_work larger = {1, 0, gpus, nodes + more, kept + (i % 2 ? more : 0)};
        bool exact = true;
        assert_null(rb_stage_times_known(w.times, &w.small.scenario, &work, nodes + more, &exact));
        const struct rb_stage_time *bound = ask(&w, &larger, 1e-3);
        assert_null(rb_stage_times_known(w.times, &w.small.scenario, &work, nodes + more - 1, &exact));
        const struct rb_law *known = rb_stage_times_known(w.times, &w.small.scenario, &work, nodes + more, &exact);
        assert_false(exact);
        if (bound->method == RB_STAGE_PILOT) {
            assert_null(known);
            finish(&w);
            continue;
        }
        assert_ptr_equal(known, &bound->law);
        const struct rb_stage_time *t = ask(&w, &work, 1e-3);
        for (int k = 1; k < 100 && t->method != RB_STAGE_PILOT; k++) {
            const double at = rb_law_quantile(&t->law, k / 100.0);
            assert_true(rb_law_below(known, at) >= k / 100.0 - t->law.error - known->error);
        }
        if (t->method != RB_STAGE_PILOT)
            assert_ptr_equal(rb_stage_times_known(w.times, &w.small.scenario, &work, nodes, &exact), &t->law);
        n_known += exact;
        finish(&w);
    }
    assert_true(n_known >= 10);
}

static void what_has_no_law_is_told(void **state)
{
    (void)state;
    static struct world w;
    const char *why;
    make(&w, 8, 3, 4);
    compile(&w, 3);
    assert_true(rb_stage_times_apply(&w.small.scenario, 0, &why));
    w.small.provisioning.preemption_per_hour = 0.1;
    assert_false(rb_stage_times_apply(&w.small.scenario, 0, &why));
    assert_string_equal(why, "nodes may be taken back");
    w.small.provisioning.preemption_per_hour = 0;
    w.small.scenario.sim_offers[0].measurement = small_dist(RB_DIST_LOGNORMAL, 1, 0.1);
    assert_false(rb_stage_times_apply(&w.small.scenario, 0, &why));
    struct rb_err err;
    assert_null(rb_stage_times_get(w.times, &w.small.scenario, &(struct rb_stage_work){0, 0, 8, 1, 0}, 1e-3, &err));
    finish(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(laws_agree_with_the_schedule), cmocka_unit_test(random_stages_agree),
        cmocka_unit_test(random_gangs_agree),           cmocka_unit_test(objects_are_shared),
        cmocka_unit_test(finer_samples_err_less),       cmocka_unit_test(rough_laws_are_sampled_where_they_decide),
        cmocka_unit_test(certain_times_are_exact),      cmocka_unit_test(floors_are_below),
        cmocka_unit_test(laws_of_more_nodes_are_below), cmocka_unit_test(what_has_no_law_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
