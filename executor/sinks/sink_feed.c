// The events go through an engine, which says which reports count and how each trial stands.
#include "executor/sinks/sink_feed.h"

#include "base/clock.h"
#include "executor/controller/spend.h"
#include "executor/launcher/trial_env.h"
#include "executor/run/standing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct known_trial {
    bool started;
    enum rb_sink_state state; // as the sink knows it
};

struct rb_sink_feed {
    const struct rb_run_files *files;
    struct rb_journal *journal;
    struct rb_arena arena;
    struct rb_sink_run run;
    struct rb_engine *engine;
    struct rb_actions actions;
    struct known_trial *trials;
    int n_trials;
    enum rb_sink_state state; // of the run, as the sink knows it
    int64_t last_event;
    struct rb_standing standing; // how it will end; prediction NULL: no one asks
    // While it plays:
    const struct rb_sink_ops *ops;
    void *sink;
};

bool rb_sink_feed_open(const struct rb_run_files *files, bool foresees, struct rb_sink_feed **out, struct rb_err *err)
{
    struct rb_sink_feed *f = rb_xcalloc(1, sizeof *f);
    struct rb_journal_meta meta;
    f->files = files;
    if (!rb_journal_open_reader(files->journal, &f->journal, err) ||
        !rb_journal_meta(f->journal, &f->arena, &meta, err) || !rb_engine_create(&files->plan, &f->engine, err)) {
        rb_sink_feed_close(f);
        return false;
    }
    f->run = (struct rb_sink_run){.run_id = meta.run_id,
                                  .plan_sha256 = meta.plan_sha256,
                                  .plan = &files->plan,
                                  .started_unix_us = meta.started_unix_us};
    if (foresees)
        f->standing.prediction = rb_prediction_create(&files->plan);
    *out = f;
    return true;
}

void rb_sink_feed_close(struct rb_sink_feed *f)
{
    if (!f)
        return;
    rb_prediction_destroy(f->standing.prediction);
    rb_engine_destroy(f->engine);
    rb_actions_finish(&f->actions);
    rb_journal_close(f->journal);
    rb_arena_finish(&f->arena);
    free(f->trials);
    free(f);
}

const struct rb_sink_run *rb_sink_feed_run(const struct rb_sink_feed *f)
{
    return &f->run;
}

int64_t rb_sink_feed_events(const struct rb_sink_feed *f)
{
    return f->last_event;
}

static struct known_trial *known(struct rb_sink_feed *f, int trial)
{
    if (trial >= f->n_trials) {
        f->trials = rb_xrealloc(f->trials, (size_t)trial + 1, sizeof *f->trials);
        memset(&f->trials[f->n_trials], 0, (size_t)(trial + 1 - f->n_trials) * sizeof *f->trials);
        f->n_trials = trial + 1;
    }
    return &f->trials[trial];
}

static enum rb_sink_state run_state(const struct rb_engine *e)
{
    switch (rb_engine_outcome(e, NULL)) {
    case RB_JOB_RUNNING:
        return RB_SINK_RUNNING;
    case RB_JOB_COMPLETE:
    case RB_JOB_TARGET:
        return RB_SINK_COMPLETED;
    case RB_JOB_STOPPED:
        return RB_SINK_STOPPED;
    case RB_JOB_INCOMPLETE:
        break;
    }
    return RB_SINK_FAILED;
}

// A trial that could still go on ends with its run.
static enum rb_sink_state trial_state(const struct rb_engine *e, int trial)
{
    switch (rb_engine_trial(e, trial)->state) {
    case RB_TRIAL_COMPLETED:
        return RB_SINK_COMPLETED;
    case RB_TRIAL_STOPPED:
        return RB_SINK_STOPPED;
    case RB_TRIAL_FAILED:
        return RB_SINK_FAILED;
    case RB_TRIAL_WAITING:
    case RB_TRIAL_RUNNING:
    case RB_TRIAL_PAUSED:
        break;
    }
    return run_state(e) == RB_SINK_RUNNING ? RB_SINK_RUNNING : RB_SINK_STOPPED;
}

static const struct rb_value *values_of(struct rb_sink_feed *f, int trial)
{
    return rb_trial_values(f->run.plan->job, trial, rb_engine_trial(f->engine, trial)->values, &f->arena);
}

static bool play_starts(struct rb_sink_feed *f, int64_t unix_us, struct rb_err *err)
{
    for (int i = 0; i < f->actions.n; i++) {
        const struct rb_action *a = &f->actions.items[i];
        if (a->kind != RB_ACTION_START_TRIAL || known(f, a->trial)->started)
            continue;
        known(f, a->trial)->started = true;
        const struct rb_sink_trial t = {a->trial, values_of(f, a->trial), unix_us};
        if (f->ops->trial_started && !f->ops->trial_started(f->sink, &t, err))
            return false;
    }
    return true;
}

static bool play_state(struct rb_sink_feed *f, int trial, int64_t unix_us, struct rb_err *err)
{
    struct known_trial *t = &f->trials[trial];
    const enum rb_sink_state now = t->started ? trial_state(f->engine, trial) : t->state;
    if (now == t->state)
        return true;
    t->state = now;
    return !f->ops->trial_ended || f->ops->trial_ended(f->sink, trial, now, unix_us, err);
}

static bool play_states(struct rb_sink_feed *f, int64_t unix_us, struct rb_err *err)
{
    for (int i = 0; i < f->n_trials; i++)
        if (!play_state(f, i, unix_us, err))
            return false;
    const enum rb_sink_state now = run_state(f->engine);
    if (now == f->state)
        return true;
    f->state = now;
    return !f->ops->run_ended || f->ops->run_ended(f->sink, now, unix_us, err);
}

// Late, repeated and outdated reports are no results: the engine leaves the trial as it was.
static bool is_accepted(const struct rb_engine *e, const struct rb_event *event, int64_t resource_before)
{
    return event->resource > resource_before && event->trial < rb_engine_n_trials(e) &&
           rb_engine_trial(e, event->trial)->resource == event->resource;
}

static int64_t resource_of(const struct rb_engine *e, int trial)
{
    return trial >= 0 && trial < rb_engine_n_trials(e) ? rb_engine_trial(e, trial)->resource : INT64_MAX;
}

// States change at a report, too, but rarely of other trials: those are seen at the next event that is none.
static bool play_event(void *ctx, const struct rb_event *e, struct rb_err *err)
{
    struct rb_sink_feed *f = ctx;
    const int64_t unix_us = f->run.started_unix_us + e->time_us;
    const int64_t before = e->kind == RB_EVENT_REPORT ? resource_of(f->engine, e->trial) : INT64_MAX;
    rb_engine_step(f->engine, e, &f->actions);
    if (f->standing.prediction)
        rb_prediction_event(f->standing.prediction, e);
    if (!play_starts(f, unix_us, err))
        return false;
    if (e->kind == RB_EVENT_REPORT && is_accepted(f->engine, e, before) && f->ops->reported &&
        !f->ops->reported(f->sink, &(struct rb_sink_report){e->trial, e->resource, e->metric, unix_us}, err))
        return false;
    if (e->kind == RB_EVENT_REPORT && run_state(f->engine) == f->state)
        return e->trial >= f->n_trials || e->trial < 0 || play_state(f, e->trial, unix_us, err);
    return play_states(f, unix_us, err);
}

bool rb_sink_feed_play(struct rb_sink_feed *f, const struct rb_sink_ops *ops, void *sink, bool *out_any,
                       struct rb_err *err)
{
    const int64_t from = f->last_event;
    f->ops = ops;
    f->sink = sink;
    const bool ok = rb_journal_each_event_after(f->journal, &f->last_event, play_event, f, err);
    *out_any = f->last_event > from;
    return ok;
}

// Of a run that is over: what it cost, and whether it kept its deadline.
static void report_end(const struct rb_report *r, struct rb_sink_now *out)
{
    out->cost_p95_uusd = (double)r->cost_uusd;
    if (r->meta.deadline_us >= 0)
        out->p_on_time = rb_job_is_final(r->outcome) && r->time_us <= r->meta.deadline_us;
}

static void predict(struct rb_sink_feed *f, const struct rb_report *r, struct rb_sink_now *out)
{
    struct rb_progress p;
    const int64_t wall_us = rb_clock_unix_us() - r->started_unix_us;
    rb_progress_of_engine(f->engine, f->run.plan, &p);
    p.spent_uusd = r->cost_uusd;
    p.elapsed_us = wall_us > r->now_us ? wall_us : r->now_us;
    p.deadline_us = r->meta.deadline_us;
    p.budget_uusd = r->meta.budget_uusd;
    rb_standing_settle(&f->standing, &p);
    rb_standing_report(&f->standing, &p);
    out->p_on_time = p.p_on_time;
    if (p.cost_p95_uusd >= 0)
        out->cost_p95_uusd = (double)p.cost_p95_uusd;
}

// Of machines that run and have not ended.
static int gpus_of(const struct rb_report *r)
{
    int n = 0;
    for (int i = 0; i < r->n_nodes; i++)
        if (r->nodes[i].running_us >= 0 && r->nodes[i].terminated_us < 0 && r->nodes[i].gone_us < 0)
            n += r->plan->offers[r->nodes[i].offer].gpus;
    return n;
}

bool rb_sink_feed_now(struct rb_sink_feed *f, bool at_work, struct rb_arena *arena, struct rb_sink_now *out,
                      struct rb_err *err)
{
    struct rb_report *r = rb_arena_alloc(arena, sizeof *r);
    if (!rb_report_make(f->journal, f->run.plan, arena, r, err))
        return false;
    r->at_work = at_work;
    *out = (struct rb_sink_now){.report = r, .gpus = gpus_of(r), .cost_p95_uusd = NAN, .p_on_time = NAN};
    if (r->outcome != RB_JOB_RUNNING)
        report_end(r, out);
    else if (at_work && f->standing.prediction)
        predict(f, r, out);
    return true;
}
