// What there is: the project, regions, zones, machine and accelerator types. All read off the catalogue.
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
    rb_json_begin_object(&call->json);
    rb_json_kstring(&call->json, "kind", kind);
    rb_gcp_kid(&call->json, "id", id_of(name));
    rb_gcp_kinstant(&call->json, "creationTimestamp", rb_cloud_config_of(call->cloud)->epoch_us);
    rb_json_kstring(&call->json, "name", name);
}

// --- project, regions, zones ---

static void write_quotas(struct rb_mock_gcp_call *call, const char *region)
{
    struct rb_json *j = &call->json;
    const struct rb_cloud_limits *l = &rb_cloud_config_of(call->cloud)->limits;
    rb_json_key(j, "quotas");
    rb_json_begin_array(j);
    for (int k = 0; k < l->n_quotas; k++) {
        const struct rb_cloud_quota *q = &l->quotas[k];
        bool gcp = rb_infra_within("gcp", q->scope.infra) || strncmp(q->scope.infra, "gcp/", 4) == 0;
        if (!gcp || q->all_regions != (region == NULL))
            continue;
        rb_json_begin_object(j);
        rb_json_kstring(j, "metric", q->name);
        rb_json_kdouble(j, "limit", (double)q->max);
        rb_json_kdouble(j, "usage", (double)rb_cloud_quota_used(call->cloud, q, region ? region : ""));
        rb_json_end_object(j);
    }
    rb_json_end_array(j);
}

bool rb_gcp_project_get(struct rb_mock_gcp_call *call)
{
    if (!rb_gcp_checked(call))
        return false;
    rb_gcp_begin_resource(call, "compute#project", call->project);
    write_quotas(call, NULL);
    rb_json_kstring(&call->json, "defaultServiceAccount", rb_mock_gcp_account_email(call->gcp->tokens.account));
    rb_gcp_klink(call, "selfLink", "%s", "");
    rb_json_end_object(&call->json);
    return true;
}

static void write_region(struct rb_mock_gcp_call *call, const struct rb_cloud_region *r)
{
    rb_gcp_begin_resource(call, "compute#region", r->name);
    rb_json_kstring(&call->json, "status", "UP");
    rb_json_key(&call->json, "zones");
    rb_json_begin_array(&call->json);
    for (int k = 0; k < r->n_zones; k++)
        rb_json_string(&call->json,
                       rb_arena_printf(call->arena, RB_GCP_LINK "projects/%s/zones/%s", call->project, r->zones[k]));
    rb_json_end_array(&call->json);
    write_quotas(call, r->name);
    rb_gcp_klink(call, "selfLink", "/regions/%s", r->name);
    rb_json_end_object(&call->json);
}

static void write_zone(struct rb_mock_gcp_call *call, const struct rb_cloud_region *r, const char *zone)
{
    rb_gcp_begin_resource(call, "compute#zone", zone);
    rb_json_kstring(&call->json, "status", "UP");
    rb_gcp_klink(call, "region", "/regions/%s", r->name);
    rb_gcp_klink(call, "selfLink", "/zones/%s", zone);
    rb_json_end_object(&call->json);
}

static const char *const place_fields[] = {"name", "status", NULL};

static const char *place_field(const void *item, const char *field, const void *context)
{
    (void)context;
    return strcmp(field, "name") == 0 ? item : "UP";
}

bool rb_gcp_regions_list(struct rb_mock_gcp_call *call)
{
    const struct rb_cloud_regions *regions = rb_cloud_regions(call->cloud);
    struct rb_gcp_page page;
    if (!rb_gcp_read_page(call, place_fields, place_field, &page))
        return false;
    rb_gcp_begin_list(call, "compute#regionList");
    rb_json_key(&call->json, "items");
    rb_json_begin_array(&call->json);
    for (int r = 0; r < regions->n; r++)
        if (regions->regions[r].is_gcp && rb_gcp_page_take(&page, r, regions->regions[r].name))
            write_region(call, &regions->regions[r]);
    rb_json_end_array(&call->json);
    rb_gcp_end_list(call, &page);
    return true;
}

bool rb_gcp_region_get(struct rb_mock_gcp_call *call)
{
    if (!rb_gcp_checked(call))
        return false;
    write_region(call, rb_cloud_regions_find(rb_cloud_regions(call->cloud), call->region));
    return true;
}

bool rb_gcp_zones_list(struct rb_mock_gcp_call *call)
{
    const struct rb_cloud_regions *regions = rb_cloud_regions(call->cloud);
    struct rb_gcp_page page;
    int64_t position = 0;
    if (!rb_gcp_read_page(call, place_fields, place_field, &page))
        return false;
    rb_gcp_begin_list(call, "compute#zoneList");
    rb_json_key(&call->json, "items");
    rb_json_begin_array(&call->json);
    for (int r = 0; r < regions->n; r++)
        for (int z = 0; regions->regions[r].is_gcp && z < regions->regions[r].n_zones; z++)
            if (rb_gcp_page_take(&page, position++, regions->regions[r].zones[z]))
                write_zone(call, &regions->regions[r], regions->regions[r].zones[z]);
    rb_json_end_array(&call->json);
    rb_gcp_end_list(call, &page);
    return true;
}

bool rb_gcp_zone_get(struct rb_mock_gcp_call *call)
{
    if (!rb_gcp_checked(call))
        return false;
    write_zone(call, rb_gcp_region_of_zone(call->cloud, call->zone), call->zone);
    return true;
}

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

static void write_machine_type(struct rb_mock_gcp_call *call, const char *zone, const struct rb_offer *o)
{
    struct rb_json *j = &call->json;
    const char *name = rb_gcp_machine_type(o, call->arena), *accelerator = rb_gcp_accelerator_type(o);
    rb_gcp_begin_resource(call, "compute#machineType", name);
    rb_json_kint(j, "guestCpus", (int64_t)llround(o->vcpus));
    rb_json_kint(j, "memoryMb", (int64_t)llround(o->memory_gb * MIB_PER_GB));
    rb_json_kbool(j, "isSharedCpu", false);
    if (accelerator && !rb_gcp_takes_guest_accelerators(name)) {
        rb_json_key(j, "accelerators");
        rb_json_begin_array(j);
        rb_json_begin_object(j);
        rb_json_kstring(j, "guestAcceleratorType", accelerator);
        rb_json_kint(j, "guestAcceleratorCount", o->gpus);
        rb_json_end_object(j);
        rb_json_end_array(j);
    }
    rb_json_kstring(j, "zone", zone);
    rb_gcp_klink(call, "selfLink", "/zones/%s/machineTypes/%s", zone, name);
    rb_json_end_object(j);
}

static void write_accelerator_type(struct rb_mock_gcp_call *call, const char *zone, const struct rb_offer *o)
{
    struct rb_json *j = &call->json;
    const char *name = rb_gcp_accelerator_type(o);
    rb_gcp_begin_resource(call, "compute#acceleratorType", name);
    rb_json_kstring(j, "description", rb_arena_printf(call->arena, "NVIDIA %s", o->accelerator));
    rb_json_kint(j, "maximumCardsPerInstance", 8);
    rb_gcp_klink(call, "zone", "/zones/%s", zone);
    rb_gcp_klink(call, "selfLink", "/zones/%s/acceleratorTypes/%s", zone, name);
    rb_json_end_object(j);
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

static int visit_machine_types(struct rb_mock_gcp_call *call, const char *zone, int64_t first, struct rb_gcp_page *p,
                               bool write)
{
    const struct rb_catalog *c = catalog_of(call);
    int n = 0;
    for (int k = 0; k < c->n_offers; k++) {
        if (!is_first(call, k, zone, false) || !rb_gcp_page_take(p, first + k, &c->offers[k]))
            continue;
        n++;
        if (write)
            write_machine_type(call, zone, &c->offers[k]);
    }
    return n;
}

static int visit_accelerator_types(struct rb_mock_gcp_call *call, const char *zone, int64_t first,
                                   struct rb_gcp_page *p, bool write)
{
    const struct rb_catalog *c = catalog_of(call);
    int n = 0;
    for (int k = 0; k < c->n_offers; k++) {
        if (!is_first(call, k, zone, true) || !rb_gcp_page_take(p, first + k, &c->offers[k]))
            continue;
        n++;
        if (write)
            write_accelerator_type(call, zone, &c->offers[k]);
    }
    return n;
}

static bool list_types(struct rb_mock_gcp_call *call, const char *kind, struct rb_gcp_page *page,
                       rb_gcp_visit_fn *visit)
{
    rb_gcp_begin_list(call, kind);
    rb_json_key(&call->json, "items");
    rb_json_begin_array(&call->json);
    visit(call, call->zone, 0, page, true);
    rb_json_end_array(&call->json);
    rb_gcp_end_list(call, page);
    return true;
}

bool rb_gcp_machine_types_list(struct rb_mock_gcp_call *call)
{
    struct rb_gcp_page page;
    return rb_gcp_read_page(call, type_fields, machine_type_field, &page) &&
           list_types(call, "compute#machineTypeList", &page, visit_machine_types);
}

bool rb_gcp_machine_types_aggregated(struct rb_mock_gcp_call *call)
{
    struct rb_gcp_page page;
    return rb_gcp_read_page(call, type_fields, machine_type_field, &page) &&
           rb_gcp_aggregated(call, "compute#machineTypeAggregatedList", "machineTypes", &page, visit_machine_types);
}

bool rb_gcp_accelerator_types_list(struct rb_mock_gcp_call *call)
{
    struct rb_gcp_page page;
    return rb_gcp_read_page(call, name_field_only, accelerator_type_field, &page) &&
           list_types(call, "compute#acceleratorTypeList", &page, visit_accelerator_types);
}

bool rb_gcp_accelerator_types_aggregated(struct rb_mock_gcp_call *call)
{
    struct rb_gcp_page page;
    return rb_gcp_read_page(call, name_field_only, accelerator_type_field, &page) &&
           rb_gcp_aggregated(call, "compute#acceleratorTypeAggregatedList", "acceleratorTypes", &page,
                             visit_accelerator_types);
}

bool rb_gcp_machine_type_get(struct rb_mock_gcp_call *call)
{
    const struct rb_catalog *c = catalog_of(call);
    if (!rb_gcp_checked(call))
        return false;
    for (int k = 0; k < c->n_offers; k++)
        if (strcmp(rb_gcp_machine_type(&c->offers[k], call->arena), call->name) == 0 &&
            is_first(call, k, call->zone, false)) {
            write_machine_type(call, call->zone, &c->offers[k]);
            return true;
        }
    return rb_gcp_not_found(call, "machineTypes", call->name);
}

bool rb_gcp_accelerator_type_get(struct rb_mock_gcp_call *call)
{
    const struct rb_catalog *c = catalog_of(call);
    if (!rb_gcp_checked(call))
        return false;
    for (int k = 0; k < c->n_offers; k++) {
        const char *type = rb_gcp_accelerator_type(&c->offers[k]);
        if (type && strcmp(type, call->name) == 0 && is_first(call, k, call->zone, true)) {
            write_accelerator_type(call, call->zone, &c->offers[k]);
            return true;
        }
    }
    return rb_gcp_not_found(call, "acceleratorTypes", call->name);
}
