// Fits a spot market with memory to a table of its capacity: how many of the nodes that were asked for were up, and from
// when on. A fall takes the youngest nodes. Hazards are losses over hours of exposure in the ages 0, 15 min, 1 h and 4 h;
// nodes that are still up at the end count as exposure, and those that were up at the beginning do not count, because
// their age is unknown. An age without a loss takes the mean of a gamma posterior whose prior is worth one loss at the
// rate of all ages, so that no rate is zero. Prices are weighted by the time in which nodes are up: at
// other times nothing is billed.
#ifndef RB_PROFILES_MARKET_FIT_H
#define RB_PROFILES_MARKET_FIT_H

#include "profiles/catalog/capacity.h"
#include "profiles/store/spells.h"

// Spells of all[which]; the other zones of its region in `all` give region_factor. together: what the table cannot show
// where one node was asked for; < 0: unknown. Errors: INVALID where no node was lost, no spell is complete, or `together`
// is unknown.
bool rb_market_fit(const struct rb_capacity *all, int n, int which, double sampled_s, double together,
                   struct rb_arena *arena, struct rb_spells *out, struct rb_err *err);

// The mean and range of a market's prices over the time in which it had nodes; mean 0: some price is not known.
struct rb_price_range rb_market_price(const struct rb_capacity *c);

#endif
