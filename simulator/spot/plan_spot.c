#include "simulator/spot/plan_spot.h"

#include "base/order.h"
#include "base/text/units.h"
#include "engine/core/rungs.h"
#include "profiles/store/reading.h"
#include "profiles/store/save_interval.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    STEPS = 400,    // of the policy's tables
    SETTLES = 300,  // ticks until markets have forgotten how they began
    MOST_LATE = 10, // deadlines after which a replay gives up
};

// --- cold starts and prices

static const struct rb_provisioning *provisioning(const struct rb_plan *plan, int offer)
{
    const struct rb_offer *o = &plan->offers[offer];
    return rb_profile_provisioning(plan->profile, o->infra, o->instance_type, o->market);
}

// A request that is refused is made again, as often as the quantile says.
static double most_start_s(const struct rb_plan *plan, int offer)
{
    const struct rb_provisioning *p = provisioning(plan, offer);
    const double q = RB_PLAN_SPOT_QUANTILE;
    if (!p)
        return INFINITY;
    const double f = p->capacity_failure, refusals = f > 0 ? ceil(log1p(-q) / log(f)) : 0;
    return (1 + refusals) * rb_dist_quantile(&p->queue_s, q) + rb_dist_quantile(&p->init_s, q) +
           rb_reading_quantile_s(plan->job, plan->profile, &plan->offers[offer], q) +
           rb_dist_quantile(&plan->profile->startup_s, q);
}

static double mean_start_s(const struct rb_plan *plan, int offer)
{
    const struct rb_provisioning *p = provisioning(plan, offer);
    return p ? rb_dist_mean(&p->queue_s) + rb_dist_mean(&p->init_s) +
                   rb_reading_mean_s(plan->job, plan->profile, &plan->offers[offer]) +
                   rb_dist_mean(&plan->profile->startup_s)
             : 0;
}

static void count_offer(struct rb_plan_spot *s, const struct rb_plan *plan, int offer)
{
    const struct rb_offer *o = &plan->offers[offer];
    const enum rb_spot_mode mode = o->market == RB_MARKET_SPOT ? RB_SPOT_ON_SPOT : RB_SPOT_ON_DEMAND;
    s->start_s[mode] = fmax(s->start_s[mode], most_start_s(plan, offer));
    s->rate[mode] = fmax(s->rate[mode], (double)o->rate.uusd_per_hour / RB_S_PER_HOUR);
}

// --- markets

static bool is_spot(const struct rb_plan *plan, int fallback)
{
    return plan->offers[plan->fallbacks[fallback]].market == RB_MARKET_SPOT;
}

int rb_plan_spot_offer(const struct rb_plan *plan)
{
    for (int i = 0; i < plan->n_fallbacks; i++)
        if (is_spot(plan, i))
            return plan->fallbacks[i];
    return -1;
}

static size_t region_length(const char *infra)
{
    const char *region = strchr(infra, '/'), *zone = region ? strchr(region + 1, '/') : NULL;
    return zone ? (size_t)(zone - infra) : strlen(infra);
}

// The first fallback in the same region names it.
static int region_of(const struct rb_plan *plan, int fallback)
{
    const char *infra = plan->offers[plan->fallbacks[fallback]].infra;
    int i = 0;
    while (region_length(plan->offers[plan->fallbacks[i]].infra) != region_length(infra) ||
           strncmp(plan->offers[plan->fallbacks[i]].infra, infra, region_length(infra)) != 0)
        i++;
    return i;
}

// False: the profile does not know all of them, or there are too many.
static bool find_markets(const struct rb_plan *plan, struct rb_market_source *out, int *out_n)
{
    *out_n = 0;
    for (int i = 0; i < plan->n_fallbacks; i++) {
        if (!is_spot(plan, i))
            continue;
        const struct rb_provisioning *p = provisioning(plan, plan->fallbacks[i]);
        if (!p || !p->spells || *out_n == RB_MARKET_MOST)
            return false;
        out[(*out_n)++] = (struct rb_market_source){p->spells, region_of(plan, i)};
    }
    return *out_n > 0;
}

// --- the policy

// INFINITY: a loss takes all of the stage.
static double save_every_s(const struct rb_plan *plan)
{
    const int64_t every_s =
        rb_planned_save_interval_s(plan->job, plan->profile, &plan->offers[rb_plan_spot_offer(plan)]);
    return every_s > 0 ? (double)every_s : INFINITY;
}

static void find_stages(struct rb_plan_spot *s, const struct rb_plan *plan, double tick_s)
{
    s->n_stages = plan->n_stages;
    s->slack_s = (double)plan->deadline_us / RB_US_PER_S - (plan->n_stages - 1) * s->start_s[RB_SPOT_ON_DEMAND];
    for (int i = 0; i < plan->n_stages; i++) {
        const double time_s = (double)plan->stages[i].time_us.p50 / RB_US_PER_S;
        s->stages[i] = (struct rb_spot_stage){
            .trials = rb_plan_stage_node_count(&plan->stages[i]),
            .work_s = fmax(tick_s, time_s - mean_start_s(plan, plan->stages[i].nodes[0].offer)),
            .save_every_s = save_every_s(plan),
        };
        s->slack_s -= s->stages[i].work_s;
    }
    s->slack_s = fmax(0, s->slack_s);
}

static void make_policy(struct rb_plan_spot *s, const struct rb_plan *plan)
{
    struct rb_market_source sources[RB_MARKET_MOST];
    int n_markets;
    if (rb_job_is_asynchronous(plan->job) || plan->unpredicted || !find_markets(plan, sources, &n_markets))
        return;
    s->start_mean_s = mean_start_s(plan, rb_plan_spot_offer(plan));
    const double tick_s = rb_spot_policy_tick_s((double)plan->deadline_us / RB_US_PER_S, s->start_mean_s, STEPS);
    struct rb_market_mix *mix = rb_xcalloc(1, sizeof *mix);
    rb_market_mix_init(mix, sources, n_markets, tick_s);
    find_stages(s, plan, tick_s);
    s->policy = rb_spot_policy_create(&(struct rb_spot_problem){
        .mix = mix,
        .stages = s->stages,
        .n_stages = s->n_stages,
        .start_s = s->start_mean_s,
        .start_most_s = s->start_s[RB_SPOT_ON_DEMAND],
        .ratio = s->rate[RB_SPOT_ON_DEMAND] / s->rate[RB_SPOT_ON_SPOT],
        .slack_s = s->slack_s,
    });
    free(mix);
}

void rb_plan_spot_init(struct rb_plan_spot *s, const struct rb_plan *plan)
{
    *s = (struct rb_plan_spot){0};
    for (int i = 0; i < plan->n_stages; i++)
        count_offer(s, plan, plan->stages[i].nodes[0].offer);
    for (int i = 0; i < plan->n_fallbacks; i++)
        if (is_spot(plan, i))
            count_offer(s, plan, plan->fallbacks[i]);
    make_policy(s, plan);
}

void rb_plan_spot_finish(struct rb_plan_spot *s)
{
    rb_spot_policy_destroy(s->policy);
}

// --- replays: one node stands for all of its stage

struct replay {
    const struct rb_plan_spot *spot;
    struct rb_market_walk markets;
    double tick_s, now_s, deadline_s, later_s; // later_s: work and cold starts of later stages
    enum rb_spot_mode mode;
    int held, stage;
    double starting_s, work_s, saved_s; // left; saved_s: as of the last save
    double cost;                        // micro-dollars of one node
};

static struct rb_spot_question question_of(const struct replay *r, struct rb_market_state *markets, double *lost_ago_s)
{
    const struct rb_spot_stage *stage = &r->spot->stages[r->stage];
    for (int m = 0; m < r->markets.mix->n_markets; m++) {
        markets[m] = (struct rb_market_state){r->markets.up[m], (r->markets.tick - r->markets.since[m]) * r->tick_s};
        lost_ago_s[m] = (r->markets.tick - r->markets.lost_at[m]) * r->tick_s;
    }
    return (struct rb_spot_question){
        .now = {.mode = r->mode,
                .slack_s = r->deadline_s - r->now_s - r->later_s - r->work_s,
                .unsaved_s = stage->save_every_s > 0 ? r->saved_s - r->work_s + r->tick_s : 0,
                .ahead_s = r->tick_s},
        .stage = r->stage,
        .work_s = r->work_s,
        .held = r->held,
        .markets = markets,
        .lost_ago_s = lost_ago_s,
    };
}

static void decide(struct replay *r)
{
    struct rb_market_state markets[RB_MARKET_MOST];
    double lost_ago_s[RB_MARKET_MOST];
    const struct rb_spot_question q = question_of(r, markets, lost_ago_s);
    const struct rb_spot_guard guard = {
        .start_s = {0, r->spot->start_s[RB_SPOT_ON_SPOT], r->spot->start_s[RB_SPOT_ON_DEMAND]}, .budget = INFINITY};
    const enum rb_spot_mode to = r->mode == RB_SPOT_ON_DEMAND
                                     ? RB_SPOT_ON_DEMAND // as in a run: it stays there
                                     : rb_spot_policy_choose(r->spot->policy, &guard, &q, &r->held);
    if (to == r->mode)
        return;
    r->saved_s = r->work_s;
    r->starting_s = to == RB_SPOT_IDLE ? 0 : r->spot->start_mean_s;
    r->mode = to;
}

static void lose(struct replay *r)
{
    if (r->mode != RB_SPOT_ON_SPOT || r->markets.up[r->held])
        return;
    r->mode = RB_SPOT_IDLE;
    r->starting_s = 0;
    r->work_s = r->saved_s;
}

// A tick, or what is left of the stage.
static void work(struct replay *r)
{
    const struct rb_spot_stage *stage = &r->spot->stages[r->stage];
    const double starts_s = fmin(r->starting_s, r->tick_s), works_s = fmin(r->work_s, r->tick_s - starts_s);
    if (r->mode == RB_SPOT_IDLE) {
        r->now_s += r->tick_s;
        return;
    }
    r->now_s += r->work_s > works_s ? r->tick_s : starts_s + works_s;
    r->cost += r->spot->rate[r->mode] * (starts_s + works_s);
    r->starting_s -= starts_s;
    r->work_s -= works_s;
    const double done_s = stage->work_s - r->work_s, before_s = stage->work_s - r->saved_s;
    if (r->mode == RB_SPOT_ON_DEMAND || done_s - before_s >= stage->save_every_s)
        r->saved_s = r->work_s;
}

static void play_stage(struct replay *r, int stage)
{
    const struct rb_plan_spot *s = r->spot;
    r->stage = stage;
    r->later_s = 0;
    for (int j = stage + 1; j < s->n_stages; j++)
        r->later_s += s->stages[j].work_s + s->start_s[RB_SPOT_ON_DEMAND];
    r->mode = RB_SPOT_IDLE;
    r->starting_s = 0;
    r->work_s = r->saved_s = s->stages[stage].work_s;
    while (r->work_s > 0 && r->now_s < MOST_LATE * r->deadline_s) {
        lose(r);
        if (r->starting_s <= 0)
            decide(r);
        work(r);
        rb_market_walk_step(&r->markets);
    }
}

// Over the cost on demand.
static double play(const struct rb_plan_spot *s, uint32_t replicate, bool *out_late)
{
    struct replay r = {.spot = s, .tick_s = rb_spot_policy_mix(s->policy)->tick_s};
    double cost = 0, on_demand = 0;
    rb_market_walk_begin(&r.markets, rb_spot_policy_mix(s->policy), replicate);
    for (int i = 0; i < SETTLES; i++)
        rb_market_walk_step(&r.markets);
    r.deadline_s = s->slack_s + (s->n_stages - 1) * s->start_s[RB_SPOT_ON_DEMAND];
    for (int i = 0; i < s->n_stages; i++)
        r.deadline_s += s->stages[i].work_s;
    for (int i = 0; i < s->n_stages; i++) {
        r.cost = 0;
        play_stage(&r, i);
        cost += r.cost * s->stages[i].trials;
        on_demand += s->rate[RB_SPOT_ON_DEMAND] * (s->stages[i].work_s + s->start_mean_s) * s->stages[i].trials;
    }
    *out_late = r.now_s > r.deadline_s + r.tick_s / 1000; // rounding
    return cost / on_demand;
}

struct rb_plan_spot_costs rb_plan_spot_replay(const struct rb_plan_spot *s)
{
    struct rb_plan_spot_costs c = {0};
    double shares[RB_PLAN_SPOT_REPLAYS];
    for (int i = 0; i < RB_PLAN_SPOT_REPLAYS; i++) {
        bool is_late;
        shares[i] = play(s, (uint32_t)i, &is_late);
        c.mean += shares[i] / RB_PLAN_SPOT_REPLAYS;
        c.n_late += is_late;
    }
    qsort(shares, RB_PLAN_SPOT_REPLAYS, sizeof *shares, rb_order_doubles);
    c.p50 = shares[RB_PLAN_SPOT_REPLAYS / 2];
    c.p95 = shares[RB_PLAN_SPOT_REPLAYS * 95 / 100];
    return c;
}
