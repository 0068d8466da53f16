#include "simulator/trace_run.h"

#include "base/units.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// Rounds after which nobody holds a GPU although somebody waits: a policy may wait, but not for so long.
#define MOST_IDLE_ROUNDS 1000

void rb_trace_options_defaults(struct rb_trace_options *o)
{
    *o = (struct rb_trace_options){
        .rules = RB_TRACE_EVENTS,
        .sharing = {.restart_us = 30 * RB_US_PER_S,
                    .round_us = 60 * RB_US_PER_S,
                    .fairness_p = NAN, // the policy's own
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
        return rb_err_set(err, RB_E_TRACE_RULES, "the published rules know no autoscaling: take the rules events");
    if (o->autoscale && trace->jobs[0].has_value && !o->rates)
        return rb_err_set(err, RB_E_PRICE_UNKNOWN,
                          "the trace says what an hour is worth to its jobs, and the nodes have no price to weigh it "
                          "against: say --usd-per-gpu-hour, or leave the column out");
    for (int j = 0; j < trace->n; j++) {
        if (o->policy->as_submitted && !o->policy->needs_oracle && trace->jobs[j].gpus > all)
            return rb_err_set(err, RB_E_TRACE_CLUSTER,
                              "job %s was submitted with %d GPUs, which %s keeps to, and the cluster has %d: give it "
                              "more nodes",
                              trace->jobs[j].name, trace->jobs[j].gpus, o->policy->name, all);
    }
    return true;
}

// Each of the two delays with the confidence asked for: later than the sum of both with that confidence, where both spread.
static int64_t late_provision_us(const struct rb_trace_options *o)
{
    const struct rb_trace_provisioning *p = &o->provisioning;
    if (!(o->confidence > 0 && o->confidence < 1))
        return rb_us_from_seconds(rb_dist_mean(&p->queue_s) + rb_dist_mean(&p->init_s));
    return rb_us_from_seconds(rb_dist_quantile(&p->queue_s, o->confidence) +
                              rb_dist_quantile(&p->init_s, o->confidence));
}

static bool create_policies(struct rb_trace_run *r, struct rb_err *err)
{
    const struct rb_trace_options *o = &r->options;
    const struct rb_trace_provisioning *p = &o->provisioning;
    const struct rb_autoscale_options scaling = {
        .min_nodes = o->min_nodes,
        .max_nodes = o->n_nodes,
        .gpus_per_node = o->gpus_per_node,
        .least_worth = o->least_worth,
        .provision_us = rb_us_from_seconds(rb_dist_mean(&p->queue_s) + rb_dist_mean(&p->init_s)),
        .late_provision_us = late_provision_us(o),
        .restart_us = o->sharing.restart_us,
        .round_us = o->sharing.round_us,
        .rates = o->rates,
    };
    if (!o->policy->create(&o->sharing, &r->policy_state, err))
        return false;
    if (!o->autoscale || o->autoscale->create(&scaling, &r->autoscale_state, err))
        return true;
    o->policy->destroy(r->policy_state);
    return false;
}

static void list_prices(struct rb_trace_run *r)
{
    const struct rb_rate *rates = r->options.rates;
    r->price = rb_xcalloc((size_t)r->options.n_nodes, sizeof *r->price);
    for (int n = 0; rates && n < r->options.n_nodes; n++) {
        assert(n == 0 || rates[n].uusd_per_hour >= rates[n - 1].uusd_per_hour);
        r->n_prices += n == 0 || rates[n].uusd_per_hour > rates[n - 1].uusd_per_hour;
        r->price[n] = r->n_prices - 1;
    }
    r->gpu_us = rb_xcalloc((size_t)r->trace->n * (size_t)r->n_prices + 1, sizeof *r->gpu_us);
}

bool rb_trace_run_init(struct rb_trace_run *run, const struct rb_trace *trace, const struct rb_trace_options *options,
                       struct rb_err *err)
{
    struct rb_trace_run r = {.trace = trace, .options = *options};
    if (!check(trace, options, err) || !create_policies(&r, err))
        return false;
    rb_trace_nodes_init(&r.nodes, options->n_nodes, options->gpus_per_node,
                        options->autoscale ? options->min_nodes : options->n_nodes, &options->provisioning);
    r.cluster = (struct rb_shared_cluster){.n_nodes = r.nodes.n, .gpus = r.nodes.gpus, .rates = options->rates};
    list_prices(&r);
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
    free(run->price);
    free(run->gpu_us);
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

bool rb_trace_check_end(const struct rb_trace_run *run, struct rb_err *err)
{
    const bool in_time = run->now_us <= (int64_t)RB_TRACE_LONGEST_S * RB_US_PER_S;
    if (run->n_active == 0 || (in_time && run->n_idle_rounds <= MOST_IDLE_ROUNDS))
        return true;
    return rb_err_set(err, RB_E_TRACE_CLUSTER,
                      "%d of %d jobs would never end, %s among them: the cluster is too small for it, or %s never lets "
                      "it run",
                      run->trace->n - run->n_ended, run->trace->n, run->trace->jobs[run->active[0]].name,
                      run->options.policy->name);
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

int64_t rb_trace_next_arrival_us(const struct rb_trace_run *run)
{
    const bool full = run->options.at_once > 0 && run->n_active >= run->options.at_once;
    return run->n_arrived < run->trace->n && !full ? run->trace->jobs[run->n_arrived].submitted_us : INT64_MAX;
}

void rb_trace_arrivals(struct rb_trace_run *run)
{
    while (rb_trace_next_arrival_us(run) <= run->now_us) {
        run->jobs[run->n_arrived].submitted_us =
            run->options.at_once > 0 ? run->now_us : run->trace->jobs[run->n_arrived].submitted_us;
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
