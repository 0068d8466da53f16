#include "simulator/trace_training.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>

void rb_trace_training_init(struct rb_trace_training *t, const struct rb_trace_job *job, bool tunes, int node_gpus)
{
    *t = (struct rb_trace_training){
        .job = job,
        .tunes = tunes,
        .batch = job->batch,
        .node_gpus = node_gpus,
        .max_gpus = RB_APP_MAX_GPUS,
        .ended_us = -1,
        .started_us = -1,
    };
}

void rb_trace_training_finish(struct rb_trace_training *t)
{
    *t = (struct rb_trace_training){0};
}

// ---- batch size

// How a batch is cut: so many samples a GPU takes at a time, `accumulation` more times before it synchronises.
struct cut {
    int local_batch, accumulation;
};

// Quotients of whole numbers that are whole come out as such, whatever the last bit says.
static int round_up(double x)
{
    return (int)ceil(x - 1e-8);
}

static struct cut cut_batch(const struct rb_app *app, int batch, int gpus, bool accumulates)
{
    const int share = round_up((double)batch / gpus);
    struct cut c = {.accumulation = round_up((double)share / app->max_local_batch) - 1};
    if (accumulates && c.accumulation < 1)
        c.accumulation = 1;
    c.local_batch = round_up((double)share / (c.accumulation + 1));
    const int most = app->max_batch / (gpus * (c.accumulation + 1));
    c.local_batch = c.local_batch < most ? c.local_batch : most;
    return c;
}

// The gradient's noise takes two gradients to see, and it must be seen where it pays: a single GPU that trains more than the
// initial batch accumulates.
static struct cut choose_cut(const struct rb_trace_training *t)
{
    const struct rb_app *app = t->job->app;
    return cut_batch(app, t->batch, t->gpus, t->gpus == 1 && t->batch > app->init_batch);
}

static double step_with_accumulation(struct rb_app_step step, int accumulation)
{
    return step.step_s + (step.step_s - step.sync_s) * accumulation;
}

static bool find_rate(struct rb_trace_training *t, struct rb_err *err)
{
    const struct rb_app *app = t->job->app;
    struct rb_app_step step;
    if (!rb_app_step(t->times, t->local_batch, &step))
        return rb_err_set(err, RB_ERR_INVALID,
                          "job %s: %s was not measured with %d samples a GPU on %d GPUs of %d nodes; expected %d..%d",
                          t->job->name, app->name, t->local_batch, t->gpus, t->nodes, t->times->local_batch[0],
                          t->times->local_batch[t->times->n - 1]);
    const int batch = t->gpus * t->local_batch * (t->accumulation + 1);
    const double gain = rb_app_gain(app, rb_app_gradient(app, batch, t->epoch), batch);
    t->rate = gain / step_with_accumulation(step, t->accumulation);
    return true;
}

bool rb_trace_training_tune(struct rb_trace_training *t, struct rb_err *err)
{
    assert(t->gpus > 0 && t->ended_us < 0);
    const struct cut c = choose_cut(t);
    t->local_batch = c.local_batch;
    t->accumulation = c.accumulation;
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
    for (int i = 0; i < n; i++)
        t->gpus += gpus[i];
    t->times = rb_app_times(t->job->app, gpus, n);
    if (!t->times)
        return rb_err_set(err, RB_ERR_INVALID, "job %s: %s was not measured on %d GPUs of %d nodes", t->job->name,
                          t->job->app->name, t->gpus, n);
    t->restarts++;
    t->restart_left_us = restart_us;
    if (t->started_us < 0)
        t->started_us = now_us;
    return rb_trace_training_tune(t, err);
}

// ---- how far

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

// ---- the oracle

static double iterations_left(const struct rb_trace_training *t)
{
    const struct rb_app *app = t->job->app;
    const int last = app->n_epochs - 1;
    return t->epoch >= last ? 1 : rb_app_iteration(app, t->batch, last) - rb_app_iteration(app, t->batch, t->epoch);
}

double rb_trace_training_oracle_s(const void *arg, int gpus)
{
    const struct rb_trace_training *t = arg;
    const struct rb_app *app = t->job->app;
    int on_node[RB_APP_MAX_GPUS], n = 0;
    if (gpus > RB_APP_MAX_GPUS || (int64_t)gpus * app->min_local_batch > t->batch)
        return INFINITY;
    for (int left = gpus; left > 0; left -= on_node[n++])
        on_node[n] = left < t->node_gpus ? left : t->node_gpus;
    const struct rb_app_times *times = rb_app_times(app, on_node, n);
    const struct cut c = cut_batch(app, t->batch, gpus, gpus == 1);
    struct rb_app_step step;
    if (!times || !rb_app_step(times, c.local_batch, &step))
        return INFINITY;
    return step_with_accumulation(step, c.accumulation) * iterations_left(t);
}
