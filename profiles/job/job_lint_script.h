// One parameter of a job beside the options of the script that is given it.
#ifndef RB_PROFILES_JOB_LINT_SCRIPT_H
#define RB_PROFILES_JOB_LINT_SCRIPT_H

#include "profiles/job/space.h"
#include "profiles/script/run_script.h"
#include "profiles/script/script.h"

// Why the script ends with an error when it is given the parameter as $RB_ARGS does: "has no option --batch_size; ...", to stand
// behind its name. NULL: it takes it, or nothing is certain.
const char *rb_script_refuses(const struct rb_script *s, const struct rb_param *p, struct rb_arena *arena);

#endif
