// Nodes: boot and end. An end counts only when it was seen.
#include "executor/controller/controller_private.h"

#include "base/backoff.h"
#include "profiles/catalog/cpu_slots.h"
#include "profiles/catalog/infra.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct rb_run_node *new_node(struct rb_controller *c, int id)
{
    struct rb_run_node *n = rb_xcalloc(1, sizeof *n);
    *n = (struct rb_run_node){
        .c = c, .id = id, .absent_since_us = -1, .acked_us = -1, .waited_us = -1, .exhausted_us = -1, .held_us = -1};
    return n;
}

struct rb_run_node *rb_run_node_at(struct rb_controller *c, int node)
{
    while (c->n_nodes <= node) {
        c->nodes = rb_xrealloc(c->nodes, (size_t)c->n_nodes + 1, sizeof(struct rb_run_node *));
        c->nodes[c->n_nodes] = new_node(c, c->n_nodes);
        c->n_nodes++;
    }
    return c->nodes[node];
}

int rb_controller_n_launches(const struct rb_controller *c)
{
    return c->n_nodes + c->n_superseded;
}

struct rb_run_node *rb_controller_launch_at(const struct rb_controller *c, int i)
{
    return i < c->n_nodes ? c->nodes[i] : c->superseded[i - c->n_nodes];
}

struct rb_run_node *rb_controller_add_launch(struct rb_controller *c, const struct rb_launch_row *row,
                                             const struct rb_billing *billing)
{
    struct rb_run_node *n = new_node(c, row->node);
    n->role = RB_NODE_SUPERSEDED;
    n->row = *row;
    n->billing = *billing;
    c->superseded = rb_xrealloc(c->superseded, (size_t)c->n_superseded + 1, sizeof(struct rb_run_node *));
    c->superseded[c->n_superseded++] = n;
    return n;
}

void rb_run_node_supersede(struct rb_run_node *n)
{
    struct rb_run_node *old = rb_controller_add_launch(n->c, &n->row, &n->billing);
    old->gang = n->gang;
    old->member = n->member;
    if (old->gang)
        old->gang->members[old->member] = old;
    n->gang = NULL;
    n->role = RB_NODE_UNLAUNCHED;
}

void rb_controller_free_nodes(struct rb_controller *c)
{
    for (int i = 0; i < rb_controller_n_launches(c); i++) {
        struct rb_run_node *n = rb_controller_launch_at(c, i);
        rb_controller_disarm(c, &n->retry_timer);
        rb_controller_disarm(c, &n->leave_timer);
        rb_silence_end(&n->boot);
        free(n);
    }
    free(c->nodes);
    free(c->superseded);
}

bool rb_run_node_has_row(const struct rb_run_node *n)
{
    return n->role != RB_NODE_UNLAUNCHED;
}

bool rb_run_node_is_wanted(const struct rb_run_node *n)
{
    return n->role != RB_NODE_SUPERSEDED && n->id < rb_engine_n_nodes(n->c->engine) &&
           rb_engine_node(n->c->engine, n->id)->state != RB_OWNED_ENDED;
}

static bool is_between(const struct rb_run_node *n, enum rb_launch_state from, enum rb_launch_state to)
{
    return rb_run_node_has_row(n) && n->row.state >= from && n->row.state <= to;
}

bool rb_run_node_is_undecided(const struct rb_run_node *n)
{
    return is_between(n, RB_LAUNCH_INTENT, RB_LAUNCH_AMBIGUOUS);
}

bool rb_run_node_exists(const struct rb_run_node *n)
{
    return is_between(n, RB_LAUNCH_ACKED, RB_LAUNCH_READY);
}

bool rb_run_node_has_ended(const struct rb_run_node *n)
{
    return is_between(n, RB_LAUNCH_GONE, RB_LAUNCH_GONE) || is_between(n, RB_LAUNCH_REFUSED, RB_LAUNCH_REFUSED);
}

bool rb_run_node_is_local(const struct rb_run_node *n)
{
    return rb_infra_within(n->row.infra, "local");
}

int rb_controller_infra_of(const struct rb_controller *c, const char *infra)
{
    for (int i = 0; i < c->config.n_places; i++)
        if (rb_infra_within(infra, c->config.places[i].infra))
            return i;
    return -1;
}

const struct rb_run_place *rb_run_node_place(const struct rb_run_node *n)
{
    return &n->c->config.places[rb_controller_infra_of(n->c, n->row.infra)];
}

struct rb_provider *rb_run_node_provider(const struct rb_run_node *n)
{
    return rb_run_node_place(n)->provider;
}

void rb_run_node_enter(struct rb_run_node *n, enum rb_launch_state state)
{
    const int64_t now_us = rb_controller_now_us(n->c);
    RB_ENTER(rb_launch_states, n->row.state, state);
    if (state == RB_LAUNCH_RUNNING)
        n->row.running_us = now_us;
    else if (state == RB_LAUNCH_READY)
        n->row.ready_us = now_us;
    else if (state == RB_LAUNCH_GONE)
        n->row.gone_us = now_us;
    if (!rb_run_node_exists(n))
        rb_silence_end(&n->boot);
}

bool rb_run_node_write(struct rb_run_node *n)
{
    struct rb_err err;
    return !n->c->dead && rb_controller_wrote(n->c, rb_journal_launch(n->c->journal, &n->row, &err), &err);
}

// A fault of the job or of the image would repeat itself: after a few nodes the run stops.
void rb_run_node_fail_boot(struct rb_run_node *n, const struct rb_err *err)
{
    struct rb_controller *c = n->c;
    struct rb_err copy_of = *err;
    if (++c->boot_failures >= RB_CONTROLLER_BOOT_FAILURES) {
        rb_err_prefix(&copy_of, "%d nodes in a row never became ready; the last one", c->boot_failures);
        rb_controller_fail_run(c, &copy_of);
    }
    if (rb_run_node_exists(n))
        rb_run_node_lose(n, err->message);
}

// Explains how far it came, and what the user can do.
static void explain_late(const struct rb_run_node *n, struct rb_err *err)
{
    char patience[32];
    rb_format_duration(rb_run_node_place(n)->boot_timeout_us, patience);
    if (n->held_us >= 0)
        rb_err_set(err, RB_E_NODE_NOT_READY, "%s %s has its machine, and did not start within %s: %s", n->row.infra,
                   n->row.instance_type,
                   rb_format_duration(rb_run_node_place(n)->held_timeout_us, patience), n->waits_for);
    else if (n->row.state == RB_LAUNCH_ACKED)
        rb_err_set(err, RB_E_NODE_NOT_READY,
                   "%s %s did not run within %s of its launch%s%s: plan with other resources.instance_types or "
                   "resources.infra, or resume later",
                   n->row.infra, n->row.instance_type, patience, n->waits_for[0] ? ": " : "", n->waits_for);
    else if (!n->row.address[0])
        rb_err_set(err, RB_E_NODE_NOT_READY,
                   "it runs, and has no address within %s of its launch: choose resources.subnets that give their "
                   "instances one",
                   patience);
    else
        rb_err_set(err, RB_E_NODE_NOT_READY, "it runs at %s, and was not ready within %s of its launch: %s",
                   n->row.address, patience, n->waits_for[0] ? n->waits_for : "ssh has not ended its first try");
}

static void boot_timeout(void *arg)
{
    struct rb_run_node *n = arg;
    struct rb_err err = {0};
    if (rb_run_node_is_cut_off(n)) { // it cannot show that it is ready
        rb_run_node_await_ready(n);
        return;
    }
    if (n->row.state == RB_LAUNCH_ACKED || n->row.state == RB_LAUNCH_RUNNING) {
        explain_late(n, &err);
        rb_run_node_fail_boot(n, &err);
    } else if (n->row.state == RB_LAUNCH_READY && n->link != RB_LINK_PREPARED) {
        rb_err_set(&err, RB_E_NODE_LOST, "it cannot be reached again%s%s", n->waits_for[0] ? ": " : "", n->waits_for);
        rb_run_node_lose(n, err.message);
    }
}

// A restarted controller gives a node a while to answer, even if its time is over or it was ready once: the launcher
// never stops trying.
void rb_run_node_await_ready(struct rb_run_node *n)
{
    const struct rb_run_place *place = rb_run_node_place(n);
    const int64_t until_us = n->held_us >= 0 ? n->held_us + place->held_timeout_us
                                             : n->row.intent_us + place->boot_timeout_us;
    const int64_t left_us = n->row.state == RB_LAUNCH_READY ? 0 : until_us - rb_controller_now_us(n->c);
    const int64_t least_us = RB_CONTROLLER_REACH_S * RB_US_PER_S;
    rb_silence_begin(&n->boot, n->c->config.loop, left_us > least_us ? left_us : least_us, boot_timeout, n);
}

// How many the node must have. A slot of CPUs needs none, whatever the machine has.
int rb_run_node_gpus_on(const struct rb_offer *o)
{
    return rb_accelerator_is_cpu(o->accelerator) ? 0 : o->gpus;
}

void rb_run_node_prepare(struct rb_run_node *n)
{
    struct rb_controller *c = n->c;
    const struct rb_run_place *place = rb_run_node_place(n);
    if (n->link != RB_LINK_NONE || (place->gives_birth && !n->row.address[0]))
        return;
    RB_ENTER(rb_link_states, n->link, RB_LINK_PREPARING);
    n->waits_for[0] = '\0';
    n->fetching = false;
    n->data_us = 0;
    const struct rb_launch_node node = {
        .node = n->id,
        .infra = n->row.infra,
        .instance_id = n->row.instance_id,
        .address = n->row.address,
        .user = c->config.ssh_user,
        .port = c->config.ssh_port,
        .host_key = n->row.host_key,
        .gpus = rb_run_node_gpus_on(&c->config.plan->offers[n->row.offer]),
        .transport = place->transport,
    };
    c->launcher->ops->prepare(c->launcher, &node);
}

void rb_run_node_waiting(void *ctx, int node, const char *why)
{
    struct rb_run_node *n = rb_run_node_at(ctx, node);
    snprintf(n->waits_for, sizeof n->waits_for, "%s", why);
}

// While data comes the boot's patience rests: the deadline and the budget decide when it takes too long.
void rb_run_node_fetching(void *ctx, int node, bool on)
{
    struct rb_controller *c = ctx;
    struct rb_run_node *n = rb_run_node_at(c, node);
    n->fetching = on;
    if (c->dead || n->link != RB_LINK_PREPARING)
        return;
    if (!on) {
        rb_run_node_await_ready(n);
        return;
    }
    rb_silence_end(&n->boot);
    c->launcher->ops->heartbeat(c->launcher, n->id, RB_CONTROLLER_DEAD_MAN_S);
}

void rb_run_node_fetched(void *ctx, int node, int64_t us)
{
    rb_run_node_at(ctx, node)->data_us = us;
}

void rb_run_node_pulled(void *ctx, int node, int64_t us)
{
    rb_run_node_at(ctx, node)->pull_us = us;
}

void rb_run_node_prepared(void *ctx, int node, const struct rb_err *err)
{
    struct rb_controller *c = ctx;
    struct rb_run_node *n = rb_run_node_at(c, node);
    if (c->dead || n->link != RB_LINK_PREPARING)
        return;
    RB_ENTER(rb_link_states, n->link, err ? RB_LINK_NONE : RB_LINK_PREPARED);
    if (err && n->row.state == RB_LAUNCH_TERMINATING) { // its processes cannot be reached: they were local and are gone
        rb_run_node_close_tasks(c, n->id);
        rb_run_node_terminate(n);
        return;
    }
    if (err) {
        rb_run_node_fail_boot(n, err);
        return;
    }
    rb_silence_end(&n->boot);
    c->launcher->ops->heartbeat(c->launcher, n->id, RB_CONTROLLER_DEAD_MAN_S);
    if (n->row.state != RB_LAUNCH_RUNNING) { // reached again after our restart
        rb_controller_start_tasks(c);
        return;
    }
    c->boot_failures = 0;
    rb_run_node_enter(n, RB_LAUNCH_READY);
    if (rb_controller_begin(c) && rb_run_node_write(n))
        rb_controller_turn(c, (struct rb_event){.kind = RB_EVENT_NODE_READY,
                                               .node = n->id,
                                               .attempt = n->row.attempt,
                                               .data_us = n->data_us,
                                               .pull_us = n->pull_us});
}

bool rb_run_node_record_end(struct rb_controller *c, struct rb_run_node *n)
{
    const bool unsent = rb_run_node_is_undecided(n) && n->row.state == RB_LAUNCH_INTENT;
    if (!unsent && !rb_run_node_exists(n))
        return true; // already refused or ending, or its answer is still to come
    rb_run_node_enter(n, unsent ? RB_LAUNCH_REFUSED : RB_LAUNCH_TERMINATING);
    if (unsent && n->gang && !rb_run_gang_find(n->gang, rb_run_node_is_undecided))
        rb_run_gang_drop_user_data(n->gang);
    n->row.terminate_us = rb_controller_now_us(c);
    n->tries = 0;
    return rb_run_node_write(n);
}

static void unlink_launcher(struct rb_run_node *n)
{
    if (n->link == RB_LINK_NONE)
        return;
    n->c->launcher->ops->forget(n->c->launcher, n->id);
    RB_ENTER(rb_link_states, n->link, RB_LINK_NONE);
}

static void end_again(void *arg)
{
    struct rb_run_node *n = arg;
    n->retry_timer = 0;
    rb_run_node_terminate(n);
}

// The worst case: the instance costs money, and we may not end it. The controller keeps asking.
static void alarm_denied(struct rb_run_node *n, const struct rb_err *err)
{
    if (!rb_controller_says_first(&n->said, RB_SAID_END_DENIED))
        return;
    rb_controller_note(n->c, "warning",
                       "node %d: the cloud REFUSES to end %s in %s (%s); it keeps costing money: give back the "
                       "permission or end it by hand; asking again until it is gone",
                       n->id, n->row.instance_id, n->row.infra, err->message);
}

static void end_answered(void *arg, const struct rb_err *err)
{
    struct rb_run_call *call = arg;
    struct rb_controller *c = call->c;
    struct rb_run_node *n = call->node;
    rb_run_call_end(call);
    if (c->dead || n->row.state != RB_LAUNCH_TERMINATING)
        return;
    if (rb_run_node_is_local(n) && (!err || err->code == RB_ERR_NOT_FOUND)) { // not found: after a restart
        rb_run_node_record_gone(n, "");
        rb_controller_check_over(c);
        return;
    }
    if (!err)
        RB_ENTER(rb_end_states, n->end, RB_END_ACCEPTED);
    else if (n->end != RB_END_ACCEPTED)
        RB_ENTER(rb_end_states, n->end, err->code == RB_ERR_NOT_FOUND ? RB_END_NOT_FOUND : RB_END_UNCONFIRMED);
    if (err && (err->code == RB_ERR_DENIED || err->code == RB_ERR_INVALID))
        alarm_denied(n, err);
    if (!err && n->row.terminated_unix_us < 0) { // billing ends with the acceptance
        n->row.terminated_unix_us = rb_run_node_estimate_end(n);
        if (!rb_run_node_write(n))
            return;
    }
    // Again until it is seen to have ended: an accepted request may be lost too.
    rb_controller_arm(c, &n->retry_timer, rb_backoff_us(n->tries++ + (err ? 0 : 5)), end_again, n);
}

void rb_run_node_terminate(struct rb_run_node *n)
{
    struct rb_controller *c = n->c;
    if (c->dead || n->row.state != RB_LAUNCH_TERMINATING || rb_run_call_is_open(n, RB_CALL_TERMINATE))
        return;
    if (rb_run_node_is_local(n) && rb_run_node_has_tasks(c, n->id)) {
        rb_run_node_prepare(n); // it costs nothing: its processes end first, and rb_run_task_killed calls this again
        return;
    }
    unlink_launcher(n);
    struct rb_provider *p = rb_run_node_provider(n);
    p->ops->terminate(p, n->row.instance_id, end_answered, rb_run_call_begin(c, RB_CALL_TERMINATE, n, -1));
}

void rb_run_node_record_gone(struct rb_run_node *n, const char *why)
{
    struct rb_controller *c = n->c;
    const bool lost = rb_run_node_exists(n);
    unlink_launcher(n);
    rb_run_node_enter(n, RB_LAUNCH_GONE);
    rb_run_node_bill(n);
    rb_controller_disarm(c, &n->retry_timer);
    if (!lost) {
        if (!rb_run_node_write(n))
            return;
        if (n->role != RB_NODE_SUPERSEDED) // the node of that number has another launch now
            rb_run_node_close_tasks(c, n->id);
        rb_controller_start_tasks(c);
        return;
    }
    if (!rb_controller_begin(c))
        return;
    rb_controller_note(c, "fault", "node %d (%s): lost: %s", n->id, n->row.instance_id, why);
    c->offers[n->row.offer].lost_us = rb_controller_now_us(c);
    rb_run_node_drop_tasks(c, n->id);
    if (rb_run_node_write(n))
        rb_controller_turn(c, (struct rb_event){.kind = RB_EVENT_NODE_LOST, .node = n->id, .attempt = n->row.attempt});
}

void rb_run_node_lose(struct rb_run_node *n, const char *why)
{
    struct rb_controller *c = n->c;
    if (!rb_controller_begin(c))
        return;
    rb_controller_note(c, "fault", "node %d (%s): lost: %s", n->id, n->row.instance_id, why);
    if (!c->off_spot)
        c->offers[n->row.offer].lost_us = rb_controller_now_us(c);
    rb_run_node_drop_tasks(c, n->id);
    if (!rb_run_node_record_end(c, n))
        return;
    rb_controller_turn(c, (struct rb_event){.kind = RB_EVENT_NODE_LOST, .node = n->id, .attempt = n->row.attempt});
    rb_run_node_terminate(n);
}

// As after a restart: its processes continue, and are followed from their first line once the node answers.
static void reach_again(struct rb_run_node *n)
{
    struct rb_controller *c = n->c;
    RB_AUTO(rb_buf_finish) struct rb_buf switches = RB_BUF_INIT;
    rb_controller_describe_switches(c, &switches);
    if (rb_controller_says_first(&c->said, RB_SAID_CUT_OFF))
        rb_controller_tell(c, RB_NOTICE_CUT_OFF, "warning",
                           "neither node %d nor %s answers: is this machine's network gone? Waiting for it; trials "
                           "go on meanwhile, and %s",
                           n->id, n->row.infra, rb_buf_str(&switches));
    unlink_launcher(n);
    rb_run_node_prepare(n);
    rb_run_node_await_ready(n);
}

void rb_run_node_unreachable(void *ctx, int node, const char *why)
{
    struct rb_controller *c = ctx;
    struct rb_run_node *n = rb_run_node_at(c, node);
    struct rb_err err = {0};
    rb_err_set(&err, RB_E_NODE_LOST, "it can no longer be reached: %s", why);
    if (c->dead || !rb_run_node_exists(n))
        return;
    if (n->row.state == RB_LAUNCH_READY && rb_run_node_is_cut_off(n) && rb_run_node_unfollow_tasks(c, node))
        reach_again(n);
    else
        rb_run_node_lose(n, err.message);
}

// The node is replaced, and the trial starts elsewhere without having failed. What fits on no node will fit on none later: the
// run stops, and its trials are as they were.
void rb_run_node_no_room(void *ctx, int node, int trial, const char *why)
{
    struct rb_controller *c = ctx;
    struct rb_run_node *n = rb_run_node_at(c, node);
    struct rb_err err = {0};
    if (c->dead || !rb_run_node_exists(n))
        return;
    rb_err_set(&err, RB_E_NODE_NO_ROOM, "its disk does not take what trial %d needs there: %s", trial, why);
    if (++rb_run_trial_at(c, trial)->full_nodes >= RB_CONTROLLER_FULL_NODES) {
        struct rb_err last = err;
        rb_err_prefix(&last, "%d nodes in a row had no room for trial %d: make room on such machines and resume, or plan with a "
                      "larger resources.disk_size or other instance types; the last one, node %d (%s)",
                      RB_CONTROLLER_FULL_NODES, trial, node, n->row.instance_id);
        rb_controller_fail_run(c, &last);
    }
    if (rb_run_node_exists(n))
        rb_run_node_lose(n, err.message);
}

bool rb_controller_nodes_are_over(const struct rb_controller *c)
{
    for (int i = 0; i < c->n_gangs; i++)
        if (rb_run_gang_is_called(c->gangs[i])) // a listing was faster; the call may still launch something
            return false;
    for (int i = 0; i < rb_controller_n_launches(c); i++) {
        const struct rb_run_node *n = rb_controller_launch_at(c, i);
        if (rb_run_node_has_row(n) && !rb_run_node_has_ended(n))
            return false;
    }
    return true;
}
