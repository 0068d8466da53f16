// Nodes under resources.spot: safe: requested on spot, on demand, or after a wait, as config.chooser decides; and moved
// off spot once their loss could make the run late: their trials are asked to save and give way, then the node is ended
// and asked for again, on demand.
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

// Of the market of a node that is there, it is the node's own age that counts.
static struct rb_market_state market_state(struct rb_run_node *n, int offer, bool holds, int count)
{
    const struct rb_controller *c = n->c;
    const bool is_its_own = holds && n->row.offer == offer;
    const bool up = is_its_own || (stands_in(c->config.plan, rb_engine_node(c->engine, n->id)->offer, offer) &&
                                   rb_run_node_can_have(n, offer, count));
    if (!up)
        return (struct rb_market_state){false, fmin(since_s(c, c->offers[offer].sold_out_us), RB_S_PER_HOUR)};
    return (struct rb_market_state){true, is_its_own ? since_s(c, n->row.running_us) : oldest_s(c, offer)};
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

static enum rb_spot_mode ask(struct rb_run_node *n, int count, bool holds, int *out_offer, struct rb_buf *why)
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
        .held = -1,
        .unsaved_s = unsaved_s(n),
        .markets = markets,
        .lost_ago_s = lost_ago_s,
    };
    int n_markets = 0, market = -1;
    for (int i = 0; i < plan->n_fallbacks; i++) {
        const int offer = plan->fallbacks[i];
        if (!is_spot(c, offer))
            continue;
        if (holds && offer == n->row.offer)
            q.held = n_markets;
        offers[n_markets] = offer;
        markets[n_markets] = market_state(n, offer, holds, count);
        lost_ago_s[n_markets++] = since_s(c, c->offers[offer].lost_us);
    }
    if (n_markets == 0)
        return RB_SPOT_ON_DEMAND;
    const enum rb_spot_mode mode = c->config.chooser->choose(c->config.chooser->ctx, &q, &market, why);
    *out_offer = mode == RB_SPOT_ON_SPOT ? offers[market] : -1;
    return mode;
}

// --- requests

static void note(const struct rb_run_node *n, const char *what, const struct rb_buf *why)
{
    rb_controller_note(n->c, "spot", "node %d: %s: %s", n->id, what, rb_buf_str(why));
}

// All of them were refused lately and the node is to wait: the one with the oldest refusal is asked, which tells as much.
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
    const enum rb_spot_mode mode = ask(n, count, false, &offer, &why);
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
    if (!n->c->config.chooser || n->c->off_spot || ask(n, count, false, &offer, &why) != RB_SPOT_IDLE)
        return 0;
    return n->c->config.chooser->every_us;
}

// --- nodes on spot

// Nodes that still start are among them: one that never comes must not use up the slack.
static void review(void *arg)
{
    struct rb_controller *c = arg;
    c->spot_timer = 0;
    for (int i = 0; i < c->n_nodes && !c->dead && rb_controller_running(c); i++) {
        RB_AUTO(rb_buf_finish) struct rb_buf why = RB_BUF_INIT;
        struct rb_run_node *n = c->nodes[i];
        int offer;
        if (rb_run_node_exists(n) && rb_run_node_is_wanted(n) && is_spot(c, n->row.offer) && n->leaves_at_us == 0 &&
            ask(n, 1, true, &offer, &why) == RB_SPOT_ON_DEMAND) {
            note(n, "off spot", &why);
            rb_run_node_vacate(n, rb_controller_now_us(c) + (int64_t)(grace_s(c) * RB_US_PER_S) + 1);
        }
    }
    rb_controller_review_spot(c);
}

void rb_controller_review_spot(struct rb_controller *c)
{
    if (c->config.chooser && !c->dead && c->phase != RB_PHASE_OVER)
        rb_controller_arm(c, &c->spot_timer, c->config.chooser->every_us, review, c);
}
