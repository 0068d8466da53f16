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

// --- the body, and what is read of it besides the instance ---

struct body {
    struct rb_mock_gcp_instance i;
    bool boot, auto_delete, preemptible, protect;
    const char *image, *disk_type, *type, *on_maintenance, *accelerator_type;
    int64_t accelerators;
    const struct rb_node *disk, *access, *accelerator, *scheduling; // NULL: not said
    const struct rb_node *labels, *disk_labels, *metadata, *scopes, *tags, *affinity, *reservations;
};

#define AT(field)     offsetof(struct body, field)
#define OF(field)     offsetof(struct body, i.field)
#define IGNORED       RB_MEMBER_IGNORED
#define NOTHING_OF_IT "this mock cloud has nothing of the kind; leave it out"

static const struct rb_member initialize[] = {
    {"sourceImage", RB_MEMBER_TEXT, AT(image), .needed = true},
    {"diskSizeGb", RB_MEMBER_INT, OF(disk_gb), .min = 10, .max = MAX_DISK_GB, .is_text_too = true},
    {"diskType", RB_MEMBER_TEXT, AT(disk_type)},
    {"diskName", RB_MEMBER_TEXT, IGNORED},
    {"description", RB_MEMBER_TEXT, IGNORED},
    {"resourceManagerTags", RB_MEMBER_EMPTY, IGNORED, .refusal = NOTHING_OF_IT},
    {"labels", RB_MEMBER_NODE, AT(disk_labels)},
    {0},
};
static const struct rb_member disk[] = {
    {"boot", RB_MEMBER_BOOL, AT(boot)},
    {"autoDelete", RB_MEMBER_BOOL, AT(auto_delete)},
    {"type", RB_MEMBER_WORD, IGNORED, .choices = {"PERSISTENT"}},
    {"mode", RB_MEMBER_WORD, IGNORED, .choices = {"READ_WRITE"}},
    {"interface", RB_MEMBER_WORD, IGNORED, .choices = {"SCSI", "NVME"}},
    {"deviceName", RB_MEMBER_TEXT, IGNORED},
    {"initializeParams", RB_MEMBER_MAP, IGNORED, .needed = true, .members = initialize},
    {0},
};
static const struct rb_member access[] = {
    {"type", RB_MEMBER_WORD, IGNORED, .choices = {"ONE_TO_ONE_NAT"}},
    {"name", RB_MEMBER_TEXT, IGNORED},
    {"networkTier", RB_MEMBER_WORD, IGNORED, .choices = {"PREMIUM", "STANDARD"}},
    {0},
};
static const struct rb_member network[] = {
    {"network", RB_MEMBER_TEXT, OF(network)},
    {"subnetwork", RB_MEMBER_TEXT, OF(subnetwork)},
    {"nicType", RB_MEMBER_WORD, OF(nic_type), .choices = {"GVNIC", "VIRTIO_NET"}},
    {"stackType", RB_MEMBER_WORD, IGNORED, .choices = {"IPV4_ONLY"}},
    {"accessConfigs", RB_MEMBER_ONLY, AT(access), .members = access,
     .refusal = "expected at most one access configuration"},
    {0},
};
static const struct rb_member max_run[] = {
    {"seconds", RB_MEMBER_INT, OF(max_run_s), .min = MIN_RUN_S, .max = MAX_RUN_S, .is_text_too = true},
    {"nanos", RB_MEMBER_INT, IGNORED, .is_text_too = true},
    {0},
};
static const struct rb_member scheduling[] = {
    {"provisioningModel", RB_MEMBER_WORD, OF(provisioning_model), .choices = {"STANDARD", "SPOT"}},
    {"instanceTerminationAction", RB_MEMBER_WORD, OF(termination_action), .choices = {"STOP", "DELETE"}},
    {"onHostMaintenance", RB_MEMBER_WORD, AT(on_maintenance), .choices = {"MIGRATE", "TERMINATE"}},
    {"automaticRestart", RB_MEMBER_BOOL, OF(automatic_restart)},
    {"preemptible", RB_MEMBER_BOOL, AT(preemptible)},
    {"maxRunDuration", RB_MEMBER_MAP, IGNORED, .members = max_run},
    {0},
};
static const struct rb_member affinity[] = {
    {"consumeReservationType", RB_MEMBER_WORD, OF(consumes),
     .choices = {"ANY_RESERVATION", "NO_RESERVATION", "SPECIFIC_RESERVATION"}},
    {"key", RB_MEMBER_WORD, IGNORED, .choices = {"compute.googleapis.com/reservation-name"}},
    {"values", RB_MEMBER_NODE, AT(reservations)},
    {0},
};
static const struct rb_member accelerator[] = {
    {"acceleratorType", RB_MEMBER_TEXT, AT(accelerator_type), .needed = true},
    {"acceleratorCount", RB_MEMBER_INT, AT(accelerators), .min = 1, .max = 16, .is_text_too = true},
    {0},
};
static const struct rb_member service_account[] = {
    {"email", RB_MEMBER_TEXT, OF(service_account), .needed = true},
    {"scopes", RB_MEMBER_NODE, AT(scopes)},
    {0},
};
static const struct rb_member shield[] = {
    {"enableSecureBoot", RB_MEMBER_BOOL, IGNORED},
    {"enableVtpm", RB_MEMBER_BOOL, IGNORED},
    {"enableIntegrityMonitoring", RB_MEMBER_BOOL, IGNORED},
    {0},
};
static const struct rb_member network_tags[] = {{"items", RB_MEMBER_NODE, AT(tags)}, {0}};

static const struct rb_member properties[] = {
    {"name", RB_MEMBER_TEXT, OF(name)},
    {"machineType", RB_MEMBER_TEXT, AT(type), .needed = true},
    {"description", RB_MEMBER_TEXT, OF(description)},
    {"canIpForward", RB_MEMBER_BOOL, IGNORED},
    {"deletionProtection", RB_MEMBER_BOOL, AT(protect)},
    {"disks", RB_MEMBER_ONLY, AT(disk), .needed = true, .members = disk, .refusal = "expected one disk, the boot disk"},
    {"networkInterfaces", RB_MEMBER_ONLY, IGNORED, .needed = true, .members = network,
     .refusal = "expected one network interface"},
    {"scheduling", RB_MEMBER_MAP, AT(scheduling), .members = scheduling},
    {"reservationAffinity", RB_MEMBER_MAP, AT(affinity), .members = affinity},
    {"guestAccelerators", RB_MEMBER_ONLY, AT(accelerator), .members = accelerator,
     .refusal = "expected one type of accelerators"},
    {"labels", RB_MEMBER_NODE, AT(labels)},
    {"metadata", RB_MEMBER_NODE, AT(metadata)},
    {"serviceAccounts", RB_MEMBER_ONLY, IGNORED, .members = service_account,
     .refusal = "expected at most one service account"},
    {"tags", RB_MEMBER_MAP, IGNORED, .members = network_tags},
    {"shieldedInstanceConfig", RB_MEMBER_MAP, IGNORED, .members = shield},
    {0},
};

// --- what its members mean together ---

static bool read_disk(struct rb_mock_gcp_call *call, struct body *b)
{
    const struct rb_cloud_tag *labels;
    int n_labels;
    if (!b->boot)
        return rb_gcp_refuse_field(call, b->disk, "this mock cloud attaches no disk but the boot disk");
    if (!b->auto_delete)
        return rb_gcp_refuse_field(call, b->disk,
                                   "autoDelete is not set: on Compute Engine this disk outlives its instance and "
                                   "is billed for ever; this mock cloud has no such disks");
    b->i.source_image = rb_gcp_image_of(call, b->image);
    if (!rb_gcp_image_exists(call, b->i.source_image))
        return rb_gcp_refuse(call, 404, "notFound", "The resource '%.200s' was not found", b->i.source_image);
    b->i.disk_type = "pd-standard";
    return rb_gcp_read_labels(call, b->disk_labels, &labels, &n_labels) &&
           (!b->disk_type || rb_gcp_read_link(call, "resource.disks[0].initializeParams.diskType", b->disk_type,
                                              "diskTypes", call->zone, &b->i.disk_type));
}

static bool read_scheduling(struct rb_mock_gcp_call *call, struct body *b)
{
    struct rb_mock_gcp_instance *i = &b->i;
    const bool spot = strcmp(i->provisioning_model, "SPOT") == 0;
    const bool asks_restart = rb_node_member(b->scheduling, "automaticRestart") && i->automatic_restart;
    i->terminate_on_maintenance = b->on_maintenance ? b->on_maintenance[0] == 'T' : spot;
    i->automatic_restart &= !spot;
    const char *why = b->preemptible && !spot ? "preemptible instances are requested as provisioningModel SPOT"
                      : spot && asks_restart  ? "Automatic restart is not supported for spot instances"
                      : i->max_run_s > 0 && !i->termination_action
                          ? "instanceTerminationAction must be given with maxRunDuration"
                      : !spot && i->max_run_s == 0 && i->termination_action
                          ? "instanceTerminationAction is for spot instances and for maxRunDuration"
                      : spot && !i->terminate_on_maintenance ? "onHostMaintenance must be TERMINATE for spot instances"
                                                             : NULL;
    return !why || rb_gcp_refuse_field(call, b->scheduling, why);
}

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

static bool read_affinity(struct rb_mock_gcp_call *call, struct body *b)
{
    struct rb_mock_gcp_instance *i = &b->i;
    if (!read_text_list(call, b->reservations, &i->reservations, &i->n_reservations))
        return false;
    const bool is_specific = i->consumes && strcmp(i->consumes, "SPECIFIC_RESERVATION") == 0;
    if (is_specific != (i->n_reservations == 1))
        return rb_gcp_refuse_field(call, b->affinity, "SPECIFIC_RESERVATION names one reservation, and nothing else does");
    return !is_specific || strcmp(i->provisioning_model, "SPOT") != 0 ||
           rb_gcp_refuse_field(call, b->affinity, "spot instances do not consume reservations");
}

static bool check_instance_name(struct rb_mock_gcp_call *call, const char *field, const char *name)
{
    return is_name(name) ||
           rb_gcp_invalid(call, field, name, "Must be a match of regex '(?:[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?)'");
}

// named: of a single instance. The names of a bulk stand beside its properties.
static bool read_properties(struct rb_mock_gcp_call *call, const struct rb_node *node, bool named,
                            struct rb_mock_gcp_instance *out, struct rb_cloud_launch *l)
{
    struct body b = {.i = *out, .accelerators = 1};
    const char *const *scopes;
    int n_scopes;
    b.i.provisioning_model = "STANDARD";
    b.i.automatic_restart = true;
    if (!rb_gcp_members_read(call, node, properties, &b))
        return false;
    if (named && !b.i.name)
        return rb_gcp_invalid(call, "resource.name", "", "It is required.");
    if (!named && b.i.name)
        return rb_gcp_refuse_field(call, rb_node_member(node, "name"), "the properties of a bulk hold no name");
    if (named && !check_instance_name(call, "resource.name", b.i.name))
        return false;
    if (b.protect)
        return rb_gcp_invalid(call, "resource.deletionProtection", "true", "This mock cloud has none.");
    b.i.has_nat = b.access != NULL;
    b.i.accelerators = b.accelerator ? (int)b.accelerators : 0;
    if (!rb_gcp_read_link(call, "resource.machineType", b.type, "machineTypes", call->zone, &b.i.machine_type) ||
        !read_disk(call, &b) || !read_scheduling(call, &b) ||
        (b.accelerator && !rb_gcp_read_link(call, "resource.guestAccelerators[0].acceleratorType", b.accelerator_type,
                                            "acceleratorTypes", call->zone, &b.i.accelerator_type)) ||
        !rb_gcp_read_labels(call, b.labels, &b.i.labels, &b.i.n_labels) ||
        !rb_gcp_read_metadata(call, b.metadata, &b.i, l) || !read_text_list(call, b.scopes, &scopes, &n_scopes) ||
        !read_affinity(call, &b) ||
        !read_text_list(call, b.tags, &b.i.network_tags, &b.i.n_network_tags))
        return false;
    *out = b.i;
    return true;
}

static bool no_body(struct rb_mock_gcp_call *call)
{
    return rb_gcp_refuse(call, 400, "parseError", "The request needs a body that is JSON");
}

bool rb_gcp_read_insert(struct rb_mock_gcp_call *call, struct rb_mock_gcp_instance *i, struct rb_cloud_launch *l)
{
    *i = (struct rb_mock_gcp_instance){.zone = call->zone, .ordinal = -1};
    return call->body ? read_properties(call, call->body, true, i, l) : no_body(call);
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
        static const struct rb_member same[] = {{"name", RB_MEMBER_TEXT, IGNORED}, {0}};
        out->names[n++] = child->key;
        if (!rb_gcp_members_read(call, child, same, NULL) ||
            !check_instance_name(call, "resource.perInstanceProperties", child->key))
            return false;
    }
    return true;
}

static bool read_names(struct rb_mock_gcp_call *call, const char *pattern, const struct rb_node *given,
                       struct rb_gcp_bulk *out)
{
    out->names = rb_arena_array(call->arena, (size_t)out->count, sizeof *out->names);
    if ((pattern != NULL) == (given != NULL))
        return rb_gcp_refuse(call, 400, "required", "Give either namePattern or perInstanceProperties");
    return pattern ? read_pattern(call, pattern, out) : read_given_names(call, given, out);
}

static const struct rb_member policy[] = {
    {"targetShape", RB_MEMBER_WORD, IGNORED, .choices = {"ANY_SINGLE_ZONE"}},
    {"locations", RB_MEMBER_NODE, offsetof(struct rb_gcp_bulk, locations)},
    {0},
};
static const struct rb_member location[] = {{"preference", RB_MEMBER_WORD, IGNORED, .choices = {"ALLOW", "DENY"}}, {0}};

// Only one zone at a time, which is Google's default.
static bool read_locations(struct rb_mock_gcp_call *call, const struct rb_node *node, struct rb_gcp_bulk *out)
{
    if (!node)
        return true;
    if (call->zone)
        return rb_gcp_refuse_field(call, node, "the zone is in the path");
    if (!rb_gcp_members_read(call, node, policy, out))
        return false;
    for (const struct rb_node *zone = out->locations ? out->locations->first : NULL; zone; zone = zone->next)
        if (!rb_gcp_members_read(call, zone, location, out))
            return false;
    return true;
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
    struct bulk {
        int64_t count, min_count;
        const char *pattern;
        const struct rb_node *names, *locations, *properties;
    } b = {0};
    static const struct rb_member members[] = {
        {"count", RB_MEMBER_INT, offsetof(struct bulk, count), .min = 1, .max = MAX_BULK, .is_text_too = true},
        {"minCount", RB_MEMBER_INT, offsetof(struct bulk, min_count), .min = 1, .max = MAX_BULK, .is_text_too = true},
        {"namePattern", RB_MEMBER_TEXT, offsetof(struct bulk, pattern)},
        {"perInstanceProperties", RB_MEMBER_NODE, offsetof(struct bulk, names)},
        {"locationPolicy", RB_MEMBER_NODE, offsetof(struct bulk, locations)},
        {"instanceProperties", RB_MEMBER_NODE, offsetof(struct bulk, properties), .needed = true},
        {0},
    };
    *out = (struct rb_gcp_bulk){.instance = {.zone = call->zone, .ordinal = -1}};
    if (!call->body)
        return no_body(call);
    if (!rb_gcp_members_read(call, call->body, members, &b))
        return false;
    if (b.count == 0 || b.min_count > b.count)
        return rb_gcp_refuse(call, 400, b.count ? "invalid" : "required",
                             b.count ? "minCount is larger than count" : "Required field 'count' not specified");
    out->count = (int)b.count;
    out->min_count = (int)(b.min_count ? b.min_count : b.count);
    if (!read_names(call, b.pattern, b.names, out) || !read_locations(call, b.locations, out))
        return false;
    call->in_template = true;
    return read_properties(call, b.properties, false, &out->instance, l);
}
