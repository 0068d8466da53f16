// rbplan --verify N: do runs of the plan that no estimate has seen, and the engine driven through virtual time, do what the
// estimate says?
#include "commands/rbplan/rbplan.h"

#include "planner/questions/verification.h"
#include "simulator/world/world.h"
#include "simulator/world/world_evaluate.h"

#include <math.h>
#include <unistd.h>

#define MOST_WORLDS 200 // the engine is slower than the evaluator, which tests hold to the same results

// ---- the engine in virtual time

struct worlds {
    double time, time_squares, cost, cost_squares; // sums
    int n;
};

static bool run_worlds(const struct rb_scenario *s, const struct rb_plan *plan, int n, struct worlds *out,
                       struct rb_err *err)
{
    // Replicates the estimate has not seen, and no stop at the deadline: the whole distribution is compared.
    struct rb_world_options opt = {.deadline_us = -1, .budget_uusd = -1};
    *out = (struct worlds){.n = n};
    for (int i = 0; i < n; i++) {
        struct rb_world_result r;
        opt.replicate = (uint32_t)(plan->estimate.samples + i);
        if (!rb_world_run(s, plan, &opt, &r, err))
            return rb_err_prefix(err, "--verify, replicate %u", opt.replicate);
        out->time += (double)r.time_us;
        out->time_squares += (double)r.time_us * (double)r.time_us;
        out->cost += (double)r.cost_uusd;
        out->cost_squares += (double)r.cost_uusd * (double)r.cost_uusd;
    }
    return true;
}

static double mean_z(double stated, double stated_error, double sum, double squares, int n)
{
    const double mean = sum / n, own = stated_error / RB_SURE_SIGMA;
    const double variance = n > 1 ? fmax(0, squares / n - mean * mean) / (n - 1) : 0;
    return rb_z_score(stated, mean, variance + own * own, 1);
}

// ---- what is printed

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

static void write_verification(const struct rb_verification *v, const struct rb_plan *plan, struct rb_buf *out)
{
    static const struct rb_text_column columns[] = {{"z", false, 0},  {"mean", true, 0}, {"p5", true, 0},
                                                    {"p50", true, 0}, {"p95", true, 0},  {"p99", true, 0}};
    const struct rb_text_style plain = {0};
    struct rb_text_table t;
    rb_buf_printf(out, "\nverified by %lld runs, trial by trial, that the estimate has not seen:\n",
                  (long long)v->samples);
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
    if (largest(v) > RB_SURE_SIGMA + 1)
        rb_buf_printf(out, "the largest |z| is %.1f: more than chance explains. The estimate is wrong there\n",
                      largest(v));
}

static void write_worlds(const struct worlds *w, const struct rb_estimate *e, struct rb_buf *out)
{
    char time[32], cost[32];
    rb_buf_printf(out,
                  "and by %d runs of the engine in virtual time: mean time %s, z = %+.2f; mean cost %s, z = %+.2f\n",
                  w->n, rb_format_duration((int64_t)(w->time / w->n), time),
                  mean_z((double)e->time_us.mean, (double)e->error.time_mean_us, w->time, w->time_squares, w->n),
                  rb_format_money((int64_t)(w->cost / w->n), cost),
                  mean_z((double)e->cost_uusd.mean, (double)e->error.cost_mean_uusd, w->cost, w->cost_squares, w->n));
}

static bool verify(const struct rb_scenario *s, const struct rb_plan *plan, int n, struct rb_buf *out,
                   struct rb_err *err)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    const int threads = cores > 0 ? (int)cores : 1;
    struct rb_verification verification;
    struct worlds worlds;
    if (rb_plan_is_by_engine(plan)) {
        n = rb_world_affordable_runs(plan, n);
        if (!rb_verify_by_engine(s, plan, n, threads, &verification, err))
            return false;
        write_verification(&verification, plan, out);
        return true;
    }
    if (!rb_verify(s, plan->stages, plan->n_stages, &plan->estimate, plan->deadline_us, plan->budget_uusd, n, threads,
                   &verification, err) ||
        !run_worlds(s, plan, n < MOST_WORLDS ? n : MOST_WORLDS, &worlds, err))
        return false;
    write_verification(&verification, plan, out);
    write_worlds(&worlds, &plan->estimate, out);
    return true;
}

bool rb_plan_verify(const struct rb_plan *plan, int n, struct rb_buf *out, struct rb_err *err)
{
    struct rb_scenario scenario;
    if (!rb_scenario_init(&scenario, plan->job, plan->profile, plan->offers, plan->n_offers, plan->catalog, plan->seed,
                          err))
        return false;
    const bool ok = verify(&scenario, plan, n, out, err);
    rb_scenario_finish(&scenario);
    return ok;
}
