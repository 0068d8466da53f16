#include "library/time_limit.h"

#include <assert.h>

static double used(void *ctx)
{
    const struct rb_time_limit *l = ctx;
    return (double)(rb_thread_clock_us(&l->clock) - l->start_us) / (double)l->limit_us;
}

static bool is_up(void *ctx)
{
    return used(ctx) >= 1;
}

void rb_time_limit_start(struct rb_time_limit *limit, int64_t limit_us, struct rb_plan_request *req)
{
    assert(limit_us > 0);
    *limit = (struct rb_time_limit){.clock = rb_thread_clock_of_caller(), .limit_us = limit_us};
    limit->start_us = rb_thread_clock_us(&limit->clock);
    req->out_of_time = is_up;
    req->time_used = used;
    req->out_of_time_ctx = limit;
    req->time_limit_us = limit_us;
}
