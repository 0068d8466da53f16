// Asynchronous halving under several policies on the same learning curves, run by run:
//
//     bench/lookahead FOLDER FAMILY DEADLINE_S FIRST REPLICATES [BUDGET_USD]
//
// FOLDER: job.yaml, profile.yaml, prices.csv. FAMILY: synthetic, saturating or crossing. Without a budget all have one node.
// With one, pools are as large as it pays for until the deadline, and "elastic" is lookahead that begins with one node. One
// line a run and policy: policy, replicate, best metric, trials that reported, trials that reached R, cost in USD, time in seconds.
#include "base/document/doc.h"
#include "base/stream.h"
#include "engine/core/rungs.h"
#include "simulator/forecast/curve.h"
#include "simulator/forecast/forecast.h"
#include "simulator/world/world.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void die(const struct rb_err *err)
{
    fprintf(stderr, "lookahead: %s\n", err->message);
    exit(1);
}

// ---- curves

struct family {
    const char *name;
    uint64_t seed;
    double max_resource;
};

static struct rb_stream stream_of(const struct family *f, uint32_t replicate, int trial, int64_t resource)
{
    struct rb_stream s;
    rb_stream_init(&s, &(struct rb_stream_key){.seed = f->seed,
                                               .purpose = RB_DRAW_CURVE,
                                               .stage = (uint32_t)(resource >> 16),
                                               .index = (uint32_t)trial,
                                               .attempt = (uint32_t)(resource & 0xffff),
                                               .replicate = replicate});
    return s;
}

static double report_noise(const struct family *f, uint32_t replicate, int trial, int64_t resource)
{
    struct rb_stream s = stream_of(f, replicate, trial, resource);
    const double radius = sqrt(-2 * log(rb_stream_uniform(&s)));
    return 0.005 * radius * cos(2 * M_PI * rb_stream_uniform(&s));
}

// Most of the way within a few units: a - (a - 0.1) exp(-r/t), a = 0.95 - 0.6 u^2, t from 2 % to 10 % of R.
static double saturating(void *ctx, uint32_t replicate, int trial, int64_t resource)
{
    const struct family *f = ctx;
    struct rb_stream s = stream_of(f, replicate, trial, 0);
    const double u = rb_stream_uniform(&s), t = f->max_resource * (0.02 + 0.08 * rb_stream_uniform(&s));
    const double end = 0.95 - 0.6 * u * u;
    return end - (end - 0.1) * exp(-(double)resource / t) + report_noise(f, replicate, trial, resource);
}

// A curve that ends high begins slowly: a - (a - 0.1) / (1 + r/t), a = 0.6 + 0.35 q, t = R (0.01 + 0.15 q w).
static double crossing(void *ctx, uint32_t replicate, int trial, int64_t resource)
{
    const struct family *f = ctx;
    struct rb_stream s = stream_of(f, replicate, trial, 0);
    const double q = rb_stream_uniform(&s), w = rb_stream_uniform(&s);
    const double end = 0.6 + 0.35 * q, t = f->max_resource * (0.01 + 0.15 * q * w);
    return end - (end - 0.1) / (1 + (double)resource / t) + report_noise(f, replicate, trial, resource);
}

static rb_curve_fn *curve_of(const char *family)
{
    if (strcmp(family, "saturating") == 0)
        return saturating;
    if (strcmp(family, "crossing") == 0)
        return crossing;
    if (strcmp(family, "synthetic") == 0)
        return NULL; // the world's own
    fprintf(stderr, "lookahead: %s: expected synthetic, saturating or crossing\n", family);
    exit(2);
}

// ---- the study

struct study {
    struct rb_arena arena;
    struct rb_job job;
    struct rb_profile profile;
    struct rb_catalog catalog;
    struct rb_scenario scenario;
    struct rb_plan_nodes nodes;
    struct rb_plan_stage stages[RB_LIMIT_STAGES];
};

static void read_inputs(struct study *s, const char *folder)
{
    char path[4096];
    struct rb_err err;
    struct rb_doc doc = {0};
    struct rb_csv csv;
    rb_arena_init(&s->arena);
    snprintf(path, sizeof path, "%s/job.yaml", folder);
    if (!rb_job_load(path, NULL, 0, &s->arena, &s->job, &err))
        die(&err);
    snprintf(path, sizeof path, "%s/profile.yaml", folder);
    if (!rb_doc_read(&doc, path, &err) || !rb_profile_read(doc.root, NULL, "profile", &s->arena, &s->profile, &err))
        die(&err);
    rb_doc_finish(&doc);
    snprintf(path, sizeof path, "%s/prices.csv", folder);
    if (!rb_csv_read(&csv, path, &err) || !rb_catalog_from_csv(&csv, &s->arena, &s->catalog, &err))
        die(&err);
    rb_csv_finish(&csv);
}

// The same nodes throughout, one GPU a trial; the policy does the rest.
static void make_stages(struct study *s, int n_nodes)
{
    struct rb_err err;
    if (!rb_scenario_init(&s->scenario, &s->job, &s->profile, s->catalog.offers, s->catalog.n_offers, &s->catalog,
                          s->job.seed, &err))
        die(&err);
    s->nodes = (struct rb_plan_nodes){.offer = 0, .count = n_nodes};
    for (int i = 0; i < s->scenario.stages.n; i++)
        s->stages[i] = rb_scenario_stage(&s->scenario, i, 1, &s->nodes);
}

struct contender {
    const char *name, *policy;
    enum rb_rule rule;
    int n_nodes;
};

static void run(struct study *s, const struct contender *c, struct family *family, int64_t deadline_us,
                int64_t budget_uusd, int first, int n)
{
    struct rb_err err;
    s->job.scheduler.rule = c->rule;
    make_stages(s, c->n_nodes); // how many depends on the rule
    const struct rb_plan plan = {
        .job = &s->job,
        .profile = &s->profile,
        .policy = c->policy,
        .deadline_us = deadline_us,
        .deadline_at_us = -1,
        .budget_uusd = budget_uusd,
        .stages = s->stages,
        .n_stages = s->scenario.stages.n,
        .offers = s->catalog.offers,
        .n_offers = s->catalog.n_offers,
        .catalog = &s->catalog,
        .seed = s->job.seed,
    };
    struct rb_forecaster forecaster = {.scenario = &s->scenario, .plan = &plan};
    struct rb_world_options opt = {
        .curve = curve_of(family->name),
        .curve_ctx = family,
        .advise = rb_forecast,
        .advise_ctx = &forecaster,
        .deadline_us = deadline_us,
        .budget_uusd = budget_uusd,
    };
    for (int i = first; i < first + n; i++) {
        struct rb_world_result r;
        opt.replicate = (uint32_t)i;
        if (!rb_world_run(&s->scenario, &plan, &opt, &r, &err))
            die(&err);
        printf("%s %d %.17g %d %d %.4f %.1f\n", c->name, i, r.best_metric, r.n_trained, r.n_full,
               (double)r.cost_uusd / 1e6, (double)r.time_us / 1e6);
    }
    rb_scenario_finish(&s->scenario);
}

// The most that the budget pays for until the deadline; without a budget one.
static int nodes_for(struct study *s, int64_t deadline_us, int64_t budget_uusd)
{
    const struct rb_billing billing = {.rate = s->catalog.offers[0].rate};
    const int64_t each = rb_bill_node(&billing, 0, deadline_us).total_uusd;
    return budget_uusd < each ? 1 : (int)(budget_uusd / each);
}

int main(int argc, char **argv)
{
    static struct study s;
    if (argc < 6) {
        fprintf(stderr, "usage: lookahead FOLDER FAMILY DEADLINE_S FIRST REPLICATES [BUDGET_USD]\n");
        return 2;
    }
    const int first = atoi(argv[4]), n = atoi(argv[5]);
    read_inputs(&s, argv[1]);
    struct family family = {.name = argv[2], .seed = s.job.seed, .max_resource = (double)s.job.scheduler.max_resource};
    const int64_t deadline_us = (int64_t)(atof(argv[3]) * 1e6);
    const int64_t budget_uusd = argc > 6 ? (int64_t)(atof(argv[6]) * 1e6) : -1;
    const int n_fixed = nodes_for(&s, deadline_us, budget_uusd);
    const struct contender contenders[] = {
        {"static", "static", RB_RULE_PROMOTE, n_fixed},
        {"hypersched", "hypersched", RB_RULE_SPECULATE, n_fixed},
        {"lookahead", "lookahead", RB_RULE_SPECULATE, n_fixed},
        {"elastic", "lookahead", RB_RULE_SPECULATE, 1},
    };
    for (int i = 0; i < (n_fixed > 1 ? 4 : 3); i++)
        run(&s, &contenders[i], &family, deadline_us, budget_uusd, first, n);
    rb_arena_finish(&s.arena);
    return 0;
}
