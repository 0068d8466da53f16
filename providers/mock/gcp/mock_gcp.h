// Answers requests of Compute Engine's REST API, v1, for a mock cloud: /compute/v1/projects/..., batches of them, and
// the token endpoint at /token. A pure function of the requests so far, the cloud and the time. Stricter than the
// original: a query parameter, a field or a method that it does not know is refused. Source: the discovery document of
// compute/v1.
#ifndef RB_PROVIDERS_MOCK_MOCK_GCP_H
#define RB_PROVIDERS_MOCK_MOCK_GCP_H

#include "providers/mock/cloud/cloud.h"
#include "providers/mock/cloud/exchange.h"
#include "providers/mock/gcp/mock_gcp_account.h"

struct rb_mock_gcp;

// The accepted credentials: assertions of the account (NULL: none), and the token, as a bearer and as a refresh token
// (NULL: none). All three outlive the front.
struct rb_mock_gcp *rb_mock_gcp_create(struct rb_cloud *cloud, const struct rb_mock_gcp_account *account,
                                       const char *token);
// The source of getSerialPortOutput: appends everything that an instance (by the cloud's id) has printed.
typedef void rb_mock_gcp_console_fn(void *arg, const char *instance_id, struct rb_buf *out);
void rb_mock_gcp_set_console(struct rb_mock_gcp *gcp, rb_mock_gcp_console_fn *fn, void *arg);
void rb_mock_gcp_destroy(struct rb_mock_gcp *gcp);

// now_us is the cloud's clock, unix_us the host's: tokens count by the latter.
void rb_mock_gcp_answer(struct rb_mock_gcp *gcp, const struct rb_exchange_request *request, int64_t now_us,
                        int64_t unix_us, struct rb_exchange_answer *out);

// What the metadata service of an instance (by the cloud's id) says of its project and its service account; `what` is the
// path behind computeMetadata/v1/. False: nothing of that.
bool rb_mock_gcp_identity(struct rb_mock_gcp *gcp, const char *instance_id, const char *what, int64_t unix_us,
                          struct rb_exchange_answer *out);

#endif
