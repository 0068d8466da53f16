#include "executor/run/standing.h"

#include "base/clock.h"

#include <math.h>

enum {
    SLICE_US = 10000,   // twice a second: 2 % of a core
    REST_PER_WORK = 30, // the next prediction starts 3 s after one that took 0.1 s
    LEAST_REST_US = 1000000,
};

void rb_standing_begin(struct rb_standing *s, const struct rb_progress *now)
{
    rb_prediction_begin(s->prediction, &(struct rb_prediction_now){.now_us = now->elapsed_us,
                                                                   .spent_uusd = now->spent_uusd,
                                                                   .deadline_us = now->deadline_us,
                                                                   .budget_uusd = now->budget_uusd});
    s->begun_us = rb_clock_monotonic_us();
    s->worked_us = 0;
    s->stage = now->stage;
}

static bool is_due(const struct rb_standing *s, int64_t clock_us)
{
    const int64_t rest_us = REST_PER_WORK * s->worked_us;
    return s->begun_us == 0 || clock_us - s->begun_us >= (rest_us > LEAST_REST_US ? rest_us : LEAST_REST_US);
}

bool rb_standing_work(struct rb_standing *s, const struct rb_progress *now)
{
    const int64_t from_us = rb_clock_monotonic_us();
    if (rb_prediction_make(s->prediction, 0)) {
        if (!is_due(s, from_us))
            return false;
        rb_standing_begin(s, now);
    }
    int64_t spent_us = 0;
    bool is_complete = false;
    while (spent_us < SLICE_US && !is_complete) {
        is_complete = rb_prediction_make(s->prediction, 1);
        spent_us = rb_clock_monotonic_us() - from_us;
    }
    s->worked_us += spent_us;
    return is_complete;
}

void rb_standing_settle(struct rb_standing *s, const struct rb_progress *now)
{
    rb_standing_begin(s, now);
    while (!rb_prediction_make(s->prediction, RB_PREDICTION_SAMPLES))
        ;
}

static void put_estimate(const struct rb_estimate *e, struct rb_progress *out)
{
    out->end_p50_us = e->time_us.p50;
    out->end_p95_us = e->time_us.p95;
    if (out->deadline_us >= 0 && !e->spread_unknown)
        out->p_on_time = e->p_deadline;
    if (out->is_lent)
        return; // the pool pays
    out->cost_mean_uusd = e->cost_uusd.mean;
    out->cost_p95_uusd = e->cost_uusd.p95;
    if (out->budget_uusd >= 0 && !e->spread_unknown)
        out->p_in_budget = e->p_budget;
}

// The plan's probabilities are for the limits that it was made for.
static void put_plan(const struct rb_standing *s, struct rb_progress *out)
{
    const struct rb_estimate *e = rb_prediction_planned(s->prediction);
    const struct rb_plan *plan = rb_prediction_plan(s->prediction);
    if (!e || e->time_us.p50 < out->elapsed_us)
        return; // a run that is over needs no forecast
    rb_progress_set_unknown(out, NULL);
    put_estimate(e, out);
    out->is_planned = true;
    if (plan->deadline_us != out->deadline_us)
        out->p_on_time = NAN;
    if (plan->budget_uusd != out->budget_uusd)
        out->p_in_budget = NAN;
}

void rb_standing_report(const struct rb_standing *s, struct rb_progress *out)
{
    const char *why;
    const struct rb_estimate *e = rb_prediction_estimate(s->prediction, &why);
    rb_progress_set_unknown(out, why);
    if (e)
        put_estimate(e, out);
    else
        put_plan(s, out);
    struct rb_prediction_pace pace;
    if (rb_prediction_pace(s->prediction, &pace)) {
        out->pace = pace.pace;
        out->pace_low = pace.low;
        out->pace_high = pace.high;
    }
}
