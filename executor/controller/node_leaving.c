// A spot node whose cloud has given notice: its trials save and give way, and nothing more is started there. When it is gone, it is
// lost like any other. Nothing is journalled: a node that is followed again gives the notice again.
#include "executor/controller/controller_private.h"

#include <inttypes.h>

bool rb_run_task_is_leaving(const struct rb_run_task *t, int64_t *out_left_us)
{
    for (int i = 0; i < t->row.n_slots; i++) {
        const struct rb_run_node *n = t->c->nodes[t->row.slots[i].node];
        *out_left_us = n->leaves_at_us - rb_controller_now_us(t->c);
        if (n->leaves_at_us > 0 && *out_left_us > -RB_CONTROLLER_LEAVING_S * RB_US_PER_S)
            return true;
    }
    return false;
}

// It stayed after all.
static void stays(void *arg)
{
    struct rb_run_node *n = arg;
    n->leave_timer = 0;
    n->leaves_at_us = 0;
    rb_controller_start_tasks(n->c);
}

void rb_run_node_leaving(void *ctx, int node, int64_t seconds)
{
    struct rb_controller *c = ctx;
    struct rb_run_node *n = rb_run_node_at(c, node);
    if (c->dead || n->row.state != RB_LAUNCH_READY || n->leaves_at_us > 0)
        return;
    n->leaves_at_us = rb_controller_now_us(c) + seconds * RB_US_PER_S;
    rb_controller_note(c, "warning",
                       "node %d (%s): its cloud takes it back in %" PRId64 " s: its trials save and give way if they look for "
                       "RB_PREEMPT_FILE, and nothing more is started there",
                       n->id, n->row.instance_id, seconds);
    rb_controller_arm(c, &n->leave_timer, (seconds + RB_CONTROLLER_LEAVING_S) * RB_US_PER_S, stays, n);
    for (int i = 0; i < c->n_tasks && !c->dead; i++)
        rb_run_task_yield(c->tasks[i]);
}
