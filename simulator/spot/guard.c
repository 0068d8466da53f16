#include "simulator/spot/guard.h"

#include <math.h>

// Slack that is surely left when the guard is asked next, should everything go wrong until then.
static double slack_after(const struct rb_spot_guard *g, const struct rb_spot_now *now, enum rb_spot_mode action)
{
    const double start_s = action == now->mode ? 0 : g->start_s[action];
    switch (action) {
    case RB_SPOT_IDLE:
        return now->slack_s - now->ahead_s;
    case RB_SPOT_ON_SPOT:
        return now->slack_s - start_s - now->unsaved_s;
    case RB_SPOT_ON_DEMAND:
        return now->slack_s - start_s;
    }
    return -INFINITY;
}

// The least slack from which a run on demand ends in time: on demand already, none.
static double needed_s(const struct rb_spot_guard *g, enum rb_spot_mode action)
{
    return action == RB_SPOT_ON_DEMAND ? 0 : g->start_s[RB_SPOT_ON_DEMAND];
}

// Spent, what the action costs until it fails, and the rest on demand.
static double most_cost(const struct rb_spot_guard *g, const struct rb_spot_now *now, enum rb_spot_mode action)
{
    const double rest = g->rate[RB_SPOT_ON_DEMAND] * (now->work_s + needed_s(g, action));
    const double start_s = action == now->mode ? 0 : g->start_s[action];
    if (action == RB_SPOT_ON_SPOT)
        return now->spent + g->rate[RB_SPOT_ON_SPOT] * (start_s + now->ahead_s) +
               g->rate[RB_SPOT_ON_DEMAND] * now->unsaved_s + rest;
    return now->spent + rest + (action == RB_SPOT_ON_DEMAND ? g->rate[action] * start_s : 0);
}

bool rb_spot_guard_permits(const struct rb_spot_guard *g, const struct rb_spot_now *now, enum rb_spot_mode action)
{
    return slack_after(g, now, action) >= needed_s(g, action) && most_cost(g, now, action) <= g->budget;
}
