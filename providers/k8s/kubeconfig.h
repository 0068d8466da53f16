// Finds a cluster of Kubernetes and who we are there: a context of the kubeconfig, or in a pod its service account.
// Source: "Organizing Cluster Access Using kubeconfig Files", "Authenticating" (client-go credential plugins) and
// "Accessing the Kubernetes API from a Pod" in the Kubernetes documentation.
#ifndef RB_PROVIDERS_KUBECONFIG_H
#define RB_PROVIDERS_KUBECONFIG_H

#include "base/arena.h"
#include "base/errors/err.h"
#include "profiles/job/job.h"
#include "providers/wire/http.h"

// A program that prints a credential (client.authentication.k8s.io).
struct rb_kube_plugin {
    const char *const *argv;  // NULL-terminated; NULL: there is none
    const char *const *env;   // "NAME=value", besides our environment; NULL-terminated
    const char *version;      // "client.authentication.k8s.io/v1"
    bool wants_cluster;       // its input describes the cluster
};

struct rb_kubeconfig {
    struct rb_arena arena;      // of all texts; wiped by rb_kubeconfig_finish
    const char *context, *namespace, *server;
    struct rb_http_peer peer;
    const char *token;          // NULL: none
    const char *token_file;     // holds one that changes; NULL: none
    struct rb_kube_plugin plugin;
    const char *source;         // for people: "context ml of /home/ann/.kube/config"
};

// Reads the files of $KUBECONFIG (a list with colons), or ~/.kube/config; the first that defines a name counts. Without
// any such file, a pod's service account is used, whatever the context is called. namespace NULL: the context's.
// Errors: INVALID or DENIED, with file, line and key.
bool rb_kubeconfig_load(const char *context, const char *namespace, struct rb_kubeconfig *out, struct rb_err *err);
// The same for infra k8s/NAME: RB_KUBE_CONTEXT and RB_KUBE_NAMESPACE go before what the job says, and that before NAME.
bool rb_kube_place(const char *name, const struct rb_kubernetes_spec *spec, struct rb_kubeconfig *out,
                  struct rb_err *err);
void rb_kubeconfig_finish(struct rb_kubeconfig *config); // accepts a zeroed one

#endif
