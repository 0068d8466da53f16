// Decides which objects a list or a watch shows: labelSelector ("a=b,c!=d,e in (f,g),!h") and fieldSelector
// ("metadata.name=x,status.phase!=Failed"). Source: apimachinery, pkg/labels and pkg/fields.
#ifndef RB_PROVIDERS_MOCK_K8S_SELECTOR_H
#define RB_PROVIDERS_MOCK_K8S_SELECTOR_H

#include "base/arena.h"

#include <stdbool.h>

struct rb_k8s_requirement {
    const char *key;
    enum { RB_K8S_IN, RB_K8S_NOT_IN, RB_K8S_EXISTS, RB_K8S_EXISTS_NOT } operation;
    const char *values[16];
    int n_values;
};

struct rb_k8s_selector {
    struct rb_k8s_requirement list[16];
    int n;
};

// text NULL or "": everything. False: it is no selector. Texts live in the arena.
bool rb_k8s_selector_parse(const char *text, struct rb_arena *arena, struct rb_k8s_selector *out);

// The value under a key; NULL: there is none.
typedef const char *rb_k8s_value_fn(const void *object, const char *key);
bool rb_k8s_selector_holds(const struct rb_k8s_selector *s, const void *object, rb_k8s_value_fn *value);

#endif
