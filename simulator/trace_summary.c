#include "simulator/trace_summary.h"

#include "base/units.h"

#include <math.h>
#include <stdlib.h>

static double seconds(int64_t us)
{
    return (double)us / (double)RB_US_PER_S;
}

double rb_trace_jct_s(const struct rb_trace_training *t)
{
    return seconds(t->ended_us - t->job->submitted_us);
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

struct rb_trace_summary rb_trace_summarise(const struct rb_trace_run *run)
{
    struct rb_trace_summary s = {0};
    summarise_jct(run, &s);
    for (int j = 0; j < run->trace->n; j++) {
        const struct rb_trace_training *t = &run->jobs[j];
        s.makespan_s = fmax(s.makespan_s, seconds(t->ended_us));
        s.wait_mean_s += seconds(t->started_us - t->job->submitted_us) / run->trace->n;
        s.gpu_hours += seconds(t->gpu_us) / 3600;
        s.restarts_mean += (double)(t->restarts - 1) / run->trace->n;
        if (t->job->deadline_us != INT64_MAX) {
            s.deadlines++;
            s.deadlines_met += t->ended_us - t->job->submitted_us <= t->job->deadline_us;
        }
    }
    return s;
}
