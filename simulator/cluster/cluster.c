#include "simulator/model/workspace.h"

#include "simulator/model/draws.h"
#include "simulator/model/noise.h"

#include <assert.h>

__extension__ typedef __int128 wide;

bool rb_sim_fail(struct rb_workspace *ws, const char *why)
{
    if (!ws->failed)
        rb_err_set(ws->err, RB_E_SIM_ENDLESS, "stages[%d] does not come to an end: %s", ws->stage, why);
    ws->failed = true;
    return false;
}

void rb_sim_cluster_reset(struct rb_workspace *ws)
{
    ws->n_nodes = ws->n_owned = 0;
    ws->heap.n = 0;
    ws->n_requeued = 0;
    ws->node_us = 0;
    ws->n_billed_new = 0;
    ws->failed = false;
}

// ---- bills

static int64_t share(int64_t total, int64_t part, int64_t whole)
{
    return (int64_t)((wide)total * part / whole);
}

// Splits the bill over the stages it lived through, by time in each; the rounding remainder goes to the last.
static void split_bill(struct rb_workspace *ws, const struct rb_sim_node *n, int64_t ended_us, int64_t total)
{
    int64_t end_us = 0, given = 0;
    for (int i = 0; i < ws->stage; i++) {
        end_us += ws->out->stage_time_us[i];
        if (i < n->stage || end_us < n->running_us)
            continue;
        const int64_t until =
            end_us >= ended_us ? total : share(total, end_us - n->running_us, ended_us - n->running_us);
        ws->out->stage_cost_uusd[i] += until - given;
        given = until;
    }
    ws->out->stage_cost_uusd[ws->stage] += total - given;
}

void rb_sim_cluster_end_node(struct rb_workspace *ws, int node, int64_t now_us)
{
    struct rb_sim_node *n = &ws->nodes[node];
    assert(n->owned);
    n->owned = false;
    if (n->running_us > now_us) // the request is withdrawn
        return;
    ws->node_us += now_us - n->running_us;
    ws->n_billed_new += n->stage >= ws->first_stage;
    if (ws->is_unbilled)
        return;
    const struct rb_billing *billing = &ws->program->scenario->sim_offers[n->offer].billing;
    const int64_t total = rb_bill_node(billing, n->running_us, now_us).total_uusd;
    if (__builtin_add_overflow(ws->out->cost_uusd, total, &ws->out->cost_uusd)) {
        rb_sim_fail(ws, "its cost is beyond every number");
        return;
    }
    split_bill(ws, n, now_us, total);
}

void rb_sim_cluster_forget_ended(struct rb_workspace *ws)
{
    int kept = 0;
    for (int i = 0; i < ws->n_owned; i++) {
        if (ws->nodes[ws->owned[i]].owned)
            ws->owned[kept++] = ws->owned[i];
    }
    ws->n_owned = kept;
}

void rb_sim_cluster_end_all(struct rb_workspace *ws, int64_t now_us)
{
    for (int i = 0; i < ws->n_owned; i++)
        rb_sim_cluster_end_node(ws, ws->owned[i], now_us);
    ws->n_owned = 0;
}

// ---- requests

static bool draw_arrival(struct rb_workspace *ws, struct rb_sim_node *n, int64_t now_us)
{
    const struct rb_scenario *s = ws->program->scenario;
    const bool kept = rb_noise_covers_node(s->noise, n->stage, n->ordinal, ws->replicate);
    const struct rb_arrival arrival =
        kept ? rb_noise_arrival(s->noise, n->offer, n->stage, n->ordinal, n->attempt, ws->replicate)
             : rb_draw_arrival(s, n->offer, n->stage, n->ordinal, n->attempt, ws->replicate);
    if (arrival.attempt < 0 || arrival.running_us > RB_SIM_HORIZON_US - now_us)
        return rb_sim_fail(ws, "requests for its nodes are refused again and again (capacity_failure)");
    n->attempt = arrival.attempt;
    n->running_us = now_us + arrival.running_us;
    n->ready_us = now_us + arrival.ready_us;
    n->lost_us = arrival.lost_us == INT64_MAX ? INT64_MAX : now_us + arrival.lost_us;
    return true;
}

static void reserve(struct rb_workspace *ws)
{
    if (ws->n_nodes == ws->nodes_cap) {
        ws->nodes_cap = ws->nodes_cap ? 2 * ws->nodes_cap : 64;
        ws->nodes = rb_xrealloc(ws->nodes, (size_t)ws->nodes_cap, sizeof *ws->nodes);
    }
    if (ws->n_owned == ws->owned_cap) {
        ws->owned_cap = ws->owned_cap ? 2 * ws->owned_cap : 64;
        ws->owned = rb_xrealloc(ws->owned, (size_t)ws->owned_cap, sizeof *ws->owned);
    }
}

int rb_sim_cluster_request(struct rb_workspace *ws, int offer, int stage, int ordinal, int attempt, bool allocated,
                           int64_t now_us)
{
    if (ws->failed)
        return -1;
    if (ws->n_nodes == RB_LIMIT_NODES) {
        rb_sim_fail(ws, "more nodes are asked for than a run may request; its market takes them back too soon "
                        "(preemption_per_hour)");
        return -1;
    }
    reserve(ws);
    struct rb_sim_node *n = &ws->nodes[ws->n_nodes];
    *n = (struct rb_sim_node){
        .offer = offer, .stage = stage, .ordinal = ordinal, .attempt = attempt, .owned = true, .allocated = allocated};
    if (!draw_arrival(ws, n, now_us))
        return -1;
    ws->owned[ws->n_owned++] = ws->n_nodes;
    return ws->n_nodes++;
}

// Their draws are those of the previous stage, so they share none with nodes requested now.
void rb_sim_cluster_inherit(struct rb_workspace *ws)
{
    const struct rb_scenario *s = ws->program->scenario;
    for (int k = 0; k < ws->n_inherited; k++) {
        const int stage = ws->first_stage - 1;
        reserve(ws);
        ws->nodes[ws->n_nodes] = (struct rb_sim_node){
            .offer = ws->inherited_offer,
            .stage = stage,
            .ordinal = k,
            .lost_us = rb_draw_preemption_us(s, ws->inherited_offer, stage, k, 0, ws->replicate),
            .owned = true,
        };
        ws->owned[ws->n_owned++] = ws->n_nodes++;
    }
}

static void count_missing(struct rb_workspace *ws, const struct rb_plan_stage *stage)
{
    if (stage->n_nodes > ws->missing_cap) {
        ws->missing = rb_xrealloc(ws->missing, (size_t)stage->n_nodes, sizeof *ws->missing);
        ws->missing_cap = stage->n_nodes;
    }
    for (int i = 0; i < stage->n_nodes; i++)
        ws->missing[i] = stage->nodes[i].count;
}

// Lowest numbers are kept first.
static bool take_one(struct rb_workspace *ws, const struct rb_plan_stage *stage, int offer)
{
    for (int i = 0; i < stage->n_nodes; i++) {
        if (stage->nodes[i].offer == offer && ws->missing[i] > 0) {
            ws->missing[i]--;
            return true;
        }
    }
    return false;
}

void rb_sim_cluster_allocate(struct rb_workspace *ws, const struct rb_plan_stage *stage, int64_t now_us)
{
    count_missing(ws, stage);
    for (int i = 0; i < ws->n_owned; i++) {
        struct rb_sim_node *n = &ws->nodes[ws->owned[i]];
        n->allocated = take_one(ws, stage, n->offer);
        if (!n->allocated)
            rb_sim_cluster_end_node(ws, ws->owned[i], now_us);
    }
    rb_sim_cluster_forget_ended(ws);
    for (int i = 0; i < stage->n_nodes; i++) {
        for (int k = 0; k < ws->missing[i]; k++)
            rb_sim_cluster_request(ws, stage->nodes[i].offer, ws->stage, ws->next_ordinal++, 0, true, now_us);
    }
}

void rb_sim_cluster_request_early(struct rb_workspace *ws, const struct rb_plan_stage *stage, int64_t now_us)
{
    for (; ws->n_early_made < stage->n_early; ws->n_early_made++) {
        const struct rb_plan_early *early = &stage->early[ws->n_early_made];
        const int64_t at_us = ws->stage_start_us + early->at_us;
        if (at_us > now_us)
            break;
        for (int k = 0; k < early->count; k++)
            rb_sim_cluster_request(ws, early->offer, ws->stage, ws->next_ordinal++, 0, false, at_us);
    }
}
