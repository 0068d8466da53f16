#include "soak_world.h"

#include "base/stream.h"
#include "engine/core/rungs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MINUTE_US INT64_C(60000000)

enum { N_OWN_OFFERS = 2 }; // those that stages name: on demand, spot

struct draw {
    struct rb_stream s;
    bool is_quiet; // no fault is drawn
};

static void must(bool ok, const struct rb_err *err)
{
    if (!ok) {
        fprintf(stderr, "soak world: %s\n", err->message);
        abort();
    }
}

static double uniform(struct draw *d, double low, double high)
{
    return low + (high - low) * rb_stream_uniform(&d->s);
}

static int below(struct draw *d, int n)
{
    return (int)rb_stream_below(&d->s, (uint64_t)n);
}

// Half of all faults are not in a world at all; the others come rarely or often.
static double probability(struct draw *d, double often)
{
    const double u = rb_stream_uniform(&d->s);
    return d->is_quiet || u < 0.5 ? 0 : u < 0.8 ? often * 0.2 : often;
}

// --- the cloud

static const char *own_type(const struct soak_world *w)
{
    return w->is_gcp ? "a2-highgpu-4g" : "four.gpus";
}

static const char prices[] = "infra,instance_type,accelerator,gpus,gpu_memory_gb,vcpus,memory_gb,market,usd_per_hour\n"
                             "mock/us-east-1,four.gpus,T4,4,16,16,64,on_demand,3.6173\n"
                             "mock/us-east-1,four.gpus,T4,4,16,16,64,spot,1.1391\n"
                             "mock/us-east-1,other.four,T4,4,16,16,64,on_demand,3.9011\n"
                             "mock/us-east-1,other.four,T4,4,16,16,64,spot,2.0307\n"
                             "mock/us-east-1,disk,,,,,,,0.000109589041\n"
                             "mock/us-west-2,four.gpus,T4,4,16,16,64,on_demand,3.7753\n"
                             "mock/us-west-2,four.gpus,T4,4,16,16,64,spot,1.3127\n"
                             "mock/us-west-2,disk,,,,,,,0.000123287671\n"
                             "gcp/us-central1,a2-highgpu-4g,A100,4,40,48,340,on_demand,14.6938\n"
                             "gcp/us-central1,a2-highgpu-4g,A100,4,40,48,340,spot,7.7131\n"
                             "gcp/us-central1,disk,,,,,,,0.000136986301\n"
                             "gcp/europe-west4,a2-highgpu-4g,A100,4,40,48,340,on_demand,15.1079\n"
                             "gcp/europe-west4,a2-highgpu-4g,A100,4,40,48,340,spot,6.9013\n"
                             "gcp/europe-west4,disk,,,,,,,0.000150684932\n";

// The plan's own machines are short at first, and those of the other region for a while.
static void write_empty_pools(struct soak_world *w, struct draw *d)
{
    rb_buf_printf(
        &w->yaml,
        "pools:\n  - {infra: %s, instance_type: %s, market: on_demand, steps: [{after_s: 0, max: %d}, {after_s: %d, "
        "max: 9}]}\n  - {infra: %s, market: on_demand, steps: [{after_s: 0, max: %d}, {after_s: %d, max: 9}]}\n",
        w->infras[0], own_type(w), below(d, 3), 20 + below(d, 300), w->infras[1], below(d, 3), 20 + below(d, 200));
}

// Spot machines whose price moves, a few times, at any moment of a second.
static void write_prices(struct soak_world *w, struct draw *d)
{
    double after_s = 0;
    rb_buf_puts(&w->yaml, "pools:\n  - {instance_type: \"*\", market: spot, steps: [");
    for (int i = 0; i < 6; i++) {
        rb_buf_printf(&w->yaml, "%s{after_s: %.3f, max: 99, usd_per_hour: %.6f}", i ? ", " : "", after_s, uniform(d, 0.3, 3));
        after_s += uniform(d, 0.5, 300);
    }
    rb_buf_puts(&w->yaml, "]}\n");
}

static void write_cloud(struct soak_world *w, struct draw *d)
{
    struct rb_buf *b = &w->yaml;
    rb_buf_puts(b, "format: rb-mock/1\nprices: prices.csv\nprovisioning:\n");
    rb_buf_printf(
        b,
        "  - {infra: \"*\", instance_type: \"*\", market: spot, queue_s: {distribution: lognormal, mean: %.1f, "
        "cv: 0.5}, init_s: {distribution: lognormal, mean: 15, cv: 0.3}, capacity_failure: %.3f, "
        "preemption_per_hour: %.1f}\n",
        uniform(d, 2, 20), probability(d, 0.1), probability(d, 10));
    rb_buf_printf(
        b,
        "  - {infra: \"*\", instance_type: \"*\", market: \"*\", queue_s: {distribution: lognormal, mean: %.1f, "
        "cv: 0.5}, init_s: {distribution: lognormal, mean: 15, cv: 0.3}, capacity_failure: %.3f}\n",
        uniform(d, 2, 20), probability(d, 0.1));
    rb_buf_printf(b, "shutdown_s: {distribution: lognormal, mean: %.1f, cv: 0.5}\n", uniform(d, 0.5, 30));
    rb_buf_printf(b, "visible_after_s: {distribution: lognormal, mean: %.1f, cv: 0.5}\n", uniform(d, 0.1, 25));
    rb_buf_printf(b, "tags_fade_s: %.1f\n", uniform(d, 5, 120));
    if (d->is_quiet)
        return;
    if (below(d, 3) == 0)
        rb_buf_printf(b,
                      "pools:\n  - {instance_type: \"*\", market: spot, steps: [{after_s: 0, max: %d}, "
                      "{after_s: %d, max: %d}]}\n",
                      1 + below(d, 4), 60 + below(d, 400), below(d, 3));
    else if (w->falls_back)
        write_empty_pools(w, d);
    else if (!w->is_gcp) // there the cloud does not say what spot machines cost
        write_prices(w, d);
    if (below(d, 3) == 0)
        rb_buf_printf(b,
                      "throttle:\n  - {action: %s, burst: %d, per_s: %.2f}\n  - {action: %s, burst: 4, per_s: 0.3}\n",
                      w->is_gcp ? "instances.insert" : "RunInstances", 1 + below(d, 3), uniform(d, 0.05, 0.5),
                      w->is_gcp ? "instances.delete" : "TerminateInstances");
}

// --- its faults

static void rule(struct soak_world *w, struct draw *d, const char *where, const char *what, double often)
{
    const double p = probability(d, often);
    if (p > 0)
        rb_buf_printf(&w->chaos, "  - {where: {front: %s%s%s}, when: {probability: %.4f}, what: %s}\n",
                      w->is_gcp ? "gcp" : "ec2", *where ? ", " : "", where, p, what);
}

// Of every call that changes something.
static void write_change_faults(struct soak_world *w, struct draw *d, const char *action)
{
    char where[64];
    snprintf(where, sizeof where, "action: %s", action);
    rule(w, d, where, "lost_response", 0.3);
    rule(w, d, where, "{html_502: {after_effect: true}}", 0.1);
    rule(w, d, where, "html_502", 0.1);
    rule(w, d, where, "{truncated_body: {fraction: 0.7}}", 0.15);
    rule(w, d, where, "throttle", 0.3);
    rule(w, d, where, "connection_reset", 0.1);
    rule(w, d, where, "{slow_drip: {bytes_per_s: 40}}", 0.1);
    rule(w, d, where,
         w->is_gcp ? "{error: {status: 503, code: backendError, after_effect: true}}"
                   : "{error: {status: 500, code: InternalError, after_effect: true}}",
         0.15);
}

static void write_look_faults(struct soak_world *w, struct draw *d, const char *action)
{
    char where[64], page[64];
    snprintf(where, sizeof where, "action: %s", action);
    snprintf(page, sizeof page, "{partial_page: {items: %d}}", below(d, 3));
    rule(w, d, where, page, 0.5);
    rule(w, d, where, "html_502", 0.2);
    rule(w, d, where, "{truncated_body: {fraction: 0.4}}", 0.2);
    rule(w, d, where, "throttle", 0.2);
    rule(w, d, where, "connection_reset", 0.2);
    rule(w, d, where, "{slow_drip: {bytes_per_s: 200}}", 0.1);
}

static void write_chaos(struct soak_world *w, struct draw *d)
{
    rb_buf_puts(&w->chaos, "format: rb-chaos/1\nrules:\n"
                           "  - {where: {front: ec2, action: nothing}, what: throttle}\n"); // never an empty list
    if (w->is_gcp) {
        write_change_faults(w, d, "instances.insert");
        write_change_faults(w, d, "instances.delete");
        write_look_faults(w, d, "instances.aggregatedList");
        write_look_faults(w, d, "instances.get");
        write_look_faults(w, d, "zoneOperations.wait");
        rule(w, d, "action: instances.aggregatedList", "{unreachable: {zone: us-central1-b}}", 0.3);
        rule(w, d, "action: token", "html_502", 0.2);
        rule(w, d, "action: instances.insert", "{error: {status: 503, code: ZONE_RESOURCE_POOL_EXHAUSTED}}", 0.2);
    } else {
        write_change_faults(w, d, "RunInstances");
        write_change_faults(w, d, "TerminateInstances");
        write_look_faults(w, d, "DescribeInstances");
        write_look_faults(w, d, "DescribeImages");
        write_look_faults(w, d, "DescribeSpotPriceHistory");
        rule(w, d, "action: RunInstances", "{error: {status: 500, code: InsufficientInstanceCapacity}}", 0.3);
        rule(w, d, "action: TerminateInstances", "{error: {status: 400, code: InvalidInstanceID.NotFound}}", 0.3);
    }
    rule(w, d, "", "{clock_skew: {by: 20m}}", 0.05);
    rule(w, d, "", "fails_to_start", 0.15);
    rule(w, d, "", "never_boots", 0.1);
    rule(w, d, "", "{boots_slowly: {factor: 5}}", 0.3);
    rule(w, d, "", "{dies_at: {after: 3m}}", 0.2);
    rule(w, d, "", "wrong_market", 0.3);
    rule(w, d, "market: spot", "{interrupted: {after: 4m}}", 0.3);
}

static void choose_wire(struct soak_world *w, struct draw *d)
{
    w->wire = (struct soak_wire_faults){
        .refused = probability(d, 0.05),
        .lost_request = probability(d, 0.05),
        .late_request = probability(d, 0.05),
        .late_answer = probability(d, 0.05),
        .repeated = probability(d, 0.1),
    };
    w->training = (struct fake_training){
        .fails = probability(d, 0.1),
        .yields = probability(d, 0.2),
        .hangs = probability(d, 0.05),
        .save_fails = probability(d, 0.1),
    };
}

// --- the job and its plan

static int gpus_per_trial(const struct soak_world *w)
{
    return w->has_gangs ? 8 : 2;
}

static const struct rb_job *read_job(const struct soak_world *w, struct draw *d, struct rb_arena *arena)
{
    struct rb_job *job = rb_arena_alloc(arena, sizeof *job);
    RB_AUTO(rb_buf_finish) struct rb_buf yaml = RB_BUF_INIT;
    struct rb_doc doc;
    struct rb_err err;
    const char *disk = below(d, 2) ? ", disk_size: 120GB" : "";
    rb_buf_printf(&yaml,
                  "name: soak\nseed: 3\nmetric: {name: val_acc, goal: maximize}\n"
                  "parameters: {lr: {min: 0.1, max: 0.9}}\n"
                  "scheduler: {type: sha, num_trials: %d, min_resource: 1, max_resource: 9, eta: 3}\n"
                  "trial: {gpus: %d, max_nodes: 2, timeout: 60s, max_restarts: 50}\nrun: python train.py $RB_ARGS\n"
                  "resources: {infra: [%s], instance_types: [%s]%s}\n",
                  5 + below(d, 8), gpus_per_trial(w), w->infras[0], own_type(w), disk);
    must(rb_doc_parse_yaml(&doc, "soak job", rb_buf_str(&yaml), yaml.len, &err), &err);
    must(rb_job_read(doc.root, NULL, 0, arena, job, &err), &err);
    rb_doc_finish(&doc);
    return job;
}

static const struct rb_catalog *read_prices(struct rb_arena *arena)
{
    struct rb_catalog *catalog = rb_arena_alloc(arena, sizeof *catalog);
    struct rb_csv csv;
    struct rb_err err;
    must(rb_csv_parse(&csv, "prices.csv", prices, strlen(prices), &err), &err);
    must(rb_catalog_from_csv(&csv, arena, catalog, &err), &err);
    rb_csv_finish(&csv);
    return catalog;
}

// The plan's own two, on demand and spot; then those of the same cloud that stand in.
static void choose_offers(const struct soak_world *w, const struct rb_catalog *catalog, struct rb_arena *arena,
                          struct rb_plan *plan)
{
    struct rb_offer *offers = rb_arena_array(arena, (size_t)catalog->n_offers, sizeof *offers);
    int *fallbacks = rb_arena_array(arena, (size_t)catalog->n_offers, sizeof *fallbacks);
    int n = N_OWN_OFFERS;
    for (int i = 0; i < catalog->n_offers; i++) {
        const struct rb_offer *o = &catalog->offers[i];
        const bool near = strcmp(o->infra, w->infras[0]) == 0, far = strcmp(o->infra, w->infras[1]) == 0;
        if (near && strcmp(o->instance_type, own_type(w)) == 0)
            offers[o->market == RB_MARKET_SPOT] = *o;
        else if (w->falls_back && (near || far))
            offers[n++] = *o;
    }
    for (int i = 0; w->falls_back && i < n; i++)
        fallbacks[i] = (i + N_OWN_OFFERS) % n; // the other market last
    plan->offers = offers;
    plan->n_offers = n;
    plan->fallbacks = fallbacks;
    plan->n_fallbacks = w->falls_back ? n : 0;
}

static void make_stage(const struct soak_world *w, struct draw *d, const struct rb_rung *rung, struct rb_arena *arena,
                       struct rb_plan_stage *out)
{
    struct rb_plan_nodes *nodes = rb_arena_array(arena, 2, sizeof *nodes);
    int n = 0;
    int on_demand = below(d, 3), spot = below(d, 3);
    while (w->has_gangs && on_demand + spot < 2)
        on_demand++;
    if (on_demand > 0 || spot == 0)
        nodes[n++] = (struct rb_plan_nodes){.offer = 0, .count = on_demand > 0 ? on_demand : 1};
    if (spot > 0)
        nodes[n++] = (struct rb_plan_nodes){.offer = 1, .count = spot};
    *out = (struct rb_plan_stage){.trials = rung->trials,
                                  .resource_start = rung->resource_start,
                                  .resource_end = rung->resource_end,
                                  .gpus_per_trial = gpus_per_trial(w),
                                  .trials_per_gpu = 1,
                                  .waves = 1,
                                  .nodes = nodes,
                                  .n_nodes = n};
}

// About what the fake machines do; the markets for spot machines go down.
static const char profile[] =
    "format: rb-profile/1\nname: soak\nunit: epoch\nsource: test\n"
    "training:\n"
    "  - {accelerator: T4, base_s: 20, relative_error: 0.25, layouts: [{gpus: 1, nodes: 1, speedup: 1}, {gpus: 2, nodes: 1, speedup: 1}]}\n"
    "  - {accelerator: A100, base_s: 20, relative_error: 0.25, layouts: [{gpus: 1, nodes: 1, speedup: 1}, {gpus: 2, nodes: 1, speedup: 1}]}\n"
    "noise: {between: {distribution: lognormal, mean: 1, cv: 0.2}, within: 1}\n"
    "startup_s: 5\ncheckpoint_s: 1\nprovisioning:\n"
    "  - {infra: '*', instance_type: '*', market: on_demand, queue_s: 20, init_s: 20, capacity_failure: 0.1}\n"
    "  - {infra: '*', instance_type: '*', market: spot, queue_s: 20, init_s: 20, capacity_failure: 0.1, spells: {sampled_s: 60, days: 9,\n"
    "     up_s: {distribution: lognormal, mean: 3600, cv: 1}, down_s: {distribution: lognormal, mean: 600, cv: 1},\n"
    "     together: 0.5, region_factor: 2, hazard: [{from_s: 0, per_hour: 4}, {from_s: 900, per_hour: 1}]}}\n";

static const struct rb_profile *read_profile(struct rb_arena *arena)
{
    struct rb_profile *p = rb_arena_alloc(arena, sizeof *p);
    struct rb_doc doc;
    struct rb_err err;
    must(rb_doc_parse_yaml(&doc, "soak profile", profile, strlen(profile), &err), &err);
    must(rb_profile_read(doc.root, NULL, "soak", arena, p, &err), &err);
    rb_doc_finish(&doc);
    return p;
}

// Sometimes too little time or money: then it leaves its plan, gives up, or both.
static void let_replan(struct soak_world *w, struct draw *d, struct rb_arena *arena)
{
    struct rb_plan *plan = w->plan;
    struct rb_job *job = rb_arena_alloc(arena, sizeof *job);
    struct rb_plan_stage *stages = rb_arena_array(arena, (size_t)plan->n_stages, sizeof *stages);
    *job = *plan->job;
    job->on_drift = RB_DRIFT_REPLAN;
    memcpy(stages, plan->stages, (size_t)plan->n_stages * sizeof *stages);
    for (int i = 0; i < plan->n_stages; i++)
        stages[i].n_nodes = 1; // others are not exchanged
    plan->job = job;
    plan->stages = stages;
    plan->profile = read_profile(arena);
    plan->confidence = 0.9;
    plan->deadline_us = (int64_t)uniform(d, 4 * (double)MINUTE_US, 30 * (double)MINUTE_US);
    plan->budget_uusd = (int64_t)((w->is_gcp ? 6 : 1) * uniform(d, 5e5, 4e6));
}

// Of Compute Engine, which has no default.
static const struct rb_key_value images[] = {{"gcp", "projects/rbmock/global/images/rbmock-linux"}};

static struct rb_plan *make_plan(const struct soak_world *w, struct draw *d, struct rb_arena *arena)
{
    struct rb_plan *plan = rb_arena_alloc(arena, sizeof *plan);
    const struct rb_job *job = read_job(w, d, arena);
    const struct rb_catalog *catalog = read_prices(arena);
    struct rb_rung_table table;
    struct rb_err err;
    must(rb_rungs_of_job(job, &table, &err), &err);
    struct rb_plan_stage *stages = rb_arena_array(arena, (size_t)table.n, sizeof *stages);
    for (int i = 0; i < table.n; i++)
        make_stage(w, d, &table.rungs[i], arena, &stages[i]);
    *plan = (struct rb_plan){.tool = "test",
                             .job_path = "",
                             .job = job,
                             .policy = "elastic",
                             .planner = "static",
                             .deadline_us = -1,
                             .deadline_at_us = -1,
                             .budget_uusd = -1,
                             .stages = stages,
                             .n_stages = table.n,
                             .images = images,
                             .n_images = 1,
                             .catalog = catalog};
    choose_offers(w, catalog, arena, plan);
    return plan;
}

// --- what befalls the controller

// All of it together stays below the hour for which EC2 remembers an ended instance: after that no one can know its bill.
static void choose_accidents(struct soak_world *w, struct draw *d)
{
    w->n_accidents = below(d, SOAK_MAX_JUMPS + 1);
    for (int i = 0; i < w->n_accidents; i++) {
        const bool sleeps = below(d, 3) == 0;
        w->accidents[i] = (struct soak_accident){
            .at_us = (int64_t)uniform(d, 0, 15 * (double)MINUTE_US),
            .jump_us = sleeps ? 0 : (int64_t)uniform(d, -120 * (double)MINUTE_US, 120 * (double)MINUTE_US),
            .sleep_us = sleeps ? (int64_t)uniform(d, 0, 8 * (double)MINUTE_US) : 0,
        };
    }
    w->n_deaths = below(d, SOAK_MAX_DEATHS);
    for (int i = 0; i < w->n_deaths; i++)
        w->deaths[i] = (struct soak_death){
            .write = 1 + below(d, 120),
            .at = below(d, 2) == 0,
            .pause_us = below(d, 2) ? (int64_t)uniform(d, 0, 5 * (double)MINUTE_US) : 0,
        };
}

// For some minutes, or for up to an hour.
static void choose_outage(struct soak_world *w, struct draw *d)
{
    const double at_us = uniform(d, 0, 15 * (double)MINUTE_US);
    const double most_us = (below(d, 2) ? 5 : 60) * (double)MINUTE_US;
    w->accidents[w->n_accidents++] =
        (struct soak_accident){.at_us = (int64_t)at_us, .offline_us = (int64_t)uniform(d, 0, most_us)};
}

// Seconds as often as minutes, as often as more than a node waits.
static int64_t stop_of(struct draw *d)
{
    const double low_us[] = {1e6, 30e6, 5 * (double)MINUTE_US},
                 high_us[] = {30e6, 5 * (double)MINUTE_US, 45 * (double)MINUTE_US};
    const int k = below(d, 3);
    return (int64_t)uniform(d, low_us[k], high_us[k]);
}

static void choose_stops(struct soak_world *w, struct draw *d)
{
    const int n_stops = w->is_quiet ? 1 + below(d, 3) : below(d, 2) * (1 + below(d, 3));
    const int n_full = w->is_quiet ? below(d, 2) : (below(d, 3) == 0) * (1 + below(d, 2));
    for (int i = 0; i < n_stops + n_full; i++) {
        struct soak_accident *a = &w->accidents[w->n_accidents++];
        *a = (struct soak_accident){.at_us = (int64_t)uniform(d, 0, 15 * (double)MINUTE_US)};
        if (i < n_stops)
            a->stop_us = stop_of(d);
        else
            a->full_us = (int64_t)uniform(d, 1e6, 4 * (double)MINUTE_US);
    }
    w->catch_up_us = (int64_t)uniform(d, 1e5, 40e6);
}

void soak_world_init(struct soak_world *w, uint64_t seed, bool is_gcp, struct rb_arena *arena)
{
    struct draw d = {0}, fallback = {0}, more = {0},
                stops = {0}, drift = {0}; // each its own stream: what is added later does not change what was there
    rb_stream_init(&d.s, &(struct rb_stream_key){.seed = seed, .purpose = RB_DRAW_SEARCH});
    rb_stream_init(&fallback.s, &(struct rb_stream_key){.seed = seed, .purpose = RB_DRAW_SEARCH, .stage = 2});
    rb_stream_init(&more.s, &(struct rb_stream_key){.seed = seed, .purpose = RB_DRAW_SEARCH, .stage = 3});
    rb_stream_init(&stops.s, &(struct rb_stream_key){.seed = seed, .purpose = RB_DRAW_SEARCH, .stage = 4});
    rb_stream_init(&drift.s, &(struct rb_stream_key){.seed = seed, .purpose = RB_DRAW_SEARCH, .stage = 5});
    *w = (struct soak_world){.is_gcp = is_gcp, .prices = prices, .falls_back = below(&fallback, 2) == 0};
    w->infras[0] = is_gcp ? "gcp/us-central1" : "mock/us-east-1";
    w->infras[1] = is_gcp ? "gcp/europe-west4" : "mock/us-west-2";
    w->n_infras = w->falls_back ? 2 : 1;
    w->is_quiet = d.is_quiet = below(&stops, 6) == 0;
    w->whole_seconds = !is_gcp || below(&stops, 2) == 0;
    w->has_gangs = below(&more, 4) == 0;
    write_cloud(w, &d);
    write_chaos(w, &d);
    choose_wire(w, &d);
    w->plan = make_plan(w, &d, arena);
    if (!w->is_quiet)
        choose_accidents(w, &d);
    if (!w->is_quiet && below(&more, 3) == 0)
        choose_outage(w, &more);
    for (int i = 0; i < w->n_deaths; i++)
        w->deaths[i].full = below(&more, 4) == 0;
    choose_stops(w, &stops);
    w->replans = !w->is_quiet && !w->has_gangs && below(&drift, 3) == 0;
    if (w->replans)
        let_replan(w, &drift, arena);
}

void soak_world_finish(struct soak_world *w)
{
    rb_buf_finish(&w->yaml);
    rb_buf_finish(&w->chaos);
}
