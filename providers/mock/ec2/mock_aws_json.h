// Answers requests to AWS's JSON 1.1 services, for clients whose AWS_ENDPOINT_URL sends every service here: a POST
// whose X-Amz-Target names the action. Signed like EC2's requests, but for the service the action belongs to. Stricter
// than AWS: unknown members are refused. One service is one file and one row in mock_aws_json.c.
#ifndef RB_PROVIDERS_MOCK_AWS_JSON_H
#define RB_PROVIDERS_MOCK_AWS_JSON_H

#include "base/document/json.h"
#include "providers/mock/cloud/members.h"
#include "providers/mock/cloud/page.h"
#include "providers/mock/ec2/mock_ec2.h"
#include "providers/mock/ec2/mock_ec2_auth.h"

struct rb_mock_json_call {
    struct rb_cloud *cloud;
    struct rb_arena *arena;     // lives as long as the call
    const char *region;         // of the signature
    int64_t now_us;
    const struct rb_node *body; // a map
    struct rb_json json;        // the answer
    struct rb_mock_refusal *refusal;
    struct rb_chaos_verdict chaos;
};

// false: refused, *call->refusal says why.
typedef bool rb_mock_json_fn(struct rb_mock_json_call *call);

rb_mock_json_fn rb_mock_get_products; // the price list
rb_mock_json_fn rb_mock_list_service_quotas, rb_mock_list_default_quotas;
rb_mock_json_fn rb_mock_get_parameter; // Systems Manager

// Returns false. code: "InvalidParameterException", ...
bool rb_mock_json_refuse(struct rb_mock_json_call *call, int status, const char *code, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

// Reads the body by rb_members_read, or refuses it with that code.
bool rb_mock_json_read(struct rb_mock_json_call *call, const struct rb_member *members, void *out, const char *code);

void rb_mock_aws_json_answer(const struct rb_mock_ec2 *ec2, const struct rb_exchange_request *request, int64_t now_us,
                             int64_t unix_us, struct rb_exchange_answer *out);

#endif
