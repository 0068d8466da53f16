// Reports of training scripts, and what the tuner and the policy decide from them. Events of an attempt that is no
// longer current change nothing.
#include "engine/core/engine_state.h"

#include <assert.h>
#include <float.h>
#include <math.h>

static struct trial *current(struct rb_engine *e, const struct rb_event *event)
{
    if (e->outcome != RB_JOB_RUNNING || !rb_engine_attempt_is_current(e, event->trial, event->attempt))
        return NULL;
    return &e->trials[event->trial];
}

// ---- decisions of a policy that watches

static void resize(struct rb_engine *e, const struct rb_resize *r, const char *reason)
{
    struct trial *t = r->trial >= 0 && r->trial < e->n_trials ? &e->trials[r->trial] : NULL;
    if (!t || r->width.gpus < 0 || t->giving_way == GIVES_WAY_TO_PAUSE)
        return;
    if (t->pub.state == RB_TRIAL_WAITING && r->width.gpus > 0) {
        rb_engine_change_waiting(e, r->trial, r->width);
        e->places_changed = true;
    } else if (t->pub.state == RB_TRIAL_RUNNING && r->width.gpus == 0) {
        rb_engine_give_way(e, r->trial, GIVES_WAY_TO_PAUSE, reason);
    } else if (t->pub.state == RB_TRIAL_RUNNING &&
               (r->width.gpus != t->pub.gpus || r->width.sharers != t->pub.sharers)) {
        rb_engine_plan_resize(e, r->trial, r->width);
        rb_engine_give_way(e, r->trial, GIVES_WAY_TO_RESIZE, reason);
    }
}

static void carry_out(struct rb_engine *e, const struct rb_decisions *d)
{
    for (int i = 0; i < d->n_resizes; i++)
        resize(e, &d->resizes[i], d->reason);
    if (d->in_order)
        rb_engine_reorder(e, d->resizes, d->n_resizes);
    if (d->close)
        rb_engine_close_tuner(e, d->close_what);
    if (d->pool_nodes >= 0)
        rb_engine_resize_pool(e, d->pool_nodes, d->reason);
    if (d->advise)
        rb_actions_add(e->out, &(struct rb_action){.kind = RB_ACTION_ADVISE, .stage = e->stage, .reason = d->reason});
}

static struct rb_decisions *no_decisions(struct rb_engine *e)
{
    struct rb_decisions *d = &e->decisions;
    *d = (struct rb_decisions){.resizes = d->resizes, .resizes_cap = d->resizes_cap, .pool_nodes = -1};
    return d;
}

void rb_decide_resize(struct rb_decisions *d, int trial, int gpus)
{
    rb_decide_width(d, trial, (struct rb_width){gpus, 1});
}

void rb_decide_width(struct rb_decisions *d, int trial, struct rb_width width)
{
    if (d->n_resizes == d->resizes_cap) {
        d->resizes_cap = d->resizes_cap ? 2 * d->resizes_cap : 16;
        d->resizes = rb_xrealloc(d->resizes, (size_t)d->resizes_cap, sizeof *d->resizes);
    }
    d->resizes[d->n_resizes++] = (struct rb_resize){.trial = trial, .width = width};
}

static void let_policy_decide(struct rb_engine *e, int trial)
{
    if (!e->policy->decide || e->outcome != RB_JOB_RUNNING)
        return;
    struct rb_decisions *d = no_decisions(e);
    e->policy->decide(e->policy_state, e, trial, d);
    carry_out(e, d);
}

void rb_engine_let_policy_arrange(struct rb_engine *e)
{
    if (!e->policy->arrange || e->stage < 0)
        return;
    struct rb_decisions *d = no_decisions(e);
    e->policy->arrange(e->policy_state, e, d);
    carry_out(e, d);
}

void rb_engine_let_policy_share(struct rb_engine *e)
{
    if (!e->policy->on_lent || e->outcome != RB_JOB_RUNNING || e->stage < 0)
        return;
    struct rb_decisions *d = no_decisions(e);
    e->policy->on_lent(e->policy_state, e, d);
    carry_out(e, d);
}

void rb_engine_on_forecast(struct rb_engine *e, const struct rb_event *event)
{
    if (!event->advice || !e->policy->on_advice || e->outcome != RB_JOB_RUNNING || e->stage < 0)
        return;
    struct rb_decisions *d = no_decisions(e);
    e->policy->on_advice(e->policy_state, e, event->advice, d);
    carry_out(e, d);
    e->places_changed = true; // it may now admit trials that it did not admit before
}

// ---- reports

static bool target_reached(const struct rb_job *job, double metric)
{
    if (!job->has_target || !isfinite(metric))
        return false;
    return job->goal == RB_GOAL_MAXIMIZE ? metric >= job->target : metric <= job->target;
}

static void finish_at_target(struct rb_engine *e, int trial)
{
    struct trial *t = &e->trials[trial];
    t->ranked_score = t->pub.score;
    t->ranked_resource = e->plan->job->scheduler.max_resource; // it wins even if others were trained further
    rb_engine_finish_job(e, RB_JOB_TARGET, "metric.target was reached");
    t->pub.state = RB_TRIAL_COMPLETED;
}

// The tuner no longer counts on it.
static void leave_stage(struct rb_engine *e, struct trial *t)
{
    t->handed_out = false;
    t->giving_way = GIVES_NO_WAY;
    if (--e->n_live[t->pub.stage] == 0)
        e->stage_end_us[t->pub.stage] = e->now_us;
    e->n_live_total--;
}

static void let_tuner_judge(struct rb_engine *e, int trial)
{
    struct trial *t = &e->trials[trial];
    if (!e->tuner->reported || t->giving_way == GIVES_WAY_TO_PAUSE || t->pub.resource >= t->pub.resource_end)
        return;
    switch (e->tuner->reported(e->tuner_state, trial, t->pub.resource, t->pub.score)) {
    case RB_VERDICT_CONTINUE:
        rb_engine_enter_phase(e); // it may have passed a rung
        break;
    case RB_VERDICT_PAUSE:
        rb_engine_give_way(e, trial, GIVES_WAY_TO_PAUSE, "the tuner pauses it");
        break;
    case RB_VERDICT_STOP:
        rb_engine_kill_trial(e, trial, "the tuner stops it");
        rb_engine_vacate(e, trial);
        t->pub.state = RB_TRIAL_STOPPED;
        leave_stage(e, t);
        rb_engine_advance(e);
        break;
    }
}

// Steps beside others on one GPU take longer than they would alone: their times are left out.
static void learn_steps(struct rb_engine *e, const struct rb_event *event, const struct rb_trial *t)
{
    struct rb_step_stats steps = event->steps;
    if (t->sharers > 1)
        steps.step_s = 0;
    rb_batching_report(e->batching, event->trial, rb_engine_accelerator_of(e, t->slots), t->n_slots, t->gpus, &t->with,
                       &steps);
}

void rb_engine_on_report(struct rb_engine *e, const struct rb_event *event)
{
    struct trial *t = current(e, event);
    if (!t || event->resource <= t->pub.resource)
        return;
    if (e->batching)
        learn_steps(e, event, &t->pub);
    e->any_report = true;
    t->pub.resource = event->resource;
    t->pub.metric = event->metric;
    t->pub.score = rb_score(e->plan->job->goal, event->metric);
    if (rb_standings_has(&e->standings, event->trial)) {
        rb_standings_remove(&e->standings, event->trial);
        rb_standings_add(&e->standings, event->trial, t->pub.score);
    }
    if (target_reached(e->plan->job, event->metric)) {
        finish_at_target(e, event->trial);
        return;
    }
    let_tuner_judge(e, event->trial);
    let_policy_decide(e, event->trial);
}

void rb_engine_on_saved(struct rb_engine *e, const struct rb_event *event)
{
    if (rb_engine_may_save(e, event->trial, event->attempt, event->resource))
        e->trials[event->trial].checkpoint = event->resource;
}

// ---- ends

static void end_trial(struct rb_engine *e, int trial, enum rb_trial_state state, int64_t resource, double score)
{
    struct trial *t = &e->trials[trial];
    t->pub.state = state;
    t->pub.score = score;
    leave_stage(e, t);
    if (score > -INFINITY) {
        t->ranked_resource = resource;
        t->ranked_score = score;
    }
    e->n_failed += state == RB_TRIAL_FAILED;
    if (state == RB_TRIAL_FAILED && e->rules >= RB_RULES_REPLACE && e->tuner->failed)
        e->tuner->failed(e->tuner_state, trial);
    else
        e->tuner->ended(e->tuner_state, trial, resource, score);
}

// A trial that has not reported yet gets a score below all that have; -INFINITY would end it for good.
void rb_engine_end_paused(struct rb_engine *e, int trial)
{
    struct trial *t = &e->trials[trial];
    const double score = t->pub.resource > t->pub.cloned_at ? t->pub.score : -DBL_MAX;
    t->pub.resource = t->checkpoint;
    end_trial(e, trial, RB_TRIAL_PAUSED, t->checkpoint, score);
}

// It failed in the same way as in its previous start, and no later: the cause is its configuration, not bad luck.
static bool fails_again(struct trial *t, uint64_t signature)
{
    const bool again = signature != 0 && signature == t->failure && t->pub.resource <= t->failed_at;
    t->failure = signature;
    t->failed_at = t->pub.resource;
    return again;
}

// signature: as in RB_EVENT_TRIAL_ENDED.
static void charge_failure(struct rb_engine *e, int trial, uint64_t signature)
{
    struct trial *t = &e->trials[trial];
    t->pub.failures++;
    t->failed_alike = fails_again(t, signature);
    if (t->failed_alike || t->pub.failures > e->plan->job->trial.max_restarts)
        end_trial(e, trial, RB_TRIAL_FAILED, t->pub.resource, -INFINITY);
    else
        rb_engine_wait_again(e, trial);
}

void rb_engine_end_unbegun(struct rb_engine *e, int trial)
{
    end_trial(e, trial, RB_TRIAL_STOPPED, 0, -INFINITY);
}

static int n_trials_of_job(const struct rb_engine *e)
{
    return e->tuner->on_demand ? e->plan->job->scheduler.num_trials : e->plan->stages[0].trials;
}

static int n_failing_with(const struct rb_engine *e, uint64_t signature)
{
    int n = 0;
    for (int i = 0; i < e->n_trials; i++)
        n += e->trials[i].failure == signature;
    return n;
}

// If the first three trials (or all, if there are fewer; a single one only for good) fail alike before any trial has
// reported, no configuration would do better.
static bool stops_as_broken(struct rb_engine *e, const struct rb_event *event)
{
    const int n_trials = n_trials_of_job(e), needed = n_trials < RB_BROKEN_TRIALS ? n_trials : RB_BROKEN_TRIALS;
    if (e->any_report || event->signature == 0)
        return false;
    const int n = n_failing_with(e, event->signature);
    if (n < needed || (needed == 1 && e->trials[event->trial].pub.state != RB_TRIAL_FAILED))
        return false;
    e->n_broken = n;
    e->broken_said = event->said ? rb_arena_strdup(&e->arena, event->said) : NULL;
    e->stop_reason = RB_STOP_BROKEN_SCRIPT;
    rb_engine_finish_job(e, RB_JOB_STOPPED, "the first trials failed in the same way before any reported");
    return true;
}

static void on_yielded(struct rb_engine *e, int trial)
{
    struct trial *t = &e->trials[trial];
    const enum giving_way why = t->giving_way;
    // Otherwise a trial that was not asked to give way and makes no progress would do so for ever.
    if (why == GIVES_NO_WAY && t->pub.resource <= t->started_from) {
        charge_failure(e, trial, 0);
        return;
    }
    t->checkpoint = t->pub.resource;
    if (why == GIVES_WAY_TO_PAUSE)
        rb_engine_end_paused(e, trial);
    else
        rb_engine_wait_again(e, trial);
}

static void on_evicted(struct rb_engine *e, int trial)
{
    switch (e->trials[trial].giving_way) {
    case GIVES_NO_WAY: // it was not asked to
        charge_failure(e, trial, 0);
        break;
    case GIVES_WAY_TO_RESIZE:
        rb_engine_wait_again(e, trial);
        break;
    case GIVES_WAY_TO_PAUSE:
        rb_engine_end_paused(e, trial);
        break;
    }
}

void rb_engine_on_trial_ended(struct rb_engine *e, const struct rb_event *event)
{
    struct trial *t = current(e, event);
    // A REACHED without its last report belongs to an earlier stage, whose attempts had the same numbers.
    if (!t || (event->outcome == RB_OUTCOME_REACHED && t->pub.resource < t->pub.resource_end))
        return;
    if (event->outcome == RB_OUTCOME_HUNG)
        rb_engine_kill_trial(e, event->trial, "no report for trial.timeout");
    rb_engine_vacate(e, event->trial);
    switch (event->outcome) {
    case RB_OUTCOME_REACHED:
        end_trial(e, event->trial, RB_TRIAL_PAUSED, t->pub.resource_end, rb_score(e->plan->job->goal, t->pub.metric));
        break;
    case RB_OUTCOME_YIELDED:
        on_yielded(e, event->trial);
        break;
    case RB_OUTCOME_FAILED:
        charge_failure(e, event->trial, event->signature);
        if (stops_as_broken(e, event))
            return;
        break;
    case RB_OUTCOME_HUNG:
        charge_failure(e, event->trial, 0);
        break;
    case RB_OUTCOME_EVICTED:
        on_evicted(e, event->trial);
        break;
    }
    if (!e->trials[event->trial].handed_out)
        rb_engine_advance(e);
    let_policy_decide(e, event->trial);
}
