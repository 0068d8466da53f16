// Answers a node's questions about itself like the clouds' metadata services: is it about to be interrupted?
// A real service sits at a link-local address; here it is a path of rbmock's own port, which every node receives in
// AWS_EC2_METADATA_SERVICE_ENDPOINT. Nodes in a network of their own (--nodes netns) cannot reach it.
//
//   PUT .../latest/api/token                              a session token: IMDSv2, v1 is refused
//   GET .../latest/meta-data/instance-id
//   GET .../latest/meta-data/spot/instance-action         404 until the notice: {"action": "terminate", "time": ...}
//   GET .../computeMetadata/v1/instance/preempted         FALSE or TRUE
//   GET .../computeMetadata/v1/project/project-id, .../instance/service-accounts/default/token
#ifndef RB_PROVIDERS_MOCK_METADATA_H
#define RB_PROVIDERS_MOCK_METADATA_H

#include "providers/mock/cloud/cloud.h"
#include "providers/mock/cloud/exchange.h"
#include "providers/mock/gcp/mock_gcp.h"

struct rb_mock_metadata {
    struct rb_cloud *cloud;
    struct rb_mock_gcp *gcp;
    const char *secret; // what is asked without it gets no token: anyone on this machine can ask
};

// `what` is the path behind /_rbmock/metadata/: INSTANCE[.SECRET]/...
void rb_mock_metadata_answer(const struct rb_mock_metadata *m, const struct rb_exchange_request *request, const char *what,
                             int64_t now_us, struct rb_exchange_answer *out);

#endif
