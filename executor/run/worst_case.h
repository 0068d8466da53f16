// The most that nodes can still cost, before their own switches end them, if this process and this machine never come
// back.
#ifndef RB_EXECUTOR_WORST_CASE_H
#define RB_EXECUTOR_WORST_CASE_H

#include "engine/plan/plan.h"

// life_us: how long a node lives after its last heartbeat.
bool rb_run_worst_case(const struct rb_plan *plan, int64_t life_us, int64_t *out_uusd, struct rb_err *err);

#endif
