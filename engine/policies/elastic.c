// Elastic: follows the plan stage by stage. Source: RubberBand (EuroSys'21), where the cluster changes size at
// barriers.
#include "engine/policies/policies.h"

static int size(const struct rb_plan *plan, const struct rb_group *group)
{
    return plan->stages[group->stage].gpus_per_trial;
}

static void cluster(const struct rb_plan *plan, int phase, struct rb_allocation *out)
{
    const struct rb_plan_stage *stage = &plan->stages[phase];
    *out = (struct rb_allocation){
        .nodes = stage->nodes,
        .n_nodes = stage->n_nodes,
        .early = stage->early,
        .n_early = stage->n_early,
        .reason = "the stage needs more nodes of this offer than are owned",
    };
}

const struct rb_policy rb_policy_elastic = {.name = "elastic", .size = size, .cluster = cluster};
