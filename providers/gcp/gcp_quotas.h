// Reads the quotas of a Compute Engine project that a plan counts against: those of its region and those of all
// regions.
#ifndef RB_PROVIDERS_GCP_QUOTAS_H
#define RB_PROVIDERS_GCP_QUOTAS_H

#include "providers/gcp/google_client.h"
#include "providers/provider.h"

// Asks machineTypes.aggregatedList for vCPUs that the demands do not know, regions.get, then projects.get. Reports
// every metric that Google lists and the demands count against; a kind of GPU whose metric Google does not list has a
// limit of -1 (families from H100 on are counted elsewhere). Spot machines count against the preemptible metric where
// that was ever granted, else against the ordinary one. NOT_FOUND: a type that no zone of the region sells. fn as in
// provider.h.
void rb_gcp_quotas(struct rb_google_client *client, const char *region, const struct rb_demand *demands, int n,
                   rb_quotas_fn *fn, void *arg);

#endif
