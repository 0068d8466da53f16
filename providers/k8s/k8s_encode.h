// Writes the objects of Kubernetes that a run creates, and says what they are called. Pure.
#ifndef RB_PROVIDERS_K8S_ENCODE_H
#define RB_PROVIDERS_K8S_ENCODE_H

#include "base/arena.h"
#include "base/text/buf.h"
#include "profiles/job/job.h"
#include "providers/provider.h"

#define RB_KUBE_CONTAINER "node"  // the container in which trials run; others are put beside it by admission webhooks
#define RB_KUBE_HOME      "/rb"   // its home, a disk of the pod's own
#define RB_KUBE_GROUP     "kueue.x-k8s.io/pod-group-name" // label: the launch's name without the member

// The parts of an instance type: "g5.xlarge", all GPUs of a node of that type; "g5.12xlarge/2", some of them; "gpu/4", on
// any node; "cpu/8", none.
struct rb_kube_shape {
    const char *node_type; // label node.kubernetes.io/instance-type; NULL: any
    int gpus, cpus;        // one of them is 0
};
// Errors: INVALID, naming the spelling. The text is in the arena.
bool rb_kube_shape(const char *instance_type, int gpus_of_node, struct rb_arena *arena, struct rb_kube_shape *out,
                   struct rb_err *err);

// A label holds 63 of some characters: longer and other values become a digest of themselves; annotations hold the
// originals.
void rb_kube_label(const char *value, char out[static 64]);
enum { RB_KUBE_KEY_BYTES = 32 };
// A tag's key as that of a label or an annotation: "rb.run-id". Returns out.
char *rb_kube_key(const char *tag_key, char out[static RB_KUBE_KEY_BYTES]);
// "rb-<20 hex of the token's digest>-<member>", of a Job "rbj-..": a repeated launch writes the same object, and a name
// says what it is.
void rb_kube_name(enum rb_kubernetes_as as, const char *token, int member, char out[static 64]);
enum rb_kubernetes_as rb_kube_as_of(const char *name);
// The Lease to which all pods of a run belong: deleting it ends them, even if no process of ours lives.
void rb_kube_anchor_name(const char *run_id, char out[static 64]);

struct rb_kube_anchor { const char *name, *uid; };

// The script of PID 1 is the launch's user data. Where the spec says so it is a Job with one such pod, which makes no second
// one for a pod that fails, is evicted or deleted.
void rb_kube_write_node(const struct rb_launch *launch, int member, const struct rb_kube_shape *shape,
                       const struct rb_kubernetes_spec *spec, const struct rb_kube_anchor *anchor, struct rb_buf *out);
// A lease from `now` until the launch's or the renewal's `until`, both instants. The uid and version are those of the one
// that is renewed, NULL: a new one. A renewal without the uid would make a lease where it has been deleted meanwhile.
struct rb_kube_version { const char *uid, *resource_version; };
void rb_kube_write_anchor(const char *name, const char *run_id, const char *owner, const struct rb_kube_version *renewed,
                         int64_t now_us, int64_t until_us, struct rb_buf *out);
// Of this object, and of none that has its name now. grace_s: what a pod's processes have to end; 0: what its spec says.
void rb_kube_write_deletion(const char *uid, int grace_s, struct rb_buf *out);
// "May I?": a SelfSubjectAccessReview.
struct rb_kube_right { const char *group, *resource, *subresource, *verb; }; // group "": the core's; subresource NULL: none
// namespace NULL: of the whole cluster.
void rb_kube_write_question(const struct rb_kube_right *right, const char *namespace, struct rb_buf *out);

#endif
