#include "simulator/spot/plan_replay.h"

#include "base/arena.h"
#include "base/text/units.h"
#include "samplers/model/normal.h"
#include "simulator/model/summary.h"

#include <math.h>
#include <stdlib.h>

enum {
    SETTLES = 300,  // ticks until markets have forgotten how they began
    MOST_LATE = 10, // deadlines after which a replay gives up
    N = RB_PLAN_REPLAYS,
};
#define LATEST 2.3 // median of the latest of 64 ends, by which a run reckons at least (executor/run/spot_choice.h), in their spread

enum rule { BY_POLICY, ON_DEMAND, ALONE, N_RULES };

struct replay { // one node stands for all of its stage
    const struct rb_plan_spot *spot;
    enum rule rule;
    struct rb_market_walk markets;
    struct rb_market_state seen[RB_MARKET_MOST];
    int seen_tick;
    double pace[RB_LIMIT_STAGES]; // seconds for one of the planned
    double tick_s, now_s, later_s; // later_s: work and cold starts of later stages
    enum rb_spot_mode mode;
    bool is_paid;                  // its node is in the stage's reservation, in mode RB_SPOT_ON_DEMAND
    int held, stage;
    double starting_s, work_s, saved_s; // left, the last two of planned work; saved_s: as of the last save
    double cost_uusd, busy_s[3];        // of all nodes, by mode
};

// --- slow and fast stages

static double draw_normal(uint32_t replicate, uint32_t index)
{
    const struct rb_stream_key key = {.purpose = RB_DRAW_SPOT_PACE, .index = index, .replicate = replicate};
    return rb_normal_quantile(rb_stream_first_uniform(&key));
}

static void draw_pace(struct replay *r, uint32_t replicate)
{
    const double common = draw_normal(replicate, 0), c = r->spot->correlation;
    for (int i = 0; i < r->spot->n_stages; i++) {
        const double own = draw_normal(replicate, (uint32_t)i + 1);
        r->pace[i] = exp(r->spot->spread[i] * (sqrt(c) * common + sqrt(1 - c) * own));
    }
}

// What the work that is left may take beyond its median, surely enough for the guard: as if their sum were lognormal.
static double margin_s(const struct replay *r)
{
    const struct rb_plan_spot *s = r->spot;
    double left_s = 0, sum_s = 0, squares = 0;
    for (int i = r->stage; i < s->n_stages; i++) {
        const double work_s = i == r->stage ? r->work_s : s->stages[i].work_s, sd_s = work_s * s->spread[i];
        left_s += work_s;
        sum_s += sd_s;
        squares += sd_s * sd_s;
    }
    const double sd_s = sqrt(squares + s->correlation * (sum_s * sum_s - squares));
    return left_s * expm1(fmax(LATEST, s->sure_sd) * sd_s / left_s);
}

// --- decisions

// A node on demand keeps what it knew when it came there.
static void look_at_markets(struct replay *r)
{
    if (r->mode == RB_SPOT_ON_DEMAND)
        return;
    r->seen_tick = r->markets.tick;
    for (int m = 0; m < r->markets.mix->n_markets; m++)
        r->seen[m] = (struct rb_market_state){
            .up = r->markets.up[m], .age_s = (r->markets.tick - r->markets.since[m]) * r->tick_s};
}

static enum rb_spot_mode ask_policy(struct replay *r)
{
    const struct rb_plan_spot *s = r->spot;
    struct rb_market_state markets[RB_MARKET_MOST];
    double lost_ago_s[RB_MARKET_MOST];
    for (int m = 0; m < r->markets.mix->n_markets; m++) {
        markets[m] = r->seen[m];
        markets[m].seen_ago_s = (r->markets.tick - r->seen_tick) * r->tick_s;
        lost_ago_s[m] = (r->markets.tick - r->markets.lost_at[m]) * r->tick_s;
    }
    const struct rb_spot_guard guard = {
        .start_s = {0, s->start_s[RB_SPOT_ON_SPOT], s->start_s[RB_SPOT_ON_DEMAND]}, .budget = INFINITY};
    const double unsaved_s = (r->saved_s - r->work_s) * r->pace[r->stage] + r->tick_s;
    const struct rb_spot_question q = {
        .now = {.mode = r->mode,
                .slack_s = s->deadline_s - r->now_s - r->later_s - r->work_s - margin_s(r),
                .unsaved_s = s->stages[r->stage].save_every_s > 0 ? unsaved_s : 0,
                .ahead_s = r->tick_s},
        .stage = r->stage,
        .work_s = r->work_s,
        .held = r->held,
        .markets = markets,
        .lost_ago_s = lost_ago_s,
    };
    return rb_spot_policy_choose(s->policy, &guard, &q, &r->held);
}

static enum rb_spot_mode wait_for_spot(struct replay *r)
{
    if (r->mode == RB_SPOT_ON_SPOT)
        return RB_SPOT_ON_SPOT;
    r->held = rb_market_mix_best(r->markets.mix, r->seen, NULL);
    return r->held < 0 ? RB_SPOT_IDLE : RB_SPOT_ON_SPOT;
}

static bool is_paid_for(const struct replay *r)
{
    const struct rb_plan_paid *p = &r->spot->paid[r->stage];
    return p->is_paid && r->now_s >= p->opens_s && r->now_s < p->notice_s;
}

static enum rb_spot_mode choose(struct replay *r)
{
    if (is_paid_for(r) && (r->mode == RB_SPOT_IDLE || r->is_paid)) // a node that stands in for it is not moved there
        return RB_SPOT_ON_DEMAND;
    switch (r->rule) {
    case BY_POLICY:
        return ask_policy(r);
    case ALONE:
        return wait_for_spot(r);
    default:
        return RB_SPOT_ON_DEMAND;
    }
}

// A move is a save first. A node leaves demand for spot only; if it is refused there, it has none.
static void decide(struct replay *r)
{
    look_at_markets(r);
    enum rb_spot_mode to = choose(r);
    if (to == r->mode || (r->mode == RB_SPOT_ON_DEMAND && to == RB_SPOT_IDLE))
        return;
    if (to == RB_SPOT_ON_SPOT && !r->markets.up[r->held])
        to = RB_SPOT_IDLE;
    r->saved_s = r->work_s;
    r->is_paid = to == RB_SPOT_ON_DEMAND && r->mode == RB_SPOT_IDLE && is_paid_for(r);
    r->starting_s = to == RB_SPOT_IDLE ? 0 : r->spot->start_mean_s;
    r->mode = to;
}

// --- time

// A market takes its nodes back, or a reservation ends; trials are set back to their last save.
static void lose(struct replay *r)
{
    const bool is_over = r->is_paid && !is_paid_for(r);
    if (!is_over && (r->mode != RB_SPOT_ON_SPOT || r->markets.up[r->held]))
        return;
    r->is_paid = false;
    r->mode = RB_SPOT_IDLE;
    r->starting_s = 0;
    r->work_s = r->saved_s;
}

// A tick, or what is left of the stage.
static void work(struct replay *r)
{
    const struct rb_spot_stage *stage = &r->spot->stages[r->stage];
    const double pace = r->pace[r->stage], starts_s = fmin(r->starting_s, r->tick_s);
    const double works_s = fmin(r->work_s * pace, r->tick_s - starts_s);
    if (r->mode == RB_SPOT_IDLE) {
        r->now_s += r->tick_s;
        return;
    }
    const bool ends = r->work_s * pace <= works_s;
    r->now_s += ends ? starts_s + works_s : r->tick_s;
    const double rate = r->is_paid ? r->spot->paid[r->stage].rate : r->spot->rate[r->mode];
    r->cost_uusd += rate * (starts_s + works_s) * stage->trials;
    r->busy_s[r->mode] += r->is_paid ? 0 : (starts_s + works_s) * stage->trials;
    r->starting_s -= starts_s;
    r->work_s = ends ? 0 : r->work_s - works_s / pace;
    if ((r->mode == RB_SPOT_ON_DEMAND && !r->is_paid) || r->saved_s - r->work_s >= stage->save_every_s)
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
    r->is_paid = false;
    r->starting_s = 0;
    r->work_s = r->saved_s = s->stages[stage].work_s;
    while (r->work_s > 0 && r->now_s < MOST_LATE * s->deadline_s) {
        lose(r);
        if (r->starting_s <= 0)
            decide(r);
        work(r);
        rb_market_walk_step(&r->markets);
    }
}

static void play(struct replay *r, const struct rb_plan_spot *s, enum rule rule, uint32_t replicate)
{
    *r = (struct replay){.spot = s, .rule = rule, .tick_s = rb_spot_policy_mix(s->policy)->tick_s};
    draw_pace(r, replicate);
    rb_market_walk_begin(&r->markets, rb_spot_policy_mix(s->policy), replicate);
    for (int i = 0; i < SETTLES; i++)
        rb_market_walk_step(&r->markets);
    for (int i = 0; i < s->n_stages; i++)
        play_stage(r, i);
}

static bool is_in_time(const struct replay *r)
{
    return r->now_s <= r->spot->deadline_s + r->tick_s / 1000; // rounding
}

// --- figures

struct played {
    int64_t time_us[N_RULES][N], cost_uusd[N_RULES][N];
    int n_in_time[N_RULES], n_on_demand; // the latter under the policy
    double busy_s, on_demand_s;          // likewise
};

static void play_all(struct played *p, const struct rb_plan_spot *s, uint32_t first)
{
    for (int i = 0; i < N; i++)
        for (enum rule rule = 0; rule < N_RULES; rule++) {
            struct replay r;
            play(&r, s, rule, first + (uint32_t)i);
            p->time_us[rule][i] = (int64_t)(r.now_s * RB_US_PER_S);
            p->cost_uusd[rule][i] = (int64_t)r.cost_uusd;
            p->n_in_time[rule] += is_in_time(&r);
            if (rule != BY_POLICY)
                continue;
            p->n_on_demand += r.busy_s[RB_SPOT_ON_DEMAND] > 0;
            p->on_demand_s += r.busy_s[RB_SPOT_ON_DEMAND];
            p->busy_s += r.busy_s[RB_SPOT_ON_DEMAND] + r.busy_s[RB_SPOT_ON_SPOT];
        }
}

static double mean_of(const int64_t *values)
{
    double sum = 0;
    for (int i = 0; i < N; i++)
        sum += (double)values[i];
    return sum / N;
}

static double within_one(double p)
{
    return fmin(1, fmax(0, p));
}

static struct rb_estimate estimate_of(struct played *p, const struct rb_plan *plan)
{
    const struct rb_estimate *planned = rb_plan_as_it_stands(plan);
    const double scale = (double)planned->cost_uusd.mean / mean_of(p->cost_uusd[ON_DEMAND]);
    const double shift_us = (double)planned->time_us.mean - mean_of(p->time_us[ON_DEMAND]);
    const double surer = (double)(p->n_in_time[BY_POLICY] - p->n_in_time[ON_DEMAND]) / N;
    for (int i = 0; i < N; i++) {
        p->time_us[BY_POLICY][i] = (int64_t)fmax(0, (double)p->time_us[BY_POLICY][i] + shift_us);
        for (enum rule rule = 0; rule < N_RULES; rule++)
            p->cost_uusd[rule][i] = (int64_t)(scale * (double)p->cost_uusd[rule][i]);
    }
    struct rb_estimate e =
        rb_estimate_of_runs(p->time_us[BY_POLICY], p->cost_uusd[BY_POLICY], N, plan->deadline_us, plan->budget_uusd);
    e.spread_unknown = planned->spread_unknown;
    e.p_deadline = within_one(planned->p_deadline + surer);
    e.p_budget = planned->p_budget; // the guard keeps it
    e.p_both = within_one(planned->p_both + surer);
    if (e.cost_uusd.p95 < planned->cost_uusd.p95)
        e.cost_uusd.p95 = planned->cost_uusd.p95;
    if (e.cost_uusd.p99 < planned->cost_uusd.p99)
        e.cost_uusd.p99 = planned->cost_uusd.p99;
    return e;
}

struct rb_plan_safe_spot rb_plan_replay(const struct rb_plan_spot *s, const struct rb_plan *plan, uint32_t first,
                                        struct rb_estimate *out_estimate)
{
    RB_AUTO(rb_auto_free) struct played *p = rb_xcalloc(1, sizeof *p);
    play_all(p, s, first);
    const struct rb_estimate planned = *rb_plan_as_it_stands(plan);
    *out_estimate = estimate_of(p, plan);
    return (struct rb_plan_safe_spot){
        .on_demand = planned,
        .p_on_demand = (double)p->n_on_demand / N,
        .share_on_demand = p->busy_s > 0 ? p->on_demand_s / p->busy_s : 0,
        .alone_uusd = (int64_t)mean_of(p->cost_uusd[ALONE]),
        .p_alone = (double)p->n_in_time[ALONE] / N,
    };
}
