#include "simulator/trace_run.h"

#include "base/units.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void rb_trace_options_defaults(struct rb_trace_options *o)
{
    *o = (struct rb_trace_options){
        .rules = RB_TRACE_EVENTS,
        .sharing = {.restart_us = 30 * RB_US_PER_S,
                    .round_us = 60 * RB_US_PER_S,
                    .fairness_p = -1,
                    .avoid_interference = true},
        .n_nodes = 16,
        .gpus_per_node = 4,
    };
}

static struct rb_goodput_batches **list_batches(const struct rb_apps *apps)
{
    struct rb_goodput_batches **batches = rb_xcalloc((size_t)apps->n, sizeof *batches);
    for (int i = 0; i < apps->n; i++) {
        const struct rb_batch_limits limits = rb_app_limits(&apps->apps[i]);
        batches[i] = rb_goodput_batches_create(&limits, RB_APP_MAX_GPUS);
    }
    return batches;
}

bool rb_trace_run_init(struct rb_trace_run *run, const struct rb_trace *trace, const struct rb_trace_options *options,
                       struct rb_err *err)
{
    struct rb_trace_run r = {.trace = trace, .options = *options};
    if (!options->policy->create(&options->sharing, &r.policy_state, err))
        return false;
    r.node_gpus = rb_xcalloc((size_t)options->n_nodes, sizeof *r.node_gpus);
    for (int n = 0; n < options->n_nodes; n++)
        r.node_gpus[n] = options->gpus_per_node;
    r.cluster = (struct rb_shared_cluster){options->n_nodes, r.node_gpus};
    r.batches = list_batches(trace->apps);
    r.jobs = rb_xcalloc((size_t)trace->n, sizeof *r.jobs);
    r.rows = rb_xcalloc((size_t)trace->n, (size_t)options->n_nodes * sizeof *r.rows);
    r.active = rb_xcalloc((size_t)trace->n, sizeof *r.active);
    for (int j = 0; j < trace->n; j++)
        rb_trace_training_init(&r.jobs[j], &trace->jobs[j], !options->policy->as_submitted, options->gpus_per_node,
                               r.batches[trace->jobs[j].app - trace->apps->apps]);
    if (options->rules == RB_TRACE_OSDI21)
        rb_trace_pin_osdi21(&r);
    *run = r;
    return true;
}

void rb_trace_run_finish(struct rb_trace_run *run)
{
    if (run->options.policy)
        run->options.policy->destroy(run->policy_state);
    for (int j = 0; run->jobs && j < run->trace->n; j++)
        rb_trace_training_finish(&run->jobs[j]);
    for (int i = 0; run->batches && i < run->trace->apps->n; i++)
        rb_goodput_batches_destroy(run->batches[i]);
    free(run->batches);
    free(run->node_gpus);
    free(run->jobs);
    free(run->rows);
    free(run->active);
    free(run->seen);
    free(run->division);
    *run = (struct rb_trace_run){0};
}

bool rb_trace_run_all(struct rb_trace_run *run, struct rb_err *err)
{
    return rb_trace_run_osdi21(run, err);
}

static int *row_of(const struct rb_trace_run *run, int job)
{
    return run->rows + (size_t)job * (size_t)run->cluster.n_nodes;
}

// ---- who is there

static void reserve(struct rb_trace_run *run)
{
    if (run->n_active <= run->active_cap)
        return;
    run->active_cap = 2 * run->n_active;
    run->seen = rb_xrealloc(run->seen, (size_t)run->active_cap, sizeof *run->seen);
    run->division =
        rb_xrealloc(run->division, (size_t)run->active_cap, (size_t)run->cluster.n_nodes * sizeof *run->division);
}

void rb_trace_arrivals(struct rb_trace_run *run)
{
    while (run->n_arrived < run->trace->n && run->trace->jobs[run->n_arrived].submitted_us <= run->now_us) {
        if (run->options.policy->needs_oracle)
            rb_trace_training_consult_oracle(&run->jobs[run->n_arrived]);
        run->active[run->n_active++] = run->n_arrived++;
    }
    reserve(run);
}

void rb_trace_remove_ended(struct rb_trace_run *run)
{
    int n = 0;
    for (int i = 0; i < run->n_active; i++) {
        const int job = run->active[i];
        if (run->jobs[job].ended_us < 0) {
            run->active[n++] = job;
            continue;
        }
        memset(row_of(run, job), 0, (size_t)run->cluster.n_nodes * sizeof *run->rows);
        run->n_ended++;
        if (run->options.watcher)
            run->options.watcher->ended(run->options.watcher->ctx, job, run->jobs[job].ended_us);
    }
    run->n_active = n;
}

// ---- a round

static struct rb_shared_job show(const struct rb_trace_run *run, int id)
{
    const struct rb_trace_training *t = &run->jobs[id];
    const struct rb_trace_job *job = t->job;
    const bool as_submitted = run->options.policy->as_submitted;
    return (struct rb_shared_job){
        .id = id,
        .submitted_us = job->submitted_us,
        .age_us = run->now_us - job->submitted_us,
        .attained_gpu_s = (double)t->gpu_us / (double)RB_US_PER_S,
        .executed_us = t->executed_us,
        .restarts = t->restarts,
        .min_gpus = 1,
        .max_gpus = as_submitted ? t->max_gpus : rb_trace_training_reach(t),
        .held = row_of(run, id),
        .asked_gpus = job->gpus,
        .rate = !as_submitted && t->n_seen > 0 ? rb_trace_training_goodput : NULL,
        .oracle_s = run->options.policy->needs_oracle ? rb_trace_training_oracle_s : NULL,
        .arg = t,
        .deadline_us = job->deadline_us,
        .weight = job->weight,
    };
}

// GPUs on each node in the order of the job's workers; returns on how many nodes.
static int order_nodes(const struct rb_trace_run *run, const int *row, int *out)
{
    int n = 0;
    for (int node = 0; node < run->cluster.n_nodes; node++) {
        if (row[node] == 0)
            continue;
        assert(n < RB_APP_MAX_GPUS);
        int at = n++;
        for (; run->options.policy->freest_first && at > 0 && out[at - 1] < row[node]; at--)
            out[at] = out[at - 1];
        out[at] = row[node];
    }
    return n;
}

static bool place(struct rb_trace_run *run, int job, const int *row, struct rb_err *err)
{
    int gpus[RB_APP_MAX_GPUS];
    const int n = order_nodes(run, row, gpus);
    memcpy(row_of(run, job), row, (size_t)run->cluster.n_nodes * sizeof *row);
    if (!rb_trace_training_place(&run->jobs[job], gpus, n, run->now_us, run->options.sharing.restart_us, err))
        return false;
    if (run->options.watcher)
        run->options.watcher->placed(run->options.watcher->ctx, job, row, run->now_us);
    return true;
}

static void check_division(const struct rb_trace_run *run)
{
    for (int node = 0; node < run->cluster.n_nodes; node++) {
        int used = 0;
        for (int i = 0; i < run->n_active; i++)
            used += run->division[(size_t)i * (size_t)run->cluster.n_nodes + (size_t)node];
        assert(used <= run->cluster.gpus[node]);
    }
}

bool rb_trace_divide(struct rb_trace_run *run, struct rb_err *err)
{
    const size_t row_bytes = (size_t)run->cluster.n_nodes * sizeof *run->division;
    if (run->n_active == 0)
        return true;
    for (int i = 0; i < run->n_active; i++)
        run->seen[i] = show(run, run->active[i]);
    memset(run->division, 0, (size_t)run->n_active * row_bytes);
    run->options.policy->divide(run->policy_state, run->now_us, &run->cluster, run->seen, run->n_active, run->division);
    check_division(run);
    run->n_rounds++;
    for (int i = 0; i < run->n_active; i++) {
        const int job = run->active[i], *row = run->division + (size_t)i * (size_t)run->cluster.n_nodes;
        if (memcmp(row, row_of(run, job), row_bytes) != 0 && !place(run, job, row, err))
            return false;
    }
    return true;
}

// ---- neighbours

double rb_trace_undisturbed(const struct rb_trace_run *run, int job)
{
    if (run->options.interference == 0 || run->jobs[job].nodes < 2)
        return 1;
    for (int node = 0; node < run->cluster.n_nodes; node++) {
        int spanning = 0;
        for (int i = 0; row_of(run, job)[node] > 0 && i < run->n_active; i++)
            spanning += run->jobs[run->active[i]].nodes > 1 && row_of(run, run->active[i])[node] > 0;
        if (spanning > 1)
            return 1 - run->options.interference;
    }
    return 1;
}
