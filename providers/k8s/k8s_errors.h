// Classifies what the API server of Kubernetes answers instead of an object: a Status.
#ifndef RB_PROVIDERS_K8S_ERRORS_H
#define RB_PROVIDERS_K8S_ERRORS_H

#include "providers/wire/api_call.h"

enum rb_api_reaction rb_kube_judge(long status, const char *body, size_t n, struct rb_err *err);

// Refusals that the caller follows up. The reason at the beginning of the message distinguishes them from others.
bool rb_kube_exists_already(const struct rb_err *err); // an object of this name is there
bool rb_kube_is_conflict(const struct rb_err *err);    // it is another object, or has changed since it was read
bool rb_kube_is_expired(const struct rb_err *err);     // the rest of a listing is no longer kept: begin again

#endif
