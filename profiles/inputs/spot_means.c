#include "profiles/inputs/spot_means.h"

#include <string.h>

const struct rb_price_range *rb_spot_price_of(const struct rb_profile *profile, const struct rb_offer *offer)
{
    const struct rb_provisioning *p =
        rb_profile_provisioning(profile, offer->infra, offer->instance_type, offer->market);
    return offer->market == RB_MARKET_SPOT && p && p->spells && p->spells->price.mean_uusd > 0 ? &p->spells->price : NULL;
}

const struct rb_catalog *rb_catalog_at_means(const struct rb_catalog *catalog, const struct rb_profile *profile,
                                             struct rb_arena *arena, int *out_n)
{
    struct rb_catalog *out = rb_arena_array(arena, 1, sizeof *out);
    struct rb_offer *offers = rb_arena_array(arena, (size_t)catalog->n_offers + 1, sizeof *offers);
    int n = 0;
    for (int i = 0; i < catalog->n_offers; i++) {
        const struct rb_price_range *price = rb_spot_price_of(profile, &catalog->offers[i]);
        offers[i] = catalog->offers[i];
        if (!price)
            continue;
        offers[i].rate.uusd_per_hour = price->mean_uusd;
        offers[i].source = rb_arena_printf(arena, "mean of the prices that profile %s was fitted to", profile->name);
        n++;
    }
    if (out_n)
        *out_n = n;
    *out = *catalog;
    out->offers = offers;
    return n > 0 ? out : catalog;
}
