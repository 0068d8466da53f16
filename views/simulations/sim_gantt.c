// Draws the first run of a simulation: what the engine ordered, and when it ended.
#include "views/simulations/sim_gantt.h"

#include "base/file.h"
#include "base/limits.h"
#include "engine/core/tuner.h"
#include "views/tables/gantt.h"

#include <stdlib.h>
#include <string.h>

#define MOST_BARS 200000 // a picture with more bars is unreadable

struct drawing {
    struct rb_gantt_bar *bars;
    int n_bars;
    int *open; // by trial: its first bar that has not ended, -1: it does not train
    int n_trials;
    struct rb_gantt_line lines[RB_LIMIT_STAGES + 1];
    int n_lines, phase;
    struct rb_gantt_node *nodes; // copied at the end, before the engine is freed
    int n_nodes;
    int *lost; // numbers of preempted nodes
    int n_lost;
    const struct rb_plan *plan;
    bool on_demand; // asynchronous: a start may pass several levels
};

static void finish(struct drawing *d)
{
    free(d->bars);
    free(d->open);
    free(d->nodes);
    free(d->lost);
}

static void know_trial(struct drawing *d, int trial)
{
    if (trial < d->n_trials)
        return;
    d->open = rb_xrealloc(d->open, 2 * (size_t)trial + 2, sizeof *d->open);
    for (; d->n_trials < 2 * trial + 2; d->n_trials++)
        d->open[d->n_trials] = -1;
}

// ---- while it runs

static void add_bar(struct drawing *d, const struct rb_gantt_bar *bar)
{
    if (d->n_bars == MOST_BARS)
        return;
    d->bars = rb_grow(d->bars, d->n_bars, sizeof *d->bars);
    d->bars[d->n_bars++] = *bar;
}

// The level of an asynchronous trial after this start; it keeps the level at which it was started when it is resized.
static int level_after(const struct drawing *d, const struct rb_action *a)
{
    int level = a->stage;
    while (d->on_demand && level + 1 < d->plan->n_stages && d->plan->stages[level].resource_end <= a->resource_start)
        level++;
    return level;
}

static void start(struct drawing *d, const struct rb_action *a, int64_t now_us)
{
    know_trial(d, a->trial);
    d->open[a->trial] = d->n_bars;
    for (int i = 0; i < a->n_slots; i++)
        add_bar(d, &(struct rb_gantt_bar){
                       .node = a->slots[i].node,
                       .gpus = a->slots[i].gpus,
                       .trial = a->trial,
                       .level = level_after(d, a),
                       .start_us = now_us,
                       .end_us = -1,
                       .resource_start = a->resource_start,
                       .resource_end = a->resource_start,
                   });
}

static void end(struct drawing *d, int trial, int64_t resource, int64_t now_us, enum rb_gantt_end how)
{
    if (trial >= d->n_trials || d->open[trial] < 0)
        return;
    for (int i = d->open[trial]; i < d->n_bars && d->bars[i].trial == trial && d->bars[i].end_us < 0; i++) {
        d->bars[i].end_us = now_us;
        d->bars[i].end = how;
        if (how != RB_GANTT_LOST && resource > d->bars[i].resource_start)
            d->bars[i].resource_end = resource;
    }
    d->open[trial] = -1;
}

// A trial that continues has reached the next level: another shade.
static void pass_level(struct drawing *d, int trial, int64_t resource, int64_t now_us)
{
    const int first = trial < d->n_trials ? d->open[trial] : -1;
    if (first < 0 || d->bars[first].level + 1 >= d->plan->n_stages ||
        resource != d->plan->stages[d->bars[first].level].resource_end)
        return;
    int n = 0;
    while (first + n < d->n_bars && d->bars[first + n].trial == trial && d->bars[first + n].end_us < 0)
        n++;
    const int at = d->n_bars;
    end(d, trial, resource, now_us, RB_GANTT_DONE);
    for (int i = 0; i < n; i++) {
        struct rb_gantt_bar next = d->bars[first + i];
        next.level++;
        next.start_us = now_us;
        next.end_us = -1;
        next.resource_start = next.resource_end = resource;
        add_bar(d, &next);
    }
    d->open[trial] = d->n_bars > at ? at : -1;
}

static bool is_on(const struct drawing *d, int trial, int node)
{
    for (int i = d->open[trial]; i >= 0 && i < d->n_bars && d->bars[i].trial == trial && d->bars[i].end_us < 0; i++) {
        if (d->bars[i].node == node)
            return true;
    }
    return false;
}

static void lose_node(struct drawing *d, int node, int64_t now_us)
{
    d->lost = rb_xrealloc(d->lost, (size_t)d->n_lost + 1, sizeof *d->lost);
    d->lost[d->n_lost++] = node;
    for (int trial = 0; trial < d->n_trials; trial++) {
        if (d->open[trial] >= 0 && is_on(d, trial, node))
            end(d, trial, 0, now_us, RB_GANTT_LOST);
    }
}

static void end_phase(struct drawing *d, const struct rb_engine *e, int64_t now_us)
{
    const int phase = rb_engine_stage(e);
    if (phase != d->phase && d->phase >= 0 && d->n_lines < RB_LIMIT_STAGES)
        d->lines[d->n_lines++] = (struct rb_gantt_line){.at_us = now_us, .label = ""};
    d->phase = phase;
}

static void copy_nodes(struct drawing *d, const struct rb_engine *e, int64_t now_us)
{
    d->n_nodes = rb_engine_n_nodes(e);
    d->nodes = rb_xcalloc((size_t)d->n_nodes + 1, sizeof *d->nodes);
    for (int i = 0; i < d->n_nodes; i++) {
        const struct rb_owned_node *n = rb_engine_node(e, i);
        d->nodes[i] = (struct rb_gantt_node){.name = d->plan->offers[n->offer].instance_type,
                                             .gpus = n->gpus,
                                             .requested_us = n->requested_us,
                                             .running_us = n->running_us,
                                             .ready_us = n->ready_us,
                                             .ended_us = n->ended_us >= 0 ? n->ended_us : now_us};
    }
    for (int i = 0; i < d->n_lost; i++)
        d->nodes[d->lost[i]].lost = true;
}

static void observe(void *ctx, uint32_t replicate, const struct rb_engine *e, const struct rb_event *event,
                    const struct rb_actions *actions)
{
    struct drawing *d = ctx;
    (void)replicate;
    if (event->kind == RB_EVENT_TRIAL_ENDED)
        end(d, event->trial, rb_engine_trial(e, event->trial)->resource, event->time_us,
            event->outcome == RB_OUTCOME_YIELDED ? RB_GANTT_GAVE_WAY : RB_GANTT_DONE);
    if (event->kind == RB_EVENT_REPORT && d->on_demand)
        pass_level(d, event->trial, event->resource, event->time_us);
    if (event->kind == RB_EVENT_NODE_LOST)
        lose_node(d, event->node, event->time_us);
    for (int i = 0; i < actions->n; i++) {
        const struct rb_action *a = &actions->items[i];
        if (a->kind == RB_ACTION_START_TRIAL)
            start(d, a, event->time_us);
        else if (a->kind == RB_ACTION_KILL_TRIAL)
            end(d, a->trial, rb_engine_trial(e, a->trial)->resource, event->time_us, RB_GANTT_STOPPED);
        else if (a->kind == RB_ACTION_DONE)
            copy_nodes(d, e, event->time_us);
    }
    end_phase(d, e, event->time_us);
}

// ---- afterwards

static const char *say(const struct rb_simulation *sim, const struct rb_world_result *r, struct rb_arena *arena)
{
    char time[32], cost[32];
    return rb_arena_printf(arena, "%s, %s, best %s %.4f (trial %d); %d trials, %d of them to R; seed %llu, replicate 0",
                           rb_format_duration(r->time_us, time), rb_format_money(r->cost_uusd, cost),
                           sim->variants[0].plan.job->metric_name, r->best_metric, r->best_trial, r->n_trained,
                           r->n_full, (unsigned long long)sim->seed);
}

static void describe(const struct rb_simulation *sim, const struct rb_sim_variant *v, struct drawing *d,
                     const struct rb_world_result *r, struct rb_arena *arena, struct rb_gantt *out)
{
    const struct rb_plan *plan = &v->plan;
    for (int i = 0; i < d->n_bars; i++) {
        if (d->bars[i].end_us < 0)
            d->bars[i].end_us = r->time_us;
    }
    for (int i = 0; i < d->n_nodes; i++)
        d->nodes[i].name = rb_arena_printf(arena, "%d  %s", i, d->nodes[i].name);
    if (plan->deadline_us >= 0)
        d->lines[d->n_lines++] = (struct rb_gantt_line){.at_us = plan->deadline_us, .label = "deadline", .limit = true};
    *out = (struct rb_gantt){
        .title = rb_arena_printf(arena, "%s: %s under %s", plan->job->name, plan->job->scheduler.type, plan->policy),
        .subtitle = say(sim, r, arena),
        .what = "trial",
        .unit = plan->job->scheduler.unit,
        .cpus = plan->job->trial.cpus,
        .n_levels = plan->n_stages,
        .nodes = d->nodes,
        .n_nodes = d->n_nodes,
        .bars = d->bars,
        .n_bars = d->n_bars,
        .lines = d->lines,
        .n_lines = d->n_lines,
        .end_us = plan->deadline_us > r->time_us ? plan->deadline_us
                  : r->time_us > 0               ? r->time_us
                                                 : 1,
    };
}

bool rb_sim_gantt_save(const struct rb_simulation *sim, const char *path, struct rb_err *err)
{
    const bool html = rb_has_ending(path, ".html");
    const int n = sim->n_variants;
    if (!html && !rb_has_ending(path, ".svg"))
        return rb_err_set(err, RB_E_PICTURE_NAME, "--gantt %s: expected a name that ends with .svg or .html", path);
    if (!html && n > 1)
        return rb_err_set(err, RB_E_PICTURE_NAME, "--gantt %s: several pictures need a page: FILE.html", path);
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    RB_AUTO(rb_auto_free) struct drawing *drawings = rb_xcalloc((size_t)n, sizeof *drawings);
    struct rb_gantt *pictures = rb_arena_array(&arena, (size_t)n, sizeof *pictures);
    bool ok = true;
    for (int i = 0; i < n && ok; i++) {
        struct rb_world_result r;
        const struct rb_plan *plan = &sim->variants[i].plan;
        const struct rb_tuner *tuner = rb_tuner_find(plan->job->scheduler.type);
        drawings[i] = (struct drawing){.phase = -1, .plan = plan, .on_demand = tuner && tuner->on_demand};
        ok = rb_sim_watch(sim, &sim->variants[i], observe, &drawings[i], &r, err);
        if (ok)
            describe(sim, &sim->variants[i], &drawings[i], &r, &arena, &pictures[i]);
    }
    if (ok && html)
        rb_gantt_write_html(pictures, n, &out);
    else if (ok)
        rb_gantt_write_svg(pictures, &out);
    for (int i = 0; i < n; i++)
        finish(&drawings[i]);
    return ok && rb_write_file(path, rb_buf_str(&out), out.len, err);
}
