#include "planner/questions/async_nearest.h"

#include <math.h>
#include <stdlib.h>

#define LOOKED_AT 3 // candidates that seem nearest, for each constraint

// Amount the budget must cover beyond the bill: a run is stopped while it can still pay for all nodes to end.
static int64_t reserve_uusd(const struct rb_search *search, const struct rb_candidate *candidate)
{
    const int64_t long_us = RB_S_PER_HOUR * RB_US_PER_S,
                  more_us = RB_BILLING_GRACE_US + RB_US_PER_S; // billed seconds begin at any instant
    int64_t most_uusd = 0;
    for (int i = 0; i < candidate->n_stages; i++) {
        const struct rb_choice *c = &candidate->stages[i];
        const struct rb_billing *b = &search->scenario->sim_offers[c->offer].billing;
        const int64_t uusd = rb_bill_node(b, 0, long_us + more_us).total_uusd - rb_bill_node(b, 0, long_us).total_uusd;
        most_uusd = c->nodes * uusd > most_uusd ? c->nodes * uusd : most_uusd;
    }
    return most_uusd;
}

struct rb_needs rb_async_needs_of(const struct rb_search *search, const struct rb_candidate *candidate,
                                  const int64_t *time_us, const int64_t *cost_uusd, int n, double confidence)
{
    const struct rb_plan_request *req = search->req;
    RB_AUTO(rb_auto_free) int64_t *scratch = rb_xcalloc((size_t)n, sizeof *scratch);
    const int64_t reserved_uusd = reserve_uusd(search, candidate);
    const int64_t to_spend_uusd = req->budget_uusd > reserved_uusd ? req->budget_uusd - reserved_uusd : 0;
    struct rb_needs needs = rb_needs_of(time_us, cost_uusd, n, req->deadline_us,
                                        req->budget_uusd < 0 ? -1 : to_spend_uusd, confidence, scratch);
    if (needs.budget_uusd >= 0 && needs.budget_uusd < INT64_MAX)
        needs.budget_uusd += reserved_uusd;
    return needs;
}

static struct rb_needs needs_by(const struct rb_search *search, const struct rb_candidate *candidate,
                                const struct rb_runs *runs, double confidence)
{
    return rb_async_needs_of(search, candidate, runs->time_us, runs->cost_uusd, runs->n, confidence);
}

static int64_t stricter(int64_t a, int64_t b)
{
    return a < 0 || b < 0 ? -1 : a > b ? a : b;
}

struct rb_needs rb_needs_stricter(const struct rb_needs *a, const struct rb_needs *b)
{
    return (struct rb_needs){
        .deadline_us = stricter(a->deadline_us, b->deadline_us),
        .budget_uusd = stricter(a->budget_uusd, b->budget_uusd),
        .confidence = fmin(a->confidence, b->confidence),
    };
}

bool rb_async_needs(struct rb_search *search, const struct rb_candidate *candidate, struct rb_needs *out,
                    struct rb_err *err)
{
    const double c = rb_search_confidence(search);
    const struct rb_runs *runs;
    if (!rb_async_compared(search, candidate, rb_async_n_compared(search), &runs, err))
        return false;
    const struct rb_needs compared = needs_by(search, candidate, runs, fmin(1, c + sqrt(c * (1 - c) / runs->n)));
    if (!rb_async_unseen(search, candidate, search->req->samples, &runs, err))
        return false;
    const struct rb_needs unseen = needs_by(search, candidate, runs, c);
    *out = rb_needs_stricter(&compared, &unseen);
    return true;
}

// The value to minimise; never: INFINITY.
static double distance(const struct rb_needs *needs, int what)
{
    if (what == 2)
        return needs->confidence > 0 ? 1 - needs->confidence : INFINITY;
    const int64_t value = what == 0 ? needs->deadline_us : needs->budget_uusd;
    return value < 0 ? INFINITY : (double)value;
}

static int nearest_index(const struct rb_needs *few, const bool *taken, int n, int what)
{
    int best = -1;
    for (int i = 0; i < n; i++) {
        if (!taken[i] && !isinf(distance(&few[i], what)) &&
            (best < 0 || distance(&few[i], what) < distance(&few[best], what)))
            best = i;
    }
    return best;
}

static int n_runs_of_needs(const struct rb_search *search)
{
    return rb_async_n_compared(search) + search->req->samples;
}

static bool look_closer(struct rb_search *search, const struct rb_candidate *candidates, const struct rb_needs *few,
                        int n, struct rb_needs *nearest, int *out_surest, struct rb_err *err)
{
    RB_AUTO(rb_auto_free) bool *taken = rb_xcalloc((size_t)n + 1, sizeof *taken);
    double surest_p = -1;
    *out_surest = n > 0 ? 0 : -1;
    for (int what = 0; what < 3; what++) {
        for (int k = 0; k < LOOKED_AT; k++) {
            struct rb_needs needs;
            if (what + k > 0 && !rb_search_has_time_for(search, n_runs_of_needs(search)))
                break;
            const int i = nearest_index(few, taken, n, what);
            if (i < 0)
                break;
            taken[i] = true;
            if (!rb_async_needs(search, &candidates[i], &needs, err))
                return false;
            rb_needs_merge(nearest, &needs);
            *out_surest = needs.confidence > surest_p ? i : *out_surest;
            surest_p = fmax(surest_p, needs.confidence);
        }
    }
    return true;
}

bool rb_async_nearest_of(struct rb_search *search, const struct rb_candidate *candidates, int n,
                         struct rb_plan_result *out, struct rb_err *err)
{
    RB_AUTO(rb_auto_free) struct rb_needs *few = rb_xcalloc((size_t)n + 1, sizeof *few);
    struct rb_needs nearest = rb_needs_none();
    int surest;
    for (int i = 0; i < n; i++) {
        const struct rb_runs *runs;
        few[i] = rb_needs_none();
        if (i > 0 && !rb_search_has_time_for(search, rb_async_n_screened(search) + n_runs_of_needs(search)))
            continue;
        if (!rb_async_compared(search, &candidates[i], rb_async_n_screened(search), &runs, err))
            return false;
        few[i] = needs_by(search, &candidates[i], runs, rb_search_confidence(search));
    }
    if (!look_closer(search, candidates, few, n, &nearest, &surest, err))
        return false;
    return rb_search_not_found(search, surest >= 0 ? &candidates[surest] : NULL, &nearest, out, err);
}
