// Events about the run as a whole: its start, wake-ups, a new plan, a stop and a resume.
#include "engine/core/engine_state.h"

#include <string.h>

void rb_engine_on_start(struct rb_engine *e, const struct rb_event *event)
{
    if (e->outcome != RB_JOB_RUNNING || e->stage >= 0)
        return;
    e->rules = event->rules;
    rb_engine_advance(e);
    if (e->plan->admit_until_us > 0 && e->tuner->close)
        rb_actions_add(e->out, &(struct rb_action){.kind = RB_ACTION_WAKE,
                                                   .at_us = e->plan->admit_until_us,
                                                   .stage = e->stage,
                                                   .reason = "no configuration is started after"});
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

// Nodes refer to offers by index: a new plan may add some, but the old ones must stay where they are.
static bool keeps_offers(const struct rb_plan *old, const struct rb_plan *new)
{
    if (new->n_offers < old->n_offers)
        return false;
    for (int i = 0; i < old->n_offers; i++) {
        const struct rb_offer *a = &old->offers[i], *b = &new->offers[i];
        if (strcmp(a->infra, b->infra) != 0 || strcmp(a->instance_type, b->instance_type) != 0 ||
            a->market != b->market || a->gpus != b->gpus)
            return false;
    }
    return true;
}

void rb_engine_on_advice(struct rb_engine *e, const struct rb_event *event)
{
    const struct rb_plan *latest = e->stage_plan[e->plan->n_stages - 1];
    if (!event->plan || event->plan->n_stages != e->plan->n_stages || !keeps_offers(latest, event->plan) ||
        !rb_engine_check_plan(event->plan, NULL))
        return;
    const int first = event->stage > e->stage + 1 ? event->stage : e->stage + 1;
    for (int i = first; i < e->plan->n_stages; i++)
        e->stage_plan[i] = event->plan;
    e->plan = event->plan;
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
