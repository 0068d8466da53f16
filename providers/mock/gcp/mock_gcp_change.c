// Changes of an existing instance: instances.stop, setMetadata, getSerialPortOutput.
#include "providers/mock/gcp/mock_gcp_body.h"

#include "base/text/utf8.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CONSOLE (1 << 20) // what Google keeps

// --- stop ---

// Nothing starts it again here; its disk is billed until it is deleted.
bool rb_gcp_instance_stop(struct rb_mock_gcp_call *call)
{
    const char *request_id;
    bool result;
    rb_form_get(&call->query, "discardLocalSsd"); // there is none
    rb_form_get(&call->query, "noGracefulShutdown");
    if (!rb_gcp_begin_change(call, &request_id, &result))
        return result;
    struct rb_mock_gcp_instance *i = rb_gcp_need_machine(call, "instances");
    if (!i)
        return false;
    rb_cloud_stop(call->cloud, rb_cloud_instance(call->cloud, i->ordinal), call->now_us);
    rb_gcp_write_operation(call, rb_gcp_begin_operation(call, RB_GCP_STOP, i, request_id));
    return true;
}

// --- setMetadata ---

// Google's guest agent watches ssh-keys; here a node reads its metadata when it boots, and never again.
static bool keeps_what_nodes_read(struct rb_mock_gcp_call *call, const struct rb_mock_gcp_instance *old,
                                  const struct rb_mock_gcp_instance *new)
{
    static const char *const keys[] = {"ssh-keys", "user-data", "startup-script"};
    for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
        const char *was = rb_gcp_metadata_of(old, keys[k]), *is = rb_gcp_metadata_of(new, keys[k]);
        if ((was != NULL) != (is != NULL) || (was && strcmp(was, is) != 0))
            return rb_gcp_refuse(
                call, 400, "invalid",
                "Invalid value for field 'metadata': '%s'. This cloud's nodes read it when they boot; it "
                "cannot be changed later.",
                keys[k]);
    }
    return true;
}

static bool read_new_metadata(struct rb_mock_gcp_call *call, struct rb_mock_gcp_instance *out, const char **fingerprint)
{
    struct metadata {
        const char *fingerprint;
        const struct rb_node *items;
    } new = {0};
    static const struct rb_member members[] = {
        {"kind", RB_MEMBER_TEXT, RB_MEMBER_IGNORED},
        {"fingerprint", RB_MEMBER_TEXT, offsetof(struct metadata, fingerprint)},
        {"items", RB_MEMBER_NODE, offsetof(struct metadata, items)},
        {0},
    };
    if (!call->body)
        return rb_gcp_refuse(call, 400, "parseError", "The request needs a body that is JSON");
    if (!rb_gcp_members_read(call, call->body, members, &new) || !rb_gcp_read_items(call, new.items, out))
        return false;
    *fingerprint = new.fingerprint;
    return *fingerprint || rb_gcp_refuse(call, 412, "conditionNotMet", "Required fingerprint is missing.");
}

static void keep_metadata(struct rb_mock_gcp *gcp, struct rb_mock_gcp_instance *i,
                          const struct rb_mock_gcp_instance *new)
{
    struct rb_mock_gcp_pair *pairs = rb_arena_array(&gcp->arena, (size_t) new->n_metadata + 1, sizeof *pairs);
    for (int k = 0; k < new->n_metadata; k++)
        pairs[k] = (struct rb_mock_gcp_pair){rb_arena_strdup(&gcp->arena, new->metadata[k].key),
                                             rb_arena_strdup(&gcp->arena, new->metadata[k].value)};
    i->metadata = pairs;
    i->n_metadata = new->n_metadata;
    i->metadata_version++;
}

bool rb_gcp_instance_set_metadata(struct rb_mock_gcp_call *call)
{
    struct rb_mock_gcp_instance new = {0};
    const char *request_id, *fingerprint = NULL;
    char current[16];
    bool result;
    if (!rb_gcp_begin_change(call, &request_id, &result))
        return result;
    struct rb_mock_gcp_instance *i =
        read_new_metadata(call, &new, &fingerprint) ? rb_gcp_need_machine(call, "instances") : NULL;
    if (!i)
        return false;
    rb_gcp_metadata_fingerprint(i, current);
    if (strcmp(current, fingerprint) != 0)
        return rb_gcp_refuse(call, 412, "conditionNotMet",
                             "Supplied fingerprint does not match current metadata fingerprint.");
    if (!keeps_what_nodes_read(call, i, &new))
        return false;
    keep_metadata(call->gcp, i, &new);
    rb_gcp_write_operation(call, rb_gcp_begin_operation(call, RB_GCP_SET_METADATA, i, request_id));
    return true;
}

// --- getSerialPortOutput ---

// Text that JSON can hold: what is not UTF-8 becomes a question mark.
static char *clean(const char *bytes, size_t n, struct rb_arena *arena)
{
    char *out = rb_arena_alloc(arena, n + 1), *end = out;
    while (n > 0) {
        size_t len = *bytes ? rb_utf8_char_len(bytes, n) : 0;
        if (len == 0) {
            *end++ = '?';
            len = 1;
        } else {
            memcpy(end, bytes, len);
            end += len;
        }
        bytes += len;
        n -= len;
    }
    return out;
}

bool rb_gcp_instance_serial_port(struct rb_mock_gcp_call *call)
{
    RB_AUTO(rb_buf_finish) struct rb_buf all = RB_BUF_INIT;
    int64_t port = 1, start = 0;
    if (!rb_gcp_read_number(call, "port", 1, 1, &port) ||
        !rb_gcp_read_number(call, "start", 0, INT64_MAX / 2, &start) || !rb_gcp_checked(call))
        return false;
    const struct rb_mock_gcp_instance *i = rb_gcp_need_machine(call, "instances");
    if (!i)
        return false;
    if (!call->gcp->console)
        return rb_gcp_refuse(call, 400, "invalid", "This cloud's machines have no console");
    call->gcp->console(call->gcp->console_arg, rb_cloud_instance(call->cloud, i->ordinal)->id, &all);
    const int64_t len = (int64_t)all.len, oldest = len > MAX_CONSOLE ? len - MAX_CONSOLE : 0;
    const int64_t from = start > len ? len : start < oldest ? oldest : start;
    rb_json_put(&call->json,
                "{kind: 'compute#serialPortOutput', contents: %s, start: '%jd', next: '%jd', selfLink: %s}",
                clean(rb_buf_str(&all) + from, (size_t)(len - from), call->arena), from, len,
                rb_gcp_link(call, "/zones/%s/instances/%s/serialPort", i->zone, i->name));
    return true;
}
