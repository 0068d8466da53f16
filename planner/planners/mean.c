// The cheapest plan whose mean time keeps the deadline: the planner for `--confidence mean`. The job's confidence does
// not count; the plan shows the probability with which it keeps the deadline. Only if means suffice: no budget, and
// min_cost.
#include "planner/search/search.h"

static bool check_request(const struct rb_search *search, struct rb_err *err)
{
    const struct rb_plan_request *req = search->req;
    if (req->budget_uusd >= 0)
        return rb_err_set(
            err, RB_E_MEAN_PLANNER,
            "a budget is kept with a probability, not on average: leave out --confidence mean, or --budget");
    if (req->objective != RB_OBJECTIVE_MIN_COST)
        return rb_err_set(
            err, RB_E_MEAN_PLANNER,
            "the least mean time has no use for a deadline: with --confidence mean, objective is min_cost");
    return true;
}

static bool plan(struct rb_search *search, struct rb_plan_result *out, struct rb_err *err)
{
    if (!check_request(search, err))
        return false;
    search->on_average = true;
    const bool ok = rb_planner_optimal.plan(search, out, err);
    search->on_average = false;
    rb_search_forget(search); // what other planners found by means
    return ok;
}

const struct rb_planner rb_planner_mean = {
    .name = "mean",
    .summary = "the cheapest plan whose mean time keeps the deadline",
    .plan = plan,
    .on_average = true,
};
