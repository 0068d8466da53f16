// Computes the fewest nodes on which jobs with a deadline keep it, by the work they declared and the rates their models
// predict.
#ifndef RB_ENGINE_SHARING_SIZE_DEADLINES_H
#define RB_ENGINE_SHARING_SIZE_DEADLINES_H

#include "engine/sharing/autoscale.h"

// Every job with a deadline ahead gets the fewest GPUs that are fast enough from when nodes asked for now are there, at the
// latest (late_provision_us), and it was moved, or the fastest it may be asked for; every other job the fewest it can use. 0: no job
// has a deadline that lies far enough ahead.
int rb_size_for_deadlines(const struct rb_autoscale_view *view, const struct rb_autoscale_options *options);

#endif
