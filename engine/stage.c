// Groups and barriers. At each the tuner says who trains next, the policy what to own for it, and the cluster is made so
// at that instant; in between nothing is released.
#include "engine/engine_state.h"

#include <assert.h>

// Which entry of the allocation a node counts for, -1: none. `missing` [n_nodes]: how many each entry still lacks.
static int entry_for(const struct rb_allocation *a, const int *missing, int offer)
{
    for (int i = 0; i < a->n_nodes; i++) {
        if (a->nodes[i].offer == offer && missing[i] > 0)
            return i;
    }
    return -1;
}

// Lowest numbers are kept first, whether ready or not.
static void keep_listed(struct rb_engine *e, int *missing)
{
    for (int i = 0; i < e->n_owned; i++) {
        struct node *n = &e->nodes[e->owned[i]];
        const int entry = entry_for(&e->allocation, missing, n->pub.offer);
        n->allocated = entry >= 0;
        if (entry >= 0)
            missing[entry]--;
    }
}

static void release_surplus(struct rb_engine *e)
{
    for (int i = e->n_owned - 1; i >= 0; i--) {
        if (!e->nodes[e->owned[i]].allocated)
            rb_engine_terminate(e, e->owned[i], "the stage lists fewer nodes of this offer than are owned");
    }
    rb_engine_forget_ended(e);
}

void rb_engine_reallocate(struct rb_engine *e)
{
    RB_AUTO(rb_auto_free) int *missing = rb_xcalloc((size_t)e->allocation.n_nodes, sizeof *missing);
    for (int i = 0; i < e->allocation.n_nodes; i++)
        missing[i] = e->allocation.nodes[i].count;
    keep_listed(e, missing);
    release_surplus(e);
    for (int i = 0; i < e->allocation.n_nodes; i++) {
        for (int k = 0; k < missing[i]; k++)
            rb_engine_request(e, e->allocation.nodes[i].offer, true, e->allocation.reason);
    }
    e->places_changed = true;
}

void rb_engine_wake_for_early(struct rb_engine *e)
{
    const struct rb_allocation *a = &e->allocation;
    for (int i = e->n_early_made; i < a->n_early; i++) {
        if (i > e->n_early_made && a->early[i].at_us == a->early[i - 1].at_us)
            continue;
        const int64_t at_us = e->stage_start_us[e->stage] + a->early[i].at_us;
        rb_actions_add(e->out, &(struct rb_action){
                                   .kind = RB_ACTION_WAKE,
                                   .at_us = at_us > e->now_us ? at_us : e->now_us,
                                   .stage = e->stage,
                                   .reason = "an early request is due then",
                               });
    }
}

void rb_engine_request_early(struct rb_engine *e)
{
    const struct rb_allocation *a = &e->allocation;
    while (e->n_early_made < a->n_early && e->stage_start_us[e->stage] + a->early[e->n_early_made].at_us <= e->now_us) {
        const struct rb_plan_early *early = &a->early[e->n_early_made++];
        for (int k = 0; k < early->count; k++)
            rb_engine_request(e, early->offer, false, "requested early for a later stage");
    }
}

static void begin_stage(struct rb_engine *e, const struct rb_group *group)
{
    assert(group->n_trials > 0 && group->stage < e->plan->n_stages && group->stage > e->stage);
    e->stage = group->stage;
    e->stage_start_us[e->stage] = e->now_us;
    e->resource_start = group->resource_start;
    e->resource_end = group->resource_end;
    e->next_ordinal = 0;
    e->n_early_made = 0;
    e->policy->on_group(e->stage_plan[e->stage], group, &e->allocation);
    rb_engine_make_members(e, group);
    rb_engine_reallocate(e);
    rb_engine_wake_for_early(e);
}

void rb_engine_advance(struct rb_engine *e)
{
    struct rb_group group;
    if (e->stage >= 0)
        e->stage_end_us[e->stage] = e->now_us;
    switch (e->tuner->next(e->tuner_state, &group)) {
    case RB_TUNER_GROUP:
        begin_stage(e, &group);
        break;
    case RB_TUNER_DONE:
        rb_engine_finish_job(e, RB_JOB_COMPLETE, "every trial has ended");
        break;
    case RB_TUNER_WAIT:
        assert(!"a tuner waits although all its trials have ended");
        break;
    }
}

static void settle_paused(struct rb_engine *e, enum rb_trial_state then)
{
    for (int i = 0; i < e->n_members; i++) {
        struct trial *t = &e->trials[e->members[i]];
        if (t->pub.state == RB_TRIAL_PAUSED)
            t->pub.state = then;
    }
}

void rb_engine_finish_job(struct rb_engine *e, enum rb_job_outcome outcome, const char *reason)
{
    rb_engine_kill_running(e, outcome == RB_JOB_STOPPED ? RB_TRIAL_PAUSED : RB_TRIAL_STOPPED, reason);
    if (outcome == RB_JOB_COMPLETE)
        settle_paused(e, RB_TRIAL_COMPLETED);
    else if (outcome == RB_JOB_TARGET)
        settle_paused(e, RB_TRIAL_STOPPED);
    for (int i = e->n_owned - 1; i >= 0; i--)
        rb_engine_terminate(e, e->owned[i], reason);
    e->n_owned = 0;
    e->outcome = outcome;
    rb_actions_add(e->out, &(struct rb_action){.kind = RB_ACTION_DONE, .reason = reason});
}
