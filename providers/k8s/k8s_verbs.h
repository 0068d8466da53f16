// What the verbs of the provider of Kubernetes share. Inside providers/k8s only.
#ifndef RB_PROVIDERS_K8S_VERBS_H
#define RB_PROVIDERS_K8S_VERBS_H

#include "profiles/job/job.h"
#include "providers/k8s/k8s_decode.h"
#include "providers/k8s/kube_login.h"
#include "providers/wire/api_call.h"

struct rb_kube_last_words { char uid[64], text[400]; }; // of a pod that failed; text "": none

// A pod that was deleted before it had a machine: its object may have gone at once, and only that answer has shown it.
struct rb_kube_never_ran { char uid[64]; enum rb_market market; int64_t ended_us; };

struct rb_kube {
    const struct rb_loop *loop;
    char region[64];
    struct rb_kubeconfig config;
    struct rb_kube_login *login;
    struct rb_kubernetes_spec spec;
    const struct rb_catalog *prices; // of clouds; never NULL
    struct rb_api *api;
    struct rb_http *http;         // of the api
    struct rb_kube_watch *watch;  // NULL: none
    bool no_events, no_logs; // we have no right to them
    struct rb_kube_last_words *last_words; // [n_last_words], as far as they were asked for
    int n_last_words;
    struct rb_kube_never_ran *never_ran; // [n_never_ran], of those that were ended here
    int n_never_ran;
};

enum {
    RB_KUBE_READ_TRIES = 3,
    RB_KUBE_WRITE_TRIES = 5,
    RB_KUBE_PAGE = 500,
    RB_KUBE_RESTARTS = 2, // of a listing whose rest the server has forgotten
};

// What launches make: pods, or Jobs (resources.kubernetes.as). Of a name the prefix says which (k8s_encode.h), so only what
// launches and lists asks the job.
struct rb_kube_calls { const char *create, *get, *list; }; // for messages: "pods.create"
extern const struct rb_kube_calls rb_kube_calls[]; // by enum rb_kubernetes_as
// Appends the path of all of them, or of the one of this name.
void rb_kube_put_nodes(const struct rb_kube *k, enum rb_kubernetes_as as, struct rb_buf *target);
void rb_kube_put_node(const struct rb_kube *k, const char *name, struct rb_buf *target);
// The deletion of what was launched as this id, and of none that has its name now; to be sent with "DELETE". Never with a
// grace of 0: that ends the object, not the processes. Not mutating: a repetition changes nothing.
struct rb_api_call rb_kube_deletion(const struct rb_kube *k, const char *id, int tries, void *state, rb_api_done_fn *done);

#define RB_KUBE_PODS   "/api/v1/namespaces/%s/pods"
#define RB_KUBE_LEASES "/apis/coordination.k8s.io/v1/namespaces/%s/leases"
#define RB_KUBE_REVIEWS "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"

// Sends the call; a body is JSON.
void rb_kube_send(struct rb_kube *k, const char *method, struct rb_api_call *call);
// Any object counts as an answer.
bool rb_kube_decode_any(void *arg, const char *body, size_t n, struct rb_err *err);
// The first page of a listing of ours of one run (NULL: of any), or the next.
void rb_kube_put_page(struct rb_buf *target, const char *run_id, const char *page);

void rb_kube_look(struct rb_provider *p, const char *id, rb_launch_fn *fn, void *arg);
void rb_kube_launch(struct rb_provider *p, const struct rb_launch *launch, rb_launch_fn *fn, void *arg);
void rb_kube_preflight(struct rb_provider *p, const struct rb_launch *launch, rb_preflight_fn *fn, void *arg);
// What both check before anything is sent.
bool rb_kube_check_launch(const struct rb_kube *k, const struct rb_launch *launch, struct rb_arena *arena,
                         struct rb_kube_shape *out, struct rb_err *err);
// Did the cluster keep all that it was sent? Errors: INVALID, naming the field.
bool rb_kube_check_stored(const struct rb_buf *sent, const struct rb_node *stored, const char *name, struct rb_err *err);

// Deletes the Workload of the launch that a pod is of, where it waits or waited in a queue of Kueue: this holds the objects of
// pods that are deleted. All members of a launch end together.
void rb_kube_delete_workload(struct rb_kube *k, const char *pod, void *state, rb_api_done_fn *done);
void rb_kube_list(struct rb_provider *p, const char *run_id, rb_list_fn *fn, void *arg);
void rb_kube_watch(struct rb_provider *p, const char *run_id, rb_loop_fn *wake, void *arg);
void rb_kube_watch_end(struct rb_kube *k);
void rb_kube_renew(struct rb_provider *p, const char *const *ids, int n, const struct rb_tag *lease, rb_terminate_fn *fn,
                  void *arg);
void rb_kube_groups(struct rb_provider *p, const char *run_id, rb_groups_fn *fn, void *arg);
void rb_kube_end_group(struct rb_provider *p, const char *name, rb_terminate_fn *fn, void *arg);
void rb_kube_quotas(struct rb_provider *p, const struct rb_demand *demands, int n, rb_quotas_fn *fn, void *arg);
void rb_kube_lacks(struct rb_provider *p, rb_lacks_fn *fn, void *arg);
void rb_kube_offers(struct rb_provider *p, const char *const *types, int n_types, rb_offers_fn *fn, void *arg);

#endif
