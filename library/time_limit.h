// The clock of a request with --time-limit. The planner reads no clock itself; its caller passes one. What counts is the time
// that the calling thread computes: on an idle machine that is the time that passes, on a busy one others' work is not charged.
#ifndef RB_LIBRARY_TIME_LIMIT_H
#define RB_LIBRARY_TIME_LIMIT_H

#include "base/clock.h"
#include "planner/search/planner.h"

struct rb_time_limit {
    struct rb_thread_clock clock;
    int64_t start_us, limit_us; // a limit above 0
};

// Starts now and counts the calling thread, which must make the plans. *limit must outlive the request.
void rb_time_limit_start(struct rb_time_limit *limit, int64_t limit_us, struct rb_plan_request *req);

#endif
