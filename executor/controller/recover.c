// Recovery: the engine's state comes from the events, the outcome of its orders from the rows, the rest from the cloud.
#include "executor/controller/controller_private.h"

#include <stdlib.h>
#include <string.h>

static bool replay_event(void *ctx, const struct rb_event *e, struct rb_err *err)
{
    struct rb_controller *c = ctx;
    (void)err;
    c->last_event_us = e->time_us;
    if (e->kind == RB_EVENT_FORECAST)
        c->advice_wanted = false;
    if (e->kind == RB_EVENT_REPORT)
        rb_run_trial_at(c, e->trial)->last_resource = e->resource;
    struct rb_actions actions = {0};
    rb_engine_step(c->engine, e, &actions);
    if (c->config.suggester)
        c->config.suggester->saw(c->config.suggester->ctx, c->engine, e, &actions);
    if (c->config.chooser)
        c->config.chooser->saw(c->config.chooser->ctx, e);
    for (int i = 0; i < actions.n; i++) {
        const struct rb_action *a = &actions.items[i];
        if (a->kind == RB_ACTION_PROVISION)
            rb_run_node_at(c, a->node);
        else if (a->kind == RB_ACTION_START_TRIAL)
            rb_run_trial_begin_start(c, a->trial);
        else if (a->kind == RB_ACTION_YIELD_TRIAL)
            rb_run_trial_at(c, a->trial)->asked = true;
        else if (a->kind == RB_ACTION_ADVISE)
            c->advice_wanted = c->config.advise != NULL;
        else if (a->kind == RB_ACTION_WAKE)
            rb_controller_add_wake(c, a->at_us);
    }
    rb_actions_finish(&actions);
    return true;
}

// The row becomes its node's launch; an earlier one was refused.
static bool load_launch(struct rb_controller *c, const struct rb_launch_row *row, struct rb_err *err)
{
    struct rb_run_node *n = rb_run_node_at(c, row->node);
    if (rb_run_node_has_row(n))
        rb_run_node_supersede(n);
    n->row = *row;
    n->role = RB_NODE_CURRENT;
    rb_run_node_follow_journalled_prices(n);
    if (n->row.state == RB_LAUNCH_REFUSED && n->row.terminate_us < 0) // by the cloud, soon after the request
        rb_controller_mark_sold_out(c, n->row.offer, n->row.intent_us);
    const bool accepted = n->row.state == RB_LAUNCH_TERMINATING && n->row.terminated_unix_us >= 0;
    n->end = accepted ? RB_END_ACCEPTED : RB_END_UNCONFIRMED;
    return rb_spend_billing(c->config.plan, n->row.offer, &n->billing, err);
}

// Rows come by (node, attempt): the last one of a node is its current launch.
static bool load_launches(struct rb_controller *c, struct rb_err *err)
{
    struct rb_launch_row *rows;
    int n_rows;
    if (!rb_journal_launches(c->journal, &c->arena, &rows, &n_rows, err))
        return false;
    for (int i = 0; i < n_rows; i++) {
        if (rows[i].node < 0 || rows[i].node >= c->n_nodes || rows[i].offer < 0 ||
            rows[i].offer >= c->config.plan->n_offers || rb_controller_infra_of(c, rows[i].infra) < 0)
            return rb_journal_misfit(c->journal, err, "it names node %d on %s, which its events and plan do not",
                                     rows[i].node, rows[i].infra);
        if (!load_launch(c, &rows[i], err))
            return false;
    }
    for (int i = 0; i < c->n_nodes; i++) // the engine requested it again after a refusal, and no intent was written:
        if (rb_run_node_has_row(c->nodes[i]) && rb_run_node_is_wanted(c->nodes[i]) &&
            rb_engine_node(c->engine, i)->attempt > c->nodes[i]->row.attempt)
            rb_run_node_supersede(c->nodes[i]); // the budget forbade it, and may allow it now
    for (int i = 0; i < c->n_nodes; i++)
        if (rb_run_node_is_wanted(c->nodes[i]))
            c->nodes[i]->retries = rb_run_node_pauses_before(c->nodes[i]);
    return rb_controller_link_gangs(c, err);
}

static bool load_tasks(struct rb_controller *c, struct rb_err *err)
{
    struct rb_task_row *rows;
    int n_rows;
    if (!rb_journal_tasks(c->journal, &c->arena, &rows, &n_rows, err))
        return false;
    for (int i = 0; i < n_rows; i++) {
        const struct rb_task_row *row = &rows[i];
        if (row->trial < 0 || row->trial >= rb_engine_n_trials(c->engine))
            return rb_journal_misfit(c->journal, err, "it names trial %d, which its events and plan do not",
                                     row->trial);
        for (int k = 0; k < row->n_slots; k++)
            if (row->slots[k].node < 0 || row->slots[k].node >= c->n_nodes)
                return rb_journal_misfit(c->journal, err, "it puts trial %d on node %d, which does not exist",
                                         row->trial, row->slots[k].node);
        struct rb_run_trial *trial = rb_run_trial_at(c, row->trial);
        trial->n_starts = row->start + 1;
        if (row->checkpoint[0])
            memcpy(trial->checkpoint, row->checkpoint, sizeof trial->checkpoint);
        if (row->state == RB_TASK_INTENT || row->state == RB_TASK_EXITED || row->state == RB_TASK_KILLING)
            rb_run_task_open(c, row)->last_resource = trial->last_resource;
    }
    return true;
}

static bool load_notes(struct rb_controller *c, struct rb_err *err)
{
    struct rb_note *notes;
    int n_notes;
    if (!rb_journal_notes(c->journal, &c->arena, &notes, &n_notes, err))
        return false;
    for (int i = 0; i < n_notes; i++)
        c->said |= strcmp(notes[i].kind, "paced") == 0 ? RB_SAID_PACED : 0;
    return true;
}

bool rb_controller_replay(struct rb_controller *c, struct rb_err *err)
{
    return rb_journal_each_event(c->journal, replay_event, c, err) && load_launches(c, err) && load_tasks(c, err) &&
           load_notes(c, err);
}

// The engine requested these nodes, but the intents were never written: the budget did not allow it.
static void launch_again(struct rb_controller *c)
{
    struct rb_action *orders = rb_xcalloc((size_t)c->n_nodes + 1, sizeof *orders);
    int n = 0;
    for (int i = 0; i < c->n_nodes; i++) {
        if (rb_run_node_has_row(c->nodes[i]) || !rb_run_node_is_wanted(c->nodes[i]))
            continue;
        const struct rb_owned_node *o = rb_engine_node(c->engine, i);
        orders[n++] = (struct rb_action){.kind = RB_ACTION_PROVISION,
                                         .node = i,
                                         .attempt = o->attempt,
                                         .offer = o->offer,
                                         .stage = o->stage,
                                         .ordinal = o->ordinal};
    }
    if (n > 0 && rb_controller_begin(c)) {
        rb_controller_record_launches(c, orders, n);
        rb_controller_commit(c);
    }
    for (int i = 0; i < n && !c->dead; i++)
        rb_controller_carry_out(c, &orders[i]);
    free(orders);
}

// The first member that is still wanted acts for a refused gang.
static bool acts_for_gang(const struct rb_run_node *n)
{
    for (int i = 0; i < n->member; i++)
        if (rb_run_node_is_wanted(n->gang->members[i]))
            return false;
    return true;
}

// No listing of this process shows the node of the controller before it, but this machine runs.
static void observe_this_machine(struct rb_run_node *n)
{
    rb_run_node_observe(n, &(struct rb_instance){.id = n->row.instance_id,
                                                 .state = RB_INSTANCE_RUNNING,
                                                 .address = n->row.address,
                                                 .private_address = n->row.private_address,
                                                 .running_at_us = -1,
                                                 .terminated_at_us = -1});
}

static void repeat_node(struct rb_run_node *n)
{
    struct rb_controller *c = n->c;
    const bool wanted = rb_run_node_is_wanted(n);
    if (!rb_run_node_has_row(n))
        return;
    if (!wanted && !rb_run_node_record_end(c, n)) // an order to end it, from before its instance was known
        return;
    switch (n->row.state) {
    case RB_LAUNCH_INTENT:
    case RB_LAUNCH_SENT:
    case RB_LAUNCH_AMBIGUOUS:
        if (n->row.state != RB_LAUNCH_INTENT)
            n->gang->unanswered_us = rb_controller_now_us(c); // the request of the controller before us
        rb_run_gang_send(n->gang);
        break;
    case RB_LAUNCH_REFUSED:
        if (wanted && acts_for_gang(n))
            rb_run_gang_refused(n->gang);
        break;
    case RB_LAUNCH_ACKED:
        rb_run_node_await_ready(n);
        if (rb_run_node_is_local(n))
            observe_this_machine(n);
        break;
    case RB_LAUNCH_RUNNING:
    case RB_LAUNCH_READY:
        rb_run_node_await_ready(n);
        rb_run_node_prepare(n);
        break;
    case RB_LAUNCH_TERMINATING:
        rb_run_node_terminate(n);
        break;
    case RB_LAUNCH_GONE:
        break;
    }
}

// Tasks whose nodes ended while no controller ran have ended with them.
static void close_lost_tasks(struct rb_controller *c)
{
    for (int i = 0; i < c->n_nodes; i++)
        if (rb_run_node_has_ended(c->nodes[i]))
            rb_run_node_close_tasks(c, i);
}

// Resumes only if there is time and money left.
static void resume_stopped_run(struct rb_controller *c)
{
    if (rb_engine_outcome(c->engine, &(enum rb_stop_reason){0}) != RB_JOB_STOPPED)
        return;
    if (c->meta.deadline_us >= 0 && c->meta.deadline_us <= rb_controller_now_us(c)) {
        rb_controller_note(c, "warning", "the deadline has passed: the run is not resumed; pass --deadline +1h");
    } else if (!rb_controller_within_budget(c, 0)) {
        rb_controller_note(c, "warning", "the budget is spent: the run is not resumed; pass --budget +10");
    } else {
        rb_controller_arm_deadline(c);
        rb_controller_turn(c, (struct rb_event){.kind = RB_EVENT_RESUME});
    }
}

// The controller before us may have died between a checkpoint and the removal of those that it replaced.
static void drop_superseded_checkpoints(struct rb_controller *c)
{
    for (int i = 0; i < c->n_trials; i++)
        if (c->trials[i].checkpoint[0])
            rb_run_task_drop_midway(c, i, -1, "");
}

void rb_controller_repeat_orders(struct rb_controller *c)
{
    RB_ENTER(rb_phases, c->phase, RB_PHASE_RUNNING);
    close_lost_tasks(c);
    drop_superseded_checkpoints(c);
    for (int i = 0; i < c->n_nodes && !c->dead; i++)
        repeat_node(c->nodes[i]);
    launch_again(c);
    for (int i = 0; i < c->n_superseded && !c->dead; i++)
        rb_run_node_terminate(c->superseded[i]);
    rb_controller_arm_wake(c);
    rb_controller_start_tasks(c);
    rb_controller_give_suggestions(c);
    rb_controller_give_advice(c);
    if (c->config.go_on)
        resume_stopped_run(c);
    rb_controller_check_over(c);
}
