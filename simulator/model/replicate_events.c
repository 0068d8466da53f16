// A replicate of a plan whose nodes may be preempted. The assignment of trials to nodes then matters, so the stages are
// simulated event by event, with the engine's placement and the order of event_heap.h.
#include "simulator/model/workspace.h"

#include "simulator/model/draws.h"

#include <string.h>

static const struct rb_stage_program *current(const struct rb_workspace *ws)
{
    return &ws->program->stages[ws->stage];
}

static void push(struct rb_workspace *ws, int64_t time_us, enum rb_sim_order order, int index, int attempt)
{
    rb_event_heap_push(&ws->heap,
                       &(struct rb_sim_event){
                           .time_us = time_us, .order = order, .index = index, .attempt = attempt, .stage = ws->stage});
}

// A node waits for one thing at a time: its loss is noticed when it is ready.
static void expect_loss(struct rb_workspace *ws, int number)
{
    const struct rb_sim_node *n = &ws->nodes[number];
    if (n->lost_us != INT64_MAX)
        push(ws, n->lost_us, RB_SIM_NODE_LOST, number, n->attempt);
}

static void expect_node(struct rb_workspace *ws, int number)
{
    const struct rb_sim_node *n = &ws->nodes[number];
    if (!n->ready && n->ready_us <= n->lost_us)
        push(ws, n->ready_us, RB_SIM_NODE_READY, number, n->attempt);
    else
        expect_loss(ws, number);
}

static void free_gpus(struct rb_workspace *ws, int number)
{
    struct rb_sim_node *n = &ws->nodes[number];
    n->free = rb_gpu_mask(ws->program->scenario->offers[n->offer].gpus);
}

// Nodes numbered from `first` on are new: schedules their events.
static void expect_new(struct rb_workspace *ws, int first)
{
    for (int i = first; i < ws->n_nodes; i++) {
        free_gpus(ws, i);
        expect_node(ws, i);
    }
}

// No events are pending at the start of a stage: no trial runs, and released nodes do not matter.
static void expect_owned(struct rb_workspace *ws)
{
    ws->heap.n = 0;
    for (int i = 0; i < ws->n_owned; i++) {
        free_gpus(ws, ws->owned[i]);
        expect_node(ws, ws->owned[i]);
    }
}

// ---- the queue: positions that never started come in order; those that lost their node are few, and go first if lower

static void requeue(struct rb_workspace *ws, int position)
{
    int at = ws->n_requeued++;
    for (; at > 0 && position < ws->requeued[(at - 1) / 2]; at = (at - 1) / 2)
        ws->requeued[at] = ws->requeued[(at - 1) / 2];
    ws->requeued[at] = position;
}

static void drop_first_requeued(struct rb_workspace *ws)
{
    const int moved = ws->requeued[--ws->n_requeued];
    int at = 0;
    for (int child = 1; child < ws->n_requeued; child = 2 * at + 1) {
        if (child + 1 < ws->n_requeued && ws->requeued[child + 1] < ws->requeued[child])
            child++;
        if (ws->requeued[child] >= moved)
            break;
        ws->requeued[at] = ws->requeued[child];
        at = child;
    }
    ws->requeued[at] = moved;
}

// ---- trials

// n_fresh: positions below it have been started at least once.
struct stage_state {
    int n_fresh, n_ended;
};

static void update_place(struct rb_workspace *ws, int number)
{
    const struct rb_sim_node *node = &ws->nodes[number];
    if (node->owned && node->allocated && node->ready)
        rb_places_set(&ws->places, number, current(ws)->gpus_per_node, node->free);
    else
        rb_places_remove(&ws->places, number);
}

static void list_places(struct rb_workspace *ws)
{
    rb_places_clear(&ws->places);
    for (int i = 0; i < ws->n_owned; i++)
        update_place(ws, ws->owned[i]);
}

static void start_trial(struct rb_workspace *ws, int position, const struct rb_slot *slots, int n_slots, int64_t now_us)
{
    struct rb_sim_trial *t = &ws->trials[position];
    t->running = true;
    t->n_slots = n_slots;
    for (int i = 0; i < n_slots; i++) {
        ws->nodes[slots[i].node].free &= ~slots[i].gpus;
        ws->nodes[slots[i].node].n_trials++;
    }
    t->started_us = now_us;
    t->start.save_every_s = ws->program->scenario->sim_offers[ws->nodes[slots[0].node].offer].save_every_s;
    push(ws, now_us + rb_sim_start_us(ws, position, &t->start), RB_SIM_TRIAL_ENDED, position, t->start.attempt);
}

static void start_waiting(struct rb_workspace *ws, struct stage_state *st, int64_t now_us)
{
    const struct rb_stage_program *stage = current(ws);
    while (ws->n_requeued > 0 || st->n_fresh < stage->n_trials) {
        const bool again = ws->n_requeued > 0; // every requeued position is below n_fresh
        const int position = again ? ws->requeued[0] : st->n_fresh;
        struct rb_slot *slots = &ws->slots[(size_t)position * (size_t)ws->program->max_nodes_per_trial];
        int n_slots;
        if (!rb_places_take(&ws->places, stage->plan->gpus_per_trial, slots, &n_slots))
            break;
        if (again)
            drop_first_requeued(ws);
        else
            st->n_fresh++;
        start_trial(ws, position, slots, n_slots, now_us);
    }
}

static void vacate(struct rb_workspace *ws, int position)
{
    struct rb_sim_trial *t = &ws->trials[position];
    const struct rb_slot *slots = &ws->slots[(size_t)position * (size_t)ws->program->max_nodes_per_trial];
    for (int i = 0; i < t->n_slots; i++) {
        ws->nodes[slots[i].node].free |= slots[i].gpus;
        ws->nodes[slots[i].node].n_trials--;
        update_place(ws, slots[i].node);
    }
    t->running = false;
    t->n_slots = 0;
}

static bool runs_on(const struct rb_workspace *ws, int position, int node)
{
    const struct rb_slot *slots = &ws->slots[(size_t)position * (size_t)ws->program->max_nodes_per_trial];
    for (int i = 0; i < ws->trials[position].n_slots; i++) {
        if (slots[i].node == node)
            return true;
    }
    return false;
}

// Most of the running trials were started last.
static void lose_trials_on(struct rb_workspace *ws, const struct stage_state *st, int node, int64_t now_us)
{
    for (int k = st->n_fresh - 1; k >= 0 && ws->nodes[node].n_trials > 0; k--) {
        struct rb_sim_trial *t = &ws->trials[k];
        if (!runs_on(ws, k, node))
            continue;
        vacate(ws, k);
        t->start.trained += rb_sim_start_safe(ws, k, &t->start, now_us - t->started_us);
        t->start.attempt++;
        requeue(ws, k);
    }
}

// ---- events

static void lose_node(struct rb_workspace *ws, const struct stage_state *st, int node, int64_t now_us)
{
    const struct rb_sim_node lost = ws->nodes[node];
    const int first = ws->n_nodes;
    lose_trials_on(ws, st, node, now_us);
    rb_sim_cluster_end_node(ws, node, now_us);
    update_place(ws, node);
    rb_sim_cluster_forget_ended(ws);
    rb_sim_cluster_request(ws, lost.offer, lost.stage, lost.ordinal, lost.attempt + 1, lost.allocated, now_us);
    expect_new(ws, first);
}

static bool runs(const struct rb_sim_node *n, int offer, int64_t now_us)
{
    return n->owned && n->offer == offer && n->running_us <= now_us;
}

static void take_all(struct rb_workspace *ws, int offer, int64_t now_us)
{
    for (int i = 0; i < ws->n_owned; i++) {
        struct rb_sim_node *n = &ws->nodes[ws->owned[i]];
        if (!runs(n, offer, now_us))
            continue;
        n->lost_us = now_us;
        n->strike = RB_SIM_TAKEN;
        expect_loss(ws, ws->owned[i]);
    }
}

// The node's clock has struck. True: the node is lost; others may be, at this instant.
static bool strike(struct rb_workspace *ws, int node, int64_t now_us)
{
    const struct rb_scenario *s = ws->program->scenario;
    struct rb_sim_node *n = &ws->nodes[node];
    int n_running = 0;
    if (n->strike == RB_SIM_TAKEN)
        return true;
    for (int i = 0; i < ws->n_owned; i++)
        n_running += runs(&ws->nodes[ws->owned[i]], n->offer, now_us);
    switch (rb_draw_strike(s, n->offer, n->stage, n->ordinal, n->attempt, ws->replicate, n->strike, n_running)) {
    case RB_STRIKE_NONE:
        n->lost_us = rb_draw_next_strike_us(s, n->offer, n->stage, n->ordinal, n->attempt, ws->replicate, n->strike++,
                                            n->running_us, now_us);
        expect_node(ws, node);
        return false;
    case RB_STRIKE_ALL:
        take_all(ws, n->offer, now_us);
        return true;
    case RB_STRIKE_ONE:
        break;
    }
    return true;
}

static void happen(struct rb_workspace *ws, struct stage_state *st, const struct rb_sim_event *event)
{
    const int first = ws->n_nodes;
    switch (event->order) {
    case RB_SIM_WAKE:
        if (event->stage == ws->stage)
            rb_sim_cluster_request_early(ws, current(ws)->plan, event->time_us);
        expect_new(ws, first);
        return;
    case RB_SIM_TRIAL_ENDED:
        if (event->stage != ws->stage || !ws->trials[event->index].running ||
            ws->trials[event->index].start.attempt != event->attempt)
            return;
        vacate(ws, event->index);
        st->n_ended++;
        break;
    case RB_SIM_NODE_READY:
        if (!ws->nodes[event->index].owned)
            return;
        ws->nodes[event->index].ready = true;
        expect_loss(ws, event->index);
        update_place(ws, event->index);
        break;
    case RB_SIM_NODE_LOST:
        if (!ws->nodes[event->index].owned || !strike(ws, event->index, event->time_us))
            return;
        lose_node(ws, st, event->index, event->time_us);
        break;
    case RB_SIM_MARKET:
    case RB_SIM_NODE_RUNNING:
    case RB_SIM_NODE_REFUSED:
    case RB_SIM_REPORT:
    case RB_SIM_TRIAL_SAVED:
    case RB_SIM_SUGGESTED:
    case RB_SIM_FORECAST:
    case RB_SIM_STOP:
        return; // no decision is made then
    }
    start_waiting(ws, st, event->time_us);
}

// ---- a stage

static void begin_stage(struct rb_workspace *ws, int64_t now_us)
{
    ws->stage_start_us = now_us;
    ws->unit_s = rb_sim_stage_unit_s(ws);
    ws->next_ordinal = ws->n_early_made = 0;
    rb_sim_cluster_allocate(ws, current(ws)->plan, now_us);
}

static int64_t first_loss_us(const struct rb_workspace *ws)
{
    int64_t first_us = RB_SIM_HORIZON_US;
    for (int i = 0; i < ws->n_owned; i++) {
        const int64_t lost_us = ws->nodes[ws->owned[i]].lost_us;
        first_us = lost_us < first_us ? lost_us : first_us;
    }
    return first_us;
}

// If no node is lost before the stage ends, and none is requested, the assignment of trials does not matter. false: one
// is, or it does.
static bool run_undisturbed(struct rb_workspace *ws, int64_t *io_now_us)
{
    int64_t end_us;
    if (current(ws)->plan->n_early > 0 || current(ws)->save_every_s < 0 || !rb_sim_run_stage(ws, first_loss_us(ws), &end_us))
        return false;
    for (int i = 0; i < ws->n_owned; i++) {
        struct rb_sim_node *n = &ws->nodes[ws->owned[i]];
        n->ready = n->ready || n->ready_us <= end_us;
    }
    *io_now_us = end_us;
    return true;
}

// Runs until its last trial has ended.
static bool play_stage(struct rb_workspace *ws, int64_t *io_now_us)
{
    const struct rb_plan_stage *plan = current(ws)->plan;
    struct stage_state st = {0};
    ws->n_requeued = 0;
    memset(ws->trials, 0, (size_t)current(ws)->n_trials * sizeof *ws->trials);
    expect_owned(ws);
    list_places(ws);
    for (int i = 0; i < plan->n_early; i++)
        push(ws, ws->stage_start_us + plan->early[i].at_us, RB_SIM_WAKE, 0, 0);
    start_waiting(ws, &st, ws->stage_start_us);
    while (st.n_ended < current(ws)->n_trials && !ws->failed) {
        const struct rb_sim_event event = rb_event_heap_pop(&ws->heap);
        if (event.time_us > ws->until_us) {
            *io_now_us = ws->until_us;
            return ws->until_us < RB_SIM_HORIZON_US || rb_sim_fail(ws, "it takes more than 100 years");
        }
        *io_now_us = event.time_us;
        happen(ws, &st, &event);
    }
    return !ws->failed;
}

static void reserve(struct rb_workspace *ws)
{
    const int n_trials = ws->program->max_trials;
    const int n_slots = n_trials * ws->program->max_nodes_per_trial;
    if (n_trials > ws->trials_cap) {
        ws->trials = rb_xrealloc(ws->trials, (size_t)n_trials, sizeof *ws->trials);
        ws->requeued = rb_xrealloc(ws->requeued, (size_t)n_trials, sizeof *ws->requeued);
        ws->trials_cap = n_trials;
    }
    if (n_slots > ws->slots_cap) {
        ws->slots = rb_xrealloc(ws->slots, (size_t)n_slots, sizeof *ws->slots);
        ws->slots_cap = n_slots;
    }
}

bool rb_sim_run_events(struct rb_workspace *ws)
{
    int64_t now_us = 0;
    reserve(ws);
    for (ws->stage = ws->first_stage; ws->stage < ws->program->n_stages; ws->stage++) {
        begin_stage(ws, now_us);
        if (ws->failed || (!run_undisturbed(ws, &now_us) && !play_stage(ws, &now_us)))
            return false;
        ws->out->stage_time_us[ws->stage] = now_us - ws->stage_start_us;
    }
    ws->stage = ws->program->n_stages - 1;
    rb_sim_cluster_end_all(ws, now_us);
    ws->out->time_us = now_us;
    return !ws->failed;
}
