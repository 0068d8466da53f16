// The cluster's objects and their versions.
#include "providers/mock/k8s/k8s_state.h"
#include "providers/mock/k8s/quantity.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLLECT_LATE_US (70 * INT64_C(1000)) // of a pod made after its owner was gone
#define MAX_CHANGES     1000                 // what a watch can still begin at

void rb_k8s_make_uid(struct rb_mock_k8s *k, char out[static 40])
{
    const unsigned long long a = rb_cloud_fresh_id(k->cloud), b = rb_cloud_fresh_id(k->cloud);
    snprintf(out, 40, "%08llx-%04llx-4%03llx-a%03llx-%012llx", a >> 32, a >> 16 & 0xffff, a & 0xfff, b >> 48 & 0xfff,
             b & 0xffffffffffff);
}

const char *rb_k8s_text(const struct rb_node *map, const char *key)
{
    const struct rb_node *value = rb_node_member(map, key);
    return value && value->kind == RB_NODE_STRING ? value->text : NULL;
}

// --- looking ---

struct rb_k8s_pod *rb_k8s_find_pod(const struct rb_mock_k8s *k, const char *name)
{
    for (int i = k->n_pods - 1; i >= 0; i--)
        if (!k->pods[i]->is_gone && strcmp(k->pods[i]->name, name) == 0)
            return k->pods[i];
    return NULL;
}

struct rb_k8s_pod *rb_k8s_find_uid(const struct rb_mock_k8s *k, const char *uid)
{
    for (int i = k->n_pods - 1; i >= 0; i--)
        if (strcmp(k->pods[i]->uid, uid) == 0)
            return k->pods[i];
    return NULL;
}

struct rb_k8s_lease *rb_k8s_find_lease(const struct rb_mock_k8s *k, const char *name)
{
    for (int i = k->n_leases - 1; i >= 0; i--)
        if (!k->leases[i]->is_gone && strcmp(k->leases[i]->name, name) == 0)
            return k->leases[i];
    return NULL;
}

static bool lease_lives(const struct rb_mock_k8s *k, const char *uid)
{
    for (int i = 0; i < k->n_leases; i++)
        if (!k->leases[i]->is_gone && strcmp(k->leases[i]->uid, uid) == 0)
            return true;
    return false;
}

static bool job_lives(const struct rb_mock_k8s *k, const char *uid)
{
    for (int i = 0; i < k->n_jobs; i++)
        if (!k->jobs[i]->is_gone && strcmp(k->jobs[i]->uid, uid) == 0)
            return true;
    return false;
}

bool rb_k8s_any_owner_lives(const struct rb_mock_k8s *k, const struct rb_node *owners)
{
    const struct rb_node *owner = rb_node_first(owners);
    bool lives = !owner;
    for (; owner; owner = owner->next)
        lives |= lease_lives(k, rb_node_member_text(owner, "uid")) || job_lives(k, rb_node_member_text(owner, "uid"));
    return lives;
}

// --- requests ---

// Of the first container, which is the only one. which: "requests", "limits".
int64_t rb_k8s_requested(const struct rb_node *spec, const char *which, const char *resource)
{
    const struct rb_node *container = rb_node_first(rb_node_member(spec, "containers"));
    const char *text = rb_k8s_text(rb_node_member(rb_node_member(container, "resources"), which), resource);
    struct rb_quantity q;
    return text && rb_quantity_parse(text, &q) ? q.milli : 0;
}

bool rb_k8s_has_ended(const struct rb_k8s_pod *p)
{
    return p->container.finished_us >= 0;
}

// A pod past its deadline has failed, although its container may still run.
const char *rb_k8s_phase(const struct rb_k8s_pod *p)
{
    if (p->reason && strcmp(p->reason, "DeadlineExceeded") == 0)
        return "Failed";
    if (rb_k8s_has_ended(p))
        return p->container.exit_code == 0 ? "Succeeded" : "Failed";
    return p->container.started_us >= 0 ? "Running" : "Pending";
}

// --- changes ---

static void forget_oldest(struct rb_mock_k8s *k)
{
    k->forgotten = k->changes[0].version;
    free(k->changes[0].object);
    memmove(k->changes, k->changes + 1, (size_t)--k->n_changes * sizeof *k->changes);
}

void rb_k8s_changed(struct rb_mock_k8s *k, struct rb_k8s_pod *p, const char *type, int64_t now_us)
{
    (void)now_us;
    struct rb_buf text = RB_BUF_INIT;
    struct rb_json j;
    p->version = ++k->version;
    rb_json_init(&j, &text, false);
    rb_k8s_write_pod(p, k, false, &j);
    if (k->n_changes == MAX_CHANGES)
        forget_oldest(k);
    k->changes = rb_grow(k->changes, k->n_changes, sizeof *k->changes);
    k->changes[k->n_changes++] = (struct rb_k8s_change){p->version, type, p, text.data};
    rb_cloud_touch(k->cloud);
}

static void tell(struct rb_mock_k8s *k, const struct rb_k8s_ref *of, const char *type, const char *reason,
                 int64_t now_us, const char *fmt, va_list ap)
{
    char message[512];
    vsnprintf(message, sizeof message, fmt, ap);
    for (int i = k->n_events - 1; i >= 0; i--) {
        struct rb_k8s_event *e = k->events[i];
        if (strcmp(e->of.uid, of->uid) == 0 && strcmp(e->reason, reason) == 0 && strcmp(e->message, message) == 0) {
            e->count++;
            e->last_us = now_us;
            e->version = ++k->version;
            return;
        }
    }
    struct rb_k8s_event *e = rb_arena_alloc(&k->arena, sizeof *e);
    *e = (struct rb_k8s_event){
        .of = *of,
        .name = rb_arena_printf(&k->arena, "%.200s.%016llx", of->name, (unsigned long long)rb_cloud_fresh_id(k->cloud)),
        .type = type,
        .reason = reason,
        .message = rb_arena_strdup(&k->arena, message),
        .source = "rbmock",
        .version = ++k->version,
        .first_us = now_us,
        .last_us = now_us,
        .count = 1};
    k->events = rb_grow(k->events, k->n_events, sizeof *k->events);
    k->events[k->n_events++] = e;
}

void rb_k8s_tell_of(struct rb_mock_k8s *k, const struct rb_k8s_ref *of, const char *type, const char *reason,
                    int64_t now_us, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    tell(k, of, type, reason, now_us, fmt, ap);
    va_end(ap);
}

void rb_k8s_tell(struct rb_mock_k8s *k, const struct rb_k8s_pod *p, const char *type, const char *reason,
                 int64_t now_us, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    tell(k, &(struct rb_k8s_ref){"Pod", "v1", p->name, p->uid}, type, reason, now_us, fmt, ap);
    va_end(ap);
}

// --- a new pod ---

static struct rb_cloud_tag *copy_tags(struct rb_mock_k8s *k, const struct rb_k8s_pod *p, int *out_n)
{
    const struct rb_node *maps[] = {p->labels, p->annotations};
    int n = 0;
    for (int m = 0; m < 2; m++)
        n += maps[m] ? maps[m]->n_children : 0;
    struct rb_cloud_tag *tags = rb_arena_array(&k->arena, (size_t)n + 1, sizeof *tags);
    *out_n = 0;
    for (int m = 0; m < 2; m++) // an annotation holds the original of what a label had to shorten
        for (const struct rb_node *c = maps[m] ? maps[m]->first : NULL; c; c = c->next) {
            int at = 0;
            while (at < *out_n && strcmp(tags[at].key, c->key) != 0)
                at++;
            tags[at] = (struct rb_cloud_tag){c->key, c->text};
            *out_n += at == *out_n;
        }
    return tags;
}

// The offer of the ledger until a machine is known: one that suits the pod, else that of the selector, else the first.
static const struct rb_offer *guess_offer(const struct rb_mock_k8s *k, const struct rb_k8s_pod *p)
{
    const struct rb_catalog *c = &k->config->catalog;
    const char *type = rb_k8s_text(rb_node_member(p->spec, "nodeSelector"), "node.kubernetes.io/instance-type");
    for (int i = 0; type && i < c->n_offers; i++)
        if (strcmp(c->offers[i].instance_type, type) == 0 && rb_k8s_suits(p, &c->offers[i], ""))
            return &c->offers[i];
    for (int i = 0; type && i < c->n_offers; i++)
        if (strcmp(c->offers[i].instance_type, type) == 0)
            return &c->offers[i];
    return &c->offers[0];
}

static void enter_ledger(struct rb_mock_k8s *k, struct rb_k8s_pod *p, int64_t now_us)
{
    const char *token = rb_k8s_text(p->annotations, "rb.token");
    struct rb_cloud_instance model = {.offer = guess_offer(k, p),
                                      .region = k->config->catalog.offers[0].infra,
                                      .zone = k->config->name,
                                      .name = p->name,
                                      .token = token ? token : "",
                                      .image_id = "",
                                      .user_data = "",
                                      .requested_us = now_us,
                                      .visible_us = now_us,
                                      .running_us = -1,
                                      .ready_us = -1,
                                      .ended_us = -1,
                                      .terminated_us = -1};
    memcpy(model.id, p->uid, sizeof model.id);
    model.tags = copy_tags(k, p, &model.n_tags);
    p->instance = rb_cloud_adopt(k->cloud, &model);
}

struct rb_k8s_pod *rb_k8s_add_pod(struct rb_mock_k8s *k, struct rb_doc *doc, int64_t now_us)
{
    struct rb_k8s_pod *p = rb_arena_alloc(&k->arena, sizeof *p);
    *p = (struct rb_k8s_pod){.doc = *doc,
                             .created_us = now_us,
                             .deletion_us = -1,
                             .scheduled_us = -1,
                             .container = {.image_id = "", .started_us = -1, .finished_us = -1}};
    *doc = (struct rb_doc){0};
    const struct rb_node *meta = rb_node_member(p->doc.root, "metadata");
    p->spec = rb_node_member(p->doc.root, "spec");
    p->name = rb_node_member_text(meta, "name");
    p->labels = rb_node_member(meta, "labels");
    p->annotations = rb_node_member(meta, "annotations");
    p->owners = rb_node_member(meta, "ownerReferences");
    p->milli_cpu = rb_k8s_requested(p->spec, "requests", "cpu");
    p->milli_memory = rb_k8s_requested(p->spec, "requests", "memory");
    p->gpus = rb_k8s_requested(p->spec, "limits", RB_K8S_GPU) / 1000;
    for (int d = 0; d < RB_K8S_N_DUE; d++)
        p->due_us[d] = INT64_MAX;
    p->grace_us = rb_node_member(p->spec, "terminationGracePeriodSeconds")->integer * RB_US_PER_S;
    if (!rb_k8s_any_owner_lives(k, p->owners))
        p->due_us[RB_K8S_DUE_COLLECT] = now_us + COLLECT_LATE_US;
    rb_k8s_make_uid(k, p->uid);
    k->pods = rb_grow(k->pods, k->n_pods, sizeof *k->pods);
    k->pods[k->n_pods++] = p;
    enter_ledger(k, p, now_us);
    k->needs_placing = true;
    return p;
}
