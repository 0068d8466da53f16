// The law of quality of earlier runs, against runs that were drawn from a known law.
#include "base/order.h"
#include "planner/quality/best.h"
#include "planner/quality/drawn.h"
#include "planner/quality/runs.h"
#include "samplers/model/normal.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MOST 2000
#define R    27

// A run of sha from a known law: the metric is e^y at every rung, so that only ranks and the top at R say something.
struct run {
    struct rb_found_metric results[MOST];
    int n, first_trial; // of its trials' names
    struct rb_search_shape shape;
};

static void note(void *ctx, int bracket, int rung, const struct rb_drawn_trial *trials, int n)
{
    static char names[MOST][8];
    struct run *run = ctx;
    (void)bracket;
    for (int i = 0; i < n; i++) {
        const int trial = run->first_trial + trials[i].trial;
        snprintf(names[trial], sizeof names[0], "%04d", trial);
        run->results[run->n++] = (struct rb_found_metric){
            names[trial], (int64_t)lround(run->shape.brackets[0].rungs[rung].share * R), exp(trials[i].y)};
    }
}

static int by_configuration(const void *pa, const void *pb)
{
    const struct rb_found_metric *a = pa, *b = pb;
    const int order = strcmp(a->config_json, b->config_json);
    return order ? order : (a->resource > b->resource) - (a->resource < b->resource);
}

static void shape_of(int trials, struct rb_search_shape *out)
{
    *out = (struct rb_search_shape){.n = 1, .brackets[0].n = 4};
    for (int i = 0; i < 4; i++)
        out->brackets[0].rungs[i] = (struct rb_shape_rung){(int)(trials / pow(3, i)), pow(3, i) / R};
}

static struct rb_quality_law law_of(double t)
{
    struct rb_quality_law law;
    rb_quality_law_prior(&law);
    law.spread = 0;
    for (int i = 0; i < law.n; i++)
        law.rho[i] = pow(law.rho[i], exp(t));
    return law;
}

static void add_run(const struct rb_quality_law *law, int trials, uint32_t k, struct run *io)
{
    struct rb_drawn d;
    shape_of(trials, &io->shape);
    rb_drawn_init(&d, law, &io->shape, 11);
    rb_drawn_play(&d, k, note, io);
    rb_drawn_finish(&d);
    qsort(io->results, (size_t)io->n, sizeof io->results[0], by_configuration);
    io->first_trial += trials;
}

static const struct rb_job job = {.seed = 5, .goal = RB_GOAL_MAXIMIZE, .scheduler.max_resource = R};

static void law_of_run(const struct run *run, struct rb_arena *arena, struct rb_quality_law *out)
{
    const struct rb_found_metrics found = {run->results, run->n, 1};
    rb_quality_law_of_runs(&found, &job, "a store", arena, out);
}

// ---- rho

// The power to which the law has taken the prior's rho, as its logarithm.
static double power_of(const struct rb_quality_law *law)
{
    return log(log(law->rho[0]) / log(0.75));
}

struct calibration {
    double mean, rms, spread;
};

// u as the prior has it, a run under it, and how far the posterior is from u in its own standard deviations: of u, the
// law has a share that is known, and the rest of its spread is tau's.
static struct calibration calibrate(int trials, int n)
{
    const double prior = 0.5, share = 1 / (1 + pow(RB_RUNS_TAU / prior, 2));
    struct calibration c = {0};
    for (int k = 0; k < n; k++) {
        static struct run run;
        struct rb_arena arena = {0};
        struct rb_quality_law found;
        const double u = hypot(prior, RB_RUNS_TAU) * rb_normal_quantile((k + 0.5) / n);
        const struct rb_quality_law truth = law_of(u);
        run = (struct run){0};
        add_run(&truth, trials, (uint32_t)k, &run);
        law_of_run(&run, &arena, &found);
        const double sd = sqrt(found.spread * found.spread - share * RB_RUNS_TAU * RB_RUNS_TAU);
        const double off = (power_of(&found) - share * u) / sd;
        c.mean += off / n;
        c.rms += off * off / n;
        c.spread += found.spread / n;
        rb_arena_finish(&arena);
    }
    c.rms = sqrt(c.rms);
    return c;
}

static void rho_is_as_far_off_as_its_spread_says(void **state)
{
    static const int trials[] = {27, 81, 243};
    double before = 0.5;
    (void)state;
    for (size_t i = 0; i < sizeof trials / sizeof trials[0]; i++) {
        const struct calibration c = calibrate(trials[i], 200);
        if (fabs(c.mean) > 0.2 || c.rms < 0.85 || c.rms > 1.15 || c.spread >= before)
            fail_msg("%d trials: off by %.2f, rms %.2f, spread %.3f after %.3f", trials[i], c.mean, c.rms, c.spread, before);
        before = c.spread;
    }
}

static void ranks_that_agree_raise_rho_and_others_lower_it(void **state)
{
    (void)state;
    for (int sign = -1; sign <= 1; sign += 2) {
        static struct run run;
        struct rb_arena arena = {0};
        struct rb_quality_law prior, found;
        const struct rb_quality_law truth = law_of(-1.5 * sign);
        rb_quality_law_prior(&prior);
        run = (struct run){0};
        for (uint32_t k = 0; k < 3; k++)
            add_run(&truth, 81, k, &run);
        law_of_run(&run, &arena, &found);
        for (int i = 0; i < 3; i++)
            assert_true(sign * (found.rho[i] - prior.rho[i]) > 0.01);
        assert_true(found.rho[3] == 1);
        rb_arena_finish(&arena);
    }
}

// ---- metrics

struct level {
    double mean, inside; // of ln metric at one score, over runs and maps; runs whose 90 % of maps contain the truth
};

static struct level level_of(double z, int trials, int n, double *out_of_survivors)
{
    const struct rb_quality_law truth = law_of(0);
    struct level l = {0};
    *out_of_survivors = 0;
    for (int k = 0; k < n; k++) {
        static struct run run;
        double logs[RB_RUNS_MAPS], finals[MOST];
        int n_finals = 0;
        struct rb_arena arena = {0};
        struct rb_quality_law found;
        run = (struct run){0};
        add_run(&truth, trials, (uint32_t)k, &run);
        law_of_run(&run, &arena, &found);
        for (int m = 0; m < RB_RUNS_MAPS; m++) {
            logs[m] = log(rb_quality_metric(&found, z, m));
            l.mean += logs[m] / RB_RUNS_MAPS / n;
        }
        qsort(logs, RB_RUNS_MAPS, sizeof logs[0], rb_order_doubles);
        l.inside += (logs[5] <= z && logs[94] >= z) / (double)n;
        for (int i = 0; i < run.n; i++)
            if (run.results[i].resource == R)
                finals[n_finals++] = log(run.results[i].metric);
        qsort(finals, (size_t)n_finals, sizeof finals[0], rb_order_doubles);
        *out_of_survivors += finals[(int)(rb_normal_cdf(z) * n_finals)] / n;
        rb_arena_finish(&arena);
    }
    return l;
}

// As if survivors were a random sample, the metric of a score would be far too good.
static void metrics_of_scores_are_those_of_random_configurations(void **state)
{
    (void)state;
    for (double z = 0; z < 1.9; z += 0.6) {
        double of_survivors;
        const struct level l = level_of(z, 243, 60, &of_survivors);
        if (fabs(l.mean - z) > 0.1 || l.inside < 0.8 || of_survivors < z + 0.6)
            fail_msg("score %g: mean %.2f, inside %.2f; of survivors %.2f", z, l.mean, l.inside, of_survivors);
    }
}

// A second run finds a metric below the 5 % quantile in 5 % of runs, and one below the median in half of them.
static void a_second_run_finds_what_the_first_lets_expect(void **state)
{
    enum { N = 300 };
    int below_low = 0, below_median = 0;
    (void)state;
    for (int k = 0; k < N; k++) {
        static struct run run;
        struct rb_arena arena = {0};
        struct rb_quality_law found;
        struct rb_search_shape shape;
        struct rb_best best;
        struct rb_drawn d;
        const struct rb_quality_law truth = law_of(0.6 * rb_normal_quantile((k + 0.5) / N));
        run = (struct run){0};
        add_run(&truth, 81, (uint32_t)k, &run);
        law_of_run(&run, &arena, &found);
        shape_of(81, &shape);
        rb_best_expect(&found, &shape, 3, 400, &best);
        assert_true(isnan(best.metric.high) && isnan(best.metric.mean) && best.metric.low <= best.metric.median);
        rb_drawn_init(&d, &truth, &shape, 12); // other configurations
        const double now = exp(rb_drawn_play(&d, (uint32_t)k, NULL, NULL));
        rb_drawn_finish(&d);
        below_low += now < best.metric.low;
        below_median += now < best.metric.median;
        rb_arena_finish(&arena);
    }
    if (below_low > 0.09 * N || below_low < 0.01 * N || below_median > 0.58 * N || below_median < 0.35 * N)
        fail_msg("of %d, %d below the 5 %% quantile, %d below the median", N, below_low, below_median);
}

// ---- what is there, and what is not

static void law_of_results(const struct rb_found_metric *results, int n, const struct rb_job *of, struct rb_arena *arena,
                           struct rb_quality_law *out)
{
    const struct rb_found_metrics found = {results, n, n > 0 ? 2 : 0};
    rb_quality_law_of_runs(&found, of, "p.db", arena, out);
}

static void nothing_found_is_the_prior(void **state)
{
    struct rb_arena arena = {0};
    struct rb_quality_law law;
    (void)state;
    law_of_results(NULL, 0, &job, &arena, &law);
    assert_string_equal(law.source, "a prior");
    assert_int_equal(law.n_runs, 0);
    assert_true(law.spread == 0.5 && law.rho[0] == 0.75 && !rb_quality_knows_metrics(&law));
    rb_arena_finish(&arena);
}

// Without a trial at R no metric there is known, and without pairs rho stays the prior's; results beyond R do not count.
static void no_final_result_is_no_metric(void **state)
{
    const struct rb_found_metric results[] = {{"a", 1, 0.5}, {"b", 1, 0.25}, {"b", 2 * R, 0.125}};
    struct rb_arena arena = {0};
    struct rb_quality_law law;
    (void)state;
    law_of_results(results, 3, &job, &arena, &law);
    assert_false(rb_quality_knows_metrics(&law));
    assert_true(isnan(rb_quality_metric(&law, 1, 0)));
    assert_float_equal(law.rho[0], 0.75, 1e-12);
    assert_float_equal(law.spread, 0.5, 1e-3);
    assert_string_equal(law.source, "2 earlier runs of this search in p.db (2 random configurations, 0 trained to the end) "
                                    "and, by 100 %, a prior");
    rb_arena_finish(&arena);
}

// A loss: the best is the least. Diverged trials are worst, and no metric.
static void minimize_and_diverged(void **state)
{
    const struct rb_found_metric results[] = {{"a", 1, 0.5}, {"a", R, 0.25}, {"b", 1, 0.6}, {"b", R, NAN},
                                              {"c", 1, 0.75}, {"d", 1, 0.75}, {"e", 1, NAN}};
    struct rb_job of = job;
    struct rb_arena arena = {0};
    struct rb_quality_law law;
    (void)state;
    of.goal = RB_GOAL_MINIMIZE;
    law_of_results(results, 7, &of, &arena, &law);
    assert_true(rb_quality_knows_metrics(&law));
    for (int k = 0; k < RB_RUNS_MAPS; k++) {
        double before = INFINITY;
        assert_true(rb_quality_metric(&law, 9, k) == 0.25 && rb_quality_is_beyond(&law, 9, k));
        assert_true(!rb_quality_is_beyond(&law, -9, k));
        for (double z = -3; z <= 3; z += 0.25) {
            const double metric = rb_quality_metric(&law, z, k);
            assert_true(metric <= before && metric >= 0.25 && metric <= 0.75);
            before = metric;
        }
    }
    law_of_results(results + 2, 2, &of, &arena, &law); // the only one that was trained to the end diverged
    assert_false(rb_quality_knows_metrics(&law));
    rb_arena_finish(&arena);
}

// Accuracies of few examples: equal ranks everywhere say nothing of rho, and one metric is every score's.
static void equal_metrics(void **state)
{
    struct rb_found_metric results[24];
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    struct rb_arena arena = {0};
    struct rb_quality_law law;
    (void)state;
    for (int i = 0; i < 24; i++)
        results[i] = (struct rb_found_metric){names[i / 3], i % 3 == 0 ? 1 : i % 3 == 1 ? 9 : R, 0.5};
    law_of_results(results, 24, &job, &arena, &law);
    assert_float_equal(law.rho[0], 0.75, 1e-9);
    assert_true(rb_quality_metric(&law, 0, 1) == 0.5);
    rb_arena_finish(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rho_is_as_far_off_as_its_spread_says),
        cmocka_unit_test(ranks_that_agree_raise_rho_and_others_lower_it),
        cmocka_unit_test(metrics_of_scores_are_those_of_random_configurations),
        cmocka_unit_test(a_second_run_finds_what_the_first_lets_expect),
        cmocka_unit_test(nothing_found_is_the_prior),
        cmocka_unit_test(no_final_result_is_no_metric),
        cmocka_unit_test(minimize_and_diverged),
        cmocka_unit_test(equal_metrics),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
