// The controller's turns: an event comes in and is journalled, the engine decides, its actions go out. Also the end of
// a run.
#include "executor/controller/controller_private.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int64_t rb_controller_now_us(const struct rb_controller *c)
{
    const struct rb_loop *loop = c->config.loop;
    const int64_t now = c->base_us + loop->now_us(loop->ctx) - c->base_monotonic_us;
    return now > c->last_event_us ? now : c->last_event_us;
}

const char *rb_controller_resume_name(const struct rb_controller *c)
{
    return c->config.resume_as ? c->config.resume_as : c->config.run_id;
}

bool rb_controller_running(const struct rb_controller *c)
{
    return rb_engine_outcome(c->engine, &(enum rb_stop_reason){0}) == RB_JOB_RUNNING;
}

static void call_finished(void *arg)
{
    struct rb_controller *c = arg;
    c->finish_timer = 0;
    enum rb_stop_reason reason = RB_STOP_USER;
    const enum rb_job_outcome outcome = rb_engine_outcome(c->engine, &reason);
    c->config.finished(c->config.ctx, outcome, reason, c->failure.code ? &c->failure : NULL);
}

static void disarm_all(struct rb_controller *c)
{
    uint64_t *const timers[] = {&c->wake_timer,      &c->spot_timer,   &c->poll_timer,   &c->deadline_timer, &c->last_stretch_timer,
                                &c->heartbeat_timer, &c->finish_timer, &c->rescue.timer, &c->reservation_timer};
    for (int i = 0; i < (int)(sizeof timers / sizeof *timers); i++)
        rb_controller_disarm(c, timers[i]);
    for (int i = 0; i < c->config.n_places; i++)
        rb_controller_disarm(c, &c->clouds[i].price_timer);
    rb_silence_end(&c->end);
}

static void finish(struct rb_controller *c)
{
    if (c->phase == RB_PHASE_OVER)
        return;
    RB_ENTER(rb_phases, c->phase, RB_PHASE_OVER);
    disarm_all(c);
    rb_controller_arm(c, &c->finish_timer, 0, call_finished, c); // the caller may destroy us in there
}

void rb_controller_leave_run(struct rb_controller *c, const struct rb_err *err)
{
    c->dead = true;
    c->failure = *err;
    finish(c);
}

bool rb_controller_wrote(struct rb_controller *c, bool ok, const struct rb_err *err)
{
    if (ok || c->dead)
        return ok;
    c->dead = true;
    c->failure = *err;
    if (rb_journal_plays_dead(c->journal))
        finish(c);
    else
        rb_controller_rescue(c);
    return false;
}

bool rb_controller_lost_journal(const struct rb_controller *c)
{
    return c->dead;
}

// Into the open transaction. The journal may have failed before.
static void write_notice(struct rb_controller *c, enum rb_notice_kind what, const char *detail)
{
    struct rb_err err;
    if (c->config.notice && !c->dead)
        rb_controller_wrote(c, c->config.notice(c->config.ctx, what, detail, &err), &err);
}

static void record_leak_check(struct rb_controller *c, int left)
{
    struct rb_err err;
    // By an earlier process: nothing has happened since.
    const bool was_finished = c->meta.leak_checked_at_us >= 0 && c->last_event_us <= c->meta.leak_checked_at_us;
    if (!rb_controller_begin(c) ||
        !rb_controller_wrote(c, rb_journal_leak_check(c->journal, rb_controller_now_us(c), left, &err), &err))
        return;
    if (left < 0 && !c->failure.code)
        rb_err_set(&c->failure, RB_E_INSTANCES_LEFT,
                   "the last listing never became complete, so instances may be left; look with "
                   "`rbrun gc --dry-run`");
    if (left < 0)
        write_notice(c, RB_NOTICE_INSTANCES_LEFT, "the last listing never became complete");
    if (!was_finished)
        write_notice(c, RB_NOTICE_FINISHED, c->failure.code ? c->failure.message : NULL);
    if (rb_controller_commit(c))
        finish(c);
}

static void begin_closing(struct rb_controller *c)
{
    RB_ENTER(rb_phases, c->phase, RB_PHASE_CLOSING);
    c->believe_after = c->n_listings; // a listing requested before the last node ended proves nothing
    for (int i = 0; i < c->config.n_places; i++)
        c->clouds[i].listed = c->clouds[i].listing = false;
    rb_controller_list_all(c);
}

// Reports each launch that delays the end once.
static void note_lingering(struct rb_controller *c)
{
    const int64_t left_us = c->linger_until_us - rb_controller_now_us(c);
    if (c->lingering_until_us == c->linger_until_us)
        return;
    c->lingering_until_us = c->linger_until_us;
    rb_controller_note(c, "warning",
                       "all is done, but the run waits %.0f s before it ends: a copy of a refused launch may still "
                       "arrive, which it would have to end",
                       ceil((double)left_us / 1e6));
}

bool rb_controller_is_all_over(const struct rb_controller *c)
{
    return rb_controller_nodes_are_over(c) && c->n_tasks == 0 && rb_controller_orphans_are_over(c);
}

static int count_launches(const struct rb_controller *c, enum rb_launch_state from, enum rb_launch_state to)
{
    int n = 0;
    for (int i = 0; i < rb_controller_n_launches(c); i++) {
        const struct rb_run_node *node = rb_controller_launch_at(c, i);
        n += rb_run_node_has_row(node) && node->row.state >= from && node->row.state <= to;
    }
    return n;
}

// In the order of the steps. The last listing is always awaited.
static void write_waits(const struct rb_controller *c, struct rb_buf *out)
{
    const int undecided = count_launches(c, RB_LAUNCH_SENT, RB_LAUNCH_AMBIGUOUS);
    const int alive = count_launches(c, RB_LAUNCH_ACKED, RB_LAUNCH_TERMINATING);
    if (c->n_tasks > 0)
        rb_buf_printf(out, "%d trial%s to stop, ", c->n_tasks, c->n_tasks == 1 ? "" : "s");
    if (undecided > 0)
        rb_buf_printf(out, "the outcome of %d launch%s, ", undecided, undecided == 1 ? "" : "es");
    if (alive > 0)
        rb_buf_printf(out, "%d instance%s to end, ", alive, alive == 1 ? "" : "s");
    rb_buf_puts(out, "a listing that shows no instance");
}

bool rb_controller_waits(const struct rb_controller *c, struct rb_buf *out_what, int64_t *out_at_most_us)
{
    if (c->phase == RB_PHASE_OVER || c->dead || !rb_silence_counts(&c->end))
        return false;
    write_waits(c, out_what);
    *out_at_most_us = c->end.patience_us - rb_quiet_us(c->config.loop, c->end.since_us);
    return true;
}

// The clouds have not confirmed in time that nothing is left. The journal knows what is open: `rbrun stop` continues
// from it.
static void end_is_late(void *arg)
{
    struct rb_controller *c = arg;
    RB_AUTO(rb_buf_finish) struct rb_buf waits = RB_BUF_INIT;
    struct rb_err err = {0};
    write_waits(c, &waits);
    rb_err_set(&err, RB_E_INSTANCES_LEFT,
               "the run is over, and after %d minutes this is still missing: %s; instances may be left and billed: "
               "look with `rbrun gc --dry-run`, end them with `rbrun stop %s`",
               RB_CONTROLLER_END_S / 60, rb_buf_str(&waits), rb_controller_resume_name(c));
    rb_controller_tell(c, RB_NOTICE_INSTANCES_LEFT, NULL, "%s", err.message);
    rb_controller_leave_run(c, &err);
}

static void bound_end(struct rb_controller *c)
{
    const bool ends = !rb_controller_running(c);
    if (!ends) // it was resumed
        rb_silence_end(&c->end);
    else if (!rb_silence_counts(&c->end))
        rb_silence_begin(&c->end, c->config.loop, RB_CONTROLLER_END_S * RB_US_PER_S, end_is_late, c);
}

void rb_controller_check_over(struct rb_controller *c)
{
    if (c->phase == RB_PHASE_OVER || c->dead || c->in_transaction)
        return;
    bound_end(c);
    if (c->phase == RB_PHASE_RECOVERING || rb_controller_running(c))
        return;
    if (!rb_controller_is_all_over(c)) {
        RB_ENTER(rb_phases, c->phase, RB_PHASE_RUNNING);
        return;
    }
    if (!rb_controller_prices_are_known(c))
        return; // the answer comes back to this
    if (c->phase != RB_PHASE_CLOSING) {
        if (rb_controller_now_us(c) >= c->linger_until_us)
            begin_closing(c);
        else
            note_lingering(c); // the next listing comes back to this
        return;
    }
    int left = 0;
    bool complete = true;
    for (int i = 0; i < c->config.n_places; i++) {
        left += c->clouds[i].left;
        complete = complete && c->clouds[i].listed;
    }
    if (complete && left == 0)
        record_leak_check(c, 0);
    else if (!complete && c->leak_tries >= RB_CONTROLLER_LEAK_TRIES)
        record_leak_check(c, -1);
}

bool rb_controller_says_first(unsigned *said, unsigned what)
{
    const bool first = (*said & what) == 0;
    *said |= what;
    return first;
}

void rb_controller_note(struct rb_controller *c, const char *kind, const char *fmt, ...)
{
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (c->config.talk && !c->dead)
        c->config.talk(c->config.ctx, kind, text);
    struct rb_err err;
    if (!c->dead)
        rb_controller_wrote(c, rb_journal_note(c->journal, rb_controller_now_us(c), kind, text, &err), &err);
}

void rb_controller_tell(struct rb_controller *c, enum rb_notice_kind what, const char *kind, const char *fmt, ...)
{
    char text[1024];
    const bool alone = !c->in_transaction;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (!kind && !c->config.notice)
        return;
    if (alone && !rb_controller_begin(c))
        return;
    if (kind)
        rb_controller_note(c, kind, "%s", text);
    write_notice(c, what, text);
    if (alone)
        rb_controller_commit(c);
}

bool rb_controller_begin(struct rb_controller *c)
{
    struct rb_err err;
    if (c->dead)
        return false;
    assert(!c->in_transaction);
    if (!rb_controller_wrote(c, rb_journal_begin(c->journal, &err), &err))
        return false;
    c->in_transaction = true;
    return true;
}

bool rb_controller_commit(struct rb_controller *c)
{
    struct rb_err err;
    c->in_transaction = false;
    return !c->dead && rb_controller_wrote(c, rb_journal_commit(c->journal, &err), &err);
}

static void record_order(struct rb_controller *c, const struct rb_action *a)
{
    struct rb_run_task *t;
    switch (a->kind) {
    case RB_ACTION_TERMINATE:
        rb_run_node_record_end(c, rb_run_node_at(c, a->node));
        break;
    case RB_ACTION_START_TRIAL:
        rb_run_task_record_start(c, a);
        break;
    case RB_ACTION_KILL_TRIAL:
        t = rb_run_task_find_live(c, a->trial);
        if (t)
            rb_run_task_record_kill(c, t);
        break;
    case RB_ACTION_YIELD_TRIAL: // the event that led to it is its record
        rb_run_trial_at(c, a->trial)->asked = true;
        break;
    default: // PROVISION: rb_controller_record_launches
        break;
    }
}

// Orders that are states of rows (kill, terminate) are carried out from the present state of the rows.
void rb_controller_carry_out(struct rb_controller *c, const struct rb_action *a)
{
    struct rb_run_node *n;
    struct rb_run_task *t;
    switch (a->kind) {
    case RB_ACTION_PROVISION:
        n = rb_run_node_at(c, a->node);
        if (c->phase != RB_PHASE_RECOVERING && rb_run_node_has_row(n) && n->row.state == RB_LAUNCH_INTENT)
            rb_run_gang_send(n->gang);
        break;
    case RB_ACTION_TERMINATE:
        n = rb_run_node_at(c, a->node);
        if (rb_run_node_has_row(n) && n->row.state == RB_LAUNCH_TERMINATING)
            rb_run_node_terminate(n);
        break;
    case RB_ACTION_KILL_TRIAL:
        for (int i = c->n_tasks - 1; i >= 0; i--)
            if (c->tasks[i]->row.trial == a->trial && c->tasks[i]->row.state == RB_TASK_KILLING)
                rb_run_task_kill(c->tasks[i]);
        break;
    case RB_ACTION_WAKE:
        rb_controller_add_wake(c, a->at_us);
        rb_controller_arm_wake(c);
        break;
    case RB_ACTION_YIELD_TRIAL:
        t = rb_run_task_find_live(c, a->trial);
        if (t)
            rb_run_task_yield(t);
        break;
    case RB_ACTION_ADVISE:
        c->advice_wanted = c->config.advise != NULL;
        break;
    default: // START_TRIAL: rb_controller_start_tasks
        break;
    }
}

static void stop_if_wanted(struct rb_controller *c)
{
    if (!c->stop_wanted || c->in_transaction || c->dead)
        return;
    c->stop_wanted = false;
    if (rb_controller_running(c))
        rb_controller_turn(c, (struct rb_event){.kind = RB_EVENT_STOP, .reason = c->stop_reason});
}

// A trial that needs a configuration and was not asked for yet, -1: none.
static int next_unasked(struct rb_controller *c)
{
    int n;
    const int *running = rb_engine_running(c->engine, &n);
    for (int i = 0; i < n; i++)
        if (rb_engine_needs_configuration(c->engine, running[i]) &&
            !rb_run_trial_at(c, running[i])->asked_configuration)
            return running[i];
    return -1;
}

static void ask_for(struct rb_controller *c, int trial)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena;
    struct rb_event event = {0};
    rb_arena_init(&arena);
    rb_run_trial_at(c, trial)->asked_configuration = true;
    if (c->config.suggester->suggest(c->config.suggester->ctx, c->engine, trial,
                                     rb_engine_trial(c->engine, trial)->resource_end, &arena, &event))
        rb_controller_suggested(c, &event);
}

// The engine's state says who needs one, so a controller that takes over asks again for what was never answered.
void rb_controller_give_suggestions(struct rb_controller *c)
{
    if (!c->config.suggester || c->suggesting || c->in_transaction)
        return;
    c->suggesting = true;
    for (int trial; !c->dead && rb_controller_running(c) && (trial = next_unasked(c)) >= 0;)
        ask_for(c, trial);
    c->suggesting = false;
}

void rb_controller_suggested(struct rb_controller *c, const struct rb_event *event)
{
    if (c->dead || !rb_controller_running(c))
        return;
    struct rb_event e = *event;
    e.kind = RB_EVENT_SUGGESTED;
    rb_controller_turn(c, e);
}

void rb_controller_advise(struct rb_controller *c, const struct rb_event *event, const struct rb_note *note)
{
    if (c->dead || !rb_controller_running(c) || !rb_controller_begin(c))
        return;
    if (event->because)
        rb_controller_note(c, "replan", "%s", event->because);
    if (note)
        rb_controller_note(c, note->kind, "%s", note->text);
    rb_controller_turn(c, *event);
}

static bool awaits_a_launch(const struct rb_controller *c)
{
    bool awaits = false;
    for (int i = 0; i < c->n_nodes && !awaits; i++)
        awaits = rb_run_node_has_row(c->nodes[i]) && rb_run_node_is_undecided(c->nodes[i]);
    return awaits;
}

static bool check_limits(const struct rb_controller *c, int64_t deadline_us, int64_t budget_uusd, struct rb_err *err)
{
    int64_t spent_uusd, reserved_uusd;
    char limit[32], now[32];
    rb_controller_spend(c, &spent_uusd, &reserved_uusd);
    if (c->dead || !rb_controller_running(c) || c->phase == RB_PHASE_RECOVERING)
        return rb_err_set(err, RB_E_LIMITS_FIXED, "the run is ending or not under way yet; ask again, or go on with rbrun resume");
    if (deadline_us >= 0 && deadline_us <= rb_controller_now_us(c))
        return rb_err_set(err, RB_E_LIMITS_PASSED, "a deadline of %s has passed: the run has taken %s; to end it: rbrun stop",
                          rb_format_duration(deadline_us, limit), rb_format_duration(rb_controller_now_us(c), now));
    if (budget_uusd >= 0 && budget_uusd < spent_uusd + reserved_uusd)
        return rb_err_set(err, RB_E_LIMITS_PASSED,
                          "a budget of %s is spent: the run has cost or must still pay %s; to end it: rbrun stop",
                          rb_format_money(budget_uusd, limit), rb_format_money(spent_uusd + reserved_uusd, now));
    return true;
}

static void write_limits(int64_t deadline_us, int64_t budget_uusd, struct rb_buf *out)
{
    char deadline[32], budget[32];
    rb_buf_printf(out, "deadline %s, budget %s", deadline_us < 0 ? "none" : rb_format_duration(deadline_us, deadline),
                  budget_uusd < 0 ? "none" : rb_format_money(budget_uusd, budget));
}

bool rb_controller_set_limits(struct rb_controller *c, int64_t deadline_us, int64_t budget_uusd, bool *out_wait,
                              struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf words = RB_BUF_INIT;
    *out_wait = false;
    if (!check_limits(c, deadline_us, budget_uusd, err))
        return false;
    *out_wait = awaits_a_launch(c);
    if (*out_wait)
        return false;
    rb_buf_puts(&words, "the limits were changed by hand: ");
    write_limits(deadline_us, budget_uusd, &words);
    rb_buf_puts(&words, "; before: ");
    write_limits(c->meta.deadline_us, c->meta.budget_uusd, &words);
    if (!rb_controller_begin(c))
        return rb_err_set(err, RB_E_LIMITS_FIXED, "the journal takes no more writes: the run ends");
    if (!rb_controller_wrote(c, rb_journal_set_limits(c->journal, deadline_us, budget_uusd, err), err))
        return false;
    c->meta.deadline_us = deadline_us;
    c->meta.budget_uusd = budget_uusd;
    rb_controller_note(c, "warning", "%s", rb_buf_str(&words));
    if (!rb_controller_commit(c))
        return rb_err_set(err, RB_E_LIMITS_FIXED, "the journal takes no more writes: the run ends");
    rb_controller_disarm(c, &c->deadline_timer);
    rb_controller_arm_deadline(c);
    return true;
}

// The answer is an event like any other, so a replay needs no forecaster.
void rb_controller_give_advice(struct rb_controller *c)
{
    if (!c->advice_wanted || c->in_transaction || c->dead)
        return;
    c->advice_wanted = false;
    RB_AUTO(rb_arena_finish) struct rb_arena arena;
    struct rb_advice advice;
    rb_arena_init(&arena);
    if (rb_controller_running(c) && c->config.advise(c->config.advise_ctx, c->engine, &arena, &advice))
        rb_controller_turn(c, (struct rb_event){.kind = RB_EVENT_FORECAST, .advice = &advice});
}

void rb_controller_fail_run(struct rb_controller *c, const struct rb_err *err)
{
    if (c->failure.code == RB_ERR_NONE)
        c->failure = *err;
    c->stop_wanted = true;
    c->stop_reason = err->code == RB_ERR_CAPACITY ? RB_STOP_CAPACITY : RB_STOP_FAILURE;
    rb_controller_note(c, "fault", "%s", err->message);
    stop_if_wanted(c);
}

static void tell_event(struct rb_controller *c, enum rb_event_kind kind)
{
    if (kind == RB_EVENT_START)
        write_notice(c, RB_NOTICE_STARTED, NULL);
    else if (kind == RB_EVENT_RESUME)
        write_notice(c, RB_NOTICE_RESUMED, NULL);
    else if (kind == RB_EVENT_NODE_LOST)
        write_notice(c, RB_NOTICE_NODE_LOST, NULL);
}

// Journals the events and steps the engine; false: the journal failed.
static bool step(struct rb_controller *c, struct rb_event *events, int n, struct rb_actions *out)
{
    struct rb_err err;
    for (int k = 0; k < n; k++) {
        events[k].time_us = rb_controller_now_us(c);
        if (!rb_controller_wrote(c, rb_journal_event(c->journal, &events[k], &err), &err))
            return false;
        c->last_event_us = events[k].time_us;
        rb_engine_step(c->engine, &events[k], &out[k]);
        tell_event(c, events[k].kind);
        if (c->config.suggester)
            c->config.suggester->saw(c->config.suggester->ctx, c->engine, &events[k], &out[k]);
        if (c->config.chooser)
            c->config.chooser->saw(c->config.chooser->ctx, &events[k]);
    }
    return true;
}

static void record_orders(struct rb_controller *c, const struct rb_actions *actions, int n)
{
    struct rb_action *launches = NULL;
    int n_launches = 0;
    for (int k = 0; k < n; k++) {
        launches = rb_xrealloc(launches, (size_t)(n_launches + actions[k].n) + 1, sizeof *launches);
        for (int i = 0; i < actions[k].n; i++) {
            record_order(c, &actions[k].items[i]);
            if (actions[k].items[i].kind == RB_ACTION_PROVISION)
                launches[n_launches++] = actions[k].items[i];
        }
    }
    rb_controller_record_launches(c, launches, n_launches);
    free(launches);
}

static void turn(struct rb_controller *c, struct rb_event *events, int n, struct rb_actions *actions)
{
    if (!step(c, events, n, actions))
        return;
    record_orders(c, actions, n);
    if (!rb_controller_commit(c))
        return;
    for (int k = 0; k < n && c->config.observe; k++)
        c->config.observe(c->config.ctx, &events[k], &actions[k]);
    for (int k = 0; k < n; k++)
        for (int i = 0; i < actions[k].n && !c->dead; i++)
            rb_controller_carry_out(c, &actions[k].items[i]);
    rb_controller_start_tasks(c);
    rb_controller_give_suggestions(c);
    rb_controller_give_advice(c);
    stop_if_wanted(c);
    rb_controller_check_over(c);
}

void rb_controller_turns(struct rb_controller *c, struct rb_event *events, int n)
{
    if (c->dead || (!c->in_transaction && !rb_controller_begin(c)))
        return;
    struct rb_actions *actions =
        rb_xcalloc((size_t)n, sizeof *actions); // our own copy: carrying them out may cause other turns
    turn(c, events, n, actions);
    for (int k = 0; k < n; k++)
        rb_actions_finish(&actions[k]);
    free(actions);
}

void rb_controller_turn(struct rb_controller *c, struct rb_event event)
{
    rb_controller_turns(c, &event, 1);
}

void rb_controller_lend(struct rb_controller *c, int node, uint64_t gpus)
{
    if (rb_controller_running(c))
        rb_controller_turn(c, (struct rb_event){.kind = RB_EVENT_LENT, .node = node, .gpus = gpus});
}

void rb_controller_give_up_node(struct rb_controller *c, int node)
{
    rb_run_node_unreachable(c, node, "a run that borrowed it lost it");
}

static struct rb_launcher_events launcher_events(struct rb_controller *c)
{
    return (struct rb_launcher_events){
        .ctx = c,
        .prepared = rb_run_node_prepared,
        .fetching = rb_run_node_fetching,
        .fetched = rb_run_node_fetched,
        .pulled = rb_run_node_pulled,
        .line = rb_run_task_line,
        .file = rb_run_task_file,
        .again = rb_run_task_again,
        .echoed = rb_run_task_echoed,
        .exited = rb_run_task_exited,
        .saved = rb_run_task_saved,
        .kept = rb_run_task_kept,
        .rested = rb_run_task_rested,
        .leaving = rb_run_node_leaving,
        .linked = rb_run_task_linked,
        .held_up = rb_run_task_held_up,
        .killed = rb_run_task_killed,
        .no_room = rb_run_node_no_room,
        .unreachable = rb_run_node_unreachable,
        .waiting = rb_run_node_waiting,
        .switched = rb_run_node_switched,
    };
}

bool rb_controller_create(const struct rb_controller_config *config, struct rb_controller **out, struct rb_err *err)
{
    struct rb_controller *c = rb_xcalloc(1, sizeof *c);
    c->config = *config;
    c->journal = config->journal;
    c->last_event_us = c->held_up_us = -1;
    c->clouds = rb_xcalloc((size_t)config->n_places + 1, sizeof *c->clouds);
    c->offers = rb_xcalloc((size_t)config->plan->n_offers, sizeof *c->offers);
    for (int i = 0; i < config->plan->n_offers; i++)
        c->offers[i] = (struct rb_run_offer){.sold_out_us = -1, .lost_us = -1};
    rb_arena_init(&c->arena);
    if (!rb_journal_meta(c->journal, &c->arena, &c->meta, err) || !rb_engine_create(config->plan, &c->engine, err) ||
        !rb_controller_replay(c, err)) {
        rb_controller_destroy(c);
        return false;
    }
    // The wall clock is read once. From here on only the monotonic one counts, so event times never decrease.
    const int64_t since = config->loop->unix_us(config->loop->ctx) - c->meta.started_unix_us;
    c->base_us = since > c->last_event_us ? since : c->last_event_us;
    c->base_us = c->base_us > 0 ? c->base_us : 0;
    c->base_monotonic_us = config->loop->now_us(config->loop->ctx);
    c->back_us = rb_controller_last_gap(c, &(int64_t){0});
    const struct rb_launcher_events events = launcher_events(c);
    c->launcher = config->launcher(config->launcher_ctx, &events);
    *out = c;
    return true;
}

// A run that was stopped goes on with an event of its own; one whose process died, without.
static void take_over(struct rb_controller *c)
{
    RB_ENTER(rb_phases, c->phase, RB_PHASE_RECOVERING);
    if (c->config.go_on && rb_controller_running(c))
        rb_controller_tell(c, RB_NOTICE_RESUMED, NULL, "%s", "its process had ended before the run did");
}

void rb_controller_start(struct rb_controller *c)
{
    if (rb_controller_running(c))
        rb_controller_arm_deadline(c);
    rb_controller_beat(c);
    for (int i = 0; i < c->config.n_places; i++) {
        c->clouds[i] = (struct rb_run_cloud){.c = c, .heard_us = rb_attended_us(c->config.loop)};
        rb_run_cloud_begin_leases(&c->clouds[i]);
        struct rb_provider *p = c->config.places[i].provider;
        if (p->ops->watch)
            p->ops->watch(p, c->config.run_id, rb_run_cloud_wake, &c->clouds[i]);
    }
    if (c->last_event_us >= 0)
        take_over(c);
    else
        rb_controller_turn(c, (struct rb_event){.kind = RB_EVENT_START, .rules = RB_RULES_NOW});
    rb_controller_review_spot(c);
    rb_controller_review_reservations(c);
    rb_controller_poll(c);
}

void rb_controller_stop(struct rb_controller *c, enum rb_stop_reason reason)
{
    c->config.go_on = false; // a stop during the recovery
    c->stop_wanted = true;
    c->stop_reason = reason;
    stop_if_wanted(c);
}

void rb_controller_destroy(struct rb_controller *c)
{
    if (!c)
        return;
    disarm_all(c);
    for (int i = 0; i < c->config.n_places; i++)
        rb_lease_keeper_destroy(c->clouds[i].leases);
    if (c->launcher)
        c->launcher->ops->destroy(c->launcher);
    rb_controller_free_tasks(c);
    rb_controller_free_calls(c);
    rb_controller_free_nodes(c);
    rb_controller_free_gangs(c);
    rb_controller_free_markets(c);
    free(c->trials);
    free(c->orphans);
    free(c->offers);
    free(c->clouds);
    free(c->wakes);
    rb_engine_destroy(c->engine);
    rb_arena_finish(&c->arena);
    free(c);
}

const struct rb_engine *rb_controller_engine(const struct rb_controller *c)
{
    return c->engine;
}

int rb_controller_each_open_launch(const struct rb_controller *c,
                                   void (*fn)(void *ctx, const struct rb_launch_row *row), void *ctx)
{
    int n = 0;
    for (int i = 0; i < rb_controller_n_launches(c); i++) {
        const struct rb_run_node *launch = rb_controller_launch_at(c, i);
        const struct rb_launch_row *row = &launch->row;
        if (!rb_run_node_has_row(launch) || rb_run_node_has_ended(launch))
            continue;
        fn(ctx, row);
        n++;
    }
    return n;
}
