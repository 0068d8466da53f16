// Yielding: trials are asked to save a checkpoint and exit, by the engine, because an anytime job's time is nearly over,
// or because a node is about to be reclaimed. No row records it: the events show which trials were asked, and asking twice has the same effect as asking
// once.
#include "executor/controller/controller_private.h"

#include "engine/core/policy.h"

#include <inttypes.h>
#include <stdio.h>

static int64_t longest(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

// Scripts look for the file once per unit of the resource, so the patience is measured in observed units.
static int64_t grace_us(const struct rb_run_task *t)
{
    const int64_t timeout_us = t->c->config.plan->job->trial.timeout_us;
    if (t->longest_unit_us < 0)
        return timeout_us > 0 ? timeout_us : RB_CONTROLLER_YIELD_UNSEEN_S * RB_US_PER_S;
    const int64_t grace = RB_CONTROLLER_YIELD_S * RB_US_PER_S + 3 * t->longest_unit_us;
    return timeout_us > 0 && timeout_us < grace ? timeout_us : grace;
}

static void warn_of_eviction(const struct rb_run_task *t)
{
    struct rb_controller *c = t->c;
    char waited[32];
    rb_format_duration(grace_us(t), waited);
    rb_controller_note(
        c, "warning", "trial %d did not give way within %s of being asked: killed, and set back to %s %" PRId64 "%s",
        t->row.trial, waited, c->config.plan->job->scheduler.unit, t->row.resource_start,
        !rb_controller_says_first(&c->said, RB_SAID_HOW_TO_YIELD)
            ? ""
            : "; let the training script look after every report whether the file $RB_PREEMPT_FILE exists, and "
              "then save a checkpoint to $RB_CHECKPOINT_DIR and end with exit code 75");
}

static void evict(struct rb_run_task *t)
{
    if (t->c->dead || t->row.state != RB_TASK_INTENT || !rb_controller_begin(t->c))
        return;
    warn_of_eviction(t);
    rb_run_task_give_up(t, RB_OUTCOME_EVICTED);
}

static void is_late(void *arg)
{
    struct rb_run_task *t = arg;
    rb_silence_begin(&t->yielding, t->c->config.loop, t->yielding.patience_us, is_late, t);
    rb_run_task_make_sure(t, evict);
}

// us: until it is killed.
static void ask_to_yield(struct rb_run_task *t, const char *reason, int64_t us)
{
    char why[64];
    if (t->process == RB_PROCESS_YIELDING)
        return;
    RB_ENTER(rb_process_states, t->process, RB_PROCESS_YIELDING);
    snprintf(why, sizeof why, "reason=%s seconds=%" PRId64, reason, us > 0 ? us / RB_US_PER_S : 0);
    rb_run_task_ask_to_save(t, why);
}

void rb_run_task_yield(struct rb_run_task *t)
{
    struct rb_controller *c = t->c;
    int64_t left_us;
    const char *why;
    if (c->dead || t->process < RB_PROCESS_FOLLOWED || t->row.state != RB_TASK_INTENT)
        return;
    if (c->last_stretch && t->last_resource > t->row.resource_start) { // otherwise there is nothing to save
        ask_to_yield(t, "deadline", c->meta.deadline_us - rb_controller_now_us(c));
    } else if (rb_run_task_is_leaving(t, &left_us, &why) && t->last_resource > t->row.resource_start) {
        ask_to_yield(t, why, left_us);
    } else if (rb_run_trial_at(c, t->row.trial)->asked && !rb_silence_counts(&t->yielding)) {
        const bool pauses = rb_engine_trial(c->engine, t->row.trial)->next_gpus == 0;
        ask_to_yield(t, pauses ? "pause" : "resize", grace_us(t));
        rb_silence_begin(&t->yielding, c->config.loop, grace_us(t), is_late, t);
    }
}

void rb_run_task_measure_report(struct rb_run_task *t)
{
    const int64_t now = rb_attended_us(t->c->config.loop); // the time of a suspend does not count
    t->longest_unit_us = longest(t->longest_unit_us, now - t->last_report_us);
    t->c->longest_unit_us = longest(t->c->longest_unit_us, t->longest_unit_us);
    t->last_report_us = now;
}

void rb_run_task_measure_save(struct rb_run_task *t)
{
    if (t->row.exited_us >= 0)
        t->c->longest_save_us = longest(t->c->longest_save_us, rb_controller_now_us(t->c) - t->row.exited_us);
}

// At most a tenth of the time is used for it.
static int64_t most_lead_us(const struct rb_controller *c)
{
    return c->meta.deadline_us / 10;
}

// Twice the longest unit and the longest save so far: a script finishes its unit first, and the slowest counts.
static int64_t lead_us(const struct rb_controller *c)
{
    if (c->longest_unit_us == 0)
        return most_lead_us(c); // no measurements yet
    const int64_t lead = 2 * (c->longest_unit_us + c->longest_save_us);
    return lead < most_lead_us(c) ? lead : most_lead_us(c);
}

static void ask_for_last_checkpoints(void *arg)
{
    struct rb_controller *c = arg;
    c->last_stretch_timer = 0;
    const int64_t now = rb_controller_now_us(c), at = c->meta.deadline_us - lead_us(c);
    if (c->dead || !rb_controller_running(c))
        return;
    if (now < at) {
        rb_controller_arm(c, &c->last_stretch_timer, at - now, ask_for_last_checkpoints, c);
        return;
    }
    c->last_stretch = true;
    for (int i = 0; i < c->n_tasks; i++)
        rb_run_task_yield(c->tasks[i]);
}

void rb_controller_arm_last_stretch(struct rb_controller *c)
{
    const struct rb_policy *policy = rb_policy_find(c->config.plan->policy);
    if (c->meta.deadline_us < 0 || !policy || !policy->anytime)
        return;
    const int64_t at = c->meta.deadline_us - most_lead_us(c);
    rb_controller_arm(c, &c->last_stretch_timer, at - rb_controller_now_us(c), ask_for_last_checkpoints, c);
}
