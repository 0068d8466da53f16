// Bodies in protocol buffers. Clients of Kubernetes 1.33 and later send them for the kinds that are built in, and fall back on nothing.
// Source: "Kubernetes API Concepts", Protobuf encoding; authorization/v1/generated.proto.
#ifndef RB_PROVIDERS_MOCK_K8S_PROTOBUF_H
#define RB_PROVIDERS_MOCK_K8S_PROTOBUF_H

#include "base/text/buf.h"

#include <stdbool.h>
#include <stddef.h>

#define RB_K8S_PROTOBUF "application/vnd.kubernetes.protobuf"

// Appends the same object in JSON. False: no SelfSubjectAccessReview, or broken. Its spec is read, and of that the
// resourceAttributes.
bool rb_k8s_protobuf_to_json(const char *body, size_t n, struct rb_buf *out);

#endif
