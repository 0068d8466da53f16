// The nodes an engine owns: requests, releases, and events from the clouds. Events about a node that has ended, or
// about an earlier request for it, change nothing.
#include "engine/core/engine_state.h"

#include <assert.h>

static void add_owned(struct rb_engine *e, int node)
{
    if (e->n_owned == e->owned_cap) {
        e->owned_cap = e->owned_cap ? 2 * e->owned_cap : 16;
        e->owned = rb_xrealloc(e->owned, (size_t)e->owned_cap, sizeof *e->owned);
    }
    e->owned[e->n_owned++] = node;
}

void rb_engine_update_place(struct rb_engine *e, int node)
{
    const struct node *n = &e->nodes[node];
    if (!rb_node_is_held(n)) {
        rb_places_remove(&e->places, node);
        return;
    }
    rb_places_set(&e->places, node, n->pub.gpus, n->pub.usable & ~n->pub.busy);
    for (int gpu = 0; n->n_shared > 0 && gpu < n->pub.gpus; gpu++) {
        const struct gpu_use *use = &n->uses[gpu];
        if ((n->pub.busy & n->pub.usable) >> gpu & 1 && use->sharers > 1)
            rb_places_set_shared(
                &e->places,
                &(struct rb_shared_gpu){.node = node, .gpu = gpu, .sharers = use->sharers, .used = use->n_trials});
    }
}

static void provision(struct rb_engine *e, int node, const char *reason)
{
    const struct rb_owned_node *n = &e->nodes[node].pub;
    rb_actions_add(e->out, &(struct rb_action){
                               .kind = RB_ACTION_PROVISION,
                               .node = node,
                               .attempt = n->attempt,
                               .offer = n->offer,
                               .stage = n->stage,
                               .ordinal = n->ordinal,
                               .reason = reason,
                           });
}

static void request_as(struct rb_engine *e, int offer, int stage, int ordinal, int attempt, bool allocated,
                       const char *reason)
{
    if (e->n_nodes == RB_LIMIT_NODES) {
        e->out_of_nodes = true;
        return;
    }
    if (e->n_nodes == e->nodes_cap) {
        e->nodes_cap = e->nodes_cap ? 2 * e->nodes_cap : 16;
        e->nodes = rb_xrealloc(e->nodes, (size_t)e->nodes_cap, sizeof *e->nodes);
    }
    e->nodes[e->n_nodes] = (struct node){
        .pub =
            {
                .state = RB_OWNED_REQUESTED,
                .offer = offer,
                .billed_offer = offer,
                .stage = stage,
                .ordinal = ordinal,
                .attempt = attempt,
                .gpus = e->plan->offers[offer].gpus,
                .usable = e->policy->on_lent_gpus ? 0 : rb_gpu_mask(e->plan->offers[offer].gpus),
                .requested_us = e->now_us,
                .running_us = -1,
                .ready_us = -1,
                .ended_us = -1,
            },
        .allocated = allocated,
    };
    add_owned(e, e->n_nodes);
    provision(e, e->n_nodes++, reason);
}

void rb_engine_request(struct rb_engine *e, int offer, bool allocated, const char *reason)
{
    request_as(e, offer, e->stage, e->next_ordinal[e->stage]++, 0, allocated, reason);
}

static void end_node(struct rb_engine *e, int node)
{
    struct rb_owned_node *n = &e->nodes[node].pub;
    assert(n->state != RB_OWNED_ENDED && n->busy == 0);
    n->state = RB_OWNED_ENDED;
    n->ended_us = e->now_us;
    if (e->nodes[node].draining)
        e->n_drained--;
    e->nodes[node].draining = false;
    rb_engine_update_place(e, node);
}

void rb_engine_terminate(struct rb_engine *e, int node, const char *reason)
{
    end_node(e, node);
    rb_actions_add(e->out, &(struct rb_action){.kind = RB_ACTION_TERMINATE, .node = node, .reason = reason});
}

void rb_engine_forget_ended(struct rb_engine *e)
{
    int kept = 0;
    for (int i = 0; i < e->n_owned; i++) {
        if (e->nodes[e->owned[i]].pub.state != RB_OWNED_ENDED)
            e->owned[kept++] = e->owned[i];
    }
    e->n_owned = kept;
}

// NULL: no such node, or it has ended.
static struct rb_owned_node *live_node(struct rb_engine *e, int node)
{
    if (node < 0 || node >= e->n_nodes || e->nodes[node].pub.state == RB_OWNED_ENDED)
        return NULL;
    return &e->nodes[node].pub;
}

void rb_engine_on_node_running(struct rb_engine *e, const struct rb_event *event)
{
    struct rb_owned_node *n = live_node(e, event->node);
    if (!n || n->state != RB_OWNED_REQUESTED || n->attempt != event->attempt)
        return;
    n->state = RB_OWNED_RUNNING;
    n->running_us = e->now_us;
    if (event->stand_in > 0)
        n->billed_offer = event->stand_in - 1;
}

void rb_engine_on_node_ready(struct rb_engine *e, const struct rb_event *event)
{
    struct rb_owned_node *n = live_node(e, event->node);
    if (!n || n->state == RB_OWNED_READY)
        return;
    if (n->running_us < 0)
        n->running_us = e->now_us;
    n->state = RB_OWNED_READY;
    n->ready_us = e->now_us;
    rb_engine_update_place(e, event->node);
    e->places_changed = true;
}

void rb_engine_on_node_refused(struct rb_engine *e, const struct rb_event *event)
{
    struct rb_owned_node *n = live_node(e, event->node);
    if (!n || n->state != RB_OWNED_REQUESTED || n->attempt != event->attempt)
        return;
    n->attempt++;
    n->requested_us = e->now_us;
    provision(e, event->node, "the last request found no capacity");
}

void rb_engine_on_node_lost(struct rb_engine *e, const struct rb_event *event)
{
    if (!live_node(e, event->node))
        return;
    rb_engine_lose_trials_on(e, event->node);
    const struct node lost = e->nodes[event->node];
    end_node(e, event->node);
    rb_engine_forget_ended(e);
    if (lost.draining)
        return;
    request_as(e, lost.pub.offer, lost.pub.stage, lost.pub.ordinal, lost.pub.attempt + 1, lost.allocated,
               "replaces a lost node");
}

void rb_engine_on_lent(struct rb_engine *e, const struct rb_event *event)
{
    struct rb_owned_node *n = live_node(e, event->node);
    if (!n || !e->policy->on_lent_gpus)
        return;
    n->usable = event->gpus & rb_gpu_mask(n->gpus);
    rb_engine_update_place(e, event->node);
    rb_engine_let_policy_share(e);
    rb_engine_clear_unusable(e, event->node);
    e->places_changed = true;
}
