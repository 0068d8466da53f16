// Answers requests of a Kubernetes API for a mock cloud: one cluster whose machines are the price list's rows of
// k8s/NAME, one namespace, one bearer token with a Role. A pure function of the requests so far, the cloud and the time.
// Pods are run elsewhere: it gives orders, and takes reports. Stricter than the original: what a mock pod cannot have
// (several containers, volumes but emptyDir, other restart policies) is refused; every refusal is a Status.
// Source: the API reference of Kubernetes 1.30; shared facts of 1.20 where `version` says so.
#ifndef RB_PROVIDERS_MOCK_MOCK_K8S_H
#define RB_PROVIDERS_MOCK_MOCK_K8S_H

#include "providers/mock/cloud/cloud.h"
#include "providers/mock/cloud/exchange.h"
#include "providers/mock/node/pods.h"

struct rb_mock_k8s;

// The token outlives the front. Pods become instances of the cloud, so that its ledger shows and bills them.
struct rb_mock_k8s *rb_mock_k8s_create(struct rb_cloud *cloud, const char *token);
void rb_mock_k8s_destroy(struct rb_mock_k8s *k);
// The source of pods/log: appends what process 1 of a pod has printed.
typedef void rb_mock_k8s_log_fn(void *arg, const char *uid, struct rb_buf *out);
void rb_mock_k8s_set_log(struct rb_mock_k8s *k, rb_mock_k8s_log_fn *fn, void *arg);

// What a pod with automountServiceAccountToken finds: the folder with token, ca.crt and namespace at RB_K8S_ACCOUNT_PATH, which
// RB_TEST_SERVICE_ACCOUNT names to our programs, and the port of the API server with TLS.
#define RB_K8S_ACCOUNT_PATH "/rb-service-account"
void rb_mock_k8s_set_account(struct rb_mock_k8s *k, const char *directory, int port);

void rb_mock_k8s_answer(struct rb_mock_k8s *k, const struct rb_exchange_request *request, int64_t now_us,
                        struct rb_exchange_answer *out);

// --- time ---

void rb_mock_k8s_advance(struct rb_mock_k8s *k, int64_t now_us);
int64_t rb_mock_k8s_next_us(const struct rb_mock_k8s *k); // INT64_MAX: nothing is due

struct rb_k8s_order {
    enum { RB_K8S_START, RB_K8S_SIGNAL, RB_K8S_VANISH } what;
    const char *uid;
    struct rb_pod_start start; // RB_K8S_START; lives as long as the front
    int signal_number;         // RB_K8S_SIGNAL
};
bool rb_mock_k8s_next_order(struct rb_mock_k8s *k, struct rb_k8s_order *out);

// What the pods' processes do: started, failed to start, exited. Reports about commands mean nothing here.
void rb_mock_k8s_report(struct rb_mock_k8s *k, const struct rb_pod_report *r, int64_t now_us);
// The machine under the pod dies without a message. False: no such pod runs.
bool rb_mock_k8s_lose_node(struct rb_mock_k8s *k, const char *uid, int64_t now_us);

// --- exec ---

// What a connection that has been switched to WebSocket is for (rb_exchange_answer.session). Freed with free().
struct rb_k8s_exec {
    char uid[40];
    bool has[3];        // stdin, stdout, stderr
    bool is_v5;         // v5.channel.k8s.io, else v4
    int64_t cut_at;     // the connection is reset after this many bytes of output; -1: never
    bool lacks_status;  // it ends without a status
    const char *argv[]; // NULL-terminated, behind the struct
};

#endif
