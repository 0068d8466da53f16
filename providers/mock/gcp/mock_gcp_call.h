// What the methods of the Compute Engine front share: the call they serve, refusing it, reading queries and bodies,
// pages, and writing resources.
#ifndef RB_PROVIDERS_MOCK_MOCK_GCP_CALL_H
#define RB_PROVIDERS_MOCK_MOCK_GCP_CALL_H

#include "base/document/doc.h"
#include "base/document/json.h"
#include "providers/mock/cloud/page.h"
#include "providers/mock/ec2/mock_ec2_form.h"
#include "providers/mock/gcp/mock_gcp_filter.h"
#include "providers/mock/gcp/mock_gcp_state.h"

#define RB_GCP_LINK "https://www.googleapis.com/compute/v1/"

struct rb_mock_gcp_refusal {
    int status;
    const char *reason; // "notFound"
    const char *domain; // "global", "usageLimits"
    char message[512];
};

struct rb_mock_gcp_call {
    struct rb_mock_gcp *gcp;
    struct rb_cloud *cloud;
    struct rb_arena *arena;        // lives as long as the call
    const struct rb_exchange_request *request;
    struct rb_form query;
    const struct rb_node *body;    // NULL: none, or not JSON
    const char *project, *region, *zone, *name; // of the path; NULL: not in it
    const struct rb_gcp_collection *collection; // of the route; NULL: none
    bool in_template;              // the body names what there is in every zone: by plain names
    int64_t now_us;
    struct rb_json json;           // the answer
    struct rb_mock_gcp_refusal refusal;
    struct rb_chaos_verdict chaos;
};

// A method reads all its query parameters and its body, calls rb_gcp_checked, and only then changes anything.
// false: refused, call->refusal says why, nothing was changed.
typedef bool rb_mock_gcp_method_fn(struct rb_mock_gcp_call *call);

rb_mock_gcp_method_fn rb_gcp_project_get, rb_gcp_image_get, rb_gcp_disk_get, rb_gcp_instance_get, rb_gcp_instance_stop,
    rb_gcp_instance_set_metadata, rb_gcp_instance_serial_port, rb_gcp_instances_insert, rb_gcp_instances_bulk_insert,
    rb_gcp_instance_delete, rb_gcp_instance_set_labels, rb_gcp_operation_get, rb_gcp_skus_list, rb_gcp_test_permissions;
// The methods of a collection: list, aggregatedList, and get by the name in the path.
rb_mock_gcp_method_fn rb_gcp_list, rb_gcp_aggregated, rb_gcp_get;

// A kind of resource that can be listed.
struct rb_gcp_collection {
    const char *name, *kind;        // "machineTypes", "machineType"
    const char *const *fields;      // that filters know, see mock_gcp_filter.h
    rb_mock_gcp_field_fn *field;
    int (*count)(struct rb_mock_gcp_call *call);
    // The k-th item; NULL: it is not in the zone (zone NULL: the collection has no zones), or listings do not show it.
    const void *(*at)(struct rb_mock_gcp_call *call, const char *zone, int k);
    void (*write)(struct rb_mock_gcp_call *call, const char *zone, const void *item);
};
extern const struct rb_gcp_collection rb_gcp_regions, rb_gcp_zones, rb_gcp_images, rb_gcp_disks, rb_gcp_instances,
    rb_gcp_machine_types, rb_gcp_accelerator_types, rb_gcp_operations, rb_gcp_reservations;

// --- permissions: all are granted but those the cloud file denies ---

// Does the cloud file deny what the action needs ("instances.insert": compute.instances.create)?
bool rb_gcp_check_permission(struct rb_mock_gcp_call *call, const char *action);
// Takes ":verb" off the project of the path; refuses any other.
bool rb_gcp_take_verb(struct rb_mock_gcp_call *call, const char *verb);

// --- refusing; all return false ---

bool rb_gcp_refuse(struct rb_mock_gcp_call *call, int status, const char *reason, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
bool rb_gcp_not_found(struct rb_mock_gcp_call *call, const char *kind, const char *name); // "instances", "rb-1"
bool rb_gcp_invalid(struct rb_mock_gcp_call *call, const char *field, const char *value, const char *why);

// --- reading ---

// Every query parameter given has been asked for; refuses otherwise.
bool rb_gcp_checked(struct rb_mock_gcp_call *call);
// A full URL of Compute Engine's, or of this endpoint, without its beginning; anything else as it is.
const char *rb_gcp_without_host(struct rb_mock_gcp_call *call, const char *link);
// The name at the end of a link, full or partial ("zones/Z/machineTypes/T"), to a resource of this project and zone.
bool rb_gcp_read_link(struct rb_mock_gcp_call *call, const char *field, const char *link, const char *collection,
                      const char *zone, const char **out_name);

// An optional number in the query; absent or empty: *out stays.
bool rb_gcp_read_number(struct rb_mock_gcp_call *call, const char *name, int64_t min, int64_t max, int64_t *out);

// --- lists: filter, maxResults, pageToken ---

struct rb_gcp_page {
    struct rb_mock_page page;
    bool partial_success;
    struct rb_mock_gcp_filter filter;
};

// --- writing; texts live as long as the call ---

const char *rb_gcp_link(struct rb_mock_gcp_call *call, const char *fmt, ...)
    __attribute__((format(printf, 2, 3))); // RB_GCP_LINK projects/P...
const char *rb_gcp_instant(struct rb_mock_gcp_call *call, int64_t unix_us); // 2026-08-01T05:00:00.250-07:00
// Begins a resource that the cloud has from its beginning: kind, id, creationTimestamp, name.
void rb_gcp_begin_resource(struct rb_mock_gcp_call *call, const char *kind, const char *name);
const struct rb_cloud_region *rb_gcp_region_of_zone(const struct rb_cloud *cloud, const char *zone); // NULL: none

// Compute Engine's name of an offer's accelerator ("nvidia-l4"), NULL: it has none.
const char *rb_gcp_accelerator_type(const struct rb_offer *o);
// The machine type of an offer: the part before a '+' in its instance_type ("n1-standard-8+nvidia-tesla-t4").
const char *rb_gcp_machine_type(const struct rb_offer *o, struct rb_arena *arena);
// The canonical name of an image, in any of the forms that a body uses: "projects/P/global/images/[family/]I".
const char *rb_gcp_image_of(struct rb_mock_gcp_call *call, const char *link);
// image: "projects/P/global/images/[family/]I". Those of Google's public projects all exist.
bool rb_gcp_image_exists(const struct rb_mock_gcp_call *call, const char *image);
bool rb_gcp_takes_guest_accelerators(const char *machine_type); // n1-*

// --- instances and operations ---

// The body of an insert, strictly; *out and *launch live as long as the call. *launch lacks place and labels.
bool rb_gcp_read_insert(struct rb_mock_gcp_call *call, struct rb_mock_gcp_instance *out, struct rb_cloud_launch *launch);
// The body of a bulkInsert likewise.
struct rb_gcp_bulk {
    struct rb_mock_gcp_instance instance; // what each of them is; nameless
    const char **names;                   // [count]
    int count, min_count;
    const struct rb_node *locations;      // NULL: every zone is as good
};
bool rb_gcp_read_bulk(struct rb_mock_gcp_call *call, struct rb_gcp_bulk *out, struct rb_cloud_launch *launch);
bool rb_gcp_bulk_allows(const struct rb_gcp_bulk *bulk, const char *zone);
// Its metadata; user data for the node goes to *launch.
bool rb_gcp_read_metadata(struct rb_mock_gcp_call *call, const struct rb_node *node, struct rb_mock_gcp_instance *out,
                          struct rb_cloud_launch *launch);
const char *rb_gcp_metadata_of(const struct rb_mock_gcp_instance *i, const char *key); // NULL: none
// A list of metadata items, into *out.
bool rb_gcp_read_items(struct rb_mock_gcp_call *call, const struct rb_node *list, struct rb_mock_gcp_instance *out);
// A map of label to value from a body.
bool rb_gcp_read_labels(struct rb_mock_gcp_call *call, const struct rb_node *node, const struct rb_cloud_tag **out,
                        int *out_n);

int rb_gcp_count_instances(struct rb_mock_gcp_call *call);
// The instance of the path, with a machine; NULL: refused. kind: what was asked for, "instances".
struct rb_mock_gcp_instance *rb_gcp_need_machine(struct rb_mock_gcp_call *call, const char *kind);
// NULL: gone, or never there.
struct rb_mock_gcp_instance *rb_gcp_find_instance(struct rb_mock_gcp_call *call, const char *zone, const char *name);
bool rb_gcp_instance_exists(const struct rb_mock_gcp *gcp, const struct rb_mock_gcp_instance *i, int64_t now_us);
const char *rb_gcp_status(const struct rb_mock_gcp *gcp, const struct rb_mock_gcp_instance *i, int64_t now_us);
const struct rb_cloud_instance *rb_gcp_machine(const struct rb_mock_gcp *gcp, const struct rb_mock_gcp_instance *i);
const char *rb_gcp_label(const struct rb_mock_gcp *gcp, const struct rb_mock_gcp_instance *i, const char *key);
void rb_gcp_label_fingerprint(const struct rb_mock_gcp_instance *i, char out[static 16]);
void rb_gcp_metadata_fingerprint(const struct rb_mock_gcp_instance *i, char out[static 16]);
int64_t rb_gcp_disk_gb(const struct rb_mock_gcp_instance *i); // as asked for, else the image's
void rb_gcp_write_instance(struct rb_mock_gcp_call *call, const struct rb_mock_gcp_instance *i);

// Begins a method that changes something: reads `requestId` (NULL: none) and checks that the query holds nothing
// unknown. False: the request was refused or answered by the operation of its first time, and the method returns
// *out_result.
bool rb_gcp_begin_change(struct rb_mock_gcp_call *call, const char **out_request_id, bool *out_result);
// The last part of rb_gcp_begin_change: no operation has this request id.
bool rb_gcp_is_first_time(struct rb_mock_gcp_call *call, const char *request_id, bool *out_result);
struct rb_mock_gcp_operation *rb_gcp_begin_operation(struct rb_mock_gcp_call *call, enum rb_mock_gcp_deed deed,
                                                     const struct rb_mock_gcp_instance *i, const char *request_id);
void rb_gcp_write_operation(struct rb_mock_gcp_call *call, const struct rb_mock_gcp_operation *o);
// Changes that the cloud made by itself since (preemptions, ends of allowed time, machines that shut themselves down)
// becomes operations.
void rb_gcp_notice_events(struct rb_mock_gcp *gcp);

#endif
