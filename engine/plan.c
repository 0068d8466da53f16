#include "engine/plan.h"

#include <assert.h>

int rb_plan_stage_gpus_per_node(const struct rb_plan *plan, const struct rb_plan_stage *stage)
{
    assert(stage->n_nodes > 0);
    return plan->offers[stage->nodes[0].offer].gpus;
}

int rb_plan_stage_node_count(const struct rb_plan_stage *stage)
{
    int n = 0;
    for (int i = 0; i < stage->n_nodes; i++)
        n += stage->nodes[i].count;
    return n;
}
