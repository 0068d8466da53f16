#include "fake_launcher.h"

#include "base/arena.h"
#include "base/text/number.h"
#include "base/stream.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

double fake_metric(int trial, int64_t resource)
{
    struct rb_stream s;
    if (trial % 7 == 5)
        return NAN; // diverged
    rb_stream_init(&s, &(struct rb_stream_key){.seed = 99, .purpose = RB_DRAW_CURVE, .index = (uint32_t)trial});
    return floor(1e4 * (rb_stream_uniform(&s) + 0.02 * (double)resource)) / 1e4;
}

static void deliver(struct fake_process *p);

// A call's continuation in one session.

struct later {
    struct fake_machines *m;
    uint64_t session;
    int node, trial, start;
    int64_t left_s, resource;
    bool fetches; // the node has been set up, and brings its data
    char path[256];
};

static struct later *later(struct fake_machines *m, int64_t delay_us, rb_loop_fn *fn)
{
    struct later *l = rb_xcalloc(1, sizeof *l);
    *l = (struct later){.m = m, .session = m->session, .node = -1, .trial = -1};
    m->site.v->ours.timer_start(m->site.v, delay_us, fn, l);
    return l;
}

static bool is_current(const struct later *l)
{
    return l->session == l->m->session;
}

static int instance_of(const struct fake_machines *m, int node)
{
    for (int i = 0; i < m->n_nodes; i++) {
        if (m->nodes[i].node == node)
            return m->nodes[i].instance;
    }
    return -1;
}

static enum fake_ground ground_of(const struct fake_machines *m, int instance)
{
    return instance >= 0 ? m->site.ground(m->site.cloud, instance) : FAKE_GROUND_GONE;
}

static bool is_alive(const struct fake_machines *m, int instance)
{
    return ground_of(m, instance) == FAKE_GROUND_UP;
}

static bool *set_up_of(struct fake_machines *m, int instance)
{
    while (m->n_set_up <= instance) {
        m->set_up = rb_xrealloc(m->set_up, (size_t)m->n_set_up + 1, sizeof *m->set_up);
        m->set_up[m->n_set_up++] = false;
    }
    return &m->set_up[instance];
}

static struct fake_process *find(struct fake_machines *m, int trial, int start)
{
    for (int i = 0; i < m->n_processes; i++) {
        if (m->processes[i]->trial == trial && m->processes[i]->start == start)
            return m->processes[i];
    }
    return NULL;
}

// The controller's host is full: what cannot be started there is tried again, by who is still there to do so.

static bool is_full(const struct fake_machines *m)
{
    return m->site.v->now_us < m->full_until_us;
}

void fake_machines_set_full(struct fake_machines *m, int64_t for_us)
{
    m->full_until_us = m->site.v->now_us + for_us;
}

static bool wait_for_room(struct later *l, rb_loop_fn *fn)
{
    struct fake_machines *m = l->m;
    struct rb_err err = {0};
    if (!is_full(m))
        return false;
    if (!is_current(l)) {
        free(l);
        return true;
    }
    rb_err_set(&err, RB_E_MACHINE_FULL, "cannot start ssh: this process may open no more files (ulimit -n)");
    m->site.v->ours.timer_start(m->site.v, 1000000, fn, l);
    m->events.held_up(m->events.ctx, l->trial, &err);
    return true;
}

// Nodes.

static void prepared(void *arg)
{
    struct later *l = arg;
    struct fake_machines *m = l->m;
    if (wait_for_room(l, prepared))
        return;
    const int instance = instance_of(m, l->node);
    if (is_current(l) && instance != -1) {
        struct rb_err err = {0};
        if (m->offline || ground_of(m, instance) == FAKE_GROUND_SILENT) { // the controller knows when to give up
            m->events.waiting(m->events.ctx, l->node, "ssh: Connection timed out; let this machine in");
            m->site.v->ours.timer_start(m->site.v, 2000000, prepared, l);
            return;
        }
        if (!is_alive(m, instance))
            rb_err_set(&err, RB_ERR_IO, "no route to host");
        else if (m->training.set_up_fails)
            rb_err_set(&err, RB_ERR_IO, "setup: pip: command not found");
        else if (m->training.fetch_us > 0 && !l->fetches && !*set_up_of(m, instance)) {
            l->fetches = true;
            m->events.fetching(m->events.ctx, l->node, true);
            m->site.v->ours.timer_start(m->site.v, m->training.fetch_us, prepared, l);
            return;
        }
        else
            *set_up_of(m, instance) = true;
        if (l->fetches)
            m->events.fetching(m->events.ctx, l->node, false);
        if (l->fetches && !err.code)
            m->events.fetched(m->events.ctx, l->node, m->training.fetch_us);
        m->events.prepared(m->events.ctx, l->node, err.code ? &err : NULL);
    }
    free(l);
}

static void prepare(struct rb_launcher *base, const struct rb_launch_node *node)
{
    struct fake_machines *m = (struct fake_machines *)((char *)base - offsetof(struct fake_machines, launcher));
    const char *id;
    const int instance = m->site.find(m->site.cloud, node->address, &id);
    assert(instance < 0 || strcmp(id, node->instance_id) == 0);
    assert(m->n_nodes < 256 && instance_of(m, node->node) == -1);
    m->nodes[m->n_nodes].node = node->node;
    m->nodes[m->n_nodes++].instance = instance >= 0 ? instance : -2;
    later(m, instance >= 0 && *set_up_of(m, instance) ? 100000 : 3000000, prepared)->node = node->node;
}

static void forget(struct rb_launcher *base, int node)
{
    struct fake_machines *m = (struct fake_machines *)((char *)base - offsetof(struct fake_machines, launcher));
    const int instance = instance_of(m, node);
    for (int i = 0; i < m->n_nodes; i++) {
        if (m->nodes[i].node == node)
            m->nodes[i--] = m->nodes[--m->n_nodes];
    }
    for (int i = 0; i < m->n_processes; i++) {
        struct fake_process *p = m->processes[i];
        bool here = false, elsewhere = false;
        for (int k = 0; k < p->n_slots; k++) {
            here = here || p->slots[k].instance == instance;
            elsewhere = elsewhere || p->slots[k].instance != instance;
        }
        if (here && p->followed == m->session && p->state == FAKE_RUNNING && elsewhere)
            p->state = FAKE_KILLED; // the rest of the gang is killed; a kill is still answered
        else if (here && p->followed == m->session && !elsewhere)
            p->followed = 0;
    }
}

static void unreachable(void *arg)
{
    struct later *l = arg;
    for (int i = 0; is_current(l) && i < l->m->n_nodes; i++) {
        if (l->m->nodes[i].instance == l->start) {
            l->m->events.unreachable(l->m->events.ctx, l->m->nodes[i].node, "ssh: No route to host");
            break;
        }
    }
    free(l);
}

void fake_machines_died(void *machines, int instance)
{
    struct fake_machines *m = machines;
    for (int i = 0; i < m->n_processes; i++) {
        struct fake_process *p = m->processes[i];
        for (int k = 0; k < p->n_slots; k++) {
            if (p->slots[k].instance == instance && p->state == FAKE_RUNNING)
                p->state = FAKE_KILLED; // and the rest of its gang with it
        }
    }
    later(m, 3000000, unreachable)->start = instance;
}

static void give_up(struct fake_machines *m, int node, int instance)
{
    for (int i = 0; i < m->n_processes; i++)
        for (int k = 0; k < m->processes[i]->n_slots; k++)
            if (m->processes[i]->slots[k].instance == instance)
                m->processes[i]->given_up = true;
    m->events.unreachable(m->events.ctx, node, "ssh: Connection timed out");
}

static void gives_up_all(void *arg)
{
    struct later *l = arg;
    struct fake_machines *m = l->m;
    for (int i = m->n_nodes - 1; m->offline && is_current(l) && i >= 0; i--) {
        const int node = i < m->n_nodes ? m->nodes[i].node : -1; // news of one may make it forget others
        if (node >= 0 && m->nodes[i].instance >= 0 && *set_up_of(m, m->nodes[i].instance))
            give_up(m, node, m->nodes[i].instance);
    }
    free(l);
}

void fake_machines_set_offline(struct fake_machines *m, bool offline)
{
    m->offline = offline;
    if (offline)
        later(m, 30000000, gives_up_all);
    for (int i = 0; !offline && i < m->n_processes; i++)
        deliver(m->processes[i]);
}

// An order that does not get through is sent again, for as long as somebody is there to send it.
static bool wait_for_network(struct later *l, rb_loop_fn *fn)
{
    if (!l->m->offline)
        return false;
    if (is_current(l))
        l->m->site.v->ours.timer_start(l->m->site.v, 2000000, fn, l);
    else
        free(l);
    return true;
}

static void beaten(void *arg)
{
    struct later *l = arg;
    if (is_current(l) && !l->m->offline && !is_full(l->m) && is_alive(l->m, instance_of(l->m, l->node))) {
        struct rb_switch_report report = l->m->switch_report;
        if (report.left_s == 0)
            report.left_s = l->left_s;
        l->m->events.switched(l->m->events.ctx, l->node, &report);
    }
    free(l);
}

static void heartbeat(struct rb_launcher *base, int node, int64_t shutdown_in_s)
{
    struct fake_machines *m = (struct fake_machines *)((char *)base - offsetof(struct fake_machines, launcher));
    assert(instance_of(m, node) >= 0 && shutdown_in_s > 0);
    m->n_heartbeats++;
    struct later *l = later(m, 50000, beaten);
    l->node = node;
    l->left_s = shutdown_in_s;
}

// Processes.

static void read_on(void *arg)
{
    deliver(arg);
}

// Another reason each time: these are faults that happen, not what a script does again and again. Letters, as numbers do not
// count as differences.
static void say_why(const struct fake_process *p)
{
    const struct rb_launcher_events *e = &p->machines->events;
    char line[64];
    const int n = snprintf(line, sizeof line, "fault %c%c%c%c", 'a' + p->trial / 26 % 26, 'a' + p->trial % 26,
                           'a' + p->start / 26 % 26, 'a' + p->start % 26);
    e->line(e->ctx, p->trial, p->start, line, (size_t)n);
}

static void deliver(struct fake_process *p)
{
    struct fake_machines *m = p->machines;
    const struct rb_launcher_events *e = &m->events;
    if (m->offline || p->held_up)
        return;
    struct virtual_loop *v = m->site.v;
    if (virtual_loop_is_stopped(v)) { // it is read afterwards; if the stop was a long one, once the connection has reported
        const bool is_long = v->back_us == v->stopped_until_us - v->away_us;
        v->loop.timer_start(v, v->stopped_until_us - v->now_us + (is_long ? m->catch_up_us : 0), read_on, p);
        return;
    }
    while (p->followed == m->session && p->n_delivered < p->n_lines) {
        const int64_t resource = p->resource_start + ++p->n_delivered;
        char line[128];
        int n = snprintf(line, sizeof line, "epoch=%lld loss=0.5 val_acc=%.4f", (long long)resource,
                         fake_metric(p->trial, resource));
        if (m->training.announces)
            n += snprintf(line + n, sizeof line - (size_t)n, " checkpoint=at-%lld", (long long)resource);
        e->line(e->ctx, p->trial, p->start, line, (size_t)n);
        n = snprintf(line, sizeof line, "\x1b[31mnot a report\x1b[0m val_acc=7");
        e->line(e->ctx, p->trial, p->start, line, (size_t)n);
    }
    if (p->followed == m->session && p->state == FAKE_EXITED && !p->exit_delivered) {
        p->exit_delivered = true;
        if (p->exit_code != 0 && p->exit_code != 75)
            say_why(p);
        e->exited(e->ctx, p->trial, p->start, p->exit_code);
    }
}

// It was asked to, and looks after every unit.
static void give_way(struct fake_process *p)
{
    if (!p->asked || p->deaf || p->n_lines >= p->resource_end - p->resource_start)
        return;
    p->hangs = false;
    p->exit_code = 75;
    p->stops_after = p->n_lines;
}

static int64_t next_unit_us(const struct fake_process *p, int64_t now_us)
{
    const struct fake_training *t = &p->machines->training;
    const bool spikes = p->n_slots > 0 && p->slots[0].instance == t->spike.instance && now_us >= t->spike.from_us &&
                        now_us < t->spike.until_us;
    return (spikes ? 3 : 1) * p->unit_us;
}

static void step(void *arg)
{
    struct fake_process *p = arg;
    struct virtual_loop *v = p->machines->site.v;
    if (p->state != FAKE_RUNNING)
        return;
    if (p->n_lines == p->stops_after && p->hangs)
        return;
    if (p->n_lines == p->stops_after) {
        p->state = FAKE_EXITED;
    } else {
        p->n_lines++;
        give_way(p);
        v->loop.timer_start(v, next_unit_us(p, v->now_us), step, p);
    }
    deliver(p);
}

static void followed(void *arg)
{
    struct later *l = arg;
    if (wait_for_room(l, followed))
        return;
    struct fake_process *p = is_current(l) ? find(l->m, l->trial, l->start) : NULL;
    if (p) {
        p->held_up = false;
        deliver(p);
    }
    free(l);
}

static int64_t env_int(const struct rb_task *task, const char *key)
{
    for (int i = 0; i < task->n_env; i++) {
        int64_t value;
        if (strcmp(task->env[i].key, key) == 0 && rb_parse_int(task->env[i].value, &value))
            return value;
    }
    assert(!"a variable is missing from the environment");
    return -1;
}

static bool is_clone_of(const struct rb_task *task, int trial)
{
    char parent[16];
    snprintf(parent, sizeof parent, "%d", trial);
    for (int i = 0; i < task->n_env; i++)
        if (strcmp(task->env[i].key, "RB_PARENT_TRIAL_ID") == 0)
            return strcmp(task->env[i].value, parent) == 0;
    return false;
}

// 1 where nothing is said.
static int sharers_of(const struct rb_task *task)
{
    for (int i = 0; i < task->n_env; i++) {
        double share;
        if (strcmp(task->env[i].key, "RB_GPU_SHARE") == 0 && rb_parse_double(task->env[i].value, &share))
            return (int)(1 / share + 0.5);
    }
    return 1;
}

static bool on_same_gpu(const struct fake_process *p, const struct fake_process *q)
{
    for (int a = 0; a < p->n_slots; a++) {
        for (int b = 0; b < q->n_slots; b++) {
            if (p->slots[a].instance == q->slots[b].instance && (p->slots[a].gpus & q->slots[b].gpus))
                return true;
        }
    }
    return false;
}

static void check_free(const struct fake_machines *m, const struct fake_process *p)
{
    int n_beside = 0;
    for (int i = 0; i < m->n_processes; i++) {
        const struct fake_process *q = m->processes[i];
        if (q->state != FAKE_RUNNING)
            continue;
        assert(q->trial != p->trial || q->given_up);
        if (!on_same_gpu(p, q))
            continue;
        assert(p->sharers > 1 && p->sharers == q->sharers);
        n_beside++;
    }
    assert(n_beside < p->sharers);
}

static void check_checkpoint(struct fake_machines *m, const struct rb_task *task, int64_t resource_start)
{
    if (!task->resume_from) {
        assert(resource_start == 0);
        return;
    }
    for (int i = m->n_checkpoints - 1; i >= 0; i--) {
        if (strcmp(m->checkpoints[i].path, task->resume_from) == 0) {
            assert(m->checkpoints[i].trial == task->trial || is_clone_of(task, m->checkpoints[i].trial));
            assert(m->checkpoints[i].resource == resource_start);
            m->n_resumed_midway += m->checkpoints[i].midway;
            return;
        }
    }
    assert(!"started from a checkpoint that was never saved");
}

// How this start will go: keyed by the engine's names for it, so that it does not depend on who asks.
static void draw_fate(struct fake_process *p, const struct fake_training *training)
{
    struct rb_stream s;
    rb_stream_init(&s, &(struct rb_stream_key){.seed = p->machines->seed,
                                               .purpose = RB_DRAW_WITHIN,
                                               .stage = (uint32_t)p->stage,
                                               .index = (uint32_t)p->trial,
                                               .attempt = (uint32_t)p->attempt});
    const int units = (int)(p->resource_end - p->resource_start);
    const double u = rb_stream_uniform(&s);
    p->unit_us = (int64_t)((0.7 + 0.6 * rb_stream_uniform(&s)) * (double)training->unit_us);
    p->stops_after = training->silent ? 0 : units;
    p->hangs = u >= training->fails + training->yields && u < training->fails + training->yields + training->hangs;
    if (u < training->fails) {
        p->exit_code = 1;
        p->stops_after = (int)rb_stream_below(&s, (uint64_t)units);
    } else if (u < training->fails + training->yields && units > 1) {
        p->exit_code = 75;
        p->stops_after = 1 + (int)rb_stream_below(&s, (uint64_t)units - 1);
    } else if (p->hangs && !training->hangs_at_end) {
        p->stops_after = (int)rb_stream_below(&s, (uint64_t)units);
    }
    p->deaf = rb_stream_uniform(&s) < training->deaf;
}

static struct fake_process *create(struct fake_machines *m, const struct rb_task *task)
{
    struct fake_process *p = rb_xcalloc(1, sizeof *p);
    *p = (struct fake_process){.machines = m, .trial = task->trial, .start = task->attempt, .stage = task->stage};
    p->attempt = (int)env_int(task, "RB_ATTEMPT");
    p->sharers = sharers_of(task);
    p->resource_start = env_int(task, "RB_RESOURCE_START");
    p->resource_end = env_int(task, "RB_RESOURCE_END");
    assert(task->n_slots <= 16 && env_int(task, "RB_TRIAL_ID") == task->trial);
    for (; p->n_slots < task->n_slots; p->n_slots++) {
        p->slots[p->n_slots].instance = instance_of(m, task->slots[p->n_slots].node);
        p->slots[p->n_slots].gpus = task->slots[p->n_slots].gpus;
        if (!is_alive(m, p->slots[p->n_slots].instance))
            p->state = FAKE_KILLED; // the node has just died; its loss is reported elsewhere
    }
    if (p->state == FAKE_RUNNING) {
        check_free(m, p);
        check_checkpoint(m, task, p->resource_start);
    }
    draw_fate(p, &m->training);
    m->processes = rb_xrealloc(m->processes, (size_t)m->n_processes + 1, sizeof(struct fake_process *));
    m->processes[m->n_processes++] = p;
    m->site.v->loop.timer_start(m->site.v, m->training.startup_us + next_unit_us(p, m->site.v->now_us), step, p);
    return p;
}

static void no_room(void *arg)
{
    struct later *l = arg;
    if (is_current(l) && instance_of(l->m, l->node) >= 0)
        l->m->events.no_room(l->m->events.ctx, l->node, l->trial, "No space left on device");
    free(l);
}

// Its checkpoint is not brought to the node, so it does not begin.
static bool finds_no_room(struct fake_machines *m, const struct rb_task *task, struct fake_process *p)
{
    if (!task->resume_from || p->slots[0].instance >= m->training.full_nodes || p->state != FAKE_RUNNING)
        return false;
    p->state = FAKE_KILLED;
    struct later *l = later(m, 200000, no_room);
    l->trial = task->trial;
    l->node = task->slots[0].node;
    return true;
}

static void start(struct rb_launcher *base, const struct rb_task *task)
{
    struct fake_machines *m = (struct fake_machines *)((char *)base - offsetof(struct fake_machines, launcher));
    struct fake_process *p = find(m, task->trial, task->attempt);
    if (!p)
        p = create(m, task);
    if (finds_no_room(m, task, p))
        return;
    p->followed = m->session;
    p->held_up = is_full(m);
    p->given_up = false;
    p->n_delivered = 0;
    p->kept_to = -1;
    p->exit_delivered = false;
    struct later *l = later(m, 5000, followed);
    l->trial = task->trial;
    l->start = task->attempt;
}

static void killed(void *arg)
{
    struct later *l = arg;
    if (wait_for_room(l, killed) || wait_for_network(l, killed))
        return;
    struct fake_process *p = find(l->m, l->trial, l->start);
    if (p && p->state == FAKE_RUNNING)
        p->state = FAKE_KILLED; // the order was sent: it arrives whether or not anyone is still there to hear of it
    if (is_current(l) && p && p->followed == l->m->session) {
        p->followed = 0;
        l->m->events.killed(l->m->events.ctx, l->trial, l->start);
    }
    free(l);
}

static void kill_task(struct rb_launcher *base, int trial, int start_number)
{
    struct fake_machines *m = (struct fake_machines *)((char *)base - offsetof(struct fake_machines, launcher));
    struct later *l = later(m, 10000, killed);
    l->trial = trial;
    l->start = start_number;
}

static void yield(void *arg)
{
    struct later *l = arg;
    if (wait_for_room(l, yield) || wait_for_network(l, yield))
        return;
    struct fake_process *p = find(l->m, l->trial, l->start);
    if (p) // the file is there, even if no one listens any more
        p->asked = true;
    free(l);
}

static void yield_task(struct rb_launcher *base, int trial, int start_number, const char *why)
{
    assert(strncmp(why, "reason=", 7) == 0);
    struct fake_machines *m = (struct fake_machines *)((char *)base - offsetof(struct fake_machines, launcher));
    struct later *l = later(m, 10000, yield);
    l->trial = trial;
    l->start = start_number;
}

static void echo(void *arg)
{
    struct later *l = arg;
    if (wait_for_room(l, echo) || wait_for_network(l, echo))
        return;
    struct fake_machines *m = l->m;
    struct fake_process *p = find(m, l->trial, l->start);
    if (is_current(l) && p && p->followed == m->session && is_alive(m, p->slots[0].instance) && p->state == FAKE_RUNNING) {
        deliver(p); // it comes behind what was printed
        m->events.echoed(m->events.ctx, l->trial, l->start);
    }
    free(l);
}

static void echo_task(struct rb_launcher *base, int trial, int start_number)
{
    struct fake_machines *m = (struct fake_machines *)((char *)base - offsetof(struct fake_machines, launcher));
    struct later *l = later(m, 10000, echo);
    l->trial = trial;
    l->start = start_number;
}

// Returns its path, the list's.
static const char *add_checkpoint(const struct later *l, int64_t resource, bool midway)
{
    struct fake_machines *m = l->m;
    m->checkpoints = rb_xrealloc(m->checkpoints, (size_t)m->n_checkpoints + 1, sizeof *m->checkpoints);
    struct fake_checkpoint *k = &m->checkpoints[m->n_checkpoints++];
    *k = (struct fake_checkpoint){.trial = l->trial, .resource = resource, .midway = midway};
    snprintf(k->path, sizeof k->path, "%.250s.tar", l->path);
    return k->path;
}

// It is there only now: who resumes from it earlier is caught by check_checkpoint.
static void kept(void *arg)
{
    struct later *l = arg;
    if (wait_for_room(l, kept) || wait_for_network(l, kept))
        return;
    struct fake_machines *m = l->m;
    const struct fake_process *p = find(m, l->trial, l->start);
    struct rb_stream s;
    struct rb_err err;
    rb_stream_init(&s, &(struct rb_stream_key){.seed = m->seed, .purpose = RB_DRAW_CHECKPOINT, .index = m->n_saves++});
    const bool fails =
        !is_alive(m, p->slots[0].instance) || rb_stream_uniform(&s) < m->training.save_fails || p->state == FAKE_KILLED;
    const char *path = fails ? NULL : add_checkpoint(l, l->resource, true);
    m->n_kept += !fails;
    rb_err_set(&err, RB_ERR_IO, "connection reset");
    if (is_current(l) && p->followed == m->session)
        m->events.kept(m->events.ctx, l->trial, l->start, l->resource, path, fails ? &err : NULL);
    free(l);
}

static void keep(struct rb_launcher *base, int trial, int start_number, const char *name, int64_t resource,
                 const char *dest)
{
    struct fake_machines *m = (struct fake_machines *)((char *)base - offsetof(struct fake_machines, launcher));
    struct fake_process *p = find(m, trial, start_number);
    assert(p && m->training.announces && strncmp(name, "at-", 3) == 0);
    if (resource <= p->kept_to)
        return;
    p->kept_to = resource;
    if (!dest)
        return;
    struct later *l = later(m, 9000000, kept);
    l->trial = trial;
    l->start = start_number;
    l->resource = resource;
    snprintf(l->path, sizeof l->path, "%s", dest);
}

static void saved(void *arg)
{
    struct later *l = arg;
    if (wait_for_room(l, saved) || wait_for_network(l, saved))
        return;
    struct fake_machines *m = l->m;
    struct fake_process *p = find(m, l->trial, l->start);
    struct rb_stream s;
    rb_stream_init(&s, &(struct rb_stream_key){.seed = m->seed, .purpose = RB_DRAW_CHECKPOINT, .index = m->n_saves++});
    if (is_current(l) && p->followed == m->session) {
        if (!is_alive(m, p->slots[0].instance) || rb_stream_uniform(&s) < m->training.save_fails) {
            struct rb_err err;
            rb_err_set(&err, RB_ERR_IO, "connection reset");
            m->events.saved(m->events.ctx, l->trial, l->start, NULL, &err);
        } else {
            p->saved = true;
            m->events.saved(m->events.ctx, l->trial, l->start, add_checkpoint(l, p->resource_start + p->n_lines, false),
                            NULL);
        }
    }
    free(l);
}

static void save(struct rb_launcher *base, int trial, int start_number, const char *dest)
{
    struct fake_machines *m = (struct fake_machines *)((char *)base - offsetof(struct fake_machines, launcher));
    const struct fake_process *p = find(m, trial, start_number);
    assert(p && p->state == FAKE_EXITED);
    struct later *l = later(m, 20000, saved);
    l->trial = trial;
    l->start = start_number;
    snprintf(l->path, sizeof l->path, "%s", dest);
}

static void destroy(struct rb_launcher *base)
{
    struct fake_machines *m = (struct fake_machines *)((char *)base - offsetof(struct fake_machines, launcher));
    m->session++;
    m->n_nodes = 0;
}

static const struct rb_launcher_ops ops = {.prepare = prepare,
                                           .start = start,
                                           .save = save,
                                           .keep = keep,
                                           .yield = yield_task,
                                           .echo = echo_task,
                                           .kill = kill_task,
                                           .forget = forget,
                                           .heartbeat = heartbeat,
                                           .destroy = destroy};

void fake_machines_init(struct fake_machines *m, const struct fake_site *site, uint64_t seed)
{
    *m = (struct fake_machines){
        .site = *site,
        .seed = seed,
        .session = 1,
        .launcher = {&ops},
        .training = {.unit_us = 20000000, .startup_us = 5000000},
        .switch_report = {.state = RB_SWITCH_ARMED},
    };
}

void fake_machines_finish(struct fake_machines *m)
{
    for (int i = 0; i < m->n_processes; i++)
        free(m->processes[i]);
    free(m->processes);
    free(m->checkpoints);
    free(m->set_up);
}

struct rb_launcher *fake_machines_launcher(void *machines, const struct rb_launcher_events *events)
{
    struct fake_machines *m = machines;
    m->session++;
    m->n_nodes = 0;
    m->events = *events;
    return &m->launcher;
}
