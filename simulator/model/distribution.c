#include "simulator/model/distribution.h"

#include "base/order.h"
#include "simulator/model/evaluate.h"
#include "simulator/world/world_evaluate.h"

#include <stdlib.h>

#define DRAWS       20000000 // of all runs: about a second
#define WORLD_DRAWS 2000000  // the engine is slower
#define FEWEST_RUNS 256

static double draws_of_one(const struct rb_scenario *s)
{
    double n = 1;
    for (int i = 0; i < s->stages.n; i++) {
        const struct rb_rung *rung = &s->stages.rungs[i];
        n += rung->trials * ((double)rb_scenario_rung_units(s, i) + 2);
    }
    return n;
}

static int affordable_runs(const struct rb_scenario *s, bool by_engine, int asked)
{
    const double n = (by_engine ? WORLD_DRAWS : DRAWS) / draws_of_one(s);
    const int fewest = asked < FEWEST_RUNS ? asked : FEWEST_RUNS;
    return n > asked ? asked : n < fewest ? fewest : (int)n;
}

static bool run_engine(const struct rb_scenario *s, const struct rb_plan *plan, uint32_t first, int n, int threads,
                       int64_t *out_time_us, int64_t *out_cost_uusd, struct rb_err *err)
{
    const struct rb_world_runs runs = {.samples = n,
                                       .first = first,
                                       .threads = threads,
                                       .deadline_us = plan->deadline_us,
                                       .budget_uusd = plan->budget_uusd,
                                       .past_budget = !rb_plan_decides_while_it_runs(plan)};
    RB_AUTO(rb_auto_free) struct rb_world_result *results = rb_xcalloc((size_t)n, sizeof *results);
    if (!rb_world_replicates(s, plan, &runs, results, NULL, err))
        return false;
    for (int i = 0; i < n; i++) {
        out_time_us[i] = results[i].time_us;
        out_cost_uusd[i] = results[i].cost_uusd;
    }
    return true;
}

static void take_shares(int64_t *values, int n, int64_t *out)
{
    qsort(values, (size_t)n, sizeof *values, rb_order_int64s);
    for (int64_t k = 0; k < RB_DISTRIBUTION_SHARES; k++) {
        const int64_t at_or_below = (k * n + RB_DISTRIBUTION_SHARES - 2) / (RB_DISTRIBUTION_SHARES - 1); // rounded up
        out[k] = values[at_or_below > 0 ? at_or_below - 1 : 0];
    }
}

bool rb_distribution_make(const struct rb_scenario *s, const struct rb_plan *plan, uint32_t first, int runs,
                          int threads, struct rb_distribution *out, struct rb_err *err)
{
    const bool by_engine = rb_plan_is_by_engine(plan);
    const int n = rb_world_affordable_runs(plan, affordable_runs(s, by_engine, runs > 0 ? runs : 1));
    struct rb_evaluate_options opt = rb_evaluate_defaults();
    RB_AUTO(rb_auto_free) int64_t *values = rb_xcalloc(2 * (size_t)n, sizeof *values);
    opt.samples = n;
    opt.first = first;
    opt.threads = threads;
    if (!(by_engine ? run_engine(s, plan, first, n, threads, values, values + n, err)
                    : rb_evaluate_runs(s, plan->stages, plan->n_stages, &opt, values, values + n, err)))
        return false;
    out->n_runs = n;
    take_shares(values, n, out->time_us);
    take_shares(values + n, n, out->cost_uusd);
    return true;
}

static void write_values(const char *key, const int64_t *values, struct rb_json *j)
{
    rb_json_key(j, key);
    rb_json_begin_array(j);
    for (int i = 0; i < RB_DISTRIBUTION_SHARES; i++)
        rb_json_int(j, values[i]);
    rb_json_end_array(j);
}

void rb_distribution_write(const struct rb_distribution *d, struct rb_json *j)
{
    rb_json_begin_object(j);
    rb_json_kint(j, "runs", d->n_runs);
    rb_json_key(j, "shares");
    rb_json_begin_array(j);
    for (int i = 0; i < RB_DISTRIBUTION_SHARES; i++)
        rb_json_double(j, (double)i / (RB_DISTRIBUTION_SHARES - 1));
    rb_json_end_array(j);
    write_values("time_us", d->time_us, j);
    write_values("cost_uusd", d->cost_uusd, j);
    rb_json_end_object(j);
}
