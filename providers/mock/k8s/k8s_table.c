// Answers as tables, for clients that print them (Accept: application/json;as=Table). A pure function of the answer, which
// is an object or a list of them.
// Source: k8s.io/kubernetes/pkg/printers/internalversion, and duration.HumanDuration in k8s.io/apimachinery.
#include "providers/mock/k8s/k8s_call.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

// An object, and what its cells are written with.
struct row {
    const struct rb_node *object, *meta, *spec, *status;
    int64_t now_us;
    struct rb_json *j;
};

struct column {
    const char *name, *description;
    int priority; // 0: shown always, 1: with -o wide
};

// --- parts of cells ---

static const char *text_or(const struct rb_node *map, const char *key, const char *other)
{
    const char *text = rb_node_member_text(map, key);
    return *text ? text : other;
}

static int64_t instant_of(const struct rb_node *map, const char *key)
{
    int64_t us;
    return rb_parse_instant(rb_node_member_text(map, key), &us, NULL) ? us : -1;
}

static int64_t number_of(const struct rb_node *map, const char *key)
{
    const struct rb_node *n = rb_node_member(map, key);
    return n && n->kind == RB_NODE_INT ? n->integer : 0;
}

// "45s", "3m20s", "17m", "5h10m", "30h", "3d2h", "400d"
static void write_age(struct rb_json *j, int64_t us)
{
    static const struct {
        int64_t below_s, unit_s, rest_s; // rest_s 0: whole units
        const char *unit, *rest;
    } forms[] = {{120, 1, 0, "s", ""},           {600, 60, 1, "m", "s"},        {3 * 3600, 60, 0, "m", ""},
                 {8 * 3600, 3600, 60, "h", "m"}, {48 * 3600, 3600, 0, "h", ""}, {8 * 86400, 86400, 3600, "d", "h"},
                 {INT64_MAX, 86400, 0, "d", ""}};
    const int64_t s = us > 0 ? us / RB_US_PER_S : 0;
    size_t i = 0;
    while (s >= forms[i].below_s)
        i++;
    const int64_t rest = forms[i].rest_s ? s % forms[i].unit_s / forms[i].rest_s : 0;
    char text[64];
    if (rest > 0)
        snprintf(text, sizeof text, "%" PRId64 "%s%" PRId64 "%s", s / forms[i].unit_s, forms[i].unit, rest,
                 forms[i].rest);
    else
        snprintf(text, sizeof text, "%" PRId64 "%s", s / forms[i].unit_s, forms[i].unit);
    rb_json_string(j, text);
}

static void write_age_of(const struct row *r)
{
    const int64_t created_us = instant_of(r->meta, "creationTimestamp");
    if (created_us < 0)
        rb_json_string(r->j, "<unknown>");
    else
        write_age(r->j, r->now_us - created_us);
}

static void write_name(const struct row *r)
{
    rb_json_string(r->j, rb_node_member_text(r->meta, "name"));
}

static void write_fraction(struct rb_json *j, int64_t of, int64_t all)
{
    char text[48];
    snprintf(text, sizeof text, "%" PRId64 "/%" PRId64, of, all);
    rb_json_string(j, text);
}

static int64_t count(const struct rb_node *list)
{
    return list && list->kind == RB_NODE_LIST ? list->n_children : 0;
}

static const struct rb_node *item_of(const struct rb_node *list, const char *key, const char *text)
{
    for (const struct rb_node *n = rb_node_first(list); n; n = n->next)
        if (strcmp(rb_node_member_text(n, key), text) == 0)
            return n;
    return NULL;
}

// --- pods ---

static const struct column pod_columns[] = {
    {"Name", "Name must be unique within a namespace.", 0},
    {"Ready", "The aggregate readiness state of this pod.", 0},
    {"Status", "The aggregate status of the containers in this pod.", 0},
    {"Restarts", "How often its containers have been restarted.", 0},
    {"Age", "Time since the object was created.", 0},
    {"IP", "IP address allocated to the pod.", 1},
    {"Node", "The node that the pod is on.", 1},
    {"Nominated Node", "The node that it may be put on after preemption.", 1},
    {"Readiness Gates", "Conditions that must hold besides its containers'.", 1},
    {0}};

static const char *pod_status(const struct row *r, int *out_ready)
{
    const char *why = text_or(r->status, "reason", rb_node_member_text(r->status, "phase"));
    const struct rb_node *scheduled = item_of(rb_node_member(r->status, "conditions"), "type", "PodScheduled");
    bool runs = false;
    if (strcmp(rb_node_member_text(scheduled, "reason"), "SchedulingGated") == 0)
        why = "SchedulingGated";
    *out_ready = 0;
    // of several the first counts, and it comes last here
    const struct rb_node *statuses = rb_node_member(r->status, "containerStatuses");
    const char *first = NULL;
    for (const struct rb_node *c = rb_node_first(statuses); c; c = c->next) {
        const struct rb_node *state = rb_node_member(c, "state"), *ready = rb_node_member(c, "ready");
        const char *reason = text_or(rb_node_member(state, "waiting"), "reason",
                                     rb_node_member_text(rb_node_member(state, "terminated"), "reason"));
        if (*reason) {
            first = first ? first : reason;
        } else if (rb_node_member(state, "running") && ready && ready->boolean) {
            runs = true;
            ++*out_ready;
        }
    }
    why = first ? first : why;
    if (runs && strcmp(why, "Completed") == 0)
        why = "NotReady";
    return rb_node_member(r->meta, "deletionTimestamp") ? "Terminating" : why;
}

static void write_pod(const struct row *r)
{
    int ready;
    const char *status = pod_status(r, &ready);
    write_name(r);
    write_fraction(r->j, ready, count(rb_node_member(r->spec, "containers")));
    rb_json_string(r->j, status);
    rb_json_string(r->j, "0");
    write_age_of(r);
    rb_json_string(r->j, text_or(r->status, "podIP", "<none>"));
    rb_json_string(r->j, text_or(r->spec, "nodeName", "<none>"));
    rb_json_string(r->j, "<none>");
    rb_json_string(r->j, "<none>");
}

// --- Jobs ---

static const struct column job_columns[] = {{"Name", "Name must be unique within a namespace.", 0},
                                            {"Completions", "How many pods have succeeded, of how many.", 0},
                                            {"Duration", "Time from its start to its completion.", 0},
                                            {"Age", "Time since the object was created.", 0},
                                            {"Containers", "Names of each container in the template.", 1},
                                            {"Images", "Images referenced by each container in the template.", 1},
                                            {"Selector", "Label selector of its pods.", 1},
                                            {0}};

static void write_job(const struct row *r)
{
    const struct rb_node *template = rb_node_member(r->spec, "template"),
                         *container = rb_node_first(rb_node_member(rb_node_member(template, "spec"), "containers")),
                         *labels = rb_node_member(rb_node_member(r->spec, "selector"), "matchLabels");
    const int64_t start_us = instant_of(r->status, "startTime"), end_us = instant_of(r->status, "completionTime");
    char selector[160] = "<none>";
    if (labels && labels->first)
        snprintf(selector, sizeof selector, "%.80s=%.60s", labels->first->key, labels->first->text);
    write_name(r);
    write_fraction(r->j, number_of(r->status, "succeeded"), number_of(r->spec, "completions"));
    if (start_us < 0)
        rb_json_string(r->j, "");
    else
        write_age(r->j, (end_us >= 0 ? end_us : r->now_us) - start_us);
    write_age_of(r);
    rb_json_string(r->j, rb_node_member_text(container, "name"));
    rb_json_string(r->j, rb_node_member_text(container, "image"));
    rb_json_string(r->j, selector);
}

// --- leases, nodes, and all others ---

static const struct column lease_columns[] = {{"Name", "Name must be unique within a namespace.", 0},
                                              {"Holder", "The holder of the lease.", 0},
                                              {"Age", "Time since the object was created.", 0},
                                              {0}};

static void write_lease(const struct row *r)
{
    write_name(r);
    rb_json_string(r->j, rb_node_member_text(r->spec, "holderIdentity"));
    write_age_of(r);
}

static const struct column node_columns[] = {{"Name", "Name must be unique within a namespace.", 0},
                                             {"Status", "The status of the node.", 0},
                                             {"Roles", "The roles of the node.", 0},
                                             {"Age", "Time since the object was created.", 0},
                                             {"Version", "Kubelet version reported by the node.", 0},
                                             {0}};

static void write_node(const struct row *r)
{
    const struct rb_node *ready = item_of(rb_node_member(r->status, "conditions"), "type", "Ready");
    write_name(r);
    rb_json_string(r->j, strcmp(rb_node_member_text(ready, "status"), "True") == 0 ? "Ready" : "NotReady");
    rb_json_string(r->j, "<none>");
    write_age_of(r);
    rb_json_string(r->j, rb_node_member_text(rb_node_member(r->status, "nodeInfo"), "kubeletVersion"));
}

static const struct column other_columns[] = {
    {"Name", "Name must be unique within a namespace.", 0}, {"Created At", "When the object was created.", 0}, {0}};

static void write_other(const struct row *r)
{
    write_name(r);
    rb_json_string(r->j, rb_node_member_text(r->meta, "creationTimestamp"));
}

static const struct kind {
    const char *name;
    const struct column *columns;
    void (*write)(const struct row *r);
} kinds[] = {{"Pod", pod_columns, write_pod},
             {"Job", job_columns, write_job},
             {"Lease", lease_columns, write_lease},
             {"Node", node_columns, write_node},
             {"", other_columns, write_other}};

// "PodList", "Pod"
static const struct kind *find_kind(const char *name)
{
    const size_t n = strlen(name), m = n > 4 && strcmp(name + n - 4, "List") == 0 ? n - 4 : n;
    const struct kind *k = kinds;
    while (*k->name && (strlen(k->name) != m || strncmp(k->name, name, m) != 0))
        k++;
    return k;
}

// --- the table ---

static void write_row(const struct kind *k, struct row *r)
{
    r->meta = rb_node_member(r->object, "metadata");
    r->spec = rb_node_member(r->object, "spec");
    r->status = rb_node_member(r->object, "status");
    rb_json_put(r->j, "{cells: [");
    k->write(r);
    rb_json_put(r->j, "] object: {kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1'");
    rb_json_key(r->j, "metadata");
    rb_json_node(r->j, r->meta);
    rb_json_put(r->j, "}}");
}

static void write_meta(const struct rb_node *answer, bool is_list, struct rb_json *j)
{
    const struct rb_node *meta = rb_node_member(answer, "metadata");
    rb_json_key(j, "metadata");
    if (is_list)
        rb_json_node(j, meta);
    else
        rb_json_put(j, "{resourceVersion: %s}", rb_node_member_text(meta, "resourceVersion"));
}

bool rb_k8s_wants_table(const struct rb_k8s_call *call)
{
    const char *accept = rb_exchange_header(call->request, "Accept");
    return strcmp(call->request->method, "GET") == 0 && call->out->delivery == RB_EXCHANGE_WHOLE && accept &&
           strstr(accept, "as=Table") && strstr(accept, "g=meta.k8s.io") &&
           strcmp(call->out->content_type, "application/json") == 0;
}

void rb_k8s_write_table(const struct rb_node *answer, int64_t now_us, struct rb_json *j)
{
    const struct rb_node *items = rb_node_member(answer, "items");
    const struct kind *k = find_kind(rb_node_member_text(answer, "kind"));
    struct row r = {.now_us = now_us, .j = j};
    rb_json_put(j, "{kind: 'Table', apiVersion: 'meta.k8s.io/v1'");
    write_meta(answer, items != NULL, j);
    rb_json_karray(j, "columnDefinitions");
    for (const struct column *c = k->columns; c->name; c++)
        rb_json_put(j, "{name: %s, type: 'string', format: %s, description: %s, priority: %d}", c->name,
                    strcmp(c->name, "Name") == 0 ? "name" : "", c->description, c->priority);
    rb_json_end_array(j);
    rb_json_karray(j, "rows");
    for (r.object = items ? rb_node_first(items) : answer; r.object; r.object = items ? r.object->next : NULL)
        write_row(k, &r);
    rb_json_end_array(j);
    rb_json_put(j, "}");
}
