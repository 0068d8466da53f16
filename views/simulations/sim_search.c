#include "views/simulations/sim_search.h"

#include "simulator/model/summary.h"
#include "views/tables/text_table.h"

#include <stdlib.h>
#include <unistd.h>

#define CURVE_POINTS 101

const char *rb_sim_curves_say(const struct rb_simulation *sim)
{
    return sim->table ? "those of a table" : sim->curves.says;
}

// ---- dollars to the target

struct reached {
    struct rb_quantiles cost_uusd;
    int n; // runs that reached it
};

static struct reached reached_by(const struct rb_simulation *sim, const struct rb_sim_variant *v)
{
    RB_AUTO(rb_auto_free) int64_t *costs = rb_xcalloc((size_t)sim->n, sizeof *costs);
    struct reached r = {.n = 0};
    for (int i = 0; i < sim->n; i++)
        if (v->outcomes[i].target_uusd >= 0)
            costs[r.n++] = v->outcomes[i].target_uusd;
    if (r.n > 0)
        r.cost_uusd = rb_quantiles_of(costs, r.n);
    return r;
}

static int count_ran_out(const struct rb_simulation *sim, const struct rb_sim_variant *v)
{
    int n = 0;
    for (int i = 0; i < sim->n; i++)
        n += v->outcomes[i].ran_out;
    return n;
}

// ---- JSON

void rb_sim_table_json(const struct rb_simulation *sim, struct rb_json *j)
{
    const struct rb_blackbox *t = sim->table;
    const struct rb_job *job = sim->variants[0].plan.job;
    rb_json_put(j, "blackbox: {table: %s rows: %d best: %g median: %g target:", t->path, t->n_rows, t->best, t->median);
    if (job->has_target)
        rb_json_double(j, job->target);
    else
        rb_json_null(j);
    rb_json_end_object(j);
}

// Of all variants and runs, so that their curves share their dollars.
int64_t rb_sim_most_spent(const struct rb_simulation *sim)
{
    int64_t most = 0;
    for (int v = 0; v < sim->n_variants; v++)
        for (int i = 0; i < sim->n; i++)
            if (sim->variants[v].results[i].cost_uusd > most)
                most = sim->variants[v].results[i].cost_uusd;
    return most;
}

static int count_running(const struct rb_simulation *sim, const struct rb_sim_variant *v, int64_t cost_uusd)
{
    int n = 0;
    for (int i = 0; i < sim->n; i++)
        n += v->results[i].cost_uusd > cost_uusd;
    return n;
}

static void write_curve(const struct rb_simulation *sim, const struct rb_sim_variant *v, struct rb_json *j)
{
    const int64_t step_uusd = rb_sim_most_spent(sim) / (CURVE_POINTS - 1) + 1;
    struct rb_mean points[CURVE_POINTS];
    rb_json_put(j, "regret_curve: {cost_uusd: [");
    for (int i = 0; i < CURVE_POINTS; i++) {
        points[i] = rb_sim_regret_at(sim, v, i * step_uusd);
        rb_json_int(j, i * step_uusd);
    }
    rb_json_put(j, "] mean: [");
    for (int i = 0; i < CURVE_POINTS; i++)
        rb_json_double(j, points[i].mean);
    rb_json_put(j, "] low: [");
    for (int i = 0; i < CURVE_POINTS; i++)
        rb_json_double(j, points[i].low);
    rb_json_put(j, "] high: [");
    for (int i = 0; i < CURVE_POINTS; i++)
        rb_json_double(j, points[i].high);
    rb_json_put(j, "] running: [");
    for (int i = 0; i < CURVE_POINTS; i++)
        rb_json_int(j, count_running(sim, v, i * step_uusd));
    rb_json_put(j, "]}");
}

void rb_sim_search_json(const struct rb_simulation *sim, const struct rb_sim_variant *v, struct rb_json *j)
{
    const struct reached r = reached_by(sim, v);
    rb_json_put(j, "search: {sampler: %s ran_out: %d reached: %d target_uusd:", v->plan.job->scheduler.sampler.type,
                count_ran_out(sim, v), r.n);
    if (r.n > 0)
        rb_quantiles_write(&r.cost_uusd, j);
    else
        rb_json_null(j);
    write_curve(sim, v, j);
    rb_plan_write_prices(&v->plan, j);
    rb_json_end_object(j);
}

// ---- text

static void cells_of_target(struct rb_text_table *table, const struct rb_simulation *sim, const struct reached *r)
{
    const int64_t values[] = {r->cost_uusd.mean, r->cost_uusd.p5, r->cost_uusd.p50, r->cost_uusd.p95};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        char text[32];
        rb_text_table_cell(table, "%s", r->n > 0 ? rb_format_money(values[i], text) : "none");
    }
    rb_text_table_cell(table, "%d of %d", r->n, sim->n);
}

bool rb_sim_ran_out(const struct rb_simulation *sim, const struct rb_sim_variant *v, struct rb_buf *out)
{
    const int n = count_ran_out(sim, v);
    if (n > 0)
        rb_buf_printf(out, "%s: %d of %d runs took all %d rows of the table, and ended with them", v->label, n, sim->n,
                      sim->table->n_rows);
    return n > 0;
}

void rb_sim_search_cells(const struct rb_simulation *sim, struct rb_text_table *table)
{
    static const struct rb_text_column columns[] = {
        {"search", false, 0},   {"regret", true, 0}, {"sd", true, 4},  {"$ to target: mean", true, 0}, {"p5", true, 2},
        {"p50", true, 3}, {"p95", true, 1},    {"reached", true, 0}};
    const bool has_target = sim->variants[0].plan.job->has_target;
    rb_text_table_init(table, columns, has_target ? 8 : 3);
    for (int i = 0; i < sim->n_variants; i++) {
        const struct rb_sim_variant *v = &sim->variants[i];
        const struct rb_mean regret = rb_sim_mean(sim, v, RB_SIM_REGRET);
        const struct reached r = reached_by(sim, v);
        rb_text_table_cell(table, "%s", v->label);
        rb_text_table_cell(table, "%.4f [%.4f, %.4f]", regret.mean, regret.low > 0 ? regret.low : 0, regret.high);
        rb_text_table_cell(table, "%.4f", regret.sd);
        if (has_target)
            cells_of_target(table, sim, &r);
    }
}

void rb_sim_search_table(const struct rb_simulation *sim, struct rb_buf *out)
{
    const struct rb_text_style text_style = rb_text_style_of(STDOUT_FILENO);
    struct rb_text_table table;
    rb_buf_putc(out, '\n');
    rb_sim_search_cells(sim, &table);
    rb_text_table_write(&table, &text_style, out);
    rb_text_table_finish(&table);
    for (int i = 0; i < sim->n_variants; i++)
        if (rb_sim_ran_out(sim, &sim->variants[i], out))
            rb_buf_putc(out, '\n');
}
