#include "planner/what_if.h"

#include "engine/rungs.h"

#include <string.h>

// --- the base's plan as a start for a scenario

static int find_offer(const struct rb_offer *offers, int n, const struct rb_offer *wanted)
{
    for (int i = 0; i < n; i++) {
        if (strcmp(offers[i].infra, wanted->infra) == 0 && offers[i].market == wanted->market &&
            strcmp(offers[i].instance_type, wanted->instance_type) == 0)
            return i;
    }
    return -1;
}

static bool allows_size(const struct rb_trial_spec *trial, int gpus)
{
    for (int i = 0; i < trial->n_sizes; i++) {
        if (trial->sizes[i] == gpus)
            return true;
    }
    return false;
}

// Is the base's plan one of the scenario's as well? Offers are found again by name: a scenario may have others.
static bool carry_over(const struct rb_plan_request *base, const struct rb_candidate *from,
                       const struct rb_plan_request *req, struct rb_arena *arena, struct rb_candidate *out)
{
    struct rb_offer *base_offers, *offers;
    struct rb_rung_table rungs;
    int n_base, n;
    struct rb_err ignored; // no hint is no loss
    struct rb_candidate hint = *from;
    if (!rb_planner_offers(base->job, base->catalog, arena, &base_offers, &n_base, &ignored) ||
        !rb_planner_offers(req->job, req->catalog, arena, &offers, &n, &ignored) ||
        !rb_rungs_of_job(req->job, &rungs, &ignored) || rungs.n != from->n_stages)
        return false;
    for (int i = 0; i < from->n_stages; i++) {
        struct rb_choice *choice = &hint.stages[i];
        choice->offer = find_offer(offers, n, &base_offers[choice->offer]);
        if (choice->offer < 0 || !allows_size(&req->job->trial, choice->gpus) ||
            choice->nodes > rb_planner_max_nodes(req->job, &offers[choice->offer]))
            return false;
    }
    *out = hint;
    return true;
}

// --- planning

static bool plan_row(const struct rb_plan_request *req, const char *planner, struct rb_arena *arena,
                     struct rb_what_if_row *out, struct rb_err *err)
{
    struct rb_plan plan;
    struct rb_what_if_row row = {.feasible = true};
    struct rb_err why = {0};
    if (!rb_make_plan(req, planner, arena, &plan, &row.result, &why)) {
        if (why.code != RB_ERR_INFEASIBLE) {
            *err = why;
            return false;
        }
        row.feasible = false;
    }
    row.estimate = row.feasible ? plan.estimate : row.result.best.estimate;
    if (row.feasible)
        row.result.bound = plan.bound; // with the reason why nothing is proved
    *out = row;
    return true;
}

static bool plan_scenario(const struct rb_plan_request *base, const struct rb_what_if_row *base_row,
                          const struct rb_plan_request *changed, const char *planner, struct rb_arena *arena,
                          struct rb_what_if_row *out, struct rb_err *err)
{
    struct rb_plan_request req = *changed;
    struct rb_candidate hint;
    if (base_row->feasible && carry_over(base, &base_row->result.best, changed, arena, &hint)) {
        req.hints = &hint;
        req.n_hints = 1;
    }
    return plan_row(&req, planner, arena, out, err);
}

static bool plan_rows(const struct rb_plan_request *base, const struct rb_plan_request *requests, const char *planner,
                      struct rb_arena *arena, const struct rb_what_if_table *table, struct rb_what_if_row *out_base,
                      struct rb_what_if_row *out_rows, struct rb_err *err)
{
    if (!plan_row(base, planner, arena, out_base, err))
        return false;
    for (int i = 0; i < table->n; i++) {
        struct rb_plan_request req = requests[i];
        req.times = base->times;
        if (!plan_scenario(base, out_base, &req, planner, arena, &out_rows[i], err))
            return rb_err_prefix(err, "--what-if %s", table->scenarios[i].text);
    }
    return true;
}

bool rb_what_if_plan(const struct rb_plan_request *base, const char *planner, const char *const *texts, int n,
                     struct rb_arena *arena, struct rb_what_if_table *out, struct rb_err *err)
{
    struct rb_what_if *scenarios = rb_arena_array(arena, (size_t)n, sizeof *scenarios);
    struct rb_what_if_row *rows = rb_arena_array(arena, (size_t)n, sizeof *rows);
    struct rb_plan_request *requests = rb_arena_array(arena, (size_t)n, sizeof *requests), timed = *base;
    struct rb_what_if_table table = {.scenarios = scenarios, .rows = rows, .n = n};
    for (int i = 0; i < n; i++) {
        if (!rb_what_if_parse(texts[i], arena, &scenarios[i], err) ||
            !rb_what_if_request(base, &scenarios[i], arena, &requests[i], err))
            return false;
    }
    if (!base->times)
        timed.times = rb_stage_times_create(RB_PILOT_SAMPLES);
    bool ok = plan_rows(&timed, requests, planner, arena, &table, &table.base, rows, err);
    if (!base->times)
        rb_stage_times_destroy(timed.times);
    if (ok)
        *out = table;
    return ok;
}
