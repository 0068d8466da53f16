// Proves who we are at a cluster: keeps the bearer token or the client certificate, in memory only, and renews it.
#ifndef RB_PROVIDERS_KUBE_LOGIN_H
#define RB_PROVIDERS_KUBE_LOGIN_H

#include "base/loop.h"
#include "providers/k8s/kubeconfig.h"

struct rb_kube_login;

// The configuration outlives the login.
struct rb_kube_login *rb_kube_login_create(const struct rb_loop *loop, const struct rb_kubeconfig *config);
void rb_kube_login_destroy(struct rb_kube_login *l); // NULL is fine

// Gets a credential that holds for a while yet. *out_token: borrowed until the next call; NULL: the certificate of
// rb_kube_login_peer, or the cluster needs none. A token file is read again every minute; a plugin runs when its
// credential is about to expire, and blocks for at most a minute. Errors: DENIED, IO.
bool rb_kube_login_get(struct rb_kube_login *l, const char **out_token, struct rb_err *err);
// The cluster has refused it: the next get makes another. False: there can be no other.
bool rb_kube_login_forget(struct rb_kube_login *l);
// When the credential ends, where nothing here renews it: a token or a certificate that the kubeconfig holds. unix, -1: that
// does not end, is not known, or a plugin or a file gives the next one.
int64_t rb_kube_login_ends_us(const struct rb_kube_login *l);
// Certificates of both sides; the address stays the same, what it points to changes with get.
const struct rb_http_peer *rb_kube_login_peer(const struct rb_kube_login *l);

#endif
