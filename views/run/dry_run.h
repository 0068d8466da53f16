// rbrun --dry-run: runs the plan through the same engine, in virtual time.
#ifndef RB_VIEWS_DRY_RUN_H
#define RB_VIEWS_DRY_RUN_H

#include "engine/plan/plan.h"

// Prints the events and the result. replicate: which of the simulated runs.
bool rb_run_dry(const struct rb_plan *plan, uint32_t replicate, bool json, struct rb_err *err);

#endif
