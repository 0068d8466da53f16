// Field names are those of the API's discovery document (compute v1).
#include "providers/gcp/gcp_encode.h"

#include "base/arena.h"
#include "base/document/json.h"
#include "base/limits.h"
#include "base/text/number.h"
#include "base/text/pattern.h"
#include "base/text/table.h"
#include "providers/gcp/gcp_names.h"
#include "providers/wire/percent.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TOKEN_LEN = 64, MAX_ACCELERATORS = 16, MAX_GANG = 1000 };

// The range of maxRunDuration: half a minute to 120 days.
static const int64_t min_lifetime_s = 30, max_lifetime_s = INT64_C(120) * 86400;

// --- the launch ---

static bool bad_type(const char *instance_type, struct rb_err *err)
{
    return rb_err_set(err, RB_E_GCP_MACHINE,
                      "instance type '%.80s': expected a machine type such as g2-standard-4, or "
                      "n1-standard-8+nvidia-tesla-t4:1 for N1 with up to %d GPUs",
                      instance_type, MAX_ACCELERATORS);
}

bool rb_gcp_machine_type_parse(const char *instance_type, struct rb_gcp_machine_type *out, struct rb_err *err)
{
    if (!rb_pattern_matches(instance_type, "^[a-z][a-z0-9-]{0,62}(\\+[a-z][a-z0-9-]{0,62}(:[0-9]{1,2})?)?$"))
        return bad_type(instance_type, err);
    struct rb_gcp_machine_type t = {0};
    const char *plus = strchr(instance_type, '+');
    snprintf(t.name, sizeof t.name, "%.*s", (int)strcspn(instance_type, "+"), instance_type);
    if (plus) {
        const char *colon = strchr(plus, ':');
        int64_t n = 1;
        snprintf(t.accelerator, sizeof t.accelerator, "%.*s", (int)strcspn(plus + 1, ":"), plus + 1);
        if ((colon && !rb_parse_int(colon + 1, &n)) || n < 1 || n > MAX_ACCELERATORS || strncmp(t.name, "n1-", 3) != 0)
            return bad_type(instance_type, err);
        t.n_accelerators = (int)n;
    }
    *out = t;
    return true;
}

static bool check_image(const struct rb_launch *l, const char *region, struct rb_err *err)
{
    static const char form[] = "projects/PROJECT/global/images/IMAGE or projects/PROJECT/global/images/family/FAMILY";
    if (!l->image_id)
        return rb_err_set(err, RB_E_IMAGE,
                          "gcp/%s: no image; give resources.image_id an entry such as {gcp/%s: "
                          "projects/ubuntu-os-accelerator-images/global/images/family/FAMILY}, with cloud-init in it",
                          region, region);
    if (!rb_pattern_matches(l->image_id,
                            "^projects/[a-z0-9.:-]{1,80}/global/images/(family/)?[a-z]([a-z0-9-]{0,61}[a-z0-9])?$"))
        return rb_err_set(err, RB_E_IMAGE, "resources.image_id: '%.100s': expected %s", l->image_id, form);
    return true;
}

static bool check_network(const struct rb_launch *l, struct rb_err *err)
{
    if (l->subnet &&
        !rb_pattern_matches(l->subnet, "^(projects/[a-z0-9.:-]{1,80}/regions/[a-z0-9-]{1,63}/subnetworks/)?"
                                       "[a-z]([a-z0-9-]{0,61}[a-z0-9])?$"))
        return rb_err_set(err, RB_E_GCP_NETWORK,
                          "resources.subnets: '%.100s': expected the name of a subnetwork of the region, or "
                          "projects/PROJECT/regions/REGION/subnetworks/NAME",
                          l->subnet);
    for (int i = 0; i < l->n_security_groups; i++)
        if (!rb_pattern_matches(l->security_groups[i], "^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$"))
            return rb_err_set(err, RB_E_GCP_NETWORK,
                              "resources.security_groups: '%.80s': expected a network tag (which firewall rules name)",
                              l->security_groups[i]);
    if (l->instance_profile && !rb_pattern_matches(l->instance_profile, "^[a-z0-9.-]{1,80}@[a-z0-9.-]{1,80}$"))
        return rb_err_set(err, RB_E_GCP_NETWORK,
                          "resources.instance_profile: '%.80s': expected the e-mail address of a service account",
                          l->instance_profile);
    return true;
}

static bool check_lifetime(const struct rb_launch *l, struct rb_err *err)
{
    if (l->max_lifetime_s == 0 || (l->max_lifetime_s >= min_lifetime_s && l->max_lifetime_s <= max_lifetime_s))
        return true;
    return rb_err_set(err, RB_E_GCP_LIFETIME,
                      "this launch limits the life of a node to %" PRId64 " s; Compute Engine takes %" PRId64
                      "..%" PRId64 " s: choose another deadline",
                      l->max_lifetime_s, min_lifetime_s, max_lifetime_s);
}

bool rb_gcp_check_launch(const struct rb_launch *l, const char *region, struct rb_err *err)
{
    struct rb_gcp_machine_type type;
    struct rb_gcp_label labels[RB_GCP_MAX_LABELS];
    int n_labels;
    const size_t token_len = l->token ? strlen(l->token) : 0, region_len = strlen(region);
    if (token_len == 0 || token_len > MAX_TOKEN_LEN)
        return rb_err_set(err, RB_E_LAUNCH, "launch token: expected 1..%d characters", MAX_TOKEN_LEN);
    if (l->region && strcmp(l->region, region) != 0)
        return rb_err_set(err, RB_E_REGION, "gcp/%s: asked to launch in region %.60s", region, l->region);
    if (l->zone && (strncmp(l->zone, region, region_len) != 0 || !rb_pattern_matches(l->zone + region_len, "^-[a-z]$")))
        return rb_err_set(err, RB_E_REGION, "gcp/%s: '%.60s' is no zone of it; expected %s-a or the like", region,
                          l->zone, region);
    if (l->disk_gb < 0)
        return rb_err_set(err, RB_E_LAUNCH, "disk size: expected at least 0 GB");
    if (l->count < 0 || l->count > MAX_GANG)
        return rb_err_set(err, RB_E_LAUNCH, "launch: expected a gang of 1..%d machines, got %d", MAX_GANG, l->count);
    if (l->user_data && strlen(l->user_data) > RB_LIMIT_USER_DATA)
        return rb_err_set(err, RB_E_USER_DATA, "user-data: %zu bytes, expected at most %d (RB_LIMIT_USER_DATA)",
                          strlen(l->user_data), RB_LIMIT_USER_DATA);
    return rb_gcp_machine_type_parse(l->instance_type ? l->instance_type : "", &type, err) &&
           check_image(l, region, err) && check_network(l, err) && check_lifetime(l, err) &&
           rb_gcp_labels(&l->tags, labels, &n_labels, err);
}

// --- targets ---

// All zones of the project at once.
#define AGGREGATED "/projects/%s/aggregated/%s?filter=%s&maxResults=500&returnPartialSuccess=true"

// Partial answers: whole ones carry the user-data of every node, its host key included.
#define INSTANCE_FIELDS                                                                                 \
    "name,status,statusMessage,machineType,guestAccelerators,zone,labels,scheduling/provisioningModel," \
    "networkInterfaces(networkIP,accessConfigs/natIP),creationTimestamp,lastStartTimestamp,lastStopTimestamp"

void rb_gcp_target_look(const char *project, const char *zone, const char *name, struct rb_buf *out)
{
    rb_percent_put(out, RB_GCP_INSTANCE "?fields=%s", project, zone, name, "kind," INSTANCE_FIELDS);
}

// Operations name what they are about by the full URL, whatever endpoint was asked.
void rb_gcp_target_history(const char *project, const char *zone, const char *name, const char *page,
                           struct rb_buf *out)
{
    RB_AUTO(rb_buf_finish) struct rb_buf filter = RB_BUF_INIT;
    rb_buf_printf(&filter, "targetLink=\"https://www.googleapis.com/compute/v1/projects/%s/zones/%s/instances/%s\"",
                  project, zone, name);
    rb_percent_put(out, "/projects/%s/zones/%s/operations?filter=%s&fields=%s&pageToken=%s", project, zone,
                   rb_buf_str(&filter),
                   "kind,items(operationType,status,insertTime,endTime,httpErrorStatusCode),nextPageToken", page);
}

void rb_gcp_target_list(const char *project, const char *tag, const char *value, const char *page, struct rb_buf *out)
{
    RB_AUTO(rb_buf_finish) struct rb_buf filter = RB_BUF_INIT;
    rb_gcp_filter(tag, value, &filter);
    rb_percent_put(out, AGGREGATED "&pageToken=%s&fields=%s", project, "instances", rb_buf_str(&filter), page,
                   "kind,items/*/instances(" INSTANCE_FIELDS
                   "),items/*/warning/code,warning/code,unreachables,nextPageToken");
}

void rb_gcp_target_reservations(const char *project, const char *page, struct rb_buf *out)
{
    rb_percent_put(out, "/projects/%s/aggregated/reservations?maxResults=500&returnPartialSuccess=true&pageToken=%s", project,
                   page);
}

void rb_gcp_target_sold(const char *project, const struct rb_gcp_machine_type *type, struct rb_buf *out)
{
    char filter[80];
    const bool attached = type->n_accelerators > 0;
    snprintf(filter, sizeof filter, "name=%s", attached ? type->accelerator : type->name);
    rb_percent_put(out, AGGREGATED, project, attached ? "acceleratorTypes" : "machineTypes", filter);
}

// --- the insert ---

// Families that take no Persistent Disk, only Hyperdisk. Source: "Machine series comparison", 2026.
static const char *disk_type_of(const char *machine_type)
{
    static const char *const hyperdisk_only[] = {"a3-ultragpu-", "a4-", "a4x-", "c4-", "c4a-",
                                                 "c4d-",         "g4-", "h4d-", "n4-", "n4d-"};
    return RB_ROW_STARTING(hyperdisk_only, machine_type) ? "hyperdisk-balanced" : "pd-balanced";
}

static void put_labels(struct rb_json *j, const struct rb_gcp_label *labels, int n)
{
    rb_json_put(j, "labels: {");
    for (int i = 0; i < n; i++)
        rb_json_kstring(j, labels[i].key, labels[i].value);
    rb_json_put(j, "}");
}

// The properties of a gang are a template, which names what there is in every zone.
static void put_zonal(struct rb_json *j, const struct rb_launch *l, const char *key, const char *zone, const char *kind,
                      const char *name)
{
    if (rb_launch_count(l) > 1)
        rb_json_kstring(j, key, name);
    else
        rb_json_put(j, "%s: 'zones/%s/%s/%s'", key, zone, kind, name);
}

// A disk made through the API outlives its machine by default. An int64 is a string in Google's JSON.
static void put_disk(struct rb_json *j, const struct rb_launch *l, const char *zone,
                     const struct rb_gcp_machine_type *type, const struct rb_gcp_label *labels, int n_labels)
{
    rb_json_put(j, "disks: [{boot: true, autoDelete: true, initializeParams: {sourceImage: %s", l->image_id);
    if (l->disk_gb > 0)
        rb_json_put(j, "diskSizeGb: '%jd'", l->disk_gb);
    put_zonal(j, l, "diskType", zone, "diskTypes", disk_type_of(type->name));
    put_labels(j, labels, n_labels);
    rb_json_put(j, "}}]");
}

// Families whose machines know no other network card. Source: "Machine series comparison", 2026.
static bool needs_gvnic(const char *machine_type)
{
    static const char *const families[] = {"a3-",  "a4-",  "a4x-", "c3-", "c3d-", "c4-",
                                           "c4a-", "c4d-", "g4-",  "n4-", "n4d-"};
    return RB_ROW_STARTING(families, machine_type) != NULL;
}

// The address is public because ssh comes from outside.
static void put_network(struct rb_json *j, const struct rb_launch *l, const char *zone,
                        const struct rb_gcp_machine_type *type)
{
    rb_json_put(j, "networkInterfaces: [{");
    if (!l->subnet)
        rb_json_put(j, "network: 'global/networks/default'");
    else if (strchr(l->subnet, '/'))
        rb_json_put(j, "subnetwork: %s", l->subnet);
    else
        rb_json_put(j, "subnetwork: 'regions/%.*s/subnetworks/%s'", (int)strlen(zone) - 2, zone, l->subnet);
    if (needs_gvnic(type->name))
        rb_json_put(j, "nicType: 'GVNIC'");
    rb_json_put(j, "accessConfigs: [{type: 'ONE_TO_ONE_NAT', name: 'External NAT'}]}]");
}

static void put_accelerators(struct rb_json *j, const struct rb_launch *l, const char *zone,
                             const struct rb_gcp_machine_type *type)
{
    if (type->n_accelerators == 0)
        return;
    rb_json_put(j, "guestAccelerators: [{");
    put_zonal(j, l, "acceleratorType", zone, "acceleratorTypes", type->accelerator);
    rb_json_put(j, "acceleratorCount: %d}]", type->n_accelerators);
}

// However it ends (preempted, out of time), it is deleted: stopped, its disk would be billed for ever. Machines with
// GPUs cannot be moved while they run; a node that came back by itself would have lost its trials, so none does.
static void put_scheduling(struct rb_json *j, const struct rb_launch *l)
{
    const bool spot = l->market == RB_MARKET_SPOT;
    rb_json_put(j, "scheduling: {provisioningModel: %s, onHostMaintenance: %s, automaticRestart: false",
                spot ? "SPOT" : "STANDARD", l->may_move && !spot ? "MIGRATE" : "TERMINATE");
    if (spot || l->max_lifetime_s > 0)
        rb_json_put(j, "instanceTerminationAction: 'DELETE'");
    if (l->max_lifetime_s > 0)
        rb_json_put(j, "maxRunDuration: {seconds: '%jd'}", l->max_lifetime_s);
    rb_json_put(j, "}");
}

// Source: "Consume a reservation" in the documentation: a specific one is named, and nothing else is taken.
static void put_reservation(struct rb_json *j, const struct rb_reservation *r)
{
    if (r)
        rb_json_put(j, "reservationAffinity: {consumeReservationType: 'SPECIFIC_RESERVATION' "
                       "key: 'compute.googleapis.com/reservation-name' values: [%s]}",
                    r->id);
}

// Keys of the project stay out: only this run's opens the node.
static void put_metadata(struct rb_json *j, const char *user_data)
{
    static const char cloud_config[] = "#cloud-config";
    rb_json_put(j, "metadata: {items: [{key: 'block-project-ssh-keys', value: 'TRUE'}");
    if (user_data)
        rb_json_put(j, "{key: %s, value: %s}",
                    strncmp(user_data, cloud_config, strlen(cloud_config)) == 0 ? "user-data" : "startup-script",
                    user_data);
    rb_json_put(j, "]}");
}

static void put_tags(struct rb_json *j, const struct rb_launch *l)
{
    for (int i = 0; i < l->n_security_groups; i++)
        rb_json_put(j, i == 0 ? "tags: {items: [%s" : "%s", l->security_groups[i]);
    if (l->n_security_groups > 0)
        rb_json_put(j, "]}");
}

// A node without one has no identity in the cloud, which is the default here. IAM decides what the account may do.
static void put_service_account(struct rb_json *j, const char *email)
{
    if (email)
        rb_json_put(j, "serviceAccounts: [{email: %s, scopes: ['https://www.googleapis.com/auth/cloud-platform']}]",
                    email);
}

// The common properties of every machine of the launch.
struct properties {
    struct rb_gcp_machine_type type;
    struct rb_gcp_label labels[RB_GCP_MAX_LABELS];
    int n_labels;
};

static bool read_properties(const struct rb_launch *l, struct properties *out, struct rb_err *err)
{
    return rb_gcp_machine_type_parse(l->instance_type, &out->type, err) &&
           rb_gcp_labels(&l->tags, out->labels, &out->n_labels, err);
}

static void put_properties(struct rb_json *j, const struct rb_launch *l, const char *zone, const struct properties *p)
{
    rb_json_put(j, "description: %s", l->tags.name);
    put_zonal(j, l, "machineType", zone, "machineTypes", p->type.name);
    put_labels(j, p->labels, p->n_labels);
    put_disk(j, l, zone, &p->type, p->labels, p->n_labels);
    put_network(j, l, zone, &p->type);
    put_accelerators(j, l, zone, &p->type);
    put_scheduling(j, l);
    put_reservation(j, l->reservation);
    put_metadata(j, l->user_data);
    put_tags(j, l);
    put_service_account(j, l->instance_profile);
}

bool rb_gcp_encode_insert(const struct rb_launch *l, const char *zone, const char *name, struct rb_buf *out,
                          struct rb_err *err)
{
    struct properties properties;
    struct rb_json j;
    if (!read_properties(l, &properties, err))
        return false;
    rb_json_init(&j, out, false);
    rb_json_put(&j, "{name: %s", name);
    put_properties(&j, l, zone, &properties);
    rb_json_put(&j, "}");
    return true;
}

bool rb_gcp_encode_bulk_insert(const struct rb_launch *l, const char *zone, const char *gang, struct rb_buf *out,
                               struct rb_err *err)
{
    struct properties properties;
    struct rb_json j;
    char name[RB_GCP_NAME_BYTES];
    if (!read_properties(l, &properties, err))
        return false;
    rb_json_init(&j, out, false);
    rb_json_put(&j, "{count: '%d', minCount: '%d', perInstanceProperties: {", l->count, l->count);
    for (int i = 0; i < l->count; i++) {
        rb_gcp_member_name(gang, i, name);
        rb_json_put(&j, "%s: {}", name);
    }
    rb_json_put(&j, "}, instanceProperties: {");
    put_properties(&j, l, zone, &properties);
    rb_json_put(&j, "}}");
    return true;
}

bool rb_gcp_encode_labels(const struct rb_gcp_labelled *now, const struct rb_tag *tag, struct rb_buf *out,
                          struct rb_err *err)
{
    struct rb_gcp_label labels[RB_GCP_MAX_LABELS];
    struct rb_json j;
    int n = 0;
    if (!rb_gcp_put_label(tag, labels, &n, err))
        return false;
    rb_json_init(&j, out, false);
    rb_json_put(&j, "{labels: {");
    for (int i = 0; i < now->n; i++)
        if (!rb_gcp_is_label_of(now->labels[i].key, tag->key))
            rb_json_kstring(&j, now->labels[i].key, now->labels[i].value);
    for (int i = 0; i < n; i++)
        rb_json_kstring(&j, labels[i].key, labels[i].value);
    rb_json_put(&j, "}, labelFingerprint: %s}", now->fingerprint);
    return true;
}
