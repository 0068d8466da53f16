// Chooses between spot and on demand for the nodes of a run under resources.spot: safe. The guard (simulator/spot/guard.h)
// reckons from the run as it is: the latest of RB_SPOT_RUNS predicted ends, all on demand from now on, must leave time
// for a loss and another cold start. Within its bounds the policy (simulator/spot/spot_policy.h) decides, where the
// profile has the spells of every spot market that the plan names, also whether a node on demand goes back to spot;
// elsewhere a node is on spot whenever the guard permits that, and one on demand stays there.
//
// It predicts when it is asked, in the calling thread: RB_SPOT_RUNS runs of the virtual world, once for all nodes that
// are asked about at the same instant.
#ifndef RB_EXECUTOR_SPOT_CHOICE_H
#define RB_EXECUTOR_SPOT_CHOICE_H

#include "executor/controller/node_chooser.h"

struct rb_plan;
struct rb_spot_choice;

enum { RB_SPOT_RUNS = 64 }; // their latest is about the 98 % quantile; a higher confidence goes beyond it, by their spread

// unseen_s: how long a node may be gone before its loss is seen, part of what a loss costs. NULL: the job does not ask
// for it, the plan has no deadline, or no spot offer stands in. The plan must outlive it.
struct rb_spot_choice *rb_spot_choice_create(const struct rb_plan *plan, double unseen_s);
void rb_spot_choice_destroy(struct rb_spot_choice *c); // NULL is allowed
const struct rb_node_chooser *rb_spot_choice_chooser(const struct rb_spot_choice *c);

#endif
