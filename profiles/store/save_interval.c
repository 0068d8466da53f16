#include "profiles/store/save_interval.h"

#include "base/limits.h"
#include "base/text/units.h"

#include <math.h>

// One interval for all ages: of what a node is lost by in its first hours. Intervals by age gain next to nothing.
#define FIRST_S (4.0 * RB_S_PER_HOUR)

static int64_t planned_s(const struct rb_profile *profile, const struct rb_offer *offer)
{
    const struct rb_provisioning *p =
        profile ? rb_profile_provisioning(profile, offer->infra, offer->instance_type, offer->market) : NULL;
    if (offer->market != RB_MARKET_SPOT || !p || !rb_provisioning_may_lose(p))
        return 0;
    const struct rb_hazard hazard = rb_provisioning_hazard(p);
    const double per_s = rb_hazard_over(&hazard, 0, FIRST_S) / FIRST_S;
    const double s = sqrt(2 * rb_dist_mean(&profile->checkpoint_s) / per_s);
    return s > RB_SAVE_INTERVAL_LEAST_S ? (int64_t)fmin(nearbyint(s), RB_LIMIT_DURATION_S) : RB_SAVE_INTERVAL_LEAST_S;
}

int64_t rb_save_interval_s(const struct rb_job *job, const struct rb_profile *profile, const struct rb_offer *offer)
{
    if (job->starts_over)
        return 0;
    if (job->checkpoint_every_us == RB_CHECKPOINT_EVERY_AUTO)
        return planned_s(profile, offer);
    return (job->checkpoint_every_us + RB_US_PER_S - 1) / RB_US_PER_S;
}
