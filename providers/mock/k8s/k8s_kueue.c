// A little of Kueue: one LocalQueue with a number of GPUs. A pod that names the queue waits behind a gate until its
// whole group is there and fits: all of it or none. A group that has been whole is a Workload, whose end lets ended pods go; one
// that has not lets its pods go once all of them are being deleted (kueue#1451).
#include "providers/mock/k8s/k8s_call.h"

#include <stdlib.h>
#include <string.h>

#define GROUP "kueue.x-k8s.io/pod-group-name"
#define COUNT "kueue.x-k8s.io/pod-group-total-count"

static const char *group_of(const struct rb_k8s_pod *p)
{
    const char *group = rb_k8s_text(p->labels, GROUP);
    return group ? group : p->name;
}

static bool is_queued(const struct rb_mock_k8s *k, const struct rb_k8s_pod *p)
{
    const char *queue = rb_k8s_text(p->labels, RB_K8S_QUEUE_LABEL);
    return k->config->queue && queue && strcmp(queue, k->config->queue) == 0;
}

void rb_k8s_queue_pod(struct rb_mock_k8s *k, struct rb_k8s_pod *p, int64_t now_us)
{
    (void)now_us;
    p->is_gated = p->is_managed = k->config->queue && rb_k8s_text(p->labels, RB_K8S_QUEUE_LABEL);
    k->needs_placing = true;
}

// GPUs of pods that have been let in and have not ended.
static int64_t used(const struct rb_mock_k8s *k)
{
    int64_t gpus = 0;
    for (int i = 0; i < k->n_pods; i++) {
        const struct rb_k8s_pod *p = k->pods[i];
        if (is_queued(k, p) && !p->is_gated && !p->is_gone && !rb_k8s_has_ended(p))
            gpus += p->gpus;
    }
    return gpus;
}

static void measure(const struct rb_mock_k8s *k, const char *group, int *out_n, int64_t *out_gpus)
{
    *out_n = 0;
    *out_gpus = 0;
    for (int i = 0; i < k->n_pods; i++) {
        const struct rb_k8s_pod *p = k->pods[i];
        if (is_queued(k, p) && p->is_gated && !p->is_gone && p->deletion_us < 0 && strcmp(group_of(p), group) == 0) {
            ++*out_n;
            *out_gpus += p->gpus;
        }
    }
}

static void admit(struct rb_mock_k8s *k, const char *group, int64_t now_us)
{
    for (int i = 0; i < k->n_pods; i++) {
        struct rb_k8s_pod *p = k->pods[i];
        if (!is_queued(k, p) || !p->is_gated || p->is_gone || strcmp(group_of(p), group) != 0)
            continue;
        p->is_gated = false;
        rb_k8s_tell(k, p, "Normal", "Admitted", now_us, "Admitted by clusterQueue rb");
        rb_k8s_changed(k, p, "MODIFIED", now_us);
    }
}

static bool is_member(const struct rb_k8s_pod *p, const char *group)
{
    return p->is_managed && !p->is_gone && strcmp(group_of(p), group) == 0;
}

static void make_workload(struct rb_mock_k8s *k, const char *group)
{
    for (int i = 0; i < k->n_pods; i++)
        if (is_member(k->pods[i], group))
            k->pods[i]->has_workload = true;
}

void rb_k8s_admit_groups(struct rb_mock_k8s *k, int64_t now_us)
{
    for (int i = 0; k->config->queue && i < k->n_pods; i++) {
        const struct rb_k8s_pod *p = k->pods[i];
        const char *count = rb_k8s_text(p->annotations, COUNT);
        int n;
        int64_t gpus;
        if (!is_queued(k, p) || !p->is_gated || p->is_gone)
            continue;
        measure(k, group_of(p), &n, &gpus);
        if (n < (count ? atoi(count) : 1))
            continue;
        make_workload(k, group_of(p));
        if (used(k) + gpus <= k->config->queue_gpus)
            admit(k, group_of(p), now_us);
    }
}

void rb_k8s_finalize_group(struct rb_mock_k8s *k, const struct rb_k8s_pod *deleted, int64_t now_us)
{
    const char *group = group_of(deleted);
    for (int i = 0; i < k->n_pods; i++)
        if (is_member(k->pods[i], group) && (k->pods[i]->has_workload || k->pods[i]->deletion_us < 0))
            return;
    for (int i = 0; i < k->n_pods; i++)
        if (is_member(k->pods[i], group))
            rb_k8s_release_pod(k, k->pods[i], now_us);
}

// --- LocalQueue ---

static void write_queue(struct rb_k8s_call *call, int at)
{
    (void)at;
    const struct rb_mock_k8s *k = call->k;
    int pending = 0, admitted = 0;
    for (int i = 0; i < k->n_pods; i++) {
        pending += is_queued(k, k->pods[i]) && k->pods[i]->is_gated && !k->pods[i]->is_gone;
        admitted += is_queued(k, k->pods[i]) && !k->pods[i]->is_gated && !k->pods[i]->is_gone;
    }
    rb_json_put(
        &call->json,
        "{apiVersion: 'kueue.x-k8s.io/v1beta1', kind: 'LocalQueue', metadata: {name: %s, namespace: %s}, spec: "
        "{clusterQueue: 'rb'}, status: {pendingWorkloads: %d, admittedWorkloads: %d, conditions: [{type: "
        "'Active', status: 'True', reason: 'Ready'}], flavorsReservation: [{name: 'default', resources: [{name: "
        "'nvidia.com/gpu', total: '%jd'}]}]}}",
        k->config->queue, k->config->space, pending, admitted, (intmax_t)used(k));
}

static const char *no_label(const void *object, const char *key)
{
    (void)object, (void)key;
    return NULL;
}

static const void *call_at(const struct rb_k8s_call *call, int at)
{
    (void)at;
    return call;
}

bool rb_k8s_queues_list(struct rb_k8s_call *call)
{
    const struct rb_k8s_kind kind = {.list_kind = "LocalQueueList",
                                     .api_version = "kueue.x-k8s.io/v1beta1",
                                     .n = 1,
                                     .label = no_label,
                                     .at = call_at,
                                     .write = write_queue};
    return rb_k8s_list(call, &kind);
}

bool rb_k8s_queue_get(struct rb_k8s_call *call)
{
    if (!rb_k8s_checked(call))
        return false;
    if (strcmp(call->name, call->k->config->queue) != 0)
        return rb_k8s_not_found(call, "localqueues", call->name);
    write_queue(call, 0);
    return true;
}

// --- workloads: one a group, once every member has been there ---

// A member that is still there; NULL: no such workload.
static const struct rb_k8s_pod *find_member(const struct rb_mock_k8s *k, const char *group)
{
    for (int i = 0; i < k->n_pods; i++)
        if (is_member(k->pods[i], group) && k->pods[i]->has_workload)
            return k->pods[i];
    return NULL;
}

bool rb_k8s_workload_get(struct rb_k8s_call *call)
{
    if (!rb_k8s_checked(call))
        return false;
    const struct rb_k8s_pod *p = find_member(call->k, call->name);
    if (!p)
        return rb_k8s_not_found(call, "workloads", call->name);
    const char *admitted = p->is_gated ? "False" : "True";
    rb_json_put(
        &call->json,
        "{apiVersion: 'kueue.x-k8s.io/v1beta1', kind: 'Workload', metadata: {name: %s, namespace: %s}, spec: "
        "{queueName: %s}, status: {conditions: [{type: 'QuotaReserved', status: %s}, {type: 'Admitted', status: "
        "%s}]}}",
        call->name, call->k->config->space, call->k->config->queue, admitted, admitted);
    return true;
}

bool rb_k8s_workload_delete(struct rb_k8s_call *call)
{
    rb_k8s_query(call, "propagationPolicy");
    if (!rb_k8s_checked(call))
        return false;
    if (!find_member(call->k, call->name))
        return rb_k8s_not_found(call, "workloads", call->name);
    for (int i = 0; i < call->k->n_pods; i++) {
        struct rb_k8s_pod *p = call->k->pods[i];
        if (!is_member(p, call->name))
            continue;
        p->has_workload = false;
        if (!rb_k8s_has_ended(p) && p->deletion_us < 0)
            rb_k8s_delete_pod(call->k, p, -1, call->now_us);
        rb_k8s_release_pod(call->k, p, call->now_us);
    }
    rb_json_put(&call->json, "{kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success'}");
    return true;
}
