#include "executor/controller/stand_in.h"

#include "executor/controller/placement_group.h"

#include <string.h>

// A placement group has one place and one machine type.
static bool stays_together(const struct rb_plan *plan, const struct rb_offer *a, const struct rb_offer *b)
{
    char group[RB_PLACEMENT_GROUP_BYTES];
    return !rb_placement_group(plan, "", a->infra, a->instance_type, group) ||
           (strcmp(a->infra, b->infra) == 0 && strcmp(a->instance_type, b->instance_type) == 0);
}

static bool can_replace(const struct rb_plan *plan, int offer, int other, bool same_type)
{
    const struct rb_offer *a = &plan->offers[offer], *b = &plan->offers[other];
    return other != offer && a->gpus == b->gpus && strcmp(a->accelerator, b->accelerator) == 0 &&
           (strcmp(a->instance_type, b->instance_type) == 0) == same_type && stays_together(plan, a, b);
}

int rb_stand_in(const struct rb_plan *plan, int offer, int k)
{
    if (k == 0)
        return offer;
    for (int same_type = 1; same_type >= 0; same_type--)
        for (int i = 0; i < plan->n_fallbacks; i++)
            if (can_replace(plan, offer, plan->fallbacks[i], same_type) && --k == 0)
                return plan->fallbacks[i];
    return -1;
}
