#include "planner/search/aim.h"

#include "base/order.h"

#include <math.h>
#include <stdlib.h>

#define GAIN 1e-13 // a smaller relative gain is rounding, not progress

static double to_beat(const struct rb_aim *aim)
{
    return isinf(aim->best) ? aim->best : aim->best - GAIN * fabs(aim->best);
}

static double mean_of(const double *values, int n)
{
    double sum = 0;
    for (int r = 0; r < n; r++)
        sum += values[r];
    return sum / n;
}

static int count_within(const struct rb_aim *aim, const double *time_us, const double *cost_uusd, int n,
                        double time_limit, double cost_limit)
{
    int count = 0;
    if (aim->on_average)
        return mean_of(time_us, n) <= time_limit ? n : 0;
    for (int r = 0; r < n; r++)
        count += (time_us[r] <= time_limit) & (cost_uusd[r] <= cost_limit);
    return count;
}

bool rb_aim_may_beat(const struct rb_aim *aim, const double *time_us, const double *cost_uusd, int n, double objective)
{
    double time_limit = aim->time_limit_us, cost_limit = aim->cost_limit_uusd;
    int need = aim->need;
    switch (aim->kind) {
    case RB_AIM_OBJECTIVE:
        if (objective >= to_beat(aim))
            return false;
        break;
    case RB_AIM_DEADLINE:
        time_limit = to_beat(aim);
        break;
    case RB_AIM_BUDGET:
        cost_limit = to_beat(aim);
        break;
    case RB_AIM_CONFIDENCE:
        need = isinf(aim->best) ? 1 : (int)-aim->best + 1;
        break;
    }
    return count_within(aim, time_us, cost_uusd, n, time_limit, cost_limit) >= need;
}

static double need_th_smallest(const double *values, const double *others, double other_limit, int n, int need,
                               double *scratch)
{
    int kept = 0;
    for (int r = 0; r < n; r++) {
        if (others[r] <= other_limit)
            scratch[kept++] = values[r];
    }
    if (kept < need || need == 0)
        return INFINITY;
    qsort(scratch, (size_t)kept, sizeof *scratch, rb_order_doubles);
    return scratch[need - 1];
}

double rb_aim_value(const struct rb_aim *aim, const double *time_us, const double *cost_uusd, int n, double objective,
                    double *scratch)
{
    int within;
    switch (aim->kind) {
    case RB_AIM_OBJECTIVE:
        within = count_within(aim, time_us, cost_uusd, n, aim->time_limit_us, aim->cost_limit_uusd);
        return within >= aim->need ? objective : INFINITY;
    case RB_AIM_DEADLINE:
        if (aim->on_average)
            return mean_of(time_us, n);
        return need_th_smallest(time_us, cost_uusd, aim->cost_limit_uusd, n, aim->need, scratch);
    case RB_AIM_BUDGET:
        return need_th_smallest(cost_uusd, time_us, aim->time_limit_us, n, aim->need, scratch);
    case RB_AIM_CONFIDENCE:
        within = count_within(aim, time_us, cost_uusd, n, aim->time_limit_us, aim->cost_limit_uusd);
        return within > 0 ? -(double)within : INFINITY;
    }
    return INFINITY;
}
