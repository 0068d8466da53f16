// Accessors of allocations, estimates and plans.
#include "library/handles.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

// ---- allocations

struct rubberband_allocation *rubberband_allocation_new(void)
{
    struct rubberband_allocation *a = rb_xcalloc(1, sizeof *a);
    return a;
}

void rubberband_allocation_free(struct rubberband_allocation *allocation)
{
    if (!allocation)
        return;
    rb_arena_finish(&allocation->arena);
    free(allocation);
}

int rubberband_allocation_add(struct rubberband_allocation *allocation, const char *infra, const char *instance_type,
                              const char *market, int nodes, int gpus_per_trial)
{
    enum rb_market which;
    assert(allocation && infra && instance_type && market);
    if (nodes < 1 || gpus_per_trial < 1 || allocation->n_stages == RB_LIMIT_STAGES ||
        !rb_market_parse(market, &which, NULL))
        return RUBBERBAND_INVALID;
    allocation->stages[allocation->n_stages++] = (struct rb_given_stage){
        .infra = rb_arena_strdup(&allocation->arena, infra),
        .instance_type = rb_arena_strdup(&allocation->arena, instance_type),
        .market = which,
        .nodes = nodes,
        .gpus_per_trial = gpus_per_trial,
    };
    return RUBBERBAND_OK;
}

int rubberband_allocation_n_stages(const struct rubberband_allocation *allocation)
{
    return allocation->n_stages;
}

static const struct rb_given_stage *given(const struct rubberband_allocation *a, int stage)
{
    assert(stage >= 0 && stage < a->n_stages);
    return &a->stages[stage];
}

const char *rubberband_allocation_infra(const struct rubberband_allocation *allocation, int stage)
{
    return given(allocation, stage)->infra;
}

const char *rubberband_allocation_instance_type(const struct rubberband_allocation *allocation, int stage)
{
    return given(allocation, stage)->instance_type;
}

const char *rubberband_allocation_market(const struct rubberband_allocation *allocation, int stage)
{
    return rb_market_name(given(allocation, stage)->market);
}

int rubberband_allocation_nodes(const struct rubberband_allocation *allocation, int stage)
{
    return given(allocation, stage)->nodes;
}

int rubberband_allocation_gpus_per_trial(const struct rubberband_allocation *allocation, int stage)
{
    return given(allocation, stage)->gpus_per_trial;
}

// ---- estimates

struct rubberband_estimate *rb_library_estimate(const struct rb_estimate *estimate, const struct rb_plan_stage *stages,
                                                int n_stages)
{
    struct rubberband_estimate *e = rb_xcalloc(1, sizeof *e);
    e->estimate = *estimate;
    e->n_stages = n_stages;
    for (int i = 0; i < n_stages; i++) {
        e->stages[i] = stages[i];
        e->stages[i].nodes = NULL;
        e->stages[i].early = NULL;
    }
    struct rb_json json = {.out = &e->json};
    rb_estimate_write(estimate, &json);
    return e;
}

void rubberband_estimate_free(struct rubberband_estimate *estimate)
{
    if (!estimate)
        return;
    rb_buf_finish(&estimate->json);
    free(estimate);
}

static int64_t figure_of(const struct rb_quantiles *q, enum rubberband_figure figure)
{
    switch (figure) {
    case RUBBERBAND_MEAN:
        return q->mean;
    case RUBBERBAND_P5:
        return q->p5;
    case RUBBERBAND_P50:
        return q->p50;
    case RUBBERBAND_P95:
        return q->p95;
    case RUBBERBAND_P99:
        return q->p99;
    }
    abort(); // no such figure
}

int64_t rubberband_estimate_time_us(const struct rubberband_estimate *estimate, enum rubberband_figure figure)
{
    return figure_of(&estimate->estimate.time_us, figure);
}

int64_t rubberband_estimate_cost_uusd(const struct rubberband_estimate *estimate, enum rubberband_figure figure)
{
    return figure_of(&estimate->estimate.cost_uusd, figure);
}

double rubberband_estimate_p_deadline(const struct rubberband_estimate *estimate)
{
    return estimate->estimate.spread_unknown ? NAN : estimate->estimate.p_deadline;
}

double rubberband_estimate_p_budget(const struct rubberband_estimate *estimate)
{
    return estimate->estimate.spread_unknown ? NAN : estimate->estimate.p_budget;
}

double rubberband_estimate_p_both(const struct rubberband_estimate *estimate)
{
    return estimate->estimate.spread_unknown ? NAN : estimate->estimate.p_both;
}

const char *rubberband_estimate_json(const struct rubberband_estimate *estimate)
{
    return rb_buf_str(&estimate->json);
}

int rubberband_estimate_n_stages(const struct rubberband_estimate *estimate)
{
    return estimate->n_stages;
}

static const struct rb_plan_stage *stage_of(const struct rubberband_estimate *e, int stage)
{
    assert(stage >= 0 && stage < e->n_stages);
    return &e->stages[stage];
}

int rubberband_estimate_stage_trials(const struct rubberband_estimate *estimate, int stage)
{
    return stage_of(estimate, stage)->trials;
}

int64_t rubberband_estimate_stage_resource_start(const struct rubberband_estimate *estimate, int stage)
{
    return stage_of(estimate, stage)->resource_start;
}

int64_t rubberband_estimate_stage_resource_end(const struct rubberband_estimate *estimate, int stage)
{
    return stage_of(estimate, stage)->resource_end;
}

int64_t rubberband_estimate_stage_time_us(const struct rubberband_estimate *estimate, int stage,
                                          enum rubberband_figure figure)
{
    return figure_of(&stage_of(estimate, stage)->time_us, figure);
}

int64_t rubberband_estimate_stage_cost_uusd(const struct rubberband_estimate *estimate, int stage,
                                            enum rubberband_figure figure)
{
    return figure_of(&stage_of(estimate, stage)->cost_uusd, figure);
}

// ---- plans

void rubberband_plan_free(struct rubberband_plan *plan)
{
    if (!plan)
        return;
    rubberband_allocation_free(plan->allocation);
    rubberband_estimate_free(plan->estimate);
    rb_buf_finish(&plan->json);
    rb_arena_finish(&plan->arena);
    free(plan);
}

const struct rubberband_estimate *rubberband_plan_estimate(const struct rubberband_plan *plan)
{
    return plan->estimate;
}

const struct rubberband_allocation *rubberband_plan_allocation(const struct rubberband_plan *plan)
{
    return plan->allocation;
}

int64_t rubberband_plan_bound_uusd(const struct rubberband_plan *plan)
{
    return plan->bound_uusd;
}

int rubberband_plan_n_warnings(const struct rubberband_plan *plan)
{
    return plan->n_warnings;
}

const char *rubberband_plan_warning(const struct rubberband_plan *plan, int i)
{
    assert(i >= 0 && i < plan->n_warnings);
    return plan->warnings[i];
}

const char *rubberband_plan_json(const struct rubberband_plan *plan)
{
    return rb_buf_str(&plan->json);
}
