// What the cluster says of pods beside their objects: why one waits for a machine (its newest event that says so), and the
// last lines of one that failed. Runs do without either right: then nothing is added.
#ifndef RB_PROVIDERS_K8S_WORDS_H
#define RB_PROVIDERS_K8S_WORDS_H

#include "providers/k8s/k8s_verbs.h"

// The first member of the state of an operation (rb_api_state_create), which it drops with it.
struct rb_kube_hearing {
    struct rb_arena arena;
    struct rb_kube *k;
    struct rb_kube_pods pods;
    int next, n_asked; // pod; requests made
    char text[400];    // of the present pod
    int64_t newest_us;
    void (*then)(void *state);
};
// Adds what is said to the pods' waits_for and instance.state_reason, then calls `then`.
void rb_kube_hear(struct rb_kube_hearing *h, void (*then)(void *state));

#endif
