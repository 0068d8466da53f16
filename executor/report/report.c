// The report: replays the events for what happened, and reads the rows for what it cost.
#include "executor/report/report.h"

#include "base/limits.h"
#include "engine/core/policy.h"
#include "engine/core/tuner.h"
#include "executor/controller/spend.h"
#include "executor/launcher/trial_command.h"
#include "executor/launcher/trial_env.h"
#include "executor/report/report_saves.h"
#include "executor/report/report_split.h"
#include "profiles/catalog/infra.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct maker {
    struct rb_engine *engine;
    struct rb_actions actions;
    int64_t last_us;   // of the last event
    int64_t over_us;   // when the engine reported the job as over, -1: it did not
    int64_t *furthest; // by trial, [n_furthest]: its largest resource, even if lost since
    int n_furthest;
    int64_t *
        // By node of the engine, [n_lent]: GPU time lent to the run; n_lent is 0 if the nodes are the run's own.
        lent_us;
    int n_lent;
    struct pull { int node, attempt; int64_t us; } *pulls; // [n_pulls]
    int n_pulls;
    struct rb_arena *arena;
    struct rb_report *r;
    struct rb_journal_meta meta;
    struct rb_task_row *tasks;
    int n_tasks;
    struct rb_launch_row *launches;
    int n_launches;
};

static void take_progress(struct maker *m, int trial)
{
    const int n = rb_engine_n_trials(m->engine);
    if (n > m->n_furthest) {
        m->furthest = rb_xrealloc(m->furthest, (size_t)n, sizeof *m->furthest);
        for (; m->n_furthest < n; m->n_furthest++)
            m->furthest[m->n_furthest] = 0;
    }
    if (trial < n && rb_engine_trial(m->engine, trial)->resource > m->furthest[trial])
        m->furthest[trial] = rb_engine_trial(m->engine, trial)->resource;
}

// Adds the time before the event, with the GPUs lent then.
static void take_lent(struct maker *m, int64_t to_us)
{
    const struct rb_policy *policy = rb_policy_find(m->r->plan->policy);
    const int n = rb_engine_n_nodes(m->engine);
    if (!policy || !policy->on_lent_gpus)
        return;
    if (n > m->n_lent) {
        m->lent_us = rb_xrealloc(m->lent_us, (size_t)n, sizeof *m->lent_us);
        for (; m->n_lent < n; m->n_lent++)
            m->lent_us[m->n_lent] = 0;
    }
    for (int i = 0; i < n; i++) {
        const struct rb_owned_node *node = rb_engine_node(m->engine, i);
        if (node->state != RB_OWNED_ENDED)
            m->lent_us[i] += __builtin_popcountll(node->usable) * (to_us - m->last_us);
    }
}

static bool take_event(void *ctx, const struct rb_event *e, struct rb_err *err)
{
    (void)err;
    struct maker *m = ctx;
    const bool ran = rb_engine_outcome(m->engine, NULL) == RB_JOB_RUNNING;
    take_lent(m, e->time_us);
    rb_engine_step(m->engine, e, &m->actions);
    if (ran && e->kind == RB_EVENT_STOP && e->reason == RB_STOP_DEADLINE)
        m->r->ended_at_deadline = rb_job_is_final(rb_engine_outcome(m->engine, NULL));
    m->last_us = e->time_us;
    m->r->n_events++;
    if (e->kind == RB_EVENT_REPORT)
        take_progress(m, e->trial);
    if (e->kind == RB_EVENT_NODE_READY && e->pull_us > 0) {
        m->pulls = rb_arena_grow(m->arena, m->pulls, m->n_pulls, sizeof *m->pulls);
        m->pulls[m->n_pulls++] = (struct pull){e->node, e->attempt, e->pull_us};
    }
    if (e->kind == RB_EVENT_RESUME)
        m->over_us = -1;
    for (int i = 0; i < m->actions.n; i++)
        if (m->actions.items[i].kind == RB_ACTION_DONE)
            m->over_us = e->time_us;
    return true;
}

static void take_trials(struct maker *m)
{
    struct rb_report *r = m->r;
    r->n_trials = rb_engine_n_trials(m->engine);
    r->trials = rb_arena_array(m->arena, (size_t)(r->n_trials ? r->n_trials : 1), sizeof *r->trials);
    for (int i = 0; i < r->n_trials; i++) {
        const struct rb_trial *t = rb_engine_trial(m->engine, i);
        r->trials[i] = (struct rb_report_trial){.trial = i,
                                                .restarts = t->failures,
                                                .state = rb_trial_state_name(t->state),
                                                .parent = t->parent,
                                                .cloned_at = t->cloned_at,
                                                .resource = t->resource,
                                                .metric = t->metric,
                                                .suggested = rb_values_copy(&r->plan->job->space, t->values, m->arena),
                                                .origin = t->origin ? rb_arena_strdup(m->arena, t->origin) : NULL,
                                                .because = t->because ? rb_arena_strdup(m->arena, t->because) : NULL};
    }
}

// Of a start that has saved: midway checkpoints have their resource in their names.
static int64_t saved_resource(const struct rb_task_row *t)
{
    const char *midway = strstr(t->checkpoint, RB_CHECKPOINT_MIDWAY);
    return midway ? strtoll(midway + strlen(RB_CHECKPOINT_MIDWAY), NULL, 10) : t->resource_end;
}

static const char *best_remark(const struct maker *m, const struct rb_trial *best, const struct rb_task_row *saved)
{
    const char *unit = m->r->plan->job->scheduler.unit;
    if (best->state != RB_TRIAL_FAILED)
        return NULL;
    if (!saved)
        return rb_arena_strdup(m->arena, "it reported this and then failed; it saved no checkpoint");
    if (saved_resource(saved) >= best->resource)
        return rb_arena_strdup(m->arena, "it reported this and then failed; its checkpoint is from before that");
    return rb_arena_printf(m->arena,
                           "it reported this at %s %" PRId64 " and then failed; its checkpoint is of %s %" PRId64, unit,
                           best->resource, unit, saved_resource(saved));
}

static void take_best(struct maker *m)
{
    struct rb_report *r = m->r;
    r->best_trial = rb_engine_best(m->engine);
    r->best_metric = r->best_trial >= 0 ? rb_engine_trial(m->engine, r->best_trial)->metric : NAN;
    const struct rb_task_row *saved = NULL;
    for (int i = 0; i < m->n_tasks; i++)
        if (m->tasks[i].trial == r->best_trial && m->tasks[i].checkpoint[0])
            saved = &m->tasks[i]; // in order of starts: the last one stays
    r->best_checkpoint = saved ? saved->checkpoint : NULL;
    if (r->best_trial >= 0)
        r->best_remark = best_remark(m, rb_engine_trial(m->engine, r->best_trial), saved);
}

// Nodes the engine owned for some time of the stage.
static int count_nodes(const struct maker *m, const struct rb_report_stage *s)
{
    int n = 0;
    for (int i = 0; s->start_us >= 0 && i < rb_engine_n_nodes(m->engine); i++) {
        const struct rb_owned_node *node = rb_engine_node(m->engine, i);
        n += (node->ended_us < 0 || node->ended_us > s->start_us) && (s->end_us < 0 || node->requested_us < s->end_us);
    }
    return n;
}

// In an asynchronous job it is unknown in advance how many trials get how far.
static int trained_beyond(const struct maker *m, int64_t resource)
{
    int n = 0;
    for (int i = 0; i < m->n_furthest; i++)
        n += m->furthest[i] > resource;
    return n;
}

static void take_stages(struct maker *m)
{
    struct rb_report *r = m->r;
    const struct rb_tuner *tuner = rb_tuner_find(r->plan->job->scheduler.type);
    const bool on_demand = tuner && tuner->on_demand;
    r->n_stages = r->plan->n_stages;
    r->stages = rb_arena_array(m->arena, (size_t)(r->n_stages ? r->n_stages : 1), sizeof *r->stages);
    for (int i = 0; i < r->n_stages; i++) {
        const struct rb_plan_stage *s = &r->plan->stages[i];
        r->stages[i] = (struct rb_report_stage){.stage = i,
                                                .trials = on_demand ? trained_beyond(m, s->resource_start) : s->trials,
                                                .gpus_per_trial = s->gpus_per_trial,
                                                .resource_end = s->resource_end,
                                                .start_us = rb_engine_stage_start_us(m->engine, i),
                                                .end_us = rb_engine_stage_end_us(m->engine, i)};
        r->stages[i].nodes = count_nodes(m, &r->stages[i]);
    }
}

static int64_t pull_us_of(const struct maker *m, const struct rb_launch_row *row)
{
    for (int i = 0; i < m->n_pulls; i++)
        if (m->pulls[i].node == row->node && m->pulls[i].attempt == row->attempt)
            return m->pulls[i].us;
    return 0;
}

// For a launch in the report: unix times of the cloud become times of the run.
static struct rb_report_node node_of(const struct maker *m, const struct rb_launch_row *row)
{
    const int64_t started = m->meta.started_unix_us;
    return (struct rb_report_node){
        .node = row->node,
        .id = row->instance_id,
        .infra = row->infra,
        .instance_type = row->instance_type,
        .market = row->market,
        .state = rb_launch_state_name(row->state),
        .requested_us = row->intent_us,
        .running_us = rb_report_run_time_us(row->running_unix_us, started, row->intent_us),
        .ready_us = row->ready_us,
        .pull_us = pull_us_of(m, row),
        .terminated_us = rb_report_run_time_us(row->terminated_unix_us, started, row->intent_us),
        .attempt = row->attempt,
        .offer = row->offer,
        .prices = {row->prices.steps, row->prices.n, started},
        .release_us = row->terminate_us,
        .gone_us = row->gone_us,
    };
}

static void add_cost(struct rb_bill_parts *sum, const struct rb_bill_parts *part)
{
    sum->train_uusd += part->train_uusd;
    sum->boot_uusd += part->boot_uusd;
    sum->idle_barrier_uusd += part->idle_barrier_uusd;
    sum->minimum_uusd += part->minimum_uusd;
    sum->lost_uusd += part->lost_uusd;
    sum->checkpoint_uusd += part->checkpoint_uusd;
}

static void take_node_time(struct maker *m, struct rb_report_node *node)
{
    struct rb_node_time *sum = &m->r->node_time;
    const int64_t lent_us = node->node < m->n_lent ? m->lent_us[node->node] : -1;
    rb_report_split_time(node, m->r->plan->offers[node->offer].gpus, m->tasks, m->n_tasks, m->last_us, lent_us,
                         &node->time);
    sum->train_us += node->time.train_us;
    sum->boot_us += node->time.boot_us;
    sum->idle_barrier_us += node->time.idle_barrier_us;
    sum->lost_us += node->time.lost_us;
    sum->checkpoint_us += node->time.checkpoint_us;
}

// On a spot market the plan's price is one that held once. (Machines that are there anyway are attributed as a whole.)
static bool is_attributed(const struct rb_launch_row *row)
{
    return strcmp(row->market, rb_market_name(RB_MARKET_SPOT)) == 0 && !row->prices.steps &&
           !rb_infra_may_be_free(row->infra);
}

static bool take_nodes(struct maker *m, struct rb_journal *j, struct rb_err *err)
{
    struct rb_report *r = m->r;
    r->nodes = rb_arena_array(m->arena, (size_t)(m->n_launches ? m->n_launches : 1), sizeof *r->nodes);
    for (int i = 0; i < m->n_launches; i++) {
        const struct rb_launch_row *row = &m->launches[i];
        struct rb_billing billing;
        if (row->state == RB_LAUNCH_REFUSED)
            continue;
        if (row->offer < 0 || row->offer >= r->plan->n_offers)
            return rb_journal_misfit(j, err, "it names offer %d, which the plan does not have", row->offer);
        if (!rb_spend_billing(r->plan, row->offer, &billing, err))
            return false;
        const struct rb_spend_now now = {m->meta.started_unix_us + m->last_us, m->last_us};
        const struct rb_bill bill = rb_spend_bill(&billing, row, &now);
        struct rb_report_node *node = &r->nodes[r->n_nodes++];
        *node = node_of(m, row);
        node->cost_uusd = bill.total_uusd;
        r->cost_uusd += bill.total_uusd;
        r->attributed_uusd += is_attributed(row) ? bill.total_uusd : 0;
        rb_report_split_node(&bill, node, r->plan->offers[row->offer].gpus, m->tasks, m->n_tasks, m->last_us,
                             &node->by);
        add_cost(&r->by, &node->by);
        take_node_time(m, node);
        rb_report_split_stages(node, m->last_us, r->stages, r->n_stages);
    }
    return true;
}

static bool take_machine(struct maker *m, struct rb_journal *j, struct rb_err *err)
{
    struct rb_report *r = m->r;
    if (!rb_machine_row_read(j, &r->machine, err))
        return false;
    if (r->machine.instance_id[0])
        r->machine_uusd = rb_machine_row_cost_uusd(&r->machine, m->meta.started_unix_us + m->last_us);
    return true;
}

static bool take_all(struct maker *m, struct rb_journal *j, struct rb_err *err)
{
    struct rb_report *r = m->r;
    if (!rb_journal_meta(j, m->arena, &m->meta, err) || !rb_journal_each_event(j, take_event, m, err) ||
        !rb_journal_tasks(j, m->arena, &m->tasks, &m->n_tasks, err) || !rb_report_saves(j, m->tasks, m->n_tasks, err) ||
        !rb_journal_launches(j, m->arena, &m->launches, &m->n_launches, err) ||
        !rb_journal_notes(j, m->arena, &r->notes, &r->n_notes, err))
        return false;
    r->run_id = m->meta.run_id;
    r->plan_sha256 = m->meta.plan_sha256;
    r->started_unix_us = m->meta.started_unix_us;
    r->leak_checked_at_us = m->meta.leak_checked_at_us;
    r->instances_left = m->meta.instances_left;
    r->outcome = rb_engine_outcome(m->engine, &r->reason);
    r->time_us = m->over_us >= 0 ? m->over_us : m->last_us;
    for (int i = 0; i < r->n_notes; i++)
        r->paced_accelerator = r->paced_accelerator || strcmp(r->notes[i].kind, "paced") == 0;
    take_trials(m);
    take_best(m);
    take_stages(m);
    r->meta = m->meta;
    r->tasks = m->tasks;
    r->n_tasks = m->n_tasks;
    r->now_us = m->last_us;
    return take_machine(m, j, err) && take_nodes(m, j, err);
}

bool rb_report_make(struct rb_journal *j, const struct rb_plan *plan, struct rb_arena *arena, struct rb_report *out,
                    struct rb_err *err)
{
    struct rb_report r = {.plan = plan};
    struct maker m = {.arena = arena, .over_us = -1, .r = &r};
    if (!rb_engine_create(plan, &m.engine, err))
        return false;
    const bool ok = take_all(&m, j, err);
    rb_engine_destroy(m.engine);
    rb_actions_finish(&m.actions);
    free(m.furthest);
    free(m.lent_us);
    if (ok)
        *out = r;
    return ok;
}

const char *rb_report_outcome(enum rb_job_outcome outcome, enum rb_stop_reason reason, bool at_work,
                              char out[static 64])
{
    const char *const names[] = {at_work ? "running" : "interrupted", "complete", "target", "stopped", "incomplete"};
    if (outcome == RB_JOB_STOPPED)
        snprintf(out, 64, "stopped: %s", rb_stop_reason_name(reason));
    else
        snprintf(out, 64, "%s", names[outcome]);
    return out;
}

// Writing.

int64_t rb_node_time_sum(const struct rb_node_time *t)
{
    return t->train_us + t->boot_us + t->idle_barrier_us + t->lost_us + t->checkpoint_us;
}

// The keys of a bill's parts, so that both are read alike.
void rb_node_time_write(const struct rb_node_time *t, struct rb_json *j)
{
    rb_json_put(j, "{actual: %jd by:", rb_node_time_sum(t));
    rb_bill_parts_write(&(struct rb_bill_parts){.train_uusd = t->train_us,
                                                .boot_uusd = t->boot_us,
                                                .idle_barrier_uusd = t->idle_barrier_us,
                                                .lost_uusd = t->lost_us,
                                                .checkpoint_uusd = t->checkpoint_us},
                        j);
    rb_json_end_object(j);
}

static bool has_clones(const struct rb_report *r)
{
    for (int i = 0; i < r->n_trials; i++)
        if (r->trials[i].parent >= 0)
            return true;
    return false;
}

// The trial's weights trained with the values of those that it descends from, the first of them first.
static void write_ancestry(const struct rb_report *r, const struct rb_report_trial *t, int64_t to, struct rb_json *j)
{
    if (t->parent >= 0)
        write_ancestry(r, &r->trials[t->parent], t->cloned_at, j);
    rb_json_put(j, "{trial: %d from: %jd to: %jd values:", t->trial, t->cloned_at, to);
    rb_trial_params_write(r->plan->job, t->trial, t->suggested, j);
    rb_json_end_object(j);
}

static void write_schedule(const struct rb_report *r, const struct rb_report_trial *best, struct rb_json *j)
{
    if (!has_clones(r))
        return;
    rb_json_karray(j, "schedule");
    write_ancestry(r, best, best->resource, j);
    rb_json_end_array(j);
}

static void write_best(const struct rb_report *r, struct rb_json *j)
{
    RB_AUTO(rb_buf_finish) struct rb_buf command = RB_BUF_INIT;
    rb_json_key(j, "best");
    if (r->best_trial < 0) {
        rb_json_null(j);
        return;
    }
    rb_json_put(j, "{trial: %d metric_name: %s metric: %g|null params:", r->best_trial, r->plan->job->metric_name,
                r->best_metric);
    const struct rb_value *suggested = r->trials[r->best_trial].suggested;
    rb_trial_params_write(r->plan->job, r->best_trial, suggested, j);
    rb_trial_command_write(r->plan->job, r->best_trial, suggested, &command);
    rb_json_put(j, "command: %s checkpoint: %s|null remark: %s|null", rb_buf_str(&command), r->best_checkpoint,
                r->best_remark);
    write_schedule(r, &r->trials[r->best_trial], j);
    rb_json_end_object(j);
}

static void write_predicted(const struct rb_plan *plan, const struct rb_quantiles *q, struct rb_json *j)
{
    if (plan->unpredicted)
        rb_json_null(j);
    else
        rb_quantiles_write(q, j);
}

static void write_cost(const struct rb_report *r, struct rb_json *j)
{
    rb_json_put(j, "cost_uusd: {predicted:");
    write_predicted(r->plan, &r->plan->estimate.cost_uusd, j);
    rb_json_put(j, "actual: %jd by:", r->cost_uusd);
    rb_bill_parts_write(&r->by, j);
    if (r->attributed_uusd > 0)
        rb_json_kint(j, "attributed_uusd", r->attributed_uusd);
    rb_json_end_object(j);
}

static void write_stage(const struct rb_report_stage *s, const struct rb_plan *plan, struct rb_json *j)
{
    const struct rb_plan_stage *planned = &plan->stages[s->stage];
    rb_json_put(j, "{stage: %d trials: %d resource_end: %jd gpus_per_trial: %d",
                s->stage, s->trials, s->resource_end, s->gpus_per_trial);
    if (plan->job->trial.cpus > 0)
        rb_json_put(j, "cpus_per_trial: %d", plan->job->trial.cpus);
    rb_json_put(j, "nodes: %d start_us: %jd|null", s->nodes, s->start_us);
    rb_json_put(j, "end_us: %jd|null predicted_time_us: %jd|null predicted_cost_uusd: %jd|null", s->end_us,
                plan->unpredicted ? -1 : planned->time_us.mean, plan->unpredicted ? -1 : planned->cost_uusd.mean);
    rb_json_put(j, "cost_uusd: %jd}", s->cost_uusd);
}

static void write_trial(const struct rb_report *r, const struct rb_report_trial *t, struct rb_json *j)
{
    rb_json_put(j, "{trial: %d state: %s resource: %jd metric: %g|null params:", t->trial, t->state, t->resource,
                t->metric);
    rb_trial_params_write(r->plan->job, t->trial, t->suggested, j);
    rb_json_put(j, "restarts: %d origin: %s because: %s", t->restarts, t->origin, t->because);
    if (t->parent >= 0)
        rb_json_put(j, "parent: %d cloned_at: %jd", t->parent, t->cloned_at);
    rb_json_end_object(j);
}

static void write_node(const struct rb_report_node *n, struct rb_json *j)
{
    rb_json_put(j, "{id: %s|null infra: %s instance_type: %s market: %s state: %s requested_us: %jd", n->id, n->infra,
                n->instance_type, n->market, n->state, n->requested_us);
    rb_json_put(j, "running_us: %jd|null ready_us: %jd|null terminated_us: %jd|null cost_uusd: %jd", n->running_us,
                n->ready_us, n->terminated_us, n->cost_uusd);
    if (n->pull_us > 0)
        rb_json_kint(j, "pull_us", n->pull_us);
    rb_json_end_object(j);
}

// Only runs that have such a machine say so.
static void write_machine(const struct rb_report *r, struct rb_json *j)
{
    const struct rb_machine_row *m = &r->machine;
    if (!m->instance_id[0])
        return;
    rb_json_put(j, "controller: {id: %s infra: %s instance_type: %s", m->instance_id, m->infra,
                m->instance_type);
    rb_json_put(j, "running_at_us: %jd ends_at_us: %jd|null ended_at_us: %jd|null cost_uusd: %jd}", m->running_unix_us,
                m->ends_unix_us, m->ended_unix_us, r->machine_uusd);
}

static void write_leak_check(const struct rb_report *r, struct rb_json *j)
{
    rb_json_key(j, "leak_check");
    if (r->leak_checked_at_us < 0) {
        rb_json_null(j);
        return;
    }
    rb_json_put(j, "{at_us: %jd", r->leak_checked_at_us);
    rb_json_kint_or_null(j, "instances_left", r->instances_left); // unknown is not zero
    rb_json_end_object(j);
}

static void write_notes(const struct rb_report *r, const char *key, const char *kind, struct rb_json *j)
{
    rb_json_put(j, "%s: [", key);
    for (int i = 0; i < r->n_notes; i++) {
        if (strcmp(r->notes[i].kind, kind) != 0)
            continue;
        rb_json_put(j, "{at_us: %jd text: %s}", r->notes[i].time_us, r->notes[i].text);
    }
    rb_json_end_array(j);
}

void rb_report_write(const struct rb_report *r, struct rb_json *j)
{
    char outcome[64];
    rb_json_put(j, "{format: 'rb-report/1' run: %s plan_sha256: %s outcome: %s|null", r->run_id, r->plan_sha256,
                rb_report_outcome(r->outcome, r->reason, r->at_work, outcome));
    rb_json_put(j, "ended_at_deadline: %i started_at_us: %jd paced_accelerator: %i", r->ended_at_deadline,
                r->started_unix_us, r->paced_accelerator);
    write_best(r, j);
    rb_json_put(j, "time_us: {predicted:");
    write_predicted(r->plan, &r->plan->estimate.time_us, j);
    rb_json_put(j, "actual: %jd}", r->time_us);
    write_cost(r, j);
    rb_json_key(j, "node_time_us");
    rb_node_time_write(&r->node_time, j);
    rb_json_put(j, "stages: [");
    for (int i = 0; i < r->n_stages; i++)
        write_stage(&r->stages[i], r->plan, j);
    rb_json_put(j, "] trials: [");
    for (int i = 0; i < r->n_trials; i++)
        write_trial(r, &r->trials[i], j);
    rb_json_put(j, "] nodes: [");
    for (int i = 0; i < r->n_nodes; i++)
        write_node(&r->nodes[i], j);
    rb_json_end_array(j);
    write_machine(r, j);
    write_leak_check(r, j);
    write_notes(r, "replans", "replan", j);
    write_notes(r, "spot", "spot", j);
    write_notes(r, "drifts", "drift", j);
    write_notes(r, "faults", "fault", j);
    write_notes(r, "warnings", "warning", j);
    rb_json_end_object(j);
}

bool rb_report_json(struct rb_journal *j, const struct rb_plan *plan, bool at_work, bool pretty, struct rb_buf *out,
                    struct rb_err *err)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    struct rb_report report;
    if (!rb_report_make(j, plan, &arena, &report, err))
        return false;
    report.at_work = at_work;
    struct rb_json json = {.out = out, .pretty = pretty};
    rb_report_write(&report, &json);
    rb_buf_putc(out, '\n');
    return true;
}
