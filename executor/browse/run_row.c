#include "executor/browse/run_row.h"

#include "base/limits.h"
#include "engine/core/policy.h"
#include "executor/run/infras.h"
#include "executor/run/progress.h"
#include "profiles/job/job_names.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct rb_run_row unknown = {
    .outcome = "unreadable",
    .started_at_us = -1,
    .time_us = -1,
    .time_predicted_us = -1,
    .cost_uusd = -1,
    .cost_predicted_uusd = -1,
    .trials = -1,
    .trials_failed = -1,
    .best_trial = -1,
    .best_metric = NAN,
    .deadline_us = -1,
    .budget_uusd = -1,
    .p_on_time = NAN,
};

// ---- what follows from the values

static bool is(const struct rb_run_row *row, const char *outcome)
{
    return strcmp(row->outcome, outcome) == 0;
}

// A run that was stopped for another reason before its deadline has neither kept nor broken it.
static enum rb_run_promise promise_of(const struct rb_run_row *row, bool ended_at_deadline)
{
    if (row->deadline_us < 0)
        return RB_RUN_PROMISE_NONE;
    if (is(row, "stopped: deadline") || (row->time_us > row->deadline_us && !ended_at_deadline))
        return RB_RUN_PROMISE_BROKEN;
    if (is(row, "complete") || is(row, "target"))
        return RB_RUN_PROMISE_KEPT;
    return is(row, "running") || is(row, "interrupted") ? RB_RUN_PROMISE_OPEN : RB_RUN_PROMISE_NONE;
}

// The plan's probability is about the plan's deadline: a run with a later one was promised nothing. Of a deadline
// that is an instant, less is left when the run begins.
static double promised(double p, int64_t planned_us, bool is_instant, int64_t deadline_us)
{
    const bool same = deadline_us == planned_us || (is_instant && deadline_us < planned_us);
    return deadline_us >= 0 && same ? p : NAN;
}

static bool is_on_lent_gpus(const char *policy)
{
    const struct rb_policy *found = rb_policy_find(policy);
    return found && found->on_lent_gpus;
}

struct infras {
    char names[RB_RUN_INFRAS][64];
    int n;
};

static void add_infra(struct infras *to, const char *infra)
{
    char name[64];
    rb_infra_without_zone(infra, name);
    for (int i = 0; i < to->n; i++)
        if (strcmp(to->names[i], name) == 0)
            return;
    if (to->n < RB_RUN_INFRAS)
        strcpy(to->names[to->n++], name);
}

static void keep_infras(struct rb_run_row *row, const struct infras *from, struct rb_arena *arena)
{
    const char **names = rb_arena_array(arena, (size_t)from->n + 1, sizeof *names);
    for (int i = 0; i < from->n; i++)
        names[i] = rb_arena_strdup(arena, from->names[i]);
    row->infras = names;
    row->n_infras = from->n;
}

// ---- from the journal

static void take_plan(const struct rb_report *report, struct rb_run_row *row)
{
    const struct rb_plan *plan = report->plan;
    const struct rb_estimate *e = &plan->estimate;
    row->is_lent = is_on_lent_gpus(plan->policy);
    row->is_free = !rb_progress_has_price(plan);
    row->deadline_us = report->meta.deadline_us;
    row->budget_uusd = report->meta.budget_uusd;
    if (plan->unpredicted)
        return;
    row->time_predicted_us = e->time_us.mean;
    row->cost_predicted_uusd = e->cost_uusd.mean;
    if (!e->spread_unknown)
        row->p_on_time = promised(e->p_deadline, plan->deadline_us, plan->deadline_at_us >= 0, row->deadline_us);
}

void rb_run_row_of_report(const struct rb_report *report, bool at_work, struct rb_arena *arena, struct rb_run_row *out)
{
    struct rb_run_row row = unknown;
    struct infras infras = {0};
    char outcome[64];
    row.run = rb_arena_strdup(arena, report->run_id);
    row.outcome = rb_arena_strdup(arena, rb_report_outcome(report->outcome, report->reason, at_work, outcome));
    row.job = rb_arena_strdup(arena, report->plan->job->name);
    row.metric_name = rb_arena_strdup(arena, report->plan->job->metric_name);
    row.goal = rb_goal_names[report->plan->job->goal];
    row.started_at_us = report->started_unix_us;
    row.time_us = report->time_us;
    row.cost_uusd = report->cost_uusd;
    row.trials = report->n_trials;
    row.trials_failed = 0;
    for (int i = 0; i < report->n_trials; i++)
        row.trials_failed += strcmp(report->trials[i].state, "failed") == 0;
    row.best_trial = report->best_trial;
    row.best_metric = report->best_metric;
    take_plan(report, &row);
    row.on_time = promise_of(&row, report->ended_at_deadline);
    for (int i = 0; i < report->n_nodes; i++)
        add_infra(&infras, report->nodes[i].infra);
    keep_infras(&row, &infras, arena);
    *out = row;
}

// ---- from a shared report

// The value at "report.time_us.actual"; NULL: the member is missing, or null.
static const struct rb_node *at(const struct rb_node *map, const char *path)
{
    char key[32];
    while (map && *path) {
        const size_t n = strcspn(path, ".");
        snprintf(key, sizeof key, "%.*s", (int)n, path);
        map = rb_node_member(map, key);
        path += n + (path[n] == '.');
    }
    return map && map->kind != RB_NODE_NULL ? map : NULL;
}

static const struct rb_node *need(const struct rb_node *document, const char *path, struct rb_err *err)
{
    const struct rb_node *found = at(document, path);
    if (!found)
        rb_node_refuse(document, err, RB_E_REPORT_FORMAT, "expected %s, and it is missing or null", path);
    return found;
}

static bool need_text(const struct rb_node *document, const char *path, struct rb_arena *arena, const char **out,
                      struct rb_err *err)
{
    const struct rb_node *found = need(document, path, err);
    const char *text;
    if (!found || !rb_node_string(found, &text, err))
        return false;
    *out = rb_arena_strdup(arena, text);
    return true;
}

// Null and missing: unknown, *out stays.
static bool may_int(const struct rb_node *document, const char *path, int64_t max, int64_t *out, struct rb_err *err)
{
    const struct rb_node *found = at(document, path);
    return !found || rb_node_int(found, 0, max, out, err);
}

static bool need_int(const struct rb_node *document, const char *path, int64_t max, int64_t *out, struct rb_err *err)
{
    return need(document, path, err) && may_int(document, path, max, out, err);
}

static bool may_double(const struct rb_node *document, const char *path, double min, double max, double *out,
                       struct rb_err *err)
{
    const struct rb_node *found = at(document, path);
    return !found || rb_node_double(found, min, max, out, err);
}

static bool read_figures(const struct rb_node *d, struct rb_run_row *row, struct rb_err *err)
{
    int64_t best_trial = -1;
    const bool ok = need_int(d, "report.started_at_us", RB_LIMIT_TIME_US, &row->started_at_us, err) &&
                    need_int(d, "report.time_us.actual", RB_LIMIT_TIME_US, &row->time_us, err) &&
                    may_int(d, "report.time_us.predicted.mean", RB_LIMIT_TIME_US, &row->time_predicted_us, err) &&
                    need_int(d, "report.cost_uusd.actual", RB_LIMIT_NODE_UUSD, &row->cost_uusd, err) &&
                    may_int(d, "report.cost_uusd.predicted.mean", RB_LIMIT_NODE_UUSD, &row->cost_predicted_uusd, err) &&
                    may_int(d, "history.limits.deadline_us", RB_LIMIT_TIME_US, &row->deadline_us, err) &&
                    may_int(d, "history.limits.budget_uusd", RB_LIMIT_NODE_UUSD, &row->budget_uusd, err) &&
                    may_int(d, "report.best.trial", RB_LIMIT_TRIALS, &best_trial, err) &&
                    may_double(d, "report.best.metric", -HUGE_VAL, HUGE_VAL, &row->best_metric, err);
    row->best_trial = (int)best_trial;
    return ok;
}

static bool read_trials(const struct rb_node *d, struct rb_run_row *row, struct rb_err *err)
{
    const struct rb_node *trials = need(d, "report.trials", err), *state;
    if (!trials || !rb_node_list(trials, err))
        return false;
    row->trials = trials->n_children;
    row->trials_failed = 0;
    for (const struct rb_node *t = trials->first; t; t = t->next) {
        state = at(t, "state");
        row->trials_failed += state && state->kind == RB_NODE_STRING && strcmp(state->text, "failed") == 0;
    }
    return true;
}

static bool read_infras(const struct rb_node *d, struct rb_arena *arena, struct rb_run_row *row, struct rb_err *err)
{
    const struct rb_node *nodes = need(d, "report.nodes", err);
    struct infras infras = {0};
    const char *infra;
    if (!nodes || !rb_node_list(nodes, err))
        return false;
    for (const struct rb_node *n = nodes->first; n; n = n->next) {
        const struct rb_node *named = need(n, "infra", err);
        if (!named || !rb_node_string(named, &infra, err))
            return false;
        add_infra(&infras, infra);
    }
    keep_infras(row, &infras, arena);
    return true;
}

static bool read_prices(const struct rb_node *d, struct rb_run_row *row, struct rb_err *err)
{
    const struct rb_node *prices = need(d, "plan.prices", err);
    const char *policy;
    int64_t rate;
    if (!prices || !rb_node_list(prices, err) || !rb_node_string(at(d, "plan.policy"), &policy, err))
        return false;
    row->is_lent = is_on_lent_gpus(policy);
    row->is_free = true;
    for (const struct rb_node *p = prices->first; p; p = p->next) {
        if (!need_int(p, "uusd_per_hour", INT64_MAX, &rate, err))
            return false;
        row->is_free = row->is_free && rate == 0;
    }
    return true;
}

static bool read_promise(const struct rb_node *d, struct rb_run_row *row, struct rb_err *err)
{
    const struct rb_node *at_end = at(d, "report.ended_at_deadline");
    double p = NAN;
    int64_t planned_us = -1;
    if (!may_double(d, "plan.estimate.p_deadline", 0, 1, &p, err) ||
        !may_int(d, "plan.deadline_us", RB_LIMIT_TIME_US, &planned_us, err))
        return false;
    row->p_on_time = promised(p, planned_us, at(d, "plan.deadline_at"), row->deadline_us);
    row->on_time = promise_of(row, at_end && at_end->kind == RB_NODE_BOOL && at_end->boolean);
    return true;
}

bool rb_run_row_read(const struct rb_node *document, struct rb_arena *arena, struct rb_run_row *out, struct rb_err *err)
{
    struct rb_run_row row = unknown;
    const char *format;
    row.run = out->run;
    row.from = out->from;
    if (!rb_node_string(at(document, "format"), &format, NULL) || strcmp(format, "rb-run-page/1") != 0)
        return rb_node_refuse(
            document, err, RB_E_REPORT_FORMAT,
            "expected a document of format rb-run-page/1, as `rbrun export --to folder:DIR` writes it");
    if (!need_text(document, "report.outcome", arena, &row.outcome, err) ||
        !need_text(document, "plan.job.config.name", arena, &row.job, err) ||
        !need_text(document, "plan.job.config.metric.name", arena, &row.metric_name, err) ||
        !need_text(document, "plan.job.config.metric.goal", arena, &row.goal, err) ||
        !read_figures(document, &row, err) || !read_trials(document, &row, err) ||
        !read_infras(document, arena, &row, err) || !read_prices(document, &row, err) ||
        !read_promise(document, &row, err))
        return false;
    *out = row;
    return true;
}

struct rb_run_row rb_run_row_elsewhere(const struct rb_elsewhere *e, struct rb_arena *arena)
{
    struct rb_run_row row = unknown;
    row.run = rb_arena_strdup(arena, e->run_id);
    row.controller = rb_arena_strdup(arena, e->place);
    row.outcome = e->begun ? "elsewhere" : "elsewhere, unconfirmed";
    return row;
}

struct rb_run_row rb_run_row_unreadable(const char *run, const struct rb_err *why, struct rb_arena *arena)
{
    RB_AUTO(rb_buf_finish) struct rb_buf placed = RB_BUF_INIT;
    struct rb_run_row row = unknown;
    if (why->file[0])
        rb_err_write(why, &placed);
    row.run = rb_arena_strdup(arena, run);
    row.error = rb_arena_strdup(arena, why->file[0] ? rb_buf_str(&placed) : why->message);
    row.is_damaged = rb_err_number(why) == RB_E_JOURNAL_DAMAGED;
    return row;
}

static const char *copied(const char *text, struct rb_arena *arena)
{
    return text ? rb_arena_strdup(arena, text) : NULL;
}

void rb_run_row_copy(const struct rb_run_row *row, struct rb_arena *arena, struct rb_run_row *out)
{
    const char **infras = rb_arena_array(arena, (size_t)row->n_infras + 1, sizeof *infras);
    *out = *row;
    out->run = copied(row->run, arena);
    out->from = copied(row->from, arena);
    out->outcome = copied(row->outcome, arena);
    out->error = copied(row->error, arena);
    out->controller = copied(row->controller, arena);
    out->job = copied(row->job, arena);
    out->metric_name = copied(row->metric_name, arena);
    out->goal = copied(row->goal, arena);
    for (int i = 0; i < row->n_infras; i++)
        infras[i] = copied(row->infras[i], arena);
    out->infras = infras;
}

// ---- writing

static void write_on_time(enum rb_run_promise on_time, struct rb_json *j)
{
    rb_json_key(j, "on_time");
    if (on_time == RB_RUN_PROMISE_KEPT || on_time == RB_RUN_PROMISE_BROKEN)
        rb_json_bool(j, on_time == RB_RUN_PROMISE_KEPT);
    else
        rb_json_null(j);
}

void rb_run_row_write(const struct rb_run_row *row, struct rb_json *j)
{
    rb_json_begin_object(j);
    rb_json_kstring(j, "run", row->run);
    rb_json_kstring(j, "from", row->from);
    rb_json_kstring(j, "outcome", row->outcome);
    rb_json_kstring(j, "controller", row->controller);
    rb_json_kstring(j, "job", row->job);
    rb_json_kint_or_null(j, "started_at_us", row->started_at_us);
    rb_json_kint_or_null(j, "time_us", row->time_us);
    rb_json_kint_or_null(j, "time_predicted_us", row->time_predicted_us);
    rb_json_kint_or_null(j, "cost_uusd", row->cost_uusd);
    rb_json_kint_or_null(j, "cost_predicted_uusd", row->cost_predicted_uusd);
    rb_json_kbool(j, "is_free", row->is_free);
    rb_json_kbool(j, "is_lent", row->is_lent);
    rb_json_kint_or_null(j, "trials", row->trials);
    rb_json_kint_or_null(j, "trials_failed", row->trials_failed);
    rb_json_kstring(j, "metric_name", row->metric_name);
    rb_json_kstring(j, "goal", row->goal);
    rb_json_kint_or_null(j, "best_trial", row->best_trial);
    rb_json_kdouble_or_null(j, "best_metric", row->best_metric);
    rb_json_kint_or_null(j, "deadline_us", row->deadline_us);
    rb_json_kint_or_null(j, "budget_uusd", row->budget_uusd);
    rb_json_kdouble_or_null(j, "p_on_time", row->p_on_time);
    write_on_time(row->on_time, j);
    rb_json_kstrings(j, "infras", row->infras, row->n_infras);
    rb_json_kstring(j, "error", row->error);
    rb_json_end_object(j);
}
