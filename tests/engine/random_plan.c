#include "random_plan.h"

#include "engine/core/placement.h"
#include "profiles/job/job_scheduler.h"

#include <assert.h>
#include <string.h>

static int between(struct rb_stream *s, int low, int high)
{
    return low + (int)rb_stream_below(s, (uint64_t)(high - low + 1));
}

static bool chance(struct rb_stream *s, int percent)
{
    return between(s, 1, 100) <= percent;
}

// Half of them constants in whole seconds: ties are what the two sides must order alike.
static struct rb_dist latency(struct rb_stream *s, int max_s)
{
    static const enum rb_dist_kind kinds[] = {RB_DIST_LOGNORMAL, RB_DIST_GAMMA, RB_DIST_WEIBULL, RB_DIST_EXPONENTIAL,
                                              RB_DIST_NORMAL};
    if (chance(s, 50))
        return rb_dist_constant(between(s, 0, max_s));
    struct rb_dist d = {.kind = kinds[between(s, 0, 4)], .mean = between(s, 1, 10 * max_s) / 10.0};
    d.cv = between(s, 5, 80) / 100.0;
    const bool prepared = rb_dist_prepare(&d, NULL);
    assert(prepared);
    return d;
}

static struct rb_dist factor(struct rb_stream *s)
{
    if (chance(s, 50))
        return rb_dist_constant(1);
    struct rb_dist d = {.kind = RB_DIST_LOGNORMAL, .mean = 1, .cv = between(s, 1, 40) / 100.0};
    const bool prepared = rb_dist_prepare(&d, NULL);
    assert(prepared);
    return d;
}

static void make_job(struct random_plan *p, struct rb_stream *s)
{
    static const struct rb_param rate = {.name = "lr", .kind = RB_PARAM_LOG_UNIFORM, .min = 0.001, .max = 0.1};
    static const char *const infra[] = {"aws/us-east-1"};
    struct rb_scheduler *scheduler = &p->job.scheduler;
    p->job.name = "random";
    p->job.workdir = ".";
    p->job.run = "python train.py $RB_ARGS";
    p->job.profile = "random";
    p->job.checkpoint_dir = "ckpt";
    p->job.deadline_us = p->job.deadline_at_us = p->job.budget_uusd = -1;
    p->job.confidence = 0.95;
    p->job.metric_name = "accuracy";
    p->job.space = (struct rb_space){&rate, 1};
    p->job.goal = chance(s, 50) ? RB_GOAL_MAXIMIZE : RB_GOAL_MINIMIZE;
    scheduler->type = chance(s, 85) ? "sha" : "random";
    scheduler->num_trials = between(s, 1, chance(s, 30) ? 100 : 20);
    scheduler->min_resource = between(s, 1, 3);
    scheduler->max_resource = scheduler->min_resource + between(s, 0, chance(s, 30) ? 60 : 12);
    scheduler->eta = between(s, 2, 4);
    scheduler->rungs = chance(s, 50) ? RB_RUNGS_CUMULATIVE : RB_RUNGS_ADDITIONAL;
    scheduler->brackets = 1;
    scheduler->unit = "epoch";
    p->job.policy = "elastic";
    p->share = 1;
    for (int i = 0; i < 16; i++)
        p->sizes[i] = i + 1;
    p->job.trial = (struct rb_trial_spec){
        .min_gpus = 1,
        .max_gpus = 16,
        .sizes = p->sizes,
        .n_sizes = 16,
        .shares = &p->share,
        .n_shares = 1,
        .max_nodes = chance(s, 40) ? between(s, 2, 3) : 1,
        .max_restarts = 3,
    };
    p->job.trial.timeout_us = 60 * RB_US_PER_S;
    p->job.resources = (struct rb_resources){
        .infra = {infra, 1}, .spot = RB_SPOT_ALLOW, .max_nodes = 64, .ssh_user = "ubuntu", .ssh_port = 22};
    if (chance(s, 30))
        p->job.resources.disk_bytes = between(s, 1, 500) * INT64_C(700000000);
    if (chance(s, 30)) {
        p->job.data_bytes = between(s, 1, 100) * INT64_C(1300000000);
        p->job.data_uusd_per_gb = between(s, 0, 20000);
    }
}

static void make_profile(struct random_plan *p, struct rb_stream *s)
{
    int n = 0;
    for (int nodes = 1; nodes <= 3; nodes++) {
        p->layouts[n++] = (struct rb_layout){.gpus = nodes, .nodes = nodes, .speedup = nodes * (nodes > 1 ? 0.7 : 1)};
        p->layouts[n++] = (struct rb_layout){.gpus = 8 * nodes, .nodes = nodes, .speedup = nodes * 4.5};
    }
    p->training = (struct rb_training){
        .accelerator = "A10G",
        .base_s = chance(s, 60) ? between(s, 1, 60) : between(s, 1, 60000) / 1000.0,
        .relative_error = chance(s, 30) ? 0.05 : 0,
        .layouts = p->layouts,
        .n_layouts = n,
        .max_gpus = 24,
        .max_nodes = 3,
    };
    p->profile = (struct rb_profile){
        .name = "random",
        .unit = "epoch",
        .source = "",
        .training = &p->training,
        .n_training = 1,
        .between = factor(s),
        .within = factor(s),
        .startup_s = latency(s, 20),
        .checkpoint_s = latency(s, 5),
        .provisioning = p->provisioning,
    };
}

void random_plan_let_configurations_differ(struct random_plan *p)
{
    p->configuration = (struct rb_dist){.kind = RB_DIST_LOGNORMAL, .mean = 1, .cv = 0.6};
    rb_dist_prepare(&p->configuration, NULL);
    p->profile.configuration = &p->configuration;
}

void random_plan_let_scripts_save(struct random_plan *p, uint64_t seed)
{
    struct rb_stream s;
    rb_stream_init(&s, &(struct rb_stream_key){.seed = seed, .purpose = RB_DRAW_SEARCH, .index = 3});
    const double units = between(&s, 5, 10 * (int)p->job.scheduler.max_resource) / 10.0;
    p->job.checkpoint_every_us =
        chance(&s, 30) ? RB_CHECKPOINT_EVERY_AUTO : rb_us_from_seconds(p->training.base_s * units) + 1;
}

// Losses often enough to matter, seldom enough for a gang to finish: about one in the time of a trial's whole training.
static double hazard(const struct random_plan *p, struct rb_stream *s)
{
    const double hours = p->training.base_s * (double)p->job.scheduler.max_resource / 3600 + 0.02;
    return between(s, 0, 100) / 100.0 / hours / p->job.trial.max_nodes;
}

static void make_offer(struct random_plan *p, struct rb_stream *s, const char *type, int gpus, const char *infra,
                       enum rb_market market)
{
    const int i = p->plan.n_offers++;
    p->offers[i] = (struct rb_offer){
        .infra = infra,
        .instance_type = type,
        .accelerator = "A10G",
        .gpus = gpus,
        .market = market,
        .rate = {between(s, 1, 40000000)},
        .source = "",
        .fetched_at_us = -1,
    };
    p->provisioning[i] = (struct rb_provisioning){
        .infra = infra,
        .instance_type = type,
        .market = rb_market_name(market),
        .queue_s = latency(s, 40),
        .init_s = latency(s, 60),
        .capacity_failure = chance(s, 30) ? between(s, 1, 50) / 100.0 : 0,
        .has_preemption = market == RB_MARKET_SPOT || chance(s, 20),
    };
    if (p->provisioning[i].has_preemption && chance(s, 80))
        p->provisioning[i].preemption_per_hour = hazard(p, s);
    p->profile.n_provisioning = p->plan.n_offers;
}

static void make_offers(struct random_plan *p, struct rb_stream *s)
{
    static const int sizes[] = {1, 2, 4, 8};
    static const char *const zones[] = {"aws/us-east-1/us-east-1a", "aws/us-east-1/us-east-1b"};
    const int small = sizes[between(s, 0, 3)], large = sizes[between(s, 0, 3)];
    const bool spot = chance(s, 60);
    make_offer(p, s, "small", small, zones[0], RB_MARKET_ON_DEMAND);
    make_offer(p, s, "small", small, zones[1], RB_MARKET_ON_DEMAND);
    make_offer(p, s, "large", large, zones[0], RB_MARKET_ON_DEMAND);
    if (spot) {
        make_offer(p, s, "small", small, zones[0], RB_MARKET_SPOT);
        make_offer(p, s, "small", small, zones[1], RB_MARKET_SPOT);
        make_offer(p, s, "large", large, zones[1], RB_MARKET_SPOT);
    }
    p->disk = (struct rb_disk_price){.infra = "aws/us-east-1", .per_gb = {between(s, 1, 200)}};
    p->catalog =
        (struct rb_catalog){.offers = p->offers, .n_offers = p->plan.n_offers, .disks = &p->disk, .n_disks = 1};
}

// Entries of one type; at most one for each of its offers, in any order.
static void choose_nodes(struct random_plan *p, struct rb_stream *s, struct rb_plan_stage *stage,
                         struct rb_plan_nodes *nodes)
{
    const char *type = chance(s, 75) ? "small" : "large";
    const int first = between(s, 0, p->plan.n_offers - 1);
    int n = 0;
    for (int k = 0; k < p->plan.n_offers; k++) {
        const int offer = (first + k) % p->plan.n_offers;
        if (strcmp(p->offers[offer].instance_type, type) == 0 && (n == 0 || chance(s, 40)))
            nodes[n++] = (struct rb_plan_nodes){.offer = offer, .count = between(s, 1, chance(s, 70) ? 3 : 8)};
    }
    stage->nodes = nodes;
    stage->n_nodes = n;
}

static void choose_early(struct random_plan *p, struct rb_stream *s, struct rb_plan_stage *stage,
                         struct rb_plan_early *early)
{
    stage->early = early;
    while (stage->n_early < 2 && chance(s, 20)) {
        const int64_t earliest = stage->n_early > 0 ? early[0].at_us : 0;
        early[stage->n_early++] = (struct rb_plan_early){
            .offer = between(s, 0, p->plan.n_offers - 1),
            .count = between(s, 1, 2),
            .at_us = earliest + between(s, 0, 120) * RB_US_PER_S,
        };
    }
}

static int choose_gpus(const struct random_plan *p, struct rb_stream *s, const struct rb_plan_stage *stage)
{
    const int per_node = p->offers[stage->nodes[0].offer].gpus, n_nodes = rb_plan_stage_node_count(stage);
    for (;;) {
        const int gpus = chance(s, 40) ? 1 : between(s, 1, 16);
        const int nodes = (gpus + per_node - 1) / per_node;
        if (nodes <= p->job.trial.max_nodes && nodes <= n_nodes)
            return gpus;
    }
}

static void make_stages(struct random_plan *p, struct rb_stream *s)
{
    struct rb_rung_table table;
    const bool ok = rb_rungs_of_job(&p->job, &table, NULL);
    assert(ok);
    for (int i = 0; i < table.n; i++) {
        struct rb_plan_stage *stage = &p->stages[i];
        *stage = (struct rb_plan_stage){
            .trials = table.rungs[i].trials,
            .resource_start = table.rungs[i].resource_start,
            .resource_end = table.rungs[i].resource_end,
            .trials_per_gpu = 1,
        };
        choose_nodes(p, s, stage, p->nodes[i]);
        choose_early(p, s, stage, p->early[i]);
        stage->gpus_per_trial = choose_gpus(p, s, stage);
        const int slots = rb_placement_capacity(rb_plan_stage_node_count(stage), p->offers[stage->nodes[0].offer].gpus,
                                                stage->gpus_per_trial);
        stage->waves = (stage->trials + slots - 1) / slots;
    }
    p->plan.n_stages = table.n;
}

// Two to fifteen stages.
static void make_population(struct random_plan *p, struct rb_stream *s)
{
    const int max = (int)p->job.scheduler.max_resource;
    p->settings[0] = (struct rb_setting){
        .key = "ready_every", .kind = RB_NODE_INT, .number = between(s, max > 8 ? max / 8 : 1, 1 + max / 2)};
    p->settings[1] = (struct rb_setting){.key = "quantile", .kind = RB_NODE_FLOAT, .number = between(s, 1, 50) / 100.0};
    p->settings[2] = (struct rb_setting){.key = "asynchronous", .kind = RB_NODE_BOOL, .boolean = chance(s, 50)};
    p->job.scheduler.options = (struct rb_settings){p->settings, 3};
}

// From a stream of its own: everything else stays as it is under sha.
static void change_tuner(struct random_plan *p, uint64_t seed, const char *tuner)
{
    struct rb_scheduler *scheduler = &p->job.scheduler;
    struct rb_stream s;
    rb_stream_init(&s, &(struct rb_stream_key){.seed = seed, .purpose = RB_DRAW_SEARCH, .stage = 2});
    int most = 1;
    for (int64_t r = scheduler->min_resource * scheduler->eta; r <= scheduler->max_resource; r *= scheduler->eta)
        most++;
    scheduler->type = tuner;
    if (strcmp(tuner, "pbt") == 0) {
        make_population(p, &s);
        return;
    }
    scheduler->brackets = rb_scheduler_kind(tuner)->has_brackets ? between(&s, 1, most) : 1;
    scheduler->rungs = RB_RUNGS_CUMULATIVE;
    if (strcmp(tuner, "asha") == 0)
        scheduler->rule = (enum rb_rule)between(&s, RB_RULE_PROMOTE, RB_RULE_SPECULATE);
    else if (rb_scheduler_kind(tuner)->num_trials == RB_TRIALS_DERIVED)
        scheduler->brackets_run = chance(&s, 50) ? RB_BRACKETS_IN_TURN : RB_BRACKETS_SIDE_BY_SIDE;
}

// From a stream of its own: everything else of a seed stays as it was.
static void make_uncertain(struct random_plan *p, uint64_t seed)
{
    struct rb_stream s;
    rb_stream_init(&s, &(struct rb_stream_key){.seed = seed, .purpose = RB_DRAW_SEARCH, .index = 1});
    p->profile.startup_s.relative_error = chance(&s, 30) ? between(&s, 1, 50) / 100.0 : 0;
    p->profile.checkpoint_s.relative_error = chance(&s, 30) ? between(&s, 1, 50) / 100.0 : 0;
    for (int i = 0; i < p->profile.n_provisioning; i++) {
        p->provisioning[i].queue_s.relative_error = chance(&s, 20) ? 0.1 : 0;
        p->provisioning[i].init_s.relative_error = chance(&s, 20) ? 0.2 : 0;
    }
    p->profile.restarts = chance(&s, 20);
    if (p->job.data_bytes > 0 && chance(&s, 50))
        p->job.data_bytes_per_s = between(&s, 1, 50) * INT64_C(100000000);
}

// Machines that outlive their nodes. From a stream of its own, too.
static void make_tails(struct random_plan *p, uint64_t seed)
{
    struct rb_stream s;
    rb_stream_init(&s, &(struct rb_stream_key){.seed = seed, .purpose = RB_DRAW_SEARCH, .index = 4});
    for (int i = 0; i < p->profile.n_provisioning; i++)
        p->provisioning[i].release_s = chance(&s, 30) ? between(&s, 1, 900) : 0;
}

// Some spot offers are markets with memory: twice the losses while nodes are new, fewer when they are old. From a stream
// of its own, too.
static void make_markets(struct random_plan *p, uint64_t seed)
{
    struct rb_stream s;
    rb_stream_init(&s, &(struct rb_stream_key){.seed = seed, .purpose = RB_DRAW_SEARCH, .index = 2});
    for (int i = 0; i < p->profile.n_provisioning; i++) {
        const double per_hour = p->provisioning[i].preemption_per_hour;
        if (!(per_hour > 0) || 2 * per_hour > RB_MAX_PREEMPTIONS || chance(&s, 50))
            continue;
        p->hazard[i][0] = (struct rb_hazard_step){between(&s, 1, 60), per_hour};
        p->hazard[i][1] = (struct rb_hazard_step){between(&s, 61, 600), chance(&s, 30) ? 0 : 0.3 * per_hour};
        p->spells[i] = (struct rb_spells){
            .sampled_s = 60,
            .days = 1,
            .up_s = rb_dist_constant(3600),
            .down_s = rb_dist_constant(600),
            .together = chance(&s, 50) ? 0 : between(&s, 1, 100) / 100.0,
            .region_factor = chance(&s, 50) ? -1 : 2,
            .hazard = {.per_hour = 2 * per_hour, .later = p->hazard[i], .n_later = 2},
        };
        p->provisioning[i].preemption_per_hour = 0;
        p->provisioning[i].spells = &p->spells[i];
    }
}

void random_plan_keep_markets_up(struct random_plan *p)
{
    for (int i = 0; i < p->profile.n_provisioning; i++) {
        p->spells[i].down_s = rb_dist_constant(0);
        if (p->provisioning[i].spells)
            p->provisioning[i].capacity_failure = 0;
    }
}

void random_plan_forget_errors(struct random_plan *p)
{
    p->training.relative_error = p->profile.startup_s.relative_error = p->profile.checkpoint_s.relative_error = 0;
    for (int i = 0; i < p->profile.n_provisioning; i++)
        p->provisioning[i].queue_s.relative_error = p->provisioning[i].init_s.relative_error = 0;
    p->job.data_bytes_per_s = 0;
}

void random_plan_make(struct random_plan *out, uint64_t seed)
{
    random_plan_make_of(out, seed, NULL);
}

void random_plan_make_of(struct random_plan *out, uint64_t seed, const char *tuner)
{
    struct rb_stream s;
    rb_stream_init(&s, &(struct rb_stream_key){.seed = seed, .purpose = RB_DRAW_SEARCH});
    memset(out, 0, sizeof *out);
    make_job(out, &s);
    if (tuner)
        change_tuner(out, seed, tuner);
    make_profile(out, &s);
    make_offers(out, &s);
    make_stages(out, &s);
    make_uncertain(out, seed);
    make_markets(out, seed);
    make_tails(out, seed);
    out->job.seed = seed;
    out->plan.tool = "test";
    out->plan.job_path = "job.yaml";
    out->plan.seed = seed;
    out->plan.job = &out->job;
    out->plan.profile = &out->profile;
    out->plan.policy = "elastic";
    out->plan.planner = "test";
    out->plan.deadline_us = out->plan.deadline_at_us = out->plan.budget_uusd = -1;
    out->plan.confidence = 0.95;
    out->plan.stages = out->stages;
    out->plan.offers = out->offers;
    out->plan.catalog = &out->catalog;
}
