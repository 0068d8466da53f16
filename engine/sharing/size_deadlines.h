// Computes the fewest nodes on which jobs with a deadline keep it, from the work they declared and the rates their
// models predict.
#ifndef RB_ENGINE_SHARING_SIZE_DEADLINES_H
#define RB_ENGINE_SHARING_SIZE_DEADLINES_H

#include "engine/sharing/autoscale.h"

// Every job with a deadline ahead gets the fewest GPUs that are fast enough, counted from when nodes requested now are
// ready at the latest (late_provision_us) and the job has moved; or its fastest allowed number; every other job gets
// the fewest it can use. 0: no job has a deadline far enough ahead.
int rb_size_for_deadlines(const struct rb_autoscale_view *view, const struct rb_autoscale_options *options);

#endif
