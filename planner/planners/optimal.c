// The cheapest (or fastest) plan over GPUs per trial x nodes x offer per stage, nodes kept or released at barriers.
// Shortest paths give good plans at once, exchanges improve them, branch and bound looks for what they missed; every
// plan that becomes the best was scored by the exact evaluator, and the published planners' results are where it starts.
// Method: planning study, section 5 (Lagrangian shortest paths, exchange, branch and bound on a separable objective).
#include "planner/branch.h"
#include "planner/exchange.h"
#include "planner/frontier.h"

#include <math.h>

#define HULL 48 // plans on the hull of cost against time

struct hull {
    struct rb_path paths[HULL];
    double slopes[HULL];
    int n;
};

static bool offer_baselines(struct rb_optimum *op, struct rb_err *err)
{
    static const struct rb_planner *const baselines[] = {&rb_planner_static, &rb_planner_naive, &rb_planner_greedy};
    for (int i = 0; i < 3; i++) {
        const struct rb_plan_result *result;
        if (!rb_search_plan(op->search, baselines[i], &result, err))
            return false;
        if (result->feasible && !rb_optimum_offer_scored(op, &result->best, err))
            return false;
    }
    return true;
}

// From the best objective to the worst, so that the first feasible one settles the matter.
static bool offer_hull(struct rb_optimum *op, const struct hull *hull, struct rb_err *err)
{
    bool by_time = op->search->req->objective == RB_OBJECTIVE_MIN_TIME, better;
    for (int i = 0; i < hull->n; i++) {
        if (!rb_optimum_offer(op, &hull->paths[by_time ? hull->n - 1 - i : i], &better, err))
            return false;
    }
    return true;
}

// Prices near the one at which the hull passes from infeasible to feasible: the bounds are tightest there.
static int pick_slopes(const struct rb_optimum *op, const struct hull *hull, double *out, int cap)
{
    bool by_time = op->search->req->objective == RB_OBJECTIVE_MIN_TIME;
    double limit = by_time ? op->aim.cost_limit_uusd : op->aim.time_limit_us;
    int at = hull->n - 1, n = 0;
    for (int i = 0; i < hull->n; i++) {
        double low = 0;
        const struct rb_option_entry *before = NULL;
        for (int stage = 0; stage < op->options.n_stages; stage++) {
            const struct rb_option_entry *e = &op->options.stages[stage].entries[hull->paths[i].entry[stage]];
            const struct rb_stage_sample *s = rb_option_sample(before, e);
            low += by_time ? s->cost_low_uusd : s->time_low_us;
            before = e;
        }
        if (by_time ? low <= limit : low > limit)
            at = by_time ? at : i;
        if (by_time && low <= limit && i < at)
            at = i;
    }
    for (int step = -1; step <= 3 && n < cap; step++) {
        int i = at + step;
        if (i < 0 || i >= hull->n)
            continue;
        double slope = by_time ? 1 / hull->slopes[i] : hull->slopes[i];
        if (slope > 0 && !isinf(slope))
            out[n++] = slope;
    }
    return n;
}

static bool improve(struct rb_optimum *op, const struct hull *hull, struct rb_err *err)
{
    double slopes[5];
    int n_slopes = op->aim.kind == RB_AIM_OBJECTIVE ? pick_slopes(op, hull, slopes, 5) : 0;
    return rb_exchange(op, err) && rb_branch(op, slopes, n_slopes, err);
}

// Everything again for one of the aims of an infeasible request.
static bool look_for(struct rb_optimum *op, enum rb_aim_kind kind, const struct hull *hull, struct rb_err *err)
{
    rb_optimum_aim(op, kind);
    return offer_hull(op, hull, err) && improve(op, hull, err);
}

static bool find_nearest(struct rb_optimum *op, const struct hull *hull, struct rb_plan_result *out,
                         struct rb_err *err)
{
    const struct rb_plan_request *req = op->search->req;
    if (req->deadline_us >= 0 && !look_for(op, RB_AIM_DEADLINE, hull, err))
        return false;
    if (req->budget_uusd >= 0 && !look_for(op, RB_AIM_BUDGET, hull, err))
        return false;
    *out = op->nearest;
    out->feasible = false;
    out->cut = op->cut;
    out->n_evaluated = op->search->n_evaluated;
    return true;
}

static bool find_best(struct rb_optimum *op, const struct hull *hull, struct rb_plan_result *out, struct rb_err *err)
{
    if (!improve(op, hull, err))
        return false;
    *out = rb_search_found(op->search, &op->best);
    out->cut = op->cut;
    return true;
}

static bool search_tables(struct rb_optimum *op, struct rb_plan_result *out, struct rb_err *err)
{
    struct hull hull;
    hull.n = rb_frontier(&op->options, hull.paths, hull.slopes, HULL);
    if (!offer_baselines(op, err) || !offer_hull(op, &hull, err))
        return false;
    if (op->has_best)
        return find_best(op, &hull, out, err);
    if (!look_for(op, RB_AIM_CONFIDENCE, &hull, err))
        return false;
    struct rb_candidate surest = op->nearest.best;
    if (surest.n_stages == 0 || !rb_search_feasible(op->search, &surest.estimate))
        return find_nearest(op, &hull, out, err);
    rb_optimum_aim(op, RB_AIM_OBJECTIVE);
    return rb_optimum_offer_scored(op, &surest, err) && find_best(op, &hull, out, err);
}

static bool plan(struct rb_search *search, struct rb_plan_result *out, struct rb_err *err)
{
    struct rb_optimum op;
    if (!rb_optimum_init(&op, search, err))
        return false;
    bool ok = search_tables(&op, out, err);
    rb_optimum_finish(&op);
    return ok;
}

const struct rb_planner rb_planner_optimal = {
    .name = "optimal",
    .summary = "GPUs per trial, nodes, instance type and market of every stage, searched together",
    .plan = plan,
};
