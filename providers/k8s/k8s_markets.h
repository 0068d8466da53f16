// How the clouds mark spot machines that are nodes of a cluster: by a label. Pure.
// Source: Karpenter, "Well-Known Labels"; EKS, "Managed node groups"; GKE, "Spot VMs".
#ifndef RB_PROVIDERS_K8S_MARKETS_H
#define RB_PROVIDERS_K8S_MARKETS_H

#include "base/document/doc.h"
#include "base/document/json.h"
#include "profiles/catalog/catalog.h"
#include "profiles/job/job.h"

// Of a node, by its labels: on demand where nothing says spot.
enum rb_market rb_kube_market_of(const struct rb_node *labels);
// Writes the affinity by which a pod gets a node of this market, and the toleration of a spot node. Nothing where the job's
// node_selector chooses by one of these labels itself.
void rb_kube_put_market(struct rb_json *j, enum rb_market market, const struct rb_kubernetes_spec *spec);
void rb_kube_put_market_toleration(struct rb_json *j, enum rb_market market);

#endif
