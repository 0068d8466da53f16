// Groups and phases. The tuner decides which trials train next and the phase of the job; the policy decides what each
// trial gets and which nodes to own meanwhile. The cluster changes when the phase begins. For a synchronous tuner a
// phase is a rung.
#include "engine/core/engine_state.h"

#include <assert.h>

// The entry of the allocation that a node counts for, -1: none. `missing` [n_nodes]: nodes that each entry still lacks.
static int entry_for(const struct rb_allocation *a, const int *missing, int offer)
{
    for (int i = 0; i < a->n_nodes; i++) {
        if (a->nodes[i].offer == offer && missing[i] > 0)
            return i;
    }
    return -1;
}

// Keeps busy nodes first (at a barrier there are none), then the lowest numbers, ready or not.
static void keep_listed(struct rb_engine *e, int *missing)
{
    rb_places_clear(&e->places); // the nodes it keeps may be of another type
    for (int at_work = 1; at_work >= 0; at_work--) {
        for (int i = 0; i < e->n_owned; i++) {
            struct node *n = &e->nodes[e->owned[i]];
            if ((n->pub.busy != 0) != at_work)
                continue;
            const int entry = entry_for(&e->allocation, missing, n->pub.offer);
            n->allocated = entry >= 0;
            if (entry >= 0)
                missing[entry]--;
            rb_engine_update_place(e, e->owned[i]);
        }
    }
}

static const char surplus[] = "the stage lists fewer nodes of this offer than are owned";

static void release_surplus(struct rb_engine *e)
{
    e->n_drained = 0; // below, every draining node still has work
    for (int i = e->n_owned - 1; i >= 0; i--) {
        struct node *n = &e->nodes[e->owned[i]];
        n->draining = !n->allocated && n->pub.busy != 0;
        if (!n->allocated && !n->draining)
            rb_engine_terminate(e, e->owned[i], surplus);
    }
    rb_engine_forget_ended(e);
}

void rb_engine_release_drained(struct rb_engine *e)
{
    if (e->n_drained == 0)
        return;
    for (int i = e->n_owned - 1; i >= 0; i--) {
        const struct node *n = &e->nodes[e->owned[i]];
        if (n->draining && n->pub.busy == 0)
            rb_engine_terminate(e, e->owned[i], surplus);
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
    rb_engine_refit_waiting(e);
    e->places_changed = true;
}

void rb_engine_wake_for_early(struct rb_engine *e)
{
    const struct rb_allocation *a = &e->allocation;
    for (int i = e->n_early_made; i < a->n_early; i++) {
        if (i > e->n_early_made && a->early[i].at_us == a->early[i - 1].at_us)
            continue;
        const int64_t at_us = e->phase_start_us + a->early[i].at_us;
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
    while (e->n_early_made < a->n_early && e->phase_start_us + a->early[e->n_early_made].at_us <= e->now_us) {
        const struct rb_plan_early *early = &a->early[e->n_early_made++];
        for (int k = 0; k < early->count; k++)
            rb_engine_request(e, early->offer, false, "requested early for a later stage");
    }
}

void rb_engine_resize_pool(struct rb_engine *e, int n_nodes, const char *reason)
{
    if (e->stage < 0 || e->allocation.n_nodes != 1 || n_nodes < 1 || n_nodes == e->allocation.nodes[0].count)
        return;
    e->pool = (struct rb_plan_nodes){.offer = e->allocation.nodes[0].offer, .count = n_nodes};
    e->allocation.nodes = &e->pool;
    e->allocation.reason = reason;
    rb_engine_reallocate(e);
}

static void begin_group(struct rb_engine *e, const struct rb_group *group)
{
    assert(group->n_trials > 0 && group->stage >= 0 && group->stage < e->plan->n_stages);
    for (int i = 0; i < group->n_dropped; i++) {
        struct trial *t = &e->trials[group->dropped[i]];
        if (t->pub.state == RB_TRIAL_PAUSED)
            t->pub.state = RB_TRIAL_STOPPED;
    }
    if (e->stage_start_us[group->stage] < 0)
        e->stage_start_us[group->stage] = e->now_us;
    if (group->replaces)
        e->stage_end_us[group->stage] = -1; // it continues
    const struct rb_plan *plan = e->stage_plan[group->stage];
    const int sharers = e->policy->sharers ? e->policy->sharers(plan, group) : 1;
    rb_engine_join_group(e, group, (struct rb_width){e->policy->size(plan, group), sharers});
}

// A pool whose size the policy has changed keeps it, as long as the phase wants the same machines.
static void keep_decided_pool(struct rb_engine *e)
{
    struct rb_allocation *a = &e->allocation;
    if (e->pool.count > 0 && a->n_nodes == 1 && a->nodes[0].offer == e->pool.offer)
        a->nodes = &e->pool;
}

void rb_engine_enter_phase(struct rb_engine *e)
{
    const int phase = e->tuner->phase(e->tuner_state);
    assert(phase >= e->stage && phase < e->plan->n_stages);
    if (phase == e->stage)
        return;
    e->stage = phase;
    e->phase_start_us = e->now_us;
    e->n_early_made = 0;
    e->policy->cluster(e->stage_plan[phase], phase, &e->allocation);
    keep_decided_pool(e);
    rb_engine_reallocate(e);
    rb_engine_wake_for_early(e);
}

void rb_engine_advance(struct rb_engine *e)
{
    struct rb_group group;
    enum rb_tuner_next next = RB_TUNER_WAIT;
    // An on_demand tuner is asked when a trial could start: rb_engine_ask.
    while (!e->tuner->on_demand && (next = e->tuner->next(e->tuner_state, &group)) == RB_TUNER_GROUP)
        begin_group(e, &group);
    if (next == RB_TUNER_DONE) {
        rb_engine_finish_search(e, "every trial has ended");
        return;
    }
    assert(e->tuner->on_demand || e->n_live_total > 0);
    rb_engine_enter_phase(e);
}

// ---- tuners that are asked when a trial could start

// If no trial trains and the policy admits none, the run would wait for ever.
static bool may_ask(struct rb_engine *e)
{
    if (!e->policy->admits || e->policy->admits(e->policy_state, e))
        return true;
    if (e->n_live_total > 0)
        return false;
    rb_engine_close_tuner(e, RB_CLOSE_ALL);
    return true;
}

// Could one more trial start, on a GPU of its own or beside others in the same way as new trials?
static bool has_room(const struct rb_engine *e)
{
    const struct rb_plan *plan = e->stage_plan[e->stage];
    return rb_places_would_fit_share(&e->places, e->policy->sharers ? e->policy->sharers(plan, NULL) : 1);
}

void rb_engine_ask(struct rb_engine *e)
{
    while (e->tuner->on_demand && e->outcome == RB_JOB_RUNNING && e->stage >= 0 && e->n_waiting == 0 &&
           (e->n_live_total == 0 || has_room(e)) && may_ask(e)) {
        struct rb_group group;
        const enum rb_tuner_next next = e->tuner->next(e->tuner_state, &group);
        assert(next != RB_TUNER_WAIT || e->n_live_total > 0);
        if (next == RB_TUNER_DONE) {
            rb_engine_finish_search(e, "every trial has ended");
            return;
        }
        if (next == RB_TUNER_GROUP)
            begin_group(e, &group);
        rb_engine_enter_phase(e);
        if (e->n_waiting > 0)
            rb_engine_let_policy_arrange(e);
        rb_engine_start_waiting(e);
        if (next == RB_TUNER_WAIT)
            return;
    }
}

// ---- the end

static bool any_trained_to_end(const struct rb_engine *e)
{
    for (int i = 0; i < e->n_trials; i++)
        if (e->trials[i].ranked_resource >= e->plan->job->scheduler.max_resource)
            return true;
    return false;
}

// In an asynchronous job perhaps no trial gets there even without failures: too few were started, or the tuner was
// closed.
static bool is_incomplete(const struct rb_engine *e)
{
    if (e->rules < RB_RULES_REPLACE || any_trained_to_end(e))
        return false;
    const int best = rb_engine_best(e);
    return !e->tuner->on_demand || best < 0 || e->trials[best].pub.state == RB_TRIAL_FAILED ||
           (e->n_failed > 0 && !e->closed);
}

void rb_engine_finish_search(struct rb_engine *e, const char *reason)
{
    rb_engine_finish_job(e, is_incomplete(e) ? RB_JOB_INCOMPLETE : RB_JOB_COMPLETE, reason);
}

void rb_engine_close_tuner(struct rb_engine *e, enum rb_tuner_close what)
{
    if (!e->tuner->close)
        return;
    e->tuner->close(e->tuner_state, what);
    e->closed = true;
}

static void settle_paused(struct rb_engine *e, bool complete)
{
    for (int i = 0; i < e->n_trials; i++) {
        struct trial *t = &e->trials[i];
        if (t->pub.state == RB_TRIAL_PAUSED)
            t->pub.state = complete && t->pub.resource >= e->plan->job->scheduler.max_resource ? RB_TRIAL_COMPLETED
                                                                                               : RB_TRIAL_STOPPED;
    }
}

void rb_engine_finish_job(struct rb_engine *e, enum rb_job_outcome outcome, const char *reason)
{
    rb_engine_kill_all(e, outcome == RB_JOB_STOPPED ? RB_TRIAL_PAUSED : RB_TRIAL_STOPPED, reason);
    if (outcome != RB_JOB_STOPPED)
        settle_paused(e, outcome != RB_JOB_TARGET);
    for (int i = e->n_owned - 1; i >= 0; i--)
        rb_engine_terminate(e, e->owned[i], reason);
    e->n_owned = 0;
    e->outcome = outcome;
    rb_actions_add(e->out, &(struct rb_action){.kind = RB_ACTION_DONE, .reason = reason});
}
