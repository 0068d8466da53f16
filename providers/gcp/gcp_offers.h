// Finds the present prices of machine types, on demand and on the spot market: the machines from Compute Engine, the
// prices of their parts from Cloud Billing's list.
#ifndef RB_PROVIDERS_GCP_OFFERS_H
#define RB_PROVIDERS_GCP_OFFERS_H

#include "providers/gcp/google_client.h"
#include "providers/provider.h"

enum { RB_GCP_MAX_TYPES = 64 };

// At least one type. A type without an on-demand price is an error; one without a spot price has no spot offer.
void rb_gcp_offers(struct rb_google_client *client, const struct rb_loop *loop, const char *region,
                   const char *const *types, int n_types, rb_offers_fn *fn, void *arg);

#endif
