// Replays of a plan under resources.spot: safe: what a run costs and when it ends that follows the policy, one that is on
// demand throughout, and one that waits for spot whatever the deadline. All three meet the same markets and the same slow
// or fast stages, replay by replay; all nodes of a stage are lost and refused together. A stage in a reservation stays
// there under all three, as in a run, until that gives notice. On demand, a replay sees as little
// of the markets as a run does. Pure and deterministic.
#ifndef RB_SIMULATOR_PLAN_REPLAY_H
#define RB_SIMULATOR_PLAN_REPLAY_H

#include "simulator/spot/plan_spot.h"

enum { RB_PLAN_REPLAYS = 1024 };

// `s` is of the plan and has a policy. first: of RB_PLAN_REPLAYS replicates. out_estimate: of the run that follows the
// policy. It is the estimate of the plan as it stands plus the mean difference between both kinds of replays, in cost, time
// and probability; since markets change, the 95 % and 99 % of its cost reach at least as far as those on demand.
struct rb_plan_safe_spot rb_plan_replay(const struct rb_plan_spot *s, const struct rb_plan *plan, uint32_t first,
                                        struct rb_estimate *out_estimate);

#endif
