#include "planner/proof/affordable.h"

#include <math.h>

#define ROUNDS  8   // each leaves out choices that the last one has shown to be too dear
#define ROUND_S 0.5 // a bill rounded up to the second is off by no more than this from half a second

// At most the variance of a stage's time on new nodes. Under list scheduling no stage moves by more than one of its trials or
// arrivals does, so their variances add up to a bound.
// Source: Efron and Stein, The jackknife estimate of variance (1981).
static double variance_s2(const struct rb_law *trial, int n_trials, const struct rb_law *arrival, int nodes)
{
    return n_trials * trial->variance_s2 + nodes * arrival->variance_s2;
}

// At most the standard deviation of what a choice adds to the bill, whatever is kept: as if a stage and its nodes' queues always
// erred in the same direction.
static bool deviation_uusd(struct rb_search *search, struct rb_floors *floors, int stage, const struct rb_choice *c,
                           double queue_sd_s, double *out, struct rb_err *err)
{
    const struct rb_scenario *s = search->scenario;
    const struct rb_rung *rung = &s->stages.rungs[stage];
    const struct rb_stage_time second = {.law.mean_s = 1};
    double unit_s;
    if (!rb_scenario_unit_s(s, c->offer, c->gpus, &unit_s, err))
        return false;
    const struct rb_law *trial =
        rb_stage_times_trial(search->times, s->profile, rb_scenario_rung_units(s, stage), unit_s);
    const double time_s = sqrt(variance_s2(trial, rung->trials, rb_floors_arrival(floors, c->offer), c->nodes));
    // All nodes for a second, none of them new.
    *out = rb_stage_cost_mean_uusd(s, c, c->nodes, &second) * (time_s + queue_sd_s + ROUND_S);
    return true;
}

static double least_through(const struct rb_togo *t, int stage, const struct rb_lattice_entry *e)
{
    double least = INFINITY;
    for (int kept = 0; kept < (stage > 0 ? e->count + 2 : 1); kept++)
        least = fmin(least, rb_togo_through(t, stage, e, kept));
    return least;
}

// The largest deviation of any choice that plans of at most `most_uusd` make in a stage.
static bool largest_deviation(struct rb_search *search, const struct rb_togo *t, const double *queue_sd_s, int stage,
                              double most_uusd, double *out, struct rb_err *err)
{
    const struct rb_lattice_stage *list = &t->lattice->stages[stage];
    *out = 0;
    for (int i = 0; i < list->n; i++) {
        const struct rb_lattice_entry *e = &list->entries[i];
        double here;
        if (least_through(t, stage, e) > most_uusd)
            continue;
        if (!deviation_uusd(search, t->lattice->floors, stage, &e->choice, queue_sd_s[e->choice.offer], &here, err))
            return false;
        *out = fmax(*out, here);
    }
    return true;
}

static bool largest_deviations(struct rb_search *search, const struct rb_togo *t, const double *queue_sd_s,
                               double most_uusd, double *out, struct rb_err *err)
{
    double squares = 0;
    for (int stage = 0; stage < t->lattice->n_stages; stage++) {
        double here;
        if (!largest_deviation(search, t, queue_sd_s, stage, most_uusd, &here, err))
            return false;
        squares += here * here;
    }
    *out = sqrt(squares);
    return true;
}

// Cantelli's inequality: P(C <= B) >= c leaves the mean at most sqrt((1 - c) / c) deviations above B.
bool rb_affordable_uusd(struct rb_search *search, struct rb_togo *cheapest, double *out_uusd, struct rb_err *err)
{
    const struct rb_plan_request *req = search->req;
    const double share = sqrt((1 - req->confidence) / req->confidence);
    double most_uusd = INFINITY, last_uusd = INFINITY;
    const int n_offers = search->scenario->n_offers;
    RB_AUTO(rb_auto_free) double *queue_sd_s = rb_xcalloc((size_t)n_offers, sizeof *queue_sd_s);
    bool ok = true;
    for (int i = 0; i < n_offers && req->budget_uusd >= 0; i++) {
        const struct rb_provisioning *p = search->scenario->sim_offers[i].provisioning;
        queue_sd_s[i] = search->sizes[i].n > 0 ? sqrt(rb_stage_times_queue(search->times, p)->variance_s2) : 0;
    }
    if (req->budget_uusd >= 0)
        rb_togo_compute_before(cheapest);
    for (int i = 0; ok && i < ROUNDS && req->budget_uusd >= 0 && (i < 2 || most_uusd < last_uusd); i++) {
        double deviation;
        last_uusd = most_uusd;
        ok = largest_deviations(search, cheapest, queue_sd_s, most_uusd, &deviation, err);
        most_uusd = fmin(most_uusd, (double)req->budget_uusd + share * deviation);
    }
    if (ok)
        *out_uusd = most_uusd;
    return ok;
}
