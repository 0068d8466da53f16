#include "planner/questions/nearest.h"

#include "base/order.h"
#include "planner/async/endless.h"
#include "planner/proof/decide.h"

#include <math.h>
#include <stdlib.h>

#define SURER_SIGMA 2.0

static bool within(int64_t value, int64_t limit)
{
    return limit < 0 || value <= limit;
}

// The need-th smallest of `values` among the replicates that keep the other constraint; -1: too few keep it.
static int64_t smallest_limit(const int64_t *values, const int64_t *others, int64_t other_limit, int n, int need,
                              int64_t *scratch)
{
    int kept = 0;
    for (int r = 0; r < n; r++) {
        if (within(others[r], other_limit))
            scratch[kept++] = values[r];
    }
    if (kept < need || need == 0)
        return -1;
    qsort(scratch, (size_t)kept, sizeof *scratch, rb_order_int64s);
    return scratch[need - 1];
}

struct rb_needs rb_needs_of(const int64_t *time_us, const int64_t *cost_uusd, int n, int64_t deadline_us,
                            int64_t budget_uusd, double confidence, int64_t *scratch)
{
    int need = rb_need_count(confidence, n), met = 0;
    for (int r = 0; r < n; r++)
        met += within(time_us[r], deadline_us) && within(cost_uusd[r], budget_uusd);
    return (struct rb_needs){
        .deadline_us = smallest_limit(time_us, cost_uusd, budget_uusd, n, need, scratch),
        .budget_uusd = smallest_limit(cost_uusd, time_us, deadline_us, n, need, scratch),
        .confidence = (double)met / n,
    };
}

struct rb_needs rb_needs_none(void)
{
    return (struct rb_needs){.deadline_us = -1, .budget_uusd = -1, .confidence = 0};
}

static int64_t nearer(int64_t a, int64_t b)
{
    if (a < 0 || b < 0)
        return a < 0 ? b : a;
    return a < b ? a : b;
}

void rb_needs_merge(struct rb_needs *nearest, const struct rb_needs *other)
{
    nearest->deadline_us = nearer(nearest->deadline_us, other->deadline_us);
    nearest->budget_uusd = nearer(nearest->budget_uusd, other->budget_uusd);
    nearest->confidence = fmax(nearest->confidence, other->confidence);
}

static int64_t round_up(int64_t value, int64_t unit)
{
    return value < 0 ? -1 : (value + unit - 1) / unit * unit;
}

int64_t rb_beside_uusd(const struct rb_plan_request *req)
{
    return req->beside_uusd ? req->beside_uusd(req->beside_ctx, req->deadline_us) : 0;
}

static int64_t with_beside(int64_t budget_uusd, const struct rb_plan_request *req)
{
    return budget_uusd < 0 ? -1 : budget_uusd + rb_beside_uusd(req);
}

void rb_needs_round(const struct rb_needs *needs, const struct rb_plan_request *req, struct rb_plan_result *out)
{
    out->nearest_deadline_us = req->deadline_us < 0 ? -1 : round_up(needs->deadline_us, RB_US_PER_S);
    out->nearest_budget_uusd = req->budget_uusd < 0 ? -1 : round_up(with_beside(needs->budget_uusd, req), RB_UUSD / 100);
    double thousandths = floor(needs->confidence * 1000 + 1e-9);
    out->nearest_confidence = thousandths > 0 ? thousandths / 1000 : NAN;
}

// --- as JSON

void rb_nearest_write(const struct rb_plan_result *result, struct rb_json *j)
{
    rb_json_key(j, "nearest");
    rb_json_begin_object(j);
    rb_json_kint_or_null(j, "deadline_us", result->nearest_deadline_us);
    rb_json_kint_or_null(j, "budget_uusd", result->nearest_budget_uusd);
    rb_json_key(j, "confidence");
    if (isnan(result->nearest_confidence))
        rb_json_null(j);
    else
        rb_json_double(j, result->nearest_confidence);
    rb_json_end_object(j);
}

// --- of candidates

// The nearest constraints must hold on other runs as well, so the margin is the possible error of these n.
static double surer(double confidence, int n)
{
    const double more = RB_DECIDED + SURER_SIGMA * sqrt(confidence * (1 - confidence) / n);
    return confidence + fmin(more, (1 - confidence) / 2);
}

bool rb_search_needs(struct rb_search *search, const struct rb_candidate *candidate, struct rb_needs *out,
                     struct rb_err *err)
{
    const struct rb_plan_request *req = search->req;
    const struct rb_runs *runs;
    struct rb_err why = {0};
    *out = rb_needs_none();
    if (rb_has_endless_stage(search, candidate))
        return true;
    if (!rb_search_runs(search, candidate, req->samples, &runs, &why)) {
        if (why.code != RB_ERR_INFEASIBLE) // otherwise it does not finish
            *err = why;
        return why.code == RB_ERR_INFEASIBLE;
    }
    RB_AUTO(rb_auto_free) int64_t *scratch = rb_xcalloc((size_t)runs->n, sizeof *scratch);
    const double confidence = surer(rb_search_confidence(search), runs->n);
    *out =
        rb_needs_of(runs->time_us, runs->cost_uusd, runs->n, req->deadline_us, req->budget_uusd, confidence, scratch);
    return true;
}

bool rb_search_nearest_of(struct rb_search *search, const struct rb_candidate *candidates, int n,
                          struct rb_plan_result *out, struct rb_err *err)
{
    return search->scorer->nearest_of(search, candidates, n, out, err);
}

bool rb_stages_nearest_of(struct rb_search *search, const struct rb_candidate *candidates, int n,
                          struct rb_plan_result *out, struct rb_err *err)
{
    struct rb_needs nearest = rb_needs_none(), needs;
    double surest_p = -1;
    int surest = 0;
    for (int i = 0; i < n && !(i > 0 && rb_search_out_of_time(search)); i++) {
        if (!rb_search_needs(search, &candidates[i], &needs, err))
            return false;
        rb_needs_merge(&nearest, &needs);
        surest = needs.confidence > surest_p ? i : surest;
        surest_p = fmax(surest_p, needs.confidence);
    }
    return rb_search_not_found(search, n > 0 ? &candidates[surest] : NULL, &nearest, out, err);
}

bool rb_search_not_found(struct rb_search *search, const struct rb_candidate *surest, const struct rb_needs *nearest,
                         struct rb_plan_result *out, struct rb_err *err)
{
    struct rb_plan_result result = {.feasible = false, .cut = rb_search_out_of_time(search)};
    rb_needs_round(nearest, search->req, &result);
    if (surest) {
        result.best = *surest;
        if (!rb_search_score(search, &result.best, search->req->samples, err))
            return false;
    }
    result.n_evaluated = search->n_evaluated;
    *out = result;
    return true;
}
