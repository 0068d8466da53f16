#include "planner/questions/what_if.h"

#include "planner/request/time_share.h"
#include "planner/scores/sharing.h"

#include "engine/core/rungs.h"

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

// True if the base's plan is also one of the scenario's. Offers are matched by name: a scenario may have others.
static bool carry_over(const struct rb_plan_request *base, const struct rb_candidate *from,
                       const struct rb_plan_request *req, struct rb_arena *arena, struct rb_candidate *out)
{
    struct rb_offer *base_offers, *offers;
    struct rb_rung_table rungs;
    int n_base, n;
    struct rb_err ignored; // planning works without a hint
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

// until: of the time limit. Lines about candidates and other planners concern one plan and are omitted.
static bool plan_row(const struct rb_plan_request *asked, const char *planner, double until, struct rb_arena *arena,
                     struct rb_what_if_row *out, struct rb_err *err)
{
    struct rb_plan plan;
    struct rb_plan_request req = *asked;
    struct rb_time_share share;
    struct rb_what_if_row row = {.feasible = true};
    struct rb_err why = {0};
    rb_time_share_begin(&share, asked, until, &req);
    req.explain = NULL;
    req.alone = true;
    if (!rb_make_plan(&req, planner, arena, &plan, &row.result, &why)) {
        if (why.code != RB_ERR_INFEASIBLE) {
            *err = why;
            return false;
        }
        row.feasible = false;
    }
    row.estimate = row.feasible ? plan.estimate : row.result.best.estimate;
    if (row.feasible) {
        row.result.bound = plan.bound; // with the reason why nothing is proved
        row.warnings = plan.warnings;
        row.n_warnings = plan.n_warnings;
    }
    *out = row;
    return true;
}

// Runs of a plan are the same for every question.
static bool changes_constraints_only(const struct rb_what_if *scenario)
{
    static const char *const constraints[] = {"deadline", "budget", "confidence"};
    for (int i = 0; i < scenario->n_changes; i++) {
        size_t k = 0;
        while (k < 3 && strcmp(scenario->changes[i].key, constraints[k]) != 0)
            k++;
        if (k == 3)
            return false;
    }
    return true;
}

// A scenario, with everything it can share with the base.
static bool plan_scenario(const struct rb_plan_request *base, const struct rb_what_if *scenario,
                          const struct rb_plan_request *asked, const char *planner, double until,
                          struct rb_arena *arena, struct rb_what_if_row *out, struct rb_err *err)
{
    struct rb_plan_request req = *asked;
    struct rb_sharing own;
    req.laws = req.profile == base->profile ? base->laws : NULL; // laws belong to one profile
    req.runs = changes_constraints_only(scenario) ? base->runs : NULL;
    rb_sharing_begin(&own, &req);
    const bool ok = plan_row(&req, planner, until, arena, out, err);
    rb_sharing_end(&own);
    return ok;
}

static bool has_warning(const struct rb_what_if_row *row, const char *text)
{
    for (int i = 0; i < row->n_warnings; i++)
        if (strcmp(row->warnings[i], text) == 0)
            return true;
    return false;
}

static void keep_new_warnings(const struct rb_what_if_row *base, struct rb_arena *arena, struct rb_what_if_row *row)
{
    const char **kept = rb_arena_array(arena, (size_t)row->n_warnings, sizeof *kept);
    int n = 0;
    for (int i = 0; i < row->n_warnings; i++)
        if (!has_warning(base, row->warnings[i]))
            kept[n++] = row->warnings[i];
    row->warnings = kept;
    row->n_warnings = n;
}

static bool plan_rows(const struct rb_plan_request *base, const struct rb_plan_request *requests, const char *planner,
                      struct rb_arena *arena, const struct rb_what_if_table *table, struct rb_what_if_row *out_base,
                      struct rb_what_if_row *out_rows, struct rb_err *err)
{
    const double part = 1.0 / (table->n + 1);
    if (!plan_row(base, planner, part, arena, out_base, err))
        return false;
    for (int i = 0; i < table->n; i++) {
        struct rb_plan_request req = requests[i];
        struct rb_candidate hint;
        if (out_base->feasible && carry_over(base, &out_base->result.best, &req, arena, &hint)) {
            req.hints = &hint;
            req.n_hints = 1;
        }
        if (!plan_scenario(base, &table->scenarios[i], &req, planner, part * (i + 2), arena, &out_rows[i], err))
            return rb_err_prefix(err, "--what-if %s", table->scenarios[i].text);
        keep_new_warnings(out_base, arena, &out_rows[i]);
    }
    return true;
}

bool rb_what_if_plan(const struct rb_plan_request *base, const char *planner, const char *const *texts, int n,
                     struct rb_arena *arena, struct rb_what_if_table *out, struct rb_err *err)
{
    struct rb_what_if *scenarios = rb_arena_array(arena, (size_t)n, sizeof *scenarios);
    struct rb_what_if_row *rows = rb_arena_array(arena, (size_t)n, sizeof *rows);
    struct rb_plan_request *requests = rb_arena_array(arena, (size_t)n, sizeof *requests), shared = *base;
    struct rb_sharing sharing;
    struct rb_what_if_table table = {.scenarios = scenarios, .rows = rows, .n = n};
    for (int i = 0; i < n; i++) {
        if (!rb_what_if_parse(texts[i], arena, &scenarios[i], err) ||
            !rb_what_if_request(base, &scenarios[i], arena, &requests[i], err))
            return false;
    }
    rb_sharing_begin(&sharing, &shared);
    const bool ok = plan_rows(&shared, requests, planner, arena, &table, &table.base, rows, err);
    rb_sharing_end(&sharing);
    if (ok)
        *out = table;
    return ok;
}
