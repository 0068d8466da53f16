// Nodes under resources.spot: safe: requested on spot, on demand, or after a wait, as config.chooser decides; moved off spot
// once their loss could make the run late, and back to spot where that pays. To move a node, its trials are asked to save
// and give way, then it is ended and asked for again. Off spot, trials that do not give way are killed; for a return to
// spot they are not, and the node stays.
#include "executor/controller/controller_private.h"

#include "engine/plan/stand_in.h"

#include <math.h>
#include <stdlib.h>

enum { LEAST_GRACE_S = 2 };

// --- markets

static bool is_spot(const struct rb_controller *c, int offer)
{
    return c->config.plan->offers[offer].market == RB_MARKET_SPOT;
}

static bool stands_in(const struct rb_plan *plan, int planned, int offer)
{
    for (int k = 1, other; (other = rb_stand_in(plan, planned, k)) >= 0; k++)
        if (other == offer)
            return true;
    return false;
}

// Since when the oldest of our nodes of this offer runs; what is known of a market that we have no node of is that it
// is new.
static double oldest_s(const struct rb_controller *c, int offer)
{
    double oldest = 0;
    for (int i = 0; i < c->n_nodes; i++) {
        const struct rb_run_node *n = c->nodes[i];
        if (rb_run_node_exists(n) && n->row.offer == offer && n->row.running_us >= 0)
            oldest = fmax(oldest, (double)(rb_controller_now_us(c) - n->row.running_us) / RB_US_PER_S);
    }
    return oldest;
}

static double since_s(const struct rb_controller *c, int64_t at_us)
{
    return at_us < 0 ? INFINITY : (double)(rb_controller_now_us(c) - at_us) / RB_US_PER_S;
}

static bool can_have(const struct rb_run_node *n, int offer, int count)
{
    return stands_in(n->c->config.plan, rb_engine_node(n->c->engine, n->id)->offer, offer) &&
           rb_run_node_can_have(n, offer, count);
}

// While the node is on demand. Where no node of ours runs, it was last seen when it refused one or took one back.
static struct rb_market_state seen_from_demand(const struct rb_run_node *n, int offer)
{
    const struct rb_controller *c = n->c;
    const struct rb_run_offer *o = &c->offers[offer];
    const double oldest = oldest_s(c, offer);
    if (oldest > 0 || !can_have(n, offer, 1))
        return (struct rb_market_state){oldest > 0 && can_have(n, offer, 1), oldest, 0};
    return (struct rb_market_state){
        false, 0, since_s(c, o->sold_out_us > o->lost_us ? o->sold_out_us : o->lost_us)};
}

// Of the market of a node that is there, it is the node's own age that counts.
static struct rb_market_state market_state(const struct rb_run_node *n, int offer, enum rb_spot_mode mode, int count)
{
    const struct rb_controller *c = n->c;
    const bool is_its_own = mode == RB_SPOT_ON_SPOT && n->row.offer == offer;
    if (mode == RB_SPOT_ON_DEMAND)
        return seen_from_demand(n, offer);
    if (!is_its_own && !can_have(n, offer, count))
        return (struct rb_market_state){false, fmin(since_s(c, c->offers[offer].sold_out_us), RB_S_PER_HOUR), 0};
    const bool runs = is_its_own && n->row.running_us >= 0; // else it still starts
    return (struct rb_market_state){true, runs ? since_s(c, n->row.running_us) : oldest_s(c, offer), 0};
}

// --- questions

// Twice the longest unit and save so far, as before a deadline: a trial that is asked to give way finishes its unit first.
static double grace_s(const struct rb_controller *c)
{
    return LEAST_GRACE_S + 2 * (double)(c->longest_unit_us + c->longest_save_us) / RB_US_PER_S;
}

// Training since the last save that its trials would begin again with, until the next question and while they give way.
static double unsaved_s(const struct rb_run_node *n)
{
    const struct rb_controller *c = n->c;
    double longest = 0;
    for (int i = 0; i < c->n_tasks; i++) {
        const struct rb_run_task *t = c->tasks[i];
        const int64_t from_us = t->kept_us > 0 ? t->kept_us : t->row.started_us;
        for (int k = 0; k < t->row.n_slots && from_us >= 0; k++)
            if (t->row.slots[k].node == n->id)
                longest = fmax(longest, since_s(c, from_us));
    }
    return longest + (double)c->config.chooser->every_us / RB_US_PER_S + grace_s(c);
}

static enum rb_spot_mode ask(const struct rb_run_node *n, int count, enum rb_spot_mode mode, int *out_offer,
                             struct rb_buf *why)
{
    struct rb_controller *c = n->c;
    const struct rb_plan *plan = c->config.plan;
    RB_AUTO(rb_auto_free) struct rb_market_state *markets = rb_xcalloc((size_t)plan->n_fallbacks + 1, sizeof *markets);
    RB_AUTO(rb_auto_free) double *lost_ago_s = rb_xcalloc((size_t)plan->n_fallbacks + 1, sizeof *lost_ago_s);
    RB_AUTO(rb_auto_free) int *offers = rb_xcalloc((size_t)plan->n_fallbacks + 1, sizeof *offers);
    int64_t spent_uusd, reserved_uusd;
    rb_controller_spend(c, &spent_uusd, &reserved_uusd);
    struct rb_node_question q = {
        .now_us = rb_controller_now_us(c),
        .spent_uusd = spent_uusd + reserved_uusd,
        .deadline_us = c->meta.deadline_us,
        .budget_uusd = c->meta.budget_uusd,
        .count = count,
        .mode = mode,
        .held = -1,
        .unsaved_s = unsaved_s(n),
        .giving_way_s = grace_s(c),
        .markets = markets,
        .lost_ago_s = lost_ago_s,
    };
    int n_markets = 0, market = -1;
    for (int i = 0; i < plan->n_fallbacks; i++) {
        const int offer = plan->fallbacks[i];
        if (!is_spot(c, offer))
            continue;
        if (mode == RB_SPOT_ON_SPOT && offer == n->row.offer)
            q.held = n_markets;
        offers[n_markets] = offer;
        markets[n_markets] = market_state(n, offer, mode, count);
        lost_ago_s[n_markets++] = since_s(c, c->offers[offer].lost_us);
    }
    if (n_markets == 0)
        return RB_SPOT_ON_DEMAND;
    const enum rb_spot_mode to = c->config.chooser->choose(c->config.chooser->ctx, &q, &market, why);
    *out_offer = to == RB_SPOT_ON_SPOT ? offers[market] : -1;
    return to;
}

// --- requests

static void note(const struct rb_run_node *n, const char *what, const struct rb_buf *why)
{
    rb_controller_note(n->c, "spot", "node %d: %s: %s", n->id, what, rb_buf_str(why));
}

// All of them were refused lately and the node is to wait: the one with the oldest refusal is asked, which shows as much.
static int oldest_refusal(const struct rb_run_node *n)
{
    const struct rb_controller *c = n->c;
    int oldest = -1;
    for (int k = 1, offer; (offer = rb_stand_in(c->config.plan, rb_engine_node(c->engine, n->id)->offer, k)) >= 0; k++)
        if (is_spot(c, offer) && c->offers[offer].state == RB_OFFER_USABLE &&
            (oldest < 0 || c->offers[offer].sold_out_us < c->offers[oldest].sold_out_us))
            oldest = offer;
    return oldest;
}

int rb_run_node_choose_spot(struct rb_run_node *n, int count)
{
    RB_AUTO(rb_buf_finish) struct rb_buf why = RB_BUF_INIT;
    int offer = -1;
    if (!n->c->config.chooser || n->c->off_spot)
        return -1;
    const enum rb_spot_mode mode = ask(n, count, RB_SPOT_IDLE, &offer, &why);
    if (mode == RB_SPOT_ON_SPOT)
        note(n, "on spot", &why);
    else if (mode == RB_SPOT_ON_DEMAND && why.len > 0)
        note(n, "on demand", &why);
    return mode == RB_SPOT_IDLE ? oldest_refusal(n) : offer;
}

int64_t rb_run_node_waits_for_spot(struct rb_run_node *n, int count)
{
    RB_AUTO(rb_buf_finish) struct rb_buf why = RB_BUF_INIT;
    int offer;
    if (!n->c->config.chooser || n->c->off_spot || ask(n, count, RB_SPOT_IDLE, &offer, &why) != RB_SPOT_IDLE)
        return 0;
    return n->c->config.chooser->every_us;
}

// --- moves

static bool has_nothing_saved(const struct rb_run_task *t)
{
    return t->last_resource <= t->row.resource_start;
}

static void move(struct rb_run_node *n, const char *where, const struct rb_buf *why)
{
    note(n, where, why);
    rb_run_node_vacate(n, rb_controller_now_us(n->c) + (int64_t)(grace_s(n->c) * RB_US_PER_S) + 1);
}

// None starts, and none moves.
static bool nodes_are_at_rest(const struct rb_controller *c)
{
    for (int i = 0; i < c->n_nodes; i++)
        if (rb_run_node_is_wanted(c->nodes[i]) &&
            (c->nodes[i]->row.state != RB_LAUNCH_READY || c->nodes[i]->leaves_at_us > 0))
            return false;
    return true;
}

// One node at a time, past its minimum bill, with trials that have something to save. A gang keeps its place.
static bool may_return(const struct rb_run_node *n)
{
    const struct rb_controller *c = n->c;
    return c->config.plan->offers[n->row.offer].market == RB_MARKET_ON_DEMAND && c->config.chooser->returns &&
           !(n->said & RB_SAID_STAYS) && n->gang && n->gang->n == 1 &&
           rb_controller_now_us(c) - n->row.running_us >= RB_BILLING_MINIMUM_US &&
           rb_run_node_task(n, NULL) && !rb_run_node_task(n, has_nothing_saved) && nodes_are_at_rest(c);
}

// Nodes that still start are among them: one that never comes must not use up the slack.
static void review_node(struct rb_run_node *n)
{
    RB_AUTO(rb_buf_finish) struct rb_buf why = RB_BUF_INIT;
    int offer;
    if (!rb_run_node_exists(n) || !rb_run_node_is_wanted(n) || n->leaves_at_us > 0)
        return;
    if (is_spot(n->c, n->row.offer)) {
        if (ask(n, 1, RB_SPOT_ON_SPOT, &offer, &why) == RB_SPOT_ON_DEMAND)
            move(n, "off spot", &why);
    } else if (may_return(n) && ask(n, 1, RB_SPOT_ON_DEMAND, &offer, &why) == RB_SPOT_ON_SPOT) {
        move(n, "back to spot", &why);
    }
}

static void review(void *arg)
{
    struct rb_controller *c = arg;
    c->spot_timer = 0;
    for (int i = 0; i < c->n_nodes && !c->dead && rb_controller_running(c); i++)
        review_node(c->nodes[i]);
    rb_controller_review_spot(c);
}

void rb_controller_review_spot(struct rb_controller *c)
{
    if (c->config.chooser && !c->dead && c->phase != RB_PHASE_OVER)
        rb_controller_arm(c, &c->spot_timer, c->config.chooser->every_us, review, c);
}
