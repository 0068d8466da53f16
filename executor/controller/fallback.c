// Chooses the offer of a launch: the plan's, or a stand-in while that is sold out. A refusal counts for all nodes for a
// while. Requesting the next offer costs no retry; finding every offer sold out costs one, and a pause.
#include "executor/controller/controller_private.h"

#include "base/backoff.h"
#include "engine/plan/stand_in.h"
#include "profiles/catalog/reservation.h"
#include "providers/wire/digest.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int planned_offer(const struct rb_run_node *n)
{
    return rb_engine_node(n->c->engine, n->id)->offer;
}

static void describe(const struct rb_plan *plan, int offer, struct rb_buf *out)
{
    const struct rb_offer *o = &plan->offers[offer];
    rb_buf_printf(out, "%s %s (%s)", o->infra, o->instance_type, rb_market_name(o->market));
}

static void note_offer(struct rb_controller *c, int offer, const char *what, const char *why)
{
    RB_AUTO(rb_buf_finish) struct rb_buf name = RB_BUF_INIT;
    describe(c->config.plan, offer, &name);
    rb_controller_note(c, "warning", "%s %s: %s", rb_buf_str(&name), what, why);
}

static void reject_offer(struct rb_controller *c, int offer, const char *why)
{
    c->offers[offer].state = RB_OFFER_REJECTED;
    note_offer(c, offer, "does not stand in for the rest of this run", why);
}

// Only for stand-ins: without money for the plan's own offer, its launch stops the run.
static bool can_be_paid(struct rb_controller *c, int offer, int count)
{
    struct rb_billing billing;
    struct rb_err err = {0};
    if (!rb_spend_billing(c->config.plan, offer, &billing, &err)) {
        reject_offer(c, offer, err.message);
        return false;
    }
    const bool paid = rb_controller_within_budget(c, count * rb_bill_least_uusd(&billing));
    if (!paid && c->offers[offer].state != RB_OFFER_TOO_EXPENSIVE)
        note_offer(c, offer, "is skipped", "the rest of the budget does not pay for it");
    c->offers[offer].state = paid ? RB_OFFER_USABLE : RB_OFFER_TOO_EXPENSIVE;
    return paid;
}

// Of one node, or of a gang's leader.
struct asking {
    struct rb_controller *c;
    int count; // nodes to pay for
};

// When a node of ours last left a place in the offer's reservation; INT64_MAX: one is being ended, and its place is free soon.
// -1: none did.
static int64_t left_us(const struct rb_controller *c, int offer)
{
    int64_t last_us = -1;
    for (int i = 0; c->config.plan->offers[offer].reservation && i < rb_controller_n_launches(c); i++) {
        const struct rb_launch_row *row = &rb_controller_launch_at(c, i)->row;
        if (!rb_run_node_has_row(rb_controller_launch_at(c, i)) || row->offer != offer)
            continue;
        if (row->state == RB_LAUNCH_TERMINATING && rb_controller_now_us(c) - row->terminate_us < RB_SOLD_OUT_US)
            return INT64_MAX;
        last_us = row->gone_us > last_us ? row->gone_us : last_us;
    }
    return last_us;
}

// What refused while it was full of our own nodes has room since one of them left.
static int64_t sold_out_us(void *ctx, int offer)
{
    const struct asking *a = ctx;
    const int64_t at_us = a->c->offers[offer].sold_out_us;
    return at_us < left_us(a->c, offer) ? -1 : at_us;
}

static bool may_ask(void *ctx, int offer, int k)
{
    const struct asking *a = ctx;
    return a->c->offers[offer].state != RB_OFFER_REJECTED && (k == 0 || can_be_paid(a->c, offer, a->count));
}

static struct rb_on_sale on_sale(const struct rb_run_node *n, struct asking *a)
{
    return (struct rb_on_sale){
        .plan = n->c->config.plan,
        .now_us = rb_controller_now_us(n->c),
        .paused_us = n->exhausted_us,
        .sold_out_us = sold_out_us,
        .may_ask = may_ask,
        .ctx = a,
    };
}

bool rb_run_node_can_have(const struct rb_run_node *n, int offer, int count)
{
    struct asking a = {n->c, count};
    const struct rb_on_sale m = on_sale(n, &a);
    return !rb_offer_is_sold_out(&m, offer) && may_ask(&a, offer, 1);
}

int rb_run_node_choose_offer(struct rb_run_node *n, int count)
{
    const struct rb_on_sale m = on_sale(n, &(struct asking){n->c, count});
    const bool is_paid_for = n->c->config.plan->offers[planned_offer(n)].reservation && !rb_offer_is_sold_out(&m, planned_offer(n));
    const int spot = is_paid_for ? -1 : rb_run_node_choose_spot(n, count);
    if (spot >= 0)
        return spot;
    return rb_offer_to_ask(&m, planned_offer(n));
}

void rb_run_gang_note_stand_in(const struct rb_run_gang *g)
{
    struct rb_controller *c = g->c;
    const struct rb_run_node *n = g->members[0];
    const bool is_safe_spot = c->config.chooser && c->config.plan->offers[n->row.offer].market == RB_MARKET_SPOT;
    RB_AUTO(rb_buf_finish) struct rb_buf planned = RB_BUF_INIT, chosen = RB_BUF_INIT;
    if (n->row.offer == planned_offer(n) || is_safe_spot) // the latter has a note of its own
        return;
    describe(c->config.plan, planned_offer(n), &planned);
    describe(c->config.plan, n->row.offer, &chosen);
    rb_run_gang_note(g, "warning", "%s stands in for %s", rb_buf_str(&chosen), rb_buf_str(&planned));
}

bool rb_run_gang_is_stand_in(const struct rb_run_gang *g)
{
    return rb_run_gang_find(g, rb_run_node_is_wanted) && g->members[0]->row.offer != planned_offer(g->members[0]);
}

void rb_controller_mark_sold_out(struct rb_controller *c, int offer, int64_t at_us)
{
    if (c->offers[offer].sold_out_us < at_us)
        c->offers[offer].sold_out_us = at_us;
}

void rb_run_gang_reject_offer(struct rb_run_gang *g, const struct rb_err *err)
{
    reject_offer(g->c, g->members[0]->row.offer, err->message);
    rb_run_gang_refused(g);
}

// Where a cloud accepts launches that it then has no machine for, nothing counts refusals: the same patience as for nodes
// that never become ready.
void rb_run_node_was_sold_out(struct rb_run_node *n, const char *why)
{
    struct rb_controller *c = n->c;
    struct rb_err err = {0};
    const struct rb_on_sale m = on_sale(n, &(struct asking){c, 1});
    rb_controller_mark_sold_out(c, n->row.offer, rb_controller_now_us(c));
    if (!rb_run_node_is_wanted(n) || rb_offer_on_sale(&m, planned_offer(n)) >= 0 || ++c->boot_failures < RB_CONTROLLER_BOOT_FAILURES)
        return;
    rb_err_set(&err, RB_E_CAPACITY, "%d nodes in a row got no machine; the last one: %.300s", c->boot_failures, why);
    rb_controller_fail_run(c, &err);
}

// The number of this node's refused launches of the offer.
static int refusals_by(const struct rb_run_node *n, int offer)
{
    int count = 0;
    for (int i = 0; i < rb_controller_n_launches(n->c); i++) {
        const struct rb_run_node *l = rb_controller_launch_at(n->c, i);
        count += rb_run_node_has_row(l) && l->id == n->id && l->row.attempt >= 0 && l->row.offer == offer &&
                 l->row.state == RB_LAUNCH_REFUSED && l->row.terminate_us < 0;
    }
    return count;
}

int rb_run_node_pauses_before(const struct rb_run_node *n)
{
    int most = 0;
    for (int k = 0, offer; (offer = rb_stand_in(n->c->config.plan, planned_offer(n), k)) >= 0; k++) {
        const bool last = n->row.state == RB_LAUNCH_REFUSED && n->row.offer == offer; // of the present round
        const int refusals = refusals_by(n, offer) - last;
        most = refusals > most ? refusals : most;
    }
    return most;
}

// Names every offer that was requested, and how often.
static void give_up(const struct rb_run_gang *g)
{
    struct rb_controller *c = g->c;
    const struct rb_run_node *n = g->members[0];
    RB_AUTO(rb_buf_finish) struct rb_buf name = RB_BUF_INIT, asked = RB_BUF_INIT;
    struct rb_err err = {0};
    rb_run_gang_name(g, &name);
    for (int k = 0, offer; (offer = rb_stand_in(c->config.plan, planned_offer(n), k)) >= 0; k++) {
        const int refusals = refusals_by(n, offer);
        if (refusals == 0 && c->offers[offer].sold_out_us < 0) // rejected, or too expensive
            continue;
        rb_buf_puts(&asked, asked.len ? ", " : "");
        describe(c->config.plan, offer, &asked);
    }
    rb_err_set(&err, RB_E_CAPACITY,
               "no capacity for %.60s after %d tries; sold out: %.480s; resume later, or plan with other "
               "resources.instance_types or resources.infra",
               rb_buf_str(&name), n->retries, rb_buf_str(&asked));
    rb_controller_fail_run(c, &err);
}

// Full jitter, so that the nodes of a run do not retry at the same time. Drawn from the node's name, so that a run in
// virtual time can be repeated.
static int64_t pause_us(const struct rb_run_node *n)
{
    RB_AUTO(rb_buf_finish) struct rb_buf name = RB_BUF_INIT;
    char digest[65];
    uint32_t draw;
    rb_buf_printf(&name, "%s|%d|%d", n->c->config.run_id, n->id, n->retries);
    rb_digest_sha256(rb_buf_str(&name), name.len, digest);
    digest[8] = '\0';
    sscanf(digest, "%" SCNx32, &draw);
    return rb_backoff_jittered_us(n->retries - 1, draw);
}

static void report_refused(void *arg)
{
    struct rb_run_gang *g = arg;
    struct rb_event *events = rb_xcalloc((size_t)g->n, sizeof *events);
    int n = 0;
    g->timer = 0;
    for (int i = 0; i < g->n; i++) {
        const struct rb_run_node *m = g->members[i];
        if (rb_run_node_is_wanted(m) && m->row.state == RB_LAUNCH_REFUSED)
            events[n++] = (struct rb_event){.kind = RB_EVENT_NODE_REFUSED, .node = m->id, .attempt = m->row.attempt};
    }
    if (n > 0)
        rb_controller_turns(g->c, events, n);
    free(events);
}

static bool has_place_soon(const struct rb_run_gang *g)
{
    return left_us(g->c, g->members[0]->row.offer) == INT64_MAX;
}

static void await_place(void *arg)
{
    struct rb_run_gang *g = arg;
    g->timer = 0;
    if (has_place_soon(g) && rb_run_gang_find(g, rb_run_node_is_wanted))
        rb_controller_arm(g->c, &g->timer, g->c->config.poll_us, await_place, g);
    else
        rb_run_gang_refused(g);
}

// A gang waits together for one offer that has room for all of it.
void rb_run_gang_refused(struct rb_run_gang *g)
{
    struct rb_controller *c = g->c;
    struct rb_run_node *leader = g->members[0];
    if (!rb_run_gang_find(g, rb_run_node_is_wanted))
        return;
    if (has_place_soon(g)) { // it is paid for: a stand-in is not
        rb_run_gang_note(g, "warning", "waiting until an earlier node has left its place in reservation %s",
                         c->config.plan->offers[leader->row.offer].reservation->id);
        await_place(g);
        return;
    }
    const int64_t wait_us = rb_run_node_waits_for_spot(leader, g->n);
    if (wait_us > 0) {
        for (int i = 0; i < g->n; i++)
            g->members[i]->exhausted_us = rb_controller_now_us(c);
        rb_controller_arm(c, &g->timer, wait_us, report_refused, g);
        return;
    }
    const struct rb_on_sale m = on_sale(leader, &(struct asking){c, g->n});
    if (rb_offer_on_sale(&m, planned_offer(leader)) >= 0) {
        rb_controller_arm(c, &g->timer, 0, report_refused, g);
        return;
    }
    for (int i = 0; i < g->n; i++) {
        g->members[i]->retries = leader->retries + (i == 0);
        g->members[i]->exhausted_us = rb_controller_now_us(c);
    }
    if (leader->retries >= c->config.capacity_retries)
        give_up(g);
    else
        rb_controller_arm(c, &g->timer, rb_pause_until_open_us(&m, planned_offer(leader), pause_us(leader)), report_refused,
                          g);
}
