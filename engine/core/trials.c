// Trials in the cluster: started by the tuner, waiting, running, giving way, waiting again.
#include "engine/core/engine_state.h"

#include "base/order.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *rb_trial_state_name(enum rb_trial_state s)
{
    static const char *const names[] = {"waiting", "running", "paused", "stopped", "failed", "completed"};
    return names[s];
}

// ---- which trials train

static void know_trial(struct rb_engine *e, int trial)
{
    if (trial >= e->trials_cap) {
        e->trials_cap = trial >= 2 * e->trials_cap ? trial + 1 : 2 * e->trials_cap;
        e->trials = rb_xrealloc(e->trials, (size_t)e->trials_cap, sizeof *e->trials);
    }
    for (; e->n_trials <= trial; e->n_trials++) {
        e->trials[e->n_trials] = (struct trial){
            .pub = {.stage = -1, .sharers = 1, .next_sharers = 1, .metric = NAN, .score = -INFINITY, .started_us = -1,
                    .parent = -1},
            .running_at = -1,
            .ranked_resource = -1,
            .ranked_score = -INFINITY,
        };
    }
}

static bool can_hold(const struct rb_engine *e, int n_nodes, int gpus_per_node, int gpus)
{
    const int n_gang = (gpus + gpus_per_node - 1) / gpus_per_node;
    return n_gang <= n_nodes && (n_gang == 1 || n_gang <= e->plan->job->trial.max_nodes);
}

// In an asynchronous job, a trial may wait in a phase whose nodes were listed for smaller ones, and would wait for
// ever. It gets the largest of the job's sizes that fits on them.
static int fitting_gpus(const struct rb_engine *e, int wanted)
{
    const struct rb_allocation *a = &e->allocation;
    const struct rb_trial_spec *spec = &e->plan->job->trial;
    int n_nodes = 0;
    for (int i = 0; i < a->n_nodes; i++)
        n_nodes += a->nodes[i].count;
    if (n_nodes == 0)
        return wanted;
    const int gpus_per_node = e->plan->offers[a->nodes[0].offer].gpus;
    if (can_hold(e, n_nodes, gpus_per_node, wanted))
        return wanted;
    for (int i = spec->n_sizes - 1; i >= 0; i--)
        if (spec->sizes[i] < wanted && can_hold(e, n_nodes, gpus_per_node, spec->sizes[i]))
            return spec->sizes[i];
    return wanted;
}

static void want_width(struct rb_engine *e, int trial, struct rb_width width)
{
    struct trial *t = &e->trials[trial];
    t->wanted = width;
    t->pub.gpus = t->pub.next_gpus = fitting_gpus(e, width.gpus);
    t->pub.sharers = t->pub.next_sharers = width.sharers;
}

static int claim_of(const struct trial *t)
{
    return t->pub.gpus > t->pub.next_gpus ? t->pub.gpus : t->pub.next_gpus;
}

void rb_engine_change_waiting(struct rb_engine *e, int trial, struct rb_width width)
{
    e->claimed_gpus -= e->trials[trial].pub.gpus;
    want_width(e, trial, width);
    e->claimed_gpus += e->trials[trial].pub.gpus;
}

void rb_engine_plan_resize(struct rb_engine *e, int trial, struct rb_width next)
{
    e->claimed_gpus -= claim_of(&e->trials[trial]);
    e->trials[trial].pub.next_gpus = next.gpus;
    e->trials[trial].pub.next_sharers = next.sharers;
    e->claimed_gpus += claim_of(&e->trials[trial]);
}

void rb_engine_refit_waiting(struct rb_engine *e)
{
    for (int i = 0; i < e->n_waiting; i++)
        rb_engine_change_waiting(e, e->queue[i], e->trials[e->queue[i]].wanted);
}

// Asynchronous tuners start trials in an order that depends on the run. So their draws are keyed by the trial, and runs
// under different policies can be compared draw by draw.
static void join(struct rb_engine *e, const struct rb_group *group, int index, struct rb_width width)
{
    struct trial *t = &e->trials[group->trials[index]];
    t->pub.state = RB_TRIAL_WAITING;
    t->pub.attempt = group->stage == t->pub.stage ? t->pub.attempt + 1 : 0;
    t->pub.stage = group->stage;
    t->pub.position = e->tuner->on_demand ? group->trials[index] : e->n_joined[group->stage] + index;
    want_width(e, group->trials[index], width);
    if (group->parents && group->parents[index] >= 0) {
        t->pub.parent = group->parents[index];
        t->pub.cloned_at = group->resource_start;
    }
    t->pub.resource = group->resource_start;
    t->pub.resource_end = group->resource_end;
    t->handed_out = true;
    t->giving_way = GIVES_NO_WAY;
    t->failure = 0;
    t->checkpoint = t->started_from = group->resource_start;
    t->order = e->next_order++;
    rb_engine_enqueue(e, group->trials[index]);
}

void rb_engine_join_group(struct rb_engine *e, const struct rb_group *group, struct rb_width width)
{
    know_trial(e, group->trials[group->n_trials - 1]);
    for (int i = 0; i < group->n_trials; i++) {
        assert(i == 0 || group->trials[i] > group->trials[i - 1]);
        join(e, group, i, width);
    }
    e->n_joined[group->stage] += group->n_trials;
    e->n_live[group->stage] += group->n_trials;
    e->n_live_total += group->n_trials;
    e->places_changed = true;
}

// ---- starting

static void add_running(struct rb_engine *e, int trial)
{
    if (e->n_running == e->running_cap) {
        e->running_cap = e->running_cap ? 2 * e->running_cap : 16;
        e->running = rb_xrealloc(e->running, (size_t)e->running_cap, sizeof *e->running);
    }
    e->trials[trial].running_at = e->n_running;
    e->running[e->n_running++] = trial;
    e->claimed_gpus += e->trials[trial].pub.gpus;
    if (e->policy->decide)
        rb_standings_add(&e->standings, trial, e->trials[trial].pub.score);
}

static void remove_running(struct rb_engine *e, int trial)
{
    const int at = e->trials[trial].running_at;
    const int last = e->running[--e->n_running];
    e->claimed_gpus -= claim_of(&e->trials[trial]);
    rb_standings_remove(&e->standings, trial);
    e->running[at] = last;
    e->trials[last].running_at = at;
    e->trials[trial].running_at = -1;
}

static void occupy(struct rb_engine *e, struct node *node, uint64_t gpus, int trial, int sharers)
{
    assert((node->pub.busy & gpus) == 0 || sharers > 1);
    if (!node->uses)
        node->uses = rb_arena_array(&e->arena, (size_t)node->pub.gpus, sizeof *node->uses);
    for (int gpu = 0; gpu < node->pub.gpus; gpu++) {
        if (!(gpus >> gpu & 1))
            continue;
        const bool beside = node->pub.busy >> gpu & 1;
        assert(!beside || (node->uses[gpu].sharers == sharers && node->uses[gpu].n_trials < sharers));
        node->n_shared += !beside && sharers > 1;
        node->uses[gpu] =
            (struct gpu_use){.trial = trial, .n_trials = beside ? node->uses[gpu].n_trials + 1 : 1, .sharers = sharers};
    }
    node->pub.busy |= gpus;
}

const char *rb_engine_accelerator_of(const struct rb_engine *e, const struct rb_slot *slots)
{
    return e->plan->offers[e->nodes[slots[0].node].pub.offer].accelerator;
}

// It has its GPUs, and waits for its configuration.
static bool is_unbound(const struct rb_engine *e, const struct trial *t)
{
    return e->suggests && !t->pub.values && t->pub.state == RB_TRIAL_RUNNING;
}

static void ask_for_configuration(struct rb_engine *e, int trial)
{
    struct trial *t = &e->trials[trial];
    if (t->asked)
        return;
    t->asked = true;
    rb_actions_add(e->out, &(struct rb_action){
                               .kind = RB_ACTION_SUGGEST,
                               .trial = trial,
                               .attempt = t->pub.attempt,
                               .stage = t->pub.stage,
                               .position = t->pub.position,
                               .resource_end = t->pub.resource_end,
                               .reason = "it has its GPUs and no configuration yet",
                           });
}

static void order_start(struct rb_engine *e, int trial)
{
    struct trial *t = &e->trials[trial];
    t->pub.started_us = e->now_us;
    rb_actions_add_with_slots(e->out,
                              &(struct rb_action){
                                  .kind = RB_ACTION_START_TRIAL,
                                  .trial = trial,
                                  .attempt = t->pub.attempt,
                                  .stage = t->pub.stage,
                                  .position = t->pub.position,
                                  .resource_start = t->checkpoint,
                                  .resource_end = t->pub.resource_end,
                                  .gpus = t->pub.gpus,
                                  .sharers = t->pub.sharers,
                                  .with = t->pub.with,
                                  .reason = "first in the queue when its GPUs became free",
                              },
                              t->pub.slots, t->pub.n_slots);
}

static void start(struct rb_engine *e, int trial, const struct rb_slot *slots, int n_slots)
{
    struct trial *t = &e->trials[trial];
    if (n_slots > t->slots_cap) {
        t->pub.slots = rb_arena_array(&e->arena, (size_t)n_slots, sizeof *slots);
        t->slots_cap = n_slots;
    }
    memcpy(t->pub.slots, slots, (size_t)n_slots * sizeof *slots);
    t->pub.n_slots = n_slots;
    for (int i = 0; i < n_slots; i++)
        occupy(e, &e->nodes[slots[i].node], slots[i].gpus, trial, t->pub.sharers);
    assert(t->pub.state == RB_TRIAL_WAITING);
    t->pub.state = RB_TRIAL_RUNNING;
    t->started_from = t->checkpoint;
    if (e->batching)
        t->pub.with = rb_batching_choose(e->batching, trial, rb_engine_accelerator_of(e, slots), n_slots, t->pub.gpus);
    add_running(e, trial);
    if (is_unbound(e, t))
        ask_for_configuration(e, trial);
    else
        order_start(e, trial);
}

// No further configuration: the trial never begins, nor does any other new one.
static void end_unbegun(struct rb_engine *e, int trial)
{
    struct trial *t = &e->trials[trial];
    if (t->pub.state == RB_TRIAL_RUNNING)
        rb_engine_vacate(e, trial);
    else
        rb_engine_dequeue(e, trial);
    rb_engine_close_tuner(e, RB_CLOSE_NEW);
    rb_engine_end_unbegun(e, trial);
    rb_engine_advance(e);
}

bool rb_engine_needs_configuration(const struct rb_engine *e, int trial)
{
    return is_unbound(e, &e->trials[trial]);
}

void rb_engine_on_suggested(struct rb_engine *e, const struct rb_event *event)
{
    if (e->outcome != RB_JOB_RUNNING || event->trial < 0 || event->trial >= e->n_trials)
        return;
    struct trial *t = &e->trials[event->trial];
    if (!e->suggests || !t->asked || t->pub.values || !t->handed_out)
        return;
    if (event->n_values == 0) {
        end_unbegun(e, event->trial);
        return;
    }
    const struct rb_space *space = &e->plan->job->space;
    struct rb_value values[RB_LIMIT_PARAMETERS];
    rb_event_values(event, space, values);
    t->pub.values = rb_values_copy(space, values, &e->arena);
    t->pub.origin = event->origin ? rb_arena_strdup(&e->arena, event->origin) : NULL;
    t->pub.because = event->because ? rb_arena_strdup(&e->arena, event->because) : NULL;
    if (t->pub.state == RB_TRIAL_RUNNING)
        order_start(e, event->trial);
}

static struct rb_slot *reserve_slots(struct rb_engine *e, int gpus)
{
    // The number of nodes that a trial may have; each has at least one GPU.
    if (gpus > e->slots_cap) {
        e->slots_cap = gpus;
        e->slots = rb_xrealloc(e->slots, (size_t)gpus, sizeof *e->slots);
    }
    return e->slots;
}

void rb_engine_start_waiting(struct rb_engine *e)
{
    e->places_changed = false;
    // Strictly in order: if the first does not fit, none behind it may take what it waits for.
    for (int n_slots; e->n_waiting > 0;) {
        const int trial = rb_engine_first_waiting(e);
        const struct rb_width width = {e->trials[trial].pub.gpus, e->trials[trial].pub.sharers};
        struct rb_slot *slots = reserve_slots(e, width.gpus);
        if (!rb_places_take_width(&e->places, width, slots, &n_slots))
            break;
        rb_engine_dequeue_first(e);
        start(e, trial, slots, n_slots);
    }
}

// ---- leaving the GPUs

// A shared GPU stays busy until the last trial has left it.
static void release(struct node *node, uint64_t gpus)
{
    assert((node->pub.busy & gpus) == gpus);
    for (int gpu = 0; gpu < node->pub.gpus; gpu++) {
        if (!(gpus >> gpu & 1) || --node->uses[gpu].n_trials > 0)
            continue;
        node->n_shared -= node->uses[gpu].sharers > 1;
        node->pub.busy &= ~(UINT64_C(1) << gpu);
    }
}

void rb_engine_vacate(struct rb_engine *e, int trial)
{
    struct trial *t = &e->trials[trial];
    for (int i = 0; i < t->pub.n_slots; i++) {
        struct node *node = &e->nodes[t->pub.slots[i].node];
        release(node, t->pub.slots[i].gpus);
        if (node->draining && node->pub.busy == 0)
            e->n_drained++;
        if (t->pub.sharers > 1)
            rb_places_give_share(&e->places, &t->pub.slots[i]);
        else
            rb_engine_update_place(e, t->pub.slots[i].node);
    }
    t->pub.n_slots = 0;
    remove_running(e, trial);
    e->places_changed = true;
}

void rb_engine_wait_again(struct rb_engine *e, int trial)
{
    struct trial *t = &e->trials[trial];
    const struct rb_width next = {t->pub.next_gpus, t->pub.next_sharers};
    want_width(e, trial, t->giving_way == GIVES_WAY_TO_RESIZE ? next : t->wanted);
    t->giving_way = GIVES_NO_WAY;
    t->pub.state = RB_TRIAL_WAITING;
    t->pub.attempt++;
    t->pub.resource = t->checkpoint;
    rb_engine_enqueue(e, trial);
    e->places_changed = true;
}

static void lose_trial(struct rb_engine *e, int trial)
{
    struct trial *t = &e->trials[trial];
    if (t->pub.n_slots > 1)
        rb_engine_kill_trial(e, trial, "another node of its gang was lost");
    rb_engine_vacate(e, trial);
    if (t->giving_way != GIVES_WAY_TO_PAUSE) {
        rb_engine_wait_again(e, trial);
        return;
    }
    rb_engine_end_paused(e, trial);
}

void rb_engine_give_way(struct rb_engine *e, int trial, enum giving_way why, const char *reason)
{
    struct trial *t = &e->trials[trial];
    assert(t->pub.state == RB_TRIAL_RUNNING);
    const bool asked = t->giving_way != GIVES_NO_WAY;
    t->giving_way = why;
    if (is_unbound(e, t)) { // there is no process yet
        lose_trial(e, trial);
        return;
    }
    if (why == GIVES_WAY_TO_PAUSE) {
        rb_engine_plan_resize(e, trial, (struct rb_width){0, 1});
        rb_standings_remove(&e->standings, trial);
    }
    if (asked)
        return;
    rb_actions_add(e->out, &(struct rb_action){
                               .kind = RB_ACTION_YIELD_TRIAL,
                               .trial = trial,
                               .attempt = t->pub.attempt,
                               .stage = t->pub.stage,
                               .position = t->pub.position,
                               .reason = reason,
                           });
}

void rb_engine_kill_trial(struct rb_engine *e, int trial, const char *reason)
{
    const struct rb_trial *t = &e->trials[trial].pub;
    rb_actions_add(e->out, &(struct rb_action){
                               .kind = RB_ACTION_KILL_TRIAL,
                               .trial = trial,
                               .attempt = t->attempt,
                               .stage = t->stage,
                               .position = t->position,
                               .reason = reason,
                           });
}

// By id, not in the order of the queue: people read the list.
void rb_engine_kill_all(struct rb_engine *e, enum rb_trial_state then, const char *reason)
{
    for (int i = 0; i < e->n_trials && e->n_live_total > 0; i++) {
        struct trial *t = &e->trials[i];
        if (t->pub.state == RB_TRIAL_RUNNING) {
            rb_engine_kill_trial(e, i, reason);
            rb_engine_vacate(e, i);
        } else if (t->pub.state == RB_TRIAL_WAITING) {
            e->claimed_gpus -= t->pub.gpus;
        } else {
            continue;
        }
        t->pub.state = then;
    }
    e->n_waiting = 0;
}

// Ascending ids of the trials on these GPUs of a node. A shared GPU stores only a number of trials, so all running
// trials are checked.
static int trials_on(const struct rb_engine *e, int node, uint64_t gpus, int *out)
{
    const struct node *on = &e->nodes[node];
    int n = 0, kept = 0;
    for (int gpu = 0; on->n_shared == 0 && gpu < on->pub.gpus; gpu++) {
        if ((on->pub.busy & gpus) >> gpu & 1)
            out[n++] = on->uses[gpu].trial;
    }
    for (int i = 0; on->n_shared > 0 && i < e->n_running; i++) {
        const struct rb_trial *t = &e->trials[e->running[i]].pub;
        bool here = false;
        for (int k = 0; k < t->n_slots && !here; k++)
            here = t->slots[k].node == node && (t->slots[k].gpus & gpus);
        if (here)
            out[n++] = e->running[i];
    }
    qsort(out, (size_t)n, sizeof *out, rb_order_ints);
    for (int i = 0; i < n; i++) {
        if (kept == 0 || out[i] != out[kept - 1])
            out[kept++] = out[i];
    }
    return kept;
}

void rb_engine_lose_trials_on(struct rb_engine *e, int node)
{
    int lost[RB_LIMIT_GPUS_PER_NODE * RB_LIMIT_TRIALS_PER_GPU];
    const int n = trials_on(e, node, UINT64_MAX, lost);
    for (int i = 0; i < n; i++)
        lose_trial(e, lost[i]);
}

void rb_engine_clear_unusable(struct rb_engine *e, int node)
{
    int displaced[RB_LIMIT_GPUS_PER_NODE * RB_LIMIT_TRIALS_PER_GPU];
    const int n = trials_on(e, node, ~e->nodes[node].pub.usable, displaced);
    for (int i = 0; i < n; i++) {
        if (e->trials[displaced[i]].giving_way == GIVES_NO_WAY)
            rb_engine_give_way(e, displaced[i], GIVES_WAY_TO_RESIZE, "its GPUs are given to another job");
    }
}

void rb_engine_resume_trials(struct rb_engine *e)
{
    for (int i = 0; i < e->n_trials; i++) {
        if (!e->trials[i].handed_out)
            continue;
        e->trials[i].asked = e->trials[i].pub.values != NULL; // an answer that came meanwhile was lost
        rb_engine_wait_again(e, i);
    }
}
