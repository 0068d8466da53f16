// What the methods of the Compute Engine front share: the call they serve, refusing it, reading queries and bodies, pages,
// and writing resources.
#ifndef RB_PROVIDERS_MOCK_MOCK_GCP_CALL_H
#define RB_PROVIDERS_MOCK_MOCK_GCP_CALL_H

#include "base/doc.h"
#include "base/json.h"
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
    bool in_template;              // the body names what there is in every zone: by plain names
    int64_t now_us;
    struct rb_json json;           // the answer
    struct rb_mock_gcp_refusal refusal;
    struct rb_chaos_verdict chaos;
};

// A method reads all its query parameters and its body, calls rb_gcp_checked, and only then changes anything.
// false: refused, call->refusal says why, nothing was changed.
typedef bool rb_mock_gcp_method_fn(struct rb_mock_gcp_call *call);

rb_mock_gcp_method_fn rb_gcp_project_get, rb_gcp_regions_list, rb_gcp_region_get, rb_gcp_zones_list, rb_gcp_zone_get,
    rb_gcp_image_get, rb_gcp_images_list, rb_gcp_disks_list, rb_gcp_disks_aggregated, rb_gcp_disk_get, rb_gcp_instance_stop,
    rb_gcp_instance_set_metadata, rb_gcp_instance_serial_port, rb_gcp_machine_types_list, rb_gcp_machine_type_get, rb_gcp_machine_types_aggregated,
    rb_gcp_accelerator_types_list, rb_gcp_accelerator_type_get, rb_gcp_accelerator_types_aggregated,
    rb_gcp_instances_insert, rb_gcp_instances_bulk_insert, rb_gcp_instances_list, rb_gcp_instances_aggregated, rb_gcp_instance_get,
    rb_gcp_instance_delete, rb_gcp_instance_set_labels, rb_gcp_operations_list, rb_gcp_operations_aggregated, rb_gcp_operation_get,
    rb_gcp_operation_wait, rb_gcp_skus_list, rb_gcp_test_permissions;

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
// `requestId`: NULL or a UUID that is not zero.
bool rb_gcp_read_request_id(struct rb_mock_gcp_call *call, const char **out);
// A full URL of Compute Engine's, or of this endpoint, without its beginning; anything else as it is.
const char *rb_gcp_without_host(struct rb_mock_gcp_call *call, const char *link);
// The name at the end of a link, full or partial ("zones/Z/machineTypes/T"), to a resource of this project and zone.
bool rb_gcp_read_link(struct rb_mock_gcp_call *call, const char *field, const char *link, const char *collection,
                      const char *zone, const char **out_name);

// --- lists: filter, maxResults, pageToken ---

struct rb_gcp_page {
    int64_t limit, after, last;
    int64_t n;
    bool more, partial_success;
    struct rb_mock_gcp_filter filter;
};

// `known`, `field`: of the filter. A call that takes no filter passes NULL for both.
bool rb_gcp_read_page(struct rb_mock_gcp_call *call, const char *const *known, rb_mock_gcp_field_fn *field,
                      struct rb_gcp_page *out);
// Does the item at this position (rising) match and belong to the page?
bool rb_gcp_page_take(struct rb_gcp_page *p, int64_t position, const void *item);
// kind, id, selfLink, and at the end nextPageToken.
void rb_gcp_begin_list(struct rb_mock_gcp_call *call, const char *kind);
void rb_gcp_end_list(struct rb_mock_gcp_call *call, const struct rb_gcp_page *p);
// An aggregated list: `visit` takes the page's items of one zone (their positions begin at `first`), writes them if told
// to, and returns how many it took.
typedef int rb_gcp_visit_fn(struct rb_mock_gcp_call *call, const char *zone, int64_t first, struct rb_gcp_page *p,
                            bool write);
bool rb_gcp_aggregated(struct rb_mock_gcp_call *call, const char *kind, const char *collection, struct rb_gcp_page *p,
                       rb_gcp_visit_fn *visit);

// --- writing ---

void rb_gcp_klink(struct rb_mock_gcp_call *call, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 3, 4))); // RB_GCP_LINK projects/P/...
// Begins a resource that the cloud has from its beginning: kind, id, creationTimestamp, name.
void rb_gcp_begin_resource(struct rb_mock_gcp_call *call, const char *kind, const char *name);
void rb_gcp_kid(struct rb_json *j, const char *key, uint64_t id);            // int64 is text in Google's JSON
void rb_gcp_kinstant(struct rb_json *j, const char *key, int64_t unix_us);  // 2026-08-01T12:00:00.250-00:00
const struct rb_cloud_region *rb_gcp_region_of_zone(const struct rb_cloud *cloud, const char *zone); // NULL: none

// Compute Engine's name of an offer's accelerator ("nvidia-l4"), NULL: it has none.
const char *rb_gcp_accelerator_type(const struct rb_offer *o);
// The machine type of an offer: what stands before a '+' in its instance_type ("n1-standard-8+nvidia-tesla-t4").
const char *rb_gcp_machine_type(const struct rb_offer *o, struct rb_arena *arena);
// What an image is called, however a body names it: "projects/P/global/images/[family/]I".
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
// Its metadata; what the node is told goes to *launch.
bool rb_gcp_read_metadata(struct rb_mock_gcp_call *call, const struct rb_node *node, struct rb_mock_gcp_instance *out,
                          struct rb_cloud_launch *launch);
// A list of metadata items, into *out.
bool rb_gcp_read_items(struct rb_mock_gcp_call *call, const struct rb_node *list, struct rb_mock_gcp_instance *out);
// A map of label to value, as it may stand in a body.
bool rb_gcp_read_labels(struct rb_mock_gcp_call *call, const struct rb_node *node, const struct rb_cloud_tag **out,
                        int *out_n);

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

// An earlier operation of this requestId: answers with it and returns true, or refuses (*out_refused) if it was asked
// for something else. false: none.
bool rb_gcp_repeat(struct rb_mock_gcp_call *call, const char *request_id, bool *out_refused);
struct rb_mock_gcp_operation *rb_gcp_begin_operation(struct rb_mock_gcp_call *call, enum rb_mock_gcp_deed deed,
                                                     const struct rb_mock_gcp_instance *i, const char *request_id);
void rb_gcp_write_operation(struct rb_mock_gcp_call *call, const struct rb_mock_gcp_operation *o);
// What the cloud did of its own accord since (preemptions, ends of allowed time, machines that shut themselves down) becomes operations.
void rb_gcp_notice_events(struct rb_mock_gcp *gcp);

#endif
