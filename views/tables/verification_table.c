#include "views/tables/verification_table.h"

#include "views/tables/text_table.h"

#include <math.h>

static void write_row(struct rb_text_table *t, const char *name, const struct rb_verified *z)
{
    const double values[] = {z->mean, z->p5, z->p50, z->p95, z->p99};
    rb_text_table_cell(t, "%s", name);
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        rb_text_table_cell(t, "%+.2f", values[i]);
}

static double largest(const struct rb_verification *v)
{
    const double values[] = {v->time_z.mean, v->time_z.p5,  v->time_z.p50,  v->time_z.p95, v->time_z.p99,
                             v->cost_z.mean, v->cost_z.p5,  v->cost_z.p50,  v->cost_z.p95, v->cost_z.p99,
                             v->p_both_z,    v->p_budget_z, v->p_deadline_z};
    double most = 0;
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        most = fmax(most, fabs(values[i]));
    return most;
}

static void write_doubt(double largest_z, struct rb_buf *out)
{
    if (largest_z > RB_SURE_SIGMA + 1)
        rb_buf_printf(out, "the largest |z| is %.1f: more than chance explains. The estimate is wrong there\n", largest_z);
}

void rb_verification_write(const struct rb_verification *v, const struct rb_plan *plan, struct rb_buf *out)
{
    static const struct rb_text_column columns[] = {{"z", false, 0},  {"mean", true, 0}, {"p5", true, 0},
                                                    {"p50", true, 0}, {"p95", true, 0},  {"p99", true, 0}};
    const struct rb_text_style plain = {0};
    struct rb_text_table t;
    const bool is_safe = plan->job->resources.spot == RB_SPOT_SAFE;
    rb_buf_printf(out, "\n%sverified by %lld runs, trial by trial, that the estimate has not seen:\n",
                  is_safe ? "on demand throughout, " : "", (long long)v->samples);
    rb_text_table_init(&t, columns, sizeof columns / sizeof columns[0]);
    write_row(&t, "time", &v->time_z);
    write_row(&t, "cost", &v->cost_z);
    rb_text_table_write(&t, &plain, out);
    rb_text_table_finish(&t);
    if (plan->deadline_us >= 0)
        rb_buf_printf(out, "P(on time) %.4f, z = %+.2f\n", v->simulated.p_deadline, v->p_deadline_z);
    if (plan->budget_uusd >= 0)
        rb_buf_printf(out, "P(within budget) %.4f, z = %+.2f\n", v->simulated.p_budget, v->p_budget_z);
    if (plan->deadline_us >= 0 && plan->budget_uusd >= 0)
        rb_buf_printf(out, "P(both) %.4f, z = %+.2f\n", v->simulated.p_both, v->p_both_z);
    write_doubt(largest(v), out);
}

void rb_verified_spot_write(const struct rb_verified_spot *v, struct rb_buf *out)
{
    char time[32], cost[32];
    if (!v) {
        rb_buf_puts(out, "with spot machines nothing is verified: the plan says nothing of such runs\n");
        return;
    }
    const struct rb_estimate *e = &v->replayed;
    rb_buf_printf(out,
                  "with spot machines, by %lld replays that have neither chosen the plan nor priced it: mean time %s, z = %+.2f; "
                  "mean cost %s, z = %+.2f; P %.4f, z = %+.2f\n",
                  (long long)e->samples, rb_format_duration(e->time_us.mean, time), v->time_z,
                  rb_format_money(e->cost_uusd.mean, cost), v->cost_z, e->p_both, v->p_both_z);
    write_doubt(fmax(fabs(v->time_z), fmax(fabs(v->cost_z), fabs(v->p_both_z))), out);
}
