#include "profiles/fit/hazard.h"

#include "base/text/units.h"

#include <math.h>

bool rb_hazard_is_none(const struct rb_hazard *h)
{
    bool none = !(h->per_hour > 0);
    for (int i = 0; i < h->n_later; i++)
        none = none && !(h->later[i].per_hour > 0);
    return none;
}

// The hazard at an age, and how long it stays: INFINITY after the last step.
struct span {
    double per_hour, for_s;
};

static struct span span_at(const struct rb_hazard *h, double age_s)
{
    struct span span = {h->per_hour, INFINITY};
    for (int i = 0; i < h->n_later; i++) {
        if (h->later[i].from_s > age_s) {
            span.for_s = h->later[i].from_s - age_s;
            break;
        }
        span.per_hour = h->later[i].per_hour;
    }
    return span;
}

double rb_hazard_over(const struct rb_hazard *h, double age_s, double for_s)
{
    double sum = 0;
    struct span span = span_at(h, age_s);
    for (; span.for_s < for_s; span = span_at(h, age_s)) {
        sum += span.per_hour / RB_S_PER_HOUR * span.for_s;
        age_s += span.for_s;
        for_s -= span.for_s;
    }
    return sum + span.per_hour / RB_S_PER_HOUR * for_s;
}

double rb_hazard_seconds(const struct rb_hazard *h, double age_s, double cumulative)
{
    double seconds = 0;
    struct span span = span_at(h, age_s);
    for (; isfinite(span.for_s) && span.per_hour / RB_S_PER_HOUR * span.for_s < cumulative; span = span_at(h, age_s)) {
        cumulative -= span.per_hour / RB_S_PER_HOUR * span.for_s;
        seconds += span.for_s;
        age_s += span.for_s;
    }
    return span.per_hour > 0 ? seconds + cumulative * ((double)RB_S_PER_HOUR / span.per_hour) : INFINITY;
}
