// Source: the API reference of Kubernetes, core/v1 PodStatus, batch/v1 JobStatus, "Pod Lifecycle" and "Jobs".
#include "providers/k8s/k8s_decode.h"

#include "base/errors/log.h"
#include "base/text/table.h"
#include "base/text/units.h"
#include "providers/wire/untrusted.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *text_of(const struct rb_node *map, const char *key, struct rb_arena *arena)
{
    const char *text = rb_node_member_text(map, key);
    return *text ? rb_arena_strdup(arena, text) : NULL;
}

static int64_t instant_of(const struct rb_node *map, const char *key)
{
    int64_t us;
    return rb_parse_instant(rb_node_member_text(map, key), &us, NULL) ? us : -1;
}

static int64_t int_of(const struct rb_node *map, const char *key)
{
    const struct rb_node *n = rb_node_member(map, key);
    return n && n->kind == RB_NODE_INT ? n->integer : -1;
}

// Of a list of maps, the first whose member has this text.
static const struct rb_node *item_with(const struct rb_node *list, const char *key, const char *text)
{
    for (const struct rb_node *n = rb_node_first(list); n; n = n->next)
        if (strcmp(rb_node_member_text(n, key), text) == 0)
            return n;
    return NULL;
}

// Name and uid of an object become parts of paths.
static bool read_identity(const struct rb_node *object, struct rb_arena *arena, const char **out_name,
                          const char **out_uid, struct rb_err *err)
{
    const struct rb_node *meta = rb_node_member(object, "metadata");
    const char *name = rb_node_member_text(meta, "name"), *uid = rb_node_member_text(meta, "uid");
    if (!rb_is_instance_id(name) || strlen(name) > 63 || !rb_is_instance_id(uid) || strlen(uid) > 63 ||
        strchr(uid, '.'))
        return rb_err_set(err, RB_E_ANSWER, "answer: metadata: expected a name and a uid, got \"%.60s\", \"%.60s\"",
                          name, uid);
    *out_name = rb_arena_strdup(arena, name);
    *out_uid = rb_arena_strdup(arena, uid);
    return true;
}

static const char *next_page(const struct rb_node *list, struct rb_arena *arena)
{
    return text_of(rb_node_member(list, "metadata"), "continue", arena);
}

static bool read_items(const struct rb_node *list, const struct rb_node **out, struct rb_err *err)
{
    const struct rb_node *items = rb_node_member(list, "items");
    // An empty list may be null. Another machine's answer must not pass for an empty listing.
    if (!items || (items->kind != RB_NODE_LIST && items->kind != RB_NODE_NULL))
        return rb_err_set(err, RB_E_ANSWER, "answer: items: expected a list");
    *out = items->kind == RB_NODE_LIST ? items : NULL;
    return true;
}

// --- leases

bool rb_kube_decode_lease(const struct rb_node *object, struct rb_arena *arena, struct rb_kube_lease *out,
                          struct rb_err *err)
{
    struct rb_kube_lease l = {.expires_us = -1};
    if (!read_identity(object, arena, &l.name, &l.uid, err))
        return false;
    const struct rb_node *meta = rb_node_member(object, "metadata"), *notes = rb_node_member(meta, "annotations"),
                         *spec = rb_node_member(object, "spec");
    const int64_t renewed_us = instant_of(spec, "renewTime"), s = int_of(spec, "leaseDurationSeconds");
    l.resource_version = text_of(meta, "resourceVersion", arena);
    l.run_id = text_of(notes, "rb.run-id", arena);
    l.owner = text_of(notes, "rb.owner", arena);
    if (renewed_us >= 0 && s >= 0 && s < INT32_MAX) {
        char text[32];
        l.expires_us = renewed_us + s * RB_US_PER_S;
        rb_format_instant(l.expires_us / RB_US_PER_S * RB_US_PER_S, text);
        l.expires_at = rb_arena_strdup(arena, text);
    }
    *out = l;
    return true;
}

bool rb_kube_decode_leases(const struct rb_node *list, struct rb_arena *arena, struct rb_kube_leases *out,
                           const char **out_next, struct rb_err *err)
{
    const struct rb_node *items;
    if (!read_items(list, &items, err))
        return false;
    for (const struct rb_node *n = items ? items->first : NULL; n; n = n->next) {
        struct rb_kube_lease l;
        if (!rb_kube_decode_lease(n, arena, &l, err))
            return false;
        if (!l.run_id)
            continue;
        out->items = rb_arena_grow(arena, out->items, out->n, sizeof *out->items);
        out->items[out->n++] = l;
    }
    *out_next = next_page(list, arena);
    return true;
}

// --- pods

// Why a container waits for ever: the kubelet goes on trying, but only a change of the job helps. Source: kubelet's
// images and container packages.
static const char *const faults[] = {
    "ErrImagePull",        "ImagePullBackOff",           "ImageInspectError",    "ErrImageNeverPull",
    "InvalidImageName",    "CreateContainerConfigError", "CreateContainerError", "RunContainerError",
    "RegistryUnavailable", "SignatureValidationFailed",
};
// The same of one that has ended before it began.
static const char *const start_faults[] = {"StartError", "ContainerCannotRun"};

// True if the object has this condition.
static bool is_in(const struct rb_node *condition)
{
    return strcmp(rb_node_member_text(condition, "status"), "True") == 0;
}

static const struct rb_err *fault_of(const char *reason, const char *message, struct rb_arena *arena)
{
    struct rb_err *fault = rb_arena_alloc(arena, sizeof *fault);
    char text[500];
    rb_log_sanitise(message, strlen(message), text, sizeof text);
    rb_err_set(fault, RB_E_K8S_POD, "%.60s: %s", reason, text[0] ? text : "the cluster says no more");
    return fault;
}

struct reading {
    const struct rb_node *meta, *status, *waiting, *running, *terminated; // the last three: of our container's state
    struct rb_arena *arena;
};

static void set_reason(struct rb_instance *i, const char *reason, const char *message, struct rb_arena *arena)
{
    char text[200];
    rb_log_sanitise(message, strlen(message), text, sizeof text);
    if (*reason)
        i->state_reason = rb_arena_printf(arena, "Kubernetes reports %.60s%s%s", reason, text[0] ? ": " : "", text);
}

static void read_reason(const struct reading *r, struct rb_instance *i)
{
    const struct rb_node *disrupted = item_with(rb_node_member(r->status, "conditions"), "type", "DisruptionTarget");
    const char *reason = is_in(disrupted) ? rb_node_member_text(disrupted, "reason") : "",
               *message = rb_node_member_text(disrupted, "message");
    if (!*reason) {
        reason = rb_node_member_text(r->status, "reason");
        message = rb_node_member_text(r->status, "message");
    }
    if (!*reason) {
        reason = rb_node_member_text(r->terminated, "reason");
        message = rb_node_member_text(r->terminated, "message");
    }
    set_reason(i, reason, message, r->arena);
}

// A pod whose phase is Failed may have a container that still runs: only the container's end is one.
static void read_state(const struct reading *r, struct rb_kube_pod *pod)
{
    struct rb_instance *i = &pod->instance;
    const char *phase = rb_node_member_text(r->status, "phase");
    const bool is_over = strcmp(phase, "Failed") == 0 || strcmp(phase, "Succeeded") == 0;
    i->state = r->terminated || (is_over && !r->running) ? RB_INSTANCE_TERMINATED
               : r->running                              ? RB_INSTANCE_RUNNING
               : pod->is_ending                          ? RB_INSTANCE_STOPPING
                                                         : RB_INSTANCE_PENDING;
    if (i->state == RB_INSTANCE_RUNNING && is_over)
        i->state = RB_INSTANCE_STOPPING;
    const int64_t started_us = instant_of(r->running, "startedAt");
    if (i->state == RB_INSTANCE_RUNNING && pod->began_us >= 0 && started_us > pod->began_us)
        i->pull_us = started_us - pod->began_us;
    if (i->state == RB_INSTANCE_TERMINATED)
        i->terminated_at_us = instant_of(r->terminated, "finishedAt");
    if (i->state == RB_INSTANCE_RUNNING && pod->is_ending) // the deletion's time is the one at which its grace is over
        i->leaves_at_us = instant_of(r->meta, "deletionTimestamp");
    const char *waits = rb_node_member_text(r->waiting, "reason"),
               *ended = rb_node_member_text(r->terminated, "reason");
    if (i->state == RB_INSTANCE_PENDING && RB_ROW_OF(faults, waits))
        i->fault = fault_of(waits, rb_node_member_text(r->waiting, "message"), r->arena);
    else if (RB_ROW_OF(start_faults, ended))
        i->fault = fault_of(ended, rb_node_member_text(r->terminated, "message"), r->arena);
    if (i->state >= RB_INSTANCE_STOPPING)
        read_reason(r, i);
}

// The Lease that the object names as its owner; a Job's pod names the Job, and goes with the Lease of its run.
static bool is_its_lease(const struct rb_kube_lease *l, const char *uid, const struct rb_instance *i, bool of_job)
{
    return of_job ? i->run_id && l->run_id && strcmp(l->run_id, i->run_id) == 0 : strcmp(l->uid, uid) == 0;
}

struct notes {
    const struct rb_node *map;
    struct rb_arena *arena;
};

static const char *tag_of(void *from, const char *key)
{
    const struct notes *notes = from;
    char note[RB_KUBE_KEY_BYTES];
    return text_of(notes->map, rb_kube_key(key, note), notes->arena);
}

static void read_tags(const struct rb_node *meta, const struct rb_kube_leases *leases, struct rb_arena *arena,
                      struct rb_kube_pod *pod)
{
    const bool of_job = item_with(rb_node_member(meta, "ownerReferences"), "kind", "Job") != NULL;
    const struct rb_node *notes = rb_node_member(meta, "annotations");
    const struct rb_node *owner = item_with(rb_node_member(meta, "ownerReferences"), "kind", "Lease");
    const char *uid = rb_node_member_text(owner, "uid"), *anchor = rb_node_member_text(owner, "name");
    struct rb_instance *i = &pod->instance;
    i->token = text_of(notes, "rb.token", arena);
    rb_instance_read_tags(i, tag_of, &(struct notes){notes, arena});
    i->instance_type = text_of(notes, "rb.instance-type", arena);
    if (!rb_market_parse(rb_node_member_text(notes, "rb.market"), &i->market, NULL))
        i->market = RB_MARKET_ON_DEMAND; // of an older version
    i->member = atoi(rb_node_member_text(notes, "rb.member"));
    if (rb_is_instance_id(anchor) && strlen(anchor) < 64)
        pod->anchor = rb_arena_strdup(arena, anchor);
    for (int k = 0; leases && k < leases->n; k++)
        if (is_its_lease(&leases->items[k], uid, i, of_job) && leases->items[k].expires_at)
            i->expires_at = leases->items[k].expires_at;
}

// "NAME.UID" of the Job that a pod is of, as it is a node's id; NULL: of none.
static const char *job_of(const struct rb_node *meta, struct rb_arena *arena)
{
    const struct rb_node *job = item_with(rb_node_member(meta, "ownerReferences"), "kind", "Job");
    const char *name = rb_node_member_text(job, "name"), *uid = rb_node_member_text(job, "uid");
    const bool fits = rb_is_instance_id(name) && strlen(name) < 64 && rb_is_instance_id(uid) && strlen(uid) < 64;
    return fits && !strchr(uid, '.') ? rb_arena_printf(arena, "%s.%s", name, uid) : NULL;
}

bool rb_kube_decode_pod(const struct rb_node *object, const char *region, const struct rb_kube_leases *leases,
                        struct rb_arena *arena, struct rb_kube_pod *out, struct rb_err *err)
{
    struct rb_kube_pod pod = {.began_us = -1};
    struct rb_instance *i = &pod.instance;
    if (!read_identity(object, arena, &pod.name, &pod.uid, err))
        return false;
    struct reading r = {
        .meta = rb_node_member(object, "metadata"), .status = rb_node_member(object, "status"), .arena = arena};
    const struct rb_node *container =
        item_with(rb_node_member(r.status, "containerStatuses"), "name", RB_KUBE_CONTAINER);
    const struct rb_node *state = rb_node_member(container, "state");
    r.waiting = rb_node_member(state, "waiting");
    r.running = rb_node_member(state, "running");
    r.terminated = rb_node_member(state, "terminated");
    const struct rb_node *scheduled = item_with(rb_node_member(r.status, "conditions"), "type", "PodScheduled");
    if (strcmp(rb_node_member_text(scheduled, "status"), "True") == 0)
        pod.began_us = instant_of(scheduled, "lastTransitionTime");
    char waits_for[200];
    const char *message = rb_node_member_text(scheduled, "message");
    rb_log_sanitise(message, strlen(message), waits_for, sizeof waits_for);
    pod.waits_for = rb_arena_strdup(arena, waits_for);
    const char *group = rb_node_member_text(rb_node_member(r.meta, "labels"), RB_KUBE_GROUP);
    if (rb_is_instance_id(group))
        pod.group = rb_arena_strdup(arena, group);
    pod.is_ending = rb_node_member(r.meta, "deletionTimestamp") != NULL;
    pod.created_us = instant_of(r.meta, "creationTimestamp");
    const char *address = rb_arena_printf(arena, "%s.%s", pod.name, pod.uid);
    *i = (struct rb_instance){
        .id = job_of(r.meta, arena),
        .address = address, // commands check that they are in this pod, not in one that took its name
        .region = region,
        .market = RB_MARKET_ON_DEMAND,
        .running_at_us = pod.began_us,
        .terminated_at_us = -1,
        .took_place_at_us = pod.created_us > 0 ? pod.created_us : 0, // names are unique
    };
    i->id = i->id ? i->id : address;
    pod.exit_code = (int)int_of(r.terminated, "exitCode");
    const char *ip = rb_node_member_text(r.status, "podIP");
    if (rb_is_ip_address(ip))
        i->private_address = rb_arena_strdup(arena, ip);
    read_tags(r.meta, leases, arena, &pod);
    read_state(&r, &pod);
    *out = pod;
    return true;
}

// --- Jobs

// With a backoffLimit of 0 the end of one pod is that of the Job, whose condition may come later.
static void read_job_state(const struct rb_node *status, struct rb_arena *arena, struct rb_kube_pod *job)
{
    struct rb_instance *i = &job->instance;
    const struct rb_node *conditions = rb_node_member(status, "conditions"),
                         *failed = item_with(conditions, "type", "Failed"),
                         *complete = item_with(conditions, "type", "Complete");
    const struct rb_node *end = is_in(failed) ? failed : is_in(complete) ? complete : NULL;
    i->state = end || job->n_over > 0 ? RB_INSTANCE_TERMINATED
               : job->is_ending       ? RB_INSTANCE_STOPPING
                                      : RB_INSTANCE_PENDING;
    if (end) {
        i->terminated_at_us = instant_of(end, "lastTransitionTime");
        set_reason(i, rb_node_member_text(end, "reason"), rb_node_member_text(end, "message"), arena);
    }
}

static int count_over(const struct rb_node *status)
{
    const struct rb_node *uncounted = rb_node_member(status, "uncountedTerminatedPods");
    static const char *const ends[] = {"failed", "succeeded"};
    int64_t n = 0;
    for (size_t k = 0; k < sizeof ends / sizeof *ends; k++) {
        const struct rb_node *list = rb_node_member(uncounted, ends[k]);
        n += int_of(status, ends[k]) > 0;
        n += list && list->kind == RB_NODE_LIST && list->n_children > 0;
    }
    return (int)n;
}

static bool decode_job(const struct rb_node *object, const char *region, const struct rb_kube_leases *leases,
                       struct rb_arena *arena, struct rb_kube_pod *out, struct rb_err *err)
{
    struct rb_kube_pod job = {.began_us = -1, .waits_for = "", .exit_code = -1, .is_job = true};
    if (!read_identity(object, arena, &job.name, &job.uid, err))
        return false;
    const struct rb_node *meta = rb_node_member(object, "metadata"), *status = rb_node_member(object, "status");
    job.instance = (struct rb_instance){
        .id = rb_arena_printf(arena, "%s.%s", job.name, job.uid),
        .region = region,
        .market = RB_MARKET_ON_DEMAND,
        .running_at_us = -1,
        .terminated_at_us = -1,
    };
    job.is_ending = rb_node_member(meta, "deletionTimestamp") != NULL;
    job.created_us = instant_of(meta, "creationTimestamp");
    job.n_over = count_over(status);
    read_tags(meta, leases, arena, &job);
    read_job_state(status, arena, &job);
    *out = job;
    return true;
}

bool rb_kube_decode_node(enum rb_kubernetes_as as, const struct rb_node *object, const char *region,
                         const struct rb_kube_leases *leases, struct rb_arena *arena, struct rb_kube_pod *out,
                         struct rb_err *err)
{
    return (as == RB_KUBERNETES_AS_JOB ? decode_job : rb_kube_decode_pod)(object, region, leases, arena, out, err);
}

// --- lists

bool rb_kube_decode_nodes(enum rb_kubernetes_as as, const struct rb_node *list, const char *region,
                          const struct rb_kube_leases *leases, struct rb_arena *arena, struct rb_kube_pods *out,
                          const char **out_next, struct rb_err *err)
{
    const struct rb_node *items;
    if (!read_items(list, &items, err))
        return false;
    for (const struct rb_node *n = items ? items->first : NULL; n; n = n->next) {
        struct rb_kube_pod pod;
        if (!rb_kube_decode_node(as, n, region, leases, arena, &pod, err))
            return false;
        out->items = rb_arena_grow(arena, out->items, out->n, sizeof *out->items);
        out->items[out->n++] = pod;
    }
    *out_next = next_page(list, arena);
    return true;
}

bool rb_kube_split_id(const char *id, char name[static 64], char uid[static 64])
{
    const char *dot = strrchr(id, '.');
    if (!rb_is_instance_id(id) || !dot || dot - id > 63 || strlen(dot + 1) > 63 || !dot[1])
        return false;
    snprintf(name, 64, "%.*s", (int)(dot - id), id);
    snprintf(uid, 64, "%s", dot + 1);
    return true;
}
