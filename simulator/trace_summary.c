#include "simulator/trace_summary.h"

#include "base/units.h"
#include "profiles/billing.h"

#include <math.h>
#include <stdlib.h>

static double seconds(int64_t us)
{
    return (double)us / (double)RB_US_PER_S;
}

double rb_trace_jct_s(const struct rb_trace_training *t)
{
    return seconds(t->ended_us - t->submitted_us);
}

double rb_trace_wait_s(const struct rb_trace_training *t)
{
    return seconds(t->started_us - t->submitted_us);
}

static int ascending(const void *pa, const void *pb)
{
    const double a = *(const double *)pa, b = *(const double *)pb;
    return (a > b) - (a < b);
}

static double quantile(const double *sorted, int n, double q)
{
    const double rank = q * (n - 1);
    const int low = (int)rank, high = low + 1 < n ? low + 1 : low;
    return sorted[low] + (sorted[high] - sorted[low]) * (rank - low);
}

static void summarise_jct(const struct rb_trace_run *run, struct rb_trace_summary *s)
{
    const int n = run->trace->n;
    RB_AUTO(rb_auto_free) double *jct = rb_xcalloc((size_t)n, sizeof *jct);
    double sum = 0;
    for (int j = 0; j < n; j++)
        sum += jct[j] = rb_trace_jct_s(&run->jobs[j]);
    qsort(jct, (size_t)n, sizeof *jct, ascending);
    s->jct_mean_s = sum / n;
    s->jct_p50_s = quantile(jct, n, 0.5);
    s->jct_p99_s = quantile(jct, n, 0.99);
}

static void summarise_jobs(const struct rb_trace_run *run, struct rb_trace_summary *s)
{
    for (int j = 0; j < run->trace->n; j++) {
        const struct rb_trace_training *t = &run->jobs[j];
        s->makespan_s = fmax(s->makespan_s, seconds(t->ended_us));
        s->wait_mean_s += rb_trace_wait_s(t) / run->trace->n;
        s->gpu_hours += seconds(t->gpu_us) / 3600;
        s->restarts_mean += (double)(t->restarts - 1) / run->trace->n;
        if (t->job->deadline_us != INT64_MAX) {
            s->deadlines++;
            s->deadlines_met += t->ended_us - t->submitted_us <= t->job->deadline_us;
        }
    }
}

static void summarise_fairness(const double *fairness, int n, struct rb_trace_summary *s)
{
    double sum = 0;
    int n_unfair = 0;
    for (int j = 0; j < n; j++) {
        if (isnan(fairness[j]))
            continue;
        sum += fairness[j];
        s->n_fairness++;
        s->fairness_max = fmax(s->fairness_max, fairness[j]);
        n_unfair += fairness[j] > 1;
    }
    if (s->n_fairness > 0) {
        s->fairness_mean = sum / s->n_fairness;
        s->unfair = (double)n_unfair / s->n_fairness;
    }
}

static void summarise_nodes(const struct rb_trace_run *run, struct rb_trace_summary *s)
{
    const struct rb_billing billing = {.rate = run->options.node_rate};
    s->cost_uusd = run->options.has_price ? 0 : -1;
    for (int i = 0; i < run->nodes.n_leases; i++) {
        const struct rb_trace_lease *l = &run->nodes.leases[i];
        s->node_hours += seconds(l->ended_us > l->running_us ? l->ended_us - l->running_us : 0) / 3600;
        if (run->options.has_price)
            s->cost_uusd += rb_bill_node(&billing, l->running_us, l->ended_us).total_uusd;
    }
}

struct rb_trace_summary rb_trace_summarise(const struct rb_trace_run *run, const double *fairness)
{
    struct rb_trace_summary s = {0};
    summarise_jct(run, &s);
    summarise_jobs(run, &s);
    summarise_fairness(fairness, run->trace->n, &s);
    summarise_nodes(run, &s);
    return s;
}
