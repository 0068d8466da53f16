#include "simulator/stage/stage_pilot.h"

#define STAGE_SALT UINT64_C(0x9e3779b97f4a7c15)

bool rb_stage_pilot(const struct rb_scenario *s, int stage, const struct rb_plan_stage *plan, int n_kept,
                    struct rb_sampler_tables *tables, int n, double *out_s, struct rb_err *err)
{
    struct rb_sampler_options opt = rb_sampler_defaults();
    opt.tables = tables;
    opt.n_inherited = n_kept;
    opt.seed = s->seed ^ (STAGE_SALT * (uint64_t)(stage + 1));
    struct rb_sampler *sampler = rb_sampler_create(s, plan, 1, &opt, err);
    if (!sampler)
        return false;
    rb_sampler_run(sampler, 0, n, out_s, NULL);
    rb_sampler_destroy(sampler);
    return true;
}
