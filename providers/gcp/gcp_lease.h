// Writes the lease of instances as labels (instances.get and instances.setLabels).
#ifndef RB_PROVIDERS_GCP_LEASE_H
#define RB_PROVIDERS_GCP_LEASE_H

#include "providers/gcp/google_client.h"
#include "providers/listing.h"

// The provider's renew. n >= 1.
void rb_gcp_renew(struct rb_google_client *client, const char *const *ids, int n, const struct rb_tag *lease,
                  rb_terminate_fn *fn, void *arg);

#endif
