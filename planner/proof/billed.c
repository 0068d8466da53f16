#include "planner/proof/billed.h"

#include "planner/scores/draws.h"
#include "planner/scores/stage_samples.h"

#include <math.h>
#include <stdlib.h>

#define SHOWS             2e-3 // of a mean cost: less is not looked for
#define BILLED_AT_LEAST_S 60.0

// --- at most

static int new_nodes(const struct rb_candidate *c, int stage)
{
    return c->stages[stage].nodes - rb_choice_kept(stage > 0 ? &c->stages[stage - 1] : NULL, &c->stages[stage]);
}

// Nodes that a stage requests and the next one still has: the oldest are kept first.
static int held_of_new(const struct rb_candidate *c, int stage)
{
    const int old = c->stages[stage].nodes - new_nodes(c, stage);
    const int held = rb_choice_kept(&c->stages[stage], &c->stages[stage + 1]) - old;
    return held > 0 ? held : 0;
}

static double rate_uusd(const struct rb_scenario *s, const struct rb_choice *choice)
{
    return rb_node_rate_uusd(&s->sim_offers[choice->offer].billing);
}

// A node that is held lives for 60 s if the next stage takes as long and the node ran when it began.
static double minimum_uusd(const struct rb_scenario *s, const struct rb_candidate *c,
                           const struct rb_stage_time *const *times, int stage, int n)
{
    const int requested = new_nodes(c, stage), held = stage + 1 < n ? held_of_new(c, stage) : 0;
    const double short_lived = times[stage]->short_lived;
    double held_short = 0;
    if (held > 0 && short_lived > 0) {
        const struct rb_law *next = &times[stage + 1]->law;
        held_short = fmin(short_lived, times[stage]->unready + rb_law_below(next, BILLED_AT_LEAST_S) + next->error);
    }
    return rate_uusd(s, &c->stages[stage]) * BILLED_AT_LEAST_S * ((requested - held) * short_lived + held * held_short);
}

// No stage of a plan ends later than if all after this one began when its last node is there that is held: no node lives longer
// than by that. A node that never ran is billed nothing instead of less.
static double late_uusd(const struct rb_scenario *s, const struct rb_candidate *c,
                        const struct rb_stage_time *const *times, int stage, int n)
{
    const struct rb_choice *choice = &c->stages[stage];
    const int requested = new_nodes(c, stage), held = stage + 1 < n ? held_of_new(c, stage) : requested;
    const double of_node_s = times[stage]->late_node_mean_s;
    double rates = rate_uusd(s, choice) * choice->nodes, dearest = 0;
    if (stage + 1 == c->n_stages || !(of_node_s > 0))
        return rate_uusd(s, choice) * requested * of_node_s;
    for (int later = stage + 1; later < n; later++)
        rates += rate_uusd(s, &c->stages[later]) * new_nodes(c, later);
    for (int offer = 0; offer < s->n_offers && n < c->n_stages; offer++)
        dearest = fmax(dearest, rb_node_rate_uusd(&s->sim_offers[offer].billing) *
                                    rb_planner_max_nodes(s->job, &s->offers[offer]));
    return rate_uusd(s, choice) * requested * of_node_s +
           fmin(times[stage]->late_mean_s, held * of_node_s) * (rates + (c->n_stages - n) * dearest);
}

double rb_billed_above_sum_uusd(const struct rb_scenario *s, const struct rb_candidate *c,
                                const struct rb_stage_time *const *times, int n)
{
    double sum = 0;
    for (int stage = 0; stage < n; stage++) {
        if (new_nodes(c, stage) > 0)
            sum += minimum_uusd(s, c, times, stage, n) + late_uusd(s, c, times, stage, n);
    }
    return sum;
}

bool rb_billed_may_differ(const struct rb_score *score)
{
    return score->above_sum_uusd > SHOWS * score->cost_mean_uusd;
}

// --- by runs

static struct rb_billed mean_of(const double *values, int n)
{
    double sum = 0, squares = 0;
    for (int r = 0; r < n; r++)
        sum += values[r];
    const double mean = sum / n;
    for (int r = 0; r < n; r++)
        squares += (values[r] - mean) * (values[r] - mean);
    return (struct rb_billed){mean, sqrt(squares / n / fmax(1, n - 1)), n};
}

bool rb_billed_by_runs(struct rb_search *search, const struct rb_candidate *c, const struct rb_score *score, int n,
                       struct rb_billed *out, struct rb_err *err)
{
    const struct rb_runs *runs;
    if (!rb_draws_get(search, c, n, &runs, err))
        return false;
    RB_AUTO(rb_auto_free) double *values = rb_xcalloc((size_t)n, sizeof *values);
    for (int r = 0; r < n; r++)
        values[r] = (double)runs->cost_uusd[r];
    struct rb_billed billed = mean_of(values, n);
    if (runs->alone_uusd) {
        for (int r = 0; r < n; r++)
            values[r] -= (double)runs->alone_uusd[r];
        struct rb_billed above = mean_of(values, n);
        above.mean_uusd += score->cost_mean_uusd;
        billed = above.error_uusd < billed.error_uusd ? above : billed;
    }
    billed.mean_uusd = fmax(billed.mean_uusd, score->cost_mean_uusd);
    *out = billed;
    return true;
}

bool rb_billed_mean(struct rb_search *search, const struct rb_candidate *candidate, const struct rb_score *score,
                    struct rb_billed *out, struct rb_err *err)
{
    if (rb_billed_may_differ(score))
        return rb_billed_by_runs(search, candidate, score, search->req->samples, out, err);
    *out = (struct rb_billed){.mean_uusd = score->cost_mean_uusd};
    return true;
}

double rb_billed_at_least_uusd(const struct rb_billed *billed, const struct rb_score *score)
{
    return fmax(score->cost_mean_uusd, billed->mean_uusd - RB_BILLED_SIGMA * billed->error_uusd);
}
