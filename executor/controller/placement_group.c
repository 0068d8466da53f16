#include "executor/controller/placement_group.h"

#include <stdio.h>
#include <string.h>

static bool spans_nodes(const struct rb_plan *plan, const struct rb_plan_stage *s)
{
    return s->n_nodes > 0 && s->gpus_per_trial > rb_plan_stage_gpus_per_node(plan, s);
}

// NULL: any type. All nodes of a stage are of one type.
static bool is_spanned(const struct rb_plan *plan, const char *instance_type)
{
    for (int i = 0; i < plan->n_stages; i++) {
        const struct rb_plan_stage *s = &plan->stages[i];
        if (spans_nodes(plan, s) &&
            (!instance_type || strcmp(plan->offers[s->nodes[0].offer].instance_type, instance_type) == 0))
            return true;
    }
    return false;
}

bool rb_placement_groups_wanted(const struct rb_plan *plan)
{
    return is_spanned(plan, NULL);
}

bool rb_placement_group(const struct rb_plan *plan, const char *run_id, const char *infra, const char *instance_type,
                        char out[static RB_PLACEMENT_GROUP_BYTES])
{
    const char *region = strchr(infra, '/'), *zone = region ? strchr(region + 1, '/') : NULL;
    if (!is_spanned(plan, instance_type))
        return false;
    const int n = snprintf(out, RB_PLACEMENT_GROUP_BYTES, "rb-%s-%s%s%s", run_id, instance_type, zone ? "-" : "",
                           zone ? zone + 1 : "");
    return n < RB_PLACEMENT_GROUP_BYTES;
}
