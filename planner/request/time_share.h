// A part of a request's time limit as a limit of its own. Phases of one plan, deadlines of a frontier and scenarios of
// a what-if share one clock, and each ends in time for the next.
#ifndef RB_PLANNER_TIME_SHARE_H
#define RB_PLANNER_TIME_SHARE_H

#include "planner/search/planner.h"

struct rb_time_share {
    const struct rb_plan_request *of; // has the clock
    double from, until;               // of its limit
};

// Replaces io's clock by that of the share; `until` may be moved later. Without a clock nothing changes. The share must
// outlive io.
void rb_time_share_begin(struct rb_time_share *share, const struct rb_plan_request *of, double until,
                         struct rb_plan_request *io);

#endif
