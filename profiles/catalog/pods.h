// Prices the pods of a cluster of Kubernetes, for which no cloud sends a bill: by the machine that they are a part of, or by
// what the job says a GPU is worth. The cost of such a pod is attributed.
#ifndef RB_PROFILES_PODS_H
#define RB_PROFILES_PODS_H

#include "profiles/catalog/catalog.h"
#include "profiles/job/job.h"

// A machine of a cluster, as its cloud sells it.
struct rb_pod_machine {
    const char *infra;         // "aws/us-east-1/us-east-1a"
    const char *instance_type; // the cloud's name, which is the node's label
    enum rb_market market;
};
// The price of a pod with `gpus` of the machine's GPUs in k8s/NAME (k8s_infra): its share of the machine's price, rounded up.
// out->instance_type is TYPE for all of them, else TYPE/GPUS. Texts are in the arena. False: the catalogue has no such
// machine, or it has fewer GPUs.
bool rb_pod_offer(const struct rb_catalog *c, const struct rb_pod_machine *m, const char *k8s_infra, int gpus,
                  struct rb_arena *arena, struct rb_offer *out);

// Adds what the job prices itself by resources.kubernetes.price_per_gpu_hour: its instance_types in each k8s/NAME of its
// infra that has no price in *c. Errors: INVALID, where the number of GPUs, or the kind, is unknown.
bool rb_catalog_add_pods(struct rb_catalog *c, const struct rb_job *job, struct rb_arena *arena, struct rb_err *err);

#endif
