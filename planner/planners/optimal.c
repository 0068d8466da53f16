// The cheapest (or fastest) plan over GPUs per trial x nodes x offer per stage, with nodes kept or released at
// barriers. It searches tables of sampled stage times: shortest paths give good plans at once, and exchanges improve
// them. For the least cost the certificate then examines the whole space; for the least time, branch and bound does. A
// plan becomes the best only after runs of the whole plan were scored. The search starts from the published planners'
// results. Method: planning study, section 5 (Lagrangian shortest paths, exchange, branch and bound on a separable
// objective).
#include "planner/proof/certificate.h"
#include "planner/search/branch.h"
#include "planner/search/exchange.h"
#include "planner/search/frontier.h"

#include "base/errors/log.h"

#include <math.h>

#define HULL 48 // plans on the hull of cost against time

struct hull {
    struct rb_path paths[HULL];
    double slopes[HULL];
    int n;
};

static const struct rb_planner *const baselines[] = {&rb_planner_static, &rb_planner_naive, &rb_planner_greedy};

static bool plan_baselines(struct rb_search *search, struct rb_err *err)
{
    const struct rb_plan_result *result;
    for (int i = 0; i < 3; i++) {
        if (!rb_search_plan(search, baselines[i], &result, err))
            return false;
    }
    return true;
}

static bool offer_baselines(struct rb_optimum *op, struct rb_err *err)
{
    for (int i = 0; i < 3; i++) {
        const struct rb_plan_result *result;
        if (!rb_search_plan(op->search, baselines[i], &result, err))
            return false;
        if (result->feasible && !rb_optimum_offer_scored(op, &result->best, err))
            return false;
    }
    return !op->options.found || rb_optimum_offer_scored(op, &op->options.plan, err);
}

static bool by_time(const struct rb_optimum *op)
{
    return op->search->req->objective == RB_OBJECTIVE_MIN_TIME;
}

// k-th of the hull from the best objective to the worst.
static int hull_index(const struct rb_optimum *op, const struct hull *hull, int k)
{
    return by_time(op) ? hull->n - 1 - k : k;
}

// The first feasible one is the answer.
static bool offer_hull(struct rb_optimum *op, const struct hull *hull, struct rb_err *err)
{
    bool better;
    for (int k = 0; k < hull->n; k++) {
        if (!rb_optimum_offer(op, &hull->paths[hull_index(op, hull, k)], &better, err))
            return false;
    }
    return true;
}

// Sum of the low means of the limited quantity: time for min_cost, money for min_time.
static double low_of(const struct rb_optimum *op, const struct rb_path *path)
{
    const struct rb_option_entry *before = NULL;
    double low = 0;
    for (int stage = 0; stage < op->options.n_stages; stage++) {
        const struct rb_option_entry *entry = &op->options.stages[stage].entries[path->entry[stage]];
        const struct rb_stage_sample *s = rb_option_sample(before, entry);
        low += by_time(op) ? s->cost_low_uusd : s->time_low_us;
        before = entry;
    }
    return low;
}

// Prices around the one at which the hull changes from infeasible to feasible: bounds are tightest there.
static int pick_slopes(const struct rb_optimum *op, const struct hull *hull, double *out, int cap)
{
    double limit = by_time(op) ? op->aim.cost_limit_uusd : op->aim.time_limit_us;
    int first = 0, n = 0;
    while (first < hull->n - 1 && low_of(op, &hull->paths[hull_index(op, hull, first)]) > limit)
        first++;
    for (int k = first - 1; k <= first + 3 && n < cap; k++) {
        if (k < 0 || k >= hull->n)
            continue;
        double slope = hull->slopes[hull_index(op, hull, k)];
        slope = by_time(op) ? 1 / slope : slope;
        if (slope > 0 && !isinf(slope))
            out[n++] = slope;
    }
    return n;
}

static bool improve(struct rb_optimum *op, const struct hull *hull, struct rb_err *err)
{
    const bool for_objective = op->aim.kind == RB_AIM_OBJECTIVE;
    double slopes[5];
    if (!rb_exchange(op, err))
        return false;
    if (for_objective && rb_search_is_certified(op->search))
        return true; // the certificate examines the whole space
    return rb_branch(op, slopes, for_objective ? pick_slopes(op, hull, slopes, 5) : 0, err);
}

// Repeats the search for one of the aims of an infeasible request.
static bool look_for(struct rb_optimum *op, enum rb_aim_kind kind, const struct hull *hull, struct rb_err *err)
{
    rb_optimum_aim(op, kind);
    return offer_hull(op, hull, err) && improve(op, hull, err);
}

static bool find_nearest(struct rb_optimum *op, const struct hull *hull, struct rb_plan_result *out, struct rb_err *err)
{
    const struct rb_plan_request *req = op->search->req;
    if (req->deadline_us >= 0 && !look_for(op, RB_AIM_DEADLINE, hull, err))
        return false;
    if (req->budget_uusd >= 0 && !look_for(op, RB_AIM_BUDGET, hull, err))
        return false;
    struct rb_candidate fastest = rb_options_candidate(&op->options, &hull->paths[hull->n - 1]);
    const struct rb_candidate *surest = op->surest.n_stages > 0 ? &op->surest : &fastest;
    if (!rb_search_not_found(op->search, surest, &op->nearest, out, err))
        return false;
    out->cut = op->cut;
    return true;
}

static bool find_best(struct rb_optimum *op, const struct hull *hull, struct rb_plan_result *out, struct rb_err *err)
{
    if (!improve(op, hull, err))
        return false;
    rb_trace("planner", "%lld partial plans looked at, %lld plans scored, %d refused by the evaluator",
             (long long)op->n_nodes, (long long)op->search->n_evaluated, op->n_refused);
    rb_search_note(op->search,
                   "optimal: %lld other plans and beginnings of plans were ruled out by their means or a bound",
                   (long long)op->n_ruled_out);
    *out = rb_search_found(op->search, &op->best);
    out->cut = op->cut;
    return true;
}

static void trace_space(const struct rb_optimum *op, const struct hull *hull)
{
    for (int stage = 0; stage < op->options.n_stages; stage++)
        rb_trace("planner", "stage %d: %d choices", stage, op->options.stages[stage].n);
    rb_trace("planner", "%d of %d replicates in the tables, %d plans on the hull", op->options.n_samples,
             op->search->req->samples, hull->n);
}

static bool search_tables(struct rb_optimum *op, struct rb_plan_result *out, struct rb_err *err)
{
    struct hull hull;
    hull.n = rb_frontier(&op->options, hull.paths, hull.slopes, HULL);
    trace_space(op, &hull);
    if (!offer_baselines(op, err) || !offer_hull(op, &hull, err))
        return false;
    if (op->has_best)
        return find_best(op, &hull, out, err);
    if (!look_for(op, RB_AIM_CONFIDENCE, &hull, err))
        return false;
    if (op->surest.n_stages == 0 || op->nearest.confidence < op->search->req->confidence)
        return find_nearest(op, &hull, out, err);
    struct rb_candidate surest = op->surest;
    if (!rb_search_score(op->search, &surest, op->search->req->samples, err))
        return false;
    rb_optimum_aim(op, RB_AIM_OBJECTIVE);
    return rb_optimum_offer_scored(op, &surest, err) && find_best(op, &hull, out, err);
}

// The result if the time is up before tables are filled. False: no baseline has a plan.
static bool take_best_baseline(struct rb_search *search, struct rb_plan_result *out)
{
    const struct rb_plan_result *best = NULL;
    for (int i = 0; i < 3; i++) {
        const struct rb_plan_result *r = &search->results[rb_search_index_of(baselines[i])];
        if (r->feasible && (!best || rb_candidate_compare(&r->best, &best->best, search->req->objective) < 0))
            best = r;
    }
    if (best)
        *out = rb_search_found(search, &best->best);
    out->cut = true;
    return best != NULL;
}

// Tables take too long: greedy gets the remaining time.
static bool take_best_left(struct rb_search *search, struct rb_plan_result *out, struct rb_err *err)
{
    const struct rb_plan_result *ignored;
    search->has_result[rb_search_index_of(&rb_planner_greedy)] = false;
    if (!rb_search_plan(search, &rb_planner_greedy, &ignored, err))
        return false;
    if (!take_best_baseline(search, out))
        *out = rb_search_no_plan(search);
    return true;
}

static bool plan_on_tables(struct rb_search *search, struct rb_plan_result *out, struct rb_err *err)
{
    struct rb_optimum op;
    if (!plan_baselines(search, err))
        return false;
    if (rb_search_out_of_time(search) && take_best_baseline(search, out))
        return true;
    if (!rb_optimum_init(&op, search, err)) // the plans they find keep the tables small
        return false;
    const bool late = op.options.cut;
    bool ok = late || search_tables(&op, out, err);
    rb_optimum_finish(&op);
    return late ? take_best_left(search, out, err) : ok;
}

bool rb_stages_optimal(struct rb_search *search, struct rb_plan_result *out, struct rb_err *err)
{
    if (!plan_on_tables(search, out, err))
        return false;
    if (out->feasible && rb_search_is_certified(search))
        return rb_certify(search, &out->best, &out->bound, &out->cut, err);
    if (!rb_search_is_certified(search))
        out->bound.why_not =
            search->scenario->job->objective == RB_OBJECTIVE_MIN_COST
                ? "nothing costs anything here, so the fastest is looked for: no bound is computed for "
                  "time"
                : "the objective is min_time: no bound is computed for it";
    return true;
}

static bool plan(struct rb_search *search, struct rb_plan_result *out, struct rb_err *err)
{
    return search->scorer->optimal(search, out, err);
}

const struct rb_planner rb_planner_optimal = {
    .name = "optimal",
    .summary = "GPUs per trial, nodes, instance type and market of every stage, searched together",
    .plan = plan,
};
