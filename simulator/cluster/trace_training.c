#include "simulator/cluster/trace_training.h"

#include "profiles/fit/throughput_fit_published.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void rb_trace_training_init(struct rb_trace_training *t, const struct rb_trace_job *job, bool tunes, int node_gpus,
                            const struct rb_goodput_batches *batches)
{
    const struct rb_app *app = job->app;
    *t = (struct rb_trace_training){
        .job = job,
        .tunes = tunes,
        .batch = job->batch,
        .node_gpus = node_gpus,
        .max_gpus = RB_APP_MAX_GPUS,
        .ended_us = -1,
        .started_us = -1,
        .model = {.limits = rb_app_limits(app), .batches = batches},
    };
}

void rb_trace_training_finish(struct rb_trace_training *t)
{
    free(t->seen);
    free(t->asked);
    *t = (struct rb_trace_training){0};
}

// ---- batch size

// Before there is a model: as close to the initial batch as this number of GPUs can get. Observing the gradient's noise
// takes two gradients, and it must be observed where it matters: a single GPU that trains more than the initial batch
// accumulates.
static struct rb_batch choose_cut(const struct rb_trace_training *t)
{
    const struct rb_app *app = t->job->app;
    struct rb_batch b;
    if (t->tunes && t->n_seen > 0 && rb_goodput_best(&t->model, t->nodes, t->gpus, &b) > 0)
        return b;
    const int least = app->min_local_batch * t->gpus, first = app->init_batch > least ? app->init_batch : least;
    const int batch = t->tunes ? first : t->batch;
    return rb_app_cut(app, batch, t->gpus, t->gpus == 1 && batch > app->init_batch);
}

static double step_with_accumulation(struct rb_app_step step, int accumulation)
{
    return step.step_s + (step.step_s - step.sync_s) * accumulation;
}

static bool find_rate(struct rb_trace_training *t, struct rb_err *err)
{
    const struct rb_app *app = t->job->app;
    if (!rb_app_step(app, &t->layout, t->cut.per_gpu, &t->step))
        return rb_err_set(err, RB_E_APPS,
                          "%s was not measured with %d samples a GPU on %d GPUs of %d nodes: take "
                          "nodes as large as the measured ones, or give its tables such rows",
                          app->name, t->cut.per_gpu, t->gpus, t->nodes);
    const int batch = (int)rb_batch_total(&t->cut, t->gpus);
    t->noise = rb_app_noise(app, batch, t->epoch);
    t->rate = rb_grad_noise_gain(&t->noise, (double)batch / app->init_batch) /
              step_with_accumulation(t->step, t->cut.accumulation);
    return true;
}

bool rb_trace_training_tune(struct rb_trace_training *t, struct rb_err *err)
{
    assert(t->gpus > 0 && t->ended_us < 0);
    const struct rb_batch cut = rb_batch_within(&t->model.limits, t->gpus, choose_cut(t));
    if (t->rate > 0 && t->rate_epoch == t->epoch && cut.per_gpu == t->cut.per_gpu &&
        cut.accumulation == t->cut.accumulation)
        return true;
    t->cut = cut;
    t->rate_epoch = t->epoch;
    return find_rate(t, err);
}

// ---- where it trains

bool rb_trace_training_place(struct rb_trace_training *t, const int *gpus, int n, int64_t now_us, int64_t restart_us,
                             struct rb_err *err)
{
    t->nodes = n;
    t->gpus = 0;
    t->rate = 0;
    if (n == 0)
        return true;
    t->layout = rb_app_layout(t->job->app, gpus, n);
    t->gpus = t->layout.gpus;
    t->restarts++;
    t->restart_left_us = restart_us;
    if (t->started_us < 0)
        t->started_us = now_us;
    return rb_trace_training_tune(t, err);
}

// ---- how far

void rb_trace_training_hold(struct rb_trace_training *t, int64_t span_us)
{
    t->executed_us += span_us;
    t->gpu_us += span_us * t->gpus;
}

double rb_trace_training_epoch_end(const struct rb_trace_training *t)
{
    return t->job->app->progress[t->epoch + 1];
}

void rb_trace_training_end_epoch(struct rb_trace_training *t, int64_t now_us)
{
    t->progress = rb_trace_training_epoch_end(t);
    t->epoch++;
    if (t->epoch == t->job->app->n_epochs)
        t->ended_us = now_us;
}

// ---- what it knows of itself

static bool was_seen(const struct rb_trace_training *t)
{
    for (int i = 0; i < t->n_seen; i++) {
        if (t->seen[i].nodes == t->nodes && t->seen[i].gpus == t->gpus && (int)t->seen[i].local_batch == t->cut.per_gpu)
            return true;
    }
    return false;
}

static void see(struct rb_trace_training *t)
{
    if (t->n_seen == t->seen_cap) {
        t->seen_cap = t->seen_cap ? 2 * t->seen_cap : 8;
        t->seen = rb_xrealloc(t->seen, (size_t)t->seen_cap, sizeof *t->seen);
    }
    t->seen[t->n_seen++] = (struct rb_throughput_sample){.nodes = t->nodes,
                                                         .gpus = t->gpus,
                                                         .local_batch = t->cut.per_gpu,
                                                         .step_s = t->step.step_s,
                                                         .sync_s = t->step.sync_s};
    t->most_gpus_seen = t->gpus > t->most_gpus_seen ? t->gpus : t->most_gpus_seen;
}

static void forget_answers(struct rb_trace_training *t)
{
    if (!t->asked)
        t->asked = rb_xcalloc((size_t)RB_APP_MAX_NODES * RB_APP_MAX_GPUS, sizeof *t->asked);
    for (int i = 0; i < RB_APP_MAX_NODES * RB_APP_MAX_GPUS; i++)
        t->asked[i] = -1;
}

static bool same_noise(struct rb_grad_noise a, struct rb_grad_noise b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

bool rb_trace_training_learn(struct rb_trace_training *t, struct rb_err *err)
{
    const bool seen = was_seen(t);
    const struct rb_grad_noise all_noise = {.sqr = 0, .var = 1}, noise = t->by_throughput ? all_noise : t->noise;
    if (seen && same_noise(t->model.noise, noise))
        return true;
    t->model.noise = noise;
    forget_answers(t);
    if (seen)
        return true;
    see(t);
    if (t->as_published) {
        rb_throughput_fit_published(t->seen, t->n_seen, &t->model.throughput);
        return true;
    }
    double error;
    return rb_throughput_fit(t->seen, t->n_seen, &t->model.throughput, &error, err);
}

int rb_trace_training_reach(const struct rb_trace_training *t)
{
    const int known = t->most_gpus_seen > 0 ? 2 * t->most_gpus_seen : 1;
    const int fit = t->job->app->max_batch / t->job->app->min_local_batch;
    const int most = fit < t->max_gpus ? fit : t->max_gpus;
    return known < most ? known : most;
}

// True if this was measured with the GPUs spread over the nodes as evenly as possible. Also true for more GPUs
// than the nodes have, which are only hypothetical.
static bool is_measured(const struct rb_trace_training *t, int nodes, int gpus, int per_gpu)
{
    int on_node[RB_APP_MAX_NODES];
    struct rb_app_step step;
    if (t->as_published || gpus > nodes * t->node_gpus)
        return true;
    for (int i = 0; i < nodes; i++)
        on_node[i] = gpus / nodes + (i < gpus % nodes);
    const struct rb_app_layout layout = rb_app_layout(t->job->app, on_node, nodes);
    return rb_app_step(t->job->app, &layout, per_gpu, &step);
}

double rb_trace_training_goodput(const void *arg, int nodes, int gpus)
{
    const struct rb_trace_training *t = arg;
    struct rb_batch best;
    if (nodes < 1 || gpus < nodes || nodes > RB_APP_MAX_NODES || gpus > RB_APP_MAX_GPUS)
        return 0;
    double *answer = &t->asked[(nodes - 1) * RB_APP_MAX_GPUS + gpus - 1];
    if (*answer < 0) {
        *answer = rb_goodput_best(&t->model, nodes, gpus, &best);
        if (*answer > 0 && !is_measured(t, nodes, gpus, best.per_gpu))
            *answer = 0;
    }
    return *answer;
}

// ---- the oracle

static double iterations_left(const struct rb_trace_training *t)
{
    const struct rb_app *app = t->job->app;
    const int last = app->n_epochs - 1;
    return t->epoch >= last ? 1 : rb_app_iteration(app, t->batch, last) - rb_app_iteration(app, t->batch, t->epoch);
}

// On the fewest nodes; INFINITY: never measured.
static double oracle_step_s(const struct rb_trace_training *t, int gpus)
{
    const struct rb_app *app = t->job->app;
    int on_node[RB_APP_MAX_GPUS], n = 0;
    if ((int64_t)gpus * app->min_local_batch > t->batch)
        return INFINITY;
    for (int left = gpus; left > 0; left -= on_node[n++])
        on_node[n] = left < t->node_gpus ? left : t->node_gpus;
    const struct rb_app_layout layout = rb_app_layout(app, on_node, n);
    const struct rb_batch cut = rb_app_cut(app, t->batch, gpus, gpus == 1);
    struct rb_app_step step;
    return rb_app_step(app, &layout, cut.per_gpu, &step) ? step_with_accumulation(step, cut.accumulation) : INFINITY;
}

void rb_trace_training_consult_oracle(struct rb_trace_training *t)
{
    for (int gpus = 1; gpus <= RB_APP_MAX_GPUS; gpus++)
        t->oracle_step_s[gpus] = oracle_step_s(t, gpus);
}

double rb_trace_training_oracle_s(const void *arg, int gpus)
{
    const struct rb_trace_training *t = arg;
    return gpus > RB_APP_MAX_GPUS ? INFINITY : t->oracle_step_s[gpus] * iterations_left(t);
}
