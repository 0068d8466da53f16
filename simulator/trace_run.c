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
        .min_nodes = 1,
        .provisioning = {.queue_s = rb_dist_constant(0), .init_s = rb_dist_constant(0)},
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

// What can never be must not be waited for.
static bool check(const struct rb_trace *trace, const struct rb_trace_options *o, struct rb_err *err)
{
    const int all = o->n_nodes * o->gpus_per_node;
    if (o->autoscale && o->rules == RB_TRACE_OSDI21)
        return rb_err_set(err, RB_ERR_INVALID, "the published rules know no autoscaling: take the rules events");
    for (int j = 0; j < trace->n; j++) {
        if (o->policy->as_submitted && !o->policy->needs_oracle && trace->jobs[j].gpus > all)
            return rb_err_set(err, RB_ERR_INVALID,
                              "job %s was submitted with %d GPUs, which %s keeps to, and the cluster has %d: give it "
                              "more nodes",
                              trace->jobs[j].name, trace->jobs[j].gpus, o->policy->name, all);
    }
    return true;
}

static bool create_policies(struct rb_trace_run *r, struct rb_err *err)
{
    const struct rb_trace_options *o = &r->options;
    const struct rb_trace_provisioning *p = &o->provisioning;
    const struct rb_autoscale_options scaling = {
        .min_nodes = o->min_nodes,
        .max_nodes = o->n_nodes,
        .gpus_per_node = o->gpus_per_node,
        .provision_us = rb_us_from_seconds(rb_dist_mean(&p->queue_s) + rb_dist_mean(&p->init_s)),
        .restart_us = o->sharing.restart_us,
        .round_us = o->sharing.round_us,
        .has_price = o->has_price,
        .node_rate = o->node_rate,
    };
    if (!o->policy->create(&o->sharing, &r->policy_state, err))
        return false;
    if (!o->autoscale || o->autoscale->create(&scaling, &r->autoscale_state, err))
        return true;
    o->policy->destroy(r->policy_state);
    return false;
}

bool rb_trace_run_init(struct rb_trace_run *run, const struct rb_trace *trace, const struct rb_trace_options *options,
                       struct rb_err *err)
{
    struct rb_trace_run r = {.trace = trace, .options = *options};
    if (!check(trace, options, err) || !create_policies(&r, err))
        return false;
    rb_trace_nodes_init(&r.nodes, options->n_nodes, options->gpus_per_node,
                        options->autoscale ? options->min_nodes : options->n_nodes, &options->provisioning);
    r.cluster = (struct rb_shared_cluster){r.nodes.n, r.nodes.gpus};
    r.batches = list_batches(trace->apps);
    r.jobs = rb_xcalloc((size_t)trace->n, sizeof *r.jobs);
    r.rows = rb_xcalloc((size_t)trace->n, sizeof *r.rows);
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
    if (!run->trace)
        return;
    run->options.policy->destroy(run->policy_state);
    if (run->options.autoscale)
        run->options.autoscale->destroy(run->autoscale_state);
    for (int j = 0; j < run->trace->n; j++) {
        rb_trace_training_finish(&run->jobs[j]);
        free(run->rows[j]);
    }
    for (int i = 0; i < run->trace->apps->n; i++)
        rb_goodput_batches_destroy(run->batches[i]);
    rb_trace_nodes_finish(&run->nodes);
    free(run->batches);
    free(run->jobs);
    free(run->rows);
    free(run->active);
    free(run->seen);
    free(run->division);
    *run = (struct rb_trace_run){0};
}

bool rb_trace_run_all(struct rb_trace_run *run, struct rb_err *err)
{
    const bool ok =
        run->options.rules == RB_TRACE_OSDI21 ? rb_trace_run_osdi21(run, err) : rb_trace_run_events(run, err);
    int64_t end_us = 0;
    for (int j = 0; j < run->trace->n; j++)
        end_us = run->jobs[j].ended_us > end_us ? run->jobs[j].ended_us : end_us;
    if (ok)
        rb_trace_nodes_release_all(&run->nodes, end_us);
    return ok;
}

bool rb_trace_check_time(const struct rb_trace_run *run, struct rb_err *err)
{
    if (run->now_us <= (int64_t)RB_TRACE_LONGEST_S * RB_US_PER_S)
        return true;
    const char *waits = run->n_active > 0 ? run->trace->jobs[run->active[0]].name : "the next one";
    return rb_err_set(err, RB_ERR_INVALID,
                      "after 10 years %d of %d jobs have not ended, %s among them: the cluster is too small for it, or "
                      "the policy never lets it run",
                      run->trace->n - run->n_ended, run->trace->n, waits);
}

static int *row_of(const struct rb_trace_run *run, int job)
{
    return run->rows[job];
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
        run->rows[run->n_arrived] = rb_xcalloc((size_t)run->cluster.n_nodes, sizeof(int));
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
        free(run->rows[job]);
        run->rows[job] = NULL;
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

static void show_all(struct rb_trace_run *run)
{
    for (int i = 0; i < run->n_active; i++)
        run->seen[i] = show(run, run->active[i]);
}

bool rb_trace_divide(struct rb_trace_run *run, struct rb_err *err)
{
    const size_t row_bytes = (size_t)run->cluster.n_nodes * sizeof *run->division;
    if (run->n_active == 0)
        return true;
    show_all(run);
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

// ---- an elastic cluster

static bool is_idle(const struct rb_trace_run *run, int node)
{
    for (int i = 0; i < run->n_active; i++) {
        if (row_of(run, run->active[i])[node] > 0)
            return false;
    }
    return true;
}

// Which node goes first: one on its way, an idle one, a busy one; of equals the highest number.
static int next_to_go(const struct rb_trace_run *run)
{
    int best = -1, best_rank = 3;
    for (int node = run->nodes.n - 1; node >= 0; node--) {
        if (run->nodes.lease[node] < 0)
            continue;
        const int rank = run->nodes.gpus[node] == 0 ? 0 : is_idle(run, node) ? 1 : 2;
        if (rank < best_rank) {
            best = node;
            best_rank = rank;
        }
    }
    return best;
}

static bool give_up(struct rb_trace_run *run, int node, struct rb_err *err)
{
    RB_AUTO(rb_auto_free) int *nothing = rb_xcalloc((size_t)run->cluster.n_nodes, sizeof *nothing);
    for (int i = 0; i < run->n_active; i++) {
        if (row_of(run, run->active[i])[node] > 0 && !place(run, run->active[i], nothing, err))
            return false;
    }
    rb_trace_nodes_release(&run->nodes, node, run->now_us);
    return true;
}

bool rb_trace_scale(struct rb_trace_run *run, struct rb_err *err)
{
    if (!run->options.autoscale)
        return true;
    show_all(run);
    const struct rb_autoscale_view view = {&run->cluster, run->nodes.n_owned, run->seen, run->n_active};
    const int wanted = run->options.autoscale->decide(run->autoscale_state, run->now_us, &view);
    assert(wanted >= run->options.min_nodes && wanted <= run->options.n_nodes);
    while (run->nodes.n_owned < wanted)
        rb_trace_nodes_request(&run->nodes, run->now_us);
    rb_trace_nodes_arrive(&run->nodes, run->now_us); // where nothing delays them
    while (run->nodes.n_owned > wanted) {
        if (!give_up(run, next_to_go(run), err))
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
