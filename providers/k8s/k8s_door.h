// Gives helper processes what they need to reach a cluster: its address, its certificate and our credential, over a socket
// of this user alone, so that none of it stands in an argument list, an environment or a file.
// A helper connects, sends "NAME\n" (or "NAME refused\n": the cluster did not take the credential) and reads one line of
// JSON. While it keeps the connection open it is counted as starting: at most RB_KUBE_DOOR_STARTS do so at once.
#ifndef RB_PROVIDERS_K8S_DOOR_H
#define RB_PROVIDERS_K8S_DOOR_H

#include "base/document/doc.h"
#include "base/loop.h"
#include "profiles/job/job.h"
#include "providers/wire/http.h"

enum { RB_KUBE_DOOR_STARTS = 8, RB_KUBE_DOOR_PATH_BYTES = 108 };

struct rb_kube_door;

// Listens at the path. spec outlives the door. Errors: IO.
bool rb_kube_door_open(const struct rb_loop *loop, const char *path, const struct rb_kubernetes_spec *spec,
                      struct rb_kube_door **out, struct rb_err *err);
void rb_kube_door_close(struct rb_kube_door *d); // NULL is fine; removes the socket
// Listens again where a cleaner took the socket away.
void rb_kube_door_keep(struct rb_kube_door *d);

// --- the helper's side

struct rb_kube_key {
    struct rb_doc doc; // what was said; wiped by finish
    int fd;            // the connection, which counts as a start until it is closed
    const char *server, *namespace, *token; // token NULL: the certificate, or none is needed
    struct rb_http_peer peer;
};
// Asks for the cluster of infra k8s/NAME; blocks. Errors: those of the door's process, IO.
bool rb_kube_door_ask(const char *path, const char *name, bool was_refused, struct rb_kube_key *out, struct rb_err *err);
// The same for a helper that serves no rbrun: it finds the cluster itself, as spec says.
bool rb_kube_door_bypass(const char *name, const struct rb_kubernetes_spec *spec, bool was_refused, struct rb_kube_key *out,
                         struct rb_err *err);
void rb_kube_door_leave(struct rb_kube_key *key); // the start is over; the key stays
void rb_kube_key_finish(struct rb_kube_key *key);

#endif
