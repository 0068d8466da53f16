// Operations. Whether one is done is read off the instance it is about, so there is nothing to keep in step.
#include "providers/mock/gcp/mock_gcp_call.h"
#include "providers/wire/digest.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SET_LABELS_US   (500 * INT64_C(1000))
#define REQUEST_KEPT_US (3600 * RB_US_PER_S) // AIP-155: at least 60 minutes; here no longer

static const char *type_of(enum rb_mock_gcp_deed deed)
{
    static const char *const types[] = {[RB_GCP_INSERT] = "insert",
                                        [RB_GCP_DELETE] = "delete",
                                        [RB_GCP_SET_LABELS] = "setLabels",
                                        [RB_GCP_SET_METADATA] = "setMetadata",
                                        [RB_GCP_STOP] = "stop",
                                        [RB_GCP_PREEMPT] = "compute.instances.preempted",
                                        [RB_GCP_EXPIRE] = "compute.instances.deleteByMaxRunDuration",
                                        [RB_GCP_GUEST_END] = "compute.instances.guestTerminate",
                                        [RB_GCP_BULK_INSERT] = "bulkInsert"};
    return types[deed];
}

// The cloud's own doing.
static bool is_unasked(enum rb_mock_gcp_deed deed)
{
    return deed == RB_GCP_PREEMPT || deed == RB_GCP_EXPIRE || deed == RB_GCP_GUEST_END;
}

// --- requests that are repeated ---

static const char *digest_of(struct rb_mock_gcp_call *call)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    char *digest = rb_arena_alloc(call->arena, 65);
    rb_buf_printf(&text, "%s %s\n", call->request->method, call->request->path);
    rb_buf_append(&text, call->request->body, call->request->body_len);
    rb_digest_sha256(rb_buf_str(&text), text.len, digest);
    return digest;
}

bool rb_gcp_is_first_time(struct rb_mock_gcp_call *call, const char *request_id, bool *out_result)
{
    for (int k = 0; request_id && k < call->gcp->n_operations; k++) {
        const struct rb_mock_gcp_operation *o = &call->gcp->operations[k];
        if (!o->request_id || strcmp(o->request_id, request_id) != 0 || call->now_us > o->inserted_us + REQUEST_KEPT_US)
            continue;
        *out_result = strcmp(o->request_digest, digest_of(call)) == 0;
        if (*out_result)
            rb_gcp_write_operation(call, o);
        else // Google ignores the contents of the second request; no client can mean that
            rb_gcp_invalid(call, "requestId", request_id, "It was given before with another request.");
        return false;
    }
    return true;
}

// --- keeping ---

static struct rb_mock_gcp_operation *add(struct rb_mock_gcp *gcp, enum rb_mock_gcp_deed deed, int instance,
                                         int64_t at_us)
{
    if (gcp->n_operations == gcp->cap_operations) {
        gcp->cap_operations = gcp->cap_operations ? 2 * gcp->cap_operations : 16;
        gcp->operations = rb_xrealloc(gcp->operations, (size_t)gcp->cap_operations, sizeof *gcp->operations);
    }
    const int64_t unit_us = rb_cloud_config_of(gcp->cloud)->whole_seconds ? RB_US_PER_S : 1;
    struct rb_mock_gcp_operation *o = &gcp->operations[gcp->n_operations++];
    *o = (struct rb_mock_gcp_operation){.id = rb_cloud_fresh_id(gcp->cloud) >> 1,
                                        .deed = deed,
                                        .instance = instance,
                                        .inserted_us = at_us - at_us % unit_us};
    return o;
}

struct rb_mock_gcp_operation *rb_gcp_begin_operation(struct rb_mock_gcp_call *call, enum rb_mock_gcp_deed deed,
                                                     const struct rb_mock_gcp_instance *i, const char *request_id)
{
    struct rb_mock_gcp *gcp = call->gcp;
    struct rb_mock_gcp_operation *o = add(gcp, deed, (int)(i - gcp->instances), call->now_us);
    if (request_id) {
        o->request_id = rb_arena_strdup(&gcp->arena, request_id);
        o->request_digest = rb_arena_strdup(&gcp->arena, digest_of(call));
    }
    return o;
}

static bool has_operation(const struct rb_mock_gcp *gcp, int instance, enum rb_mock_gcp_deed deed)
{
    for (int k = 0; k < gcp->n_operations; k++)
        if (gcp->operations[k].instance == instance && gcp->operations[k].deed == deed)
            return true;
    return false;
}

void rb_gcp_notice_events(struct rb_mock_gcp *gcp)
{
    for (int k = 0; k < gcp->n_instances; k++) {
        const struct rb_cloud_instance *m = rb_gcp_machine(gcp, &gcp->instances[k]);
        if (!m || (m->cause != RB_CLOUD_CAUSE_TAKEN && m->cause != RB_CLOUD_CAUSE_EXPIRED &&
                   m->cause != RB_CLOUD_CAUSE_GUEST))
            continue;
        enum rb_mock_gcp_deed deed = m->cause == RB_CLOUD_CAUSE_TAKEN     ? RB_GCP_PREEMPT
                                     : m->cause == RB_CLOUD_CAUSE_EXPIRED ? RB_GCP_EXPIRE
                                                                          : RB_GCP_GUEST_END;
        if (!has_operation(gcp, k, deed))
            add(gcp, deed, k, m->ended_us);
    }
}

// --- how far it is ---

struct progress {
    bool done;
    int64_t ended_us;
    int http_status; // of the error; 0: none
    const char *code, *message;
};

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static struct progress progress_of_insert(const struct rb_mock_gcp_call *call, const struct rb_mock_gcp_operation *o)
{
    const struct rb_mock_gcp_instance *i = &call->gcp->instances[o->instance];
    const struct rb_cloud_instance *m = rb_gcp_machine(call->gcp, i);
    struct progress p = {0};
    if (!m) {
        p = (struct progress){call->now_us >= i->failed_us, i->failed_us, 503, o->error_code, o->error_message};
    } else if (m->running_us >= 0) {
        p = (struct progress){.done = true, .ended_us = m->running_us};
    } else if (m->cause == RB_CLOUD_CAUSE_CAPACITY) {
        const char *code = m->failure_code ? m->failure_code : "ZONE_RESOURCE_POOL_EXHAUSTED";
        p = (struct progress){
            true, m->terminated_us, 503, code,
            rb_arena_printf(call->arena,
                            "The zone 'projects/%s/zones/%s' does not have enough resources available "
                            "to fulfill the request.",
                            call->project, i->zone)};
    } else if (m->ended_us >= 0) {
        p = (struct progress){true, m->ended_us, 409, "CONFLICT",
                              "The instance was deleted while it was being created."};
    }
    p.ended_us = later(p.ended_us, o->inserted_us);
    return p;
}

// The present state of a bulk.
struct tally {
    int n_made, n_failed, n_open;
    int64_t last_us;
};

static struct tally tally_of(const struct rb_mock_gcp_call *call, const struct rb_mock_gcp_operation *o)
{
    struct tally t = {.last_us = o->inserted_us};
    for (int k = 0; k < o->n_instances; k++) {
        const struct rb_mock_gcp_operation one = {.deed = RB_GCP_INSERT,
                                                  .instance = o->instance + k,
                                                  .inserted_us = o->inserted_us,
                                                  .error_code = "",
                                                  .error_message = ""};
        const struct progress p = progress_of_insert(call, &one);
        t.n_open += !p.done;
        t.n_made += p.done && !p.http_status;
        t.n_failed += p.done && p.http_status;
        t.last_us = later(t.last_us, p.ended_us);
    }
    return t;
}

static struct progress progress_of_bulk(const struct rb_mock_gcp_call *call, const struct rb_mock_gcp_operation *o)
{
    const struct tally t = tally_of(call, o);
    struct progress p = {.done = t.n_open == 0, .ended_us = t.last_us};
    if (p.done && t.n_made < o->min_count) {
        p.http_status = 503;
        p.code = "VM_MIN_COUNT_NOT_REACHED";
        p.message =
            rb_arena_printf(call->arena, "Requested minimum count of %d VMs could not be created.", o->min_count);
    }
    return p;
}

static struct progress progress_of(const struct rb_mock_gcp_call *call, const struct rb_mock_gcp_operation *o)
{
    const struct rb_mock_gcp_instance *i = &call->gcp->instances[o->instance];
    const struct rb_cloud_instance *m = rb_gcp_machine(call->gcp, i);
    switch (o->deed) {
    case RB_GCP_INSERT:
        return progress_of_insert(call, o);
    case RB_GCP_BULK_INSERT:
        return progress_of_bulk(call, o);
    case RB_GCP_SET_LABELS:
    case RB_GCP_SET_METADATA:
        return (struct progress){.done = call->now_us >= o->inserted_us + SET_LABELS_US,
                                 .ended_us = o->inserted_us + SET_LABELS_US};
    case RB_GCP_DELETE:
        return (struct progress){.done = !rb_gcp_instance_exists(call->gcp, i, call->now_us),
                                 .ended_us = later(m ? m->terminated_us : 0, o->inserted_us)};
    case RB_GCP_STOP:
    case RB_GCP_PREEMPT:
    case RB_GCP_EXPIRE:
    case RB_GCP_GUEST_END:
        break;
    }
    bool over = m->state == RB_CLOUD_STOPPED || m->state == RB_CLOUD_TERMINATED;
    return (struct progress){.done = over, .ended_us = o->inserted_us};
}

// --- writing ---

static const char *name_of(const struct rb_mock_gcp_call *call, const struct rb_mock_gcp_operation *o)
{
    const char *kind = is_unasked(o->deed) ? "systemevent" : "operation";
    return rb_arena_printf(call->arena, "%s-%" PRId64 "-%016" PRIx64, kind, o->inserted_us / 1000, o->id);
}

static const char *user_of(const struct rb_mock_gcp_call *call, const struct rb_mock_gcp_operation *o)
{
    return is_unasked(o->deed) ? "system" : rb_mock_gcp_account_email(call->gcp->tokens.account);
}

static void write_failure(struct rb_json *j, const struct progress *p)
{
    rb_json_put(j, "error: {errors: [{code: %s, message: %s}]}, httpErrorStatusCode: %d, httpErrorMessage: %s", p->code,
                p->message, p->http_status, p->http_status == 409 ? "CONFLICT" : "SERVICE UNAVAILABLE");
}

// The group, and of a bulk itself how far it is in its zone.
static void write_group(struct rb_mock_gcp_call *call, const struct rb_mock_gcp_operation *o, const struct progress *p)
{
    rb_json_kstring(&call->json, "operationGroupId", rb_arena_printf(call->arena, "%016" PRIx64, o->group));
    if (o->deed != RB_GCP_BULK_INSERT)
        return;
    const struct tally t = tally_of(call, o);
    rb_json_put(&call->json,
                "instancesBulkInsertOperationMetadata: {perLocationStatus: {'zones/%s': {targetVmCount: %d,"
                "createdVmCount: %d, failedToCreateVmCount: %d, deletedVmCount: 0, status: %s}}}",
                call->gcp->instances[o->instance].zone, o->n_instances, t.n_made, t.n_failed,
                p->done ? "DONE" : "CREATING");
}

// The target of a bulk is its place.
static const char *target_of(const struct rb_mock_gcp_call *call, const struct rb_mock_gcp_operation *o)
{
    const struct rb_mock_gcp_instance *i = &call->gcp->instances[o->instance];
    if (o->region)
        return rb_arena_printf(call->arena, "/regions/%s", o->region);
    if (o->deed == RB_GCP_BULK_INSERT)
        return rb_arena_printf(call->arena, "/zones/%s", i->zone);
    return rb_arena_printf(call->arena, "/zones/%s/instances/%s", i->zone, i->name);
}

static const char *place_of(const struct rb_mock_gcp_call *call, const struct rb_mock_gcp_operation *o)
{
    return o->region ? rb_arena_printf(call->arena, "/regions/%s", o->region)
                     : rb_arena_printf(call->arena, "/zones/%s", call->gcp->instances[o->instance].zone);
}

// The request itself is answered with PENDING; every later look finds RUNNING until it is done.
void rb_gcp_write_operation(struct rb_mock_gcp_call *call, const struct rb_mock_gcp_operation *o)
{
    struct rb_json *j = &call->json;
    const struct progress p = progress_of(call, o);
    const bool pending = !p.done && call->now_us <= o->inserted_us;
    const char *name = name_of(call, o), *place = rb_gcp_link(call, "%s", place_of(call, o));
    const char *inserted = rb_gcp_instant(call, o->inserted_us);
    rb_json_put(j, "{kind: 'compute#operation', id: '%ju', name: %s, %s: %s, operationType: %s, targetLink: %s", o->id,
                name, o->region ? "region" : "zone", place, type_of(o->deed),
                rb_gcp_link(call, "%s", target_of(call, o)));
    if (o->deed != RB_GCP_BULK_INSERT)
        rb_json_put(j, "targetId: '%ju'", call->gcp->instances[o->instance].id);
    rb_json_put(j, "status: %s, user: %s, progress: %d, insertTime: %s, startTime: %s, endTime: %s",
                p.done    ? "DONE"
                : pending ? "PENDING"
                          : "RUNNING",
                user_of(call, o), p.done ? 100 : 0, inserted, pending ? NULL : inserted,
                p.done ? rb_gcp_instant(call, p.ended_us) : NULL);
    if (p.done && p.http_status)
        write_failure(j, &p);
    if (o->group)
        write_group(call, o, &p);
    rb_json_put(j, "selfLink: '%s/operations/%s'}", place, name);
}

// --- methods ---

static const char *const operation_fields[] = {"name", "operationType", "status", "targetId", "targetLink",
                                               "zone", "user",          "id",     NULL};

static const char *operation_field(const void *item, const char *field, const void *context)
{
    const struct rb_mock_gcp_call *call = context;
    const struct rb_mock_gcp_operation *o = item;
    const struct rb_mock_gcp_instance *i = &call->gcp->instances[o->instance];
    if (strcmp(field, "name") == 0)
        return name_of(call, o);
    if (strcmp(field, "operationType") == 0)
        return type_of(o->deed);
    if (strcmp(field, "status") == 0)
        return progress_of(call, o).done ? "DONE" : "RUNNING";
    if (strcmp(field, "targetId") == 0)
        return rb_arena_printf(call->arena, "%" PRIu64, i->id);
    if (strcmp(field, "id") == 0)
        return rb_arena_printf(call->arena, "%" PRIu64, o->id);
    if (strcmp(field, "user") == 0)
        return user_of(call, o);
    return rb_arena_printf(call->arena, RB_GCP_LINK "projects/%s%s", call->project,
                           strcmp(field, "zone") == 0 ? place_of(call, o) : target_of(call, o));
}

static int count_operations(struct rb_mock_gcp_call *call)
{
    return call->gcp->n_operations;
}

static const void *operation_at(struct rb_mock_gcp_call *call, const char *zone, int k)
{
    const struct rb_mock_gcp_operation *o = &call->gcp->operations[k];
    return !o->region && strcmp(call->gcp->instances[o->instance].zone, zone) == 0 ? o : NULL;
}

static void write_operation(struct rb_mock_gcp_call *call, const char *zone, const void *operation)
{
    (void)zone;
    rb_gcp_write_operation(call, operation);
}

const struct rb_gcp_collection rb_gcp_operations = {
    "operations", "operation", operation_fields, operation_field, count_operations, operation_at, write_operation,
};

static bool is_here(const struct rb_mock_gcp_call *call, const struct rb_mock_gcp_operation *o)
{
    return call->zone ? !o->region && strcmp(call->gcp->instances[o->instance].zone, call->zone) == 0
                      : o->region && strcmp(o->region, call->region) == 0;
}

// A zone's or a region's.
bool rb_gcp_operation_get(struct rb_mock_gcp_call *call)
{
    if (!rb_gcp_checked(call))
        return false;
    for (int k = 0; k < call->gcp->n_operations; k++) {
        const struct rb_mock_gcp_operation *o = &call->gcp->operations[k];
        if (strcmp(name_of(call, o), call->name) == 0 && is_here(call, o)) {
            rb_gcp_write_operation(call, o);
            return true;
        }
    }
    return rb_gcp_not_found(call, "operations", call->name);
}
