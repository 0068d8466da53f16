// An engine driven event by event, and what it asks for as text: the harness of the trace tests.
#ifndef RB_TESTS_ENGINE_TRACE_H
#define RB_TESTS_ENGINE_TRACE_H

#include "action_text.h"
#include "small_plan.h"

#include "engine/core/engine.h"

#include "check.h"

struct trace {
    struct rb_engine *engine;
    struct rb_actions actions;
    const struct rb_plan *plan;
};

static inline void begin(struct trace *t, const struct rb_plan *plan)
{
    struct rb_err err;
    *t = (struct trace){.plan = plan};
    if (!rb_engine_create(plan, &t->engine, &err))
        fail_msg("%s", err.message);
}

static inline void end(struct trace *t)
{
    rb_engine_destroy(t->engine);
    rb_actions_finish(&t->actions);
}

static inline void expect(struct trace *t, double at_s, struct rb_event event, const char *expected)
{
    struct rb_buf text = RB_BUF_INIT;
    event.time_us = (int64_t)(at_s * 1e6);
    rb_engine_step(t->engine, &event, &t->actions);
    actions_text(&t->actions, t->plan, &text);
    if (strcmp(rb_buf_str(&text), expected) != 0)
        fail_msg("at %g s, %s: expected \"%s\", got \"%s\"", at_s, rb_event_kind_name(event.kind), expected,
                 rb_buf_str(&text));
    rb_buf_finish(&text);
}

// ---- events

static const struct rb_event __attribute__((unused)) started = {.kind = RB_EVENT_START};
static const struct rb_event __attribute__((unused)) woken = {.kind = RB_EVENT_TIME};
static const struct rb_event __attribute__((unused)) resumed = {.kind = RB_EVENT_RESUME};

static inline struct rb_event node(enum rb_event_kind kind, int number, int attempt)
{
    return (struct rb_event){.kind = kind, .node = number, .attempt = attempt};
}

static inline struct rb_event running(int number)
{
    return node(RB_EVENT_NODE_RUNNING, number, 0);
}

static inline struct rb_event ready(int number)
{
    return node(RB_EVENT_NODE_READY, number, 0);
}

static inline struct rb_event lost(int number)
{
    return node(RB_EVENT_NODE_LOST, number, 0);
}

static inline struct rb_event report(int trial, int attempt, int64_t resource, double metric)
{
    return (struct rb_event){
        .kind = RB_EVENT_REPORT, .trial = trial, .attempt = attempt, .resource = resource, .metric = metric};
}

static inline struct rb_event ended(int trial, int attempt, enum rb_outcome outcome)
{
    return (struct rb_event){.kind = RB_EVENT_TRIAL_ENDED, .trial = trial, .attempt = attempt, .outcome = outcome};
}

static inline struct rb_event saved(int trial, int attempt, int64_t resource)
{
    return (struct rb_event){.kind = RB_EVENT_TRIAL_SAVED, .trial = trial, .attempt = attempt, .resource = resource};
}

static inline struct rb_event stopped(enum rb_stop_reason reason)
{
    return (struct rb_event){.kind = RB_EVENT_STOP, .reason = reason};
}

// Reports the last resource of the stage, then ends.
static inline void reach(struct trace *t, double at_s, int trial, int attempt, int64_t resource, double metric,
                  const char *expected)
{
    expect(t, at_s, report(trial, attempt, resource, metric), "");
    expect(t, at_s, ended(trial, attempt, RB_OUTCOME_REACHED), expected);
}

static inline enum rb_trial_state state_of(const struct trace *t, int trial)
{
    return rb_engine_trial(t->engine, trial)->state;
}

#endif
