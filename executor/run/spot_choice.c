#include "executor/run/spot_choice.h"

#include "base/text/units.h"
#include "simulator/model/prediction.h"
#include "simulator/spot/plan_spot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { QUESTIONS = 200, LEAST_US = 1000000 }; // a deadline; between two of them

struct rb_spot_choice {
    struct rb_node_chooser chooser;
    const struct rb_plan *plan;
    struct rb_prediction *prediction;
    struct rb_plan_spot spot; // policy NULL: the guard alone
    double unseen_s;          // from a loss until it is seen
    // The last prediction: of the run after this number of events, at that time.
    int64_t n_seen, n_predicted, predicted_us;
    bool is_known;
    int64_t latest_us, highest_uusd;
};

static bool is_spot(const struct rb_plan *plan, int fallback)
{
    return plan->offers[plan->fallbacks[fallback]].market == RB_MARKET_SPOT;
}

// --- where the run stands

// The largest, or what a lognormal of what comes after `past` exceeds by `sure_sd` standard deviations, if that is more.
static int64_t at_most(const int64_t *values, int64_t past, double sure_sd)
{
    double logs[RB_SPOT_RUNS], sum = 0, squares = 0, largest = 0;
    for (int i = 0; i < RB_SPOT_RUNS; i++) {
        logs[i] = log(fmax(1, (double)(values[i] - past)));
        sum += logs[i];
        largest = fmax(largest, (double)values[i]);
    }
    for (int i = 0; i < RB_SPOT_RUNS; i++)
        squares += (logs[i] - sum / RB_SPOT_RUNS) * (logs[i] - sum / RB_SPOT_RUNS);
    const double sd = sqrt(squares / (RB_SPOT_RUNS - 1));
    return (int64_t)fmax(largest, (double)past + exp(sum / RB_SPOT_RUNS + sure_sd * sd));
}

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
    if (c->is_known) {
        c->latest_us = at_most(time_us, q->now_us, c->spot.sure_sd);
        c->highest_uusd = at_most(cost_uusd, q->spent_uusd, c->spot.sure_sd);
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

static enum rb_spot_mode by_policy(const struct rb_spot_choice *c, const struct rb_spot_guard *guard,
                                   const struct rb_node_question *q, const struct rb_spot_now *now, int *out_market)
{
    const struct rb_engine *e = rb_prediction_engine(c->prediction);
    const int running = rb_engine_stage(e), stage = running < 0 ? 0 : running;
    const struct rb_plan_stage *planned = &c->plan->stages[stage];
    const double left_s = (double)planned->time_us.p50 / RB_US_PER_S * share_left(e, planned, stage);
    const double work_s = q->mode == RB_SPOT_ON_DEMAND ? left_s - q->giving_way_s : left_s; // that would be on spot
    if (q->mode == RB_SPOT_ON_DEMAND && work_s <= 0)
        return RB_SPOT_ON_DEMAND;
    const struct rb_spot_question question = {
        .now = *now,
        .stage = stage,
        .work_s = work_s,
        .held = q->held,
        .markets = q->markets,
        .lost_ago_s = q->lost_ago_s,
    };
    return rb_spot_policy_choose(c->spot.policy, guard, &question, out_market);
}

// Without a policy: the first market that has nodes, in the plan's order. A node on demand is not asked about.
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
                  pays_not && c->spot.policy ? ", and spot would cost more from here" : "");
}

static enum rb_spot_mode choose(void *ctx, const struct rb_node_question *q, int *out_market, struct rb_buf *why)
{
    struct rb_spot_choice *c = ctx;
    if (q->deadline_us < 0 || !predict(c, q)) {
        rb_buf_puts(why, q->deadline_us < 0 ? "the run has no deadline" : "when the run will end cannot be predicted");
        return RB_SPOT_ON_DEMAND;
    }
    const double spare_s = (double)(q->deadline_us - c->latest_us) / RB_US_PER_S;
    const struct rb_spot_guard guard = {
        .start_s = {0, c->spot.start_s[RB_SPOT_ON_SPOT], c->spot.start_s[RB_SPOT_ON_DEMAND]},
        .rate = {0, q->count * c->spot.rate[RB_SPOT_ON_SPOT], q->count * c->spot.rate[RB_SPOT_ON_DEMAND]},
        .budget = q->budget_uusd < 0 ? INFINITY : (double)q->budget_uusd,
    };
    const struct rb_spot_now now = {
        .mode = q->mode,
        // The prediction has a cold start on demand for a node that is requested; the guard takes it off, too.
        .slack_s = spare_s + (q->mode == RB_SPOT_IDLE ? c->spot.start_s[RB_SPOT_ON_DEMAND] : 0),
        .unsaved_s = q->unsaved_s + c->unseen_s,
        .ahead_s = (double)c->chooser.every_us / RB_US_PER_S,
        .spent = (double)c->highest_uusd,
    };
    const enum rb_spot_mode mode =
        c->spot.policy ? by_policy(c, &guard, q, &now, out_market) : by_guard(c, &guard, q, &now, out_market);
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
    if (plan->job->resources.spot != RB_SPOT_SAFE || plan->deadline_us < 0 || rb_plan_spot_offer(plan) < 0)
        return NULL;
    struct rb_spot_choice *c = rb_xcalloc(1, sizeof *c);
    const int64_t every_us = plan->deadline_us / QUESTIONS;
    c->plan = plan;
    c->unseen_s = unseen_s;
    c->prediction = rb_prediction_create(plan);
    c->n_predicted = -1;
    rb_plan_spot_init(&c->spot, plan);
    c->chooser = (struct rb_node_chooser){.ctx = c,
                                          .saw = saw,
                                          .choose = choose,
                                          .every_us = every_us > LEAST_US ? every_us : LEAST_US,
                                          .returns = c->spot.policy != NULL};
    return c;
}

void rb_spot_choice_destroy(struct rb_spot_choice *c)
{
    if (!c)
        return;
    rb_plan_spot_finish(&c->spot);
    rb_prediction_destroy(c->prediction);
    free(c);
}

const struct rb_node_chooser *rb_spot_choice_chooser(const struct rb_spot_choice *c)
{
    return c ? &c->chooser : NULL;
}
