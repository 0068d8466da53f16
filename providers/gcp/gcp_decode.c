#include "providers/gcp/gcp_decode.h"

#include "base/document/doc.h"
#include "base/limits.h"
#include "base/text/number.h"
#include "base/text/table.h"
#include "providers/gcp/gcp_errors.h"
#include "providers/gcp/gcp_names.h"
#include "providers/wire/untrusted.h"

#include <stdlib.h>
#include <string.h>

static bool missing(const char *field, const char *expected, struct rb_err *err)
{
    return rb_err_set(err, RB_E_ANSWER, "answer: %s: expected %s", field, expected);
}

// NULL: absent, or no text.
static const char *text(const struct rb_node *map, const char *key)
{
    const struct rb_node *n = rb_node_member(map, key);
    return n && n->kind == RB_NODE_STRING && n->text_len > 0 ? n->text : NULL;
}

static const char *copy(struct rb_arena *arena, const char *s)
{
    return s ? rb_arena_strdup(arena, s) : NULL;
}

// The name behind the last slash of a URL; a plain name is itself.
static const char *last_part(const char *url)
{
    const char *slash = url ? strrchr(url, '/') : NULL;
    return slash ? slash + 1 : url;
}

// An empty object, or another machine's answer, must not pass for an empty listing.
static bool open_answer(const char *body, size_t n, const char *kind, struct rb_doc *out, struct rb_err *err)
{
    struct rb_doc doc = {0};
    if (!rb_doc_parse_json(&doc, "answer", body, n, err)) {
        if (err)
            rb_err_renumber(err, RB_E_ANSWER);
        return false;
    }
    const char *is = text(doc.root, "kind");
    if (!is || strcmp(is, kind) != 0) {
        rb_doc_finish(&doc);
        return missing("kind", kind, err);
    }
    *out = doc;
    return true;
}

// --- operations ---

static bool read_operation(const struct rb_node *root, struct rb_arena *arena, struct rb_gcp_operation *out,
                           struct rb_err *err)
{
    const char *name = text(root, "name"), *status = text(root, "status");
    if (!name || !rb_is_instance_id(name))
        return missing("name", "the name of an operation", err);
    if (!status || (strcmp(status, "PENDING") != 0 && strcmp(status, "RUNNING") != 0 && strcmp(status, "DONE") != 0))
        return missing("status", "PENDING, RUNNING or DONE", err);
    *out = (struct rb_gcp_operation){.name = copy(arena, name)};
    if (strcmp(status, "DONE") != 0)
        out->progress = RB_GCP_UNDER_WAY;
    else if (!rb_node_member(root, "error") && !rb_node_member(root, "httpErrorStatusCode"))
        out->progress = RB_GCP_DONE;
    else
        out->progress = rb_gcp_judge_operation(root, &out->error) == RB_API_FAIL ? RB_GCP_FAILED : RB_GCP_UNSETTLED;
    return true;
}

bool rb_gcp_decode_operation(const char *body, size_t n, struct rb_arena *arena, struct rb_gcp_operation *out,
                             struct rb_err *err)
{
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    return open_answer(body, n, "compute#operation", &doc, err) && read_operation(doc.root, arena, out, err);
}

// --- instances ---

// Source: "VM instance lifecycle". TERMINATED is their old word for stopped: the disk is still there and billed. One
// under repair lost what ran on it.
static bool read_state(const char *status, enum rb_instance_state *out, struct rb_err *err)
{
    static const struct row {
        const char *status;
        enum rb_instance_state state;
    } states[] = {
        {"PROVISIONING", RB_INSTANCE_PENDING},  {"STAGING", RB_INSTANCE_PENDING},
        {"PENDING", RB_INSTANCE_PENDING},       {"RUNNING", RB_INSTANCE_RUNNING},
        {"PENDING_STOP", RB_INSTANCE_STOPPING}, {"STOPPING", RB_INSTANCE_STOPPING},
        {"SUSPENDING", RB_INSTANCE_STOPPING},   {"DEPROVISIONING", RB_INSTANCE_STOPPING},
        {"STOPPED", RB_INSTANCE_STOPPED},       {"TERMINATED", RB_INSTANCE_STOPPED},
        {"SUSPENDED", RB_INSTANCE_STOPPED},     {"REPAIRING", RB_INSTANCE_STOPPED},
    };
    const struct row *row = RB_ROW_OF(states, status);
    if (!row)
        return missing("status", "a state of an instance", err);
    *out = row->state;
    return true;
}

static bool read_instant(const struct rb_node *map, const char *key, int64_t *out_us, struct rb_err *err)
{
    const char *instant = text(map, key);
    *out_us = -1;
    return !instant || rb_parse_instant(instant, out_us, NULL) ||
           missing(key, "an instant such as 2026-01-01T00:00:00.000-08:00", err);
}

// Billing counts from running, which follows within seconds of the start.
static bool read_times(const struct rb_node *item, struct rb_instance *out, struct rb_err *err)
{
    int64_t created_us, started_us, stopped_us;
    if (!read_instant(item, "creationTimestamp", &created_us, err) ||
        !read_instant(item, "lastStartTimestamp", &started_us, err) ||
        !read_instant(item, "lastStopTimestamp", &stopped_us, err))
        return false;
    const bool runs = out->state == RB_INSTANCE_RUNNING; // one that ends may have been deleted before it ever ran
    out->running_at_us = out->state == RB_INSTANCE_PENDING ? -1 : started_us < 0 && runs ? created_us : started_us;
    out->terminated_at_us = out->state == RB_INSTANCE_STOPPED ? stopped_us : -1;
    return true;
}

static bool read_address(const char *address, const char *field, struct rb_arena *arena, const char **out,
                         struct rb_err *err)
{
    if (address && !rb_is_ip_address(address))
        return missing(field, "a numeric IP address", err);
    *out = copy(arena, address);
    return true;
}

static bool read_addresses(const struct rb_node *item, struct rb_arena *arena, struct rb_instance *out,
                           struct rb_err *err)
{
    const struct rb_node *nic = rb_node_first(rb_node_member(item, "networkInterfaces"));
    const struct rb_node *access = rb_node_first(rb_node_member(nic, "accessConfigs"));
    const char *public_address = NULL;
    if (!read_address(text(nic, "networkIP"), "networkIP", arena, &out->private_address, err) ||
        !read_address(text(access, "natIP"), "natIP", arena, &public_address, err))
        return false;
    out->address = public_address ? public_address : out->private_address;
    return true;
}

// In the notation of our price lists. Other families have their GPUs in the name.
static const char *read_type(const struct rb_node *item, struct rb_arena *arena)
{
    const char *type = last_part(text(item, "machineType"));
    const struct rb_node *attached = rb_node_first(rb_node_member(item, "guestAccelerators"));
    const struct rb_node *count = rb_node_member(attached, "acceleratorCount");
    const char *accelerator = last_part(text(attached, "acceleratorType"));
    if (!type || strncmp(type, "n1-", 3) != 0 || !accelerator || !count || count->kind != RB_NODE_INT)
        return copy(arena, type);
    return rb_arena_printf(arena, "%s+%s:%lld", type, accelerator, (long long)count->integer);
}

static enum rb_market market_of(const struct rb_node *item)
{
    const char *model = text(rb_node_member(item, "scheduling"), "provisioningModel");
    const char *consumes = text(rb_node_member(item, "reservationAffinity"), "consumeReservationType");
    if (model && strcmp(model, "SPOT") == 0)
        return RB_MARKET_SPOT;
    return consumes && strcmp(consumes, "SPECIFIC_RESERVATION") == 0 ? RB_MARKET_RESERVED : RB_MARKET_ON_DEMAND;
}

struct labels {
    const struct rb_node *map;
    struct rb_arena *arena;
};

static const char *tag_of(void *from, const char *key)
{
    const struct labels *labels = from;
    return rb_gcp_tag(labels->map, key, labels->arena);
}

static bool read_instance(const struct rb_node *item, const char *region, struct rb_arena *arena,
                          struct rb_instance *out, struct rb_err *err)
{
    const char *name = text(item, "name"), *zone = last_part(text(item, "zone")), *parts[2];
    const struct rb_node *labels = rb_node_member(item, "labels");
    if (!name || !zone)
        return missing(name ? "zone" : "name", "a text", err);
    struct rb_instance i = {
        .id = rb_gcp_instance_id(arena, name, zone),
        .zone = copy(arena, zone),
        .region = copy(arena, region),
        .instance_type = read_type(item, arena),
        .market = market_of(item),
        .member = rb_gcp_member_of(name),
        .state_reason = copy(arena, text(item, "statusMessage")),
    };
    rb_instance_read_tags(&i, tag_of, &(struct labels){labels, arena});
    if (!rb_gcp_instance_id_split(i.id, arena, &parts[0], &parts[1]))
        return missing("name", "the name of an instance, and of its zone", err);
    if (!read_state(text(item, "status"), &i.state, err) || !read_times(item, &i, err) ||
        !read_addresses(item, arena, &i, err))
        return rb_err_prefix(err, "%s", i.id);
    if (!i.state_reason && i.state == RB_INSTANCE_STOPPED)
        i.state_reason = copy(arena, text(item, "status"));
    *out = i;
    return true;
}

bool rb_gcp_decode_instance(const char *body, size_t n, const char *region, struct rb_arena *arena,
                            struct rb_instance *out, struct rb_err *err)
{
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    return open_answer(body, n, "compute#instance", &doc, err) && read_instance(doc.root, region, arena, out, err);
}

bool rb_gcp_decode_labels(const char *body, size_t n, struct rb_arena *arena, struct rb_gcp_labelled *out,
                          struct rb_err *err)
{
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    if (!open_answer(body, n, "compute#instance", &doc, err))
        return false;
    const struct rb_node *labels = rb_node_member(doc.root, "labels");
    const char *fingerprint = text(doc.root, "labelFingerprint");
    const bool is_map = labels && labels->kind == RB_NODE_MAP;
    struct rb_gcp_labelled all = {.fingerprint = copy(arena, fingerprint)};
    all.labels = rb_arena_array(arena, is_map ? (size_t)labels->n_children + 1 : 1, sizeof *all.labels);
    for (const struct rb_node *label = is_map ? labels->first : NULL; label; label = label->next)
        if (label->kind == RB_NODE_STRING)
            all.labels[all.n++] = (struct rb_tag){copy(arena, label->key), copy(arena, label->text)};
    if (!all.fingerprint)
        return missing("labelFingerprint", "a text", err);
    *out = all;
    return true;
}

// --- what was done to one ---

// Source: "Operations": those of users are verbs, those of the system are named after what happened.
static bool ends_instance(const char *type)
{
    static const char *const ends[] = {"delete",
                                       "stop",
                                       "compute.instances.guestTerminate",
                                       "compute.instances.preempted",
                                       "compute.instances.deleteByMaxRunDuration",
                                       "compute.instances.stopByMaxRunDuration"};
    return RB_ROW_OF(ends, type) != NULL;
}

// It is billed from the end of its insert to the beginning of the first operation that ends it.
static bool read_deed(const struct rb_node *item, struct rb_gcp_history *h, struct rb_err *err)
{
    const char *type = text(item, "operationType"), *status = text(item, "status");
    int64_t inserted_us, ended_us;
    if (!type || !status)
        return missing(type ? "status" : "operationType", "a text", err);
    if (!read_instant(item, "insertTime", &inserted_us, err) || !read_instant(item, "endTime", &ended_us, err))
        return false;
    h->is_known = true;
    if (strcmp(type, "insert") == 0 && strcmp(status, "DONE") == 0 && !rb_node_member(item, "httpErrorStatusCode"))
        h->running_at_us = ended_us;
    h->preempted = h->preempted || strcmp(type, "compute.instances.preempted") == 0;
    if (ends_instance(type) && inserted_us >= 0 && (h->ended_at_us < 0 || inserted_us < h->ended_at_us))
        h->ended_at_us = inserted_us;
    return true;
}

bool rb_gcp_decode_history(const char *body, size_t n, struct rb_arena *arena, struct rb_gcp_history *inout,
                           struct rb_err *err)
{
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    struct rb_gcp_history h = *inout;
    if (!open_answer(body, n, "compute#operationList", &doc, err))
        return false;
    bool ok = true;
    for (const struct rb_node *item = rb_node_first(rb_node_member(doc.root, "items")); ok && item; item = item->next)
        ok = read_deed(item, &h, err);
    h.next_page = copy(arena, text(doc.root, "nextPageToken"));
    if (ok)
        *inout = h;
    return ok;
}

// --- what is spread over zones ---

// "zones/us-central1-a", or a URL that ends like that -> the zone's name; NULL: no zone.
static const char *zone_of(const char *scope)
{
    const char *zones = scope ? strstr(scope, "zones/") : NULL;
    return zones ? zones + strlen("zones/") : NULL;
}

static bool is_in(const char *zone, const char *region)
{
    const size_t n = strlen(region);
    return strncmp(zone, region, n) == 0 && zone[n] == '-';
}

static bool is_harmless(const struct rb_node *warning)
{
    const char *code = text(warning, "code");
    return !warning || (code && strcmp(code, "NO_RESULTS_ON_PAGE") == 0);
}

// A zone that did not answer is not an empty zone. Those of other regions do not matter.
static bool all_answered(const struct rb_node *root, const char *region)
{
    const struct rb_node *items = rb_node_member(root, "items");
    for (const struct rb_node *u = rb_node_first(rb_node_member(root, "unreachables")); u; u = u->next) {
        const char *zone = u->kind == RB_NODE_STRING ? zone_of(u->text) : NULL;
        if (!zone || is_in(zone, region))
            return false;
    }
    for (const struct rb_node *s = items ? items->first : NULL; s; s = s->next) {
        const char *zone = zone_of(s->key);
        if (zone && is_in(zone, region) && !is_harmless(rb_node_member(s, "warning")))
            return false;
    }
    return is_harmless(rb_node_member(root, "warning"));
}

struct scope {
    const char *region;
    const struct rb_node *at; // child of items
};

// The next zone of the region in an aggregated answer; false: there are no more.
static bool next_zone(struct scope *s, const struct rb_node *root)
{
    const struct rb_node *items = rb_node_member(root, "items");
    s->at = s->at ? s->at->next : items && items->kind == RB_NODE_MAP ? items->first : NULL;
    while (s->at && !(zone_of(s->at->key) && is_in(zone_of(s->at->key), s->region)))
        s->at = s->at->next;
    return s->at != NULL;
}

static int count_instances(const struct rb_node *root, const char *region)
{
    int n = 0;
    for (struct scope s = {.region = region}; next_zone(&s, root);) {
        const struct rb_node *list = rb_node_member(s.at, "instances");
        n += list && list->kind == RB_NODE_LIST ? list->n_children : 0;
    }
    return n;
}

static bool read_list(const struct rb_node *root, const char *region, struct rb_arena *arena,
                      struct rb_instance_page *out, struct rb_err *err)
{
    struct rb_instance_page page = {
        .instances = rb_arena_array(arena, (size_t)count_instances(root, region), sizeof *page.instances),
        .complete = all_answered(root, region),
        .next_page = copy(arena, text(root, "nextPageToken")),
    };
    for (struct scope s = {.region = region}; next_zone(&s, root);)
        for (const struct rb_node *i = rb_node_first(rb_node_member(s.at, "instances")); i; i = i->next)
            if (!read_instance(i, region, arena, &page.instances[page.n++], err))
                return false;
    *out = page;
    return true;
}

bool rb_gcp_decode_list(const char *body, size_t n, const char *region, struct rb_arena *arena,
                        struct rb_instance_page *out, struct rb_err *err)
{
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    return open_answer(body, n, "compute#instanceAggregatedList", &doc, err) &&
           read_list(doc.root, region, arena, out, err);
}

// --- reservations ---

// An int64 is a string in Google's JSON; absent is 0.
static bool read_count(const struct rb_node *map, const char *key, int64_t *out, struct rb_err *err)
{
    const char *said = text(map, key);
    *out = 0;
    return !said || (rb_parse_int(said, out) && *out >= 0) || missing(key, "a number of machines", err);
}

// Source: "Reservation" in the reference of Compute Engine v1. One of aggregate resources (TPUs) has no machine type.
static bool read_reservation(const struct rb_node *item, const char *region, struct rb_arena *arena,
                             struct rb_reservation *out, struct rb_err *err)
{
    const struct rb_node *specific = rb_node_member(item, "specificReservation");
    const struct rb_node *is_named = rb_node_member(item, "specificReservationRequired");
    const char *name = text(item, "name"), *zone = last_part(text(item, "zone")), *status = text(item, "status");
    struct rb_reservation r = {.starts_at_us = -1, .notice_us = RB_RESERVATION_NOTICE_US};
    int64_t count, used;
    if (!name || !rb_is_instance_id(name) || !zone || !rb_is_instance_id(zone))
        return missing(name ? "zone" : "name", "the name of a reservation, and its zone", err);
    if (!read_count(specific, "count", &count, err) || !read_count(specific, "inUseCount", &used, err) ||
        !read_instant(item, "deleteAtTime", &r.ends_at_us, err))
        return rb_err_prefix(err, "%s", name);
    const bool is_free = status && strcmp(status, "READY") == 0 && is_named && is_named->kind == RB_NODE_BOOL &&
                         is_named->boolean;
    r.id = copy(arena, name);
    r.infra = rb_arena_printf(arena, "gcp/%s/%s", region, zone);
    r.instance_type = read_type(rb_node_member(specific, "instanceProperties"), arena);
    if (is_free && r.instance_type && count > used)
        r.count = count - used < RB_LIMIT_NODES ? (int)(count - used) : RB_LIMIT_NODES;
    *out = r;
    return true;
}

static int count_reservations(const struct rb_node *root, const char *region)
{
    int n = 0;
    for (struct scope s = {.region = region}; next_zone(&s, root);) {
        const struct rb_node *list = rb_node_member(s.at, "reservations");
        n += list && list->kind == RB_NODE_LIST ? list->n_children : 0;
    }
    return n;
}

bool rb_gcp_decode_reservations(const char *body, size_t n, const char *region, struct rb_arena *arena,
                                struct rb_reservation_page *out, struct rb_err *err)
{
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    if (!open_answer(body, n, "compute#reservationAggregatedList", &doc, err))
        return false;
    struct rb_reservation_page page = {
        .incomplete = !all_answered(doc.root, region),
        .next_page = copy(arena, text(doc.root, "nextPageToken")),
    };
    page.reservations = rb_arena_array(arena, (size_t)count_reservations(doc.root, region) + 1, sizeof *page.reservations);
    for (struct scope s = {.region = region}; next_zone(&s, doc.root);)
        for (const struct rb_node *i = rb_node_first(rb_node_member(s.at, "reservations")); i; i = i->next)
            if (!read_reservation(i, region, arena, &page.reservations[page.n++], err))
                return false;
    *out = page;
    return true;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void read_zones(const struct rb_node *root, const char *region, struct rb_arena *arena, struct rb_gcp_zones *out)
{
    const struct rb_node *items = rb_node_member(root, "items");
    *out = (struct rb_gcp_zones){
        .zones = rb_arena_array(arena, items ? (size_t)items->n_children : 0, sizeof *out->zones),
        .complete = all_answered(root, region),
    };
    for (struct scope s = {.region = region}; next_zone(&s, root);)
        if (rb_node_first(rb_node_member(s.at, "machineTypes")) ||
            rb_node_first(rb_node_member(s.at, "acceleratorTypes")))
            out->zones[out->n++] = copy(arena, zone_of(s.at->key));
    if (out->n > 0)
        qsort(out->zones, (size_t)out->n, sizeof *out->zones, by_name);
}

bool rb_gcp_decode_sold(const char *body, size_t n, const char *region, struct rb_arena *arena,
                        struct rb_gcp_zones *out, struct rb_err *err)
{
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    if (!open_answer(body, n, "compute#machineTypeAggregatedList", &doc, NULL) &&
        !open_answer(body, n, "compute#acceleratorTypeAggregatedList", &doc, err))
        return false;
    read_zones(doc.root, region, arena, out);
    return true;
}
