// rbplan --verify N: do unseen runs of the plan, and the engine in virtual time, agree with the estimate?
#include "commands/rbplan/rbplan.h"

#include "planner/questions/verification.h"
#include "simulator/world/world.h"
#include "simulator/world/world_evaluate.h"
#include "views/tables/verification_table.h"

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
    // Replicates that the estimate has not used, and no stop at the deadline: the whole distribution is compared.
    struct rb_world_options opt = {.deadline_us = -1, .budget_uusd = -1};
    *out = (struct worlds){.n = n};
    for (int i = 0; i < n; i++) {
        struct rb_world_result r;
        opt.replicate = (uint32_t)(rb_plan_as_it_stands(plan)->samples + i);
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
        rb_verification_write(&verification, plan, out);
        if (plan->job->resources.spot == RB_SPOT_SAFE)
            rb_verified_spot_write(NULL, out);
        return true;
    }
    if (!rb_verify(s, plan->stages, plan->n_stages, rb_plan_as_it_stands(plan), plan->deadline_us, plan->budget_uusd, n, threads,
                   &verification, err) ||
        !run_worlds(s, plan, n < MOST_WORLDS ? n : MOST_WORLDS, &worlds, err))
        return false;
    rb_verification_write(&verification, plan, out);
    write_worlds(&worlds, rb_plan_as_it_stands(plan), out);
    if (plan->job->resources.spot == RB_SPOT_SAFE) {
        struct rb_verified_spot spot;
        rb_verified_spot_write(rb_verify_spot(plan, &spot) ? &spot : NULL, out);
    }
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
