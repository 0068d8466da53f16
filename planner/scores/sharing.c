#include "planner/scores/sharing.h"

#include "planner/search/search.h"

#include "engine/core/rungs.h"

// As many pilot samples as the request by itself would have.
static bool make_times(const struct rb_job *job, struct rb_stage_times **out, struct rb_err *err)
{
    struct rb_scenario s = {0};
    if (!rb_rungs_of_job(job, &s.stages, err))
        return false;
    *out = rb_stage_times_create(rb_search_pilot_samples(&s));
    return true;
}

bool rb_sharing_begin(struct rb_sharing *sharing, struct rb_plan_request *req, struct rb_err *err)
{
    *sharing = (struct rb_sharing){NULL, NULL};
    if (!req->times && !make_times(req->job, &sharing->times, err))
        return false;
    if (!req->runs)
        sharing->runs = rb_run_store_create();
    req->times = req->times ? req->times : sharing->times;
    req->runs = req->runs ? req->runs : sharing->runs;
    return true;
}

void rb_sharing_end(struct rb_sharing *sharing)
{
    rb_stage_times_destroy(sharing->times);
    rb_run_store_destroy(sharing->runs);
}
