#include "planner/questions/marginal.h"

#include "planner/search/search.h"

#include <math.h>

int64_t rb_marginal_step_us(int64_t deadline_us)
{
    static const int64_t steps_s[] = {86400, 43200, 21600, 7200, 3600, 1800, 600, 300, 60, 30, 10, 5, 1};
    size_t i = 0, last = sizeof steps_s / sizeof steps_s[0] - 1;
    while (i < last && steps_s[i] * RB_US_PER_S > deadline_us / 10)
        i++;
    return steps_s[i] * RB_US_PER_S;
}

int64_t rb_marginal_per_minute(const struct rb_marginal *marginal, int64_t change_uusd)
{
    return llround((double)change_uusd * 60 * (double)RB_US_PER_S / (double)marginal->step_us);
}

bool rb_marginal_find(struct rb_search *search, struct rb_marginal *out, struct rb_err *err)
{
    const struct rb_plan_request *asked = search->req;
    const struct rb_plan_result *now, *more;
    struct rb_plan_request later = *asked;
    struct rb_marginal m = {.deadline_us = asked->deadline_us, .step_us = rb_marginal_step_us(asked->deadline_us)};
    if (!rb_search_plan(search, &rb_planner_optimal, &now, err)) // as it was found
        return false;
    const struct rb_candidate best = now->best; // keeps the looser deadline, too
    const bool proved = now->feasible && now->bound.proved;
    later.deadline_us += m.step_us;
    later.hints = &best;
    later.n_hints = 1;
    later.explain = NULL; // of another question
    if (proved)
        rb_search_ask_again(search, &later);
    const bool ok = !proved || rb_search_plan(search, &rb_planner_optimal, &more, err);
    search->req = asked;
    if (!ok)
        return false;
    m.exists = proved && more->feasible && more->bound.proved;
    if (m.exists)
        m.more_uusd = more->best.estimate.cost_uusd.mean - best.estimate.cost_uusd.mean;
    *out = m;
    return true;
}
