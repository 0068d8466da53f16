// The trials of the current stage: who waits, who runs where, and what their training scripts say. Events of an attempt
// that is no longer current change nothing.
#include "engine/engine_state.h"

#include <assert.h>
#include <math.h>
#include <string.h>

// ---- who trains in this stage

static void know_trial(struct rb_engine *e, int trial)
{
    if (trial < e->n_trials)
        return;
    e->trials = rb_xrealloc(e->trials, (size_t)trial + 1, sizeof *e->trials);
    for (; e->n_trials <= trial; e->n_trials++) {
        e->trials[e->n_trials] = (struct trial){
            .pub = {.stage = -1, .metric = NAN, .score = -INFINITY},
            .ranked_stage = -1,
            .ranked_score = -INFINITY,
        };
    }
}

static void drop_members(struct rb_engine *e)
{
    for (int i = 0; i < e->n_members; i++) {
        struct trial *t = &e->trials[e->members[i]];
        if (t->pub.state == RB_TRIAL_PAUSED)
            t->pub.state = RB_TRIAL_STOPPED;
    }
}

static void join(struct rb_engine *e, int trial, int position)
{
    struct trial *t = &e->trials[trial];
    t->pub.state = RB_TRIAL_WAITING;
    t->pub.stage = e->stage;
    t->pub.position = position;
    t->pub.attempt = 0;
    t->pub.resource = e->resource_start;
    t->ended = false;
    t->checkpoint = t->started_from = e->resource_start;
}

void rb_engine_make_members(struct rb_engine *e, const struct rb_group *group)
{
    drop_members(e);
    if (group->n_trials > e->members_cap) {
        e->members = rb_xrealloc(e->members, (size_t)group->n_trials, sizeof *e->members);
        e->members_cap = group->n_trials;
    }
    know_trial(e, group->trials[group->n_trials - 1]);
    for (int i = 0; i < group->n_trials; i++) {
        assert(i == 0 || group->trials[i] > group->trials[i - 1]);
        e->members[i] = group->trials[i];
        join(e, group->trials[i], i);
    }
    e->n_members = e->n_waiting = group->n_trials;
    e->n_ended = 0;
    e->first_waiting = 0;
}

// ---- starting

static int list_places(const struct rb_engine *e, struct rb_placement_node *out)
{
    int n = 0;
    for (int i = 0; i < e->n_owned; i++) {
        const struct node *node = &e->nodes[e->owned[i]];
        if (!node->allocated || node->pub.state != RB_OWNED_READY)
            continue;
        const uint64_t all = node->pub.gpus == 64 ? UINT64_MAX : (UINT64_C(1) << node->pub.gpus) - 1;
        out[n++] = (struct rb_placement_node){
            .node = e->owned[i],
            .gpus = node->pub.gpus,
            .free = all & ~node->pub.busy,
        };
    }
    return n;
}

static void start(struct rb_engine *e, int trial, const struct rb_slot *slots, int n_slots)
{
    struct trial *t = &e->trials[trial];
    if (n_slots > t->slots_cap) {
        t->pub.slots = rb_xrealloc(t->pub.slots, (size_t)n_slots, sizeof *slots);
        t->slots_cap = n_slots;
    }
    memcpy(t->pub.slots, slots, (size_t)n_slots * sizeof *slots);
    t->pub.n_slots = n_slots;
    for (int i = 0; i < n_slots; i++) {
        assert((e->nodes[slots[i].node].pub.busy & slots[i].gpus) == 0);
        e->nodes[slots[i].node].pub.busy |= slots[i].gpus;
    }
    assert(t->pub.state == RB_TRIAL_WAITING);
    t->pub.state = RB_TRIAL_RUNNING;
    t->started_from = t->checkpoint;
    e->n_waiting--;
    rb_actions_add_with_slots(e->out,
                              &(struct rb_action){
                                  .kind = RB_ACTION_START_TRIAL,
                                  .trial = trial,
                                  .attempt = t->pub.attempt,
                                  .stage = e->stage,
                                  .position = t->pub.position,
                                  .resource_start = t->checkpoint,
                                  .resource_end = e->resource_end,
                                  .gpus = e->allocation.gpus_per_trial,
                                  .reason = "first in the queue when its GPUs became free",
                              },
                              slots, n_slots);
}

void rb_engine_start_waiting(struct rb_engine *e)
{
    e->places_changed = false;
    if (e->n_waiting == 0 || e->n_owned == 0)
        return;
    RB_AUTO(rb_auto_free) struct rb_placement_node *places = rb_xcalloc((size_t)e->n_owned, sizeof *places);
    RB_AUTO(rb_auto_free) struct rb_slot *slots = rb_xcalloc((size_t)e->n_owned, sizeof *slots);
    const int n_places = list_places(e, places);
    // All members want the same number of GPUs: when one does not fit, none after it does.
    for (int n_slots; e->n_waiting > 0; e->first_waiting++) {
        const int trial = e->members[e->first_waiting];
        if (e->trials[trial].pub.state != RB_TRIAL_WAITING)
            continue;
        if (!rb_place(places, n_places, e->allocation.gpus_per_trial, slots, &n_slots))
            break;
        start(e, trial, slots, n_slots);
    }
}

// ---- leaving the GPUs

static void vacate(struct rb_engine *e, struct trial *t)
{
    for (int i = 0; i < t->pub.n_slots; i++) {
        struct rb_owned_node *node = &e->nodes[t->pub.slots[i].node].pub;
        assert((node->busy & t->pub.slots[i].gpus) == t->pub.slots[i].gpus);
        node->busy &= ~t->pub.slots[i].gpus;
    }
    t->pub.n_slots = 0;
    e->places_changed = true;
}

static void wait_again(struct rb_engine *e, struct trial *t)
{
    t->pub.state = RB_TRIAL_WAITING;
    t->pub.attempt++;
    t->pub.resource = t->checkpoint;
    e->n_waiting++;
    if (t->pub.position < e->first_waiting)
        e->first_waiting = t->pub.position;
    e->places_changed = true;
}

static void kill_trial(struct rb_engine *e, int trial, const char *reason)
{
    rb_actions_add(e->out, &(struct rb_action){
                               .kind = RB_ACTION_KILL_TRIAL,
                               .trial = trial,
                               .attempt = e->trials[trial].pub.attempt,
                               .stage = e->stage,
                               .position = e->trials[trial].pub.position,
                               .reason = reason,
                           });
}

void rb_engine_kill_running(struct rb_engine *e, enum rb_trial_state then, const char *reason)
{
    for (int i = 0; i < e->n_members; i++) {
        struct trial *t = &e->trials[e->members[i]];
        if (t->pub.state == RB_TRIAL_RUNNING) {
            kill_trial(e, e->members[i], reason);
            vacate(e, t);
        } else if (t->pub.state != RB_TRIAL_WAITING) {
            continue;
        }
        t->pub.state = then;
    }
    e->n_waiting = 0;
}

static bool is_on(const struct trial *t, int node)
{
    for (int i = 0; i < t->pub.n_slots; i++) {
        if (t->pub.slots[i].node == node)
            return true;
    }
    return false;
}

void rb_engine_lose_trials_on(struct rb_engine *e, int node)
{
    if (e->nodes[node].pub.busy == 0)
        return;
    for (int i = 0; i < e->n_members; i++) {
        struct trial *t = &e->trials[e->members[i]];
        if (t->pub.state != RB_TRIAL_RUNNING || !is_on(t, node))
            continue;
        if (t->pub.n_slots > 1)
            kill_trial(e, e->members[i], "another node of its gang was lost");
        vacate(e, t);
        wait_again(e, t);
    }
}

void rb_engine_resume_members(struct rb_engine *e)
{
    for (int i = 0; i < e->n_members; i++) {
        struct trial *t = &e->trials[e->members[i]];
        if (!t->ended)
            wait_again(e, t);
    }
}

// ---- what training scripts say

static struct trial *current(struct rb_engine *e, const struct rb_event *event)
{
    if (e->outcome != RB_JOB_RUNNING || !rb_engine_attempt_is_current(e, event->trial, event->attempt))
        return NULL;
    return &e->trials[event->trial];
}

static void end_with(struct rb_engine *e, int trial, enum rb_trial_state state, double score)
{
    struct trial *t = &e->trials[trial];
    t->pub.state = state;
    t->pub.score = score;
    t->ended = true;
    if (score > -INFINITY) {
        t->ranked_stage = e->stage;
        t->ranked_score = score;
    }
    e->n_ended++;
    e->tuner->told(e->tuner_state, trial, state == RB_TRIAL_FAILED ? t->pub.resource : e->resource_end, score);
}

static bool target_reached(const struct rb_job *job, double metric)
{
    if (!job->has_target || !isfinite(metric))
        return false;
    return job->goal == RB_GOAL_MAXIMIZE ? metric >= job->target : metric <= job->target;
}

static void finish_at_target(struct rb_engine *e, int trial)
{
    struct trial *t = &e->trials[trial];
    t->pub.score = t->ranked_score = rb_score(e->plan->job->goal, t->pub.metric);
    t->ranked_stage = e->stage;
    rb_engine_finish_job(e, RB_JOB_TARGET, "metric.target was reached");
    t->pub.state = RB_TRIAL_COMPLETED;
}

void rb_engine_on_report(struct rb_engine *e, const struct rb_event *event)
{
    struct trial *t = current(e, event);
    if (!t || event->resource <= t->pub.resource)
        return;
    t->pub.resource = event->resource;
    t->pub.metric = event->metric;
    if (target_reached(e->plan->job, event->metric))
        finish_at_target(e, event->trial);
}

static void charge_failure(struct rb_engine *e, int trial)
{
    struct trial *t = &e->trials[trial];
    t->pub.failures++;
    if (t->pub.failures > e->plan->job->trial.max_restarts)
        end_with(e, trial, RB_TRIAL_FAILED, -INFINITY);
    else
        wait_again(e, t);
}

void rb_engine_on_trial_ended(struct rb_engine *e, const struct rb_event *event)
{
    struct trial *t = current(e, event);
    // A REACHED without its last report belongs to an earlier stage, whose attempts had the same numbers.
    if (!t || (event->outcome == RB_OUTCOME_REACHED && t->pub.resource < e->resource_end))
        return;
    if (event->outcome == RB_OUTCOME_HUNG)
        kill_trial(e, event->trial, "no report for trial.timeout");
    vacate(e, t);
    switch (event->outcome) {
    case RB_OUTCOME_REACHED:
        end_with(e, event->trial, RB_TRIAL_PAUSED, rb_score(e->plan->job->goal, t->pub.metric));
        break;
    case RB_OUTCOME_YIELDED:
        // Without progress it would give way for ever.
        if (t->pub.resource <= t->started_from) {
            charge_failure(e, event->trial);
            break;
        }
        t->checkpoint = t->pub.resource;
        wait_again(e, t);
        break;
    case RB_OUTCOME_FAILED:
    case RB_OUTCOME_HUNG:
        charge_failure(e, event->trial);
        break;
    }
    if (e->n_ended == e->n_members)
        rb_engine_advance(e);
}
