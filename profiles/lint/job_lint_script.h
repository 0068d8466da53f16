// Compares a parameter of a job with the options of its script.
#ifndef RB_PROFILES_JOB_LINT_SCRIPT_H
#define RB_PROFILES_JOB_LINT_SCRIPT_H

#include "profiles/space/space.h"
#include "profiles/script/run_script.h"
#include "profiles/script/script.h"

// Why the script would end with an error when $RB_ARGS passes the parameter: "has no option --batch_size; ...", to be
// printed after its name. NULL: it accepts the parameter, or this is uncertain.
const char *rb_script_refuses(const struct rb_script *s, const struct rb_param *p, struct rb_arena *arena);

#endif
