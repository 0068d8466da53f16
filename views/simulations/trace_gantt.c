// The picture of a trace: every node is a row and every job has a colour, which is deeper the further the job is
// trained.
#include "views/simulations/trace_gantt.h"

#include "base/file.h"
#include "views/tables/gantt.h"

#include <stdlib.h>
#include <string.h>

#define MOST_BARS 200000 // a picture with more bars is unreadable
#define SHADES    4

struct rb_trace_gantt {
    const struct rb_trace_run *run;
    struct rb_gantt_bar *bars; // in the order they start; lanes are found afterwards
    int n_bars;
    struct rb_trace_watcher watcher;
    int *open; // of each job: its first bar that has not ended, -1: it waits
    bool cut;
};

void rb_trace_gantt_destroy(struct rb_trace_gantt *d)
{
    if (!d)
        return;
    free(d->bars);
    free(d->open);
    free(d);
}

// ---- while it runs

static void end_bars(struct rb_trace_gantt *d, int job, int64_t now_us, enum rb_gantt_end how)
{
    for (int i = d->open[job]; i >= 0 && i < d->n_bars && d->bars[i].trial == job && d->bars[i].end_us < 0; i++) {
        d->bars[i].end_us = now_us;
        d->bars[i].end = how;
        d->bars[i].resource_end = d->run->jobs[job].epoch;
    }
    d->open[job] = -1;
}

static struct rb_gantt_bar *add_bar(struct rb_trace_gantt *d)
{
    d->bars = rb_grow(d->bars, d->n_bars, sizeof *d->bars);
    return &d->bars[d->n_bars++];
}

static void placed(void *ctx, int job, const int *row, int64_t now_us)
{
    struct rb_trace_gantt *d = ctx;
    const struct rb_trace_training *t = &d->run->jobs[job];
    end_bars(d, job, now_us, RB_GANTT_GAVE_WAY);
    for (int node = 0; node < d->run->cluster.n_nodes; node++) {
        if (row[node] == 0)
            continue;
        d->cut |= d->n_bars == MOST_BARS;
        if (d->cut)
            return;
        d->open[job] = d->open[job] < 0 ? d->n_bars : d->open[job];
        *add_bar(d) = (struct rb_gantt_bar){
            .node = d->run->nodes.lease[node],
            .gpus = (uint64_t)row[node], // their number; which ones is decided afterwards
            .trial = job,
            .level = t->epoch * SHADES / t->job->app->n_epochs,
            .start_us = now_us,
            .end_us = -1,
            .resource_start = t->epoch,
        };
    }
}

static void ended(void *ctx, int job, int64_t now_us)
{
    end_bars(ctx, job, now_us, RB_GANTT_DONE);
}

bool rb_trace_gantt_create(const char *path, const struct rb_trace_run *run, const struct rb_trace *trace,
                           struct rb_trace_options *options, struct rb_trace_gantt **out, struct rb_err *err)
{
    if (!rb_has_ending(path, ".svg") && !rb_has_ending(path, ".html"))
        return rb_err_set(err, RB_E_PICTURE_NAME, "--gantt %s: expected a name that ends with .svg or .html", path);
    struct rb_trace_gantt *d = rb_xcalloc(1, sizeof *d);
    d->run = run;
    d->open = rb_xcalloc((size_t)trace->n, sizeof *d->open);
    for (int j = 0; j < trace->n; j++)
        d->open[j] = -1;
    d->watcher = (struct rb_trace_watcher){placed, ended, d};
    options->watcher = &d->watcher;
    *out = d;
    return true;
}

// ---- afterwards

// Within a round a job may take GPUs before their user releases them, so lanes are assigned when everything is known.
static uint64_t lowest_lanes(uint64_t used, int n)
{
    uint64_t mask = 0;
    for (int lane = 0; n > 0 && lane < 64; lane++) {
        if (used >> lane & 1)
            continue;
        mask |= UINT64_C(1) << lane;
        n--;
    }
    return mask;
}

// Drops bars that never lasted; the others get the lowest free lanes of their node.
static void find_lanes(struct rb_trace_gantt *d, int n_leases)
{
    // Of each lease: its bars that may still run, as a chain of indices through `next`.
    RB_AUTO(rb_auto_free) int *first = rb_xcalloc((size_t)n_leases + 1, sizeof *first);
    RB_AUTO(rb_auto_free) int *next = rb_xcalloc((size_t)d->n_bars + 1, sizeof *next);
    int n = 0;
    for (int i = 0; i < n_leases; i++)
        first[i] = -1;
    for (int i = 0; i < d->n_bars; i++) {
        const struct rb_gantt_bar bar = d->bars[i];
        uint64_t used = 0;
        if (bar.end_us <= bar.start_us)
            continue;
        for (int *link = &first[bar.node]; *link >= 0;) {
            const struct rb_gantt_bar *other = &d->bars[*link];
            if (other->end_us <= bar.start_us) {
                *link = next[*link];
                continue;
            }
            used |= other->gpus;
            link = &next[*link];
        }
        d->bars[n] = bar;
        d->bars[n].gpus = lowest_lanes(used, (int)bar.gpus);
        next[n] = first[bar.node];
        first[bar.node] = n++;
    }
    d->n_bars = n;
}

static struct rb_gantt_node *list_nodes(const struct rb_trace_run *run, struct rb_arena *arena)
{
    struct rb_gantt_node *nodes = rb_arena_array(arena, (size_t)run->nodes.n_leases, sizeof *nodes);
    for (int i = 0; i < run->nodes.n_leases; i++) {
        const struct rb_trace_lease *l = &run->nodes.leases[i];
        const bool ran = l->running_us <= l->ended_us, was_ready = l->ready_us <= l->ended_us;
        nodes[i] = (struct rb_gantt_node){.name = rb_arena_printf(arena, "node %d", l->node),
                                          .gpus = run->nodes.gpus_per_node,
                                          .requested_us = l->requested_us,
                                          .running_us = ran ? l->running_us : -1,
                                          .ready_us = was_ready ? l->ready_us : -1,
                                          .ended_us = l->ended_us};
    }
    return nodes;
}

bool rb_trace_gantt_save(struct rb_trace_gantt *d, const char *path, struct rb_err *err)
{
    const struct rb_trace_run *run = d->run;
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    find_lanes(d, run->nodes.n_leases);
    const struct rb_gantt g = {
        .title = rb_arena_printf(&arena, "%d jobs under %s", run->trace->n, run->options.policy->name),
        .subtitle = rb_arena_printf(&arena, "%d nodes of %d GPUs; a colour a job%s", run->options.n_nodes,
                                    run->options.gpus_per_node, d->cut ? "; cut off: too many changes to draw" : ""),
        .what = "job",
        .unit = "epoch",
        .n_levels = SHADES,
        .has_colours = true,
        .nodes = list_nodes(run, &arena),
        .n_nodes = run->nodes.n_leases,
        .bars = d->bars,
        .n_bars = d->n_bars,
        .end_us = run->nodes.leases[0].ended_us > 0 ? run->now_us : 1,
    };
    if (rb_has_ending(path, ".html"))
        rb_gantt_write_html(&g, 1, &out);
    else
        rb_gantt_write_svg(&g, &out);
    return rb_write_file(path, rb_buf_str(&out), out.len, err);
}
