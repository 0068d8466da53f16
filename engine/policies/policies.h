// Declares every policy; only policies.c refers to them by name.
#ifndef RB_ENGINE_POLICIES_POLICIES_H
#define RB_ENGINE_POLICIES_POLICIES_H

#include "engine/core/policy.h"

extern const struct rb_policy rb_policy_elastic, rb_policy_fluid, rb_policy_hypersched, rb_policy_lookahead, rb_policy_packing,
    rb_policy_shared, rb_policy_static;

#endif
