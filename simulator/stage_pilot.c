#include "simulator/stage_pilot.h"

#include <math.h>
#include <stdlib.h>

#define BOOT_S     1e4 // of the trial that runs until nodes are ready; two hours and more
#define STAGE_SALT UINT64_C(0x9e3779b97f4a7c15)

// Nodes are ready at a stage's start where the stage before was long: one trial on one GPU.
static bool boot_stage(const struct rb_scenario *s, const struct rb_plan_nodes *kept, struct rb_plan_stage *out,
                       struct rb_err *err)
{
    double unit_s;
    if (!rb_scenario_unit_s(s, kept->offer, 1, &unit_s, err))
        return false;
    *out = (struct rb_plan_stage){
        .trials = 1,
        .resource_end = 1 + (int64_t)fmin(BOOT_S / unit_s, (double)RB_LIMIT_RESOURCE - 1),
        .gpus_per_trial = 1,
        .trials_per_gpu = 1,
        .nodes = kept,
        .n_nodes = 1,
    };
    return true;
}

static bool run(const struct rb_scenario *s, const struct rb_plan_stage *stages, int n_stages,
                const struct rb_sampler_options *opt, int n, double *out_s, struct rb_err *err)
{
    struct rb_sampler *sampler = rb_sampler_create(s, stages, n_stages, opt, err);
    if (!sampler)
        return false;
    rb_sampler_run(sampler, 0, n, out_s, NULL);
    rb_sampler_destroy(sampler);
    return true;
}

bool rb_stage_pilot(const struct rb_scenario *s, int stage, const struct rb_plan_stage *plan, int n_kept,
                    struct rb_sampler_tables *tables, int n, double *out_s, struct rb_err *err)
{
    struct rb_sampler_options opt = rb_sampler_defaults();
    opt.tables = tables;
    opt.seed = s->seed ^ (STAGE_SALT * (uint64_t)(stage + 1));
    if (n_kept == 0)
        return run(s, plan, 1, &opt, n, out_s, err);
    const struct rb_plan_nodes kept = {plan->nodes[0].offer, n_kept};
    struct rb_plan_stage stages[2];
    if (!boot_stage(s, &kept, &stages[0], err))
        return false;
    stages[1] = *plan;
    RB_AUTO(rb_auto_free) double *boot_s = rb_xcalloc((size_t)n, sizeof *boot_s);
    // Replicates of one number share their draws, so the boot's time is taken off exactly.
    if (!run(s, stages, 1, &opt, n, boot_s, err) || !run(s, stages, 2, &opt, n, out_s, err))
        return false;
    for (int i = 0; i < n; i++)
        out_s[i] -= boot_s[i];
    return true;
}
