// Before tables are filled: finds a plan from a few replicates of every choice, and drops the choices that no better
// plan would use. Not done if other deadlines will be asked for, whose plans may be more expensive.
#ifndef RB_PLANNER_GLANCE_H
#define RB_PLANNER_GLANCE_H

#include "planner/request/options.h"

#define RB_GLANCE_SAMPLES 16 // error of a mean: about a quarter

// Requires that all choices are listed and none is sampled. Sets to_beat, found and plan.
bool rb_glance(struct rb_options *o, struct rb_err *err);
// Given a plan, other plans have to keep the deadline. Choices are sampled only up to n_deadlines times the deadline,
// and choices that are late on their own are not sampled.
void rb_glance_limit(const struct rb_options *o, struct rb_stage_samples *samples, int n_deadlines);
// Drops choices again. Requires that all are sampled with none and with all of their nodes inherited.
void rb_glance_again(struct rb_options *o);

#endif
