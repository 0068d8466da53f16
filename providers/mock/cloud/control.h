// Answers the unsigned requests to a mock cloud, /_rbmock/...: questions of tests and people that a real cloud does not
// answer, and the nodes' metadata service.
#ifndef RB_PROVIDERS_MOCK_CONTROL_H
#define RB_PROVIDERS_MOCK_CONTROL_H

#include "providers/mock/cloud/cloud.h"
#include "providers/mock/cloud/exchange.h"
#include "providers/mock/k8s/mock_k8s.h"
#include "providers/mock/node/nodes.h"

struct rb_mock_control {
    struct rb_cloud *cloud;
    struct rb_nodes *nodes;
    struct rb_mock_gcp *gcp;
    struct rb_mock_k8s *k8s; // NULL: none; likewise pods
    struct rb_pods *pods;
    const char *nodes_dir;
    char metadata_secret[33]; // nodes alone know it: their identity opens the cloud
};

#define RB_MOCK_CONTROL_PREFIX "/_rbmock/"

void rb_mock_control_answer(const struct rb_mock_control *control, const struct rb_exchange_request *request,
                            int64_t now_us, struct rb_exchange_answer *out);

#endif
