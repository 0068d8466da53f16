// Before tables are filled: a few replicates of every choice find a plan, and what no better plan would choose is left out. Not
// where other deadlines will be asked for, whose plans may be dearer.
#ifndef RB_PLANNER_GLANCE_H
#define RB_PLANNER_GLANCE_H

#include "planner/request/options.h"

#define RB_GLANCE_SAMPLES 16 // a mean within a fourth or so

// All choices are listed and none is sampled. Sets to_beat, found and plan.
bool rb_glance(struct rb_options *o, struct rb_err *err);
// Where there is a plan, others have to keep the deadline: samples of choices are made for so many deadlines, and not at all of
// those that are late on their own.
void rb_glance_limit(const struct rb_options *o, struct rb_stage_samples *samples, int n_deadlines);
// All choices are sampled with none and all of their nodes inherited.
void rb_glance_again(struct rb_options *o);

#endif
