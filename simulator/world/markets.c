#include "simulator/world/markets.h"

#include "base/backoff.h"
#include "engine/plan/stand_in.h"
#include "profiles/catalog/reservation.h"
#include "simulator/model/draws.h"

#include <stdlib.h>

struct market { // of one offer
    const struct rb_spells *spells;     // NULL: none
    const struct rb_capacity *capacity; // NULL: not replayed
    int64_t from_us;                    // on the clock of `capacity`, at the run's beginning
    int64_t notice_us;                  // of its falls
    struct rb_capacity own;             // of a reservation
    struct rb_capacity_step steps[3];   // likewise
    int n_held;
    int64_t sold_out_us;
    bool was_asked;
    // The present spell; n_spells 0: not drawn yet.
    bool is_up;
    int64_t until_us;
    int n_spells;
};

struct node {
    int offer; // of its last request
    bool is_held, is_taken;
    int64_t launch; // its place in the order of launches
    int pauses;
    int64_t paused_us;
};

struct rb_markets {
    const struct rb_scenario *scenario;
    const struct rb_plan *plan;
    uint32_t replicate;
    int64_t begin_us;
    struct market *markets;    // [scenario->n_offers]
    struct node *nodes;        // by number
    int n_nodes;
    int64_t n_launches;
};

// ---- spells

enum drawn { A_SPELL, THE_STATE }; // the stage of the key

static void init_stream(const struct rb_markets *m, enum drawn what, const struct market *k, struct rb_stream *out)
{
    rb_stream_init(out, &(struct rb_stream_key){
                            .seed = m->scenario->seed,
                            .purpose = RB_DRAW_SPELLS,
                            .stage = what,
                            .index = (uint32_t)(k - m->markets),
                            .attempt = (uint32_t)(k->n_spells % RB_SIM_ATTEMPTS),
                            .replicate = m->replicate,
                        });
}

static int64_t length_us(double seconds)
{
    const double most_s = (double)(RB_SIM_LONGEST_US / RB_US_PER_S);
    return rb_us_from_seconds(seconds < most_s ? seconds : most_s);
}

// What is left of a spell that is met at a random instant: spells follow each other for enough mean lengths that the
// beginning is forgotten. The first begins up to one length early, so that constants are met anywhere.
#define MEANS_TO_FORGET 64
static double rest_s(const struct rb_dist *d, struct rb_stream *stream)
{
    const double mean_s = rb_dist_mean(d), met_s = MEANS_TO_FORGET * mean_s;
    double end_s = -mean_s * rb_stream_uniform(stream);
    while (end_s <= met_s && mean_s > 0)
        end_s += rb_dist_draw(d, stream);
    return mean_s > 0 ? end_s - met_s : 0;
}

enum spell { WHOLE, REST };

static void begin_spell(struct rb_markets *m, struct market *k, bool is_up, int64_t from_us, enum spell spell)
{
    const struct rb_dist *d = is_up ? &k->spells->up_s : &k->spells->down_s;
    struct rb_stream stream;
    init_stream(m, A_SPELL, k, &stream);
    k->n_spells++;
    k->is_up = is_up;
    k->until_us = from_us + length_us(spell == REST ? rest_s(d, &stream) : rb_dist_draw(d, &stream));
}

static void begin_stationary(struct rb_markets *m, struct market *k)
{
    const double up_s = rb_dist_mean(&k->spells->up_s), down_s = rb_dist_mean(&k->spells->down_s);
    struct rb_stream stream;
    init_stream(m, THE_STATE, k, &stream);
    begin_spell(m, k, rb_stream_uniform(&stream) * (up_s + down_s) < up_s, m->begin_us, REST);
}

static bool is_up(struct rb_markets *m, struct market *k, int64_t now_us)
{
    if (!(rb_dist_mean(&k->spells->down_s) > 0))
        return true;
    if (k->n_spells == 0)
        begin_stationary(m, k);
    while (k->until_us <= now_us && !(k->is_up && k->n_held > 0))
        begin_spell(m, k, !k->is_up, k->until_us, WHOLE);
    return k->is_up;
}

void rb_markets_down(struct rb_markets *m, int offer, int64_t now_us)
{
    begin_spell(m, &m->markets[offer], false, now_us, WHOLE);
}

// ---- tables

static int64_t on_table_us(const struct market *k, int64_t at_us)
{
    return k->from_us + at_us;
}

static int capacity_at(const struct market *k, int64_t now_us)
{
    const int up = rb_capacity_at(k->capacity->steps, k->capacity->n_steps, on_table_us(k, now_us));
    return up >= 0 ? up : RB_LIMIT_NODES;
}

bool rb_markets_is_replayed(const struct rb_markets *m, int offer)
{
    return m && m->markets[offer].capacity;
}

int64_t rb_markets_next_change_us(const struct rb_markets *m, int offer, int64_t after_us)
{
    const struct market *k = &m->markets[offer];
    const struct rb_capacity *c = k->capacity;
    const int64_t at_us = c ? rb_capacity_next_us(c->steps, c->n_steps, on_table_us(k, after_us)) : INT64_MAX;
    return at_us == INT64_MAX ? INT64_MAX : at_us - k->from_us;
}

static int count_younger(const struct rb_markets *m, int node)
{
    int n = 0;
    for (int i = 0; i < m->n_nodes; i++) {
        const struct node *other = &m->nodes[i];
        n += other->is_held && other->offer == m->nodes[node].offer && other->launch > m->nodes[node].launch;
    }
    return n;
}

void rb_markets_change(struct rb_markets *m, int offer, int64_t now_us,
                       void (*take)(void *ctx, int node, int64_t at_us), void *ctx)
{
    const struct market *k = &m->markets[offer];
    const int excess = k->n_held - capacity_at(k, now_us);
    for (int i = 0; i < m->n_nodes && excess > 0; i++) {
        struct node *n = &m->nodes[i];
        if (!n->is_held || n->is_taken || n->offer != offer || count_younger(m, i) >= excess)
            continue;
        n->is_taken = true;
        take(ctx, i, now_us + k->notice_us);
    }
}

bool rb_markets_table_is_over(const struct rb_markets *m, int64_t now_us)
{
    for (int i = 0; m && i < m->scenario->n_offers; i++) {
        const struct market *k = &m->markets[i];
        if (k->was_asked && k->capacity && on_table_us(k, now_us) > k->capacity->end_us)
            return true;
    }
    return false;
}

// ---- requests

static struct node *node_at(struct rb_markets *m, int node)
{
    if (node >= m->n_nodes) {
        m->nodes = rb_xrealloc(m->nodes, (size_t)node + 1, sizeof *m->nodes);
        while (m->n_nodes <= node)
            m->nodes[m->n_nodes++] = (struct node){.offer = -1, .paused_us = -1};
    }
    return &m->nodes[node];
}

static bool has_memory(const struct market *k)
{
    return k->spells || k->capacity;
}

struct asking {
    struct rb_markets *m;
    bool (*may_ask)(void *ctx, int offer);
    void *ctx;
};

static int64_t sold_out_us(void *ctx, int offer)
{
    const struct asking *a = ctx;
    return a->m->markets[offer].sold_out_us;
}

static bool may_ask(void *ctx, int offer, int k)
{
    const struct asking *a = ctx;
    return k == 0 || (a->m->scenario->sim_offers[offer].usable && a->may_ask(a->ctx, offer));
}

static struct rb_on_sale on_sale(struct asking *a, const struct node *n, int64_t now_us)
{
    return (struct rb_on_sale){
        .plan = a->m->plan,
        .now_us = now_us,
        .paused_us = n->paused_us,
        .sold_out_us = sold_out_us,
        .may_ask = may_ask,
        .ctx = a,
    };
}

int rb_markets_ask(struct rb_markets *m, const struct rb_node_request *r, int64_t now_us,
                   bool (*may)(void *ctx, int offer), void *ctx)
{
    struct node *n = node_at(m, r->node);
    const struct rb_on_sale sale = on_sale(&(struct asking){m, may, ctx}, n, now_us);
    n->offer = has_memory(&m->markets[r->offer]) ? rb_offer_to_ask(&sale, r->offer) : r->offer;
    m->markets[n->offer].was_asked = true;
    return n->offer;
}

static void hold(struct rb_markets *m, struct node *n)
{
    n->is_held = true;
    n->launch = m->n_launches++;
    m->markets[n->offer].n_held++;
}

bool rb_markets_refuses_now(struct rb_markets *m, int node, int64_t now_us)
{
    struct node *n = node_at(m, node);
    const struct market *k = &m->markets[n->offer];
    if (!k->capacity)
        return false;
    if (k->n_held >= capacity_at(k, now_us))
        return true;
    hold(m, n);
    return false;
}

bool rb_markets_refuses(struct rb_markets *m, int node, int64_t now_us)
{
    struct node *n = node_at(m, node);
    struct market *k = &m->markets[n->offer];
    if (!k->spells || k->capacity)
        return false;
    if (!is_up(m, k, now_us))
        return true;
    hold(m, n);
    return false;
}

static int64_t pause_us(const struct rb_markets *m, const struct rb_node_request *r, int pauses)
{
    struct rb_stream stream;
    rb_stream_init(&stream, &(struct rb_stream_key){
                                .seed = m->scenario->seed,
                                .purpose = RB_DRAW_PAUSE,
                                .stage = (uint32_t)r->stage,
                                .index = (uint32_t)r->ordinal,
                                .attempt = (uint32_t)r->attempt,
                                .replicate = m->replicate,
                            });
    return rb_backoff_jittered_us(pauses, rb_stream_u32(&stream));
}

int64_t rb_markets_refused(struct rb_markets *m, const struct rb_node_request *r, int64_t now_us,
                           bool (*may)(void *ctx, int offer), void *ctx)
{
    struct node *n = node_at(m, r->node);
    m->markets[n->offer].sold_out_us = now_us;
    if (!has_memory(&m->markets[r->offer]))
        return now_us;
    const struct rb_on_sale sale = on_sale(&(struct asking){m, may, ctx}, n, now_us);
    if (rb_offer_on_sale(&sale, r->offer) >= 0)
        return now_us;
    n->paused_us = now_us;
    return now_us + rb_pause_until_open_us(&sale, r->offer, pause_us(m, r, n->pauses++));
}

// ---- nodes

int rb_markets_offer(const struct rb_markets *m, int node)
{
    return m->nodes[node].offer;
}

void rb_markets_hold(struct rb_markets *m, int node, int offer)
{
    struct node *n = node_at(m, node);
    n->offer = offer;
    hold(m, n);
    m->markets[offer].is_up = true; // whatever its spells would have been
    m->markets[offer].n_spells += m->markets[offer].n_spells == 0;
}

void rb_markets_left(struct rb_markets *m, int node, int64_t now_us)
{
    struct node *n = node_at(m, node);
    struct market *k = n->offer >= 0 ? &m->markets[n->offer] : NULL;
    if (!n->is_held)
        return;
    n->is_held = false;
    k->n_held--;
    if (k->spells && k->n_held == 0 && k->is_up && k->n_spells > 0)
        begin_spell(m, k, true, now_us, REST);
}

// ---- life

static void add_step(struct market *k, int64_t at_us, int up)
{
    k->steps[k->own.n_steps++] = (struct rb_capacity_step){.at_us = at_us, .up = up};
}

static void follow_reservation(struct market *k, const struct rb_reservation *r)
{
    const int64_t notice_at_us = rb_reservation_notice_at_us(r);
    k->notice_us = r->closes_us - notice_at_us;
    add_step(k, 0, 0);
    if (r->opens_us < notice_at_us)
        add_step(k, r->opens_us, r->count);
    if (notice_at_us < INT64_MAX)
        add_step(k, notice_at_us, 0);
    k->own.steps = k->steps;
    k->own.end_us = INT64_MAX;
    k->capacity = &k->own;
}

static void follow_table(struct market *k, const struct rb_market_replay *replay, const struct rb_offer *offer)
{
    k->capacity = rb_capacity_find(replay->table, offer);
    k->from_us = replay->from_us;
    k->notice_us = rb_spot_notice_us(offer->infra);
}

void rb_markets_price(struct rb_scenario *io, const struct rb_market_replay *replay)
{
    for (int i = 0; replay && i < io->n_offers; i++) {
        const struct rb_capacity *c = rb_capacity_find(replay->table, &io->offers[i]);
        if (c && rb_capacity_has_prices(c->steps, c->n_steps))
            io->sim_offers[i].billing.prices = (struct rb_price_path){c->steps, c->n_steps, replay->from_us};
    }
}

struct rb_markets *rb_markets_create(const struct rb_scenario *s, const struct rb_plan *plan,
                                     const struct rb_market_replay *replay, uint32_t replicate, int64_t begin_us)
{
    bool any = false;
    struct market *markets = rb_xcalloc((size_t)s->n_offers, sizeof *markets);
    for (int i = 0; i < s->n_offers; i++) {
        const struct rb_provisioning *p = s->sim_offers[i].provisioning;
        markets[i] = (struct market){
            .spells = p ? p->spells : NULL,
            .sold_out_us = -1,
        };
        if (rb_offer_closes(&s->offers[i]))
            follow_reservation(&markets[i], s->offers[i].reservation);
        else if (replay)
            follow_table(&markets[i], replay, &s->offers[i]);
        any = any || has_memory(&markets[i]);
    }
    if (!any) {
        free(markets);
        return NULL;
    }
    struct rb_markets *m = rb_xcalloc(1, sizeof *m);
    *m = (struct rb_markets){
        .scenario = s,
        .plan = plan,
        .replicate = replicate,
        .begin_us = begin_us,
        .markets = markets,
    };
    return m;
}

void rb_markets_destroy(struct rb_markets *m)
{
    if (!m)
        return;
    free(m->markets);
    free(m->nodes);
    free(m);
}
