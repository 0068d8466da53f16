#include "engine/policies/policies.h"

#include <stddef.h>
#include <string.h>

const struct rb_policy *const rb_policies[] = {
    &rb_policy_elastic, &rb_policy_fluid,  &rb_policy_hypersched, &rb_policy_lookahead,
    &rb_policy_packing, &rb_policy_shared, &rb_policy_static,     NULL};

const struct rb_policy *rb_policy_find(const char *name)
{
    for (int i = 0; rb_policies[i]; i++) {
        if (strcmp(rb_policies[i]->name, name) == 0)
            return rb_policies[i];
    }
    return NULL;
}

const struct rb_policy *rb_policy_find_alone(const char *name)
{
    const struct rb_policy *policy = rb_policy_find(name);
    return policy && !policy->on_lent_gpus ? policy : NULL;
}
