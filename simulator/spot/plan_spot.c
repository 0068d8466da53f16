#include "simulator/spot/plan_spot.h"

#include "base/text/units.h"
#include "engine/core/rungs.h"
#include "profiles/catalog/infra.h"
#include "profiles/catalog/reservation.h"
#include "profiles/store/reading.h"
#include "profiles/store/save_interval.h"
#include "samplers/model/normal.h"

#include <math.h>
#include <stdlib.h>

#define SD_P95 1.6448536269514722 // the 95 % quantile of a standard normal

#define MOST_SURE 0.9999

enum { STEPS = 400 }; // of the policy's tables

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

// The first fallback in the same region names it.
static int region_of(const struct rb_plan *plan, int fallback)
{
    const char *infra = plan->offers[plan->fallbacks[fallback]].infra;
    int i = 0;
    while (!rb_infra_same_region(plan->offers[plan->fallbacks[i]].infra, infra))
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

// What has been trained to the end is safe: in a stage of several waves, a loss takes no more than one.
static double save_every_s(const struct rb_plan *plan, const struct rb_plan_stage *stage, double work_s)
{
    const int64_t every_s =
        rb_planned_save_interval_s(plan->job, plan->profile, &plan->offers[rb_plan_spot_offer(plan)]);
    const double wave_s = stage->waves > 1 ? work_s / stage->waves : INFINITY;
    return every_s > 0 ? fmin((double)every_s, wave_s) : wave_s;
}

// In normal logarithms, as if cold starts did not vary.
static double spread_of(const struct rb_quantiles *time_us)
{
    return time_us->p50 > 0 && time_us->p95 > time_us->p50 ? log((double)time_us->p95 / (double)time_us->p50) / SD_P95 : 0;
}

// The correlation of the stages' times that gives the whole run the spread that the plan expects.
static double correlation(const struct rb_plan_spot *s, const struct rb_plan *plan)
{
    const struct rb_quantiles *whole_us = &rb_plan_as_it_stands(plan)->time_us;
    const double whole_s = (double)(whole_us->p95 - whole_us->p50) / RB_US_PER_S / SD_P95;
    double sum_s = 0, squares = 0;
    for (int i = 0; i < s->n_stages; i++) {
        const double sd_s = s->stages[i].work_s * s->spread[i];
        sum_s += sd_s;
        squares += sd_s * sd_s;
    }
    const double most = sum_s * sum_s - squares;
    return most > 0 ? fmin(1, fmax(0, (whole_s * whole_s - squares) / most)) : 0;
}

static struct rb_plan_paid paid_of(const struct rb_offer *o)
{
    const struct rb_reservation *r = o->reservation;
    if (!r)
        return (struct rb_plan_paid){.is_paid = false};
    const int64_t notice_us = rb_reservation_notice_at_us(r);
    return (struct rb_plan_paid){
        .is_paid = true,
        .opens_s = (double)r->opens_us / RB_US_PER_S,
        .notice_s = notice_us == INT64_MAX ? INFINITY : (double)notice_us / RB_US_PER_S,
        .rate = (double)o->rate.uusd_per_hour / RB_S_PER_HOUR,
    };
}

static void find_stages(struct rb_plan_spot *s, const struct rb_plan *plan, double tick_s)
{
    s->n_stages = plan->n_stages;
    s->deadline_s = (double)plan->deadline_us / RB_US_PER_S;
    s->slack_s = s->deadline_s - (plan->n_stages - 1) * s->start_s[RB_SPOT_ON_DEMAND];
    for (int i = 0; i < plan->n_stages; i++) {
        const double time_s = (double)plan->stages[i].time_us.p50 / RB_US_PER_S;
        const double work_s = fmax(tick_s, time_s - mean_start_s(plan, plan->stages[i].nodes[0].offer));
        s->stages[i] = (struct rb_spot_stage){
            .trials = rb_plan_stage_node_count(&plan->stages[i]),
            .work_s = work_s,
            .save_every_s = save_every_s(plan, &plan->stages[i], work_s),
        };
        s->slack_s -= s->stages[i].work_s;
        s->spread[i] = spread_of(&plan->stages[i].time_us);
        s->paid[i] = paid_of(&plan->offers[plan->stages[i].nodes[0].offer]);
    }
    s->slack_s = fmax(0, s->slack_s);
    s->correlation = correlation(s, plan);
}

static bool is_all_paid(const struct rb_plan *plan)
{
    bool all = true;
    for (int i = 0; i < plan->n_stages; i++)
        all = all && plan->offers[plan->stages[i].nodes[0].offer].reservation;
    return all;
}

static void make_policy(struct rb_plan_spot *s, const struct rb_plan *plan)
{
    struct rb_market_source sources[RB_MARKET_MOST];
    int n_markets;
    if (rb_job_is_asynchronous(plan->job) || plan->unpredicted || is_all_paid(plan) ||
        !find_markets(plan, sources, &n_markets))
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
    *s = (struct rb_plan_spot){.sure_sd = rb_normal_quantile((1 + fmin(plan->confidence, MOST_SURE)) / 2)};
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
