#include "views/simulations/trace_table.h"

#include "base/document/json.h"
#include "simulator/cluster/trace_fairness.h"
#include "views/tables/text_table.h"

#include <math.h>
#include <stdlib.h>

static const char *rules_name(const struct rb_trace_run *run)
{
    return run->options.rules == RB_TRACE_OSDI21 ? "osdi21" : "events";
}

// ---- JSON

static void write_fairness(const struct rb_trace_summary *s, struct rb_json *j)
{
    rb_json_key(j, "fairness");
    if (s->n_fairness == 0) {
        rb_json_null(j);
        return;
    }
    rb_json_put(j, "{jobs: %d mean: %g max: %g unfair: %g}", s->n_fairness, s->fairness_mean, s->fairness_max,
                s->unfair);
}

static void write_deadlines(const struct rb_trace_summary *s, struct rb_json *j)
{
    rb_json_key(j, "deadlines");
    if (s->deadlines == 0) {
        rb_json_null(j);
        return;
    }
    rb_json_put(j, "{jobs: %d met: %d}", s->deadlines, s->deadlines_met);
}

static void write_prices(const struct rb_trace_run *run, struct rb_json *j)
{
    RB_AUTO(rb_auto_free) struct rb_trace_price *prices = rb_xcalloc((size_t)run->n_prices + 1, sizeof *prices);
    rb_trace_prices(run, prices);
    rb_json_put(j, "prices: [");
    for (int i = 0; i < run->n_prices; i++)
        rb_json_put(j, "{uusd_per_hour: %jd nodes: %d node_hours: %g cost_uusd: %jd}", prices[i].rate.uusd_per_hour,
                    prices[i].n_nodes, prices[i].node_hours, prices[i].cost_uusd);
    rb_json_end_array(j);
}

static void write_cluster(const struct rb_trace_run *run, const struct rb_trace_summary *s, struct rb_json *j)
{
    rb_json_put(j, "cluster: {nodes: %d gpus_per_node: %d} gpu_hours: %g node_hours: %g cost_uusd: %jd|null",
                run->options.n_nodes, run->options.gpus_per_node, s->gpu_hours, s->node_hours, s->cost_uusd);
    rb_json_put(j, "idle_uusd: %jd|null", s->idle_uusd);
    write_prices(run, j);
}

static void write_jobs(const struct rb_trace_run *run, const double *fairness, struct rb_json *j)
{
    rb_json_put(j, "jobs: [");
    for (int i = 0; i < run->trace->n; i++) {
        const struct rb_trace_training *job = &run->jobs[i];
        if (job->skipped)
            continue;
        rb_json_put(j, "{name: %s jct_s: %g wait_s: %g gpu_s: %g restarts: %d", job->job->name, rb_trace_jct_s(job),
                    rb_trace_wait_s(job), (double)job->gpu_us / (double)RB_US_PER_S, job->restarts - 1);
        rb_json_put(j, "fairness: %g|null cost_uusd: %jd|null}", fairness[i], rb_trace_job_uusd(run, i));
    }
    rb_json_end_array(j);
}

static void write_skipped(const struct rb_trace_run *run, struct rb_json *j)
{
    rb_json_put(j, "skipped: [");
    for (int i = 0; i < run->trace->n; i++) {
        if (!run->jobs[i].skipped)
            continue;
        rb_json_put(j, "{name: %s|null why: %s|null}", run->jobs[i].job->name, run->jobs[i].skipped);
    }
    rb_json_end_array(j);
}

void rb_trace_json_write(const struct rb_trace_run *run, int64_t wall_us, struct rb_buf *out)
{
    RB_AUTO(rb_auto_free) double *fairness = rb_xcalloc((size_t)run->trace->n, sizeof *fairness);
    rb_trace_fairness(run, fairness);
    const struct rb_trace_summary s = rb_trace_summarise(run, fairness);
    struct rb_json j = {.out = out};
    rb_json_put(&j, "{format: 'rb-sim-trace/1' policy: %s rules: %s between: %s jct_s: {", run->options.policy->name,
                rules_name(run), run->trace->apps->apps[0].between ? "triangulation" : "grid");
    rb_json_put(&j, "mean: %g p50: %g p99: %g} makespan_s: %g wait_s: %g", s.jct_mean_s, s.jct_p50_s, s.jct_p99_s,
                s.makespan_s, s.wait_mean_s);
    write_fairness(&s, &j);
    write_deadlines(&s, &j);
    rb_json_kdouble(&j, "restarts", s.restarts_mean);
    write_cluster(run, &s, &j);
    rb_json_kint(&j, "rounds", run->n_rounds);
    write_jobs(run, fairness, &j);
    write_skipped(run, &j);
    rb_json_put(&j, "wall_s: %g}", (double)wall_us / (double)RB_US_PER_S);
    rb_buf_putc(out, '\n');
}

// ---- for people

static void duration_row(struct rb_text_table *t, const char *what, double s)
{
    char text[32];
    rb_text_table_cell(t, "%s", what);
    rb_text_table_cell(t, "%s", rb_format_duration((int64_t)(s * (double)RB_US_PER_S), text));
}

static void number_row(struct rb_text_table *t, const char *what, const char *fmt, double value)
{
    rb_text_table_cell(t, "%s", what);
    rb_text_table_cell(t, fmt, value);
}

static void fill_table(const struct rb_trace_summary *s, struct rb_text_table *t)
{
    char money[32];
    duration_row(t, "completion time, mean", s->jct_mean_s);
    duration_row(t, "completion time, p50", s->jct_p50_s);
    duration_row(t, "completion time, p99", s->jct_p99_s);
    duration_row(t, "makespan", s->makespan_s);
    duration_row(t, "wait for the first GPU, mean", s->wait_mean_s);
    if (s->n_fairness > 0) {
        number_row(t, "finish-time fairness, mean", "%.2f", s->fairness_mean);
        number_row(t, "finish-time fairness, worst", "%.2f", s->fairness_max);
    }
    if (s->deadlines > 0) {
        rb_text_table_cell(t, "deadlines met");
        rb_text_table_cell(t, "%d of %d", s->deadlines_met, s->deadlines);
    }
    number_row(t, "restarts of a job, mean", "%.2f", s->restarts_mean);
    number_row(t, "GPU-hours held by jobs", "%.1f", s->gpu_hours);
    number_row(t, "node-hours owned", "%.1f", s->node_hours);
    if (s->cost_uusd >= 0) {
        rb_text_table_cell(t, "cost of the nodes");
        rb_text_table_cell(t, "%s", rb_format_money(s->cost_uusd, money));
        rb_text_table_cell(t, "of it nodes no job held");
        rb_text_table_cell(t, "%s", rb_format_money(s->idle_uusd, money));
    }
}

static void list_skipped(const struct rb_trace_run *run, struct rb_buf *out)
{
    if (run->n_skipped > 0)
        rb_buf_printf(out, "\n%d of %d jobs cannot run here and were skipped; the figures are of the others:\n",
                      run->n_skipped, run->trace->n);
    for (int i = 0; i < run->trace->n; i++) {
        if (run->jobs[i].skipped)
            rb_buf_printf(out, "  %s: %s\n", run->jobs[i].job->name, run->jobs[i].skipped);
    }
}

void rb_trace_table_write(const struct rb_trace_run *run, const struct rb_text_style *style, struct rb_buf *out)
{
    static const struct rb_text_column columns[] = {{"of the trace", false, 0}, {"", true, 0}};
    RB_AUTO(rb_auto_free) double *fairness = rb_xcalloc((size_t)run->trace->n, sizeof *fairness);
    rb_trace_fairness(run, fairness);
    const struct rb_trace_summary s = rb_trace_summarise(run, fairness);
    RB_AUTO(rb_text_table_finish) struct rb_text_table table;
    rb_buf_printf(out, "%d jobs on %d GPUs, %d a node, under %s; rules %s, %lld rounds\n\n",
                  run->trace->n - run->n_skipped, run->options.n_nodes * run->options.gpus_per_node,
                  run->options.gpus_per_node, run->options.policy->name, rules_name(run), (long long)run->n_rounds);
    rb_text_table_init(&table, columns, 2);
    fill_table(&s, &table);
    rb_text_table_write(&table, style, out);
    list_skipped(run, out);
}
