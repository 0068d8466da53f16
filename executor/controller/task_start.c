// Starts: a task goes to the launcher once its nodes are reached and no process that must end is in its way.
#include "executor/controller/controller_private.h"

#include "executor/launcher/trial_words.h"

#include <string.h>

// The slots whose nodes have not ended: fewer than all only for the rest of a gang after a restart. 0: a node is not prepared.
static int prepared_slots(const struct rb_run_task *t, struct rb_slot *out)
{
    int n = 0;
    for (int i = 0; i < t->row.n_slots; i++) {
        const int node = t->row.slots[i].node;
        if (t->row.state == RB_TASK_KILLING && !rb_run_node_may_run(t->c, node))
            continue;
        if (t->c->nodes[node]->link != RB_LINK_PREPARED)
            return 0;
        out[n++] = t->row.slots[i];
    }
    return n;
}

// Do processes that must end still use one of its GPUs, or belong to the same trial?
static bool is_blocked(const struct rb_run_task *t)
{
    const struct rb_controller *c = t->c;
    for (int i = 0; i < c->n_tasks; i++) {
        const struct rb_run_task *other = c->tasks[i];
        if (other == t || other->row.state != RB_TASK_KILLING)
            continue;
        if (other->row.trial == t->row.trial)
            return true;
        for (int k = 0; k < t->row.n_slots; k++)
            for (int m = 0; m < other->row.n_slots; m++)
                if (t->row.slots[k].node == other->row.slots[m].node &&
                    (t->row.slots[k].gpus & other->row.slots[m].gpus))
                    return true;
    }
    return false;
}

static const char *const *node_ips(const struct rb_run_task *t, struct rb_arena *arena)
{
    const char **ips = rb_arena_array(arena, (size_t)t->row.n_slots, sizeof *ips);
    for (int i = 0; i < t->row.n_slots; i++) {
        const struct rb_launch_row *n = &t->c->nodes[t->row.slots[i].node]->row;
        ips[i] = n->private_address[0] ? n->private_address : n->address[0] ? n->address : "127.0.0.1";
    }
    return ips;
}

// What a clone begins with: the checkpoint that its parent saved where it was copied. The parent's last one may be of
// later training. The arena's.
static bool parents_checkpoint(struct rb_controller *c, const struct rb_trial *clone, struct rb_arena *arena,
                               const char **out, struct rb_err *err)
{
    struct rb_task_row *rows;
    int n;
    *out = NULL;
    if (!rb_journal_tasks_of(c->journal, clone->parent, arena, &rows, &n, err))
        return false;
    for (int i = 0; i < n; i++)
        if (rows[i].state == RB_TASK_SAVED && rows[i].exit_code == 0 && rows[i].resource_end == clone->cloned_at)
            *out = rows[i].checkpoint; // in order of starts
    return *out ||
           rb_journal_misfit(c->journal, err, "trial %d saved nothing that its clone could go on from", clone->parent);
}

// The trial's last checkpoint, or the one that it begins with; NULL: none.
static bool resume_from(const struct rb_run_task *t, struct rb_arena *arena, const char **out, struct rb_err *err)
{
    const struct rb_trial *trial = rb_engine_trial(t->c->engine, t->row.trial);
    const char *checkpoint = rb_run_trial_at(t->c, t->row.trial)->checkpoint;
    if (!checkpoint[0] && trial->parent >= 0 && !parents_checkpoint(t->c, trial, arena, &checkpoint, err))
        return false;
    if (!checkpoint[0] || t->c->config.plan->job->starts_over)
        *out = NULL;
    else
        *out =
            strstr(checkpoint, "://") ? checkpoint : rb_arena_printf(arena, "%s/%s", t->c->config.run_dir, checkpoint);
    return true;
}

// The arena holds secret values: they are wiped before it is freed.
static void wipe_env(const struct rb_key_value *env, int n)
{
    for (int i = 0; i < n; i++)
        explicit_bzero((char *)(uintptr_t)env[i].value, strlen(env[i].value));
}

static void hand_over(struct rb_run_task *t, const struct rb_slot *slots, int n_slots)
{
    struct rb_controller *c = t->c;
    const struct rb_job *job = c->config.plan->job;
    RB_AUTO(rb_arena_finish) struct rb_arena arena;
    const char *checkpoint;
    struct rb_err err = {0};
    rb_arena_init(&arena);
    if (!resume_from(t, &arena, &checkpoint, &err)) {
        rb_controller_fail_run(c, &err);
        return;
    }
    const struct rb_trial_order order = {
        .job = job,
        .run_id = c->config.run_id,
        .trial = t->row.trial,
        .stage = t->row.stage,
        .attempt = t->row.attempt,
        .parent = rb_engine_trial(c->engine, t->row.trial)->parent,
        .suggested = rb_engine_trial(c->engine, t->row.trial)->values,
        .resource_start = t->row.resource_start,
        .resource_end = t->row.resource_end,
        .node_ips = node_ips(t, &arena),
        .n_nodes = t->row.n_slots,
        .deadline_unix_us = c->meta.deadline_us < 0 ? -1 : c->meta.started_unix_us + c->meta.deadline_us,
        .batch = rb_engine_trial(c->engine, t->row.trial)->with,
        .gpus = rb_engine_trial(c->engine, t->row.trial)->gpus,
        .sharers =
            job->trial.n_shares > 1 || job->trial.shares[0] > 1 ? rb_engine_trial(c->engine, t->row.trial)->sharers : 0,
        .checkpoint_every_s = rb_run_task_keep_every_s(t),
        .secret = c->config.secret,
        .secret_ctx = c->config.secret_ctx,
    };
    struct rb_task task = {
        .trial = t->row.trial,
        .attempt = t->row.start,
        .stage = t->row.stage,
        .slots = slots,
        .n_slots = n_slots,
        .command = job->run,
        .resume_from = checkpoint,
        .checkpoint_uri = job->checkpoint_uri,
        .on_spot = c->config.plan->offers[c->nodes[t->row.slots[0].node]->row.offer].market == RB_MARKET_SPOT,
    };
    RB_AUTO(rb_buf_finish) struct rb_buf words = RB_BUF_INIT;
    rb_trial_words(&order, task.resume_from != NULL, &words);
    task.words = rb_buf_str(&words);
    rb_trial_env(&order, &arena, (struct rb_key_value **)&task.env, &task.n_env);
    rb_run_task_begin_output(t);
    RB_ENTER(rb_process_states, t->process, RB_PROCESS_FOLLOWED);
    c->launcher->ops->start(c->launcher, &task);
    wipe_env(task.env, task.n_env);
    t->last_report_us = rb_attended_us(c->config.loop);
    rb_run_task_await_report(t);
}

// Gives the task to the launcher if it may start. After a restart that includes old tasks, even those that must end: a
// repeated start only follows the process, and the launcher can kill only what it knows.
static void start_if_possible(struct rb_run_task *t)
{
    RB_AUTO(rb_auto_free) struct rb_slot *slots = rb_xcalloc((size_t)t->row.n_slots, sizeof *slots);
    const int n_slots = prepared_slots(t, slots);
    const bool kill = t->row.state == RB_TASK_KILLING, ordered = t->process == RB_PROCESS_ORDERED;
    int64_t left_us;
    const char *why;
    if (ordered && !kill && (t->c->last_stretch || rb_run_task_is_leaving(t, &left_us, &why)))
        return; // there is no time left to reach a checkpoint
    if ((!ordered && t->process != RB_PROCESS_UNFOLLOWED) || n_slots == 0 ||
        (t->row.state == RB_TASK_INTENT && is_blocked(t)))
        return;
    hand_over(t, slots, n_slots);
    if (kill)
        rb_run_task_kill(t);
    else
        rb_run_task_yield(t); // the request to yield may have come while it could not be reached
    if (!kill)
        rb_run_task_stop(t); // what it reported last may be in the journal already
}

void rb_controller_start_tasks(struct rb_controller *c)
{
    for (int i = 0; i < c->n_tasks && !c->dead; i++)
        start_if_possible(c->tasks[i]);
}
