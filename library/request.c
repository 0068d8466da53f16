// Requests to the planner, with the same calls as rbplan.
#include "library/handles.h"

#include "library/time_limit.h"
#include "profiles/inputs/spot_means.h"
#include "providers/wire/digest.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define FEWEST_SAMPLES 32
#define MOST_SAMPLES   1000000
#define MOST_THREADS   256

struct rubberband_request *rubberband_request_new(const struct rubberband_job *job,
                                                  const struct rubberband_profile *profile,
                                                  const struct rubberband_prices *prices)
{
    assert(job && profile && prices);
    struct rubberband_request *r = rb_xcalloc(1, sizeof *r);
    r->job = job;
    r->asked = rb_plan_request_of(&job->job, &profile->profile,
                                  rb_catalog_at_means(&prices->catalog, &profile->profile, &r->arena, NULL));
    r->planner = rb_planner_default(&job->job);
    return r;
}

void rubberband_request_free(struct rubberband_request *request)
{
    if (request)
        rb_arena_finish(&request->arena);
    free(request);
}

// ---- settings

int rubberband_request_set_samples(struct rubberband_request *request, int samples)
{
    if (samples < FEWEST_SAMPLES || samples > MOST_SAMPLES)
        return RUBBERBAND_INVALID;
    request->asked.samples = samples;
    return RUBBERBAND_OK;
}

int rubberband_request_set_threads(struct rubberband_request *request, int threads)
{
    if (threads < 1 || threads > MOST_THREADS)
        return RUBBERBAND_INVALID;
    request->asked.threads = threads;
    return RUBBERBAND_OK;
}

int rubberband_request_set_planner(struct rubberband_request *request, const char *planner)
{
    const struct rb_planner *found = rb_planner_find(planner ? planner : rb_planner_default(request->asked.job));
    if (!found)
        return RUBBERBAND_INVALID;
    request->planner = found->name;
    return RUBBERBAND_OK;
}

int rubberband_request_set_time_limit_us(struct rubberband_request *request, int64_t time_limit_us)
{
    if (time_limit_us < 0)
        return RUBBERBAND_INVALID;
    request->time_limit_us = time_limit_us;
    return RUBBERBAND_OK;
}

int rubberband_request_set_node_limit(struct rubberband_request *request, int64_t node_limit)
{
    if (node_limit < 0)
        return RUBBERBAND_INVALID;
    request->asked.node_limit = node_limit;
    return RUBBERBAND_OK;
}

// The request with its clock started.
static struct rb_plan_request begin(const struct rubberband_request *r, struct rb_time_limit *limit)
{
    struct rb_plan_request req = r->asked;
    if (r->time_limit_us > 0)
        rb_time_limit_start(limit, r->time_limit_us, &req);
    return req;
}

static bool check(const struct rubberband_request *r, struct rb_err *err)
{
    return rb_planner_check(r->asked.job, r->planner, NULL, err) && rb_job_check_supported(r->asked.job, err);
}

// ---- a given plan

int rubberband_estimate_plan(const struct rubberband_request *request, const struct rubberband_allocation *allocation,
                             struct rubberband_estimate **out_estimate, struct rubberband_error *error)
{
    struct rb_err err = {0};
    struct rb_time_limit limit;
    struct rb_estimate estimate;
    struct rb_plan_stage stages[RB_LIMIT_STAGES] = {0};
    struct rb_arena arena = {0};
    assert(request && allocation && out_estimate);
    const struct rb_plan_request req = begin(request, &limit);
    const bool ok = check(request, &err) &&
                    rb_estimate_given(&req, allocation->stages, allocation->n_stages, &arena, &estimate, stages, &err);
    if (ok)
        *out_estimate = rb_library_estimate(&estimate, stages, allocation->n_stages);
    rb_arena_finish(&arena);
    return ok ? RUBBERBAND_OK : rb_library_fail(error, &err);
}

// ---- the best plan

static struct rubberband_allocation *allocation_of(const struct rb_plan *plan)
{
    struct rubberband_allocation *a = rubberband_allocation_new();
    for (int i = 0; i < plan->n_stages; i++) {
        const struct rb_plan_stage *s = &plan->stages[i];
        const struct rb_offer *o = &plan->offers[s->nodes[0].offer];
        assert(s->n_nodes == 1); // every planner makes them so
        const int status = rubberband_allocation_add(a, o->infra, o->instance_type, rb_market_name(o->market),
                                                     s->nodes[0].count, s->gpus_per_trial);
        assert(status == RUBBERBAND_OK);
        (void)status;
    }
    return a;
}

static struct rubberband_plan *plan_of(const struct rb_plan *plan)
{
    struct rubberband_plan *p = rb_xcalloc(1, sizeof *p);
    p->allocation = allocation_of(plan);
    p->estimate = rb_library_estimate(&plan->estimate, plan->stages, plan->n_stages);
    p->bound_uusd = plan->bound.present ? plan->bound.cost_uusd : -1;
    p->n_warnings = plan->n_warnings;
    p->warnings = rb_arena_array(&p->arena, (size_t)plan->n_warnings + 1, sizeof *p->warnings);
    for (int i = 0; i < plan->n_warnings; i++)
        p->warnings[i] = rb_arena_strdup(&p->arena, plan->warnings[i]);
    struct rb_json json = {.out = &p->json};
    rb_plan_write(plan, &json);
    return p;
}

int rubberband_find_plan(const struct rubberband_request *request, struct rubberband_plan **out_plan,
                         struct rubberband_error *error)
{
    struct rb_err err = {0};
    struct rb_time_limit limit;
    struct rb_plan plan;
    struct rb_plan_result result;
    struct rb_arena arena = {0};
    assert(request && out_plan);
    if (!check(request, &err))
        return rb_library_fail(error, &err);
    const struct rb_plan_request req = begin(request, &limit);
    const bool ok = rb_make_plan(&req, request->planner, &arena, &plan, &result, &err);
    if (ok) {
        plan.tool = "librubberband " RB_VERSION;
        plan.job_path = request->job->path;
        rb_plan_digest(&plan, rb_digest_sha256);
        *out_plan = plan_of(&plan);
    }
    rb_arena_finish(&arena);
    return ok ? RUBBERBAND_OK : rb_library_infeasible(error, &err, err.code == RB_ERR_INFEASIBLE ? &result : NULL);
}
