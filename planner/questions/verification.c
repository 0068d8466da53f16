#include "planner/questions/verification.h"

#include "simulator/spot/plan_replay.h"
#include "simulator/world/world_evaluate.h"

#include <math.h>

#define FIRST_UNSEEN (UINT32_C(1) << 24) // after the replicates of any estimate, 1,000,000 at most

double rb_z_score(double stated, double seen, double variance, double tolerance)
{
    const double difference = stated - seen;
    if (variance > 0)
        return difference / sqrt(variance);
    return fabs(difference) <= tolerance ? 0 : copysign(INFINITY, difference);
}

// ---- shares

static double sampling_deviation(double error)
{
    return error / RB_SURE_SIGMA;
}

// One run is added to the variance: a share that few runs miss is skewed, and the normal approximation understates its
// spread.
static double share_variance(double p, int64_t n)
{
    return ((double)n * p * (1 - p) + 1) / ((double)n * (double)n);
}

static double share_z(double stated, double seen, int64_t n, double error)
{
    const double own = sampling_deviation(error);
    return rb_z_score(stated, seen, share_variance(stated, n) + own * own, 0);
}

// ---- quantiles

struct figure {
    const int64_t *runs; // [n]
    int n;
    int64_t tolerance;  // rounding: a run this close to a quantile counts on whichever side agrees better
    double level_error; // error of the estimate's quantiles, as a probability at 99.9 %; 0: they come from `samples`
                        // runs
    int64_t samples;
};

// The share of runs at or below x that is nearest to p: if many runs equal x, any share between is correct.
static double nearest_share(const struct figure *f, int64_t x, double p)
{
    int below = 0, up_to = 0;
    for (int i = 0; i < f->n; i++) {
        below += f->runs[i] < x - f->tolerance;
        up_to += f->runs[i] <= x + f->tolerance;
    }
    return fmin(fmax(p, (double)below / f->n), (double)up_to / f->n);
}

static double quantile_z(const struct figure *f, int64_t x, double p)
{
    const double own = f->level_error > 0 ? sampling_deviation(f->level_error) : sqrt(p * (1 - p) / (double)f->samples);
    return rb_z_score(nearest_share(f, x, p), p, share_variance(p, f->n) + own * own, 0);
}

static struct rb_verified compare(const struct figure *f, const struct rb_quantiles *stated, int64_t stated_error,
                                  int64_t seen, int64_t seen_stderr)
{
    const double own = sampling_deviation((double)stated_error);
    return (struct rb_verified){
        .mean = rb_z_score((double)stated->mean, (double)seen, own * own + (double)seen_stderr * (double)seen_stderr,
                           (double)f->tolerance),
        .p5 = quantile_z(f, stated->p5, 0.05),
        .p50 = quantile_z(f, stated->p50, 0.50),
        .p95 = quantile_z(f, stated->p95, 0.95),
        .p99 = quantile_z(f, stated->p99, 0.99),
    };
}

// ---- the whole

// The simulation rounds every node's bill up to the micro-dollar; the sampler does not.
static int64_t bills(const struct rb_plan_stage *stages, int n_stages)
{
    int64_t n = 0;
    for (int i = 0; i < n_stages; i++) {
        for (int k = 0; k < stages[i].n_nodes; k++)
            n += stages[i].nodes[k].count;
    }
    return n;
}

static void fill(const struct rb_estimate *e, const struct figure *time, const struct figure *cost,
                 struct rb_verification *v)
{
    const struct rb_estimate *seen = &v->simulated;
    const int n = time->n;
    v->time_z = compare(time, &e->time_us, e->error.time_mean_us, seen->time_us.mean, seen->stderr_.time_mean_us);
    v->cost_z =
        compare(cost, &e->cost_uusd, e->error.cost_mean_uusd, seen->cost_uusd.mean, seen->stderr_.cost_mean_uusd);
    v->p_deadline_z = share_z(e->p_deadline, seen->p_deadline, n, e->error.p_deadline);
    v->p_budget_z = share_z(e->p_budget, seen->p_budget, n, e->error.p_budget);
    v->p_both_z = share_z(e->p_both, seen->p_both, n, e->error.p_both);
}

// Compares with runs that were counted as `seen`.
static void verify_by(const int64_t *time_us, const int64_t *cost_uusd, const struct rb_estimate *seen,
                      const struct rb_plan_stage *stages, int n_stages, const struct rb_estimate *estimate,
                      struct rb_verification *out)
{
    const bool by_laws = estimate->time_method == RB_ESTIMATE_LAWS;
    const int n = (int)seen->samples;
    const struct figure time = {time_us, n, 1, by_laws ? fmax(estimate->error.p_deadline, 1e-9) : 0, estimate->samples};
    const struct figure cost = {cost_uusd, n, bills(stages, n_stages), 0, estimate->samples};
    struct rb_verification v = {.samples = n, .simulated = *seen};
    fill(estimate, &time, &cost, &v);
    *out = v;
}

bool rb_verify(const struct rb_scenario *s, const struct rb_plan_stage *stages, int n_stages,
               const struct rb_estimate *estimate, int64_t deadline_us, int64_t budget_uusd, int samples, int threads,
               struct rb_verification *out, struct rb_err *err)
{
    const struct rb_evaluate_options opt = {.samples = samples, .threads = threads, .first = FIRST_UNSEEN};
    const size_t n = (size_t)samples;
    RB_AUTO(rb_auto_free) int64_t *time_us = rb_xcalloc(2 * n, sizeof *time_us);
    int64_t *cost_uusd = time_us + n;
    if (!rb_evaluate_runs(s, stages, n_stages, &opt, time_us, cost_uusd, err))
        return false;
    const struct rb_estimate seen = rb_estimate_of_runs(time_us, cost_uusd, samples, deadline_us, budget_uusd);
    verify_by(time_us, cost_uusd, &seen, stages, n_stages, estimate, out);
    return true;
}

bool rb_verify_by_engine(const struct rb_scenario *s, const struct rb_plan *plan, int samples, int threads,
                         struct rb_verification *out, struct rb_err *err)
{
    const size_t n = (size_t)samples;
    const struct rb_world_runs runs = {.samples = samples,
                                       .first = FIRST_UNSEEN,
                                       .threads = threads,
                                       .deadline_us = plan->deadline_us,
                                       .budget_uusd = plan->budget_uusd,
                                       .past_budget = !rb_plan_decides_while_it_runs(plan)};
    RB_AUTO(rb_auto_free) struct rb_world_result *results = rb_xcalloc(n, sizeof *results);
    RB_AUTO(rb_auto_free) int64_t *time_us = rb_xcalloc(2 * n, sizeof *time_us);
    int64_t *cost_uusd = time_us + n;
    if (!rb_world_replicates(s, plan, &runs, results, NULL, err))
        return false;
    for (size_t i = 0; i < n; i++) {
        time_us[i] = results[i].time_us;
        cost_uusd[i] = results[i].cost_uusd;
    }
    const struct rb_estimate seen = rb_world_estimate(results, samples, plan->deadline_us, plan->budget_uusd);
    verify_by(time_us, cost_uusd, &seen, plan->stages, plan->n_stages, rb_plan_as_it_stands(plan), out);
    return true;
}

// ---- a run with spot machines

static double mean_difference_z(int64_t stated, int64_t stated_stderr, int64_t seen, int64_t seen_stderr)
{
    return rb_z_score((double)stated, (double)seen,
                      (double)stated_stderr * (double)stated_stderr + (double)seen_stderr * (double)seen_stderr, 1);
}

static void compare_runs(const struct rb_estimate *stated, struct rb_verified_spot *io)
{
    const struct rb_estimate *seen = &io->replayed;
    io->time_z = mean_difference_z(stated->time_us.mean, stated->stderr_.time_mean_us, seen->time_us.mean,
                                   seen->stderr_.time_mean_us);
    io->cost_z = mean_difference_z(stated->cost_uusd.mean, stated->stderr_.cost_mean_uusd, seen->cost_uusd.mean,
                                   seen->stderr_.cost_mean_uusd);
    io->p_both_z = rb_z_score(stated->p_both, seen->p_both, 2 * share_variance(stated->p_both, RB_PLAN_REPLAYS), 0);
}

bool rb_verify_spot(const struct rb_plan *plan, struct rb_verified_spot *out)
{
    struct rb_plan_spot markets;
    if (!plan->spot || plan->deadline_us < 0 || rb_plan_spot_offer(plan) < 0)
        return false;
    rb_plan_spot_init(&markets, plan);
    const bool known = markets.policy != NULL;
    if (known) {
        rb_plan_replay(&markets, plan, 2 * RB_PLAN_REPLAYS, &out->replayed); // after those of the choice and of the price
        compare_runs(&plan->estimate, out);
    }
    rb_plan_spot_finish(&markets);
    return known;
}
