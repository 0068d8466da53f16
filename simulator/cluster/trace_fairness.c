#include "simulator/cluster/trace_fairness.h"

#include "base/order.h"
#include "base/text/units.h"

#include <math.h>
#include <stdlib.h>

static double seconds(int64_t us)
{
    return (double)us / (double)RB_US_PER_S;
}

// ---- how many were there

// Instants of one kind, ascending, with their running sum.
struct instants {
    double *at_s, *sum_s;
    int n;
};

static void finish_instants(struct instants *i)
{
    free(i->at_s);
    free(i->sum_s);
}

static void sort_instants(struct instants *i)
{
    double sum = 0;
    qsort(i->at_s, (size_t)i->n, sizeof *i->at_s, rb_order_doubles);
    i->sum_s = rb_xcalloc((size_t)i->n + 1, sizeof *i->sum_s);
    for (int k = 0; k < i->n; k++)
        i->sum_s[k + 1] = sum += i->at_s[k];
}

// Sum over all of them that are not later.
static double elapsed_s(const struct instants *i, double now_s)
{
    const int n = rb_count_up_to(i->at_s, i->n, now_s);
    return n * now_s - i->sum_s[n];
}

static void find_presence(const struct rb_trace_run *run, double *out_mean)
{
    const int n = run->trace->n;
    RB_AUTO(finish_instants) struct instants came = {.at_s = rb_xcalloc((size_t)n, sizeof(double)), .n = n};
    RB_AUTO(finish_instants) struct instants left = {.at_s = rb_xcalloc((size_t)n, sizeof(double)), .n = n};
    for (int j = 0; j < n; j++) {
        came.at_s[j] = seconds(run->jobs[j].submitted_us);
        left.at_s[j] = seconds(run->jobs[j].ended_us);
    }
    sort_instants(&came);
    sort_instants(&left);
    for (int j = 0; j < n; j++) {
        const double from = seconds(run->jobs[j].submitted_us), to = seconds(run->jobs[j].ended_us);
        const double present_s =
            (elapsed_s(&came, to) - elapsed_s(&left, to)) - (elapsed_s(&came, from) - elapsed_s(&left, from));
        out_mean[j] = to > from ? fmax(present_s / (to - from), 1) : 1;
    }
}

// ---- alone

// Candidate batches on some GPUs, and the duration of a step with each.
struct choices {
    struct rb_batch batches[RB_N_TOTALS];
    double step_s[RB_N_TOTALS]; // INFINITY: not measured
    int n;
};

static void find_choices(const struct rb_app *app, int gpus, int node_gpus, int batch, struct choices *c)
{
    int on_node[RB_APP_MAX_GPUS], n = 0;
    for (int left = gpus; left > 0; left -= on_node[n++])
        on_node[n] = left < node_gpus ? left : node_gpus;
    const struct rb_app_layout layout = rb_app_layout(app, on_node, n);
    const struct rb_batch_limits limits = rb_app_limits(app);
    if (batch > 0) {
        c->batches[0] = rb_app_cut(app, batch, gpus, gpus == 1 && batch > app->init_batch);
        c->n = 1;
    } else {
        c->n = rb_batch_candidates(&limits, gpus, c->batches);
    }
    for (int i = 0; i < c->n; i++) {
        struct rb_app_step step;
        const bool measured = rb_app_step(app, &layout, c->batches[i].per_gpu, &step);
        c->step_s[i] = measured ? step.step_s + (step.step_s - step.sync_s) * c->batches[i].accumulation : INFINITY;
    }
}

static double best_rate(const struct rb_app *app, const struct choices *c, int gpus, int epoch)
{
    double best = 0;
    for (int i = 0; i < c->n; i++) {
        const double batch = rb_batch_total(&c->batches[i], gpus);
        const struct rb_grad_noise noise = rb_app_noise(app, (int)batch, epoch);
        best = fmax(best, rb_grad_noise_gain(&noise, batch / app->init_batch) / c->step_s[i]);
    }
    return best;
}

// From first to last epoch; INFINITY: not measured.
static double train_alone_s(const struct rb_app *app, int gpus, int node_gpus, int batch)
{
    struct choices c;
    double all_s = 0;
    find_choices(app, gpus, node_gpus, batch, &c);
    for (int e = 0; e < app->n_epochs; e++)
        all_s += (app->progress[e + 1] - app->progress[e]) / best_rate(app, &c, gpus, e);
    return all_s;
}

// Results found before: jobs of a trace are of few kinds.
struct alone {
    const struct rb_app *app;
    int gpus, batch;
    double time_s;
};

struct memory {
    struct alone *items;
    int n, cap;
};

static void finish_memory(struct memory *m)
{
    free(m->items);
}

static double alone_s(struct memory *m, const struct rb_app *app, int gpus, int node_gpus, int batch)
{
    for (int i = 0; i < m->n; i++) {
        if (m->items[i].app == app && m->items[i].gpus == gpus && m->items[i].batch == batch)
            return m->items[i].time_s;
    }
    if (m->n == m->cap) {
        m->cap = m->cap ? 2 * m->cap : 64;
        m->items = rb_xrealloc(m->items, (size_t)m->cap, sizeof *m->items);
    }
    m->items[m->n] = (struct alone){app, gpus, batch, train_alone_s(app, gpus, node_gpus, batch)};
    return m->items[m->n++].time_s;
}

static int share_of(const struct rb_trace_run *run, const struct rb_app *app, double present, int batch)
{
    const double all = (double)run->options.n_nodes * run->options.gpus_per_node;
    const int share = (int)fmin(all / present, RB_APP_MAX_GPUS);
    const int most = (batch > 0 ? batch : app->max_batch) / app->min_local_batch;
    return share < 1 ? 1 : share < most ? share : most;
}

void rb_trace_fairness(const struct rb_trace_run *run, double *out)
{
    RB_AUTO(finish_memory) struct memory known = {0};
    RB_AUTO(rb_auto_free) double *present = rb_xcalloc((size_t)run->trace->n, sizeof *present);
    find_presence(run, present);
    for (int j = 0; j < run->trace->n; j++) {
        const struct rb_trace_training *t = &run->jobs[j];
        out[j] = NAN;
        if (t->skipped)
            continue;
        const int batch = t->tunes ? 0 : t->batch;
        const int share = share_of(run, t->job->app, present[j], batch);
        const double alone = alone_s(&known, t->job->app, share, run->options.gpus_per_node, batch);
        out[j] = isfinite(alone)
                     ? seconds(t->ended_us - t->submitted_us) / (alone + seconds(run->options.sharing.restart_us))
                     : NAN;
    }
}
