// Writes an instance as JSON.
#include "providers/mock/gcp/mock_gcp_call.h"
#include "providers/wire/digest.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

// Bytes are base64url in Google's JSON, and clients give them back that way.
static void encode_fingerprint(uint64_t of, char out[static 16])
{
    rb_base64_encode(&of, 8, out);
    for (char *c = out; *c; c++)
        *c = *c == '+' ? '-' : *c == '/' ? '_' : *c;
}

void rb_gcp_label_fingerprint(const struct rb_mock_gcp_instance *i, char out[static 16])
{
    encode_fingerprint(i->id ^ ((uint64_t)i->label_version << 32), out);
}

void rb_gcp_metadata_fingerprint(const struct rb_mock_gcp_instance *i, char out[static 16])
{
    encode_fingerprint((i->id + 1) ^ ((uint64_t)i->metadata_version << 32), out);
}

// Defaults; no image of the cloud has more.
int64_t rb_gcp_disk_gb(const struct rb_mock_gcp_instance *i)
{
    return i->disk_gb > 0 ? i->disk_gb : 10;
}

// A link as it is shown: a whole URL, however it was given.
static const char *whole_link(struct rb_mock_gcp_call *call, const char *link)
{
    return !link || strncmp(link, "https://", 8) == 0 ? link
           : strncmp(link, "projects/", 9) == 0       ? rb_arena_printf(call->arena, RB_GCP_LINK "%s", link)
                                                      : rb_gcp_link(call, "/%s", link);
}

static void write_network(struct rb_mock_gcp_call *call, const struct rb_mock_gcp_instance *i)
{
    struct rb_json *j = &call->json;
    const struct rb_cloud_instance *m = rb_gcp_machine(call->gcp, i);
    const struct in_addr in = {.s_addr = m ? htonl(m->address) : 0};
    const char *address = m ? inet_ntoa(in) : NULL;
    const bool runs = m && m->state == RB_CLOUD_RUNNING; // an ephemeral address comes with running and goes with it
    rb_json_put(j, "networkInterfaces: [{kind: 'compute#networkInterface', name: 'nic0', network: %s, subnetwork: %s",
                whole_link(call, i->network ? i->network : "global/networks/default"), whole_link(call, i->subnetwork));
    rb_json_put(j, "nicType: %s, networkIP: %s", i->nic_type, address);
    if (i->has_nat)
        rb_json_put(
            j,
            "accessConfigs: [{kind: 'compute#accessConfig', type: 'ONE_TO_ONE_NAT', name: 'External NAT', natIP: %s}]",
            runs ? address : NULL);
    rb_json_put(j, "}]");
}

static void write_disks(struct rb_mock_gcp_call *call, const struct rb_mock_gcp_instance *i)
{
    rb_json_put(&call->json,
                "disks: [{kind: 'compute#attachedDisk', type: 'PERSISTENT', mode: 'READ_WRITE', source: %s,"
                "deviceName: 'persistent-disk-0', index: 0, boot: true, autoDelete: true, diskSizeGb: '%jd'}]",
                rb_gcp_link(call, "/zones/%s/disks/%s", i->zone, i->name), rb_gcp_disk_gb(i));
}

static void write_metadata(struct rb_mock_gcp_call *call, const struct rb_mock_gcp_instance *i)
{
    struct rb_json *j = &call->json;
    char fingerprint[16];
    rb_gcp_metadata_fingerprint(i, fingerprint);
    rb_json_put(j, "metadata: {kind: 'compute#metadata', fingerprint: %s", fingerprint);
    for (int k = 0; k < i->n_metadata; k++)
        rb_json_put(j, k == 0 ? "items: [{key: %s, value: %s}" : "{key: %s, value: %s}", i->metadata[k].key,
                    i->metadata[k].value);
    rb_json_put(j, i->n_metadata > 0 ? "]}" : "}");
}

// The model is that of the machine that came, which chaos may have swapped.
static void write_scheduling(struct rb_mock_gcp_call *call, const struct rb_mock_gcp_instance *i)
{
    struct rb_json *j = &call->json;
    const struct rb_cloud_instance *m = rb_gcp_machine(call->gcp, i);
    bool spot = m ? m->offer->market == RB_MARKET_SPOT : strcmp(i->provisioning_model, "SPOT") == 0;
    rb_json_put(j,
                "scheduling: {onHostMaintenance: %s, automaticRestart: %i, preemptible: %i, provisioningModel: %s,"
                "instanceTerminationAction: %s",
                i->terminate_on_maintenance ? "TERMINATE" : "MIGRATE", i->automatic_restart, spot,
                spot ? "SPOT" : "STANDARD", i->termination_action);
    if (i->max_run_s > 0)
        rb_json_put(j, "maxRunDuration: {seconds: '%jd'}", i->max_run_s);
    rb_json_put(j, "}");
}

static void write_affinity(struct rb_mock_gcp_call *call, const struct rb_mock_gcp_instance *i)
{
    rb_json_put(&call->json, "reservationAffinity: {consumeReservationType: %s", i->consumes ? i->consumes : "ANY_RESERVATION");
    if (i->n_reservations > 0)
        rb_json_put(&call->json, "key: 'compute.googleapis.com/reservation-name', values: [%s]", i->reservations[0]);
    rb_json_put(&call->json, "}");
}

static void write_accelerators(struct rb_mock_gcp_call *call, const struct rb_mock_gcp_instance *i)
{
    const struct rb_cloud_instance *m = rb_gcp_machine(call->gcp, i);
    const char *type = m ? rb_gcp_accelerator_type(m->offer) : i->accelerator_type;
    if (type)
        rb_json_put(&call->json, "guestAccelerators: [{acceleratorType: %s, acceleratorCount: %d}]",
                    rb_gcp_link(call, "/zones/%s/acceleratorTypes/%s", i->zone, type),
                    m ? m->offer->gpus : i->accelerators);
}

static void write_labels(struct rb_mock_gcp_call *call, const struct rb_mock_gcp_instance *i)
{
    struct rb_json *j = &call->json;
    const struct rb_cloud_instance *m = rb_gcp_machine(call->gcp, i);
    const struct rb_cloud_tag *labels = m ? m->tags : i->labels;
    int n = m ? m->n_tags : i->n_labels;
    char fingerprint[16];
    for (int k = 0; k < n; k++)
        rb_json_put(j, k == 0 ? "labels: {%s: %s" : "%s: %s", labels[k].key, labels[k].value);
    rb_gcp_label_fingerprint(i, fingerprint);
    rb_json_put(j, n > 0 ? "} labelFingerprint: %s" : "labelFingerprint: %s", fingerprint);
}

static void write_network_tags(struct rb_mock_gcp_call *call, const struct rb_mock_gcp_instance *i)
{
    struct rb_json *j = &call->json;
    char fingerprint[16];
    encode_fingerprint(i->id + 2, fingerprint);
    rb_json_put(j, "tags: {fingerprint: %s", fingerprint);
    for (int k = 0; k < i->n_network_tags; k++)
        rb_json_put(j, k == 0 ? "items: [%s" : "%s", i->network_tags[k]);
    rb_json_put(j, i->n_network_tags > 0 ? "]}" : "}");
}

// lastStartTimestamp is the instant from which the machine is billed, lastStopTimestamp that to which.
static void write_times(struct rb_mock_gcp_call *call, const struct rb_mock_gcp_instance *i)
{
    const struct rb_cloud_instance *m = rb_gcp_machine(call->gcp, i);
    rb_json_put(&call->json, "creationTimestamp: %s, lastStartTimestamp: %s, lastStopTimestamp: %s",
                rb_gcp_instant(call, i->inserted_us),
                m && m->running_us >= 0 ? rb_gcp_instant(call, m->running_us) : NULL,
                m && m->ended_us >= 0 ? rb_gcp_instant(call, m->ended_us) : NULL);
}

void rb_gcp_write_instance(struct rb_mock_gcp_call *call, const struct rb_mock_gcp_instance *i)
{
    struct rb_json *j = &call->json;
    char fingerprint[16];
    encode_fingerprint(i->id, fingerprint);
    rb_json_put(j, "{kind: 'compute#instance', id: '%ju', name: %s, description: %s", i->id, i->name, i->description);
    write_times(call, i);
    rb_json_put(j, "status: %s, zone: %s, machineType: %s", rb_gcp_status(call->gcp, i, call->now_us),
                rb_gcp_link(call, "/zones/%s", i->zone),
                rb_gcp_link(call, "/zones/%s/machineTypes/%s", i->zone, i->machine_type));
    write_network_tags(call, i);
    rb_json_put(j, "canIpForward: false");
    write_network(call, i);
    write_disks(call, i);
    write_metadata(call, i);
    if (i->service_account)
        rb_json_put(j, "serviceAccounts: [{email: %s}]", i->service_account);
    write_scheduling(call, i);
    write_affinity(call, i);
    write_labels(call, i);
    write_accelerators(call, i);
    rb_json_put(j, "startRestricted: false, deletionProtection: false, fingerprint: %s, selfLink: %s}", fingerprint,
                rb_gcp_link(call, "/zones/%s/instances/%s", i->zone, i->name));
}
