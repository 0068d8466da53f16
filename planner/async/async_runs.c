#include "planner/async/async_runs.h"

#include "engine/core/policy.h"
#include "simulator/stage/kept_trials.h"

#include <math.h>
#include <stdlib.h>

#define COMPARED_EVENTS 1e6 // for one plan: a quarter of a second
#define SCREENED_PART   8
#define SLACK_SIGMA     2.5

// ---- how many

double rb_async_events(const struct rb_scenario *s)
{
    double events = 0;
    for (int i = 0; i < s->stages.n; i++) {
        const struct rb_rung *rung = &s->stages.rungs[i];
        events += rung->trials * ((double)rb_scenario_rung_units(s, i) + 2); // reports, start and end
    }
    return events;
}

static int n_compared(const struct rb_scenario *s, int n_shown, int part)
{
    const double runs = fmin(COMPARED_EVENTS / rb_async_events(s), (double)n_shown / part);
    return runs >= RB_ASYNC_COMPARED      ? RB_ASYNC_COMPARED
           : runs > RB_ASYNC_COMPARED / 4 ? (int)runs
                                            : RB_ASYNC_COMPARED / 4;
}

int rb_async_n_compared(const struct rb_search *search)
{
    const bool few = search->place == RB_SEARCH_FRONTIER_BETWEEN;
    const int samples = search->req->samples;
    const int n = n_compared(search->scenario, samples, few ? RB_ASYNC_POINT_PART : RB_ASYNC_COMPARED_PART);
    return search->req->time_limit_us > 0 && n > samples ? samples : n;
}

int rb_async_n_screened(const struct rb_search *search)
{
    const int n = rb_async_n_compared(search) / SCREENED_PART;
    return n > 0 ? n : 1;
}

bool rb_async_may_keep(const struct rb_search *search, double p, int n)
{
    const double c = rb_search_confidence(search);
    return p >= c - SLACK_SIGMA * sqrt(c * (1 - c) / n);
}

void rb_async_keep_draws(struct rb_scenario *s, int n_unseen, size_t most_bytes)
{
    const struct rb_run_range ranges[] = {{0, n_compared(s, n_unseen, RB_ASYNC_COMPARED_PART)},
                                          {RB_ASYNC_FIRST_UNSEEN, n_unseen}};
    rb_scenario_keep_trials(s, ranges, 2, most_bytes);
}

// ---- runs

bool rb_async_is_anytime(const struct rb_search *search)
{
    const struct rb_policy *policy = rb_policy_find(search->req->job->policy);
    return policy && policy->anytime;
}

// The runs are kept and counted again under other deadlines and budgets, so they continue beyond the budget.
static struct rb_world_runs runs_asked(const struct rb_search *search, uint32_t first, int n)
{
    return (struct rb_world_runs){
        .samples = n,
        .first = first,
        .threads = search->req->threads,
        .deadline_us = search->req->deadline_us,
        .budget_uusd = search->req->budget_uusd,
        .past_budget = true,
        .unadvised = true,
    };
}

bool rb_async_play(const struct rb_search *search, const struct rb_candidate *candidate, uint32_t first, int n,
                   struct rb_world_result *out, struct rb_world_phase *out_phases, struct rb_err *err)
{
    struct rb_plan_stage stages[RB_LIMIT_STAGES];
    struct rb_plan_nodes nodes[RB_LIMIT_STAGES];
    rb_candidate_stages(search->scenario, candidate, stages, nodes);
    const struct rb_plan plan = rb_engine_plan(search, candidate, stages);
    const struct rb_world_runs runs = runs_asked(search, first, n);
    return rb_world_replicates(search->scenario, &plan, &runs, out, out_phases, err);
}

// ---- kept runs

static bool find_runs(struct rb_search *search, const struct rb_candidate *candidate, enum rb_run_kind kind,
                      uint32_t first, int n, const struct rb_runs **out, struct rb_err *err)
{
    *out = rb_run_store_find(search->runs, kind, candidate, n);
    if (*out)
        return true;
    RB_AUTO(rb_auto_free) struct rb_world_result *results = rb_xcalloc((size_t)n, sizeof *results);
    RB_AUTO(rb_auto_free) int64_t *values = rb_xcalloc(2 * (size_t)n, sizeof *values);
    const int known = rb_run_store_copy(search->runs, kind, candidate, n, values, values + n);
    if (known < n && !rb_async_play(search, candidate, first + (uint32_t)known, n - known, results, NULL, err))
        return false;
    for (int i = known; i < n; i++) {
        values[i] = results[i - known].time_us;
        values[n + i] = results[i - known].cost_uusd;
    }
    *out = rb_run_store_keep(search->runs, kind, candidate, n, values, values + n);
    return true;
}

bool rb_async_compared(struct rb_search *search, const struct rb_candidate *candidate, int n,
                       const struct rb_runs **out, struct rb_err *err)
{
    const int most = rb_async_n_compared(search);
    return find_runs(search, candidate, RB_RUN_WORLDS, 0, n < most ? n : most, out, err);
}

bool rb_async_unseen(struct rb_search *search, const struct rb_candidate *candidate, int n, const struct rb_runs **out,
                     struct rb_err *err)
{
    return find_runs(search, candidate, RB_RUN_UNSEEN, RB_ASYNC_FIRST_UNSEEN, n, out, err);
}

// ---- estimates

bool rb_async_score(struct rb_search *search, struct rb_candidate *candidate, int n, struct rb_err *err)
{
    const struct rb_plan_request *req = search->req;
    const struct rb_runs *runs;
    search->n_evaluated++;
    if (!rb_async_compared(search, candidate, n, &runs, err))
        return false;
    candidate->estimate = rb_runs_estimate(runs, req->deadline_us, req->budget_uusd);
    return true;
}

bool rb_async_guess(struct rb_search *search, struct rb_candidate *candidate, int n, struct rb_err *err)
{
    const struct rb_plan_request *req = search->req;
    const struct rb_runs *runs;
    if (!rb_async_unseen(search, candidate, n, &runs, err))
        return false;
    candidate->estimate = rb_runs_estimate(runs, req->deadline_us, req->budget_uusd);
    return true;
}

// Kept runs continue beyond the budget and get no forecasts, so they are the plan's own only if neither matters.
static bool kept_runs_are_its_own(const struct rb_search *search, const struct rb_candidate *candidate)
{
    struct rb_plan_stage stages[RB_LIMIT_STAGES];
    struct rb_plan_nodes nodes[RB_LIMIT_STAGES];
    rb_candidate_stages(search->scenario, candidate, stages, nodes);
    const struct rb_plan plan = rb_engine_plan(search, candidate, stages);
    return search->req->budget_uusd < 0 && !rb_async_is_anytime(search) &&
           rb_world_affordable_runs(&plan, search->req->samples) == search->req->samples;
}

bool rb_async_estimate(struct rb_search *search, struct rb_candidate *candidate, struct rb_plan_stage *out_stages,
                       struct rb_err *err)
{
    const struct rb_plan_request *req = search->req;
    if (!out_stages && kept_runs_are_its_own(search, candidate))
        return rb_async_guess(search, candidate, req->samples, err);
    return rb_engine_estimate(search, candidate, req->samples, false, &candidate->estimate, out_stages, err);
}
