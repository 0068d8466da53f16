#include "engine/plan/stand_in.h"

#include "base/text/units.h"
#include "profiles/catalog/reservation.h"

#include <string.h>

// A placement group has one place and one machine type.
static bool stays_together(const struct rb_plan *plan, const struct rb_offer *a, const struct rb_offer *b)
{
    return !rb_plan_spreads_trials(plan, a->instance_type) ||
           (strcmp(a->infra, b->infra) == 0 && strcmp(a->instance_type, b->instance_type) == 0);
}

static bool can_replace(const struct rb_plan *plan, int offer, int other, bool same_type)
{
    const struct rb_offer *a = &plan->offers[offer], *b = &plan->offers[other];
    return other != offer && a->gpus == b->gpus && strcmp(a->accelerator, b->accelerator) == 0 &&
           (strcmp(a->instance_type, b->instance_type) == 0) == same_type && stays_together(plan, a, b);
}

int rb_stand_in(const struct rb_plan *plan, int offer, int k)
{
    if (k == 0)
        return offer;
    for (int same_type = 1; same_type >= 0; same_type--)
        for (int i = 0; i < plan->n_fallbacks; i++)
            if (can_replace(plan, offer, plan->fallbacks[i], same_type) && --k == 0)
                return plan->fallbacks[i];
    return -1;
}

static bool is_closed(const struct rb_on_sale *m, int offer)
{
    const struct rb_reservation *r = m->plan->offers[offer].reservation;
    return r && !rb_reservation_is_open(r, m->now_us);
}

bool rb_offer_is_sold_out(const struct rb_on_sale *m, int offer)
{
    const int64_t at_us = m->sold_out_us(m->ctx, offer);
    if (is_closed(m, offer))
        return true;
    return at_us >= 0 && at_us > m->paused_us && m->now_us - at_us < RB_SOLD_OUT_US;
}

int rb_offer_on_sale(const struct rb_on_sale *m, int offer)
{
    for (int k = 0, other; (other = rb_stand_in(m->plan, offer, k)) >= 0; k++) {
        if (!rb_offer_is_sold_out(m, other) && m->may_ask(m->ctx, other, k))
            return other;
    }
    return -1;
}

int rb_offer_to_ask(const struct rb_on_sale *m, int offer)
{
    int chosen = rb_offer_on_sale(m, offer);
    if (chosen >= 0)
        return chosen;
    chosen = offer;
    for (int k = 1, other; (other = rb_stand_in(m->plan, offer, k)) >= 0; k++) {
        if (!is_closed(m, other) && m->sold_out_us(m->ctx, other) < m->sold_out_us(m->ctx, chosen) && m->may_ask(m->ctx, other, k))
            chosen = other;
    }
    return chosen;
}

int64_t rb_pause_until_open_us(const struct rb_on_sale *m, int offer, int64_t pause_us)
{
    const struct rb_reservation *r = m->plan->offers[offer].reservation;
    return r && r->opens_us - m->now_us > pause_us ? r->opens_us - m->now_us : pause_us;
}
