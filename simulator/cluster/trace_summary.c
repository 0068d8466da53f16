#include "simulator/cluster/trace_summary.h"

#include "base/order.h"
#include "base/text/units.h"
#include "profiles/catalog/billing.h"

#include <math.h>
#include <stdlib.h>

__extension__ typedef __int128 wide;

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

static double quantile(const double *sorted, int n, double q)
{
    const double rank = q * (n - 1);
    const int low = (int)rank, high = low + 1 < n ? low + 1 : low;
    return sorted[low] + (sorted[high] - sorted[low]) * (rank - low);
}

static void summarise_jct(const struct rb_trace_run *run, struct rb_trace_summary *s)
{
    RB_AUTO(rb_auto_free) double *jct = rb_xcalloc((size_t)run->trace->n, sizeof *jct);
    double sum = 0;
    int n = 0;
    for (int j = 0; j < run->trace->n; j++) {
        if (run->jobs[j].skipped)
            continue;
        sum += jct[n] = rb_trace_jct_s(&run->jobs[j]);
        n++;
    }
    qsort(jct, (size_t)n, sizeof *jct, rb_order_doubles);
    s->jct_mean_s = sum / n;
    s->jct_p50_s = quantile(jct, n, 0.5);
    s->jct_p99_s = quantile(jct, n, 0.99);
}

static void summarise_jobs(const struct rb_trace_run *run, struct rb_trace_summary *s)
{
    const int n = run->trace->n - run->n_skipped;
    for (int j = 0; j < run->trace->n; j++) {
        const struct rb_trace_training *t = &run->jobs[j];
        if (t->skipped)
            continue;
        s->makespan_s = fmax(s->makespan_s, seconds(t->ended_us));
        s->wait_mean_s += rb_trace_wait_s(t) / n;
        s->gpu_hours += seconds(t->gpu_us) / 3600;
        s->restarts_mean += (double)(t->restarts - 1) / n;
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

static double owned_hours(const struct rb_trace_lease *l)
{
    return seconds(l->ended_us > l->running_us ? l->ended_us - l->running_us : 0) / 3600;
}

static int64_t lease_uusd(const struct rb_trace_run *run, const struct rb_trace_lease *l)
{
    const struct rb_billing billing = {.rate = run->options.rates[l->node]};
    return rb_bill_node(&billing, l->running_us, l->ended_us).total_uusd;
}

void rb_trace_prices(const struct rb_trace_run *run, struct rb_trace_price *out)
{
    for (int i = 0; i < run->n_prices; i++)
        out[i] = (struct rb_trace_price){0};
    for (int node = 0; run->n_prices > 0 && node < run->options.n_nodes; node++) {
        out[run->price[node]].rate = run->options.rates[node];
        out[run->price[node]].n_nodes++;
    }
    for (int i = 0; run->n_prices > 0 && i < run->nodes.n_leases; i++) {
        const struct rb_trace_lease *l = &run->nodes.leases[i];
        out[run->price[l->node]].node_hours += owned_hours(l);
        out[run->price[l->node]].cost_uusd += lease_uusd(run, l);
    }
}

int64_t rb_trace_job_uusd(const struct rb_trace_run *run, int job)
{
    wide sum = 0; // micro-dollars x microseconds x GPUs of a node
    for (int node = 0, seen = 0; node < run->options.n_nodes && seen < run->n_prices; node++) {
        if (run->price[node] == seen)
            sum += (wide)run->gpu_us[(size_t)job * (size_t)run->n_prices + (size_t)seen++] *
                   run->options.rates[node].uusd_per_hour;
    }
    return run->n_prices == 0 ? -1 : (int64_t)(sum / ((wide)RB_S_PER_HOUR * RB_US_PER_S * run->options.gpus_per_node));
}

static void summarise_nodes(const struct rb_trace_run *run, struct rb_trace_summary *s)
{
    for (int i = 0; i < run->nodes.n_leases; i++)
        s->node_hours += owned_hours(&run->nodes.leases[i]);
    s->cost_uusd = s->idle_uusd = run->n_prices > 0 ? 0 : -1;
    if (run->n_prices == 0)
        return;
    for (int i = 0; i < run->nodes.n_leases; i++)
        s->cost_uusd += lease_uusd(run, &run->nodes.leases[i]);
    s->idle_uusd = s->cost_uusd;
    for (int j = 0; j < run->trace->n; j++)
        s->idle_uusd -= rb_trace_job_uusd(run, j);
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
