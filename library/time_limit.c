#include "library/time_limit.h"

#include "base/clock.h"

#include <assert.h>

static double used(void *ctx)
{
    const struct rb_time_limit *l = ctx;
    return (double)(rb_clock_monotonic_us() - l->start_us) / (double)l->limit_us;
}

static bool is_up(void *ctx)
{
    return used(ctx) >= 1;
}

void rb_time_limit_start(struct rb_time_limit *limit, int64_t limit_us, struct rb_plan_request *req)
{
    assert(limit_us > 0);
    *limit = (struct rb_time_limit){rb_clock_monotonic_us(), limit_us};
    req->out_of_time = is_up;
    req->time_used = used;
    req->out_of_time_ctx = limit;
    req->time_limit_us = limit_us;
}
