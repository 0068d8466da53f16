// The provider of a cluster of Kubernetes: one node of the plan is one bare pod, or a Job with one pod
// (resources.kubernetes.as), whose PID 1 only keeps it; trials are started in it by exec (k8s_exec.h). Region NAME of infra k8s/NAME is the name of a context.
//   kubeconfig, kube_login   find the cluster and prove who we are
//   k8s_encode, k8s_decode   write and read objects; k8s_errors classifies refusals
//   k8s_markets               spot and on demand, by labels of nodes
//   k8s_node                  the object behind a node: pod or Job
//   k8s_launch, k8s_list, k8s_lease, k8s_end, k8s_preflight, k8s_quotas, k8s_offers, k8s_words, k8s_watch   the verbs that take several calls
//   websocket, k8s_exec, k8s_door          run a command in a pod
#ifndef RB_PROVIDERS_K8S_H
#define RB_PROVIDERS_K8S_H

#include "providers/provider.h"

extern const struct rb_provider_ops rb_provider_k8s;

#endif
