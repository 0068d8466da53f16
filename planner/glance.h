// Before tables are filled: a few replicates of every choice find a plan, and what no better plan would choose is left out. Not
// where other deadlines will be asked for, whose plans may be dearer.
#ifndef RB_PLANNER_GLANCE_H
#define RB_PLANNER_GLANCE_H

#include "planner/options.h"

// All choices are listed and none is sampled. Sets to_beat, found and plan.
bool rb_glance(struct rb_options *o, struct rb_err *err);
// All choices are sampled with none and all of their nodes inherited.
void rb_glance_again(struct rb_options *o);

#endif
