#include "views/simulations/sim_table.h"

#include "base/arena.h"
#include "base/document/json.h"
#include "simulator/model/summary.h"
#include "views/simulations/sim_search.h"
#include "views/tables/text_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const measure_keys[] = {
    [RB_SIM_TIME] = "time_us",           [RB_SIM_COST] = "cost_uusd",   [RB_SIM_METRIC] = "best_metric",
    [RB_SIM_TRAINED] = "trials_trained", [RB_SIM_FULL] = "trials_full", [RB_SIM_FIRST_FULL] = "first_full_us",
    [RB_SIM_UNITS] = "units_trained",    [RB_SIM_REGRET] = "regret",    [RB_SIM_TARGET_COST] = "target_uusd",
};

// ---- one variant

struct distributions {
    struct rb_quantiles time_us, cost_uusd;
    int n_kept; // runs within deadline and budget
    int n_cut;  // runs that their budget stopped
    int n_replanned;
};

static struct distributions distributions_of(const struct rb_simulation *sim, const struct rb_sim_variant *v)
{
    RB_AUTO(rb_auto_free) int64_t *values = rb_xcalloc((size_t)sim->n, sizeof *values);
    const struct rb_plan *plan = &v->plan;
    struct distributions d = {.n_kept = 0};
    for (int i = 0; i < sim->n; i++) {
        const struct rb_world_result *r = &v->results[i];
        values[i] = r->time_us;
        d.n_kept += rb_world_kept(r, plan->deadline_us, plan->budget_uusd);
        d.n_replanned += r->n_advised > 0;
        d.n_cut += !rb_world_kept_budget(r, plan->budget_uusd);
    }
    d.time_us = rb_quantiles_of(values, sim->n);
    for (int i = 0; i < sim->n; i++)
        values[i] = v->results[i].cost_uusd;
    d.cost_uusd = rb_quantiles_of(values, sim->n);
    return d;
}

static void write_mean_members(struct rb_json *j, const struct rb_mean *m)
{
    rb_json_put(j, "mean: %g sd: %g low: %g high: %g", m->mean, m->sd, m->low, m->high);
}

static void write_means(const struct rb_simulation *sim, const struct rb_sim_variant *v, struct rb_json *j)
{
    rb_json_put(j, "means: {");
    for (int i = 0; i < rb_sim_n_measures(sim); i++) {
        const struct rb_mean m = rb_sim_mean(sim, v, (enum rb_sim_measure)i);
        rb_json_key(j, measure_keys[i]);
        if (m.n == 0) {
            rb_json_null(j);
            continue;
        }
        rb_json_put(j, "{runs: %d", m.n);
        write_mean_members(j, &m);
        rb_json_end_object(j);
    }
    rb_json_end_object(j);
}

static void write_best_metric(const struct rb_simulation *sim, const struct rb_sim_variant *v, struct rb_json *j)
{
    const struct rb_mean m = rb_sim_mean(sim, v, RB_SIM_METRIC);
    rb_json_key(j, "best_metric");
    if (m.n == 0) {
        rb_json_null(j);
        return;
    }
    rb_json_put(j, "{mean: %g sd: %g}", m.mean, m.sd);
}

static void write_kept(const struct rb_sim_variant *v, const struct distributions *d, int n, struct rb_json *j)
{
    if (v->plan.deadline_us < 0 && v->plan.budget_uusd < 0) {
        rb_json_put(j, "kept: null p_kept: null");
        return;
    }
    const struct rb_share p = rb_share_of(d->n_kept, n);
    rb_json_put(j, "kept: %d p_kept: {mean: %g low: %g high: %g}", d->n_kept, p.share, p.low, p.high);
}

static void write_one(const struct rb_simulation *sim, const struct distributions *d, struct rb_buf *out)
{
    const struct rb_sim_variant *v = &sim->variants[0];
    struct rb_json j = {.out = out};
    rb_json_put(&j, "{format: 'rb-sim/1' tuner: %s policy: %s replicates: %d time_us:", v->plan.job->scheduler.type,
                v->plan.policy, sim->n);
    rb_quantiles_write(&d->time_us, &j);
    rb_json_key(&j, "cost_uusd");
    rb_quantiles_write(&d->cost_uusd, &j);
    write_kept(v, d, sim->n, &j);
    rb_json_kint(&j, "cut", d->n_cut);
    if (sim->reactor)
        rb_json_kint(&j, "replanned", d->n_replanned);
    write_best_metric(sim, v, &j);
    write_means(sim, v, &j);
    rb_json_put(&j, "curves: %s", rb_sim_curves_say(sim));
    if (sim->table) {
        rb_sim_table_json(sim, &j);
        rb_sim_search_json(sim, v, &j);
    }
    rb_json_end_object(&j);
    rb_buf_putc(out, '\n');
}

typedef char *format_fn(int64_t value, char out[static 32]);

// A mean with its 95 % interval.
static void format_mean(const struct rb_mean *m, enum rb_sim_measure measure, char *out, size_t size)
{
    char mean[32], low[32], high[32];
    if (m->n == 0) {
        snprintf(out, size, "none");
    } else if (measure == RB_SIM_METRIC || measure == RB_SIM_REGRET) {
        snprintf(out, size, "%.4f [%.4f, %.4f]", m->mean, m->low, m->high);
    } else if (measure == RB_SIM_TRAINED || measure == RB_SIM_FULL) {
        snprintf(out, size, "%.1f [%.1f, %.1f]", m->mean, m->low, m->high);
    } else {
        format_fn *format = measure == RB_SIM_COST || measure == RB_SIM_TARGET_COST ? rb_format_money : rb_format_duration;
        snprintf(out, size, "%s [%s, %s]", format((int64_t)m->mean, mean), format((int64_t)fmax(0, m->low), low),
                 format((int64_t)m->high, high));
    }
}

static void quantile_row(struct rb_text_table *t, const char *name, const struct rb_quantiles *q, format_fn *format)
{
    const int64_t values[] = {q->mean, q->p5, q->p50, q->p95, q->p99};
    rb_text_table_cell(t, "%s", name);
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        char text[32];
        rb_text_table_cell(t, "%s", format(values[i], text));
    }
}

static void write_share(int n_kept, int n, struct rb_buf *out)
{
    const struct rb_share p = rb_share_of(n_kept, n);
    rb_buf_printf(out, "within deadline and budget: %d of %d, P within [%.3f, %.3f] at 95 %%\n", n_kept, n, p.low, p.high);
}

static void write_table(const struct rb_simulation *sim, const struct distributions *d, struct rb_buf *out)
{
    static const struct rb_text_column columns[] = {{"", false, 0},   {"mean", true, 0}, {"p5", true, 2},
                                                    {"p50", true, 3}, {"p95", true, 4},  {"p99", true, 1}};
    const struct rb_plan *plan = &sim->variants[0].plan;
    const struct rb_text_style text_style = rb_text_style_of(STDOUT_FILENO);
    const struct rb_mean metric = rb_sim_mean(sim, &sim->variants[0], RB_SIM_METRIC);
    struct rb_text_table table;
    rb_buf_printf(out, "%s: tuner %s, policy %s, %d simulated runs\n\n", plan->job->name, plan->job->scheduler.type,
                  plan->policy, sim->n);
    rb_text_table_init(&table, columns, 6);
    quantile_row(&table, "time", &d->time_us, rb_format_duration);
    quantile_row(&table, "cost", &d->cost_uusd, rb_format_money);
    rb_text_table_write(&table, &text_style, out);
    rb_text_table_finish(&table);
    rb_buf_putc(out, '\n');
    if (sim->stop_at_deadline && plan->deadline_us >= 0)
        rb_buf_puts(out, "every run was stopped at the deadline\n");
    else if (plan->deadline_us >= 0 || plan->budget_uusd >= 0)
        write_share(d->n_kept, sim->n, out);
    if (d->n_cut > 0)
        rb_buf_printf(out, "stopped by the budget, as rbrun would stop them: %d\n", d->n_cut);
    if (sim->reactor)
        rb_buf_printf(out, "got other nodes: %d of %d\n", d->n_replanned, sim->n);
    if (metric.n > 0)
        rb_buf_printf(out, "best %s: %.4f (sd %.4f), mean within [%.4f, %.4f] at 95 %%\n", plan->job->metric_name,
                      metric.mean, metric.sd, metric.low, metric.high);
    for (int i = RB_SIM_TRAINED; i <= RB_SIM_FIRST_FULL; i++) {
        char text[128];
        const struct rb_mean m = rb_sim_mean(sim, &sim->variants[0], (enum rb_sim_measure)i);
        format_mean(&m, (enum rb_sim_measure)i, text, sizeof text);
        rb_buf_printf(out, "%s%s",
                      i == RB_SIM_TRAINED ? "trials trained: "
                      : i == RB_SIM_FULL  ? ", to R: "
                                          : ", first at R: ",
                      text);
    }
    rb_buf_putc(out, '\n');
    if (sim->table)
        rb_sim_search_table(sim, out);
}

void rb_sim_show(const struct rb_simulation *sim, bool json, struct rb_buf *out)
{
    const struct distributions d = distributions_of(sim, &sim->variants[0]);
    if (json)
        write_one(sim, &d, out);
    else
        write_table(sim, &d, out);
}

// ---- several

static void write_variant(const struct rb_simulation *sim, const struct rb_sim_variant *v, struct rb_json *j)
{
    rb_json_put(j, "{label: %s|null tuner: %s policy: %s", v->label, v->plan.job->scheduler.type, v->plan.policy);
    write_means(sim, v, j);
    if (sim->table)
        rb_sim_search_json(sim, v, j);
    rb_json_end_object(j);
}

static void write_difference(const struct rb_simulation *sim, int of, enum rb_sim_measure measure, struct rb_json *j)
{
    struct rb_paired p;
    if (!rb_sim_paired(sim, of, 0, measure, &p))
        return;
    rb_json_put(j, "{of: %s|null less: %s|null measure: %s pairs: %d", sim->variants[of].label, sim->variants[0].label,
                measure_keys[measure], p.difference.n);
    write_mean_members(j, &p.difference);
    rb_json_put(j, "above: %d below: %d p_t: %g p_sign: %g}", p.n_above, p.n_below, p.p_t, p.p_sign);
}

static void write_comparison(const struct rb_simulation *sim, struct rb_buf *out)
{
    const struct rb_plan *plan = &sim->variants[0].plan;
    struct rb_json j = {.out = out};
    rb_json_put(&j, "{format: 'rb-sim-compare/1' job: %s goal: %s replicates: %d curves: %s", plan->job->name,
                plan->job->goal == RB_GOAL_MAXIMIZE ? "maximize" : "minimize", sim->n, rb_sim_curves_say(sim));
    if (sim->table)
        rb_sim_table_json(sim, &j);
    rb_json_put(&j, "stopped_at_us:");
    if (sim->stop_at_deadline)
        rb_json_int(&j, plan->deadline_us);
    else
        rb_json_null(&j);
    rb_json_put(&j, "variants: [");
    for (int i = 0; i < sim->n_variants; i++)
        write_variant(sim, &sim->variants[i], &j);
    rb_json_put(&j, "] differences: [");
    for (int i = 1; i < sim->n_variants; i++) {
        for (int m = 0; m < rb_sim_n_measures(sim); m++)
            write_difference(sim, i, (enum rb_sim_measure)m, &j);
    }
    rb_json_put(&j, "]}");
    rb_buf_putc(out, '\n');
}

static void table_of_means(const struct rb_simulation *sim, struct rb_buf *out)
{
    const struct rb_text_style text_style = rb_text_style_of(STDOUT_FILENO);
    const char *metric = sim->variants[0].plan.job->metric_name;
    const struct rb_text_column columns[] = {{"", false, 0},    {metric, true, 0}, {"sd", true, 5},
                                             {"time", true, 2}, {"cost", true, 1}, {"trials", true, 4},
                                             {"to R", true, 3}};
    static const enum rb_sim_measure shown[] = {RB_SIM_TIME, RB_SIM_COST, RB_SIM_TRAINED, RB_SIM_FULL};
    struct rb_text_table table;
    rb_text_table_init(&table, columns, 7);
    for (int i = 0; i < sim->n_variants; i++) {
        const struct rb_sim_variant *v = &sim->variants[i];
        const struct rb_mean best = rb_sim_mean(sim, v, RB_SIM_METRIC);
        char text[128];
        format_mean(&best, RB_SIM_METRIC, text, sizeof text);
        rb_text_table_cell(&table, "%s", v->label);
        rb_text_table_cell(&table, "%s", text);
        rb_text_table_cell(&table, "%.4f", best.sd);
        for (size_t m = 0; m < sizeof shown / sizeof shown[0]; m++) {
            const struct rb_mean mean = rb_sim_mean(sim, v, shown[m]);
            format_mean(&mean, shown[m], text, sizeof text);
            rb_text_table_cell(&table, "%s", text);
        }
    }
    rb_text_table_write(&table, &text_style, out);
    rb_text_table_finish(&table);
}

static void table_of_differences(const struct rb_simulation *sim, struct rb_buf *out)
{
    const enum rb_sim_measure measure = sim->table ? RB_SIM_REGRET : RB_SIM_METRIC;
    const struct rb_text_column columns[] = {{sim->table ? "regret, less the first's" : "best, less the first's", false, 0},
                                                    {"mean", true, 0},
                                                    {"95 % interval", true, 0},
                                                    {"above", true, 3},
                                                    {"below", true, 3},
                                                    {"p (t)", true, 2},
                                                    {"p (signs)", true, 1}};
    const struct rb_text_style text_style = rb_text_style_of(STDOUT_FILENO);
    struct rb_text_table table;
    rb_text_table_init(&table, columns, 7);
    for (int i = 1; i < sim->n_variants; i++) {
        struct rb_paired p;
        if (!rb_sim_paired(sim, i, 0, measure, &p))
            continue;
        rb_text_table_cell(&table, "%s", sim->variants[i].label);
        rb_text_table_cell(&table, "%+.4f", p.difference.mean);
        rb_text_table_cell(&table, "%+.4f to %+.4f", p.difference.low, p.difference.high);
        rb_text_table_cell(&table, "%d", p.n_above);
        rb_text_table_cell(&table, "%d", p.n_below);
        rb_text_table_cell(&table, "%.2g", p.p_t);
        rb_text_table_cell(&table, "%.2g", p.p_sign);
    }
    rb_text_table_write(&table, &text_style, out);
    rb_text_table_finish(&table);
}

void rb_sim_show_comparison(const struct rb_simulation *sim, bool json, struct rb_buf *out)
{
    const struct rb_plan *plan = &sim->variants[0].plan;
    char deadline[32];
    if (json) {
        write_comparison(sim, out);
        return;
    }
    rb_buf_printf(out, "%s: %d simulated runs of each on the same draws and curves", plan->job->name, sim->n);
    if (sim->stop_at_deadline)
        rb_buf_printf(out, ", stopped at %s", rb_format_duration(plan->deadline_us, deadline));
    rb_buf_puts(out, "; means with 95 % intervals\n\n");
    table_of_means(sim, out);
    if (sim->table)
        rb_sim_search_table(sim, out);
    rb_buf_putc(out, '\n');
    table_of_differences(sim, out);
}
