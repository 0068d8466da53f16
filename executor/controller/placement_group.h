// Decides which nodes of a run are placed close together: those of a type over which some stage spreads one trial.
// There is one group per machine type and place, named after the run, so that every launch of the run names the same
// one.
#ifndef RB_EXECUTOR_PLACEMENT_GROUP_H
#define RB_EXECUTOR_PLACEMENT_GROUP_H

#include "engine/plan/plan.h"

enum { RB_PLACEMENT_GROUP_BYTES = 256 }; // EC2: 255 characters

// Writes the group of a node of that type there; false: it may be placed anywhere. infra: "aws/us-east-1[/us-east-1a]".
bool rb_placement_group(const struct rb_plan *plan, const char *run_id, const char *infra, const char *instance_type,
                        char out[static RB_PLACEMENT_GROUP_BYTES]);
// Does any stage need one?
bool rb_placement_groups_wanted(const struct rb_plan *plan);

#endif
