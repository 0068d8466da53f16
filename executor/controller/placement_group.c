#include "executor/controller/placement_group.h"

#include <stdio.h>
#include <string.h>

bool rb_placement_groups_wanted(const struct rb_plan *plan)
{
    return rb_plan_spreads_trials(plan, NULL);
}

bool rb_placement_group(const struct rb_plan *plan, const char *run_id, const char *infra, const char *instance_type,
                        char out[static RB_PLACEMENT_GROUP_BYTES])
{
    const char *region = strchr(infra, '/'), *zone = region ? strchr(region + 1, '/') : NULL;
    if (!rb_plan_spreads_trials(plan, instance_type))
        return false;
    const int n = snprintf(out, RB_PLACEMENT_GROUP_BYTES, "rb-%s-%s%s%s", run_id, instance_type, zone ? "-" : "",
                           zone ? zone + 1 : "");
    return n < RB_PLACEMENT_GROUP_BYTES;
}
