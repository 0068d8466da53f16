// The state of the Compute Engine front besides the cloud: instances under their names, and operations. Only
// mock_gcp*.c include it.
#ifndef RB_PROVIDERS_MOCK_MOCK_GCP_STATE_H
#define RB_PROVIDERS_MOCK_MOCK_GCP_STATE_H

#include "providers/mock/gcp/mock_gcp.h"
#include "providers/mock/gcp/mock_gcp_token.h"

struct rb_mock_gcp_pair {
    const char *key, *value;
};

// An instance as it was inserted. Names may be used again once the machine is gone, so they do not identify it.
struct rb_mock_gcp_instance {
    uint64_t id;
    const char *name, *zone;        // name of the zone, "us-central1-a"
    int ordinal;                    // in the cloud; -1: there was no capacity for it
    int64_t inserted_us;
    int64_t failed_us;              // ordinal -1: when its operation says so
    const char *description;        // NULL: none
    const char *machine_type;
    const char *source_image, *disk_type;
    int64_t disk_gb;                // 0: the image's own size
    const char *network, *subnetwork, *nic_type; // NULL: not said
    bool has_nat;
    const char *provisioning_model; // "STANDARD", "SPOT"
    const char *termination_action; // NULL: none
    bool automatic_restart, terminate_on_maintenance;
    int64_t max_run_s;              // 0: none
    const char *consumes;           // consumeReservationType; NULL: not said
    const char *const *reservations; // of SPECIFIC_RESERVATION
    int n_reservations;
    const char *accelerator_type;   // NULL: none besides the machine type's own
    int accelerators;
    const struct rb_mock_gcp_pair *metadata;
    const struct rb_cloud_tag *labels; // as inserted; of an instance with an ordinal the cloud's tags count
    int n_metadata, n_labels;
    uint32_t label_version;         // rises with every setLabels; the fingerprint
    uint32_t metadata_version;      // likewise with setMetadata
    const char *service_account;    // NULL: none
    const char *const *network_tags;
    int n_network_tags;
};

enum rb_mock_gcp_deed {
    RB_GCP_INSERT,
    RB_GCP_DELETE,
    RB_GCP_SET_LABELS,
    RB_GCP_SET_METADATA,
    RB_GCP_STOP,
    RB_GCP_PREEMPT,
    RB_GCP_EXPIRE,
    RB_GCP_GUEST_END,
    RB_GCP_BULK_INSERT, // of several, each of which has an operation of its own besides
};

struct rb_mock_gcp_operation {
    uint64_t id;
    enum rb_mock_gcp_deed deed;
    int instance;                   // index; of a bulk, of the first
    int n_instances, min_count;     // of a bulk
    const char *region;             // of a bulk that was asked of a region; NULL: all else is a zone's
    uint64_t group;                 // what belongs to one bulk; 0: none
    int64_t inserted_us;
    const char *request_id;         // NULL: none
    const char *request_digest;     // of what was asked, when request_id is given
    const char *error_code, *error_message; // of an insert without capacity; NULL: none, or the instance's own
};

struct rb_mock_gcp {
    struct rb_cloud *cloud;
    struct rb_mock_gcp_tokens tokens;
    rb_mock_gcp_console_fn *console; // NULL: machines have none
    void *console_arg;
    struct rb_arena arena;          // strings of instances and operations
    struct rb_mock_gcp_instance *instances; // [n_instances], by insertion
    int n_instances, cap_instances;
    struct rb_mock_gcp_operation *operations;
    int n_operations, cap_operations;
};

#endif
