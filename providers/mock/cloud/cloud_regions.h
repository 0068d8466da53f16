// Derives regions and zones from the catalogue: its rows name the regions; every region has the zones a, b and c, and
// those that its rows name.
#ifndef RB_PROVIDERS_MOCK_CLOUD_REGIONS_H
#define RB_PROVIDERS_MOCK_CLOUD_REGIONS_H

#include "base/arena.h"
#include "profiles/catalog/catalog.h"

struct rb_cloud_region {
    const char *name;
    bool is_gcp;        // Compute Engine's, else EC2's; no name is both
    const char **zones; // [n_zones], sorted
    int n_zones;
};

struct rb_cloud_regions {
    struct rb_cloud_region *regions; // [n], sorted by name
    int n;
};

// Does this infra have the API of EC2 ("aws/...", "mock/...") or as Compute Engine ("gcp/...")? Region and zone (NULL:
// the whole region) go to the arena.
bool rb_cloud_infra_is_gcp(const char *infra);
bool rb_cloud_infra_split(const char *infra, struct rb_arena *arena, const char **out_region, const char **out_zone);
struct rb_cloud_regions rb_cloud_regions_of(const struct rb_catalog *catalog, struct rb_arena *arena);
const struct rb_cloud_region *rb_cloud_regions_find(const struct rb_cloud_regions *r, const char *name); // NULL: none
bool rb_cloud_region_has_zone(const struct rb_cloud_region *r, const char *zone);

// The zone's own offer, else the region's (zone NULL: any of the region). NULL: not sold there.
const struct rb_offer *rb_cloud_offer(const struct rb_catalog *catalog, const char *region, const char *zone,
                                      const char *instance_type, enum rb_market market);
// Is the type sold in the region at all, in whatever zone and market?
const struct rb_offer *rb_cloud_offer_any(const struct rb_catalog *catalog, const char *region,
                                          const char *instance_type);

#endif
