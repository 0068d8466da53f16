// Who gets how many GPUs and how many nodes to own. A policy looks at a group of trials (and at everything the engine
// knows) and answers; the engine turns the answer into requests, placements and releases.
// One policy is one file under policies/ and one line in policies.c.
#ifndef RB_ENGINE_POLICY_H
#define RB_ENGINE_POLICY_H

#include "engine/plan.h"
#include "engine/tuner.h"

struct rb_allocation {
    int gpus_per_trial;
    const struct rb_plan_nodes *nodes;  // what to own from now on, borrowed from the plan
    int n_nodes;
    const struct rb_plan_early *early;
    int n_early;
    const char *reason;                 // static text
};

struct rb_policy {
    const char *name;
    // A new group starts (for synchronous tuners: the barrier was passed). Pure function of its inputs.
    void (*on_group)(const struct rb_plan *plan, const struct rb_group *group, struct rb_allocation *out);
};

const struct rb_policy *rb_policy_find(const char *name); // NULL: unknown
extern const struct rb_policy *const rb_policies[];        // sorted by name, NULL-terminated

#endif
