#include "planner/async/engine_runs.h"

#include "planner/search/fallbacks.h"

#include <stdlib.h>
#include <string.h>

struct rb_plan rb_engine_plan(const struct rb_search *search, const struct rb_candidate *candidate,
                              const struct rb_plan_stage *stages)
{
    const struct rb_plan_request *req = search->req;
    const struct rb_scenario *s = search->scenario;
    const int n_fallbacks = stages && search->fallbacks ? rb_fallbacks_of(search, stages, candidate->n_stages, search->fallbacks) : 0;
    return (struct rb_plan){
        .seed = req->seed,
        .job = req->job,
        .profile = req->profile,
        .policy = req->job->policy,
        .deadline_us = req->deadline_us,
        .deadline_at_us = -1,
        .budget_uusd = req->budget_uusd,
        .admit_until_us = candidate->admit_until_us,
        .confidence = req->confidence,
        .stages = stages,
        .n_stages = candidate->n_stages,
        .offers = s->offers,
        .n_offers = s->n_offers,
        .fallbacks = search->fallbacks,
        .n_fallbacks = n_fallbacks,
        .catalog = req->catalog,
    };
}

// A plan is estimated when it is chosen and again when it is written; runs with forecasts are too expensive to repeat.
struct rb_engine_estimated {
    struct rb_candidate of;
    int64_t deadline_us, budget_uusd;
    struct rb_plan_stage stages[RB_LIMIT_STAGES];
};

static bool is_known(const struct rb_engine_estimated *known, const struct rb_search *search,
                     const struct rb_candidate *candidate, int n)
{
    return known && known->of.n_stages == candidate->n_stages && rb_candidate_same_choices(&known->of, candidate) &&
           known->of.admit_until_us == candidate->admit_until_us && known->of.estimate.samples == n &&
           known->deadline_us == search->req->deadline_us && known->budget_uusd == search->req->budget_uusd;
}

static void remember(struct rb_search *search, const struct rb_candidate *candidate, const struct rb_estimate *estimate,
                     const struct rb_plan_stage *stages)
{
    if (!search->engine_estimated)
        search->engine_estimated = rb_xcalloc(1, sizeof *search->engine_estimated);
    struct rb_engine_estimated *known = search->engine_estimated;
    known->of = *candidate;
    known->of.estimate = *estimate;
    known->deadline_us = search->req->deadline_us;
    known->budget_uusd = search->req->budget_uusd;
    memcpy(known->stages, stages, (size_t)candidate->n_stages * sizeof *stages);
}

static void copy_quantiles(const struct rb_plan_stage *from, int n, struct rb_plan_stage *out)
{
    for (int i = 0; i < n && out; i++) {
        out[i].time_us = from[i].time_us;
        out[i].cost_uusd = from[i].cost_uusd;
    }
}

bool rb_engine_estimate(struct rb_search *search, const struct rb_candidate *candidate, int n, bool unadvised,
                        struct rb_estimate *out, struct rb_plan_stage *out_stages, struct rb_err *err)
{
    const struct rb_plan_request *req = search->req;
    struct rb_plan_stage stages[RB_LIMIT_STAGES];
    struct rb_plan_nodes nodes[RB_LIMIT_STAGES];
    struct rb_estimate estimate;
    rb_candidate_stages(search->scenario, candidate, stages, nodes);
    const struct rb_plan plan = rb_engine_plan(search, candidate, stages);
    const struct rb_world_runs runs = {
        .samples = unadvised ? n : rb_world_affordable_runs(&plan, n),
        .first = RB_ENGINE_FIRST_UNSEEN,
        .threads = req->threads,
        .deadline_us = req->deadline_us,
        .budget_uusd = req->budget_uusd,
        .unadvised = unadvised,
    };
    const struct rb_engine_estimated *known = unadvised ? NULL : search->engine_estimated;
    if (is_known(known, search, candidate, runs.samples)) {
        *out = known->of.estimate;
        copy_quantiles(known->stages, candidate->n_stages, out_stages);
        return true;
    }
    if (!rb_world_evaluate(search->scenario, &plan, &runs, &estimate, stages, err))
        return false;
    if (!unadvised)
        remember(search, candidate, &estimate, stages);
    *out = estimate;
    copy_quantiles(stages, candidate->n_stages, out_stages);
    return true;
}
