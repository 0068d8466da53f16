// A round of a shared cluster: the policy gets the current state, and its division is checked and carried out. With an
// autoscaler, nodes are requested and released first.
#include "simulator/cluster/trace_run.h"

#include "base/text/units.h"
#include "engine/sharing/give_up.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static int *row_of(const struct rb_trace_run *run, int job)
{
    return run->rows[job];
}

// ---- the policy's input

static struct rb_shared_job show(const struct rb_trace_run *run, int id)
{
    const struct rb_trace_training *t = &run->jobs[id];
    const struct rb_trace_job *job = t->job;
    const bool as_submitted = run->options.policy->as_submitted;
    return (struct rb_shared_job){
        .id = id,
        .submitted_us = t->submitted_us,
        .age_us = run->now_us - t->submitted_us,
        .attained_gpu_s = (double)t->gpu_us / (double)RB_US_PER_S,
        .executed_us = t->executed_us,
        .restarts = t->restarts,
        .min_gpus = 1,
        .max_gpus = as_submitted ? t->max_gpus : rb_trace_training_reach(t),
        .held = row_of(run, id),
        .asked_gpus = job->gpus,
        .left = (job->app->progress[job->app->n_epochs] - t->progress) * job->app->init_batch,
        .rate = !as_submitted && t->n_seen > 0 ? rb_trace_training_goodput : NULL,
        .oracle_s = run->options.policy->needs_oracle ? rb_trace_training_oracle_s : NULL,
        .arg = t,
        .deadline_us = job->deadline_us,
        .weight = job->weight,
        .has_value = job->has_value,
        .value = job->value,
    };
}

static void show_all(struct rb_trace_run *run)
{
    for (int i = 0; i < run->n_active; i++)
        run->seen[i] = show(run, run->active[i]);
}

// ---- the policy's answer

// GPUs on each node in the order of the job's workers; returns the number of nodes.
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

static void place(struct rb_trace_run *run, int job, const int *row)
{
    struct rb_err why;
    int gpus[RB_APP_MAX_GPUS];
    const int n = order_nodes(run, row, gpus);
    memcpy(row_of(run, job), row, (size_t)run->cluster.n_nodes * sizeof *row);
    if (!rb_trace_training_place(&run->jobs[job], gpus, n, run->now_us, run->options.sharing.restart_us, &why))
        rb_trace_skip(run, job, why.message);
    else if (run->options.watcher)
        run->options.watcher->placed(run->options.watcher->ctx, job, row, run->now_us);
}

bool rb_trace_tune(struct rb_trace_run *run, int job)
{
    struct rb_err why;
    if (run->jobs[job].gpus == 0 || rb_trace_training_tune(&run->jobs[job], &why))
        return true;
    rb_trace_skip(run, job, why.message);
    return false;
}

static void check_division(const struct rb_trace_run *run)
{
    const int n_nodes = run->cluster.n_nodes;
    RB_AUTO(rb_auto_free) int *used = rb_xcalloc((size_t)n_nodes, sizeof *used);
    for (int i = 0; i < run->n_active; i++) {
        const int *row = run->division + (size_t)i * (size_t)n_nodes;
        for (int node = 0; node < n_nodes; node++) {
            assert(row[node] >= 0);
            used[node] += row[node];
        }
    }
    for (int node = 0; node < n_nodes; node++)
        assert(used[node] <= run->cluster.gpus[node]);
}

static bool is_division_empty(const struct rb_trace_run *run)
{
    for (size_t i = 0; i < (size_t)run->n_active * (size_t)run->cluster.n_nodes; i++) {
        if (run->division[i] > 0)
            return false;
    }
    return true;
}

static void divide(struct rb_trace_run *run)
{
    const size_t row_bytes = (size_t)run->cluster.n_nodes * sizeof *run->division;
    show_all(run);
    memset(run->division, 0, (size_t)run->n_active * row_bytes);
    run->options.policy->divide(run->policy_state, run->now_us, &run->cluster, run->seen, run->n_active, run->division);
    check_division(run);
    run->n_rounds++;
    run->n_idle_rounds = is_division_empty(run) ? run->n_idle_rounds + 1 : 0;
    for (int i = 0; i < run->n_active; i++) {
        const int job = run->active[i], *row = run->division + (size_t)i * (size_t)run->cluster.n_nodes;
        if (memcmp(row, row_of(run, job), row_bytes) != 0)
            place(run, job, row);
    }
}

// Without the jobs that turn out to be unable to run: their GPUs go to the others at once.
void rb_trace_divide(struct rb_trace_run *run)
{
    for (int n_skipped = -1; n_skipped != run->n_skipped && run->n_active > 0;) {
        n_skipped = run->n_skipped;
        divide(run);
        rb_trace_remove_ended(run);
    }
}

// ---- an elastic cluster

static void give_up(struct rb_trace_run *run, int node)
{
    RB_AUTO(rb_auto_free) int *nothing = rb_xcalloc((size_t)run->cluster.n_nodes, sizeof *nothing);
    for (int i = 0; i < run->n_active; i++) {
        if (row_of(run, run->active[i])[node] > 0)
            place(run, run->active[i], nothing);
    }
    rb_trace_nodes_release(&run->nodes, node, run->now_us);
}

static struct rb_autoscale_view look(const struct rb_trace_run *run, bool *owned)
{
    for (int node = 0; node < run->nodes.n; node++)
        owned[node] = run->nodes.lease[node] >= 0;
    return (struct rb_autoscale_view){.cluster = &run->cluster,
                                      .owned = owned,
                                      .n_owned = run->nodes.n_owned,
                                      .jobs = run->seen,
                                      .n_jobs = run->n_active};
}

void rb_trace_scale(struct rb_trace_run *run)
{
    if (!run->options.autoscale)
        return;
    show_all(run);
    RB_AUTO(rb_auto_free) bool *owned = rb_xcalloc((size_t)run->nodes.n, sizeof *owned);
    const struct rb_autoscale_view view = look(run, owned);
    const int wanted = run->options.autoscale->decide(run->autoscale_state, run->now_us, &view);
    assert(wanted >= run->options.min_nodes && wanted <= run->options.n_nodes);
    while (run->nodes.n_owned < wanted)
        rb_trace_nodes_request(&run->nodes, run->now_us);
    rb_trace_nodes_arrive(&run->nodes, run->now_us); // without delays
    while (run->nodes.n_owned > wanted) {
        const struct rb_autoscale_view now = look(run, owned);
        give_up(run, rb_give_up(&now, run->options.sharing.restart_us, run->options.sharing.round_us));
    }
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

// ---- cost

void rb_trace_charge(struct rb_trace_run *run, int job, int64_t span_us)
{
    int64_t *gpu_us = run->gpu_us + (size_t)job * (size_t)run->n_prices;
    if (run->n_prices == 1)
        gpu_us[0] += run->jobs[job].gpus * span_us; // avoids the loop over all nodes
    for (int node = 0; run->n_prices > 1 && node < run->cluster.n_nodes; node++)
        gpu_us[run->price[node]] += row_of(run, job)[node] * span_us;
}
