// Spot prices for plans. A price list has the price of one instant; a profile that was fitted to a table with prices has the
// mean over the time in which the market gave nodes, and a plan is about hours to come. Its range is the plan's to name.
#ifndef RB_PROFILES_SPOT_MEANS_H
#define RB_PROFILES_SPOT_MEANS_H

#include "profiles/catalog/catalog.h"
#include "profiles/store/profile.h"

// The catalogue with these means as prices of its spot offers, in the arena; the same one where the profile has none. What
// it does not list it does not get. Borrows both. *out_n: how many prices were replaced; NULL is allowed.
const struct rb_catalog *rb_catalog_at_means(const struct rb_catalog *catalog, const struct rb_profile *profile,
                                             struct rb_arena *arena, int *out_n);

// The price of an offer's market over time, NULL: not known.
const struct rb_price_range *rb_spot_price_of(const struct rb_profile *profile, const struct rb_offer *offer);

#endif
