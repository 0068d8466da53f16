// Tasks: from the row that orders a start to the certainty that its processes are over.
#include "executor/controller/controller_private.h"

#include <stdlib.h>
#include <string.h>

struct rb_run_trial *rb_run_trial_at(struct rb_controller *c, int trial)
{
    while (c->n_trials <= trial) {
        c->trials = rb_xrealloc(c->trials, (size_t)c->n_trials + 1, sizeof *c->trials);
        c->trials[c->n_trials++] = (struct rb_run_trial){.last_resource = -1};
    }
    return &c->trials[trial];
}

void rb_run_trial_begin_start(struct rb_controller *c, int trial)
{
    struct rb_run_trial *t = rb_run_trial_at(c, trial);
    t->last_resource = -1;
    t->asked = false;
}

bool rb_run_task_is_live(const struct rb_run_task *t)
{
    return t->row.state == RB_TASK_INTENT || t->row.state == RB_TASK_EXITED;
}

struct rb_run_task *rb_run_task_find(struct rb_controller *c, int trial, int start)
{
    for (int i = 0; i < c->n_tasks; i++)
        if (c->tasks[i]->row.trial == trial && c->tasks[i]->row.start == start)
            return c->tasks[i];
    return NULL;
}

struct rb_run_task *rb_run_task_find_live(struct rb_controller *c, int trial)
{
    for (int i = 0; i < c->n_tasks; i++)
        if (c->tasks[i]->row.trial == trial && rb_run_task_is_live(c->tasks[i]))
            return c->tasks[i];
    return NULL;
}

// Its processes may still exist. The local machine outlives its nodes.
bool rb_run_node_may_run(const struct rb_controller *c, int node)
{
    const struct rb_run_node *n = c->nodes[node];
    return n->row.state == RB_LAUNCH_RUNNING || n->row.state == RB_LAUNCH_READY ||
           (n->row.state == RB_LAUNCH_TERMINATING && rb_run_node_is_local(n));
}

// On any of its nodes except this one; -1: on any.
static bool may_run_besides(const struct rb_run_task *t, int node)
{
    for (int i = 0; i < t->row.n_slots; i++)
        if (t->row.slots[i].node != node && rb_run_node_may_run(t->c, t->row.slots[i].node))
            return true;
    return false;
}

static bool sits_on(const struct rb_run_task *t, int node)
{
    for (int i = 0; i < t->row.n_slots; i++)
        if (t->row.slots[i].node == node)
            return true;
    return false;
}

bool rb_run_node_has_tasks(const struct rb_controller *c, int node)
{
    for (int i = 0; i < c->n_tasks; i++)
        if (sits_on(c->tasks[i], node))
            return true;
    return false;
}

bool rb_run_task_write(struct rb_run_task *t)
{
    struct rb_err err;
    return !t->c->dead && rb_controller_wrote(t->c, rb_journal_task(t->c->journal, &t->row, &err), &err);
}

struct rb_run_task *rb_run_task_open(struct rb_controller *c, const struct rb_task_row *row)
{
    struct rb_run_task *t = rb_xcalloc(1, sizeof *t);
    struct rb_slot *slots = rb_xcalloc((size_t)(row->n_slots ? row->n_slots : 1), sizeof *slots);
    for (int i = 0; i < row->n_slots; i++)
        slots[i] = row->slots[i];
    t->c = c;
    t->row = *row;
    t->row.slots = slots;
    t->last_resource = -1;
    t->longest_unit_us = -1;
    t->trained_to = -1;
    c->tasks = rb_xrealloc(c->tasks, (size_t)c->n_tasks + 1, sizeof(struct rb_run_task *));
    c->tasks[c->n_tasks++] = t;
    return t;
}

void rb_run_task_disarm(struct rb_run_task *t)
{
    rb_controller_disarm(t->c, &t->timer);
    rb_silence_end(&t->silence);
    rb_silence_end(&t->yielding);
    t->verdict = NULL;
}

void rb_run_task_close(struct rb_run_task *t)
{
    struct rb_controller *c = t->c;
    rb_run_task_disarm(t);
    int at = 0;
    while (c->tasks[at] != t)
        at++;
    memmove(&c->tasks[at], &c->tasks[at + 1], (size_t)(c->n_tasks - at - 1) * sizeof(struct rb_run_task *));
    c->n_tasks--;
    rb_metric_reader_free(t->reader);
    free((void *)t->row.slots);
    free(t);
}

void rb_controller_free_tasks(struct rb_controller *c)
{
    while (c->n_tasks > 0)
        rb_run_task_close(c->tasks[c->n_tasks - 1]);
    free(c->tasks);
}

void rb_run_task_record_start(struct rb_controller *c, const struct rb_action *a)
{
    const struct rb_task_row row = {
        .trial = a->trial,
        .start = rb_run_trial_at(c, a->trial)->n_starts++,
        .stage = a->stage,
        .attempt = a->attempt,
        .state = RB_TASK_INTENT,
        .exit_code = -1,
        .resource_start = a->resource_start,
        .resource_end = a->resource_end,
        .started_us = rb_controller_now_us(c),
        .exited_us = -1,
        .ended_us = -1,
        .slots = a->slots,
        .n_slots = a->n_slots,
    };
    rb_run_trial_begin_start(c, a->trial);
    struct rb_run_task *t = rb_run_task_open(c, &row);
    t->process = RB_PROCESS_ORDERED;
    rb_run_task_write(t);
}

void rb_run_task_record_kill(struct rb_controller *c, struct rb_run_task *t)
{
    RB_ENTER(rb_task_states, t->row.state, RB_TASK_KILLING);
    t->row.ended_us = rb_controller_now_us(c);
    rb_run_task_disarm(t);
    rb_run_task_write(t);
}

// The last row of a task whose processes are known to be over.
void rb_run_task_record_over(struct rb_run_task *t, enum rb_task_state state)
{
    RB_ENTER(rb_task_states, t->row.state, state);
    if (t->row.ended_us < 0)
        t->row.ended_us = rb_controller_now_us(t->c);
    rb_run_task_write(t);
}

static void close_killed(struct rb_run_task *t)
{
    rb_run_task_record_over(t, RB_TASK_KILLED);
    rb_run_task_close(t);
}

void rb_run_node_drop_tasks(struct rb_controller *c, int node)
{
    for (int i = c->n_tasks - 1; i >= 0; i--) {
        struct rb_run_task *t = c->tasks[i];
        if (!sits_on(t, node))
            continue;
        if (!may_run_besides(t, node))
            close_killed(t);
        else if (rb_run_task_is_live(t))
            rb_run_task_record_kill(c, t);
    }
}

// False, without any change, if one of them is spread over other nodes as well: launchers end the rest of such a gang.
bool rb_run_node_unfollow_tasks(struct rb_controller *c, int node)
{
    for (int i = 0; i < c->n_tasks; i++)
        if (sits_on(c->tasks[i], node) && c->tasks[i]->row.n_slots > 1)
            return false;
    for (int i = 0; i < c->n_tasks; i++) {
        struct rb_run_task *t = c->tasks[i];
        if (!sits_on(t, node))
            continue;
        rb_run_task_disarm(t);
        RB_ENTER(rb_process_states, t->process, RB_PROCESS_UNFOLLOWED);
    }
    return true;
}

void rb_run_node_close_tasks(struct rb_controller *c, int node)
{
    for (int i = c->n_tasks - 1; i >= 0 && !c->dead; i--) {
        struct rb_run_task *t = c->tasks[i];
        if (sits_on(t, node) && !may_run_besides(t, -1))
            close_killed(t);
    }
}

void rb_run_task_kill(struct rb_run_task *t)
{
    struct rb_controller *c = t->c;
    if (c->dead || t->process == RB_PROCESS_UNFOLLOWED || t->process == RB_PROCESS_KILLING)
        return;
    if (t->process != RB_PROCESS_ORDERED) {
        RB_ENTER(rb_process_states, t->process, RB_PROCESS_KILLING);
        c->launcher->ops->kill(c->launcher, t->row.trial, t->row.start);
    } else { // never started: nothing to kill
        close_killed(t);
    }
}

void rb_run_task_give_up(struct rb_run_task *t, enum rb_outcome outcome)
{
    struct rb_controller *c = t->c;
    const int trial = t->row.trial, attempt = t->row.attempt, start = t->row.start;
    rb_run_task_record_kill(c, t);
    rb_controller_turn(
        c, (struct rb_event){.kind = RB_EVENT_TRIAL_ENDED, .trial = trial, .attempt = attempt, .outcome = outcome});
    t = rb_run_task_find(c, trial, start); // the turn may have closed it
    if (t)
        rb_run_task_kill(t);
}

void rb_run_task_killed(void *ctx, int trial, int start)
{
    struct rb_controller *c = ctx;
    struct rb_run_task *t = rb_run_task_find(c, trial, start);
    if (c->dead || !t || t->row.state != RB_TASK_KILLING)
        return;
    close_killed(t);
    rb_controller_start_tasks(c);
    for (int i = 0; i < c->n_nodes; i++)
        if (rb_run_node_has_row(c->nodes[i]))
            rb_run_node_terminate(c->nodes[i]); // those that waited for their processes
    rb_controller_check_over(c);
}
