// Timers: wake-ups that the engine requested, the deadline, heartbeats of nodes. Also the records of provider calls.
#include "executor/controller/controller_private.h"

#include <stdlib.h>

void rb_controller_arm(struct rb_controller *c, uint64_t *timer, int64_t delay_us, rb_loop_fn *fn, void *arg)
{
    const struct rb_loop *loop = c->config.loop;
    rb_controller_disarm(c, timer);
    *timer = loop->timer_start(loop->ctx, delay_us > 0 ? delay_us : 0, fn, arg);
}

void rb_controller_disarm(struct rb_controller *c, uint64_t *timer)
{
    if (*timer)
        c->config.loop->timer_cancel(c->config.loop->ctx, *timer);
    *timer = 0;
}

void rb_controller_add_wake(struct rb_controller *c, int64_t at_us)
{
    c->wakes = rb_xrealloc(c->wakes, (size_t)c->n_wakes + 1, sizeof *c->wakes);
    c->wakes[c->n_wakes++] = at_us;
}

static void wake(void *arg)
{
    struct rb_controller *c = arg;
    c->wake_timer = 0;
    const int64_t now = rb_controller_now_us(c);
    int kept = 0;
    for (int i = 0; i < c->n_wakes; i++)
        if (c->wakes[i] > now)
            c->wakes[kept++] = c->wakes[i];
    const bool due = kept < c->n_wakes;
    c->n_wakes = kept;
    if (due)
        rb_controller_turn(c, (struct rb_event){.kind = RB_EVENT_TIME});
    rb_controller_arm_wake(c);
}

void rb_controller_arm_wake(struct rb_controller *c)
{
    int64_t first = INT64_MAX;
    for (int i = 0; i < c->n_wakes; i++)
        first = c->wakes[i] < first ? c->wakes[i] : first;
    if (c->n_wakes > 0 && c->phase != RB_PHASE_OVER)
        rb_controller_arm(c, &c->wake_timer, first - rb_controller_now_us(c), wake, c);
}

static void deadline(void *arg)
{
    struct rb_controller *c = arg;
    c->deadline_timer = 0;
    rb_controller_stop(c, RB_STOP_DEADLINE);
}

void rb_controller_arm_deadline(struct rb_controller *c)
{
    if (c->meta.deadline_us >= 0)
        rb_controller_arm(c, &c->deadline_timer, c->meta.deadline_us - rb_controller_now_us(c), deadline, c);
    rb_controller_arm_last_stretch(c);
}

int64_t rb_controller_last_gap(const struct rb_controller *c, int64_t *out_gap_us)
{
    const struct rb_loop *loop = c->config.loop;
    return loop->back_us ? loop->back_us(loop->ctx, out_gap_us) : INT64_MIN;
}

void rb_controller_notice_gap(struct rb_controller *c)
{
    int64_t gap_us = 0;
    const int64_t back_us = rb_controller_last_gap(c, &gap_us);
    char gap[32];
    if (back_us == c->back_us)
        return;
    c->back_us = back_us;
    rb_controller_note(
        c, "warning",
        "this process did not run for %s (stopped, suspended, or the machine was too busy); trials and nodes "
        "have their full time again to be heard; deadline and budget went on",
        rb_format_duration(gap_us, gap));
    rb_controller_beat(c);
}

void rb_controller_beat(void *arg)
{
    struct rb_controller *c = arg;
    for (int i = 0; i < c->n_nodes; i++) {
        const struct rb_run_node *n = c->nodes[i];
        if ((n->link == RB_LINK_PREPARED && n->row.state == RB_LAUNCH_READY && !n->let_go) ||
            (n->link == RB_LINK_PREPARING && n->fetching))
            c->launcher->ops->heartbeat(c->launcher, i, RB_CONTROLLER_DEAD_MAN_S);
    }
    rb_controller_arm(c, &c->heartbeat_timer, RB_CONTROLLER_HEARTBEAT_S * RB_US_PER_S, rb_controller_beat, c);
}

struct rb_run_call *rb_run_call_begin(struct rb_controller *c, enum rb_run_call_kind kind, struct rb_run_node *node,
                                      int infra)
{
    struct rb_run_call *call = rb_xcalloc(1, sizeof *call);
    *call = (struct rb_run_call){.c = c,
                                 .next = c->calls,
                                 .kind = kind,
                                 .node = node,
                                 .attempt = node ? node->row.attempt : 0,
                                 .infra = infra,
                                 .asked_us = rb_controller_now_us(c)};
    c->calls = call;
    return call;
}

void rb_run_call_end(struct rb_run_call *call)
{
    struct rb_run_call **at = &call->c->calls;
    while (*at != call)
        at = &(*at)->next;
    *at = call->next;
    free(call);
}

void rb_controller_free_calls(struct rb_controller *c)
{
    while (c->calls)
        rb_run_call_end(c->calls);
}

bool rb_run_call_is_open(const struct rb_run_node *n, enum rb_run_call_kind kind)
{
    const struct rb_run_call *call = n->c->calls;
    while (call && (call->node != n || call->kind != kind || call->attempt != n->row.attempt))
        call = call->next;
    return call != NULL;
}
