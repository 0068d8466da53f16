#include "engine/policies/pool.h"

#include "engine/core/engine.h"

int rb_atom_gpus(const struct rb_plan *plan)
{
    const int gpus = plan->job->policy_options.atom_gpus, smallest = plan->job->trial.sizes[0];
    return gpus > smallest ? gpus : smallest;
}

int rb_size_of_atom(const struct rb_plan *plan, const struct rb_group *group)
{
    (void)group;
    return rb_atom_gpus(plan);
}

int rb_size_of_one(const struct rb_plan *plan, const struct rb_group *group)
{
    (void)plan;
    (void)group;
    return 1;
}

int rb_unclaimed_gpus(const struct rb_engine *e)
{
    return rb_engine_n_gpus(e) - rb_engine_claimed_gpus(e);
}

void rb_own_first_cluster(const struct rb_plan *plan, const char *reason, struct rb_allocation *out)
{
    *out = (struct rb_allocation){
        .nodes = plan->stages[0].nodes,
        .n_nodes = plan->stages[0].n_nodes,
        .reason = reason,
    };
}
