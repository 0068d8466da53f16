// The law of quality of earlier runs, against runs that were drawn from a known law.
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

// The power to which the law has taken the prior's rho, as its logarithm.
static double power_of(const struct rb_quality_law *law)
{
    return log(log(law->rho[0]) / log(0.75));
}

struct calibration {
    double off, squares, spread, covered;
};

// t as the prior has it, a run, and how far its posterior is from t in its own standard deviations.
static struct calibration calibrate(int trials, int n)
{
    struct calibration c = {0};
    for (int k = 0; k < n; k++) {
        static struct run run;
        struct rb_arena arena = {0};
        struct rb_quality_law found;
        const double t = 0.5 * rb_normal_quantile((k + 0.5) / n);
        const struct rb_quality_law truth = law_of(t);
        run = (struct run){0};
        add_run(&truth, trials, (uint32_t)k, &run);
        law_of_run(&run, &arena, &found);
        const double off = (power_of(&found) - t) / found.spread;
        c.off += off / n;
        c.squares += off * off / n;
        c.spread += found.spread / n;
        c.covered += fabs(off) < 1.645 ? 1.0 / n : 0;
        rb_arena_finish(&arena);
    }
    return c;
}

static void the_power_is_as_far_off_as_its_spread_says(void **state)
{
    static const int trials[] = {27, 81, 243};
    (void)state;
    for (size_t i = 0; i < sizeof trials / sizeof trials[0]; i++) {
        const struct calibration c = calibrate(trials[i], 200);
        printf("%d: off %.2f, rms %.2f, spread %.3f, covered %.2f\n", trials[i], c.off, sqrt(c.squares), c.spread, c.covered);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_power_is_as_far_off_as_its_spread_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
