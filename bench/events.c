// How fast the virtual world is: nanoseconds of CPU time an event, for asynchronous jobs of many trials on many nodes.
// Usage: events [POLICY RULE TRIALS NODES [LOST]]; without: the whole table. LOST: how often an hour a node is taken back.
#include "v100.h"

#include "engine/core/rungs.h"
#include "simulator/world/world.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define GPUS_PER_NODE 8
#define LEAST_S       0.5 // measured for at least so long

struct workload {
    struct rb_job job;
    struct v100 v100;
    int share;
    struct rb_offer offer;
    struct rb_catalog catalog;
    struct rb_plan_nodes nodes;
    struct rb_plan_stage stages[RB_LIMIT_STAGES];
    struct rb_plan plan;
};

static void make(struct workload *w, const char *policy, enum rb_rule rule, int trials, int nodes, double lost)
{
    struct rb_rung_table rungs;
    struct rb_err err;
    *w = (struct workload){.share = 1};
    v100_make(&w->v100, V100_LAYOUTS, 30);
    w->v100.provisioning.preemption_per_hour = lost;
    w->job = (struct rb_job){
        .name = "bench",
        .seed = 1,
        .metric_name = "accuracy",
        .scheduler = {.type = "asha",
                      .num_trials = trials,
                      .min_resource = 1,
                      .max_resource = 81,
                      .eta = 3,
                      .brackets = 1,
                      .rule = rule},
        .policy = policy,
        .policy_options =
            {.speculation = true, .overhead = true, .admission = true, .resize_interval = 6, .atom_gpus = 1},
        .trial = {.min_gpus = 1,
                  .max_gpus = 8,
                  .sizes = w->v100.sizes,
                  .n_sizes = 4,
                  .shares = &w->share,
                  .n_shares = 1,
                  .max_nodes = 1},
        .resources = {.max_nodes = nodes},
        .deadline_us = 3600 * RB_US_PER_S,
        .deadline_at_us = -1,
        .budget_uusd = -1,
    };
    w->offer = (struct rb_offer){.infra = "bench",
                                 .instance_type = "gpus.8",
                                 .accelerator = "V100",
                                 .gpus = GPUS_PER_NODE,
                                 .rate = {3000000},
                                 .source = "",
                                 .fetched_at_us = -1};
    w->catalog = (struct rb_catalog){.offers = &w->offer, .n_offers = 1};
    w->nodes = (struct rb_plan_nodes){.offer = 0, .count = nodes};
    if (!rb_rungs_of_job(&w->job, &rungs, &err))
        abort();
    for (int i = 0; i < rungs.n; i++)
        w->stages[i] = (struct rb_plan_stage){.trials = rungs.rungs[i].trials,
                                              .resource_start = rungs.rungs[i].resource_start,
                                              .resource_end = rungs.rungs[i].resource_end,
                                              .gpus_per_trial = 1,
                                              .trials_per_gpu = 1,
                                              .nodes = &w->nodes,
                                              .n_nodes = 1};
    w->plan = (struct rb_plan){.seed = 1,
                               .job = &w->job,
                               .profile = &w->v100.profile,
                               .policy = policy,
                               .deadline_us = w->job.deadline_us,
                               .deadline_at_us = -1,
                               .budget_uusd = -1,
                               .stages = w->stages,
                               .n_stages = rungs.n,
                               .offers = &w->offer,
                               .n_offers = 1,
                               .catalog = &w->catalog};
}

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void measure(const char *policy, enum rb_rule rule, int trials, int nodes, double lost)
{
    static struct workload w;
    struct rb_scenario s;
    struct rb_err err;
    struct rb_world_result r;
    int64_t n_events = 0;
    make(&w, policy, rule, trials, nodes, lost);
    if (!rb_scenario_init(&s, &w.job, &w.v100.profile, &w.offer, 1, &w.catalog, 1, &err))
        goto failed;
    struct rb_world_options opt = {.deadline_us = strcmp(policy, "hypersched") == 0 ? w.plan.deadline_us : -1,
                                   .budget_uusd = -1};
    const double begin = cpu_s();
    double took = 0;
    for (; took < LEAST_S; took = cpu_s() - begin) {
        if (!rb_world_run(&s, &w.plan, &opt, &r, &err))
            goto failed;
        n_events += r.n_events;
        opt.replicate++;
    }
    printf("| %s | %s | %d | %d | %g | %lld | %.0f | %.2f |\n", policy,
           rule == RB_RULE_PROMOTE ? "promote" : "speculate", trials, nodes, lost,
           (long long)(n_events / opt.replicate), 1e9 * took / (double)n_events, 1e-6 * (double)n_events / took);
    fflush(stdout);
    rb_scenario_finish(&s);
    return;
failed:
    fprintf(stderr, "events: %s\n", err.message);
    exit(1);
}

int main(int argc, char **argv)
{
    static const int sizes[][2] = {{64, 2},      {64, 8},       {1000, 10},     {1000, 100},
                                   {10000, 100}, {10000, 1000}, {100000, 1000}, {100000, 10000}};
    printf("| policy | rule | trials | nodes of 8 GPUs | lost an hour | events a run | ns an event | million events a "
           "second |\n"
           "|---|---|---|---|---|---|---|---|\n");
    if (argc > 4) {
        measure(argv[1], strcmp(argv[2], "promote") == 0 ? RB_RULE_PROMOTE : RB_RULE_SPECULATE, atoi(argv[3]),
                atoi(argv[4]), argc > 5 ? atof(argv[5]) : 0);
        return 0;
    }
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        measure("static", RB_RULE_PROMOTE, sizes[i][0], sizes[i][1], 0);
        measure("static", RB_RULE_SPECULATE, sizes[i][0], sizes[i][1], 0);
        measure("hypersched", RB_RULE_SPECULATE, sizes[i][0], sizes[i][1], 0);
    }
    measure("static", RB_RULE_PROMOTE, 64, 8, 1);
    measure("static", RB_RULE_PROMOTE, 100000, 10000, 0.2);
    return 0;
}
