#include "simulator/sampler/table_runs.h"

#include "simulator/sampler/sampler.h"

#include <math.h>

bool rb_table_runs_apply(const struct rb_scenario *s, const struct rb_plan_stage *stages, int n_stages, int first_stage,
                         struct rb_sampler_tables *tables)
{
    for (int i = 0; i < n_stages; i++) {
        const struct rb_plan_stage *stage = &stages[i];
        if (stage->n_early > 1)
            return false;
        for (int k = 0; k < stage->n_nodes; k++) {
            const struct rb_sim_offer *o = &s->sim_offers[stage->nodes[k].offer];
            struct rb_trial_tables trial;
            double unit_s;
            if (!o->usable || rb_provisioning_may_lose(o->provisioning) ||
                !rb_scenario_unit_s(s, stage->nodes[k].offer, stage->gpus_per_trial, &unit_s, NULL) ||
                !rb_sampler_tables_of_trial(tables, s->profile, rb_scenario_rung_units(s, first_stage + i), unit_s,
                                            rb_scenario_draws_in_parts(s, stage->nodes[k].offer), &trial))
                return false;
        }
    }
    return true;
}

static struct rb_sampler *sampler_of(const struct rb_scenario *s, const struct rb_plan_stage *stages, int n_stages,
                                     int first_stage, int n_kept, int threads, struct rb_sampler_tables *tables,
                                     struct rb_err *err)
{
    struct rb_sampler_options opt = rb_sampler_defaults();
    opt.by_stage = true;
    opt.first_stage = first_stage;
    opt.n_inherited = n_kept;
    opt.threads = threads;
    opt.seed = s->seed;
    opt.tables = tables;
    return rb_sampler_create(s, stages, n_stages, &opt, err);
}

bool rb_table_runs_of_plan(const struct rb_scenario *s, const struct rb_plan_stage *stages, int n_stages,
                           const struct rb_table_runs *runs, struct rb_sampler_tables *tables, int64_t *out_time_us,
                           int64_t *out_cost_uusd, struct rb_err *err)
{
    struct rb_sampler *sampler = sampler_of(s, stages, n_stages, 0, 0, runs->threads, tables, err);
    if (!sampler)
        return false;
    RB_AUTO(rb_auto_free) double *drawn = rb_xrealloc(NULL, 2 * (size_t)runs->n, sizeof *drawn);
    rb_sampler_run(sampler, runs->first, runs->n, drawn, drawn + runs->n);
    rb_sampler_destroy(sampler);
    for (int i = 0; i < runs->n; i++) {
        out_time_us[i] = llrint(1e6 * drawn[i]);
        out_cost_uusd[i] = llrint(1e6 * drawn[runs->n + i]);
    }
    return true;
}

bool rb_table_runs_of_stage(const struct rb_scenario *s, int stage, const struct rb_plan_stage *plan, int n_kept,
                            const struct rb_table_runs *runs, struct rb_sampler_tables *tables, double *out_time_us,
                            double *out_cost_uusd, struct rb_err *err)
{
    const double per_hour = (double)rb_bill_uusd_per_hour(&s->sim_offers[plan->nodes[0].offer].billing);
    const double kept_uusd_per_us = n_kept * per_hour / ((double)RB_S_PER_HOUR * (double)RB_US_PER_S);
    struct rb_sampler *sampler = sampler_of(s, plan, 1, stage, n_kept, runs->threads, tables, err);
    if (!sampler)
        return false;
    const struct rb_sampler_runs out = {.time_s = out_time_us, .linear_usd = out_cost_uusd};
    rb_sampler_run_all(sampler, runs->first, runs->n, &out);
    rb_sampler_destroy(sampler);
    for (int i = 0; i < runs->n; i++) {
        out_time_us[i] *= 1e6;
        out_cost_uusd[i] = 1e6 * out_cost_uusd[i] + kept_uusd_per_us * out_time_us[i];
    }
    return true;
}
