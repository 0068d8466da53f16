// Regions, zones and offers by place, read off the catalogue's infra column: provider/region[/zone].
#include "providers/mock/cloud/cloud_regions.h"

#include <stdlib.h>
#include <string.h>

bool rb_cloud_infra_is_gcp(const char *infra)
{
    return strncmp(infra, "gcp/", 4) == 0;
}

bool rb_cloud_infra_split(const char *infra, struct rb_arena *arena, const char **out_region, const char **out_zone)
{
    const char *place = strchr(infra, '/');
    if (!place || (strncmp(infra, "aws/", 4) != 0 && strncmp(infra, "mock/", 5) != 0 && !rb_cloud_infra_is_gcp(infra)))
        return false;
    place++;
    const char *slash = strchr(place, '/');
    size_t region_len = slash ? (size_t)(slash - place) : strlen(place);
    *out_region = rb_arena_strndup(arena, place, region_len);
    *out_zone = slash ? rb_arena_strdup(arena, slash + 1) : NULL;
    return true;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct rb_cloud_region *)a)->name, ((const struct rb_cloud_region *)b)->name);
}

static struct rb_cloud_region *region_of(struct rb_cloud_regions *r, const char *name, int max_zones,
                                         struct rb_arena *arena)
{
    for (int i = 0; i < r->n; i++)
        if (strcmp(r->regions[i].name, name) == 0)
            return &r->regions[i];
    struct rb_cloud_region *region = &r->regions[r->n++];
    region->name = name;
    region->zones = rb_arena_array(arena, (size_t)max_zones, sizeof *region->zones);
    return region;
}

struct rb_cloud_regions rb_cloud_regions_of(const struct rb_catalog *catalog, struct rb_arena *arena)
{
    const int max_zones = catalog->n_offers + 3;
    struct rb_cloud_regions r = {.regions = rb_arena_array(arena, (size_t)catalog->n_offers + 1, sizeof *r.regions)};
    for (int i = 0; i < catalog->n_offers; i++) {
        const char *name, *zone;
        if (!rb_cloud_infra_split(catalog->offers[i].infra, arena, &name, &zone))
            continue;
        struct rb_cloud_region *region = region_of(&r, name, max_zones, arena);
        region->is_gcp = rb_cloud_infra_is_gcp(catalog->offers[i].infra);
        if (zone && !rb_cloud_region_has_zone(region, zone))
            region->zones[region->n_zones++] = zone;
    }
    qsort(r.regions, (size_t)r.n, sizeof *r.regions, by_name);
    for (int i = 0; i < r.n; i++) {
        struct rb_cloud_region *region = &r.regions[i];
        for (char letter = 'a'; letter <= 'c'; letter++) {
            const char *zone = rb_arena_printf(arena, region->is_gcp ? "%s-%c" : "%s%c", region->name, letter);
            if (!rb_cloud_region_has_zone(region, zone))
                region->zones[region->n_zones++] = zone;
        }
        qsort(region->zones, (size_t)region->n_zones, sizeof *region->zones, by_text);
    }
    return r;
}

const struct rb_cloud_region *rb_cloud_regions_find(const struct rb_cloud_regions *r, const char *name)
{
    for (int i = 0; i < r->n; i++)
        if (strcmp(r->regions[i].name, name) == 0)
            return &r->regions[i];
    return NULL;
}

bool rb_cloud_region_has_zone(const struct rb_cloud_region *r, const char *zone)
{
    for (int i = 0; i < r->n_zones; i++)
        if (strcmp(r->zones[i], zone) == 0)
            return true;
    return false;
}

// How well an offer's place matches (region, zone): 2 its very zone, 1 its region, 0 not at all.
static int place_rank(const char *infra, const char *region, const char *zone)
{
    const char *place = strchr(infra, '/');
    size_t len = strlen(region);
    if (!place || strncmp(place + 1, region, len) != 0)
        return 0;
    const char *rest = place + 1 + len;
    if (*rest == '\0')
        return 1;
    if (*rest != '/')
        return 0;
    return !zone || strcmp(rest + 1, zone) == 0 ? 2 : 0;
}

const struct rb_offer *rb_cloud_offer(const struct rb_catalog *catalog, const char *region, const char *zone,
                                      const char *instance_type, enum rb_market market)
{
    const struct rb_offer *best = NULL;
    int best_rank = 0;
    for (int i = 0; i < catalog->n_offers; i++) {
        const struct rb_offer *o = &catalog->offers[i];
        if (o->market != market || strcmp(o->instance_type, instance_type) != 0)
            continue;
        int rank = place_rank(o->infra, region, zone);
        if (rank > best_rank) {
            best = o;
            best_rank = rank;
        }
    }
    return best;
}

const struct rb_offer *rb_cloud_offer_any(const struct rb_catalog *catalog, const char *region,
                                          const char *instance_type)
{
    const struct rb_offer *o = rb_cloud_offer(catalog, region, NULL, instance_type, RB_MARKET_ON_DEMAND);
    return o ? o : rb_cloud_offer(catalog, region, NULL, instance_type, RB_MARKET_SPOT);
}
