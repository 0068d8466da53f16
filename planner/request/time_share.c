#include "planner/request/time_share.h"

// A share that starts after its end is already used up.
static double share_used(void *ctx)
{
    const struct rb_time_share *share = ctx;
    const double used = share->of->time_used(share->of->out_of_time_ctx);
    return share->until > share->from ? (used - share->from) / (share->until - share->from) : 1;
}

static bool share_is_over(void *ctx)
{
    return share_used(ctx) >= 1;
}

void rb_time_share_begin(struct rb_time_share *share, const struct rb_plan_request *of, double until,
                         struct rb_plan_request *io)
{
    if (!of->time_used)
        return;
    *share = (struct rb_time_share){.of = of, .from = of->time_used(of->out_of_time_ctx), .until = until};
    io->out_of_time = share_is_over;
    io->time_used = share_used;
    io->out_of_time_ctx = share;
    io->time_limit_us = (int64_t)((double)of->time_limit_us * (until > share->from ? until - share->from : 0));
    if (io->time_limit_us < 1)
        io->time_limit_us = 1; // 0 is no limit
}
