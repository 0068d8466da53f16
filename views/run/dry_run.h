// rbrun --dry-run: the plan through the same engine, in virtual time.
#ifndef RB_VIEWS_DRY_RUN_H
#define RB_VIEWS_DRY_RUN_H

#include "commands/rbrun/rbrun.h"

bool rb_run_dry(const struct rb_plan *plan, const struct rb_args *args, struct rb_err *err);

#endif
