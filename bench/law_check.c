// The laws of a plan and of each of its stages against replicates of the sampler, which shares no formula with them. One
// line of `name value` pairs for the whole plan and for every stage, which bench/closed_forms reads:
//   law_check FOLDER REPLICATES
// z is the distance in standard errors of the replicates; the law's own error is told beside it, in the same unit.
#include "bench/workload.h"
#include "planner/scores/stage_samples.h"
#include "planner/search/planner.h"
#include "simulator/sampler/sampler.h"
#include "simulator/stage/stage_time.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define ACCURACY       1e-4 // of the stage times: what planners tell with
#define BLOCK          65536
#define SAMPLING_SIGMA 1.7 // a mean of samples is off by less than this times deviation times the error of P, at 99.9 %
#define BOOT_S         2e4 // far more than any node takes to be ready

static const double levels[] = {0.05, 0.5, 0.95, 0.99};
enum { N_LEVELS = sizeof levels / sizeof levels[0] };

struct check { // a law, and what the replicates say of it
    double mean_s, mean_error_s, error;
    double quantiles_s[N_LEVELS];
    double sum_s, sum2_s2; // of replicates, about mean_s
    int64_t below[N_LEVELS], n;
};

static void die(const struct rb_err *err)
{
    fprintf(stderr, "law_check: %s\n", err->message);
    exit(1);
}

static void add(struct check *c, const double *times_s, const double *minus_s, int n)
{
    for (int i = 0; i < n; i++) {
        const double t = times_s[i] - (minus_s ? minus_s[i] : 0);
        c->sum_s += t - c->mean_s;
        c->sum2_s2 += (t - c->mean_s) * (t - c->mean_s);
        for (int k = 0; k < N_LEVELS; k++)
            c->below[k] += t <= c->quantiles_s[k];
    }
    c->n += n;
}

// stage -1: the whole plan. Nodes that are not ready at a barrier count as an error of it, as planners count them.
static void print_check(const struct check *c, int stage, enum rb_stage_method method, double unready)
{
    const double n = (double)c->n, mean = c->sum_s / n, mean_deviation_s = sqrt((c->sum2_s2 / n - mean * mean) / n);
    printf("stage %d method %d replicates %.0f mean_s %.9g error %.3g unready %.3g mean_z %.4f mean_error_z %.4f",
           stage, (int)method, n, c->mean_s, c->error, unready, mean / mean_deviation_s,
           c->mean_error_s / mean_deviation_s);
    for (int k = 0; k < N_LEVELS; k++) {
        const double u = levels[k], deviation = sqrt(u * (1 - u) / n);
        printf(" p%g_z %.4f p%g_error_z %.4f", 100 * u, ((double)c->below[k] / n - u) / deviation, 100 * u,
               (c->error + (stage < 0 ? unready : 0)) / deviation);
    }
    printf("\n");
}

// --- laws

static const struct rb_stage_time *stage_time(const struct workload *w, struct rb_stage_times *times, int stage)
{
    const struct rb_plan_stage *plan = &w->stages[stage];
    const struct rb_choice choice = {0, plan->gpus_per_trial, w->nodes[stage].count};
    const int before = stage > 0 ? w->nodes[stage - 1].count : 0;
    const struct rb_stage_work work = {stage, 0, choice.gpus, choice.nodes,
                                       before < choice.nodes ? before : choice.nodes};
    struct rb_err err;
    const struct rb_stage_time *t = rb_stage_times_get(times, &w->scenario, &work, ACCURACY, &err);
    if (!t)
        die(&err);
    return t;
}

// How far the mean may be off, as planners tell it.
static double mean_error_s(const struct rb_stage_time *t)
{
    if (t->method == RB_STAGE_PILOT)
        return SAMPLING_SIGMA * sqrt(t->law.variance_s2) * t->law.error;
    return t->law.error * t->law.step_s * (t->law.n - 1);
}

static struct check of_stage(const struct rb_stage_time *t)
{
    const struct rb_law *law = &t->law;
    struct check c = {.mean_s = law->mean_s, .mean_error_s = mean_error_s(t), .error = law->error};
    for (int k = 0; k < N_LEVELS; k++)
        c.quantiles_s[k] = rb_law_quantile(law, levels[k]);
    return c;
}

static struct check of_sum(const struct rb_law *const *laws, int n)
{
    struct rb_arena arena;
    rb_arena_init(&arena);
    const struct rb_law_sum sum = rb_law_sum_create(laws, n, &arena);
    struct check c = {.mean_s = sum.mean_s, .error = sum.error};
    for (int k = 0; k < N_LEVELS; k++)
        c.quantiles_s[k] = rb_law_sum_quantile(&sum, levels[k]);
    rb_arena_finish(&arena);
    return c;
}

// --- replicates

static struct rb_sampler *sampler(const struct workload *w, const struct rb_plan_stage *stages, int n_stages)
{
    const struct rb_sampler_options opt = rb_sampler_defaults();
    struct rb_err err;
    struct rb_sampler *s = rb_sampler_create(&w->scenario, stages, n_stages, &opt, &err);
    if (!s)
        die(&err);
    return s;
}

// Replicates of one number share their draws: what a plan takes beyond its beginning, replicate by replicate.
static void check_plan(const struct rb_sampler *whole, const struct rb_sampler *beginning, struct check *c,
                       int replicates)
{
    double *end_s = rb_xcalloc(2 * (size_t)BLOCK, sizeof *end_s), *start_s = end_s + BLOCK;
    for (int done = 0; done < replicates; done += BLOCK) {
        const int n = replicates - done < BLOCK ? replicates - done : BLOCK;
        rb_sampler_run(whole, (uint32_t)done, n, end_s, NULL);
        if (beginning)
            rb_sampler_run(beginning, (uint32_t)done, n, start_s, NULL);
        add(c, end_s, beginning ? start_s : NULL, n);
    }
    free(end_s);
}

// One long trial on the nodes of the stage before: then those that are kept are ready.
static struct rb_plan_stage boot_on_nodes_of(const struct workload *w, const struct rb_plan_stage *before)
{
    struct rb_plan_stage boot = *before;
    struct rb_err err;
    double unit_s;
    if (!rb_scenario_unit_s(&w->scenario, 0, before->gpus_per_trial, &unit_s, &err))
        die(&err);
    boot.trials = 1;
    boot.resource_start = 0;
    boot.resource_end = (int64_t)ceil(BOOT_S / unit_s);
    return boot;
}

static void check_stage(const struct workload *w, int stage, struct check *c, int replicates)
{
    struct rb_plan_stage stages[2];
    if (stage > 0)
        stages[0] = boot_on_nodes_of(w, &w->stages[stage - 1]);
    stages[stage > 0] = w->stages[stage];
    struct rb_sampler *whole = sampler(w, stages, 1 + (stage > 0));
    struct rb_sampler *beginning = stage > 0 ? sampler(w, stages, 1) : NULL;
    check_plan(whole, beginning, c, replicates);
    rb_sampler_destroy(whole);
    rb_sampler_destroy(beginning);
}

// --- all of them

static void check_workload(const struct workload *w, int replicates)
{
    struct rb_stage_times *times = rb_stage_times_create(RB_PILOT_SAMPLES);
    const struct rb_law *laws[RB_LIMIT_STAGES];
    double unready = 0, error_s = 0;
    for (int i = 0; i < w->n_stages; i++) {
        const struct rb_stage_time *t = stage_time(w, times, i);
        struct check c = of_stage(t);
        laws[i] = &t->law;
        check_stage(w, i, &c, replicates);
        print_check(&c, i, t->method, t->unready);
        const double late = i + 1 < w->n_stages ? t->unready : 0;
        unready += late;
        error_s += mean_error_s(t) + late * t->law.mean_s;
    }
    struct check c = of_sum(laws, w->n_stages);
    c.mean_error_s = error_s;
    struct rb_sampler *plan = sampler(w, w->stages, w->n_stages);
    check_plan(plan, NULL, &c, replicates);
    print_check(&c, -1, RB_STAGE_ONE_WAVE, unready);
    rb_sampler_destroy(plan);
    rb_stage_times_destroy(times);
}

int main(int argc, char **argv)
{
    struct workload w;
    struct rb_err err;
    const int replicates = argc == 3 ? atoi(argv[2]) : 0;
    if (replicates < 1) {
        fprintf(stderr, "usage: law_check FOLDER REPLICATES\n");
        return 2;
    }
    if (!workload_read(&w, argv[1], 1, &err))
        die(&err);
    check_workload(&w, replicates);
    workload_finish(&w);
    return 0;
}
