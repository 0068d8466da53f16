// Shared by policies that own one pool of nodes: the plan's first cluster, kept throughout and assigned in atoms of
// GPUs.
#ifndef RB_ENGINE_POLICIES_POOL_H
#define RB_ENGINE_POLICIES_POOL_H

#include "engine/core/policy.h"

// policy_options.atom, or the smallest size a trial may have if that is more.
int rb_atom_gpus(const struct rb_plan *plan);
int rb_size_of_atom(const struct rb_plan *plan, const struct rb_group *group); // a rb_policy.size
int rb_size_of_one(const struct rb_plan *plan, const struct rb_group *group);  // a rb_policy.size: 1 GPU

int rb_unclaimed_gpus(const struct rb_engine *e); // GPUs that no trial has or was promised

// The nodes of the plan's first stage, in every phase. reason: static text.
void rb_own_first_cluster(const struct rb_plan *plan, const char *reason, struct rb_allocation *out);

#endif
