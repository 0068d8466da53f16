#include "executor/launcher/save_interval.h"

#include "base/limits.h"
#include "base/text/units.h"

#include <math.h>

static int64_t planned_s(const struct rb_profile *profile, const struct rb_offer *offer)
{
    const struct rb_provisioning *p =
        rb_profile_provisioning(profile, offer->infra, offer->instance_type, offer->market);
    if (offer->market != RB_MARKET_SPOT || !p || !p->has_preemption || p->preemption_per_hour <= 0)
        return 0;
    const double s = sqrt(2 * rb_dist_mean(&profile->checkpoint_s) * 3600 / p->preemption_per_hour);
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
