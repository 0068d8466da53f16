#include "simulator/laws/trial_law.h"

#include <assert.h>
#include <math.h>

// ---- one trial

// Families closed under sums of independent copies. A truncated normal is one as long as nothing is cut off.
static bool sum_in_family(const struct rb_dist *d, int64_t k, struct rb_dist *out)
{
    struct rb_dist sum = *d;
    const bool nothing_cut = d->kind == RB_DIST_NORMAL && d->b < 1e-16;
    if (k == 1 || !(rb_dist_variance(d) > 0)) {
        if (k > 1)
            sum = rb_dist_constant(rb_dist_mean(d) * (double)k);
    } else if (d->kind == RB_DIST_GAMMA || d->kind == RB_DIST_EXPONENTIAL || nothing_cut) {
        sum.kind = nothing_cut ? RB_DIST_NORMAL : RB_DIST_GAMMA;
        sum.mean = d->mean * (double)k;
        sum.cv = d->cv / sqrt((double)k);
        if (!rb_dist_prepare(&sum, NULL)) // beyond the largest mean
            return false;
    } else {
        return false;
    }
    *out = sum;
    return true;
}

static bool product_in_family(const struct rb_dist *a, const struct rb_dist *b, struct rb_dist *out)
{
    if (a->kind != RB_DIST_LOGNORMAL || b->kind != RB_DIST_LOGNORMAL || !(a->cv > 0 && b->cv > 0))
        return false;
    struct rb_dist product = {.kind = RB_DIST_LOGNORMAL, .mean = a->mean * b->mean};
    product.cv = sqrt((1 + a->cv * a->cv) * (1 + b->cv * b->cv) - 1);
    if (!rb_dist_prepare(&product, NULL))
        return false;
    *out = product;
    return true;
}

struct rb_law rb_within_law(const struct rb_profile *p, int64_t units, struct rb_arena *arena)
{
    struct rb_dist sum;
    assert(units >= 1);
    if (sum_in_family(&p->within, units, &sum))
        return rb_law_of_dist(&sum, arena);
    const struct rb_law one = rb_law_of_dist(&p->within, arena);
    return rb_law_sum_of(&one, units, arena);
}

struct rb_law rb_work_law(const struct rb_profile *p, int64_t units, struct rb_arena *arena)
{
    struct rb_dist sum, product;
    if (sum_in_family(&p->within, units, &sum) && product_in_family(&p->between, &sum, &product))
        return rb_law_of_dist(&product, arena);
    const struct rb_law within = rb_within_law(p, units, arena);
    const struct rb_law between = rb_law_of_dist(&p->between, arena);
    return rb_law_product(&between, &within, arena);
}

struct rb_law rb_overhead_law(const struct rb_profile *p, struct rb_arena *arena)
{
    const struct rb_law startup = rb_law_of_dist(&p->startup_s, arena);
    const struct rb_law checkpoint = rb_law_of_dist(&p->checkpoint_s, arena);
    return rb_law_plus(&startup, &checkpoint, arena);
}

struct rb_law rb_trial_law_of(const struct rb_law *work, double unit_s, const struct rb_law *overhead,
                              struct rb_arena *arena)
{
    assert(unit_s >= 0);
    const struct rb_law train = rb_law_times(work, unit_s, arena);
    return rb_law_plus(&train, overhead, arena);
}

struct rb_law rb_trial_law(const struct rb_profile *profile, int64_t units, double unit_s, struct rb_arena *arena)
{
    const struct rb_law work = rb_work_law(profile, units, arena), overhead = rb_overhead_law(profile, arena);
    return rb_trial_law_of(&work, unit_s, &overhead, arena);
}

// ---- one node

double rb_queue_mean_s(const struct rb_provisioning *p)
{
    return rb_dist_mean(&p->queue_s) / (1 - p->capacity_failure);
}
