// Reads what the API server answers. Pure. Answers are untrusted: names are checked, because callers use them in URLs.
#ifndef RB_PROVIDERS_K8S_DECODE_H
#define RB_PROVIDERS_K8S_DECODE_H

#include "base/arena.h"
#include "base/document/doc.h"
#include "providers/k8s/k8s_encode.h"
#include "providers/provider.h"

// The Lease of a run.
struct rb_kube_lease {
    const char *name, *uid, *resource_version;
    const char *run_id, *owner;  // NULL: it is not ours
    const char *expires_at;      // an instant; NULL: none
    int64_t expires_us;          // the same, unix; -1
};
bool rb_kube_decode_lease(const struct rb_node *object, struct rb_arena *arena, struct rb_kube_lease *out,
                         struct rb_err *err);

struct rb_kube_leases { struct rb_kube_lease *items; int n; };
// Appends those of ours on one page; *out_next: the token of the next page, NULL: there is none.
bool rb_kube_decode_leases(const struct rb_node *list, struct rb_arena *arena, struct rb_kube_leases *out,
                          const char **out_next, struct rb_err *err);

// A node of the plan: a pod; or a Job, as long as it has no pod.
struct rb_kube_pod {
    struct rb_instance instance;  // id is "NAME.UID" of the object that was launched, the address that of the pod
    const char *name, *uid;       // of the pod; of the Job, as long as it has none
    const char *group;            // of Kueue; NULL: none
    const char *anchor;           // name of the Lease that it belongs to; NULL: none
    int64_t created_us, began_us; // unix; began: when it got its machine, -1
    const char *waits_for;        // the scheduler's words while it has none; "": none
    bool is_ending;               // its end was asked for
    int exit_code;                // of our container; -1: it has not ended
    bool is_job;
    int n_over;                   // of a Job: how many of its pods have ended
    bool has_second;              // its Job has made a second pod, which no node of the plan is
};
// region: of the instances. leases: expiries are theirs, where a pod's is among them; may be NULL.
bool rb_kube_decode_pod(const struct rb_node *object, const char *region, const struct rb_kube_leases *leases,
                       struct rb_arena *arena, struct rb_kube_pod *out, struct rb_err *err);
// The object that was launched.
bool rb_kube_decode_node(enum rb_kubernetes_as as, const struct rb_node *object, const char *region,
                         const struct rb_kube_leases *leases, struct rb_arena *arena, struct rb_kube_pod *out,
                         struct rb_err *err);
struct rb_kube_pods { struct rb_kube_pod *items; int n; };
// Appends one page of pods, or of Jobs.
bool rb_kube_decode_nodes(enum rb_kubernetes_as as, const struct rb_node *list, const char *region,
                          const struct rb_kube_leases *leases, struct rb_arena *arena, struct rb_kube_pods *out,
                          const char **out_next, struct rb_err *err);
// k8s_join.c
// Makes one node of each Job and its pods. A Job that was listed comes before its pods.
void rb_kube_join_jobs(struct rb_kube_pods *all);

// k8s_dropped.c
// The path of a member of `sent` that `stored` does not have, such as "spec.activeDeadlineSeconds". False: it has all of
// them. Members of lists may stand in another order and among others; values may be written in another way.
bool rb_kube_find_dropped(const struct rb_node *sent, const struct rb_node *stored, char *out, size_t size);

// Splits "NAME.UID" into name and uid; false: it is no id of ours.
bool rb_kube_split_id(const char *id, char name[static 64], char uid[static 64]);

#endif
