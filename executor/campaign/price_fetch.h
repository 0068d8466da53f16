// Asks a cloud for the prices of its machines, the current ones and those over time, and for the reservations of the account.
#ifndef RB_EXECUTOR_PRICE_FETCH_H
#define RB_EXECUTOR_PRICE_FETCH_H

#include "profiles/catalog/reservation.h"
#include "providers/provider.h"

// Receives the prices, borrowed for the call; false: *err is the error of the fetch.
typedef bool rb_prices_fn(void *ctx, const struct rb_catalog *catalog, struct rb_err *err);
// Fetches prices of these machine types from the cloud behind infra, for a whole region; n_types 0: of all its types.
// known: prices of clouds, for the pods of clusters that rent their machines there (k8s).
bool rb_prices_fetch(const char *infra, const char *const *types, int n_types, const struct rb_catalog *known,
                     rb_prices_fn *fn, void *ctx, struct rb_err *err);

// Likewise: spot prices of these types since an instant (unix), in no order.
typedef bool rb_spot_history_found_fn(void *ctx, const struct rb_spot_change *all, int n, struct rb_err *err);
bool rb_spot_history_fetch(const char *infra, const char *const *types, int n_types, int64_t from_unix_us,
                           rb_spot_history_found_fn *fn, void *ctx, struct rb_err *err);

// Likewise. A reservation that has begun is listed with the machines that are free now.
typedef bool rb_reservations_found_fn(void *ctx, const struct rb_reservation *all, int n, struct rb_err *err);
bool rb_reservations_fetch(const char *infra, rb_reservations_found_fn *fn, void *ctx, struct rb_err *err);

#endif
