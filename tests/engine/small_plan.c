#include "small_plan.h"

static void make_job(struct small_plan *p)
{
    p->sizes[0] = 1;
    p->sizes[1] = 2;
    p->sizes[2] = 4;
    p->share = 1;
    p->job = (struct rb_job){
        .name = "small",
        .metric_name = "accuracy",
        .goal = RB_GOAL_MAXIMIZE,
        .scheduler = {.type = "sha", .num_trials = 4, .min_resource = 1, .max_resource = 4, .eta = 2, .brackets = 1},
        .policy = "elastic",
        .trial = {.min_gpus = 1,
                  .max_gpus = 4,
                  .sizes = p->sizes,
                  .n_sizes = 3,
                  .shares = &p->share,
                  .n_shares = 1,
                  .max_nodes = 2,
                  .max_restarts = 1},
        .resources = {.max_nodes = 8},
    };
}

static void make_profile(struct small_plan *p)
{
    static const struct rb_layout layouts[] = {{1, 1, 1.0}, {2, 1, 1.8}, {4, 1, 3.0},
                                               {2, 2, 1.5}, {4, 2, 2.5}, {8, 2, 4.0}};
    for (int i = 0; i < 6; i++)
        p->layouts[i] = layouts[i];
    p->training = (struct rb_training){
        .accelerator = "A10G", .base_s = 10, .layouts = p->layouts, .n_layouts = 6, .max_gpus = 8, .max_nodes = 2};
    p->profile = (struct rb_profile){.name = "small",
                                     .unit = "epoch",
                                     .source = "",
                                     .training = &p->training,
                                     .n_training = 1,
                                     .between = rb_dist_constant(1),
                                     .within = rb_dist_constant(1)};
}

static struct rb_offer offer(const char *type, enum rb_market market, int gpus)
{
    return (struct rb_offer){.infra = "aws/us-east-1",
                             .instance_type = type,
                             .accelerator = "A10G",
                             .gpus = gpus,
                             .market = market,
                             .rate = {3600000},
                             .source = "",
                             .fetched_at_us = -1};
}

void small_plan_make(struct small_plan *p)
{
    static const int trials[] = {4, 2, 1}, ends[] = {1, 2, 4};
    *p = (struct small_plan){0};
    make_job(p);
    make_profile(p);
    p->offers[SMALL] = offer("small", RB_MARKET_ON_DEMAND, 2);
    p->offers[SMALL_SPOT] = offer("small", RB_MARKET_SPOT, 2);
    p->offers[LARGE] = offer("large", RB_MARKET_ON_DEMAND, 4);
    for (int i = 0; i < 3; i++) {
        p->nodes[i][0] = (struct rb_plan_nodes){.offer = SMALL, .count = i == 0 ? 2 : 1};
        p->stages[i] = (struct rb_plan_stage){.trials = trials[i],
                                              .resource_start = i ? ends[i - 1] : 0,
                                              .resource_end = ends[i],
                                              .gpus_per_trial = 1,
                                              .trials_per_gpu = 1,
                                              .waves = 1,
                                              .nodes = p->nodes[i],
                                              .n_nodes = 1,
                                              .early = p->early};
    }
    p->plan = (struct rb_plan){.tool = "test",
                               .job_path = "job.yaml",
                               .job = &p->job,
                               .profile = &p->profile,
                               .policy = "elastic",
                               .planner = "test",
                               .deadline_us = -1,
                               .deadline_at_us = -1,
                               .budget_uusd = -1,
                               .confidence = 0.95,
                               .stages = p->stages,
                               .n_stages = 3,
                               .offers = p->offers,
                               .n_offers = N_SMALL_OFFERS};
}
