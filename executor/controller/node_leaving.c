// Nodes that must go: their trials save and give way, and nothing more is started there. A spot node whose cloud has given
// notice is then lost like any other; others are vacated and ended by us. Nothing is journalled: a node that is followed
// again gives the notice again, and a reservation's end is in the plan.
#include "executor/controller/controller_private.h"

#include "profiles/catalog/reservation.h"

#include <inttypes.h>

enum { LOOK_US = 200000 }; // at nodes whose trials give way

bool rb_run_task_is_leaving(const struct rb_run_task *t, int64_t *out_left_us, const char **out_reason)
{
    for (int i = 0; i < t->row.n_slots; i++) {
        const struct rb_run_node *n = t->c->nodes[t->row.slots[i].node];
        *out_left_us = n->leaves_at_us - rb_controller_now_us(t->c);
        *out_reason = t->c->config.plan->offers[n->row.offer].reservation ? "reservation_ends" : "preempted";
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
    n->let_go = false;
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

// ---- nodes that are vacated

void rb_run_node_let_go(struct rb_run_node *n)
{
    const struct rb_controller *c = n->c;
    if (c->dead || n->let_go || n->leaves_at_us == 0 || n->link != RB_LINK_PREPARED || rb_run_node_task(n, NULL))
        return;
    n->let_go = true;
    c->launcher->ops->heartbeat(c->launcher, n->id, RB_CONTROLLER_LET_GO_S);
}

static bool is_on(const struct rb_run_task *t, const struct rb_run_node *n)
{
    for (int k = 0; k < t->row.n_slots; k++)
        if (t->row.slots[k].node == n->id && t->process != RB_PROCESS_ORDERED)
            return true;
    return false;
}

const struct rb_run_task *rb_run_node_task(const struct rb_run_node *n, bool (*is)(const struct rb_run_task *t))
{
    for (int i = 0; i < n->c->n_tasks; i++)
        if (is_on(n->c->tasks[i], n) && (!is || is(n->c->tasks[i])))
            return n->c->tasks[i];
    return NULL;
}

static bool gives_way(const struct rb_run_task *t)
{
    return t->process == RB_PROCESS_YIELDING || t->process == RB_PROCESS_SAVING;
}

static bool may_be_killed(const struct rb_run_task *t)
{
    return t->row.state == RB_TASK_INTENT && t->process != RB_PROCESS_KILLING;
}

static enum rb_market market_of(const struct rb_run_node *n)
{
    return n->c->config.plan->offers[n->row.offer].market;
}

static void stay_on_demand(struct rb_run_node *n)
{
    n->leaves_at_us = 0;
    n->said |= RB_SAID_STAYS;
    rb_controller_note(n->c, "spot", "node %d: stays on demand: a trial on it does not save and give way", n->id);
    rb_controller_start_tasks(n->c);
}

// Its trials give way or are killed; once no process is left there, it is ended and replaced. To go back to spot nothing is
// killed: the node stays.
static void leave(void *arg)
{
    static const char *const why[] = {
        [RB_MARKET_ON_DEMAND] = "it gives way to one on spot (resources.spot: safe)",
        [RB_MARKET_SPOT] = "it gives way to one on demand (resources.spot: safe)",
        [RB_MARKET_RESERVED] = "its reservation ends",
    };
    struct rb_run_node *n = arg;
    struct rb_controller *c = n->c;
    const struct rb_run_task *t;
    const enum rb_market from = market_of(n);
    n->leave_timer = 0;
    if (c->dead || !rb_run_node_exists(n))
        return;
    const bool waits = rb_run_node_task(n, gives_way) && rb_controller_now_us(c) < n->leaves_at_us;
    if (!waits && from == RB_MARKET_ON_DEMAND && rb_run_node_task(n, may_be_killed)) {
        stay_on_demand(n);
        return;
    }
    while (!waits && (t = rb_run_node_task(n, may_be_killed)) && rb_controller_begin(c))
        rb_run_task_give_up(rb_run_task_find(c, t->row.trial, t->row.start), RB_OUTCOME_EVICTED);
    if (c->dead || !rb_run_node_exists(n))
        return;
    if (rb_run_node_task(n, NULL)) {
        rb_controller_arm(c, &n->leave_timer, LOOK_US, leave, n);
        return;
    }
    c->off_spot = from == RB_MARKET_SPOT;
    rb_run_node_lose(n, why[from]);
    c->off_spot = false;
}

void rb_run_node_vacate(struct rb_run_node *n, int64_t at_us)
{
    struct rb_controller *c = n->c;
    n->leaves_at_us = at_us;
    for (int i = 0; i < c->n_tasks && !c->dead; i++)
        rb_run_task_yield(c->tasks[i]);
    rb_controller_arm(c, &n->leave_timer, LOOK_US, leave, n);
}

// ---- reservations

static const struct rb_reservation *reservation_of(const struct rb_run_node *n)
{
    return n->c->config.plan->offers[n->row.offer].reservation;
}

static bool must_go(const struct rb_run_node *n)
{
    const struct rb_reservation *r = reservation_of(n);
    return r && rb_run_node_is_wanted(n) && !rb_run_node_has_ended(n) && n->leaves_at_us == 0 &&
           rb_controller_now_us(n->c) >= rb_reservation_notice_at_us(r);
}

static void end_with_reservation(struct rb_run_node *n)
{
    const struct rb_reservation *r = reservation_of(n);
    char left[32];
    rb_format_duration(r->closes_us > rb_controller_now_us(n->c) ? r->closes_us - rb_controller_now_us(n->c) : 0, left);
    rb_controller_note(n->c, "warning",
                       "node %d (%s): reservation %s ends, and it has %s left: its trials save and give way if they look for "
                       "RB_PREEMPT_FILE, and it is replaced",
                       n->id, n->row.instance_id, r->id, left);
    rb_run_node_vacate(n, r->closes_us);
}

static void review(void *arg)
{
    struct rb_controller *c = arg;
    c->reservation_timer = 0;
    for (int i = 0; i < c->n_nodes && !c->dead && rb_controller_running(c); i++)
        if (must_go(c->nodes[i]) && rb_run_node_exists(c->nodes[i]))
            end_with_reservation(c->nodes[i]);
    rb_controller_review_reservations(c);
}

// A request that is still under way may yet bring a node.
static bool awaits_any(const struct rb_controller *c)
{
    bool any = false;
    for (int i = 0; i < c->n_nodes && !any; i++)
        any = must_go(c->nodes[i]);
    return any;
}

void rb_controller_review_reservations(struct rb_controller *c)
{
    const int64_t now_us = rb_controller_now_us(c);
    int64_t next_us = awaits_any(c) ? now_us + c->config.poll_us : INT64_MAX;
    for (int i = 0; i < c->config.plan->n_offers; i++) {
        const struct rb_reservation *r = c->config.plan->offers[i].reservation;
        const int64_t at_us = r ? rb_reservation_notice_at_us(r) : INT64_MAX;
        if (at_us > now_us && at_us < next_us)
            next_us = at_us;
    }
    if (next_us < INT64_MAX && !c->dead && c->phase != RB_PHASE_OVER)
        rb_controller_arm(c, &c->reservation_timer, next_us - now_us, review, c);
}
