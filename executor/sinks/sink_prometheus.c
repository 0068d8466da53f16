// Prometheus: one file for the textfile collector of node_exporter, DIR/rubberband_RUN.prom, replaced as a whole. The run is a
// label; trials are not, for a label's values must be few.
#include "executor/sinks/sink.h"
#include "executor/sinks/sink_file.h"

#include "base/document/json.h"

#include <math.h>
#include <stdlib.h>

struct prometheus {
    const struct rb_sink_run *run;
    const char *dir;
};

static bool prometheus_open(const struct rb_sink_run *run, const struct rb_sink_target *target, void **out,
                            struct rb_err *err)
{
    if (!rb_sink_make_dirs(target->path, true, err))
        return false;
    struct prometheus *p = rb_xcalloc(1, sizeof *p);
    p->run = run;
    p->dir = target->path;
    *out = p;
    return true;
}

// A value that is not known has no line: a zero would be taken for one.
static void put_metric(const struct prometheus *p, const char *name, const char *type, const char *help, double value,
                       struct rb_buf *out)
{
    if (!isfinite(value))
        return;
    rb_buf_printf(out, "# HELP rubberband_run_%s %s\n# TYPE rubberband_run_%s %s\n", name, help, name, type);
    rb_buf_printf(out, "rubberband_run_%s{job=\"%s\",run=\"%s\"} ", name, p->run->plan->job->name, p->run->run_id);
    struct rb_json number = {.out = out};
    rb_json_double(&number, value);
    rb_buf_putc(out, '\n');
}

static bool prometheus_flush(void *sink, const struct rb_sink_now *now, struct rb_err *err)
{
    const struct prometheus *p = sink;
    const struct rb_report *r = now->report;
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT, text = RB_BUF_INIT;
    rb_buf_printf(&path, "%s/rubberband_%s.prom", p->dir, p->run->run_id);
    put_metric(p, "active", "gauge", "1 while the run is carried out, else 0.",
               r->outcome == RB_JOB_RUNNING && r->at_work, &text);
    put_metric(p, "cost_dollars", "gauge", "What the run has cost so far.", (double)r->cost_uusd / 1e6, &text);
    put_metric(p, "cost_p95_dollars", "gauge", "95 % of such runs cost at most this; after the end, what it cost.",
               now->cost_p95_uusd / 1e6, &text);
    put_metric(p, "on_time_ratio", "gauge", "How likely the run ends by its deadline; after the end, 0 or 1.",
               now->p_on_time, &text);
    put_metric(p, "gpus", "gauge", "GPUs that are rented now.", now->gpus, &text);
    put_metric(p, "idle_gpu_dollars_total", "counter", "What GPUs cost that waited at a barrier.",
               (double)r->by.idle_barrier_uusd / 1e6, &text);
    return rb_sink_replace(rb_buf_str(&path), text.data, text.len, 0644, err);
}

static void prometheus_close(void *sink)
{
    free(sink);
}

const struct rb_sink_ops rb_sink_prometheus = {
    .name = "prometheus",
    .foresees = true,
    .open = prometheus_open,
    .flush = prometheus_flush,
    .close = prometheus_close,
};
