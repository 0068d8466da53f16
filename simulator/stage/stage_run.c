#include "simulator/stage/stage_run.h"

#include "simulator/model/workspace.h"

#include <assert.h>

// Micro-dollars of one microsecond of one node: machine and disk.
static double rate_of(const struct rb_billing *b)
{
    return (double)rb_bill_uusd_per_hour(b) / ((double)RB_S_PER_HOUR * (double)RB_US_PER_S);
}

bool rb_stage_run(const struct rb_scenario *s, int stage, const struct rb_plan_stage *plan,
                  const struct rb_stage_runs *runs, struct rb_workspace *ws, double *out_time_us, double *out_cost_uusd,
                  struct rb_err *err)
{
    struct rb_program program;
    struct rb_replicate replicate;
    assert(runs->n_kept == 0 || stage > 0);
    if (!rb_program_compile_stage(s, stage, plan, &program, err))
        return false;
    const struct rb_billing *billing = &s->sim_offers[plan->nodes[0].offer].billing;
    const double rate = rate_of(billing),
                 per_new = (double)rb_bill_uusd_per_node(billing) + rate * (double)RB_US_PER_S / 2;
    ws->is_unbilled = true;
    ws->until_us = runs->until_us < RB_SIM_HORIZON_US ? runs->until_us : RB_SIM_HORIZON_US;
    ws->first_stage = stage;
    ws->n_inherited = runs->n_kept;
    ws->inherited_offer = plan->nodes[0].offer;
    for (int i = 0; i < runs->n; i++) {
        if (!rb_sim_run_from(ws, &program, (uint32_t)(runs->first + i), &replicate, err))
            return false;
        out_time_us[i] = (double)replicate.time_us;
        out_cost_uusd[i] = rate * (double)ws->node_us + per_new * ws->n_billed_new;
    }
    return true;
}
