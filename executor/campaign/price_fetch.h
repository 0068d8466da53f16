// What a cloud asks for its machines now.
#ifndef RB_EXECUTOR_PRICE_FETCH_H
#define RB_EXECUTOR_PRICE_FETCH_H

#include "profiles/catalog/catalog.h"

// The answer, borrowed for the call; false: *err is the fetch's.
typedef bool rb_prices_fn(void *ctx, const struct rb_catalog *catalog, struct rb_err *err);
// Asks the cloud behind infra, a whole region, for prices of these machine types; n_types 0: of all that it has.
bool rb_prices_fetch(const char *infra, const char *const *types, int n_types, rb_prices_fn *fn, void *ctx,
                     struct rb_err *err);

#endif
