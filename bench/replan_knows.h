// Re-planning that is given the true speed while the run goes on: what is still to be gained from knowing it earlier than
// the units of training show it.
#ifndef RB_BENCH_REPLAN_KNOWS_H
#define RB_BENCH_REPLAN_KNOWS_H

#include "executor/rehearsal/rehearsal.h"

// Two rehearsals (executor/rehearsal/rehearsal.h) that see the whole run. The one of `plan` decides while *knows is
// false, then the other one, whose profile is the true one. Everything is borrowed. `look` hears both.
struct rb_reactor *replan_knows_begin(const struct rb_plan *plan, const struct rb_profile *truth, const bool *knows,
                                      rb_rehearsal_look_fn *look, void *look_ctx);

#endif
