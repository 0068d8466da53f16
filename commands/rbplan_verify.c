// rbplan --verify N: does the engine, driven through virtual time, do what the evaluator said it would?
#include "commands/rbplan.h"

#include "simulator/world.h"

#include <math.h>

struct sums {
    double time, time_squares, cost, cost_squares;
    int met;
};

static bool run_worlds(const struct rb_scenario *s, const struct rb_plan *plan, int n, struct sums *out,
                       struct rb_err *err)
{
    // Replicates the estimate has not seen, and no stop at the deadline: the whole distribution is compared.
    struct rb_world_options opt = {.deadline_us = -1, .budget_uusd = -1};
    for (int i = 0; i < n; i++) {
        struct rb_world_result r;
        opt.replicate = (uint32_t)(plan->estimate.samples + i);
        if (!rb_world_run(s, plan, &opt, &r, err))
            return rb_err_prefix(err, "--verify, replicate %u", opt.replicate);
        out->time += (double)r.time_us;
        out->time_squares += (double)r.time_us * (double)r.time_us;
        out->cost += (double)r.cost_uusd;
        out->cost_squares += (double)r.cost_uusd * (double)r.cost_uusd;
        out->met += (plan->deadline_us < 0 || r.time_us <= plan->deadline_us) &&
                    (plan->budget_uusd < 0 || r.cost_uusd <= plan->budget_uusd);
    }
    return true;
}

static double variance_of_mean(double sum, double squares, int n)
{
    double mean = sum / n;
    return n > 1 ? fmax(0, squares / n - mean * mean) / (n - 1) : 0;
}

// Standard errors between two independent estimates; 0 where both are exact and equal.
static double z_score(double difference, double variance_a, double variance_b)
{
    double se = sqrt(variance_a + variance_b);
    if (se > 0)
        return difference / se;
    return fabs(difference) < 0.5 ? 0 : copysign(INFINITY, difference);
}

static void write_scores(const struct rb_plan *plan, const struct sums *sums, int n, struct rb_buf *out)
{
    char text[32];
    const struct rb_estimate *e = &plan->estimate;
    double time = sums->time / n, cost = sums->cost / n, p = (double)sums->met / n;
    double se_time = (double)e->stderr_.time_mean_us, se_cost = (double)e->stderr_.cost_mean_uusd;
    rb_buf_printf(out, "verified by %d runs of the engine in virtual time:\n", n);
    rb_buf_printf(out, "  mean time %s, z = %+.2f\n", rb_format_duration((int64_t)time, text),
                  z_score(time - (double)e->time_us.mean, se_time * se_time,
                          variance_of_mean(sums->time, sums->time_squares, n)));
    rb_buf_printf(out, "  mean cost %s, z = %+.2f\n", rb_format_money((int64_t)cost, text),
                  z_score(cost - (double)e->cost_uusd.mean, se_cost * se_cost,
                          variance_of_mean(sums->cost, sums->cost_squares, n)));
    rb_buf_printf(out, "  P          %.3f, z = %+.2f\n", p,
                  z_score(p - e->p_both, e->stderr_.p_both * e->stderr_.p_both,
                          e->p_both * (1 - e->p_both) / n));
}

bool rb_plan_verify(const struct rb_plan *plan, int n, struct rb_buf *out, struct rb_err *err)
{
    struct rb_scenario scenario;
    struct sums sums = {0};
    if (!rb_scenario_init(&scenario, plan->job, plan->profile, plan->offers, plan->n_offers, plan->catalog,
                          plan->seed, err))
        return false;
    bool ok = run_worlds(&scenario, plan, n, &sums, err);
    rb_scenario_finish(&scenario);
    if (ok)
        write_scores(plan, &sums, n, out);
    return ok;
}
