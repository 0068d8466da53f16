// The small plan of tests/engine with delays: constants unless a test says otherwise. Nodes take 5 s to run and 10 s more
// to be ready; a trial takes 2 s to start, 10 s a unit on one GPU, 1 s to save. A node costs 1000 micro-dollars a second.
#ifndef RB_TESTS_SIMULATOR_SMALL_SCENARIO_H
#define RB_TESTS_SIMULATOR_SMALL_SCENARIO_H

#include "small_plan.h"

#include "simulator/model/evaluate.h"
#include "simulator/model/scenario.h"

#include "check.h"

struct small_scenario {
    struct small_plan p;
    struct rb_provisioning provisioning;
    struct rb_scenario scenario;
    struct rb_workspace *ws;
};

static inline void small_scenario_make(struct small_scenario *s)
{
    *s = (struct small_scenario){0};
    small_plan_make(&s->p);
    s->provisioning = (struct rb_provisioning){.infra = "*",
                                               .instance_type = "*",
                                               .market = "*",
                                               .queue_s = rb_dist_constant(5),
                                               .init_s = rb_dist_constant(10),
                                               .has_preemption = true};
    s->p.profile.startup_s = rb_dist_constant(2);
    s->p.profile.checkpoint_s = rb_dist_constant(1);
    s->p.profile.provisioning = &s->provisioning;
    s->p.profile.n_provisioning = 1;
}

// After a test has changed what it wants to change.
static inline void small_scenario_compile(struct small_scenario *s, uint64_t seed)
{
    struct rb_err err;
    if (!rb_scenario_init(&s->scenario, &s->p.job, &s->p.profile, s->p.offers, s->p.plan.n_offers, s->p.plan.catalog,
                          seed, &err))
        fail_msg("%s", err.message);
    s->ws = rb_workspace_create();
}

static inline void small_scenario_finish(struct small_scenario *s)
{
    rb_scenario_finish(&s->scenario);
    rb_workspace_destroy(s->ws);
}

static inline struct rb_replicate small_scenario_run(struct small_scenario *s, uint32_t replicate)
{
    struct rb_replicate out;
    struct rb_err err;
    if (!rb_replicate_run(&s->scenario, s->p.stages, s->p.plan.n_stages, replicate, s->ws, &out, &err))
        fail_msg("%s", err.message);
    return out;
}

// One stage in which `trials` train `units` on one GPU each.
static inline void small_scenario_one_stage(struct small_scenario *s, int trials, int64_t units, int nodes)
{
    s->p.job.scheduler =
        (struct rb_scheduler){.type = "random", .num_trials = trials, .max_resource = units, .brackets = 1};
    s->p.stages[0].trials = trials;
    s->p.stages[0].resource_end = units;
    s->p.nodes[0][0].count = nodes;
    s->p.plan.n_stages = 1;
}

static inline struct rb_dist small_dist(enum rb_dist_kind kind, double mean, double cv)
{
    struct rb_dist d = {.kind = kind, .mean = mean, .cv = cv};
    struct rb_err err;
    if (!rb_dist_prepare(&d, &err))
        fail_msg("%s", err.message);
    return d;
}

#endif
