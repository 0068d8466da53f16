// The resources of the cloud: the project, regions, zones, machine and accelerator types. All from the catalogue.
#include "profiles/catalog/infra.h"
#include "providers/mock/gcp/mock_gcp_call.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define MIB_PER_GB 1024

static const struct rb_catalog *catalog_of(const struct rb_mock_gcp_call *call)
{
    return &rb_cloud_config_of(call->cloud)->catalog;
}

// Resources that the cloud has from its beginning have ids made of their names, the same in every run.
static uint64_t id_of(const char *name)
{
    uint64_t h = UINT64_C(14695981039346656037); // FNV-1a
    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * UINT64_C(1099511628211);
    return h >> 1;
}

void rb_gcp_begin_resource(struct rb_mock_gcp_call *call, const char *kind, const char *name)
{
    rb_json_put(&call->json, "{kind: 'compute#%s', id: '%ju', creationTimestamp: %s, name: %s", kind, id_of(name),
                rb_gcp_instant(call, rb_cloud_config_of(call->cloud)->epoch_us), name);
}

// --- project, regions, zones ---

static void write_quotas(struct rb_mock_gcp_call *call, const char *region)
{
    const struct rb_cloud_limits *l = &rb_cloud_config_of(call->cloud)->limits;
    rb_json_put(&call->json, "quotas: [");
    for (int k = 0; k < l->n_quotas; k++) {
        const struct rb_cloud_quota *q = &l->quotas[k];
        bool gcp = rb_infra_within("gcp", q->scope.infra) || strncmp(q->scope.infra, "gcp/", 4) == 0;
        if (gcp && q->all_regions == (region == NULL))
            rb_json_put(&call->json, "{metric: %s, limit: %g, usage: %g}", q->name, (double)q->max,
                        (double)rb_cloud_quota_used(call->cloud, q, region ? region : ""));
    }
    rb_json_put(&call->json, "]");
}

bool rb_gcp_project_get(struct rb_mock_gcp_call *call)
{
    if (!rb_gcp_checked(call))
        return false;
    rb_gcp_begin_resource(call, "project", call->project);
    write_quotas(call, NULL);
    rb_json_put(&call->json, "defaultServiceAccount: %s, selfLink: %s}",
                rb_mock_gcp_account_email(call->gcp->tokens.account), rb_gcp_link(call, "%s", ""));
    return true;
}

static int count_regions(struct rb_mock_gcp_call *call)
{
    return rb_cloud_regions(call->cloud)->n;
}

static const void *region_at(struct rb_mock_gcp_call *call, const char *zone, int k)
{
    const struct rb_cloud_region *r = &rb_cloud_regions(call->cloud)->regions[k];
    (void)zone;
    return r->is_gcp ? r->name : NULL;
}

static void write_region(struct rb_mock_gcp_call *call, const char *zone, const void *name)
{
    const struct rb_cloud_region *r = rb_cloud_regions_find(rb_cloud_regions(call->cloud), name);
    (void)zone;
    rb_gcp_begin_resource(call, "region", r->name);
    rb_json_put(&call->json, "status: 'UP', zones: [");
    for (int k = 0; k < r->n_zones; k++)
        rb_json_string(&call->json, rb_gcp_link(call, "/zones/%s", r->zones[k]));
    rb_json_put(&call->json, "]");
    write_quotas(call, r->name);
    rb_json_put(&call->json, "selfLink: %s}", rb_gcp_link(call, "/regions/%s", r->name));
}

static const char *zone_at(const struct rb_mock_gcp_call *call, int k)
{
    const struct rb_cloud_regions *regions = rb_cloud_regions(call->cloud);
    for (int r = 0; r < regions->n; k -= regions->regions[r].is_gcp ? regions->regions[r].n_zones : 0, r++)
        if (regions->regions[r].is_gcp && k < regions->regions[r].n_zones)
            return regions->regions[r].zones[k];
    return NULL;
}

static int count_zones(struct rb_mock_gcp_call *call)
{
    int n = 0;
    while (zone_at(call, n))
        n++;
    return n;
}

static const void *any_zone_at(struct rb_mock_gcp_call *call, const char *zone, int k)
{
    (void)zone;
    return zone_at(call, k);
}

static void write_zone(struct rb_mock_gcp_call *call, const char *zone, const void *name)
{
    (void)zone;
    rb_gcp_begin_resource(call, "zone", name);
    rb_json_put(&call->json, "status: 'UP', region: %s, selfLink: %s}",
                rb_gcp_link(call, "/regions/%s", rb_gcp_region_of_zone(call->cloud, name)->name),
                rb_gcp_link(call, "/zones/%s", (const char *)name));
}

static const char *const place_fields[] = {"name", "status", NULL};

static const char *place_field(const void *item, const char *field, const void *context)
{
    (void)context;
    return strcmp(field, "name") == 0 ? item : "UP";
}

const struct rb_gcp_collection rb_gcp_regions = {"regions",     "region",  place_fields, place_field,
                                                 count_regions, region_at, write_region};
const struct rb_gcp_collection rb_gcp_zones = {"zones",     "zone",      place_fields, place_field,
                                               count_zones, any_zone_at, write_zone};

// --- machine types ---

// A price list may name the type itself, behind the machine type: n1-standard-8+nvidia-tesla-t4:2.
static const char *type_behind_plus(const char *instance_type, const char *const *types, int n)
{
    const char *plus = strchr(instance_type, '+');
    for (int k = 0; plus && k < n; k++)
        if (strlen(types[k]) == strcspn(plus + 1, ":") && strncmp(types[k], plus + 1, strlen(types[k])) == 0)
            return types[k];
    return NULL;
}

const char *rb_gcp_accelerator_type(const struct rb_offer *o)
{
    static const char *const accelerators[] = {"T4",        "V100", "P100", "P4",   "L4",          "A100",
                                               "A100-80GB", "H100", "H200", "B200", "RTX-PRO-6000"};
    static const char *const types[] = {"nvidia-tesla-t4",  "nvidia-tesla-v100",  "nvidia-tesla-p100",
                                        "nvidia-tesla-p4",  "nvidia-l4",          "nvidia-tesla-a100",
                                        "nvidia-a100-80gb", "nvidia-h100-80gb",   "nvidia-h200-141gb",
                                        "nvidia-b200",      "nvidia-rtx-pro-6000"};
    const int n = sizeof types / sizeof *types;
    for (int k = 0; k < n; k++)
        if (strcmp(accelerators[k], o->accelerator) == 0)
            return types[k];
    return type_behind_plus(o->instance_type, types, n);
}

const char *rb_gcp_machine_type(const struct rb_offer *o, struct rb_arena *arena)
{
    return rb_arena_strndup(arena, o->instance_type, strcspn(o->instance_type, "+"));
}

bool rb_gcp_takes_guest_accelerators(const char *machine_type)
{
    return strncmp(machine_type, "n1-", 3) == 0;
}

// Is the k-th offer the first of the zone with its machine type (by_accelerator: with its accelerator)?
static bool is_first(struct rb_mock_gcp_call *call, int k, const char *zone, bool by_accelerator)
{
    const struct rb_catalog *c = catalog_of(call);
    const struct rb_cloud_region *r = rb_gcp_region_of_zone(call->cloud, zone);
    const struct rb_offer *o = &c->offers[k];
    for (int i = 0; i <= k; i++) {
        const struct rb_offer *other = &c->offers[i];
        const char *type = by_accelerator ? rb_gcp_accelerator_type(other) : rb_gcp_machine_type(other, call->arena);
        const char *own = by_accelerator ? rb_gcp_accelerator_type(o) : rb_gcp_machine_type(o, call->arena);
        if (type && own && strcmp(type, own) == 0 &&
            rb_cloud_offer(c, r->name, zone, other->instance_type, other->market) == other)
            return i == k;
    }
    return false;
}

static void write_machine_type(struct rb_mock_gcp_call *call, const char *zone, const void *offer)
{
    const struct rb_offer *o = offer;
    const char *name = rb_gcp_machine_type(o, call->arena), *accelerator = rb_gcp_accelerator_type(o);
    rb_gcp_begin_resource(call, "machineType", name);
    rb_json_put(&call->json, "guestCpus: %jd, memoryMb: %jd, isSharedCpu: false", (intmax_t)llround(o->vcpus),
                (intmax_t)llround(o->memory_gb * MIB_PER_GB));
    if (accelerator && !rb_gcp_takes_guest_accelerators(name))
        rb_json_put(&call->json, "accelerators: [{guestAcceleratorType: %s, guestAcceleratorCount: %d}]", accelerator,
                    o->gpus);
    rb_json_put(&call->json, "zone: %s, selfLink: %s}", zone,
                rb_gcp_link(call, "/zones/%s/machineTypes/%s", zone, name));
}

static void write_accelerator_type(struct rb_mock_gcp_call *call, const char *zone, const void *offer)
{
    const struct rb_offer *o = offer;
    const char *name = rb_gcp_accelerator_type(o);
    rb_gcp_begin_resource(call, "acceleratorType", name);
    rb_json_put(&call->json, "description: 'NVIDIA %s', maximumCardsPerInstance: 8, zone: %s, selfLink: %s}",
                o->accelerator, rb_gcp_link(call, "/zones/%s", zone),
                rb_gcp_link(call, "/zones/%s/acceleratorTypes/%s", zone, name));
}

static const char *const type_fields[] = {"name", "guestCpus", "memoryMb", NULL};

static const char *machine_type_field(const void *item, const char *field, const void *context)
{
    const struct rb_mock_gcp_call *call = context;
    const struct rb_offer *o = item;
    if (strcmp(field, "name") == 0)
        return rb_gcp_machine_type(o, call->arena);
    double value = field[0] == 'g' ? o->vcpus : o->memory_gb * MIB_PER_GB;
    return rb_arena_printf(call->arena, "%" PRId64, (int64_t)llround(value));
}

static const char *const name_field_only[] = {"name", NULL};

static const char *accelerator_type_field(const void *item, const char *field, const void *context)
{
    (void)field, (void)context;
    return rb_gcp_accelerator_type(item);
}

static int count_offers(struct rb_mock_gcp_call *call)
{
    return catalog_of(call)->n_offers;
}

static const void *machine_type_at(struct rb_mock_gcp_call *call, const char *zone, int k)
{
    return is_first(call, k, zone, false) ? &catalog_of(call)->offers[k] : NULL;
}

static const void *accelerator_type_at(struct rb_mock_gcp_call *call, const char *zone, int k)
{
    return is_first(call, k, zone, true) ? &catalog_of(call)->offers[k] : NULL;
}

const struct rb_gcp_collection rb_gcp_machine_types = {
    "machineTypes", "machineType", type_fields, machine_type_field, count_offers, machine_type_at, write_machine_type};
const struct rb_gcp_collection rb_gcp_accelerator_types = {
    "acceleratorTypes", "acceleratorType",   name_field_only,       accelerator_type_field,
    count_offers,       accelerator_type_at, write_accelerator_type};
