// The engine in virtual time: its orders become events at the drawn instants, in the order of event_heap.h.
#include "simulator/world/world.h"

#include "simulator/forecast/curve.h"
#include "simulator/model/spending.h"
#include "simulator/model/workspace.h"
#include "simulator/stage/kept_trials.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

struct running_trial {
    int attempt, stage, position;
    double unit_s, save_every_s;
    int64_t started_us;  // origin of `progress`
    int64_t reported_us; // in a history: its last report, -1: none since its start
    int64_t saved_us;    // likewise: its last save, -1: none since its start
    int64_t resource_start, resource, resource_end;
    struct rb_trial_progress progress;
    struct rb_kept_trial *kept; // NULL: it draws by itself
    bool gives_way;             // no further report; its end is pending
};

struct world {
    const struct rb_scenario *scenario;
    const struct rb_world_options *opt;
    struct rb_engine *engine;
    struct rb_markets *markets; // NULL: none has memory
    struct rb_event_heap heap;
    struct rb_actions actions;
    struct running_trial *trials; // by id
    int trials_cap;
    int64_t now_us;
    int64_t n_events, n_units;
    int n_advised;
    int64_t paid_until_us; // the budget pays for all nodes owned or requested until then; -1: unknown
    int64_t look_ahead_us; // horizon of that search
    int64_t first_full_us; // -1: no trial has reported R yet
    bool advice_pending;   // requested at this instant
    bool reliving;         // past events: the history sets their times, not the draws
    bool done, failed;
    struct rb_err *err;
};

static void push(struct world *w, const struct rb_sim_event *event)
{
    if (!w->reliving || event->order == RB_SIM_WAKE)
        rb_event_heap_push(&w->heap, event);
}

static bool fail(struct world *w, const char *why)
{
    if (!w->failed)
        rb_err_set(w->err, RB_E_SIM_ENDLESS, "stages[%d] does not come to an end: %s", rb_engine_stage(w->engine), why);
    w->failed = true;
    return false;
}

// ---- orders

// The offer of a node, the plan's or a stand-in.
static int offer_of(const struct world *w, int node)
{
    return w->markets ? rb_markets_offer(w->markets, node) : rb_engine_node(w->engine, node)->offer;
}

static struct rb_node_request request_of(const struct world *w, int node)
{
    const struct rb_owned_node *n = rb_engine_node(w->engine, node);
    return (struct rb_node_request){node, n->offer, n->stage, n->ordinal, n->attempt};
}

// Does the budget pay for a stand-in?
static bool is_paid(void *ctx, int offer)
{
    const struct world *w = ctx;
    const int64_t least_uusd = rb_bill_least_uusd(&w->scenario->sim_offers[offer].billing);
    return w->opt->budget_uusd < 0 ||
           rb_spending_at(w->scenario, w->engine, w->now_us) + least_uusd <= w->opt->budget_uusd;
}

static void refuse(struct world *w, int node, int attempt)
{
    const struct rb_node_request r = request_of(w, node);
    push(w, &(struct rb_sim_event){
                .time_us = rb_markets_refused(w->markets, &r, w->now_us, is_paid, w),
                .order = RB_SIM_NODE_REFUSED,
                .index = node,
                .attempt = attempt,
            });
}

static void provision(struct world *w, const struct rb_action *a)
{
    const struct rb_node_request r = {a->node, a->offer, a->stage, a->ordinal, a->attempt};
    if (a->attempt >= RB_SIM_ATTEMPTS) {
        fail(w, "requests for its nodes are refused again and again (capacity_failure, or markets that are down)");
        return;
    }
    if (w->reliving)
        return;
    const int offer = w->markets ? rb_markets_ask(w->markets, &r, w->now_us, is_paid, w) : a->offer;
    if (w->markets && rb_markets_refuses_now(w->markets, a->node, w->now_us)) {
        refuse(w, a->node, a->attempt);
        return;
    }
    push(w,
         &(struct rb_sim_event){
             .time_us = w->now_us + rb_draw_queue_us(w->scenario, offer, a->stage, a->ordinal, a->attempt,
                                                     w->opt->replicate),
             .order = RB_SIM_NODE_RUNNING,
             .index = a->node,
             .attempt = a->attempt,
             .refused = rb_draw_refused(w->scenario, offer, a->stage, a->ordinal, a->attempt, w->opt->replicate),
         });
}

static struct running_trial *trial_slot(struct world *w, int trial)
{
    if (trial >= w->trials_cap) {
        const int n = rb_engine_n_trials(w->engine), cap = n > 2 * w->trials_cap ? n : 2 * w->trials_cap;
        w->trials = rb_xrealloc(w->trials, (size_t)cap, sizeof *w->trials);
        w->trials_cap = cap;
    }
    return &w->trials[trial];
}

// Its next report, or its end.
static struct rb_sim_event next_of(struct world *w, int trial)
{
    struct running_trial *t = &w->trials[trial];
    const bool more = t->resource < t->resource_end;
    const int64_t at_us = more ? rb_trial_progress_next_us(&t->progress) : rb_trial_progress_end_us(&t->progress);
    return (struct rb_sim_event){
        .time_us = t->started_us + at_us,
        .order = more ? RB_SIM_REPORT : RB_SIM_TRIAL_ENDED,
        .index = trial,
        .attempt = t->attempt,
        .stage = t->stage,
    };
}

static void expect_next(struct world *w, int trial)
{
    const struct rb_sim_event next = next_of(w, trial);
    push(w, &next);
}

// 1 where the seconds are the trial's own.
static double configuration_of(const struct world *w, int trial)
{
    const struct rb_world_options *o = w->opt;
    if (o->unit_s && o->unit_s(o->unit_s_ctx, trial) > 0)
        return 1;
    return o->configuration ? o->configuration(o->known_ctx, o->replicate, trial)
                            : rb_draw_configuration(w->scenario, trial, o->replicate);
}

static void begin_progress(struct world *w, int trial, int attempt)
{
    const struct rb_scenario *s = w->scenario;
    struct running_trial *t = &w->trials[trial];
    t->kept = attempt == 0 && w->opt->n_history == 0 && !w->opt->unit_s && !rb_scenario_starts_over(s)
                  ? rb_kept_trials_get(s->kept_trials, t->stage, t->position, w->opt->replicate, t->resource_start,
                                       t->resource_end)
                  : NULL;
    if (t->kept)
        rb_trial_progress_follow(&t->progress, s, &t->kept->drawn, t->unit_s);
    else
        rb_trial_progress_begin(&t->progress, s, t->stage, t->position, attempt, w->opt->replicate, t->unit_s);
    t->progress.every_s = t->save_every_s;
    t->progress.between *= configuration_of(w, trial);
    for (int64_t u = 0; rb_scenario_starts_over(s) && u < t->resource_start;
         u++) // trained once more, but not reported to anyone
        rb_trial_progress_next_us(&t->progress);
}

// A trial with seconds of its own is as much faster on several GPUs as the profile's are.
static bool scale_unit(struct world *w, const struct rb_action *a, int offer, double *unit_s)
{
    const double own_s = w->opt->unit_s ? w->opt->unit_s(w->opt->unit_s_ctx, a->trial) : 0;
    double on_one_s;
    if (own_s <= 0)
        return true;
    if (!rb_scenario_width_unit_s(w->scenario, offer, (struct rb_width){1, 1}, &on_one_s, w->err)) {
        w->failed = true;
        return false;
    }
    *unit_s *= own_s / on_one_s;
    return true;
}

static void start_trial(struct world *w, const struct rb_action *a)
{
    const int offer = rb_engine_node(w->engine, a->slots[0].node)->offer; // a stand-in has the same accelerator
    struct running_trial *t = trial_slot(w, a->trial);
    double unit_s;
    if (a->attempt >= RB_SIM_ATTEMPTS) {
        fail(w, "its trials lose their nodes again and again (preemption_per_hour)");
        return;
    }
    if (!rb_scenario_width_unit_s(w->scenario, offer, (struct rb_width){a->gpus, a->sharers}, &unit_s, w->err)) {
        w->failed = true;
        return;
    }
    if (!scale_unit(w, a, offer, &unit_s))
        return;
    unit_s = w->opt->speed ? unit_s * w->opt->speed(w->opt->known_ctx, w->opt->replicate, offer, a->gpus)
                           : rb_draw_unit_s(w->scenario, offer, unit_s, w->opt->replicate);
    *t = (struct running_trial){
        .attempt = a->attempt,
        .stage = a->stage,
        .position = a->position,
        .unit_s = unit_s,
        .save_every_s = w->scenario->sim_offers[offer].save_every_s,
        .started_us = w->now_us,
        .reported_us = -1,
        .saved_us = -1,
        .resource_start = a->resource_start,
        .resource = a->resource_start,
        .resource_end = a->resource_end,
    };
    begin_progress(w, a->trial, a->attempt);
    if (!w->reliving)
        expect_next(w, a->trial);
}

static void expect_yield(struct world *w, int trial)
{
    const struct running_trial *t = &w->trials[trial];
    push(w, &(struct rb_sim_event){
                .time_us = w->now_us + rb_trial_progress_checkpoint_us(&t->progress),
                .order = RB_SIM_TRIAL_ENDED,
                .index = trial,
                .attempt = t->attempt,
                .stage = t->stage,
            });
}

// The unit in progress is lost; the checkpoint is that of its last report. At the end of its budget it ends by itself.
static void yield_trial(struct world *w, const struct rb_action *a)
{
    struct running_trial *t = &w->trials[a->trial];
    if (t->gives_way || t->resource >= t->resource_end)
        return;
    t->gives_way = true;
    expect_yield(w, a->trial);
}

static void advise(struct world *w, const struct rb_action *a)
{
    struct rb_sim_event event = {.time_us = w->now_us, .order = RB_SIM_FORECAST, .stage = a->stage};
    if (w->opt->advise && !w->advice_pending)
        push(w, &event);
    w->advice_pending = true;
}

static void leave_market(struct world *w, int node)
{
    if (w->markets)
        rb_markets_left(w->markets, node, w->now_us);
}

// Events of what is terminated or killed are dropped when they come.
static void carry_out(struct world *w, const struct rb_action *a)
{
    switch (a->kind) {
    case RB_ACTION_PROVISION:
        w->paid_until_us = -1;
        provision(w, a);
        break;
    case RB_ACTION_START_TRIAL:
        start_trial(w, a);
        break;
    case RB_ACTION_WAKE:
        push(w, &(struct rb_sim_event){.time_us = a->at_us, .order = RB_SIM_WAKE, .stage = a->stage});
        break;
    case RB_ACTION_DONE:
        w->done = true;
        break;
    case RB_ACTION_YIELD_TRIAL:
        yield_trial(w, a);
        break;
    case RB_ACTION_ADVISE:
        advise(w, a);
        break;
    case RB_ACTION_SUGGEST:
        push(w, &(struct rb_sim_event){.time_us = w->now_us, .order = RB_SIM_SUGGESTED, .index = a->trial});
        break;
    case RB_ACTION_TERMINATE:
        leave_market(w, a->node);
        break;
    case RB_ACTION_KILL_TRIAL:
        break;
    }
}

static void step(struct world *w, const struct rb_event *event)
{
    w->now_us = event->time_us;
    w->n_events += !w->reliving;
    rb_engine_step(w->engine, event, &w->actions);
    if (w->opt->suggester)
        w->opt->suggester->saw(w->opt->suggester->ctx, w->engine, event, &w->actions);
    if (w->opt->reactor)
        w->opt->reactor->saw(w->opt->reactor, event);
    if (w->opt->observe && !w->reliving)
        w->opt->observe(w->opt->observe_ctx, w->engine, event, &w->actions);
    for (int i = 0; i < w->actions.n && !w->failed; i++)
        carry_out(w, &w->actions.items[i]);
}

// ---- events

static void node_running(struct world *w, const struct rb_sim_event *e)
{
    w->paid_until_us = -1;
    const struct rb_owned_node n = *rb_engine_node(w->engine, e->index);
    const uint32_t replicate = w->opt->replicate;
    const int offer = offer_of(w, e->index);
    struct rb_sim_event next = *e;
    next.time_us += rb_draw_init_us(w->scenario, offer, n.stage, n.ordinal, n.attempt, replicate);
    next.order = RB_SIM_NODE_READY;
    push(w, &next);
    const int64_t life_us = rb_markets_is_replayed(w->markets, offer)
                                ? INT64_MAX
                                : rb_draw_preemption_us(w->scenario, offer, n.stage, n.ordinal, n.attempt, replicate);
    if (life_us != INT64_MAX) {
        next.time_us = e->time_us + life_us;
        next.order = RB_SIM_NODE_LOST;
        push(w, &next);
    }
    step(w, &(struct rb_event){.kind = RB_EVENT_NODE_RUNNING,
                               .time_us = e->time_us,
                               .node = e->index,
                               .attempt = e->attempt,
                               .stand_in = offer != n.offer ? 1 + offer : 0});
}

static void node_refused(struct world *w, const struct rb_sim_event *e)
{
    w->paid_until_us = -1;
    step(w, &(struct rb_event){.kind = RB_EVENT_NODE_REFUSED,
                               .time_us = e->time_us,
                               .node = e->index,
                               .attempt = e->attempt});
}

// The end of a queueing delay.
static void answer(struct world *w, const struct rb_sim_event *e)
{
    if (!w->markets && e->refused) {
        node_refused(w, e);
    } else if (w->markets && (e->refused || rb_markets_refuses(w->markets, e->index, e->time_us))) {
        w->now_us = e->time_us;
        refuse(w, e->index, e->attempt);
    } else {
        node_running(w, e);
    }
}

static void take_back(void *ctx, int node, int64_t at_us)
{
    struct world *w = ctx;
    push(w, &(struct rb_sim_event){
                .time_us = at_us,
                .order = RB_SIM_NODE_LOST,
                .index = node,
                .attempt = rb_engine_node(w->engine, node)->attempt,
                .strike = RB_SIM_TAKEN,
            });
}

static void expect_change(struct world *w, int offer, int64_t after_us)
{
    const int64_t at_us = rb_markets_next_change_us(w->markets, offer, after_us);
    if (at_us != INT64_MAX)
        push(w, &(struct rb_sim_event){.time_us = at_us, .order = RB_SIM_MARKET, .index = offer});
}

static void change_market(struct world *w, const struct rb_sim_event *e)
{
    rb_markets_change(w->markets, e->index, e->time_us, take_back, w);
    expect_change(w, e->index, e->time_us);
}

static void expect_node(struct world *w, int node, enum rb_sim_order order, int strike, int64_t at_us)
{
    const struct rb_owned_node *n = rb_engine_node(w->engine, node);
    const struct rb_sim_event next = {
        .time_us = at_us,
        .order = order,
        .index = node,
        .attempt = n->attempt,
        .strike = strike,
        .refused = order == RB_SIM_NODE_RUNNING &&
                   rb_draw_refused(w->scenario, n->offer, n->stage, n->ordinal, n->attempt, w->opt->replicate),
    };
    if (at_us != INT64_MAX)
        push(w, &next);
}

static bool runs(const struct rb_owned_node *n, int offer)
{
    return n->billed_offer == offer && (n->state == RB_OWNED_RUNNING || n->state == RB_OWNED_READY);
}

static void take_all(struct world *w, const struct rb_sim_event *e, int offer)
{
    for (int i = 0; i < rb_engine_n_nodes(w->engine); i++) {
        const struct rb_owned_node *n = rb_engine_node(w->engine, i);
        struct rb_sim_event lost = *e;
        lost.index = i;
        lost.attempt = n->attempt;
        lost.strike = RB_SIM_TAKEN;
        if (i != e->index && runs(n, offer))
            push(w, &lost);
    }
}

static int64_t next_strike_us(const struct world *w, const struct rb_owned_node *n, int strike, int64_t at_us)
{
    return rb_draw_next_strike_us(w->scenario, n->billed_offer, n->stage, n->ordinal, n->attempt, w->opt->replicate, strike,
                                  n->running_us, at_us);
}

// The node's clock has struck. True: the node is lost; others may be, at this instant.
static bool strike(struct world *w, const struct rb_sim_event *e)
{
    const struct rb_owned_node *n = rb_engine_node(w->engine, e->index);
    int n_running = 0;
    if (e->strike == RB_SIM_TAKEN)
        return true;
    for (int i = 0; i < rb_engine_n_nodes(w->engine); i++)
        n_running += runs(rb_engine_node(w->engine, i), n->billed_offer);
    switch (rb_draw_strike(w->scenario, n->billed_offer, n->stage, n->ordinal, n->attempt, w->opt->replicate, e->strike,
                           n_running)) {
    case RB_STRIKE_NONE:
        expect_node(w, e->index, RB_SIM_NODE_LOST, e->strike + 1, next_strike_us(w, n, e->strike, e->time_us));
        return false;
    case RB_STRIKE_ALL:
        take_all(w, e, n->billed_offer);
        if (w->markets)
            rb_markets_down(w->markets, n->billed_offer, e->time_us);
        return true;
    case RB_STRIKE_ONE:
        break;
    }
    return true;
}

// Of the trial's configuration, trained from the beginning.
static double own_metric(const struct world *w, int trial, int64_t resource)
{
    if (w->opt->curve)
        return w->opt->curve(w->opt->curve_ctx, w->opt->replicate, trial, resource);
    return rb_synthetic_curve(w->scenario->seed, w->opt->replicate, w->scenario->job->goal, trial, resource);
}

// What a clone's parent was ahead of it fades away by the end: a model, until curves of copied trials are measured.
static double continued_metric(const struct world *w, int trial, int64_t resource)
{
    const struct rb_trial *t = rb_engine_trial(w->engine, trial);
    const double own = own_metric(w, trial, resource), end = (double)w->scenario->job->scheduler.max_resource;
    if (t->parent < 0 || w->opt->curve_has_clones)
        return own;
    const double ahead = continued_metric(w, t->parent, t->cloned_at) - own_metric(w, trial, t->cloned_at);
    return own + ahead * (end - (double)resource) / (end - (double)t->cloned_at);
}

static double metric_after(const struct world *w, int trial, int64_t resource)
{
    const struct running_trial *t = &w->trials[trial];
    if (!w->opt->curve && t->kept && t->position == trial && rb_engine_trial(w->engine, trial)->parent < 0)
        return rb_kept_trials_metric(w->scenario->kept_trials, t->kept, trial, w->opt->replicate, t->resource_start,
                                     resource);
    return continued_metric(w, trial, resource);
}

static bool is_current(const struct world *w, const struct rb_sim_event *e)
{
    return rb_engine_attempt_is_current(w->engine, e->index, e->attempt) &&
           rb_engine_trial(w->engine, e->index)->stage == e->stage;
}

// False: none is due, or it would be safe before from_us.
static bool expect_save(struct world *w, int trial, int64_t from_us)
{
    struct running_trial *t = &w->trials[trial];
    struct rb_trial_progress after = t->progress;
    int64_t safe_us;
    if (t->resource >= t->resource_end || !rb_trial_progress_save(&after, &safe_us) || t->started_us + safe_us < from_us)
        return false;
    t->progress = after;
    push(w, &(struct rb_sim_event){.time_us = t->started_us + safe_us,
                                   .order = RB_SIM_TRIAL_SAVED,
                                   .index = trial,
                                   .attempt = t->attempt,
                                   .stage = t->stage});
    return true;
}

static void report(struct world *w, const struct rb_sim_event *e)
{
    struct running_trial *t = &w->trials[e->index];
    t->resource++;
    w->n_units++;
    if (t->resource == w->scenario->job->scheduler.max_resource && w->first_full_us < 0)
        w->first_full_us = e->time_us;
    step(w, &(struct rb_event){.kind = RB_EVENT_REPORT,
                               .time_us = e->time_us,
                               .trial = e->index,
                               .attempt = e->attempt,
                               .stage = e->stage,
                               .resource = t->resource,
                               .metric = metric_after(w, e->index, t->resource)});
    if (is_current(w, e) && !t->gives_way && !expect_save(w, e->index, e->time_us))
        expect_next(w, e->index);
}

static void saved(struct world *w, const struct rb_sim_event *e)
{
    step(w, &(struct rb_event){.kind = RB_EVENT_TRIAL_SAVED,
                               .time_us = e->time_us,
                               .trial = e->index,
                               .attempt = e->attempt,
                               .stage = e->stage,
                               .resource = w->trials[e->index].resource});
    expect_next(w, e->index);
}

// True if something still waits for it.
static bool matters(const struct world *w, const struct rb_sim_event *e)
{
    switch (e->order) {
    case RB_SIM_NODE_RUNNING:
    case RB_SIM_NODE_REFUSED:
    case RB_SIM_NODE_READY:
    case RB_SIM_NODE_LOST:
        return rb_engine_node(w->engine, e->index)->state != RB_OWNED_ENDED;
    case RB_SIM_REPORT:
    case RB_SIM_TRIAL_SAVED:
        return is_current(w, e) && !w->trials[e->index].gives_way;
    case RB_SIM_TRIAL_ENDED:
        return is_current(w, e);
    case RB_SIM_WAKE:
        return e->stage == rb_engine_stage(w->engine);
    case RB_SIM_MARKET:
    case RB_SIM_SUGGESTED:
    case RB_SIM_FORECAST:
    case RB_SIM_STOP:
        return true;
    }
    return false;
}

static void forecast(struct world *w, int64_t at_us)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    struct rb_advice advice;
    w->advice_pending = false;
    if (w->opt->advise(w->opt->advise_ctx, w->engine, &arena, &advice))
        step(w, &(struct rb_event){.kind = RB_EVENT_FORECAST, .time_us = at_us, .advice = &advice});
}

// A run that only measures time needs no values: one that stands for all of them is enough.
static void suggest(struct world *w, int trial, int64_t at_us)
{
    static const struct rb_named_value none = {"", {.kind = RB_VALUE_ABSENT}};
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    struct rb_event event = {.values = &none, .n_values = 1};
    if (w->opt->suggester)
        w->opt->suggester->suggest(w->opt->suggester->ctx, w->engine, trial,
                                   rb_engine_trial(w->engine, trial)->resource_end, &arena, &event);
    event.kind = RB_EVENT_SUGGESTED;
    event.trial = trial;
    event.time_us = at_us;
    step(w, &event);
}

static void happen(struct world *w, const struct rb_sim_event *e)
{
    struct rb_event event = {.time_us = e->time_us, .attempt = e->attempt, .stage = e->stage};
    switch (e->order) {
    case RB_SIM_MARKET:
        change_market(w, e);
        return;
    case RB_SIM_NODE_RUNNING:
        answer(w, e);
        return;
    case RB_SIM_NODE_REFUSED:
        node_refused(w, e);
        return;
    case RB_SIM_REPORT:
        report(w, e);
        return;
    case RB_SIM_TRIAL_SAVED:
        saved(w, e);
        return;
    case RB_SIM_NODE_READY:
        event.kind = RB_EVENT_NODE_READY;
        event.node = e->index;
        break;
    case RB_SIM_NODE_LOST:
        if (!strike(w, e))
            return;
        w->now_us = e->time_us;
        leave_market(w, e->index);
        event.kind = RB_EVENT_NODE_LOST;
        event.node = e->index;
        break;
    case RB_SIM_TRIAL_ENDED:
        event.kind = RB_EVENT_TRIAL_ENDED;
        event.trial = e->index;
        event.outcome = w->trials[e->index].gives_way ? RB_OUTCOME_YIELDED : RB_OUTCOME_REACHED;
        break;
    case RB_SIM_WAKE:
        event.kind = RB_EVENT_TIME;
        break;
    case RB_SIM_SUGGESTED:
        suggest(w, e->index, e->time_us);
        return;
    case RB_SIM_FORECAST:
        forecast(w, e->time_us);
        return;
    case RB_SIM_STOP:
        event.kind = RB_EVENT_STOP;
        event.reason = RB_STOP_DEADLINE;
        break;
    }
    step(w, &event);
}

// ---- past events

// If the run's own draw would have come before now, others are tried; possibly none fits.
enum { REDRAWS = 32, REDRAW_APART = RB_SIM_ATTEMPTS / REDRAWS };

static int redrawn(int attempt, int i)
{
    return (attempt + i * REDRAW_APART) % RB_SIM_ATTEMPTS;
}

typedef int64_t draw_fn(const struct rb_scenario *s, int offer, int stage, int ordinal, int attempt,
                        uint32_t replicate);
typedef int64_t draw_beyond_fn(const struct rb_scenario *s, int offer, int stage, int ordinal, int attempt,
                               uint32_t replicate, int64_t least_us);

// For a node that has waited since then; INT64_MAX: never. If its law excludes such a long wait, the wait starts again
// now. beyond NULL: its law has no memory.
static int64_t still_to_come(const struct world *w, const struct rb_owned_node *n, draw_fn *draw,
                             draw_beyond_fn *beyond, int64_t since_us)
{
    const int64_t waited_us = w->now_us - since_us;
    int64_t wait_us = 0;
    for (int i = 0; i < REDRAWS; i++) {
        wait_us = draw(w->scenario, n->offer, n->stage, n->ordinal, redrawn(n->attempt, i), w->opt->replicate);
        if (wait_us == INT64_MAX)
            return INT64_MAX;
        if (wait_us >= waited_us)
            return since_us + wait_us;
    }
    const int64_t late_us = beyond ? beyond(w->scenario, n->offer, n->stage, n->ordinal, n->attempt, w->opt->replicate,
                                            waited_us)
                                   : -1;
    return late_us >= waited_us ? since_us + late_us : w->now_us + wait_us;
}

// On a market with memory a node keeps its age: strikes that the past has survived are passed over, one by one.
static void expect_loss(struct world *w, int node)
{
    const struct rb_owned_node *n = rb_engine_node(w->engine, node);
    if (!w->scenario->sim_offers[n->offer].provisioning->spells) {
        expect_node(w, node, RB_SIM_NODE_LOST, 0, still_to_come(w, n, rb_draw_preemption_us, NULL, n->running_us));
        return;
    }
    const int64_t life_us =
        rb_draw_preemption_us(w->scenario, n->offer, n->stage, n->ordinal, n->attempt, w->opt->replicate);
    int64_t at_us = life_us == INT64_MAX ? INT64_MAX : n->running_us + life_us;
    int strike = 0;
    while (at_us < w->now_us)
        at_us = next_strike_us(w, n, strike++, at_us);
    expect_node(w, node, RB_SIM_NODE_LOST, strike, at_us);
}

// Which stand-ins run, and which markets are down, is not in the history.
static void take_up_request(struct world *w, const struct rb_owned_node *n, int node)
{
    const struct rb_node_request r = request_of(w, node);
    if (n->state == RB_OWNED_REQUESTED)
        rb_markets_ask(w->markets, &r, w->now_us, is_paid, w);
    else
        rb_markets_hold(w->markets, node, n->offer);
}

static void take_up_node(struct world *w, int node)
{
    const struct rb_owned_node *n = rb_engine_node(w->engine, node);
    if (n->state == RB_OWNED_ENDED)
        return;
    if (w->markets)
        take_up_request(w, n, node);
    if (n->state == RB_OWNED_REQUESTED) {
        expect_node(w, node, RB_SIM_NODE_RUNNING, 0,
                    still_to_come(w, n, rb_draw_queue_us, rb_draw_queue_beyond_us, n->requested_us));
        return;
    }
    if (n->state == RB_OWNED_RUNNING)
        expect_node(w, node, RB_SIM_NODE_READY, 0,
                    still_to_come(w, n, rb_draw_init_us, rb_draw_init_beyond_us, n->running_us));
    expect_loss(w, node);
}

// Its draws except for the reported units: from its last event on, or from its start. attempt: that keys them. since_us: its
// last save, or its start.
static void draw_rest(struct world *w, int trial, int attempt, int64_t since_us)
{
    const struct rb_world_options *o = w->opt;
    struct running_trial *t = &w->trials[trial];
    begin_progress(w, trial, attempt);
    const double between =
        o->between ? o->between(o->known_ctx, o->replicate, trial, t->stage, t->attempt, attempt) : NAN;
    if (!isnan(between))
        t->progress.between = between * configuration_of(w, trial);
    if (t->reported_us < 0)
        return;
    for (int64_t u = t->resource_start; u < t->resource; u++)
        rb_trial_progress_next_us(&t->progress);
    const double since_s = (double)(t->started_us - since_us) / (double)RB_US_PER_S;
    t->progress.trained_s = fmin(0, (t->saved_us < 0 ? t->progress.startup_s : 0) - since_s);
    t->progress.startup_s = t->progress.units_drawn = 0;
    t->progress.n_units = 0;
}

// True: a save is under way, and its end is expected.
static bool is_saving(struct world *w, int trial, int64_t since_us)
{
    const struct running_trial *t = &w->trials[trial];
    if (t->reported_us < 0 || t->save_every_s <= 0)
        return false;
    draw_rest(w, trial, t->attempt, since_us);
    return expect_save(w, trial, w->now_us);
}

static void take_up_trial(struct world *w, int trial)
{
    struct running_trial *t = &w->trials[trial];
    struct rb_sim_event next = {0};
    if (rb_engine_trial(w->engine, trial)->state != RB_TRIAL_RUNNING)
        return;
    if (rb_engine_needs_configuration(w->engine, trial)) {
        push(w, &(struct rb_sim_event){.time_us = w->now_us, .order = RB_SIM_SUGGESTED, .index = trial});
        return;
    }
    if (t->gives_way) {
        expect_yield(w, trial);
        return;
    }
    const int64_t since_us = t->saved_us >= 0 ? t->saved_us : t->started_us;
    if (t->reported_us >= 0)
        t->started_us = t->saved_us > t->reported_us ? t->saved_us : t->reported_us;
    if (is_saving(w, trial, since_us))
        return;
    for (int i = 0; i <= REDRAWS; i++) {
        draw_rest(w, trial, redrawn(t->attempt, i < REDRAWS ? i : 0), since_us);
        if (i == REDRAWS) { // its law excludes such a long unit: another one, from now on
            t->progress.startup_s = 0;
            t->started_us = w->now_us;
        }
        next = next_of(w, trial);
        if (next.time_us >= w->now_us - 1) // reports are rounded to the microsecond
            break;
    }
    next.time_us = next.time_us > w->now_us ? next.time_us : w->now_us;
    push(w, &next);
}

static void relive_event(struct world *w, const struct rb_event *e)
{
    step(w, e);
    if (e->kind == RB_EVENT_RESUME)
        w->done = false;
    if ((e->kind != RB_EVENT_REPORT && e->kind != RB_EVENT_TRIAL_SAVED) || e->trial >= w->trials_cap || e->trial >= rb_engine_n_trials(w->engine) ||
        !rb_engine_attempt_is_current(w->engine, e->trial, e->attempt))
        return;
    struct running_trial *t = &w->trials[e->trial];
    if (e->kind == RB_EVENT_TRIAL_SAVED)
        t->saved_us = t->save_every_s > 0 ? e->time_us : -1; // else saves take no time here
    else if (e->resource > t->resource && e->resource <= t->resource_end) {
        t->resource = e->resource;
        t->reported_us = e->time_us;
    }
}

static void relive(struct world *w)
{
    w->reliving = true;
    for (int i = 0; i < w->opt->n_history && !w->failed; i++)
        relive_event(w, &w->opt->history[i]);
    w->reliving = false;
    if (w->done || w->failed)
        return;
    w->now_us = w->opt->now_us > w->now_us ? w->opt->now_us : w->now_us;
    for (int i = 0; i < rb_engine_n_nodes(w->engine); i++)
        take_up_node(w, i);
    for (int i = 0; i < rb_engine_n_trials(w->engine) && i < w->trials_cap; i++)
        take_up_trial(w, i);
}

// ---- limits

static void stop_for_budget(struct world *w, int64_t at_us)
{
    step(w, &(struct rb_event){.kind = RB_EVENT_STOP, .time_us = at_us, .reason = RB_STOP_BUDGET});
}

// Every check sums over all nodes, so it extends as far ahead as the last checks predict. Until another node runs or is
// requested, events only make nodes cheaper.
static void look_ahead(struct world *w, int64_t paid_us)
{
    const int64_t at_us = paid_us + w->look_ahead_us;
    const bool paid = rb_spending_is_paid(w->scenario, w->engine, w->opt->budget_uusd, at_us);
    w->paid_until_us = paid ? at_us : paid_us;
    if (paid && w->look_ahead_us < RB_SIM_HORIZON_US)
        w->look_ahead_us *= 2;
    else if (!paid && w->look_ahead_us > 1)
        w->look_ahead_us /= 2;
}

// Stops the run at the last instant that the budget pays for, if that is before the next event.
static bool budget_ends_before(struct world *w, int64_t next_us)
{
    int64_t at_us;
    if (w->opt->budget_uusd < 0 || next_us <= w->paid_until_us)
        return false;
    if (rb_spending_exceeds(w->scenario, w->engine, w->opt->budget_uusd, w->now_us, next_us, &at_us)) {
        stop_for_budget(w, at_us);
        return true;
    }
    look_ahead(w, next_us);
    return false;
}

// True: advice came before the next event, which may be another one now.
static bool is_advised(struct world *w, int64_t next_us)
{
    struct rb_event advice;
    if (!w->opt->reactor || !w->opt->reactor->decide(w->opt->reactor, next_us, &advice))
        return false;
    w->n_advised++;
    step(w, &advice);
    return true;
}

// ---- the run

static bool play(struct world *w)
{
    for (int i = 0; w->markets && i < w->scenario->n_offers; i++)
        expect_change(w, i, 0);
    if (w->opt->deadline_us >= 0)
        push(w, &(struct rb_sim_event){.time_us = w->opt->deadline_us, .order = RB_SIM_STOP});
    if (w->opt->n_history > 0)
        relive(w);
    else
        step(w, &(struct rb_event){.kind = RB_EVENT_START, .rules = RB_RULES_NOW});
    while (!w->done && !w->failed) {
        // A job that is not over waits for a node or runs a trial, and either is in the heap, unless its GPUs are lent.
        if (w->heap.n == 0)
            return fail(w, "it waits for GPUs that are never lent");
        if (is_advised(w, w->heap.items[0].time_us))
            continue;
        const struct rb_sim_event e = rb_event_heap_pop(&w->heap);
        if (!matters(w, &e) || e.time_us < w->now_us) // a history has the wake-ups of its past
            continue;
        if (e.time_us > RB_SIM_HORIZON_US)
            return fail(w, "it takes more than 100 years");
        if (!budget_ends_before(w, e.time_us))
            happen(w, &e);
    }
    return !w->failed;
}

static void count_trials(const struct world *w, struct rb_world_result *out)
{
    for (int i = 0; i < rb_engine_n_trials(w->engine); i++) {
        const struct rb_trial *t = rb_engine_trial(w->engine, i);
        out->n_trained += t->resource > t->cloned_at;
        out->n_full += t->resource >= w->scenario->job->scheduler.max_resource;
    }
}

static bool sum_up(struct world *w, struct rb_world_result *out)
{
    struct rb_world_result r = {.time_us = w->now_us,
                                .best_trial = rb_engine_best(w->engine),
                                .best_metric = NAN,
                                .n_events = w->n_events,
                                .n_units = w->n_units,
                                .n_advised = w->n_advised,
                                .n_nodes = rb_engine_n_nodes(w->engine),
                                .first_full_us = w->first_full_us};
    if (rb_markets_table_is_over(w->markets, w->now_us))
        return fail(w, "the market's table ends before it does: begin earlier (--market FILE@START)");
    count_trials(w, &r);
    r.outcome = rb_engine_outcome(w->engine, &r.stop_reason);
    if (r.outcome == RB_JOB_STOPPED && r.stop_reason == RB_STOP_CAPACITY)
        return fail(w, "more nodes are asked for than a run may request; its market takes them back too soon "
                       "(preemption_per_hour)");
    if (r.best_trial >= 0)
        r.best_metric = rb_engine_trial(w->engine, r.best_trial)->metric;
    r.cost_uusd = rb_spending_at(w->scenario, w->engine, w->now_us);
    if (r.cost_uusd < 0)
        return fail(w, "its cost is beyond every number");
    *out = r;
    return true;
}

bool rb_world_run(const struct rb_scenario *s, const struct rb_plan *plan, const struct rb_world_options *opt,
                  struct rb_world_result *out, struct rb_err *err)
{
    struct rb_program program;
    struct world w = {
        .scenario = s, .opt = opt, .paid_until_us = -1, .look_ahead_us = RB_US_PER_S, .first_full_us = -1, .err = err};
    if (!rb_program_compile(s, plan->stages, plan->n_stages, &program, err) || !rb_engine_create(plan, &w.engine, err))
        return false;
    w.markets = rb_markets_create(s, plan, opt->market, opt->replicate, opt->n_history > 0 ? opt->now_us : 0);
    const bool ok = play(&w) && sum_up(&w, out);
    rb_engine_destroy(w.engine);
    rb_markets_destroy(w.markets);
    rb_event_heap_finish(&w.heap);
    rb_actions_finish(&w.actions);
    free(w.trials);
    return ok;
}
