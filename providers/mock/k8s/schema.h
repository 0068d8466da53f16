// Holds a body against the fields that its kind has, and writes it as the API server keeps it: unknown fields are
// dropped and reported, quantities are canonical, defaults are filled in. Only fields that this mock cloud honours, or
// that change nothing for a pod of one process, are known: a stricter server than the original.
// Source: the OpenAPI document of Kubernetes 1.30.
#ifndef RB_PROVIDERS_MOCK_K8S_SCHEMA_H
#define RB_PROVIDERS_MOCK_K8S_SCHEMA_H

#include "base/document/doc.h"
#include "base/document/json.h"

#define RB_K8S_MAX_UNKNOWN 16

struct rb_k8s_conformance {
    char unknown[RB_K8S_MAX_UNKNOWN][160]; // paths: "spec.containers[0].imagPullPolicy"
    int n_unknown;                         // those beyond the array are counted, not kept
    char refusal[320];                     // "": none; else path and what was expected
};

// kind: "Pod", "Lease", ... Writes one object. dropped: a path that is lost as if it were unknown, but without a word;
// NULL: none. False: a value is of the wrong type (*out has `refusal`); what was written is then of no use.
bool rb_k8s_conform(const struct rb_node *body, const char *kind, const char *dropped, struct rb_json *json,
                    struct rb_k8s_conformance *out);

#endif
