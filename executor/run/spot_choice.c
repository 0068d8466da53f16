#include "executor/run/spot_choice.h"

#include "base/text/units.h"
#include "executor/launcher/save_interval.h"
#include "simulator/model/prediction.h"
#include "simulator/spot/spot_policy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    QUESTIONS = 200, LEAST_US = 1000000, // a deadline; between two of them
    STEPS = 400,                         // of the policy's tables
};

#define QUANTILE 0.999 // of a cold start

struct rb_spot_choice {
    struct rb_node_chooser chooser;
    const struct rb_plan *plan;
    struct rb_prediction *prediction;
    struct rb_spot_policy *policy; // NULL: the guard alone
    double start_s[3];             // by mode: quantile of a cold start with the trial's start-up
    double unseen_s;               // from a loss until it is seen
    double rate[3];                // micro-dollars a second of one node, the dearest
    // The last prediction: of the run after so many events, at that time.
    int64_t n_seen, n_predicted, predicted_us;
    bool is_known;
    int64_t latest_us, dearest_uusd;
};

// --- cold starts and prices

static const struct rb_provisioning *provisioning(const struct rb_plan *plan, int offer)
{
    const struct rb_offer *o = &plan->offers[offer];
    return rb_profile_provisioning(plan->profile, o->infra, o->instance_type, o->market);
}

// At a quantile of each of its parts; a request that is refused is made again, as often as that quantile says.
static double start_at(const struct rb_plan *plan, int offer, double quantile)
{
    const struct rb_provisioning *p = provisioning(plan, offer);
    if (!p)
        return INFINITY;
    const double f = p->capacity_failure, refusals = f > 0 ? ceil(log1p(-quantile) / log(f)) : 0;
    return (1 + refusals) * rb_dist_quantile(&p->queue_s, quantile) + rb_dist_quantile(&p->init_s, quantile) +
           rb_dist_quantile(&plan->profile->startup_s, quantile);
}

static void count_offer(struct rb_spot_choice *c, int offer)
{
    const struct rb_offer *o = &c->plan->offers[offer];
    const enum rb_spot_mode mode = o->market == RB_MARKET_SPOT ? RB_SPOT_ON_SPOT : RB_SPOT_ON_DEMAND;
    c->start_s[mode] = fmax(c->start_s[mode], start_at(c->plan, offer, QUANTILE));
    c->rate[mode] = fmax(c->rate[mode], (double)o->rate.uusd_per_hour / RB_S_PER_HOUR);
}

// --- the policy

static bool is_spot(const struct rb_plan *plan, int fallback)
{
    return plan->offers[plan->fallbacks[fallback]].market == RB_MARKET_SPOT;
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

static double mean_start_s(const struct rb_plan *plan, int offer)
{
    const struct rb_provisioning *p = provisioning(plan, offer);
    return rb_dist_mean(&p->queue_s) + rb_dist_mean(&p->init_s) + rb_dist_mean(&plan->profile->startup_s);
}

static struct rb_spot_policy *make_policy(const struct rb_spot_choice *c, int spot_offer)
{
    const struct rb_plan *plan = c->plan;
    struct rb_market_source sources[RB_MARKET_MOST];
    struct rb_spot_stage stages[RB_LIMIT_STAGES];
    int n_markets;
    if (rb_job_is_asynchronous(plan->job) || plan->unpredicted || !find_markets(plan, sources, &n_markets))
        return NULL;
    const double deadline_s = (double)plan->deadline_us / RB_US_PER_S, start_s = mean_start_s(plan, spot_offer);
    const double tick_s = rb_spot_policy_tick_s(deadline_s, start_s, STEPS), most_s = c->start_s[RB_SPOT_ON_DEMAND];
    double slack_s = deadline_s - (plan->n_stages - 1) * most_s;
    for (int i = 0; i < plan->n_stages; i++) {
        const double time_s = (double)plan->stages[i].time_us.p50 / RB_US_PER_S;
        const int64_t every_s = rb_save_interval_s(plan->job, plan->profile, &plan->offers[spot_offer]);
        stages[i] = (struct rb_spot_stage){
            .trials = rb_plan_stage_node_count(&plan->stages[i]),
            .work_s = fmax(tick_s, time_s - mean_start_s(plan, plan->stages[i].nodes[0].offer)),
            .save_every_s = every_s > 0 ? (double)every_s : INFINITY,
        };
        slack_s -= stages[i].work_s;
    }
    struct rb_market_mix *mix = rb_xcalloc(1, sizeof *mix);
    rb_market_mix_init(mix, sources, n_markets, tick_s);
    struct rb_spot_policy *policy = rb_spot_policy_create(&(struct rb_spot_problem){
        .mix = mix,
        .stages = stages,
        .n_stages = plan->n_stages,
        .start_s = start_s,
        .start_most_s = most_s,
        .ratio = c->rate[RB_SPOT_ON_DEMAND] / c->rate[RB_SPOT_ON_SPOT],
        .slack_s = fmax(0, slack_s),
    });
    free(mix);
    return policy;
}

// --- where the run stands

// Both are of the whole run, if it goes on on demand from now on.
static bool predict(struct rb_spot_choice *c, const struct rb_node_question *q)
{
    int64_t time_us[RB_SPOT_RUNS], cost_uusd[RB_SPOT_RUNS];
    if (c->n_predicted == c->n_seen && c->predicted_us == q->now_us)
        return c->is_known;
    const struct rb_prediction_now now = {q->now_us, q->spent_uusd, q->deadline_us, q->budget_uusd};
    rb_prediction_begin(c->prediction, &now);
    c->n_predicted = c->n_seen;
    c->predicted_us = q->now_us;
    c->is_known = rb_prediction_try(c->prediction, NULL, 0, RB_SPOT_RUNS, time_us, cost_uusd);
    c->latest_us = c->dearest_uusd = 0;
    for (int i = 0; i < RB_SPOT_RUNS && c->is_known; i++) {
        c->latest_us = time_us[i] > c->latest_us ? time_us[i] : c->latest_us;
        c->dearest_uusd = cost_uusd[i] > c->dearest_uusd ? cost_uusd[i] : c->dearest_uusd;
    }
    return c->is_known;
}

// The share of the stage that its trials have still to train.
static double share_left(const struct rb_engine *e, const struct rb_plan_stage *stage, int index)
{
    const double all = (double)(stage->resource_end - stage->resource_start);
    double left = 0;
    int n = 0;
    for (int i = 0; i < rb_engine_n_trials(e); i++) {
        const struct rb_trial *t = rb_engine_trial(e, i);
        if (t->stage != index)
            continue;
        left += fmin(1, fmax(0, (double)(stage->resource_end - t->resource) / all));
        n++;
    }
    return n > 0 ? left / n : 1;
}

static struct rb_spot_question policy_question(const struct rb_spot_choice *c, const struct rb_node_question *q,
                                               const struct rb_spot_now *now)
{
    const struct rb_engine *e = rb_prediction_engine(c->prediction);
    const int running = rb_engine_stage(e), stage = running < 0 ? 0 : running;
    const struct rb_plan_stage *planned = &c->plan->stages[stage];
    return (struct rb_spot_question){
        .now = *now,
        .stage = stage,
        .work_s = (double)planned->time_us.p50 / RB_US_PER_S * share_left(e, planned, stage),
        .held = q->held,
        .markets = q->markets,
        .lost_ago_s = q->lost_ago_s,
    };
}

// Without a policy: the first market that has nodes, in the plan's order.
static enum rb_spot_mode by_guard(const struct rb_spot_choice *c, const struct rb_spot_guard *guard,
                                  const struct rb_node_question *q, const struct rb_spot_now *now, int *out_market)
{
    int n = 0;
    for (int i = 0; i < c->plan->n_fallbacks; i++)
        n += is_spot(c->plan, i);
    *out_market = q->held;
    for (int m = 0; m < n && *out_market < 0; m++)
        *out_market = q->markets[m].up ? m : -1;
    if (*out_market < 0)
        return rb_spot_guard_permits(guard, now, RB_SPOT_IDLE) ? RB_SPOT_IDLE : RB_SPOT_ON_DEMAND;
    const bool stays = q->held >= 0 && !rb_spot_guard_permits(guard, now, RB_SPOT_ON_DEMAND);
    return stays || rb_spot_guard_permits(guard, now, RB_SPOT_ON_SPOT) ? RB_SPOT_ON_SPOT : RB_SPOT_ON_DEMAND;
}

// Spare time if it goes on on demand from now on, and what a spot node that is lost takes of it.
static void explain(const struct rb_spot_choice *c, const struct rb_spot_guard *guard, const struct rb_spot_now *now,
                    double spare_s, enum rb_spot_mode mode, struct rb_buf *out)
{
    char spare[32], loss[32];
    const enum rb_spot_mode restart = now->mode == RB_SPOT_ON_SPOT ? RB_SPOT_ON_DEMAND : RB_SPOT_ON_SPOT;
    const bool pays_not = mode == RB_SPOT_ON_DEMAND && rb_spot_guard_permits(guard, now, RB_SPOT_ON_SPOT);
    rb_format_duration((int64_t)(fmax(0, spare_s) * RB_US_PER_S), spare);
    rb_format_duration((int64_t)((guard->start_s[restart] + now->unsaved_s) * RB_US_PER_S), loss);
    rb_buf_printf(out, "%s of slack, a loss costs at most %s%s", spare, loss,
                  pays_not && c->policy ? ", and spot would cost more from here" : "");
}

static enum rb_spot_mode choose(void *ctx, const struct rb_node_question *q, int *out_market, struct rb_buf *why)
{
    struct rb_spot_choice *c = ctx;
    if (q->deadline_us < 0 || !predict(c, q)) {
        rb_buf_puts(why, q->deadline_us < 0 ? "the run has no deadline" : "when the run will end cannot be predicted");
        return RB_SPOT_ON_DEMAND;
    }
    const bool holds = q->held >= 0;
    const double spare_s = (double)(q->deadline_us - c->latest_us) / RB_US_PER_S;
    const struct rb_spot_guard guard = {
        .start_s = {0, c->start_s[RB_SPOT_ON_SPOT], c->start_s[RB_SPOT_ON_DEMAND]},
        .rate = {0, q->count * c->rate[RB_SPOT_ON_SPOT], q->count * c->rate[RB_SPOT_ON_DEMAND]},
        .budget = q->budget_uusd < 0 ? INFINITY : (double)q->budget_uusd,
    };
    const struct rb_spot_now now = {
        .mode = holds ? RB_SPOT_ON_SPOT : RB_SPOT_IDLE,
        // The prediction has a cold start on demand for a node that is requested; the guard takes it off, too.
        .slack_s = spare_s + (holds ? 0 : c->start_s[RB_SPOT_ON_DEMAND]),
        .unsaved_s = q->unsaved_s + c->unseen_s,
        .ahead_s = (double)c->chooser.every_us / RB_US_PER_S,
        .spent = (double)c->dearest_uusd,
    };
    const struct rb_spot_question question = policy_question(c, q, &now);
    const enum rb_spot_mode mode = c->policy ? rb_spot_policy_choose(c->policy, &guard, &question, out_market)
                                             : by_guard(c, &guard, q, &now, out_market);
    explain(c, &guard, &now, spare_s, mode, why);
    return mode;
}

static void saw(void *ctx, const struct rb_event *event)
{
    struct rb_spot_choice *c = ctx;
    rb_prediction_event(c->prediction, event);
    c->n_seen++;
}

// --- life

struct rb_spot_choice *rb_spot_choice_create(const struct rb_plan *plan, double unseen_s)
{
    int spot_offer = -1;
    for (int i = 0; i < plan->n_fallbacks && spot_offer < 0; i++)
        spot_offer = is_spot(plan, i) ? plan->fallbacks[i] : -1;
    if (plan->job->resources.spot != RB_SPOT_SAFE || plan->deadline_us < 0 || spot_offer < 0)
        return NULL;
    struct rb_spot_choice *c = rb_xcalloc(1, sizeof *c);
    const int64_t every_us = plan->deadline_us / QUESTIONS;
    c->plan = plan;
    c->unseen_s = unseen_s;
    c->prediction = rb_prediction_create(plan);
    c->n_predicted = -1;
    for (int i = 0; i < plan->n_stages; i++)
        count_offer(c, plan->stages[i].nodes[0].offer);
    for (int i = 0; i < plan->n_fallbacks; i++)
        if (is_spot(plan, i))
            count_offer(c, plan->fallbacks[i]);
    c->policy = make_policy(c, spot_offer);
    c->chooser = (struct rb_node_chooser){
        .ctx = c, .saw = saw, .choose = choose, .every_us = every_us > LEAST_US ? every_us : LEAST_US};
    return c;
}

void rb_spot_choice_destroy(struct rb_spot_choice *c)
{
    if (!c)
        return;
    rb_spot_policy_destroy(c->policy);
    rb_prediction_destroy(c->prediction);
    free(c);
}

const struct rb_node_chooser *rb_spot_choice_chooser(const struct rb_spot_choice *c)
{
    return c ? &c->chooser : NULL;
}
