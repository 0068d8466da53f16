#include "simulator/world/timeline.h"

#include "simulator/world/world_evaluate.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define EVENTS      1000000 // of all runs: a quarter of a second
#define FEWEST_RUNS 32
#define N_PARTS     6 // of struct rb_bill_parts

// ---- one run, watched

struct spell {
    int trial, node, sharers;
    struct rb_gpu_spell of; // to_us -1: it goes on
};

struct node {
    int offer;
    int64_t requested_us;
    struct rb_node_life life;
};

struct run {
    struct spell *spells; // of one start side by side
    int n_spells, spells_cap;
    int *open; // by trial: the first spell of its start that goes on, -1: none
    int n_trials;
    struct node *nodes;
    int n_nodes;
    int stage;                         // its current stage, -1: none yet
    int64_t begin_us[RB_LIMIT_STAGES]; // of stages up to that one; passed at once: the next one's
    int64_t end_us;
};

static void finish_runs(struct run *runs, int n)
{
    for (int i = 0; i < n; i++) {
        free(runs[i].spells);
        free(runs[i].open);
        free(runs[i].nodes);
    }
    free(runs);
}

static void know_trial(struct run *r, int trial)
{
    if (trial < r->n_trials)
        return;
    r->open = rb_xrealloc(r->open, 2 * (size_t)trial + 2, sizeof *r->open);
    for (; r->n_trials < 2 * trial + 2; r->n_trials++)
        r->open[r->n_trials] = -1;
}

static void add_spell(struct run *r, struct spell spell, int64_t now_us)
{
    if (r->n_spells == r->spells_cap) {
        r->spells_cap = r->spells_cap ? 2 * r->spells_cap : 64;
        r->spells = rb_xrealloc(r->spells, (size_t)r->spells_cap, sizeof *r->spells);
    }
    spell.of.from_us = spell.of.saving_us = now_us;
    spell.of.to_us = -1;
    r->spells[r->n_spells++] = spell;
}

static void start(struct run *r, const struct rb_action *a, int64_t now_us)
{
    know_trial(r, a->trial);
    r->open[a->trial] = r->n_spells;
    for (int i = 0; i < a->n_slots; i++) {
        const struct spell spell = {.trial = a->trial,
                                    .node = a->slots[i].node,
                                    .sharers = a->sharers,
                                    .of.gpus = a->slots[i].gpus};
        add_spell(r, spell, now_us);
    }
}

// The spells of a trial's current start, from the one returned.
static struct spell *open_spells(const struct run *r, int trial, int *out_n)
{
    const int first = trial < r->n_trials ? r->open[trial] : -1;
    *out_n = 0;
    while (first >= 0 && first + *out_n < r->n_spells && r->spells[first + *out_n].trial == trial)
        ++*out_n;
    return first >= 0 ? &r->spells[first] : NULL;
}

// It trained until now, and saves from now on.
static void save(struct run *r, int trial, int64_t now_us)
{
    int n;
    struct spell *spells = open_spells(r, trial, &n);
    for (int i = 0; i < n; i++)
        spells[i].of.saving_us = now_us;
}

static void end(struct run *r, int trial, int64_t now_us, bool lost)
{
    int n;
    struct spell *spells = open_spells(r, trial, &n);
    for (int i = 0; i < n; i++) {
        spells[i].of.to_us = now_us;
        spells[i].of.lost = lost;
    }
    if (n > 0)
        r->open[trial] = -1;
}

// It has saved: what it trained until then is not lost with what follows.
static void keep(struct run *r, int trial, int64_t now_us)
{
    int n;
    const int first = r->open[trial];
    open_spells(r, trial, &n);
    end(r, trial, now_us, false);
    r->open[trial] = r->n_spells;
    for (int i = 0; i < n; i++)
        add_spell(r, r->spells[first + i], now_us);
}

static void lose_node(struct run *r, int node, int64_t now_us)
{
    for (int trial = 0; trial < r->n_trials; trial++) {
        int n;
        const struct spell *spells = open_spells(r, trial, &n);
        for (int i = 0; i < n; i++) {
            if (spells[i].node == node) {
                end(r, trial, now_us, true);
                break;
            }
        }
    }
}

// The engine is freed afterwards.
static void conclude(struct run *r, const struct rb_engine *e, int64_t now_us)
{
    r->end_us = now_us;
    for (int trial = 0; trial < r->n_trials; trial++)
        end(r, trial, now_us, false);
    r->n_nodes = rb_engine_n_nodes(e);
    r->nodes = rb_xcalloc((size_t)r->n_nodes + 1, sizeof *r->nodes);
    for (int i = 0; i < r->n_nodes; i++) {
        const struct rb_owned_node *n = rb_engine_node(e, i);
        r->nodes[i] = (struct node){.offer = n->billed_offer,
                                    .requested_us = n->requested_us,
                                    .life = {.gpus = n->gpus,
                                             .running_us = n->running_us,
                                             .ready_us = n->ready_us,
                                             .ended_us = n->ended_us >= 0 ? n->ended_us : now_us}};
    }
}

struct watch {
    struct run *runs; // by replicate
    uint32_t first;
};

static void observe(void *ctx, uint32_t replicate, const struct rb_engine *e, const struct rb_event *event,
                    const struct rb_actions *actions)
{
    const struct watch *w = ctx;
    struct run *r = &w->runs[replicate - w->first];
    if (event->kind == RB_EVENT_REPORT)
        save(r, event->trial, event->time_us); // as far as is known: the next report shows that it trained on
    else if (event->kind == RB_EVENT_TRIAL_SAVED)
        keep(r, event->trial, event->time_us);
    else if (event->kind == RB_EVENT_TRIAL_ENDED)
        end(r, event->trial, event->time_us, false);
    else if (event->kind == RB_EVENT_NODE_LOST)
        lose_node(r, event->node, event->time_us);
    while (r->stage < rb_engine_stage(e))
        r->begin_us[++r->stage] = event->time_us;
    for (int i = 0; i < actions->n; i++) {
        const struct rb_action *a = &actions->items[i];
        if (a->kind == RB_ACTION_START_TRIAL)
            start(r, a, event->time_us);
        else if (a->kind == RB_ACTION_YIELD_TRIAL)
            save(r, a->trial, event->time_us);
        else if (a->kind == RB_ACTION_KILL_TRIAL)
            end(r, a->trial, event->time_us, true);
        else if (a->kind == RB_ACTION_DONE)
            conclude(r, e, event->time_us);
    }
}

static bool play(const struct rb_scenario *s, const struct rb_plan *plan, uint32_t first, int n, int threads,
                 struct run *runs, struct rb_world_result *results, struct rb_err *err)
{
    struct watch watch = {.runs = runs, .first = first};
    for (int i = 0; i < n; i++)
        runs[i].stage = -1;
    const struct rb_world_runs asked = {
        .samples = n,
        .first = first,
        .threads = threads,
        .deadline_us = plan->deadline_us,
        .budget_uusd = plan->budget_uusd,
        .observe = observe,
        .observe_ctx = &watch,
    };
    return rb_world_replicates(s, plan, &asked, results, NULL, err);
}

// ---- the cost by its parts

static int by_node(const void *pa, const void *pb)
{
    const struct spell *a = pa, *b = pb;
    return (a->node > b->node) - (a->node < b->node);
}

// For a stage that never began: the end of the run.
static int64_t stage_end_us(const struct run *r, int stage)
{
    return stage < r->stage ? r->begin_us[stage + 1] : r->end_us;
}

// Adds the bills of a run to its stages, by the nodes' time in each. Sorts the run's spells by node.
static void add_bills(const struct rb_scenario *s, struct run *r, int n_stages, struct rb_gpu_spell *scratch,
                      struct rb_bill_parts *by)
{
    int64_t cuts_us[RB_LIMIT_STAGES];
    for (int i = 0; i + 1 < n_stages; i++)
        cuts_us[i] = stage_end_us(r, i);
    if (r->n_spells > 0)
        qsort(r->spells, (size_t)r->n_spells, sizeof *r->spells, by_node);
    for (int i = 0, at = 0; i < r->n_nodes; i++) {
        const struct node *n = &r->nodes[i];
        const struct rb_bill bill =
            rb_bill_node(&s->sim_offers[n->offer].billing, n->life.running_us, n->life.ended_us);
        int n_spells = 0;
        for (; at < r->n_spells && r->spells[at].node == i; at++)
            scratch[n_spells++] = r->spells[at].of;
        rb_bill_split(&bill, &n->life, scratch, n_spells, cuts_us, n_stages, by);
    }
}

static void split_expected(const struct rb_bill_parts *sums, int64_t expected_uusd, struct rb_timeline *out)
{
    int64_t weights[N_PARTS * RB_LIMIT_STAGES], parts[N_PARTS * RB_LIMIT_STAGES];
    _Static_assert(sizeof *sums == N_PARTS * sizeof weights[0], "every part is weighed");
    for (int i = 0; i < out->n_stages; i++)
        memcpy(weights + (size_t)i * N_PARTS, &sums[i], sizeof sums[i]);
    rb_apportion(expected_uusd, weights, out->n_stages * N_PARTS, 0, parts);
    for (int i = 0; i < out->n_stages; i++)
        memcpy(&out->stages[i].cost, parts + (size_t)i * N_PARTS, sizeof sums[i]);
}

static void sum_up_money(const struct rb_scenario *s, const struct rb_plan *plan, struct run *runs,
                         struct rb_timeline *out)
{
    struct rb_bill_parts sums[RB_LIMIT_STAGES] = {0};
    int most = 1;
    for (int i = 0; i < out->n_runs; i++)
        most = runs[i].n_spells > most ? runs[i].n_spells : most;
    RB_AUTO(rb_auto_free) struct rb_gpu_spell *scratch = rb_xcalloc((size_t)most, sizeof *scratch);
    for (int i = 0; i < out->n_runs; i++)
        add_bills(s, &runs[i], out->n_stages, scratch, sums);
    split_expected(sums, rb_plan_as_it_stands(plan)->cost_uusd.mean, out);
}

// ---- stages

// When the last node requested by the stage's begin was ready, within the stage; its begin if all were ready before.
static int64_t provisioned_us(const struct run *r, int64_t begin_us, int64_t end_us)
{
    int64_t last_us = begin_us;
    for (int i = 0; i < r->n_nodes; i++) {
        const struct node *n = &r->nodes[i];
        if (n->requested_us <= begin_us && n->life.ready_us > last_us && n->life.ready_us <= end_us)
            last_us = n->life.ready_us;
    }
    return last_us;
}

// values [3 x n_runs]: scratch.
static void sum_up_stages(const struct run *runs, int64_t *values, struct rb_timeline *out)
{
    int64_t *begin_us = values, *ready_us = values + out->n_runs, *end_us = values + 2 * (size_t)out->n_runs;
    for (int stage = 0; stage < out->n_stages; stage++) {
        struct rb_timeline_stage *t = &out->stages[stage];
        for (int i = 0; i < out->n_runs; i++) {
            const struct run *r = &runs[i];
            if (stage > r->stage)
                continue;
            begin_us[t->n_runs] = r->begin_us[stage];
            end_us[t->n_runs] = stage_end_us(r, stage);
            ready_us[t->n_runs] = provisioned_us(r, begin_us[t->n_runs], end_us[t->n_runs]);
            t->n_runs++;
        }
        if (t->n_runs == 0)
            continue;
        t->begin_us = rb_quantiles_of(begin_us, t->n_runs);
        t->provisioned_us = rb_quantiles_of(ready_us, t->n_runs);
        t->end_us = rb_quantiles_of(end_us, t->n_runs);
    }
}

// ---- instants

// Changes at the instants of the timeline; their running sums are the counts at each instant.
struct changes {
    double gpus[RB_TIMELINE_INSTANTS + 1], training[RB_TIMELINE_INSTANTS + 1];
    int nodes[RB_TIMELINE_INSTANTS + 1];
};

static int64_t instant_us(int i, int64_t span_us)
{
    const int64_t last = RB_TIMELINE_INSTANTS - 1;
    return span_us / last * i + span_us % last * i / last;
}

// The first instant at or after us; RB_TIMELINE_INSTANTS: there is none.
static int instant_from(int64_t us, int64_t span_us)
{
    int low = 0, high = RB_TIMELINE_INSTANTS;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (instant_us(middle, span_us) < us)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void add_run(const struct run *r, int64_t span_us, struct changes *c)
{
    memset(c->nodes, 0, sizeof c->nodes);
    for (int i = 0; i < r->n_nodes; i++) {
        const struct rb_node_life *life = &r->nodes[i].life;
        if (life->running_us < 0 || life->running_us >= life->ended_us)
            continue;
        const int from = instant_from(life->running_us, span_us), to = instant_from(life->ended_us, span_us);
        c->nodes[from]++;
        c->nodes[to]--;
        c->gpus[from] += life->gpus;
        c->gpus[to] -= life->gpus;
    }
    for (int i = 0; i < r->n_spells; i++) {
        const struct spell *s = &r->spells[i];
        const double gpus = (double)__builtin_popcountll(s->of.gpus) / (s->sharers > 1 ? s->sharers : 1);
        c->training[instant_from(s->of.from_us, span_us)] += gpus;
        c->training[instant_from(s->of.to_us, span_us)] -= gpus;
    }
}

// nodes [RB_TIMELINE_INSTANTS x n_runs]: scratch.
static void sum_up_instants(const struct run *runs, int64_t span_us, int64_t *nodes, struct rb_timeline *out)
{
    struct changes c = {0};
    const size_t n = (size_t)out->n_runs;
    for (size_t r = 0; r < n; r++) {
        add_run(&runs[r], span_us, &c);
        int64_t count = 0;
        for (size_t i = 0; i < RB_TIMELINE_INSTANTS; i++)
            nodes[i * n + r] = count += c.nodes[i];
    }
    double gpus = 0, training = 0;
    for (int i = 0; i < RB_TIMELINE_INSTANTS; i++) {
        int64_t *counts = nodes + (size_t)i * n, sum = 0;
        gpus += c.gpus[i];
        training += c.training[i];
        for (size_t r = 0; r < n; r++)
            sum += counts[r];
        const struct rb_quantiles q = rb_quantiles_of(counts, out->n_runs);
        out->instants[i] = (struct rb_timeline_instant){
            .at_us = instant_us(i, span_us),
            .nodes = (double)sum / (double)n,
            .nodes_p5 = q.p5,
            .nodes_p95 = q.p95,
            .gpus = gpus / (double)n,
            .training_gpus = training > 0 ? training / (double)n : 0, // parts of shared GPUs may not cancel out
        };
    }
}

// ---- the whole

static int affordable_runs(int64_t events_of_one)
{
    const int64_t n = EVENTS / (events_of_one > 0 ? events_of_one : 1);
    return n > RB_TIMELINE_RUNS ? RB_TIMELINE_RUNS : n < FEWEST_RUNS ? FEWEST_RUNS : (int)n;
}

static int64_t ended_by_us(const struct run *runs, int n, int64_t *scratch)
{
    for (int i = 0; i < n; i++)
        scratch[i] = runs[i].end_us;
    const int64_t p99_us = rb_quantiles_of(scratch, n).p99;
    return p99_us > 0 ? p99_us : 1;
}

bool rb_timeline_make(const struct rb_scenario *s, const struct rb_plan *plan, uint32_t first, int threads,
                      struct rb_timeline *out, struct rb_err *err)
{
    struct rb_world_result results[RB_TIMELINE_RUNS];
    struct run *runs = rb_xcalloc(RB_TIMELINE_RUNS, sizeof *runs);
    bool ok = play(s, plan, first, 1, 1, runs, results, err);
    const int n = ok ? rb_world_affordable_runs(plan, affordable_runs(results[0].n_events)) : 1;
    ok = ok && play(s, plan, first + 1, n - 1, threads, runs + 1, results + 1, err);
    if (ok) {
        RB_AUTO(rb_auto_free) int64_t *scratch = rb_xcalloc((size_t)n * RB_TIMELINE_INSTANTS, sizeof *scratch);
        *out = (struct rb_timeline){.n_runs = n, .n_stages = plan->n_stages};
        sum_up_stages(runs, scratch, out);
        sum_up_instants(runs, ended_by_us(runs, n, scratch), scratch, out);
        sum_up_money(s, plan, runs, out);
    }
    finish_runs(runs, RB_TIMELINE_RUNS);
    return ok;
}
