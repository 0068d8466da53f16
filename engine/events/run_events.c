// Events about the run as a whole: its start, wake-ups, a new plan, a stop and a resume.
#include "engine/core/engine_state.h"

#include <string.h>

static void wake_for_closing(struct rb_engine *e)
{
    if (e->plan->admit_until_us > 0 && e->tuner->close)
        rb_actions_add(e->out, &(struct rb_action){.kind = RB_ACTION_WAKE,
                                                   .at_us = e->plan->admit_until_us,
                                                   .stage = e->stage,
                                                   .reason = "no configuration is started after"});
}

void rb_engine_on_start(struct rb_engine *e, const struct rb_event *event)
{
    if (e->outcome != RB_JOB_RUNNING || e->stage >= 0)
        return;
    e->rules = event->rules;
    rb_engine_advance(e);
    wake_for_closing(e);
}

static void stop_admitting(struct rb_engine *e)
{
    if (e->plan->admit_until_us <= 0 || e->now_us < e->plan->admit_until_us || !e->tuner->close)
        return;
    rb_engine_close_tuner(e, RB_CLOSE_NEW);
    rb_engine_advance(e);
    e->places_changed = true; // if no trial trains now, that is the end
}

void rb_engine_on_time(struct rb_engine *e)
{
    if (e->outcome != RB_JOB_RUNNING || e->stage < 0)
        return;
    stop_admitting(e);
    rb_engine_request_early(e);
}

static int waves_of(const struct rb_plan *plan, const struct rb_plan_stage *stage)
{
    const int slots = rb_placement_capacity(rb_plan_stage_node_count(stage), rb_plan_stage_gpus_per_node(plan, stage),
                                            stage->gpus_per_trial);
    return slots > 0 ? (stage->trials + slots - 1) / slots : 0;
}

// What was to be requested early was for the old nodes.
static void change_stage(struct rb_engine *e, const struct rb_plan *plan, struct rb_plan_stage *stages,
                         const struct rb_stage_change *c)
{
    struct rb_plan_stage *stage = &stages[c->stage];
    struct rb_plan_nodes *nodes = rb_arena_alloc(&e->arena, sizeof *nodes);
    *nodes = (struct rb_plan_nodes){c->offer, c->nodes};
    stage->nodes = nodes;
    stage->n_nodes = 1;
    stage->gpus_per_trial = c->gpus_per_trial;
    stage->waves = waves_of(plan, stage);
    if (c->stage - 1 > e->stage)
        stages[c->stage - 1].n_early = 0;
}

// Nodes of the same kind, with as many GPUs a trial: what trains goes on.
static bool can_change_now(const struct rb_engine *e, const struct rb_stage_change *c)
{
    const struct rb_allocation *a = &e->allocation;
    return e->stage >= 0 && e->outcome == RB_JOB_RUNNING && !e->policy->on_lent_gpus && a->n_nodes == 1 &&
           a->nodes[0].offer == c->offer && e->stage_plan[e->stage]->stages[e->stage].gpus_per_trial == c->gpus_per_trial;
}

// Surplus nodes are released as their trials end.
static void change_now(struct rb_engine *e)
{
    e->policy->cluster(e->stage_plan[e->stage], e->stage, &e->allocation);
    rb_engine_reallocate(e);
}

void rb_engine_on_advice(struct rb_engine *e, const struct rb_event *event)
{
    const int n = e->plan->n_stages;
    struct rb_plan *plan = rb_arena_alloc(&e->arena, sizeof *plan);
    struct rb_plan_stage *stages = rb_arena_array(&e->arena, (size_t)n, sizeof *stages);
    *plan = *e->plan;
    memcpy(stages, plan->stages, (size_t)n * sizeof *stages);
    plan->stages = stages;
    bool is_now = false; // for the stage under way
    for (int i = 0; i < event->n_changes; i++) {
        const struct rb_stage_change *c = &event->changes[i];
        if (c->stage >= n || c->offer >= plan->n_offers)
            return;
        const bool under_way = c->stage == e->stage && can_change_now(e, c);
        if (c->stage > e->stage || under_way)
            change_stage(e, plan, stages, c);
        is_now = is_now || under_way;
    }
    if (event->admit_until_us > 0)
        plan->admit_until_us = event->admit_until_us;
    if (!rb_engine_check_plan(plan, NULL))
        return;
    for (int i = is_now ? e->stage : e->stage + 1; i < n; i++)
        e->stage_plan[i] = plan;
    e->plan = plan;
    if (is_now)
        change_now(e);
    if (event->admit_until_us > e->now_us)
        wake_for_closing(e);
    else if (event->admit_until_us > 0)
        stop_admitting(e);
}

static const char *const stop_texts[] = {
    [RB_STOP_USER] = "stopped by the user",
    [RB_STOP_DEADLINE] = "the deadline was reached",
    [RB_STOP_BUDGET] = "the budget was reached",
    [RB_STOP_CAPACITY] = "no capacity was left",
    [RB_STOP_DRIFT] = "the run drifted from its prediction",
    [RB_STOP_FAILURE] = "the run could not continue",
    [RB_STOP_RELEASED] = "its pool needs the nodes no more",
    [RB_STOP_BROKEN_SCRIPT] = "the script is broken",
};

void rb_engine_on_stop(struct rb_engine *e, enum rb_stop_reason reason)
{
    if (e->outcome != RB_JOB_RUNNING)
        return;
    e->out_of_nodes = false;
    if (reason == RB_STOP_DEADLINE && e->policy->anytime) {
        e->closed = true;
        rb_engine_finish_search(e, "the deadline was reached: the best trial so far wins");
        return;
    }
    e->stop_reason = reason;
    rb_engine_finish_job(e, RB_JOB_STOPPED, stop_texts[reason]);
}

// The cause may have been fixed meanwhile.
static void forget_failures(struct rb_engine *e)
{
    e->n_broken = 0;
    e->broken_said = NULL;
    for (int i = 0; i < e->n_trials; i++)
        e->trials[i].failure = 0;
}

void rb_engine_on_resume(struct rb_engine *e)
{
    if (e->outcome != RB_JOB_STOPPED)
        return;
    e->outcome = RB_JOB_RUNNING;
    forget_failures(e);
    if (e->stage < 0)
        return;
    rb_engine_resume_trials(e);
    rb_engine_reallocate(e);
    rb_engine_wake_for_early(e);
}
