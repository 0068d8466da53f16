// The bodies of instances.insert and bulkInsert. What a mock machine cannot honour (several disks, local SSDs, disks
// that outlive their instance, deletion protection) is refused, never silently dropped; what does not matter to it
// (networks, service accounts, network tags) is checked, kept and shown.
#include "providers/mock/gcp/mock_gcp_body.h"

#include <string.h>

#define MAX_NAME    63
#define MAX_LABELS  64
#define MAX_DISK_GB 65536
#define MAX_BULK    1000
#define MIN_RUN_S   30
#define MAX_RUN_S   (120 * 24 * 3600)

// --- names and labels ---

static bool is_name(const char *s)
{
    size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-");
    return n >= 1 && n <= MAX_NAME && !s[n] && s[0] >= 'a' && s[0] <= 'z' && s[n - 1] != '-';
}

static bool is_label_text(const char *s)
{
    size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_-");
    return n <= MAX_NAME && !s[n];
}

bool rb_gcp_read_labels(struct rb_mock_gcp_call *call, const struct rb_node *node, const struct rb_cloud_tag **out,
                        int *out_n)
{
    int n = 0;
    *out_n = 0;
    *out = NULL;
    if (!node)
        return true;
    if (node->kind != RB_NODE_MAP || node->n_children > MAX_LABELS)
        return rb_gcp_refuse_field(call, node, "expected a map of at most 64 labels");
    struct rb_cloud_tag *labels = rb_arena_array(call->arena, (size_t)node->n_children + 1, sizeof *labels);
    for (const struct rb_node *child = node->first; child; child = child->next) {
        bool starts = child->key[0] >= 'a' && child->key[0] <= 'z';
        if (child->kind != RB_NODE_STRING || !starts || !is_label_text(child->key) || !is_label_text(child->text))
            return rb_gcp_refuse_field(call, child,
                                       "keys and values are at most 63 of [a-z0-9_-], a key begins with a letter");
        labels[n++] = (struct rb_cloud_tag){child->key, child->text};
    }
    *out = labels;
    *out_n = n;
    return true;
}

// --- the boot disk ---

static bool read_image(struct rb_mock_gcp_call *call, struct rb_map *m, struct rb_mock_gcp_instance *i)
{
    const char *image;
    if (!rb_gcp_need_text(call, m, "sourceImage", &image))
        return false;
    image = rb_gcp_image_of(call, image);
    if (!rb_gcp_image_exists(call, image))
        return rb_gcp_refuse(call, 404, "notFound", "The resource '%.200s' was not found", image);
    i->source_image = image;
    return true;
}

static bool read_initialize(struct rb_mock_gcp_call *call, const struct rb_node *node, struct rb_mock_gcp_instance *i)
{
    struct rb_map m;
    const char *disk_type = NULL, *name;
    const struct rb_cloud_tag *labels;
    int n_labels;
    if (!rb_gcp_map_begin(call, &m, node) || !read_image(call, &m, i) ||
        !rb_gcp_get_int(call, &m, "diskSizeGb", 10, MAX_DISK_GB, &i->disk_gb) ||
        !rb_gcp_get_text(call, &m, "diskType", &disk_type) || !rb_gcp_get_text(call, &m, "diskName", &name) ||
        !rb_gcp_get_text(call, &m, "description", &name) || !rb_gcp_get_empty(call, &m, "resourceManagerTags") ||
        !rb_gcp_read_labels(call, rb_map_get(&m, "labels"), &labels, &n_labels) || !rb_gcp_map_end(call, &m))
        return false;
    i->disk_type = "pd-standard";
    return !disk_type || rb_gcp_read_link(call, "resource.disks[0].initializeParams.diskType", disk_type, "diskTypes",
                                          call->zone, &i->disk_type);
}

static bool read_disk(struct rb_mock_gcp_call *call, const struct rb_node *node, struct rb_mock_gcp_instance *i)
{
    static const char *const types[] = {"PERSISTENT"}, *const modes[] = {"READ_WRITE"},
                             *const interfaces[] = {"SCSI", "NVME"};
    struct rb_map m;
    struct rb_err err = {0};
    const char *ignored;
    bool boot = false, auto_delete = false;
    const struct rb_node *initialize;
    if (!rb_gcp_map_begin(call, &m, node) || !rb_gcp_get_bool(call, &m, "boot", &boot) ||
        !rb_gcp_get_bool(call, &m, "autoDelete", &auto_delete) ||
        !rb_gcp_get_choice(call, &m, "type", types, 1, &ignored) ||
        !rb_gcp_get_choice(call, &m, "mode", modes, 1, &ignored) ||
        !rb_gcp_get_choice(call, &m, "interface", interfaces, 2, &ignored) ||
        !rb_gcp_get_text(call, &m, "deviceName", &ignored))
        return false;
    if (!boot)
        return rb_gcp_refuse_field(call, node, "this mock cloud attaches no disk but the boot disk");
    if (!auto_delete)
        return rb_gcp_refuse_field(call, node,
                                   "autoDelete is not set: on Compute Engine this disk outlives its instance and "
                                   "is billed for ever; this mock cloud has no such disks");
    if (!rb_map_need(&m, "initializeParams", &initialize, &err))
        return rb_gcp_refuse_node(call, &err);
    return read_initialize(call, initialize, i) && rb_gcp_map_end(call, &m);
}

static bool read_disks(struct rb_mock_gcp_call *call, struct rb_map *m, struct rb_mock_gcp_instance *i)
{
    struct rb_err err = {0};
    const struct rb_node *list;
    if (!rb_map_need(m, "disks", &list, &err))
        return rb_gcp_refuse_node(call, &err);
    if (!rb_gcp_is_list(call, list))
        return false;
    if (list->n_children != 1)
        return rb_gcp_refuse_field(call, list, "expected one disk, the boot disk");
    return read_disk(call, list->first, i);
}

// --- the network ---

static bool read_access(struct rb_mock_gcp_call *call, const struct rb_node *list, struct rb_mock_gcp_instance *i)
{
    static const char *const types[] = {"ONE_TO_ONE_NAT"}, *const tiers[] = {"PREMIUM", "STANDARD"};
    struct rb_map m;
    const char *ignored;
    if (!list)
        return true;
    if (!rb_gcp_is_list(call, list) || list->n_children > 1)
        return rb_gcp_refuse_field(call, list, "expected at most one access configuration");
    i->has_nat = list->n_children == 1;
    return !i->has_nat ||
           (rb_gcp_map_begin(call, &m, list->first) && rb_gcp_get_choice(call, &m, "type", types, 1, &ignored) &&
            rb_gcp_get_text(call, &m, "name", &ignored) &&
            rb_gcp_get_choice(call, &m, "networkTier", tiers, 2, &ignored) && rb_gcp_map_end(call, &m));
}

static bool read_network(struct rb_mock_gcp_call *call, struct rb_map *top, struct rb_mock_gcp_instance *i)
{
    static const char *const nics[] = {"GVNIC", "VIRTIO_NET"}, *const stacks[] = {"IPV4_ONLY"};
    struct rb_map m;
    struct rb_err err = {0};
    const char *ignored;
    const struct rb_node *list;
    if (!rb_map_need(top, "networkInterfaces", &list, &err))
        return rb_gcp_refuse_node(call, &err);
    if (!rb_gcp_is_list(call, list))
        return false;
    if (list->n_children != 1)
        return rb_gcp_refuse_field(call, list, "expected one network interface");
    return rb_gcp_map_begin(call, &m, list->first) && rb_gcp_get_text(call, &m, "network", &i->network) &&
           rb_gcp_get_text(call, &m, "subnetwork", &i->subnetwork) &&
           rb_gcp_get_choice(call, &m, "nicType", nics, 2, &i->nic_type) &&
           rb_gcp_get_choice(call, &m, "stackType", stacks, 1, &ignored) &&
           read_access(call, rb_map_get(&m, "accessConfigs"), i) && rb_gcp_map_end(call, &m);
}

// --- scheduling ---

static bool read_max_run(struct rb_mock_gcp_call *call, const struct rb_node *node, struct rb_mock_gcp_instance *i)
{
    struct rb_map m;
    int64_t nanos = 0;
    return !node || (rb_gcp_map_begin(call, &m, node) &&
                     rb_gcp_get_int(call, &m, "seconds", MIN_RUN_S, MAX_RUN_S, &i->max_run_s) &&
                     rb_gcp_get_int(call, &m, "nanos", 0, 0, &nanos) && rb_gcp_map_end(call, &m));
}

static bool check_scheduling(struct rb_mock_gcp_call *call, const struct rb_node *node, bool restart_said,
                             const struct rb_mock_gcp_instance *i)
{
    bool spot = strcmp(i->provisioning_model, "SPOT") == 0;
    if (spot && restart_said && i->automatic_restart)
        return rb_gcp_refuse_field(call, node, "Automatic restart is not supported for spot instances");
    if (i->max_run_s > 0 && !i->termination_action)
        return rb_gcp_refuse_field(call, node, "instanceTerminationAction must be given with maxRunDuration");
    if (!spot && i->max_run_s == 0 && i->termination_action)
        return rb_gcp_refuse_field(call, node,
                                   "instanceTerminationAction is for spot instances and for maxRunDuration");
    if (spot && !i->terminate_on_maintenance)
        return rb_gcp_refuse_field(call, node, "onHostMaintenance must be TERMINATE for spot instances");
    return true;
}

static bool read_scheduling(struct rb_mock_gcp_call *call, const struct rb_node *node, struct rb_mock_gcp_instance *i)
{
    static const char *const models[] = {"STANDARD", "SPOT"}, *const actions[] = {"STOP", "DELETE"},
                             *const maintenance[] = {"MIGRATE", "TERMINATE"};
    struct rb_map m;
    const char *on_maintenance = NULL;
    bool preemptible = false;
    i->provisioning_model = "STANDARD";
    i->automatic_restart = true;
    if (!node)
        return true;
    if (!rb_gcp_map_begin(call, &m, node) ||
        !rb_gcp_get_choice(call, &m, "provisioningModel", models, 2, &i->provisioning_model) ||
        !rb_gcp_get_choice(call, &m, "instanceTerminationAction", actions, 2, &i->termination_action) ||
        !rb_gcp_get_choice(call, &m, "onHostMaintenance", maintenance, 2, &on_maintenance) ||
        !rb_gcp_get_bool(call, &m, "automaticRestart", &i->automatic_restart) ||
        !rb_gcp_get_bool(call, &m, "preemptible", &preemptible) ||
        !read_max_run(call, rb_map_get(&m, "maxRunDuration"), i))
        return false;
    bool spot = strcmp(i->provisioning_model, "SPOT") == 0, restart_said = rb_map_get(&m, "automaticRestart") != NULL;
    i->terminate_on_maintenance = on_maintenance ? on_maintenance[0] == 'T' : spot;
    if (preemptible && !spot)
        return rb_gcp_refuse_field(call, node, "preemptible instances are requested as provisioningModel SPOT");
    if (!rb_gcp_map_end(call, &m) || !check_scheduling(call, node, restart_said, i))
        return false;
    i->automatic_restart &= !spot;
    return true;
}

static bool read_accelerators(struct rb_mock_gcp_call *call, const struct rb_node *list, struct rb_mock_gcp_instance *i)
{
    struct rb_map m;
    const char *type;
    int64_t n = 0;
    if (!list)
        return true;
    if (!rb_gcp_is_list(call, list))
        return false;
    if (list->n_children == 0)
        return true;
    if (list->n_children > 1)
        return rb_gcp_refuse_field(call, list, "expected one type of accelerators");
    if (!rb_gcp_map_begin(call, &m, list->first) || !rb_gcp_need_text(call, &m, "acceleratorType", &type) ||
        !rb_gcp_get_int(call, &m, "acceleratorCount", 1, 16, &n) || !rb_gcp_map_end(call, &m))
        return false;
    i->accelerators = n > 0 ? (int)n : 1;
    return rb_gcp_read_link(call, "resource.guestAccelerators[0].acceleratorType", type, "acceleratorTypes", call->zone,
                            &i->accelerator_type);
}

// --- the rest ---

static bool read_text_list(struct rb_mock_gcp_call *call, const struct rb_node *list, const char *const **out,
                           int *out_n)
{
    if (!list)
        return true;
    if (!rb_gcp_is_list(call, list))
        return false;
    const char **texts = rb_arena_array(call->arena, (size_t)list->n_children + 1, sizeof *texts);
    int n = 0;
    for (const struct rb_node *child = list->first; child; child = child->next) {
        struct rb_err err = {0};
        if (!rb_node_string(child, &texts[n++], &err))
            return rb_gcp_refuse_node(call, &err);
    }
    *out = texts;
    *out_n = n;
    return true;
}

static bool read_service_account(struct rb_mock_gcp_call *call, const struct rb_node *list,
                                 struct rb_mock_gcp_instance *i)
{
    struct rb_map m;
    const char *const *scopes;
    int n;
    if (!list)
        return true;
    if (!rb_gcp_is_list(call, list))
        return false;
    if (list->n_children > 1)
        return rb_gcp_refuse_field(call, list, "expected at most one service account");
    return list->n_children == 0 ||
           (rb_gcp_map_begin(call, &m, list->first) && rb_gcp_need_text(call, &m, "email", &i->service_account) &&
            read_text_list(call, rb_map_get(&m, "scopes"), &scopes, &n) && rb_gcp_map_end(call, &m));
}

static bool read_shield(struct rb_mock_gcp_call *call, const struct rb_node *node)
{
    struct rb_map m;
    bool flag;
    return !node || (rb_gcp_map_begin(call, &m, node) && rb_gcp_get_bool(call, &m, "enableSecureBoot", &flag) &&
                     rb_gcp_get_bool(call, &m, "enableVtpm", &flag) &&
                     rb_gcp_get_bool(call, &m, "enableIntegrityMonitoring", &flag) && rb_gcp_map_end(call, &m));
}

static bool read_network_tags(struct rb_mock_gcp_call *call, const struct rb_node *node, struct rb_mock_gcp_instance *i)
{
    struct rb_map m;
    return !node || (rb_gcp_map_begin(call, &m, node) &&
                     read_text_list(call, rb_map_get(&m, "items"), &i->network_tags, &i->n_network_tags) &&
                     rb_gcp_map_end(call, &m));
}

static bool check_instance_name(struct rb_mock_gcp_call *call, const char *field, const char *name)
{
    return is_name(name) ||
           rb_gcp_invalid(call, field, name, "Must be a match of regex '(?:[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?)'");
}

static bool read_identity(struct rb_mock_gcp_call *call, struct rb_map *m, struct rb_mock_gcp_instance *i)
{
    const char *type;
    bool forward = false, protect = false;
    if (!rb_gcp_need_text(call, m, "machineType", &type) || !rb_gcp_get_text(call, m, "description", &i->description) ||
        !rb_gcp_get_bool(call, m, "canIpForward", &forward) ||
        !rb_gcp_get_bool(call, m, "deletionProtection", &protect))
        return false;
    if (protect)
        return rb_gcp_invalid(call, "resource.deletionProtection", "true", "This mock cloud has none.");
    return rb_gcp_read_link(call, "resource.machineType", type, "machineTypes", call->zone, &i->machine_type);
}

// All but its name.
static bool read_properties(struct rb_mock_gcp_call *call, struct rb_map *m, struct rb_mock_gcp_instance *i,
                            struct rb_cloud_launch *l)
{
    return read_identity(call, m, i) && read_disks(call, m, i) && read_network(call, m, i) &&
           read_scheduling(call, rb_map_get(m, "scheduling"), i) &&
           read_accelerators(call, rb_map_get(m, "guestAccelerators"), i) &&
           rb_gcp_read_labels(call, rb_map_get(m, "labels"), &i->labels, &i->n_labels) &&
           rb_gcp_read_metadata(call, rb_map_get(m, "metadata"), i, l) &&
           read_service_account(call, rb_map_get(m, "serviceAccounts"), i) &&
           read_network_tags(call, rb_map_get(m, "tags"), i) &&
           read_shield(call, rb_map_get(m, "shieldedInstanceConfig")) && rb_gcp_map_end(call, m);
}

static bool no_body(struct rb_mock_gcp_call *call)
{
    return rb_gcp_refuse(call, 400, "parseError", "The request needs a body that is JSON");
}

bool rb_gcp_read_insert(struct rb_mock_gcp_call *call, struct rb_mock_gcp_instance *i, struct rb_cloud_launch *l)
{
    struct rb_map m;
    *i = (struct rb_mock_gcp_instance){.zone = call->zone, .ordinal = -1};
    if (!call->body)
        return no_body(call);
    return rb_gcp_map_begin(call, &m, call->body) && rb_gcp_need_text(call, &m, "name", &i->name) &&
           check_instance_name(call, "resource.name", i->name) && read_properties(call, &m, i, l);
}

// --- bulkInsert ---

// "x-####" -> x-0001, x-0002, ...
static bool read_pattern(struct rb_mock_gcp_call *call, const char *pattern, struct rb_gcp_bulk *out)
{
    const size_t n = strlen(pattern), stem = strcspn(pattern, "#");
    if (stem == n || strspn(pattern + stem, "#") != n - stem)
        return rb_gcp_invalid(call, "resource.namePattern", pattern, "It must end with one group of hash signs.");
    for (int k = 0; k < out->count; k++) {
        out->names[k] = rb_arena_printf(call->arena, "%.*s%0*d", (int)stem, pattern, (int)(n - stem), k + 1);
        if (!check_instance_name(call, "resource.namePattern", out->names[k]))
            return false;
    }
    return true;
}

static bool read_given_names(struct rb_mock_gcp_call *call, const struct rb_node *map, struct rb_gcp_bulk *out)
{
    int n = 0;
    if (map->kind != RB_NODE_MAP || map->n_children != out->count)
        return rb_gcp_refuse_field(call, map, "expected a map of as many names as count");
    for (const struct rb_node *child = map->first; child; child = child->next) {
        struct rb_map m;
        const char *same = NULL;
        if (!rb_gcp_map_begin(call, &m, child) || !rb_gcp_get_text(call, &m, "name", &same) ||
            !rb_gcp_map_end(call, &m))
            return false;
        out->names[n++] = child->key;
        if (!check_instance_name(call, "resource.perInstanceProperties", child->key))
            return false;
    }
    return true;
}

static bool read_names(struct rb_mock_gcp_call *call, struct rb_map *m, struct rb_gcp_bulk *out)
{
    const char *pattern = NULL;
    const struct rb_node *given = rb_map_get(m, "perInstanceProperties");
    out->names = rb_arena_array(call->arena, (size_t)out->count, sizeof *out->names);
    if (!rb_gcp_get_text(call, m, "namePattern", &pattern))
        return false;
    if ((pattern != NULL) == (given != NULL))
        return rb_gcp_refuse(call, 400, "required", "Give either namePattern or perInstanceProperties");
    return pattern ? read_pattern(call, pattern, out) : read_given_names(call, given, out);
}

// Only one zone at a time, which is Google's default.
static bool read_locations(struct rb_mock_gcp_call *call, const struct rb_node *node, struct rb_gcp_bulk *out)
{
    static const char *const shapes[] = {"ANY_SINGLE_ZONE"}, *const preferences[] = {"ALLOW", "DENY"};
    struct rb_map m;
    const char *ignored;
    if (!node)
        return true;
    if (call->zone)
        return rb_gcp_refuse_field(call, node, "the zone is in the path");
    if (!rb_gcp_map_begin(call, &m, node) || !rb_gcp_get_choice(call, &m, "targetShape", shapes, 1, &ignored))
        return false;
    out->locations = rb_map_get(&m, "locations");
    for (const struct rb_node *zone = out->locations ? out->locations->first : NULL; zone; zone = zone->next) {
        struct rb_map location;
        if (!rb_gcp_map_begin(call, &location, zone) ||
            !rb_gcp_get_choice(call, &location, "preference", preferences, 2, &ignored) ||
            !rb_gcp_map_end(call, &location))
            return false;
    }
    return rb_gcp_map_end(call, &m);
}

bool rb_gcp_bulk_allows(const struct rb_gcp_bulk *bulk, const char *zone)
{
    bool any_allowed = false;
    for (const struct rb_node *l = bulk->locations ? bulk->locations->first : NULL; l; l = l->next) {
        const struct rb_node *preference = rb_node_member(l, "preference");
        const bool allows = preference && preference->kind == RB_NODE_STRING && strcmp(preference->text, "ALLOW") == 0;
        if (strncmp(l->key, "zones/", 6) == 0 && strcmp(l->key + 6, zone) == 0)
            return allows;
        any_allowed |= allows;
    }
    return !any_allowed; // where some are named as allowed, the others are not
}

bool rb_gcp_read_bulk(struct rb_mock_gcp_call *call, struct rb_gcp_bulk *out, struct rb_cloud_launch *l)
{
    struct rb_map m, properties;
    struct rb_err err = {0};
    const struct rb_node *node;
    int64_t count = 0, min_count = 0;
    *out = (struct rb_gcp_bulk){.instance = {.zone = call->zone, .ordinal = -1}};
    if (!call->body)
        return no_body(call);
    if (!rb_gcp_map_begin(call, &m, call->body) || !rb_gcp_get_int(call, &m, "count", 1, MAX_BULK, &count) ||
        !rb_gcp_get_int(call, &m, "minCount", 1, MAX_BULK, &min_count))
        return false;
    if (count == 0 || min_count > count)
        return rb_gcp_refuse(call, 400, count ? "invalid" : "required",
                             count ? "minCount is larger than count" : "Required field 'count' not specified");
    out->count = (int)count;
    out->min_count = (int)(min_count ? min_count : count);
    if (!read_names(call, &m, out) || !read_locations(call, rb_map_get(&m, "locationPolicy"), out))
        return false;
    if (!rb_map_need(&m, "instanceProperties", &node, &err))
        return rb_gcp_refuse_node(call, &err);
    call->in_template = true;
    return rb_gcp_map_begin(call, &properties, node) && read_properties(call, &properties, &out->instance, l) &&
           rb_gcp_map_end(call, &m);
}
