// Describes the cluster behind a mock cloud's Kubernetes front: its namespace, who may do what in it, and what its
// admission asks for. Part of rb-mock/1, `kubernetes:`. Its machines are the price list's rows of `k8s/NAME`.
//
//   kubernetes:
//     namespace: rb            # the only one that the token may use
//     version: "1.30"          # what the server is: 1.20 ignores fieldValidation and has no v5.channel.k8s.io
//     pod_security: restricted # restricted, baseline or privileged
//     denied: [create pods/exec]   # VERB RESOURCE, taken from the role
//     granted: [list nodes]        # added to it
//     quota: {requests.nvidia.com/gpu: 8, pods: 10}
//     limits: {nvidia.com/gpu: 4}  # the most of a container: a LimitRange
//     exec_while_terminating: true # containerd; false: CRI-O
//     release_s: 600               # an idle node goes after this long
//     unreachable_s: 300           # a pod on a dead node is marked for deletion after this long
//     sidecar: istio-proxy         # a container of this name is put before every pod's own
//     place: aws/us-east-1/us-east-1a # whose machines its nodes are; without it no one's
//     queue: {name: rb, gpus: 8}   # Kueue; without it there is none
#ifndef RB_PROVIDERS_MOCK_CLOUD_KUBERNETES_H
#define RB_PROVIDERS_MOCK_CLOUD_KUBERNETES_H

#include "base/arena.h"
#include "base/document/doc.h"
#include "profiles/catalog/catalog.h"

struct rb_cloud_amount {
    const char *resource; // "nvidia.com/gpu", "requests.cpu", "pods"
    int64_t milli;        // thousandths
    const char *text;     // as written
};

struct rb_cloud_amounts {
    const struct rb_cloud_amount *list; // [n]
    int n;
};

struct rb_cloud_kubernetes {
    struct rb_catalog catalog; // rows of k8s/NAME, all of one NAME
    const char *name;          // NAME; NULL: there are no such rows
    const char *space;         // the namespace
    int minor;                 // of version 1.MINOR
    enum { RB_POD_RESTRICTED, RB_POD_BASELINE, RB_POD_PRIVILEGED } pod_security;
    const char *const *denied, *const *granted; // NULL-terminated
    struct rb_cloud_amounts quota, limits;
    bool exec_while_terminating;
    int64_t release_us, unreachable_us;
    const char *sidecar; // NULL: none
    const char *place;   // infra of a zone, whose machines are the nodes; NULL: none
    const char *queue;   // NULL: no Kueue
    int64_t queue_gpus;
};

// node NULL: the defaults. Everything lives in the arena. Errors: INVALID with file, line and key.
bool rb_cloud_kubernetes_read(const struct rb_node *node, struct rb_arena *arena, struct rb_cloud_kubernetes *out,
                              struct rb_err *err);
// Moves the rows of k8s/NAME out of a price list. False: they have more than one NAME.
bool rb_cloud_kubernetes_take(struct rb_catalog *from, struct rb_arena *arena, struct rb_cloud_kubernetes *out);

#endif
