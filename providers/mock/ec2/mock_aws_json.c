// From request to answer, as mock_ec2.c does it for the Query API.
#include "providers/mock/ec2/mock_aws_json.h"
#include "base/text/table.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct action {
    const char *target, *service;
    rb_mock_json_fn *fn;
} actions[] = {
    {"AWSPriceListService.GetProducts", "pricing", rb_mock_get_products},
    {"AmazonSSM.GetParameter", "ssm", rb_mock_get_parameter},
    {"ServiceQuotasV20190624.ListAWSDefaultServiceQuotas", "servicequotas", rb_mock_list_default_quotas},
    {"ServiceQuotasV20190624.ListServiceQuotas", "servicequotas", rb_mock_list_service_quotas},
};

// JSON services have another name for EC2's error about the signature.
static const struct auth_code {
    const char *ec2, *json;
} auth_codes[] = {
    {"AuthFailure", "UnrecognizedClientException"},
    {"IncompleteSignature", "IncompleteSignatureException"},
    {"MissingAuthenticationToken", "MissingAuthenticationTokenException"},
    {"RequestExpired", "RequestExpired"},
    {"SignatureDoesNotMatch", "InvalidSignatureException"},
};

bool rb_mock_json_refuse(struct rb_mock_json_call *call, int status, const char *code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    rb_mock_set_refusal(call->refusal, status, code, fmt, ap);
    va_end(ap);
    return false;
}

bool rb_mock_json_read(struct rb_mock_json_call *call, const struct rb_member *members, void *out, const char *code)
{
    struct rb_err err;
    return rb_members_read(call->body, members, NULL, out, &err) ||
           rb_mock_json_refuse(call, 400, code, "%s: %s", err.key, err.message);
}

// "AWSPriceListService.GetProducts": what chaos and throttling know it by.
static const char *name_of(const char *target)
{
    const char *dot = strrchr(target, '.');
    return dot ? dot + 1 : target;
}

static bool authenticate(struct rb_mock_json_call *call, const struct rb_mock_ec2 *ec2,
                         const struct rb_exchange_request *r, const char *service, int64_t unix_us)
{
    const struct rb_chaos_rule *skew = call->chaos.by[RB_CHAOS_CLOCK_SKEW];
    const int64_t skew_us = skew ? skew->delay_us : 0;
    const int64_t clocks_us[] = {call->now_us + skew_us, unix_us + skew_us};
    if (rb_mock_ec2_authenticate(&ec2->keys, r, service, clocks_us, 2, call->arena, &call->region, call->refusal))
        return true;
    const struct auth_code *code = RB_ROW_OF(auth_codes, call->refusal->code);
    if (code)
        call->refusal->code = code->json;
    call->refusal->status = 400;
    return false;
}

static bool is_json_post(struct rb_mock_json_call *call, const struct rb_exchange_request *r)
{
    const char *type = rb_exchange_header(r, "Content-Type");
    if (strcmp(r->method, "POST") == 0 && strcmp(r->path, "/") == 0 && type &&
        strcmp(type, "application/x-amz-json-1.1") == 0)
        return true;
    return rb_mock_json_refuse(call, 400, "SerializationException",
                               "expected a POST to / with Content-Type application/x-amz-json-1.1");
}

static bool act(struct rb_mock_json_call *call, const struct action *action)
{
    const struct rb_chaos_rule *error = call->chaos.by[RB_CHAOS_ERROR];
    if (call->chaos.by[RB_CHAOS_THROTTLE])
        return rb_mock_json_refuse(call, 400, "ThrottlingException", "Rate exceeded");
    if (error && !error->after_effect)
        return rb_mock_json_refuse(call, (int)error->status, error->code, "%s", error->message);
    if (!action->fn(call))
        return false;
    return !error || rb_mock_json_refuse(call, (int)error->status, error->code, "%s", error->message);
}

static bool serve(struct rb_mock_json_call *call, const struct rb_mock_ec2 *ec2, const struct rb_exchange_request *r,
                  const char *target, int64_t unix_us)
{
    const struct action *action = RB_ROW_OF(actions, target);
    if (!action)
        return rb_mock_json_refuse(call, 400, "UnknownOperationException",
                                   "%.100s is none that this mock cloud understands", target);
    if (!is_json_post(call, r) || !authenticate(call, ec2, r, action->service, unix_us))
        return false;
    if (!call->body || call->body->kind != RB_NODE_MAP)
        return rb_mock_json_refuse(call, 400, "SerializationException", "expected a JSON object");
    return act(call, action);
}

static void write_error(const struct rb_mock_refusal *r, struct rb_buf *out)
{
    struct rb_json j;
    rb_buf_clear(out);
    rb_json_init(&j, out, false);
    rb_json_put(&j, "{__type: %s, message: %s}", r->code, r->message);
}

void rb_mock_aws_json_answer(const struct rb_mock_ec2 *ec2, const struct rb_exchange_request *request, int64_t now_us,
                             int64_t unix_us, struct rb_exchange_answer *out)
{
    struct rb_arena arena;
    RB_AUTO(rb_doc_finish) struct rb_doc body = {0};
    struct rb_mock_refusal refusal = {0};
    const char *target = rb_exchange_header(request, "X-Amz-Target");
    struct rb_mock_json_call call = {.cloud = ec2->cloud, .arena = &arena, .now_us = now_us, .refusal = &refusal};
    rb_arena_init(&arena);
    rb_cloud_advance(ec2->cloud, now_us);
    if (rb_doc_parse_json(&body, "request body", request->body, request->body_len, NULL))
        call.body = body.root;
    const struct rb_chaos_subject subject = {.front = "ec2", .action = name_of(target)};
    rb_chaos_request(rb_cloud_chaos(call.cloud), &subject, now_us, &call.chaos);
    if (!rb_exchange_forestall(&call.chaos, out)) {
        rb_json_init(&call.json, &out->body, false);
        const bool ok = serve(&call, ec2, request, target, unix_us);
        out->status = ok ? 200 : refusal.status;
        out->content_type = "application/x-amz-json-1.1";
        if (!ok)
            write_error(&refusal, &out->body);
        rb_exchange_spoil(&call.chaos, out);
    }
    rb_arena_finish(&arena);
}
