// Packing: this project's own answer to Fluid. It packs waiting trials around running ones, as tightly as
// engine/packing can, with the remaining work of each, its successors (the rest of its bracket), and all groups at
// once. When no trial waits, it packs the running trials again, and they change width if everything then ends sooner,
// restarts included. docs/MODEL.md, "Trial groups as packing".
#include "engine/policies/policies.h"

#include "base/arena.h"
#include "engine/packing/pack.h"
#include "engine/policies/live_group.h"
#include "engine/policies/pool.h"
#include "engine/policies/widths_wanted.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_REPACKED 256 // waiting; with more, only arrivals cause a new packing: one end among many changes little
// A change must bring the end below this factor of the present one: estimates are not exact.
#define CHANGE_PAYS   0.98
#define FIRST_LISTS   100000 // placements that tentative lists may make for an arriving group ...
#define LATER_LISTS   10000  // ... and at each later look
#define MOST_BRANCHES 2000

struct packing {
    const struct rb_plan *plan;
    struct rb_live_widths widths;
    struct rb_paces paces;
    struct rb_live_group running, waiting;
    int64_t *tail_us; // of the group being packed, as its heights
    struct rb_widths_wanted wanted;
    int64_t stage_tail_us[RB_LIMIT_STAGES]; // least duration of the later rungs of a bracket
    int64_t *free_us;                       // by GPU of the packing, [n_gpus]
    bool on_demand;
    bool overlapping;              // other groups train while one waits at its barrier
    int n_joined[RB_LIMIT_STAGES]; // trials that ever reached a stage
};

// ---- known before the run

// One trial on the widest place it can use, after the barrier at which its whole rung is awaited. Asynchronous jobs
// have no barriers, and few trials continue.
static void find_tails(struct packing *p)
{
    const struct rb_plan *plan = p->plan;
    const struct rb_training *training =
        rb_profile_training(plan->profile, plan->offers[plan->stages[0].nodes[0].offer].accelerator);
    const double restart_s = rb_dist_mean(&plan->profile->startup_s) + rb_dist_mean(&plan->profile->checkpoint_s);
    double least = p->widths.factor[0];
    for (int w = 1; w < p->widths.n; w++)
        least = p->widths.factor[w] < least ? p->widths.factor[w] : least;
    for (int s = p->on_demand ? -1 : plan->n_stages - 2; s >= 0; s--) {
        const struct rb_plan_stage *next = &plan->stages[s + 1];
        if (next->resource_start != plan->stages[s].resource_end)
            continue; // another bracket
        const double units = (double)(next->resource_end - next->resource_start);
        p->stage_tail_us[s] = p->stage_tail_us[s + 1] + (int64_t)(1e6 * (restart_s + units * training->base_s * least));
    }
}

static bool create(const struct rb_plan *plan, void **out_state, struct rb_err *err)
{
    struct rb_live_widths widths;
    if (!rb_live_widths_make(plan, &widths, err))
        return false;
    struct packing *p = rb_xcalloc(1, sizeof *p);
    p->plan = plan;
    p->widths = widths;
    p->on_demand = rb_tuner_find(plan->job->scheduler.type)->on_demand;
    p->overlapping = !p->on_demand && rb_job_is_asynchronous(plan->job);
    find_tails(p);
    *out_state = p;
    return true;
}

static void destroy(void *state)
{
    struct packing *p = state;
    if (!p)
        return;
    rb_paces_finish(&p->paces);
    rb_live_group_finish(&p->running);
    rb_live_group_finish(&p->waiting);
    rb_widths_wanted_finish(&p->wanted);
    free(p->free_us);
    free(p->tail_us);
    free(p);
}

// ---- waiting trials, around running ones

static void hold(struct packing *p, const struct rb_engine *e, const int *rows, int trial, int64_t until_us)
{
    const struct rb_trial *t = rb_engine_trial(e, trial);
    const int per_node = p->waiting.pack.node_gpus;
    for (int i = 0; i < t->n_slots; i++) {
        const int row = rows[t->slots[i].node];
        for (int gpu = 0; row >= 0 && gpu < per_node; gpu++) {
            int64_t *own = &p->free_us[row * per_node + gpu];
            if ((t->slots[i].gpus >> gpu & 1) && *own < until_us)
                *own = until_us;
        }
    }
}

// Nodes that are booting count as ready: the packing is made again when they are. Returns each node's row in the
// packing, -1: none.
static int *number_nodes(const struct packing *p, const struct rb_engine *e)
{
    const int n = rb_engine_n_nodes(e);
    int *rows = rb_xcalloc((size_t)n + 1, sizeof *rows), next = 0;
    for (int i = 0; i < n; i++) {
        const bool owned = rb_engine_node(e, i)->state != RB_OWNED_ENDED;
        rows[i] = owned && next < p->waiting.pack.n_nodes ? next++ : -1;
    }
    return rows;
}

static void find_free(struct packing *p, const struct rb_engine *e)
{
    const int n_gpus = rb_pack_n_gpus(&p->waiting.pack), n_widths = p->widths.n;
    RB_AUTO(rb_auto_free) int *rows = number_nodes(p, e);
    p->free_us = rb_xrealloc(p->free_us, (size_t)n_gpus, sizeof *p->free_us);
    memset(p->free_us, 0, (size_t)n_gpus * sizeof *p->free_us);
    if (!rb_live_group_collect(&p->running, p->plan, &p->widths, &p->paces, e, RB_LIVE_RUNNING))
        return;
    for (int i = 0; i < p->running.pack.n_trials; i++) {
        const int held = p->running.held[i];
        hold(p, e, rows, p->running.trials[i], held >= 0 ? p->running.height_us[i * n_widths + held] : 1);
    }
}

struct started {
    int64_t start_us;
    int at;
};

static int sooner(const void *pa, const void *pb)
{
    const struct started *a = pa, *b = pb;
    if (a->start_us != b->start_us)
        return a->start_us < b->start_us ? -1 : 1;
    return (a->at > b->at) - (a->at < b->at);
}

static void decide_starts(struct packing *p, const struct rb_packing *packing, int n, struct rb_decisions *out)
{
    RB_AUTO(rb_auto_free) struct started *list = rb_xcalloc((size_t)n, sizeof *list);
    for (int i = 0; i < n; i++)
        list[i] = (struct started){packing->trials[i].start_us, i};
    qsort(list, (size_t)n, sizeof *list, sooner);
    for (int i = 0; i < n; i++) {
        rb_decide_width(out, p->waiting.trials[list[i].at], p->widths.widths[packing->trials[list[i].at].width]);
        rb_widths_note_place(&p->wanted, p->waiting.trials[list[i].at], i);
    }
    out->in_order = true;
    out->reason = "its place in the shortest packing found";
}

// The likely excess of the slowest of n trials over the mean.
static double overrun(const struct packing *p, int n)
{
    const double slowest = rb_profile_slow_factor(p->plan->profile, (double)n / (n + 1));
    return slowest > 1 ? slowest - 1 : 0;
}

// The time by which a trial is late is trained on its width, or if it reports in between, on the widest available then.
static int64_t late_us(const struct rb_live_group *g, const struct rb_engine *e, int at, int width, double late)
{
    const struct rb_trial *t = rb_engine_trial(e, g->trials[at]);
    int64_t least_us = rb_pack_height_us(&g->pack, at, width);
    const double so_us = late * (double)least_us;
    if (t->resource_end - t->resource < 3)
        return (int64_t)so_us;
    for (int w = 0; w < g->pack.n_widths; w++)
        least_us = rb_pack_height_us(&g->pack, at, w) < least_us ? rb_pack_height_us(&g->pack, at, w) : least_us;
    return (int64_t)fmin(so_us, late * (double)least_us + (double)g->resize_us[at]);
}

// The successors of each trial: the later rungs of its bracket, and before them its possible delay while its speed is
// unknown.
static void find_tails_of(struct packing *p, const struct rb_engine *e, struct rb_live_group *g)
{
    const int n = g->pack.n_trials, n_widths = g->pack.n_widths;
    const double late = overrun(p, n);
    p->tail_us = rb_xrealloc(p->tail_us, (size_t)n * (size_t)n_widths, sizeof *p->tail_us);
    for (int i = 0; i < n; i++) {
        const int64_t follows_us = p->stage_tail_us[rb_engine_trial(e, g->trials[i])->stage];
        const bool known = rb_paces_known(&p->paces, g->trials[i]);
        for (int w = 0; w < n_widths; w++)
            p->tail_us[i * n_widths + w] = follows_us + (known ? 0 : late_us(g, e, i, w, late));
    }
    g->pack.tail_us = p->tail_us;
}

// Trials that will still reach some rung while others train.
static int count_later(const struct packing *p)
{
    int n = 0;
    for (int s = 0; p->overlapping && s < p->plan->n_stages; s++)
        n += p->plan->stages[s].trials > p->n_joined[s] ? p->plan->stages[s].trials - p->n_joined[s] : 0;
    return n;
}

// If groups overlap, the work of later rungs must count as well: without it, wide and wasteful places look good. They
// are packed as separate trials without barriers and successors; their places are not used. Returns their number, after
// the n that wait.
static int add_later_rungs(struct packing *p)
{
    struct rb_live_group *g = &p->waiting;
    const int n = g->pack.n_trials, n_widths = g->pack.n_widths;
    const int n_later = count_later(p);
    if (n_later == 0 || n_later > MOST_REPACKED)
        return 0;
    rb_live_group_reserve(g, n + n_later, n_widths);
    p->tail_us = rb_xrealloc(p->tail_us, (size_t)(n + n_later) * (size_t)n_widths, sizeof *p->tail_us);
    for (int s = 0, at = n; s < p->plan->n_stages; s++) {
        for (int k = p->n_joined[s]; k < p->plan->stages[s].trials; k++, at++) {
            rb_live_heights(p->plan, &p->widths, p->plan->stages[s].resource_end - p->plan->stages[s].resource_start,
                            &g->height_us[at * n_widths]);
            memset(&p->tail_us[at * n_widths], 0, (size_t)n_widths * sizeof *p->tail_us);
        }
    }
    g->pack.n_trials += n_later;
    g->pack.height_us = g->height_us;
    g->pack.tail_us = p->tail_us;
    return n_later;
}

// The last widths of the waiting trials, in that order; false: a trial has a width that was not chosen here.
static bool last_packing(const struct packing *p, const struct rb_engine *e, int n_later, int *out_widths,
                         int *out_order)
{
    const int n = p->waiting.pack.n_trials - n_later;
    RB_AUTO(rb_auto_free) struct started *list = rb_xcalloc((size_t)n, sizeof *list);
    for (int i = n; i < n + n_later; i++) {
        out_widths[i] = rb_pack_single_gpu(&p->waiting.pack);
        out_order[i] = i;
    }
    for (int i = 0; i < n; i++) {
        const struct rb_trial *t = rb_engine_trial(e, p->waiting.trials[i]);
        out_widths[i] = rb_live_width_find(&p->widths, t->gpus, t->sharers);
        if (out_widths[i] < 0 || rb_pack_height_us(&p->waiting.pack, i, out_widths[i]) == RB_PACK_NEVER)
            return false;
        list[i] = (struct started){rb_widths_place(&p->wanted, p->waiting.trials[i]), i};
    }
    qsort(list, (size_t)n, sizeof *list, sooner);
    for (int i = 0; i < n; i++)
        out_order[i] = list[i].at;
    return true;
}

static void pack_waiting(struct packing *p, const struct rb_engine *e, bool arrivals, struct rb_decisions *out)
{
    struct rb_pack_answer answer;
    if (!rb_live_group_collect(&p->waiting, p->plan, &p->widths, &p->paces, e, RB_LIVE_WAITING))
        return;
    find_free(p, e);
    p->waiting.pack.free_us = p->free_us;
    find_tails_of(p, e, &p->waiting);
    const int n_later = add_later_rungs(p);
    if (!rb_pack_group_check(&p->waiting.pack, NULL))
        return; // too long to be represented: they start in their order of arrival
    RB_AUTO(rb_auto_free) int *widths = rb_xcalloc((size_t)p->waiting.pack.n_trials, sizeof *widths);
    RB_AUTO(rb_auto_free) int *order = rb_xcalloc((size_t)p->waiting.pack.n_trials, sizeof *order);
    const bool has_one = last_packing(p, e, n_later, widths, order);
    rb_pack(&p->waiting.pack,
            &(struct rb_pack_options){.most_branches = MOST_BRANCHES,
                                      .most_placements = arrivals ? FIRST_LISTS : LATER_LISTS,
                                      .widths = has_one ? widths : NULL,
                                      .order = order},
            &answer);
    decide_starts(p, &answer.packing, p->waiting.pack.n_trials - n_later, out);
    rb_pack_answer_finish(&answer);
}

// ---- one at a time, as an asynchronous tuner starts them

// While there are new configurations: the sharing at which all remaining ones would end their first rung soonest.
static int sharers_for_new(const struct packing *p, int n_left, int n_gpus)
{
    const struct rb_plan *plan = p->plan;
    const struct rb_training *training =
        rb_profile_training(plan->profile, plan->offers[plan->stages[0].nodes[0].offer].accelerator);
    const double restart_s = rb_dist_mean(&plan->profile->startup_s) + rb_dist_mean(&plan->profile->checkpoint_s);
    const double units = (double)(plan->stages[0].resource_end - plan->stages[0].resource_start);
    double soonest_s = INFINITY;
    int best = 1;
    for (int w = 0; w < p->widths.n; w++) {
        const struct rb_width *width = &p->widths.widths[w];
        const double waves = ceil((double)n_left / ((double)n_gpus * width->sharers));
        const double s = waves * (restart_s + units * training->base_s * p->widths.factor[w]);
        if (width->gpus == 1 && s < soonest_s) {
            soonest_s = s;
            best = width->sharers;
        }
    }
    return best;
}

// The widest idle place that its part of all the work justifies, else a share.
static struct rb_width promoted_width(const struct packing *p, const struct rb_engine *e, int at, int sharers)
{
    const struct rb_pack_group *g = &p->waiting.pack;
    const int single = rb_pack_single_gpu(g), idle = rb_live_idle_gpus(e) + 1; // it counts on one itself
    double all_us = 0;
    for (int i = 0; i < p->running.pack.n_trials; i++)
        all_us += (double)rb_pack_height_us(&p->running.pack, i, single);
    const double own_us = (double)rb_pack_height_us(g, at, single);
    const double part = own_us / (all_us + own_us) * rb_pack_n_gpus(g);
    struct rb_width best = {1, idle >= 1 ? 1 : sharers};
    for (int w = single + 1; w < g->n_widths; w++) {
        const struct rb_width *wide = &g->widths[w];
        if (wide->gpus <= idle && wide->gpus <= part && rb_engine_would_fit(e, p->waiting.trials[at], wide->gpus))
            best = *wide;
    }
    return best;
}

static void size_newcomers(struct packing *p, const struct rb_engine *e, struct rb_decisions *out)
{
    const int n_left = p->plan->job->scheduler.num_trials - rb_engine_n_trials(e) + 1;
    const int sharers = sharers_for_new(p, n_left, rb_engine_n_gpus(e) > 0 ? rb_engine_n_gpus(e) : 1);
    if (!rb_live_group_collect(&p->waiting, p->plan, &p->widths, &p->paces, e, RB_LIVE_WAITING))
        return;
    rb_live_group_collect(&p->running, p->plan, &p->widths, &p->paces, e, RB_LIVE_RUNNING);
    for (int i = 0; i < p->waiting.pack.n_trials; i++) {
        const struct rb_trial *t = rb_engine_trial(e, p->waiting.trials[i]);
        if (t->attempt > 0)
            continue; // it gave way for the width that it waits for
        rb_decide_width(out, p->waiting.trials[i],
                        t->resource == 0 ? (struct rb_width){1, sharers} : promoted_width(p, e, i, sharers));
    }
    out->reason = "what its part of the work is worth";
}

// ---- running trials, when no trial waits

// A change costs a restart. Returns the duration of everything without changes.
static int64_t charge_changes(struct rb_live_group *g)
{
    int64_t longest_us = 0;
    for (int i = 0; i < g->pack.n_trials; i++) {
        for (int w = 0; w < g->pack.n_widths; w++) {
            int64_t *own_us = &g->height_us[i * g->pack.n_widths + w];
            if (w != g->held[i])
                *own_us += g->resize_us[i];
            else if (rb_pack_needs_us(&g->pack, i, w) > longest_us)
                longest_us = rb_pack_needs_us(&g->pack, i, w);
        }
    }
    return longest_us;
}

// Running trials have their GPUs now: a packing in which one of them waits cannot be executed.
static bool starts_at_once(const struct rb_packing *packing)
{
    for (int i = 0; i < packing->n_trials; i++) {
        if (packing->trials[i].start_us > 0)
            return false;
    }
    return true;
}

// If no packing ends sooner as a whole, trials still grow into idle GPUs, as under DynamicFluid, each independently.
static void pack_running(struct packing *p, const struct rb_engine *e)
{
    struct rb_pack_answer answer;
    struct rb_live_group *g = &p->running;
    if (!rb_live_group_collect(g, p->plan, &p->widths, &p->paces, e, RB_LIVE_RUNNING))
        return;
    if (g->pack.n_trials > MOST_REPACKED)
        return;
    find_tails_of(p, e, g);
    RB_AUTO(rb_auto_free) int *fluid = rb_xcalloc((size_t)g->pack.n_trials, sizeof *fluid);
    RB_AUTO(rb_auto_free) int *order = rb_xcalloc((size_t)g->pack.n_trials, sizeof *order);
    rb_fluid_dynamic(&g->pack, p->widths.caps, g->held, g->resize_us, fluid, order);
    const int64_t kept_us = charge_changes(g);
    if (!rb_pack_group_check(&g->pack, NULL))
        return;
    rb_pack(&g->pack, &(struct rb_pack_options){.most_branches = MOST_BRANCHES, .most_placements = LATER_LISTS},
            &answer);
    const bool pays = count_later(p) == 0 && starts_at_once(&answer.packing) &&
                      (double)answer.packing.makespan_us < CHANGE_PAYS * (double)kept_us;
    for (int i = 0; i < g->pack.n_trials; i++) {
        const int width = pays ? answer.packing.trials[i].width : fluid[i];
        rb_widths_want(&p->wanted, g->trials[i], width != g->held[i] ? width : -1);
    }
    rb_pack_answer_finish(&answer);
}

// ---- the policy

static void arrange(void *state, const struct rb_engine *e, struct rb_decisions *out)
{
    struct packing *p = state;
    int n_waiting;
    rb_engine_waiting(e, &n_waiting);
    if (n_waiting == 0) {
        pack_running(p, e);
        return;
    }
    const bool arrivals = rb_widths_note_arrivals(&p->wanted, e, p->n_joined);
    if (p->on_demand && arrivals)
        size_newcomers(p, e, out);
    else if (!p->on_demand && (arrivals || n_waiting <= MOST_REPACKED))
        pack_waiting(p, e, arrivals, out);
}

static void decide(void *state, const struct rb_engine *e, int trial, struct rb_decisions *out)
{
    struct packing *p = state;
    if (rb_paces_see(&p->paces, &p->widths, e, trial))
        rb_widths_carry_out(&p->wanted, &p->widths, e, trial, "all that train end sooner so", out);
}

// For an asynchronous tuner, the number on a GPU with the largest total speed; synchronous groups are packed when they
// arrive.
static int sharers(const struct rb_plan *plan, const struct rb_group *group)
{
    struct rb_live_widths w;
    double most = 1;
    int best = 1;
    (void)group;
    if (!rb_tuner_find(plan->job->scheduler.type)->on_demand || !rb_live_widths_make(plan, &w, NULL))
        return 1;
    for (int i = 0; i < w.n; i++) {
        if (w.widths[i].sharers > 1 && w.widths[i].sharers / w.factor[i] > most) {
            most = w.widths[i].sharers / w.factor[i];
            best = w.widths[i].sharers;
        }
    }
    return best;
}

static void cluster(const struct rb_plan *plan, int phase, struct rb_allocation *out)
{
    (void)phase;
    rb_own_first_cluster(plan, "all groups are packed onto the nodes of the first stage", out);
}

const struct rb_policy rb_policy_packing = {
    .name = "packing",
    .keeps_cluster = true,
    .estimate_runs = 64, // a run of 81 trials takes 0.1 s
    .size = rb_size_of_one,
    .sharers = sharers,
    .cluster = cluster,
    .create = create,
    .destroy = destroy,
    .decide = decide,
    .arrange = arrange,
};
