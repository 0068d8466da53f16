// How an instance looks in JSON.
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

// Where nothing else was said; no image of the cloud's says more.
int64_t rb_gcp_disk_gb(const struct rb_mock_gcp_instance *i)
{
    return i->disk_gb > 0 ? i->disk_gb : 10;
}

static void write_fingerprint(struct rb_json *j, const char *key, uint64_t of)
{
    char text[16];
    encode_fingerprint(of, text);
    rb_json_kstring(j, key, text);
}

// A link as it is shown: a whole URL, however it was given.
static void write_link(struct rb_mock_gcp_call *call, const char *key, const char *link)
{
    if (strncmp(link, "https://", 8) == 0)
        rb_json_kstring(&call->json, key, link);
    else if (strncmp(link, "projects/", 9) == 0)
        rb_json_kstring(&call->json, key, rb_arena_printf(call->arena, RB_GCP_LINK "%s", link));
    else
        rb_gcp_klink(call, key, "/%s", link);
}

static void write_network(struct rb_mock_gcp_call *call, const struct rb_mock_gcp_instance *i)
{
    struct rb_json *j = &call->json;
    const struct rb_cloud_instance *m = rb_gcp_machine(call->gcp, i);
    struct in_addr address = {.s_addr = m ? htonl(m->address) : 0};
    bool runs = m && m->state == RB_CLOUD_RUNNING;
    rb_json_key(j, "networkInterfaces");
    rb_json_begin_array(j);
    rb_json_begin_object(j);
    rb_json_kstring(j, "kind", "compute#networkInterface");
    rb_json_kstring(j, "name", "nic0");
    write_link(call, "network", i->network ? i->network : "global/networks/default");
    if (i->subnetwork)
        write_link(call, "subnetwork", i->subnetwork);
    if (i->nic_type)
        rb_json_kstring(j, "nicType", i->nic_type);
    if (m)
        rb_json_kstring(j, "networkIP", inet_ntoa(address));
    if (i->has_nat) {
        rb_json_key(j, "accessConfigs");
        rb_json_begin_array(j);
        rb_json_begin_object(j);
        rb_json_kstring(j, "kind", "compute#accessConfig");
        rb_json_kstring(j, "type", "ONE_TO_ONE_NAT");
        rb_json_kstring(j, "name", "External NAT");
        if (runs) // an ephemeral address comes with running and goes with it
            rb_json_kstring(j, "natIP", inet_ntoa(address));
        rb_json_end_object(j);
        rb_json_end_array(j);
    }
    rb_json_end_object(j);
    rb_json_end_array(j);
}

static void write_disks(struct rb_mock_gcp_call *call, const struct rb_mock_gcp_instance *i)
{
    struct rb_json *j = &call->json;
    rb_json_key(j, "disks");
    rb_json_begin_array(j);
    rb_json_begin_object(j);
    rb_json_kstring(j, "kind", "compute#attachedDisk");
    rb_json_kstring(j, "type", "PERSISTENT");
    rb_json_kstring(j, "mode", "READ_WRITE");
    rb_gcp_klink(call, "source", "/zones/%s/disks/%s", i->zone, i->name);
    rb_json_kstring(j, "deviceName", "persistent-disk-0");
    rb_json_kint(j, "index", 0);
    rb_json_kbool(j, "boot", true);
    rb_json_kbool(j, "autoDelete", true);
    rb_gcp_kid(j, "diskSizeGb", (uint64_t)rb_gcp_disk_gb(i));
    rb_json_end_object(j);
    rb_json_end_array(j);
}

static void write_metadata(struct rb_mock_gcp_call *call, const struct rb_mock_gcp_instance *i)
{
    struct rb_json *j = &call->json;
    char fingerprint[16];
    rb_gcp_metadata_fingerprint(i, fingerprint);
    rb_json_key(j, "metadata");
    rb_json_begin_object(j);
    rb_json_kstring(j, "kind", "compute#metadata");
    rb_json_kstring(j, "fingerprint", fingerprint);
    if (i->n_metadata > 0) {
        rb_json_key(j, "items");
        rb_json_begin_array(j);
        for (int k = 0; k < i->n_metadata; k++) {
            rb_json_begin_object(j);
            rb_json_kstring(j, "key", i->metadata[k].key);
            rb_json_kstring(j, "value", i->metadata[k].value);
            rb_json_end_object(j);
        }
        rb_json_end_array(j);
    }
    rb_json_end_object(j);
}

// The model is that of the machine that came, which chaos may have swapped.
static void write_scheduling(struct rb_mock_gcp_call *call, const struct rb_mock_gcp_instance *i)
{
    struct rb_json *j = &call->json;
    const struct rb_cloud_instance *m = rb_gcp_machine(call->gcp, i);
    bool spot = m ? m->offer->market == RB_MARKET_SPOT : strcmp(i->provisioning_model, "SPOT") == 0;
    rb_json_key(j, "scheduling");
    rb_json_begin_object(j);
    rb_json_kstring(j, "onHostMaintenance", i->terminate_on_maintenance ? "TERMINATE" : "MIGRATE");
    rb_json_kbool(j, "automaticRestart", i->automatic_restart);
    rb_json_kbool(j, "preemptible", spot);
    rb_json_kstring(j, "provisioningModel", spot ? "SPOT" : "STANDARD");
    if (i->termination_action)
        rb_json_kstring(j, "instanceTerminationAction", i->termination_action);
    if (i->max_run_s > 0) {
        rb_json_key(j, "maxRunDuration");
        rb_json_begin_object(j);
        rb_gcp_kid(j, "seconds", (uint64_t)i->max_run_s);
        rb_json_end_object(j);
    }
    rb_json_end_object(j);
}

static void write_accelerators(struct rb_mock_gcp_call *call, const struct rb_mock_gcp_instance *i)
{
    struct rb_json *j = &call->json;
    const struct rb_cloud_instance *m = rb_gcp_machine(call->gcp, i);
    const char *type = m ? rb_gcp_accelerator_type(m->offer) : i->accelerator_type;
    if (!type)
        return;
    rb_json_key(j, "guestAccelerators");
    rb_json_begin_array(j);
    rb_json_begin_object(j);
    rb_gcp_klink(call, "acceleratorType", "/zones/%s/acceleratorTypes/%s", i->zone, type);
    rb_json_kint(j, "acceleratorCount", m ? m->offer->gpus : i->accelerators);
    rb_json_end_object(j);
    rb_json_end_array(j);
}

static void write_labels(struct rb_mock_gcp_call *call, const struct rb_mock_gcp_instance *i)
{
    struct rb_json *j = &call->json;
    const struct rb_cloud_instance *m = rb_gcp_machine(call->gcp, i);
    const struct rb_cloud_tag *labels = m ? m->tags : i->labels;
    int n = m ? m->n_tags : i->n_labels;
    char fingerprint[16];
    if (n > 0) {
        rb_json_key(j, "labels");
        rb_json_begin_object(j);
        for (int k = 0; k < n; k++)
            rb_json_kstring(j, labels[k].key, labels[k].value);
        rb_json_end_object(j);
    }
    rb_gcp_label_fingerprint(i, fingerprint);
    rb_json_kstring(j, "labelFingerprint", fingerprint);
}

static void write_network_tags(struct rb_mock_gcp_call *call, const struct rb_mock_gcp_instance *i)
{
    struct rb_json *j = &call->json;
    rb_json_key(j, "tags");
    rb_json_begin_object(j);
    write_fingerprint(j, "fingerprint", i->id + 2);
    if (i->n_network_tags > 0) {
        rb_json_key(j, "items");
        rb_json_begin_array(j);
        for (int k = 0; k < i->n_network_tags; k++)
            rb_json_string(j, i->network_tags[k]);
        rb_json_end_array(j);
    }
    rb_json_end_object(j);
}

// lastStartTimestamp is the instant from which the machine is billed, lastStopTimestamp that to which.
static void write_times(struct rb_mock_gcp_call *call, const struct rb_mock_gcp_instance *i)
{
    const struct rb_cloud_instance *m = rb_gcp_machine(call->gcp, i);
    rb_gcp_kinstant(&call->json, "creationTimestamp", i->inserted_us);
    if (m && m->running_us >= 0)
        rb_gcp_kinstant(&call->json, "lastStartTimestamp", m->running_us);
    if (m && m->ended_us >= 0)
        rb_gcp_kinstant(&call->json, "lastStopTimestamp", m->ended_us);
}

void rb_gcp_write_instance(struct rb_mock_gcp_call *call, const struct rb_mock_gcp_instance *i)
{
    struct rb_json *j = &call->json;
    rb_json_begin_object(j);
    rb_json_kstring(j, "kind", "compute#instance");
    rb_gcp_kid(j, "id", i->id);
    rb_json_kstring(j, "name", i->name);
    if (i->description)
        rb_json_kstring(j, "description", i->description);
    write_times(call, i);
    rb_json_kstring(j, "status", rb_gcp_status(call->gcp, i, call->now_us));
    rb_gcp_klink(call, "zone", "/zones/%s", i->zone);
    rb_gcp_klink(call, "machineType", "/zones/%s/machineTypes/%s", i->zone, i->machine_type);
    write_network_tags(call, i);
    rb_json_kbool(j, "canIpForward", false);
    write_network(call, i);
    write_disks(call, i);
    write_metadata(call, i);
    if (i->service_account) {
        rb_json_key(j, "serviceAccounts");
        rb_json_begin_array(j);
        rb_json_begin_object(j);
        rb_json_kstring(j, "email", i->service_account);
        rb_json_end_object(j);
        rb_json_end_array(j);
    }
    write_scheduling(call, i);
    write_labels(call, i);
    write_accelerators(call, i);
    rb_json_kbool(j, "startRestricted", false);
    rb_json_kbool(j, "deletionProtection", false);
    write_fingerprint(j, "fingerprint", i->id);
    rb_gcp_klink(call, "selfLink", "/zones/%s/instances/%s", i->zone, i->name);
    rb_json_end_object(j);
}
