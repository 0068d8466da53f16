// The clock of a request with --time-limit. The planner reads no clock itself; its caller passes one.
#ifndef RB_LIBRARY_TIME_LIMIT_H
#define RB_LIBRARY_TIME_LIMIT_H

#include "planner/search/planner.h"

struct rb_time_limit {
    int64_t start_us, limit_us; // monotonic; a limit above 0
};

// Starts now. *limit must outlive the request.
void rb_time_limit_start(struct rb_time_limit *limit, int64_t limit_us, struct rb_plan_request *req);

#endif
