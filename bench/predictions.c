// How good predictions of running jobs are, where the truth is known: runs of the virtual world whose speed is drawn from
// the profile's error are predicted at their first barrier, or when some of the first stage's trials have ended.
//
//     predictions [RUNS [ENDED [UNITS]]]   ENDED: trials of the first stage, 27 (its barrier); UNITS: that they train, 4
//
// Successive halving of 27 trials to nine times as many units on nodes of 4 GPUs: 1 GPU a trial, then 2, then 4. The truth of the
// layouts is alpha + beta (docs/MODEL.md), or independent. Deadlines are quantiles of the plan's own
// runs. One line a case: of runs predicted to be on time with about p, how many were; how many ended from p5 to p95, and by
// p50; the mean width of that, in parts of the whole; and Brier's score, the mean square of probability less outcome.
#include "v100.h"

#include "base/order.h"
#include "engine/core/rungs.h"
#include "samplers/model/normal.h"
#include "simulator/model/prediction.h"
#include "simulator/world/world.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_LAYOUTS = 3, PLAN_RUNS = 1000, N_BINS = 4, GPUS_PER_NODE = 4, N_TRIALS = 27 };

static int n_ended = N_TRIALS;
static int64_t first_units = 4;

struct workload {
    struct rb_job job;
    struct v100 v100;
    struct rb_dist configuration;
    int share;
    struct rb_offer offer;
    struct rb_catalog catalog;
    struct rb_plan_nodes nodes[N_LAYOUTS];
    struct rb_plan_stage stages[RB_LIMIT_STAGES];
    struct rb_plan plan;
};

static void must(bool ok, const struct rb_err *err)
{
    if (ok)
        return;
    fprintf(stderr, "predictions: %s\n", err->message);
    exit(1);
}

static void make_profile(struct workload *w, double relative_error, double configuration)
{
    v100_make(&w->v100, N_LAYOUTS, 60);
    w->v100.training.relative_error = relative_error;
    if (configuration > 0) {
        w->configuration = v100_lognormal(1, sqrt(expm1(configuration * configuration)));
        w->v100.profile.configuration = &w->configuration;
    }
}

static void make(struct workload *w, double relative_error, double configuration)
{
    static const int n_nodes[N_LAYOUTS] = {4, 4, 3};
    struct rb_rung_table rungs;
    struct rb_err err;
    *w = (struct workload){.share = 1};
    make_profile(w, relative_error, configuration);
    w->job = (struct rb_job){
        .name = "bench",
        .seed = 1,
        .metric_name = "accuracy",
        .scheduler = {.type = "sha",
                      .num_trials = N_TRIALS,
                      .min_resource = first_units,
                      .max_resource = 9 * first_units,
                      .eta = 3,
                      .brackets = 1},
        .policy = "elastic",
        .trial = {.min_gpus = 1,
                  .max_gpus = 4,
                  .sizes = w->v100.sizes,
                  .n_sizes = N_LAYOUTS,
                  .shares = &w->share,
                  .n_shares = 1,
                  .max_nodes = 1},
        .resources = {.max_nodes = 8},
        .deadline_us = -1,
        .deadline_at_us = -1,
        .budget_uusd = -1,
    };
    w->offer = (struct rb_offer){.infra = "bench",
                                 .instance_type = "gpus.4",
                                 .accelerator = "V100",
                                 .gpus = GPUS_PER_NODE,
                                 .rate = {3000000},
                                 .source = "",
                                 .fetched_at_us = -1};
    w->catalog = (struct rb_catalog){.offers = &w->offer, .n_offers = 1};
    must(rb_rungs_of_job(&w->job, &rungs, &err), &err);
    for (int i = 0; i < rungs.n; i++) {
        w->nodes[i] = (struct rb_plan_nodes){.offer = 0, .count = n_nodes[i]};
        w->stages[i] = (struct rb_plan_stage){.trials = rungs.rungs[i].trials,
                                              .resource_start = rungs.rungs[i].resource_start,
                                              .resource_end = rungs.rungs[i].resource_end,
                                              .gpus_per_trial = 1 << i,
                                              .trials_per_gpu = 1,
                                              .nodes = &w->nodes[i],
                                              .n_nodes = 1};
    }
    w->plan = (struct rb_plan){.seed = 1,
                               .job = &w->job,
                               .profile = &w->v100.profile,
                               .policy = "elastic",
                               .deadline_us = -1,
                               .deadline_at_us = -1,
                               .budget_uusd = -1,
                               .stages = w->stages,
                               .n_stages = rungs.n,
                               .offers = &w->offer,
                               .n_offers = 1,
                               .catalog = &w->catalog};
}

// ---- the truth

// A run, and how much of it came before its prediction.
struct lived {
    struct rb_event *events;
    int n, cap, n_before, n_ended;
    struct rb_world_result result;
};

static void keep(void *ctx, const struct rb_engine *e, const struct rb_event *event, const struct rb_actions *actions)
{
    struct lived *l = ctx;
    (void)actions;
    if (l->n == l->cap) {
        l->cap = l->cap ? 2 * l->cap : 256;
        l->events = rb_xrealloc(l->events, (size_t)l->cap, sizeof *l->events);
    }
    l->events[l->n++] = *event;
    l->n_ended += event->kind == RB_EVENT_TRIAL_ENDED;
    if (l->n_before == 0 && (rb_engine_stage(e) >= 1 || (n_ended < N_TRIALS && l->n_ended >= n_ended)))
        l->n_before = l->n;
}

static double error_of(double rho, int index, uint32_t replicate)
{
    const struct rb_stream_key key = {
        .seed = 77, .purpose = RB_DRAW_SEARCH, .index = (uint32_t)index, .replicate = replicate};
    const double sigma = sqrt(log1p(rho * rho));
    return sigma * rb_normal_quantile(rb_stream_first_uniform(&key)) - sigma * sigma / 2;
}

// The world as it is: the profile's times multiplied by what it is wrong by.
static void live(double rho, double configuration, bool apart, uint32_t replicate, struct lived *out)
{
    static struct workload truth;
    struct rb_scenario s;
    struct rb_err err;
    make(&truth, 0, configuration);
    for (int i = 0; i < N_LAYOUTS; i++) {
        const double lambda =
            apart ? error_of(rho, 1 + i, replicate) : error_of(rho, 0, replicate) + error_of(rho / 2, 1 + i, replicate);
        truth.v100.layouts[i].speedup /= exp(lambda);
    }
    must(rb_scenario_init(&s, &truth.job, &truth.v100.profile, &truth.offer, 1, &truth.catalog, 99, &err), &err);
    const struct rb_world_options opt = {
        .replicate = replicate, .observe = keep, .observe_ctx = out, .deadline_us = -1, .budget_uusd = -1};
    must(rb_world_run(&s, &truth.plan, &opt, &out->result, &err), &err);
    rb_scenario_finish(&s);
}

// ---- the predictions

static void plan_times(const struct workload *w, int64_t *out_us)
{
    struct rb_scenario s;
    struct rb_err err;
    struct rb_world_result r;
    must(rb_scenario_init(&s, &w->job, &w->v100.profile, &w->offer, 1, &w->catalog, 3, &err), &err);
    for (uint32_t i = 0; i < PLAN_RUNS; i++) {
        const struct rb_world_options opt = {.replicate = i, .deadline_us = -1, .budget_uusd = -1};
        must(rb_world_run(&s, &w->plan, &opt, &r, &err), &err);
        out_us[i] = r.time_us;
    }
    qsort(out_us, PLAN_RUNS, sizeof *out_us, rb_order_int64s);
    rb_scenario_finish(&s);
}

static struct rb_estimate predict(const struct workload *w, const struct lived *l, int64_t deadline_us)
{
    struct rb_prediction *p = rb_prediction_create(&w->plan);
    const char *why;
    for (int i = 0; i < l->n_before; i++)
        rb_prediction_event(p, &l->events[i]);
    rb_prediction_begin(p, &(struct rb_prediction_now){.now_us = l->events[l->n_before - 1].time_us,
                                                       .spent_uusd = -1,
                                                       .deadline_us = deadline_us,
                                                       .budget_uusd = -1});
    while (!rb_prediction_make(p, RB_PREDICTION_SAMPLES))
        ;
    const struct rb_estimate *e = rb_prediction_estimate(p, &why);
    if (!e) {
        fprintf(stderr, "predictions: %s\n", why);
        exit(1);
    }
    const struct rb_estimate estimate = *e;
    rb_prediction_destroy(p);
    return estimate;
}

static void try_case(double rho, double configuration, bool apart, int n_runs)
{
    static struct workload w;
    static int64_t planned_us[PLAN_RUNS];
    int n_of[N_BINS] = {0}, n_on_time[N_BINS] = {0}, n_covered = 0, n_median = 0;
    double p_of[N_BINS] = {0}, brier = 0, width = 0;
    make(&w, rho, configuration);
    plan_times(&w, planned_us);
    for (int i = 0; i < n_runs; i++) {
        struct lived l = {0};
        live(rho, configuration, apart, (uint32_t)i, &l);
        const int64_t deadline_us = planned_us[(i * 7919) % PLAN_RUNS];
        const struct rb_estimate e = predict(&w, &l, deadline_us);
        const bool on_time = l.result.time_us <= deadline_us;
        const double p = e.p_deadline;
        brier += (p - on_time) * (p - on_time) / n_runs;
        width += (double)(e.time_us.p95 - e.time_us.p5) / (double)e.time_us.p50 / n_runs;
        n_covered += l.result.time_us >= e.time_us.p5 && l.result.time_us <= e.time_us.p95;
        n_median += l.result.time_us <= e.time_us.p50;
        if (p >= 0.1 && p <= 0.9) {
            const int bin = p < 0.3 ? 0 : p < 0.5 ? 1 : p < 0.7 ? 2 : 3;
            n_of[bin]++;
            n_on_time[bin] += on_time;
            p_of[bin] += p;
        }
        free(l.events);
    }
    printf("| %.2f | %g | %s ", rho, configuration, apart ? "apart" : "alpha + beta");
    for (int i = 0; i < N_BINS; i++)
        printf("| %.2f: %.2f (%d) ", p_of[i] / n_of[i], (double)n_on_time[i] / n_of[i], n_of[i]);
    printf("| %.1f | %.1f | %.3f | %.4f |\n", 100.0 * n_covered / n_runs, 100.0 * n_median / n_runs, width, brier);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    const int n_runs = argc > 1 ? atoi(argv[1]) : 1000;
    n_ended = argc > 2 ? atoi(argv[2]) : n_ended;
    first_units = argc > 3 ? atoi(argv[3]) : first_units;
    printf("| relative_error | configuration | truth | P .1-.3: on time (runs) | .3-.5 | .5-.7 | .7-.9 | %% in p5..p95 "
           "| %% by p50 "
           "| width | Brier |\n|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (int apart = 0; apart < 2; apart++)
        for (int wide = 0; wide < 2; wide++)
            for (int own = 0; own < 2; own++)
                try_case(wide ? 0.25 : 0.05, own ? 0.6 : 0, apart, n_runs);
    return 0;
}
