// Answers requests of EC2's Query API for a mock cloud: POST (or GET) forms in, XML out, version 2016-11-15. A pure
// function of the request, the cloud and the time, without sockets. Stricter than EC2: a parameter that the action does
// not know is refused with UnknownParameter. Requests to AWS's JSON services (mock_aws_json.h) arrive here as well.
#ifndef RB_PROVIDERS_MOCK_EC2_H
#define RB_PROVIDERS_MOCK_EC2_H

#include "providers/mock/cloud/cloud.h"
#include "providers/mock/cloud/exchange.h"
#include "providers/mock/server/mock_keys.h"

#define RB_MOCK_EC2_NAMESPACE "http://ec2.amazonaws.com/doc/2016-11-15/" // libcloud compares it byte by byte
#define RB_MOCK_ACCOUNT       "123456789012"

struct rb_mock_ec2 {
    struct rb_cloud *cloud;
    struct rb_mock_keys keys;
};

// now_us is the cloud's clock, unix_us the host's: a signature may be dated by either, so that clients keep working
// when --speed makes the two part. out->body is appended to.
void rb_mock_ec2_answer(const struct rb_mock_ec2 *ec2, const struct rb_exchange_request *request, int64_t now_us,
                        int64_t unix_us, struct rb_exchange_answer *out);


#endif
