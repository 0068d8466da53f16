// What every error of Compute Engine means to a caller, and what is done about it.
#include "providers/gcp/gcp_errors.h"
#include "tests/base/check.h"

#include <stdio.h>
#include <stdlib.h>

static void expect(long status, const char *body, enum rb_err_code code, enum rb_api_reaction reaction,
                   const char *reason)
{
    struct rb_err err = {0};
    const enum rb_api_reaction is = rb_gcp_judge(status, body, strlen(body), &err);
    if (is != reaction || err.code != code)
        fail_msg("%ld %s: reaction %d, %s", status, body, (int)is, rb_err_code_name(err.code));
    assert_says(&err, reason);
}

static void reasons_decide(void **state)
{
    (void)state;
    static const struct {
        long status;
        const char *reason;
        enum rb_err_code code;
        enum rb_api_reaction reaction;
    } cases[] = {
        {503, "ZONE_RESOURCE_POOL_EXHAUSTED", RB_ERR_CAPACITY, RB_API_FAIL},
        {503, "zoneResourcePoolExhaustedWithDetails", RB_ERR_CAPACITY, RB_API_FAIL},
        {403, "quotaExceeded", RB_ERR_DENIED, RB_API_FAIL},
        {403, "QUOTA_EXCEEDED", RB_ERR_DENIED, RB_API_FAIL},
        {403, "limitExceeded", RB_ERR_DENIED, RB_API_FAIL},
        {403, "rateLimitExceeded", RB_ERR_THROTTLED, RB_API_NEXT_MINUTE},
        {403, "userRateLimitExceeded", RB_ERR_THROTTLED, RB_API_NEXT_MINUTE},
        {429, "anything", RB_ERR_THROTTLED, RB_API_NEXT_MINUTE},
        {429, "RATE_LIMIT_EXCEEDED", RB_ERR_THROTTLED, RB_API_NEXT_MINUTE},
        {400, "resourceNotReady", RB_ERR_THROTTLED, RB_API_SLOW_DOWN},
        {403, "resourceOperationRateExceeded", RB_ERR_THROTTLED, RB_API_SLOW_DOWN},
        {401, "authError", RB_ERR_DENIED, RB_API_REFRESH},
        {401, "anything", RB_ERR_DENIED, RB_API_REFRESH},
        {403, "forbidden", RB_ERR_DENIED, RB_API_FAIL},
        {403, "IAM_PERMISSION_DENIED", RB_ERR_DENIED, RB_API_FAIL},
        {403, "accessNotConfigured", RB_ERR_DENIED, RB_API_FAIL},
        {403, "SERVICE_DISABLED", RB_ERR_DENIED, RB_API_FAIL},
        {403, "anything", RB_ERR_DENIED, RB_API_FAIL},
        {409, "alreadyExists", RB_ERR_UNKNOWN_OUTCOME, RB_API_FAIL},
        {409, "anything", RB_ERR_UNKNOWN_OUTCOME, RB_API_FAIL},
        {404, "notFound", RB_ERR_NOT_FOUND, RB_API_FAIL},
        {404, "anything", RB_ERR_NOT_FOUND, RB_API_FAIL},
        {412, "conditionNotMet", RB_ERR_IO, RB_API_FAIL},
        {400, "invalid", RB_ERR_INVALID, RB_API_FAIL},
        {400, "invalidUsage", RB_ERR_INVALID, RB_API_FAIL},
        {400, "anything", RB_ERR_INVALID, RB_API_FAIL},
        {400, "resourceInUseByAnotherResource", RB_ERR_INVALID, RB_API_FAIL},
        {408, "anything", RB_ERR_UNKNOWN_OUTCOME, RB_API_RETRY},
        {500, "internalError", RB_ERR_UNKNOWN_OUTCOME, RB_API_RETRY},
        {500, "anything", RB_ERR_UNKNOWN_OUTCOME, RB_API_RETRY},
        {502, "anything", RB_ERR_UNKNOWN_OUTCOME, RB_API_RETRY},
        {503, "backendError", RB_ERR_UNKNOWN_OUTCOME, RB_API_RETRY},
        {504, "anything", RB_ERR_UNKNOWN_OUTCOME, RB_API_RETRY},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        char body[256];
        snprintf(body, sizeof body, "{\"error\":{\"code\":%ld,\"message\":\"words\",\"errors\":[{\"reason\":\"%s\"}]}}",
                 cases[i].status, cases[i].reason);
        expect(cases[i].status, body, cases[i].code, cases[i].reaction, "words");
    }
}

static void texts_decide_where_the_reason_is_too_coarse(void **state)
{
    (void)state;
    expect(403,
           "{\"error\":{\"message\":\"Location us-x1-a is not found or access is unauthorized.\",\"errors\":"
           "[{\"reason\":\"forbidden\"}]}}",
           RB_ERR_CAPACITY, RB_API_FAIL, "us-x1-a");
    expect(503, "{\"error\":{\"message\":\"a stockout\",\"errors\":[{\"reason\":\"backendError\"}]}}", RB_ERR_CAPACITY,
           RB_API_FAIL, "stockout");
    expect(400,
           "{\"error\":{\"message\":\"Requested disk size cannot be smaller than the image size (10 GB)\",\"errors\":"
           "[{\"reason\":\"invalid\"}]}}",
           RB_ERR_INVALID, RB_API_FAIL, "disk size");
}

// Newer services say it in details or in status only.
static void reasons_stand_in_several_places(void **state)
{
    (void)state;
    expect(403,
           "{\"error\":{\"message\":\"m\",\"status\":\"PERMISSION_DENIED\",\"details\":[{\"@type\":\"x\"},"
           "{\"reason\":\"RATE_LIMIT_EXCEEDED\"}]}}",
           RB_ERR_THROTTLED, RB_API_NEXT_MINUTE, "m");
    expect(403, "{\"error\":{\"message\":\"m\",\"status\":\"PERMISSION_DENIED\"}}", RB_ERR_DENIED, RB_API_FAIL,
           "PERMISSION_DENIED");
    expect(401, "{\"error\":{\"message\":\"m\",\"status\":\"UNAUTHENTICATED\"}}", RB_ERR_DENIED, RB_API_REFRESH, "m");
    expect(500, "{\"error\":{\"message\":\"m\"}}", RB_ERR_UNKNOWN_OUTCOME, RB_API_RETRY, "no reason given");
}

static void bodies_of_others_leave_it_open(void **state)
{
    (void)state;
    static const char *const bodies[] = {"",
                                         "<html>502</html>",
                                         "{}",
                                         "[]",
                                         "{\"error\":\"x\"}",
                                         "{\"error\":{\"code\":1}}",
                                         "{\"error\":{\"message\":\"cut off"};
    for (size_t i = 0; i < N_OF(bodies); i++) {
        expect(502, bodies[i], RB_ERR_UNKNOWN_OUTCOME, RB_API_RETRY, "is a proxy in between?");
        expect(400, bodies[i], RB_ERR_UNKNOWN_OUTCOME, RB_API_RETRY, "status 400");
        expect(503, bodies[i], RB_ERR_UNKNOWN_OUTCOME, RB_API_SLOW_DOWN, "status 503");
    }
}

static void a_quota_is_named(void **state)
{
    (void)state;
    expect(
        403,
        "{\"error\":{\"message\":\"Quota 'GPUS_ALL_REGIONS' exceeded.  Limit: 0.0 globally.\",\"errors\":"
        "[{\"reason\":\"quotaExceeded\"}],\"details\":[{\"metricName\":\"compute.googleapis.com/gpus_all_regions\"}]}}",
        RB_ERR_DENIED, RB_API_FAIL, "quota compute.googleapis.com/gpus_all_regions of the whole project is used up");
}

static void words_of_others_are_sanitised(void **state)
{
    (void)state;
    struct rb_err err;
    static const char body[] = "{\"error\":{\"message\":\"a\\u001b[31mb\\nc\",\"errors\":[{\"reason\":\"x\\u0007\"}]}}";
    rb_gcp_judge(400, body, sizeof body - 1, &err);
    assert_null(strpbrk(err.message, "\x1b\x07\n"));
}

static void operations(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum rb_err_code code;
        enum rb_api_reaction reaction;
        const char *says;
    } cases[] = {
        {"{\"error\":{\"errors\":[{\"code\":\"QUOTA_EXCEEDED\",\"message\":\"m\",\"errorDetails\":[{\"quotaInfo\":"
         "{\"metricName\":\"compute.googleapis.com/nvidia_l4_gpus\",\"limit\":1}}]}]}}",
         RB_ERR_DENIED, RB_API_FAIL, "quota compute.googleapis.com/nvidia_l4_gpus of this region"},
        {"{\"error\":{\"errors\":[{\"code\":\"CONFLICT\"}]},\"httpErrorStatusCode\":409}", RB_ERR_UNKNOWN_OUTCOME,
         RB_API_RETRY, "CONFLICT: no reason given"},
        {"{\"httpErrorStatusCode\":403,\"httpErrorMessage\":\"FORBIDDEN\"}", RB_ERR_DENIED, RB_API_FAIL, "FORBIDDEN"},
        {"{\"error\":{}}", RB_ERR_UNKNOWN_OUTCOME, RB_API_RETRY, "no code given"},
        {"{\"error\":{\"errors\":[]}}", RB_ERR_UNKNOWN_OUTCOME, RB_API_RETRY, "no code given"},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct rb_doc doc;
        struct rb_err err = {0};
        assert_true(rb_doc_parse_json(&doc, "operation", cases[i].text, strlen(cases[i].text), NULL));
        assert_int_equal(rb_gcp_judge_operation(doc.root, &err), cases[i].reaction);
        assert_int_equal(err.code, cases[i].code);
        assert_says(&err, cases[i].says);
        rb_doc_finish(&doc);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reasons_decide),
        cmocka_unit_test(texts_decide_where_the_reason_is_too_coarse),
        cmocka_unit_test(reasons_stand_in_several_places),
        cmocka_unit_test(bodies_of_others_leave_it_open),
        cmocka_unit_test(a_quota_is_named),
        cmocka_unit_test(words_of_others_are_sanitised),
        cmocka_unit_test(operations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
