// Trials: telling the launcher what to start, believing only whole reports, and ending a stage of a trial
// only once its checkpoint is safe.
#include "executor/controller_private.h"

#include "base/log.h"
#include "executor/metric_line.h"
#include "executor/trial_env.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_REACHED = 0, EXIT_YIELDED = 75 }; // the contract with training scripts

struct rb_controller_trial *rb_controller_trial_at(struct rb_controller *c, int trial)
{
    while (c->n_trials <= trial) {
        c->trials = rb_xrealloc(c->trials, (size_t)c->n_trials + 1, sizeof *c->trials);
        c->trials[c->n_trials++] = (struct rb_controller_trial){.last_resource = -1};
    }
    return &c->trials[trial];
}

static bool is_live(const struct rb_controller_task *t)
{
    return t->row.state == RB_TASK_INTENT || t->row.state == RB_TASK_EXITED;
}

static struct rb_controller_task *find_task(struct rb_controller *c, int trial, int start)
{
    for (int i = 0; i < c->n_tasks; i++)
        if (c->tasks[i]->row.trial == trial && c->tasks[i]->row.start == start)
            return c->tasks[i];
    return NULL;
}

struct rb_controller_task *rb_controller_running_task(struct rb_controller *c, int trial)
{
    for (int i = 0; i < c->n_tasks; i++)
        if (c->tasks[i]->row.trial == trial && is_live(c->tasks[i]))
            return c->tasks[i];
    return NULL;
}

static bool sits_on(const struct rb_controller_task *t, int node)
{
    for (int i = 0; i < t->row.n_slots; i++)
        if (t->row.slots[i].node == node)
            return true;
    return false;
}

bool rb_controller_node_has_tasks(const struct rb_controller *c, int node)
{
    for (int i = 0; i < c->n_tasks; i++)
        if (sits_on(c->tasks[i], node))
            return true;
    return false;
}

bool rb_controller_tasks_settled(const struct rb_controller *c)
{
    return c->n_tasks == 0;
}

// Rows.

static bool write_row(struct rb_controller_task *t)
{
    struct rb_err err;
    if (t->c->dead)
        return false;
    if (rb_journal_task(t->c->journal, &t->row, &err))
        return true;
    rb_controller_journal_failed(t->c, &err);
    return false;
}

struct rb_controller_task *rb_controller_open_task(struct rb_controller *c, const struct rb_task_row *row)
{
    struct rb_controller_task *t = rb_xcalloc(1, sizeof *t);
    struct rb_slot *slots = rb_xcalloc((size_t)(row->n_slots ? row->n_slots : 1), sizeof *slots);
    for (int i = 0; i < row->n_slots; i++)
        slots[i] = row->slots[i];
    t->c = c;
    t->row = *row;
    t->row.slots = slots;
    t->last_resource = -1;
    c->tasks = rb_xrealloc(c->tasks, (size_t)c->n_tasks + 1, sizeof(struct rb_controller_task *));
    c->tasks[c->n_tasks++] = t;
    return t;
}

static void close_task(struct rb_controller_task *t)
{
    struct rb_controller *c = t->c;
    rb_controller_disarm(c, &t->timer);
    int at = 0;
    while (c->tasks[at] != t)
        at++;
    memmove(&c->tasks[at], &c->tasks[at + 1],
            (size_t)(c->n_tasks - at - 1) * sizeof(struct rb_controller_task *));
    c->n_tasks--;
    free((void *)t->row.slots);
    free(t);
}

void rb_controller_free_tasks(struct rb_controller *c)
{
    while (c->n_tasks > 0)
        close_task(c->tasks[c->n_tasks - 1]);
    free(c->tasks);
}

void rb_controller_record_start(struct rb_controller *c, const struct rb_action *a)
{
    const struct rb_task_row row = {
        .trial = a->trial,
        .start = rb_controller_trial_at(c, a->trial)->n_starts++,
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
    rb_controller_trial_at(c, a->trial)->last_resource = -1;
    struct rb_controller_task *t = rb_controller_open_task(c, &row);
    t->ordered_here = true;
    write_row(t);
}

void rb_controller_record_kill(struct rb_controller *c, struct rb_controller_task *t)
{
    t->row.state = RB_TASK_KILLING;
    t->row.ended_us = rb_controller_now_us(c);
    rb_controller_disarm(c, &t->timer);
    write_row(t);
}

// Processes may still live there. This machine outlives the node it was.
static bool node_may_run(const struct rb_controller *c, int node)
{
    const struct rb_controller_node *n = c->nodes[node];
    return n->row.state == RB_LAUNCH_RUNNING || n->row.state == RB_LAUNCH_READY ||
           (n->row.state == RB_LAUNCH_TERMINATING && rb_controller_node_is_free(n));
}

// The last row of a task whose processes are known to be over.
static void record_over(struct rb_controller_task *t, enum rb_task_state state)
{
    t->row.state = state;
    if (t->row.ended_us < 0)
        t->row.ended_us = rb_controller_now_us(t->c);
    write_row(t);
}

void rb_controller_drop_node_tasks(struct rb_controller *c, int node)
{
    for (int i = c->n_tasks - 1; i >= 0; i--) {
        struct rb_controller_task *t = c->tasks[i];
        if (!sits_on(t, node))
            continue;
        bool elsewhere = false;
        for (int k = 0; k < t->row.n_slots; k++)
            elsewhere = elsewhere || (t->row.slots[k].node != node && node_may_run(c, t->row.slots[k].node));
        if (!elsewhere) {
            record_over(t, RB_TASK_KILLED);
            close_task(t);
        } else if (is_live(t)) {
            rb_controller_record_kill(c, t);
        }
    }
}

void rb_controller_node_gone(struct rb_controller *c, int node)
{
    for (int i = c->n_tasks - 1; i >= 0 && !c->dead; i--) {
        struct rb_controller_task *t = c->tasks[i];
        bool elsewhere = false;
        for (int k = 0; k < t->row.n_slots; k++)
            elsewhere = elsewhere || node_may_run(c, t->row.slots[k].node);
        if (!sits_on(t, node) || elsewhere)
            continue;
        record_over(t, RB_TASK_KILLED);
        close_task(t);
    }
}

// Starting.

// Slots whose nodes have not ended; all of them unless the task is what was left of a gang when we came back.
static int living_slots(const struct rb_controller_task *t, struct rb_slot *out)
{
    int n = 0;
    for (int i = 0; i < t->row.n_slots; i++)
        if (t->row.state != RB_TASK_KILLING || node_may_run(t->c, t->row.slots[i].node))
            out[n++] = t->row.slots[i];
    return n;
}

static bool nodes_prepared(const struct rb_controller_task *t, const struct rb_slot *slots, int n_slots)
{
    for (int i = 0; i < n_slots; i++)
        if (!t->c->nodes[slots[i].node]->prepared)
            return false;
    return n_slots > 0;
}

// Processes that must end still sit on one of its GPUs, or belong to the same trial.
static bool in_the_way(const struct rb_controller_task *t)
{
    const struct rb_controller *c = t->c;
    for (int i = 0; i < c->n_tasks; i++) {
        const struct rb_controller_task *other = c->tasks[i];
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

static void hung(void *arg)
{
    struct rb_controller_task *t = arg;
    struct rb_controller *c = t->c;
    t->timer = 0;
    if (c->dead || t->row.state != RB_TASK_INTENT || !rb_controller_begin(c))
        return;
    const int trial = t->row.trial, attempt = t->row.attempt, start = t->row.start;
    rb_controller_note(c, "fault", "trial %d: no report for %" PRId64 " s: hung, killed", trial,
                       c->config.plan->job->trial.timeout_us / RB_US_PER_S);
    rb_controller_record_kill(c, t);
    rb_controller_turn(
        c, (struct rb_event){
               .kind = RB_EVENT_TRIAL_ENDED, .trial = trial, .attempt = attempt, .outcome = RB_OUTCOME_HUNG});
    t = find_task(c, trial, start);
    if (t)
        rb_controller_kill(t);
}

static void expect_report(struct rb_controller_task *t)
{
    if (t->row.state == RB_TASK_INTENT && t->c->config.plan->job->trial.timeout_us > 0)
        rb_controller_arm(t->c, &t->timer, t->c->config.plan->job->trial.timeout_us, hung, t);
}

static const char *const *node_ips(const struct rb_controller_task *t, struct rb_arena *arena)
{
    const char **ips = rb_arena_array(arena, (size_t)t->row.n_slots, sizeof *ips);
    for (int i = 0; i < t->row.n_slots; i++) {
        const struct rb_launch_row *n = &t->c->nodes[t->row.slots[i].node]->row;
        ips[i] = n->private_address[0] ? n->private_address : n->address[0] ? n->address : "127.0.0.1";
    }
    return ips;
}

// Where the trial's last checkpoint is, NULL: it starts from nothing.
static const char *resume_from(const struct rb_controller_task *t, struct rb_arena *arena)
{
    const char *checkpoint = rb_controller_trial_at(t->c, t->row.trial)->checkpoint;
    if (!checkpoint[0])
        return NULL;
    return strstr(checkpoint, "://") ? checkpoint
                                     : rb_arena_printf(arena, "%s/%s", t->c->config.run_dir, checkpoint);
}

// The arena holds secret values: they are wiped before it is freed.
static void wipe_env(const struct rb_key_value *env, int n)
{
    for (int i = 0; i < n; i++)
        explicit_bzero((char *)(uintptr_t)env[i].value, strlen(env[i].value));
}

static void tell_start(struct rb_controller_task *t, const struct rb_slot *slots, int n_slots)
{
    struct rb_controller *c = t->c;
    const struct rb_job *job = c->config.plan->job;
    RB_AUTO(rb_arena_finish) struct rb_arena arena;
    rb_arena_init(&arena);
    const struct rb_trial_order order = {
        .job = job,
        .run_id = c->config.run_id,
        .trial = t->row.trial,
        .stage = t->row.stage,
        .attempt = t->row.attempt,
        .resource_start = t->row.resource_start,
        .resource_end = t->row.resource_end,
        .node_ips = node_ips(t, &arena),
        .n_nodes = t->row.n_slots,
        .deadline_unix_us = c->meta.deadline_us < 0 ? -1 : c->meta.started_unix_us + c->meta.deadline_us,
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
        .resume_from = resume_from(t, &arena),
        .checkpoint_uri = job->checkpoint_uri,
    };
    rb_trial_env(&order, &arena, (struct rb_key_value **)&task.env, &task.n_env);
    t->told = true;
    c->launcher->ops->start(c->launcher, &task);
    wipe_env(task.env, task.n_env);
    expect_report(t);
}

// Tells the launcher of the task if it may start. After a restart of ours it must be told of old tasks as well, even of
// those that are to end: a start said twice is followed, and only what is known can be killed.
static void tell_if_possible(struct rb_controller_task *t)
{
    RB_AUTO(rb_auto_free) struct rb_slot *slots = rb_xcalloc((size_t)t->row.n_slots, sizeof *slots);
    const int n_slots = living_slots(t, slots);
    const bool kill = t->row.state == RB_TASK_KILLING;
    if (t->told || !nodes_prepared(t, slots, n_slots) || (t->row.state == RB_TASK_INTENT && in_the_way(t)))
        return;
    tell_start(t, slots, n_slots);
    if (kill)
        rb_controller_kill(t);
}

void rb_controller_pump(struct rb_controller *c)
{
    for (int i = 0; i < c->n_tasks && !c->dead; i++)
        tell_if_possible(c->tasks[i]);
}

void rb_controller_kill(struct rb_controller_task *t)
{
    struct rb_controller *c = t->c;
    if (c->dead || t->kill_told)
        return;
    if (t->told) {
        t->kill_told = true;
        c->launcher->ops->kill(c->launcher, t->row.trial, t->row.start);
    } else if (t->ordered_here) { // never started: nothing to kill
        record_over(t, RB_TASK_KILLED);
        close_task(t);
    }
}

void rb_controller_killed(void *ctx, int trial, int start)
{
    struct rb_controller *c = ctx;
    struct rb_controller_task *t = find_task(c, trial, start);
    if (c->dead || !t || t->row.state != RB_TASK_KILLING)
        return;
    record_over(t, RB_TASK_KILLED);
    close_task(t);
    rb_controller_pump(c);
    for (int i = 0; i < c->n_nodes; i++)
        if (c->nodes[i]->has_row)
            rb_controller_end_node(c->nodes[i]); // those that waited for their processes
    rb_controller_check_over(c);
}

// Output.

static void keep_tail(struct rb_controller_task *t, const char *bytes, size_t n)
{
    char line[RB_CONTROLLER_TAIL / 2];
    rb_log_sanitise(bytes, n, line, sizeof line);
    const size_t have = strlen(t->tail), add = strlen(line) + 3;
    size_t drop = have + add < sizeof t->tail ? 0 : have + add - sizeof t->tail + 1;
    memmove(t->tail, t->tail + drop, have - drop + 1);
    snprintf(t->tail + have - drop, sizeof t->tail - (have - drop), "%s%s", have - drop ? " | " : "", line);
}

void rb_controller_line(void *ctx, int trial, int start, const char *bytes, size_t n)
{
    struct rb_controller *c = ctx;
    struct rb_controller_task *t = find_task(c, trial, start);
    if (c->dead || !t || t->row.state != RB_TASK_INTENT)
        return;
    const struct rb_job *job = c->config.plan->job;
    struct rb_metric_line line;
    rb_metric_line_parse(bytes, n, job->scheduler.unit, job->metric_name, &line);
    if (line.paced && !c->paced) {
        c->paced = true;
        rb_controller_note(c, "paced", "the trials say that their accelerator's speed is emulated");
    }
    if (!line.is_report)
        keep_tail(t, bytes, n);
    // A report is new if its resource rose: lines are replayed after a reconnect.
    if (!line.is_report || line.resource <= t->last_resource || line.resource > job->scheduler.max_resource)
        return;
    t->last_resource = line.resource;
    rb_controller_trial_at(c, trial)->last_resource = line.resource;
    expect_report(t);
    rb_controller_turn(c, (struct rb_event){.kind = RB_EVENT_REPORT,
                                            .trial = trial,
                                            .attempt = t->row.attempt,
                                            .stage = t->row.stage,
                                            .resource = line.resource,
                                            .metric = line.metric});
}

// Ends.

static void trial_ended(struct rb_controller_task *t, enum rb_task_state state, enum rb_outcome outcome)
{
    struct rb_controller *c = t->c;
    const struct rb_event event = {.kind = RB_EVENT_TRIAL_ENDED,
                                   .trial = t->row.trial,
                                   .attempt = t->row.attempt,
                                   .stage = t->row.stage,
                                   .resource = t->last_resource > 0 ? t->last_resource : 0,
                                   .outcome = outcome};
    if (!c->in_transaction && !rb_controller_begin(c))
        return;
    record_over(t, state);
    close_task(t);
    rb_controller_turn(c, event);
}

static void failed(struct rb_controller_task *t, const char *why)
{
    struct rb_controller *c = t->c;
    if (!rb_controller_begin(c))
        return;
    rb_controller_note(c, "fault", "trial %d, attempt %d of stage %d: %s%s%s", t->row.trial, t->row.attempt,
                       t->row.stage, why, t->tail[0] ? "; its last output: " : "", t->tail);
    trial_ended(t, RB_TASK_ENDED, RB_OUTCOME_FAILED);
}

static void save(void *arg)
{
    struct rb_controller_task *t = arg;
    struct rb_controller *c = t->c;
    RB_AUTO(rb_buf_finish) struct rb_buf dest = RB_BUF_INIT;
    t->timer = 0;
    t->saving = true;
    rb_buf_printf(&dest, "%s/checkpoints/trial-%04d/stage-%d", c->config.run_dir, t->row.trial, t->row.stage);
    c->launcher->ops->save(c->launcher, t->row.trial, t->row.start, rb_buf_str(&dest));
}

static bool reached(const struct rb_controller_task *t)
{
    const int64_t known = rb_engine_trial(t->c->engine, t->row.trial)->resource;
    return t->last_resource >= t->row.resource_end || known >= t->row.resource_end;
}

void rb_controller_exited(void *ctx, int trial, int start, int exit_code)
{
    struct rb_controller *c = ctx;
    struct rb_controller_task *t = find_task(c, trial, start);
    if (c->dead || !t || !is_live(t) || t->saving)
        return;
    char why[160];
    rb_controller_disarm(c, &t->timer);
    t->row.exit_code = exit_code;
    if (t->row.exited_us < 0)
        t->row.exited_us = rb_controller_now_us(c);
    if (exit_code == EXIT_REACHED && !reached(t)) {
        snprintf(why, sizeof why, "ended with 0 but never reported %s=%" PRId64 " with %s",
                 c->config.plan->job->scheduler.unit, t->row.resource_end, c->config.plan->job->metric_name);
        failed(t, why);
    } else if (exit_code == EXIT_REACHED || exit_code == EXIT_YIELDED) {
        const bool known = t->row.state == RB_TASK_EXITED;
        t->row.state = RB_TASK_EXITED;
        if (known || write_row(t))
            save(t);
    } else {
        snprintf(why, sizeof why, "ended with exit code %d", exit_code);
        failed(t, why);
    }
}

void rb_controller_saved(void *ctx, int trial, int start, const char *checkpoint, const struct rb_err *err)
{
    struct rb_controller *c = ctx;
    struct rb_controller_task *t = find_task(c, trial, start);
    if (c->dead || !t || t->row.state != RB_TASK_EXITED)
        return;
    t->saving = false;
    if (err && ++t->save_tries < RB_CONTROLLER_SAVE_TRIES) {
        t->saving = true;
        rb_controller_arm(c, &t->timer, rb_controller_backoff_us(t->save_tries), save, t);
        return;
    }
    if (err) {
        char why[512];
        snprintf(why, sizeof why, "its checkpoint could not be saved: %.400s", err->message);
        failed(t, why);
        return;
    }
    const size_t root = strlen(c->config.run_dir);
    if (strncmp(checkpoint, c->config.run_dir, root) == 0 && checkpoint[root] == '/')
        checkpoint += root + 1;
    snprintf(t->row.checkpoint, sizeof t->row.checkpoint, "%s", checkpoint);
    struct rb_controller_trial *record = rb_controller_trial_at(c, trial);
    memcpy(record->checkpoint, t->row.checkpoint, sizeof record->checkpoint);
    trial_ended(t, RB_TASK_SAVED, t->row.exit_code == EXIT_YIELDED ? RB_OUTCOME_YIELDED : RB_OUTCOME_REACHED);
}
