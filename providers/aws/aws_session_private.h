// Inside a session only: the requests that fetch credentials.
#ifndef RB_PROVIDERS_AWS_SESSION_PRIVATE_H
#define RB_PROVIDERS_AWS_SESSION_PRIVATE_H

#include "providers/aws/aws_identity.h"
#include "providers/aws/aws_session.h"
#include "providers/wire/api_call.h"

struct rb_aws_session {
    struct rb_aws_session_config config;
    char region[64];
    const struct rb_loop *loop;
    struct rb_aws_credentials credentials; // in use
    bool have;
    int64_t refresh_at_us, wait_at_us; // when new ones are fetched, and when callers wait for them
    int64_t again_at_us;               // no fetch before, after a failed one
    struct rb_aws_waiter *waiters;
    int n_waiters;

    // State of the fetch under way.
    bool fetching;
    uint64_t timer;                      // that begins it
    struct rb_aws_identity identity;     // from files and environment when the fetch began
    struct rb_aws_credentials found;     // by the steps so far
    char instance_token[512], instance_role[128];
    int step;
    struct rb_api *apis[8];              // one per step; kept to the next fetch, as they may be on the stack
    char endpoints[8][512];              // of the apis
    int n_apis;
};

enum rb_aws_step {
    RB_AWS_STEP_INSTANCE_TOKEN, // PUT: no proxy or open redirect in between passes it on
    RB_AWS_STEP_INSTANCE_ROLE,
    RB_AWS_STEP_INSTANCE_KEYS,
    RB_AWS_STEP_CONTAINER,
    RB_AWS_STEP_SSO,
    RB_AWS_STEP_WEB_IDENTITY,
    RB_AWS_STEP_ROLE,
    RB_AWS_N_STEPS,
};

// The steps of an identity in their order: returns the i-th. False: there is none, `found` is complete.
bool rb_aws_step_at(const struct rb_aws_identity *identity, int i, enum rb_aws_step *out, int *out_role);
// The endpoint of step i, and the call to make. config: endpoint (into the buffer), judge and authorise.
bool rb_aws_step_begin(struct rb_aws_session *s, char endpoint[static 512], struct rb_api_config *config,
                       struct rb_api_call *call, struct rb_err *err);

#endif
