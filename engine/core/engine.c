#include "engine/core/engine_state.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// For a plan made by a program; a plan from a file has passed rb_plan_read.
static bool check_stage(const struct rb_plan *plan, int index, struct rb_err *err)
{
    const struct rb_plan_stage *stage = &plan->stages[index];
    if (stage->n_nodes < 1)
        return rb_err_set(err, RB_E_PLAN_STAGES, "stages[%d].nodes: expected at least one entry", index);
    for (int i = 0; i < stage->n_nodes; i++) {
        const struct rb_plan_nodes *nodes = &stage->nodes[i];
        if (nodes->offer < 0 || nodes->offer >= plan->n_offers || nodes->count < 1)
            return rb_err_set(err, RB_E_PLAN_STAGES, "stages[%d].nodes[%d]: no such offer, or no node of it", index, i);
        if (plan->offers[nodes->offer].gpus != rb_plan_stage_gpus_per_node(plan, stage))
            return rb_err_set(err, RB_E_PLAN_STAGES, "stages[%d].nodes[%d]: expected the instance type of nodes[0]",
                              index, i);
    }
    for (int i = 0; i < stage->n_early; i++) {
        const struct rb_plan_early *early = &stage->early[i];
        if (early->offer < 0 || early->offer >= plan->n_offers || early->count < 1 || early->at_us < 0 ||
            (i > 0 && early->at_us < stage->early[i - 1].at_us))
            return rb_err_set(err, RB_E_PLAN_STAGES,
                              "stages[%d].early[%d]: expected a known offer, a count above 0 and at_us in ascending "
                              "order",
                              index, i);
    }
    const int per_node = rb_plan_stage_gpus_per_node(plan, stage);
    if (stage->gpus_per_trial < 1 || stage->trials_per_gpu != 1 ||
        rb_placement_capacity(rb_plan_stage_node_count(stage), per_node, stage->gpus_per_trial) < 1)
        return rb_err_set(err, RB_E_PLAN_STAGES, "stages[%d]: a trial with %d GPUs does not fit its nodes", index,
                          stage->gpus_per_trial);
    return true;
}

bool rb_engine_check_plan(const struct rb_plan *plan, struct rb_err *err)
{
    struct rb_rung_table table;
    if (!rb_rungs_of_job(plan->job, &table, err))
        return false;
    if (plan->n_stages != table.n)
        return rb_err_set(err, RB_E_PLAN_STAGES, "the plan has %d stages, its job has %d", plan->n_stages, table.n);
    for (int i = 0; i < plan->n_stages; i++) {
        if (!check_stage(plan, i, err))
            return false;
    }
    return true;
}

bool rb_engine_create(const struct rb_plan *plan, struct rb_engine **out, struct rb_err *err)
{
    const struct rb_tuner *tuner = rb_tuner_find(plan->job->scheduler.type);
    const struct rb_policy *policy = rb_policy_find(plan->policy);
    void *tuner_state, *policy_state = NULL;
    if (!tuner)
        return rb_err_set(err, RB_E_NOT_SUPPORTED, "not supported yet: scheduler.type: %s", plan->job->scheduler.type);
    if (!policy)
        return rb_err_set(err, RB_E_NOT_SUPPORTED, "not supported yet: policy: %s", plan->policy);
    if (policy->needs_on_demand && !tuner->on_demand)
        return rb_err_set(
            err, RB_E_POLICY,
            "policy: %s admits trials one by one; scheduler.type: %s trains rung by rung: choose asha, or "
            "policy: elastic",
            policy->name, tuner->name);
    if (!rb_engine_check_plan(plan, err) || !tuner->create(plan->job, &tuner_state, err))
        return false;
    if (policy->create && !policy->create(plan, &policy_state, err)) {
        tuner->destroy(tuner_state);
        return false;
    }
    struct rb_engine *e = rb_xcalloc(1, sizeof *e);
    e->plan = plan;
    e->tuner = tuner;
    e->tuner_state = tuner_state;
    e->policy = policy;
    e->policy_state = policy_state;
    e->suggests = plan->job->scheduler.sampler.type != NULL && plan->job->space.n_params > 0;
    e->batching = rb_batching_create(plan);
    e->stage = -1;
    for (int i = 0; i < RB_LIMIT_STAGES; i++) {
        e->stage_plan[i] = plan;
        e->stage_start_us[i] = e->stage_end_us[i] = -1;
    }
    *out = e;
    return true;
}

void rb_engine_destroy(struct rb_engine *e)
{
    if (!e)
        return;
    e->tuner->destroy(e->tuner_state);
    if (e->policy->destroy)
        e->policy->destroy(e->policy_state);
    rb_batching_destroy(e->batching);
    free(e->trials);
    rb_standings_finish(&e->standings);
    rb_places_finish(&e->places);
    free(e->slots);
    free(e->queue);
    free(e->running);
    free(e->decisions.resizes);
    free(e->nodes);
    free(e->owned);
    rb_arena_finish(&e->arena);
    free(e);
}

static void dispatch(struct rb_engine *e, const struct rb_event *event)
{
    switch (event->kind) {
    case RB_EVENT_START:
        rb_engine_on_start(e, event);
        break;
    case RB_EVENT_NODE_RUNNING:
        rb_engine_on_node_running(e, event);
        break;
    case RB_EVENT_NODE_READY:
        rb_engine_on_node_ready(e, event);
        break;
    case RB_EVENT_NODE_REFUSED:
        rb_engine_on_node_refused(e, event);
        break;
    case RB_EVENT_NODE_LOST:
        rb_engine_on_node_lost(e, event);
        break;
    case RB_EVENT_REPORT:
        rb_engine_on_report(e, event);
        break;
    case RB_EVENT_TRIAL_ENDED:
        rb_engine_on_trial_ended(e, event);
        break;
    case RB_EVENT_TIME:
        rb_engine_on_time(e);
        break;
    case RB_EVENT_ADVICE:
        rb_engine_on_advice(e, event);
        break;
    case RB_EVENT_FORECAST:
        rb_engine_on_forecast(e, event);
        break;
    case RB_EVENT_LENT:
        rb_engine_on_lent(e, event);
        break;
    case RB_EVENT_STOP:
        rb_engine_on_stop(e, event->reason);
        break;
    case RB_EVENT_RESUME:
        rb_engine_on_resume(e);
        break;
    case RB_EVENT_SUGGESTED:
        rb_engine_on_suggested(e, event);
        break;
    case RB_EVENT_TRIAL_SAVED:
        rb_engine_on_saved(e, event);
        break;
    }
}

void rb_engine_step(struct rb_engine *e, const struct rb_event *event, struct rb_actions *out)
{
    assert(event->time_us >= e->now_us);
    rb_actions_clear(out);
    e->now_us = event->time_us;
    e->out = out;
    dispatch(e, event);
    if (e->out_of_nodes)
        rb_engine_on_stop(e, RB_STOP_CAPACITY);
    if (e->outcome == RB_JOB_RUNNING && e->places_changed) {
        rb_engine_release_drained(e);
        rb_engine_let_policy_arrange(e);
        rb_engine_start_waiting(e);
        rb_engine_ask(e);
    }
    e->out = NULL;
    rb_actions_seal(out);
}

const struct rb_plan *rb_engine_present_plan(const struct rb_engine *e)
{
    return e->plan;
}

int rb_engine_n_trials(const struct rb_engine *e)
{
    return e->n_trials;
}

const struct rb_trial *rb_engine_trial(const struct rb_engine *e, int trial)
{
    assert(trial >= 0 && trial < e->n_trials);
    return &e->trials[trial].pub;
}

int rb_engine_n_nodes(const struct rb_engine *e)
{
    return e->n_nodes;
}

const struct rb_owned_node *rb_engine_node(const struct rb_engine *e, int node)
{
    assert(node >= 0 && node < e->n_nodes);
    return &e->nodes[node].pub;
}

int rb_engine_stage(const struct rb_engine *e)
{
    return e->stage;
}

int64_t rb_engine_now_us(const struct rb_engine *e)
{
    return e->now_us;
}

const int *rb_engine_running(const struct rb_engine *e, int *out_n)
{
    *out_n = e->n_running;
    return e->running;
}

const int *rb_engine_waiting(const struct rb_engine *e, int *out_n)
{
    *out_n = e->n_waiting;
    return e->queue;
}

int rb_engine_n_standing(const struct rb_engine *e)
{
    return rb_standings_count(&e->standings);
}

int rb_engine_standing(const struct rb_engine *e, int place)
{
    return rb_standings_at(&e->standings, place);
}

int rb_engine_place(const struct rb_engine *e, int trial)
{
    return rb_standings_has(&e->standings, trial) ? rb_standings_place(&e->standings, trial) : -1;
}

int rb_engine_claimed_gpus(const struct rb_engine *e)
{
    return e->claimed_gpus;
}

const void *rb_engine_policy_state(const struct rb_engine *e, const struct rb_policy *policy)
{
    return e->policy == policy ? e->policy_state : NULL;
}

int rb_engine_n_gpus(const struct rb_engine *e)
{
    return rb_engine_capacity(e, 1);
}

// Nodes that are not shared with other jobs are all alike, so one capacity applies to all.
int rb_engine_capacity(const struct rb_engine *e, int gpus)
{
    if (e->places.n_held == 0)
        return 0;
    const int per_node = e->places.gpus_per_node;
    if (!e->policy->on_lent_gpus)
        return rb_placement_capacity(e->places.n_held, per_node, gpus);
    int within = 0, n_whole = 0;
    for (int i = 0; i < e->n_owned; i++) {
        const struct node *n = &e->nodes[e->owned[i]];
        const int usable = rb_node_is_held(n) ? __builtin_popcountll(n->pub.usable) : 0;
        within += usable / gpus;
        n_whole += usable == per_node;
    }
    return gpus <= per_node ? within : rb_placement_capacity(n_whole, per_node, gpus);
}

bool rb_engine_would_fit(const struct rb_engine *e, int trial, int gpus)
{
    const struct rb_trial *t = rb_engine_trial(e, trial);
    return rb_places_would_fit(&e->places, gpus, t->slots, t->sharers > 1 ? 0 : t->n_slots);
}

int64_t rb_engine_stage_start_us(const struct rb_engine *e, int stage)
{
    assert(stage >= 0 && stage < RB_LIMIT_STAGES);
    return e->stage_start_us[stage];
}

int64_t rb_engine_stage_end_us(const struct rb_engine *e, int stage)
{
    assert(stage >= 0 && stage < RB_LIMIT_STAGES);
    return e->stage_end_us[stage];
}

enum rb_job_outcome rb_engine_outcome(const struct rb_engine *e, enum rb_stop_reason *out_reason)
{
    if (out_reason && e->outcome == RB_JOB_STOPPED)
        *out_reason = e->stop_reason;
    return e->outcome;
}

// The rank of a trial: its resource when it last ended a rung, and its score there. A trial that has not ended any is
// ranked below all others, by its last report; asynchronous rungs are left at any time, so there only the last report
// counts. false: nothing to rank.
static bool rank(const struct rb_engine *e, const struct trial *t, int64_t *out_resource, double *out_score)
{
    if (e->tuner->on_demand) {
        *out_resource = 0;
        *out_score = rb_score(e->plan->job->goal, t->pub.metric);
        return *out_score > -INFINITY;
    }
    *out_resource = t->ranked_resource;
    *out_score = t->ranked_resource >= 0 ? t->ranked_score : rb_score(e->plan->job->goal, t->pub.metric);
    return *out_score > -INFINITY;
}

// The best of those that failed for good, or of the others.
static int best_of(const struct rb_engine *e, bool failed)
{
    int best = -1;
    int64_t best_resource = -1;
    double best_score = -INFINITY;
    for (int i = 0; i < e->n_trials; i++) {
        int64_t resource;
        double score;
        if ((e->trials[i].pub.state == RB_TRIAL_FAILED) != failed || !rank(e, &e->trials[i], &resource, &score))
            continue;
        if (best < 0 || resource > best_resource ||
            (resource == best_resource && rb_score_compare(score, i, best_score, best) < 0)) {
            best = i;
            best_resource = resource;
            best_score = score;
        }
    }
    return best;
}

int rb_engine_best(const struct rb_engine *e)
{
    const int best = best_of(e, false);
    return best >= 0 ? best : best_of(e, true);
}

int rb_engine_broken(const struct rb_engine *e, const char **out_said)
{
    *out_said = e->broken_said;
    return e->n_broken;
}

bool rb_engine_failed_alike(const struct rb_engine *e, int trial)
{
    return trial >= 0 && trial < e->n_trials && e->trials[trial].failed_alike;
}

bool rb_engine_may_save(const struct rb_engine *e, int trial, int attempt, int64_t resource)
{
    return e->outcome == RB_JOB_RUNNING && rb_engine_attempt_is_current(e, trial, attempt) &&
           resource > e->trials[trial].checkpoint && resource <= e->trials[trial].pub.resource &&
           resource < e->trials[trial].pub.resource_end;
}

bool rb_engine_attempt_is_current(const struct rb_engine *e, int trial, int attempt)
{
    return trial >= 0 && trial < e->n_trials && e->trials[trial].pub.state == RB_TRIAL_RUNNING &&
           e->trials[trial].pub.attempt == attempt;
}
