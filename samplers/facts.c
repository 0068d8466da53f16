// A trial changes in two ways only: its own events, and orders to start it. Trials that a barrier drops stay paused here; a
// sampler makes no difference between the two.
#include "samplers/facts.h"

#include "base/arena.h"
#include "engine/core/tuner.h"

#include <stdlib.h>

struct known {
    bool began;
    enum rb_seen_state state;
    int64_t started_us;     // of the start that is counted in `seconds` up to counted_us
    int64_t counted_us;
    int64_t resource;       // last reported
    double seconds, dollars;
};

struct rb_facts {
    const struct rb_plan *plan;
    struct known *trials; // by id, [n_trials]
    int n_trials;
    double dollars;
};

struct rb_facts *rb_facts_create(const struct rb_plan *plan)
{
    struct rb_facts *f = rb_xcalloc(1, sizeof *f);
    f->plan = plan;
    return f;
}

void rb_facts_destroy(struct rb_facts *f)
{
    if (!f)
        return;
    free(f->trials);
    free(f);
}

double rb_facts_dollars(const struct rb_facts *f)
{
    return f->dollars;
}

static void know(struct rb_facts *f, const struct rb_engine *e)
{
    const int n = rb_engine_n_trials(e);
    if (n <= f->n_trials)
        return;
    f->trials = rb_xrealloc(f->trials, (size_t)n, sizeof *f->trials);
    for (; f->n_trials < n; f->n_trials++)
        f->trials[f->n_trials] = (struct known){.state = RB_SEEN_PAUSED, .started_us = -1};
}

// Dollars a second of its share of its nodes.
static double rate(const struct rb_facts *f, const struct rb_engine *e, const struct rb_trial *t)
{
    double uusd_per_hour = 0;
    for (int i = 0; i < t->n_slots; i++) {
        const struct rb_offer *offer = &f->plan->offers[rb_engine_node(e, t->slots[i].node)->offer];
        const int gpus = __builtin_popcountll(t->slots[i].gpus);
        uusd_per_hour += (double)offer->rate.uusd_per_hour * gpus / offer->gpus / t->sharers;
    }
    return uusd_per_hour / 1e6 / 3600;
}

// A trial that has left its GPUs has no slots any more: it is charged by its own last rate.
static void charge(struct rb_facts *f, const struct rb_engine *e, int trial)
{
    const struct rb_trial *t = rb_engine_trial(e, trial);
    struct known *k = &f->trials[trial];
    const int64_t now_us = rb_engine_now_us(e);
    if (k->started_us < 0 || now_us <= k->counted_us)
        return;
    const double seconds = (double)(now_us - k->counted_us) / 1e6;
    const double dollars_per_s = t->n_slots > 0 ? rate(f, e, t) : k->seconds > 0 ? k->dollars / k->seconds : 0;
    k->seconds += seconds;
    k->dollars += seconds * dollars_per_s;
    f->dollars += seconds * dollars_per_s;
    k->counted_us = now_us;
}

static struct rb_fact fact_of(const struct rb_facts *f, const struct rb_engine *e, int trial, enum rb_fact_kind kind)
{
    const struct rb_trial *t = rb_engine_trial(e, trial);
    const struct known *k = &f->trials[trial];
    return (struct rb_fact){
        .kind = kind,
        .trial = trial,
        .values = t->values,
        .next_resource = t->resource_end,
        .resource = t->resource,
        .metric = t->metric,
        .score = rb_score(f->plan->job->goal, t->metric),
        .state = k->state,
        .seconds = k->seconds,
        .dollars = k->dollars,
    };
}

// ---- one trial

static enum rb_seen_state state_of(const struct rb_trial *t)
{
    switch (t->state) {
    case RB_TRIAL_WAITING:
    case RB_TRIAL_RUNNING:
        return RB_SEEN_TRAINS;
    case RB_TRIAL_PAUSED:
        return RB_SEEN_PAUSED;
    case RB_TRIAL_FAILED:
        return RB_SEEN_FAILED;
    case RB_TRIAL_STOPPED:
    case RB_TRIAL_COMPLETED:
        break;
    }
    return RB_SEEN_ENDED;
}

static void look_at(struct rb_facts *f, const struct rb_engine *e, int trial, rb_fact_fn *fn, void *ctx)
{
    const struct rb_trial *t = rb_engine_trial(e, trial);
    struct known *k = &f->trials[trial];
    if (!t->values)
        return;
    if (!k->began) {
        k->began = true;
        k->state = RB_SEEN_TRAINS;
        const struct rb_fact fact = fact_of(f, e, trial, RB_FACT_BEGAN);
        fn(ctx, &fact);
    }
    if (state_of(t) == k->state)
        return;
    k->state = state_of(t);
    struct rb_fact fact = fact_of(f, e, trial, RB_FACT_CHANGED);
    fact.is_over = k->state == RB_SEEN_ENDED || t->resource >= f->plan->job->scheduler.max_resource;
    fn(ctx, &fact);
}

static void take_report(struct rb_facts *f, const struct rb_engine *e, const struct rb_event *event, rb_fact_fn *fn,
                        void *ctx)
{
    struct known *k = &f->trials[event->trial];
    const struct rb_trial *t = rb_engine_trial(e, event->trial);
    if (!k->began || event->resource <= k->resource || t->resource != event->resource)
        return;
    k->resource = event->resource;
    const struct rb_fact fact = fact_of(f, e, event->trial, RB_FACT_REPORTED);
    fn(ctx, &fact);
}

// Trials whose start was ordered in this step begin to be charged now.
static void take_starts(struct rb_facts *f, const struct rb_engine *e, const struct rb_actions *actions, rb_fact_fn *fn,
                        void *ctx)
{
    for (int i = 0; i < actions->n; i++) {
        if (actions->items[i].kind != RB_ACTION_START_TRIAL)
            continue;
        struct known *k = &f->trials[actions->items[i].trial];
        k->started_us = k->counted_us = rb_engine_now_us(e);
        look_at(f, e, actions->items[i].trial, fn, ctx);
    }
}

void rb_facts_take(struct rb_facts *f, const struct rb_engine *e, const struct rb_event *event,
                   const struct rb_actions *actions, rb_fact_fn *fn, void *ctx)
{
    know(f, e);
    const bool of_trial = event->kind == RB_EVENT_REPORT || event->kind == RB_EVENT_TRIAL_ENDED ||
                          event->kind == RB_EVENT_SUGGESTED;
    if (of_trial && event->trial >= 0 && event->trial < f->n_trials) {
        charge(f, e, event->trial);
        if (event->kind == RB_EVENT_REPORT)
            take_report(f, e, event, fn, ctx);
        look_at(f, e, event->trial, fn, ctx);
        if (rb_engine_trial(e, event->trial)->n_slots == 0)
            f->trials[event->trial].started_us = -1; // it left its GPUs
    }
    take_starts(f, e, actions, fn, ctx);
}
