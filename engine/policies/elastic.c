// Elastic: the plan is followed stage by stage. Source: RubberBand (EuroSys'21), the cluster changes size at barriers.
#include "engine/policies/policies.h"

static void on_group(const struct rb_plan *plan, const struct rb_group *group, struct rb_allocation *out)
{
    const struct rb_plan_stage *stage = &plan->stages[group->stage];
    *out = (struct rb_allocation){
        .gpus_per_trial = stage->gpus_per_trial,
        .nodes = stage->nodes,
        .n_nodes = stage->n_nodes,
        .early = stage->early,
        .n_early = stage->n_early,
        .reason = "the stage lists more nodes of this offer than are owned",
    };
}

const struct rb_policy rb_policy_elastic = {.name = "elastic", .on_group = on_group};
