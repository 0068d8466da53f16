// The cheapest plan whose mean time keeps the deadline, proved: what `--confidence mean` asks for. The confidence of the job
// does not count; what the plan keeps the deadline with is told instead. Only where means say all: no budget, min_cost, and
// stages with independent laws.
#include "planner/proof/mean_deadline.h"

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
    if (!search->by_laws)
        return rb_err_set(err, RB_E_MEAN_PLANNER,
                          "--confidence mean wants mean times that add up, but %s: give a probability",
                          search->why_not_by_laws);
    return true;
}

static bool plan(struct rb_search *search, struct rb_plan_result *out, struct rb_err *err)
{
    const struct rb_mean_options opt = rb_mean_defaults();
    return check_request(search, err) && rb_mean_deadline_plan(search, &opt, out, err);
}

const struct rb_planner rb_planner_mean = {
    .name = "mean",
    .summary = "the cheapest plan whose mean time keeps the deadline",
    .plan = plan,
    .on_average = true,
};
