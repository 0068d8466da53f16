// The reaction to each error code, whatever status it comes with, and to answers that are not EC2's.
#include "base/arena.h"
#include "providers/aws/aws_errors.h"
#include "tests/base/check.h"

static enum rb_api_reaction judge(long status, const char *code, const char *message, struct rb_err *err)
{
    struct rb_arena arena = {0};
    const char *body = rb_arena_printf(&arena,
                                       "<Response><Errors><Error><Code>%s</Code><Message>%s</Message></Error></Errors>"
                                       "<RequestID>ea96</RequestID></Response>",
                                       code, message);
    const enum rb_api_reaction reaction = rb_aws_query_judge(status, body, strlen(body), err);
    rb_arena_finish(&arena);
    return reaction;
}

static void codes_decide(void **state)
{
    (void)state;
    static const struct {
        const char *code;
        enum rb_err_number number;
        enum rb_api_reaction reaction;
    } cases[] = {
        {"InsufficientInstanceCapacity", RB_E_CAPACITY, RB_API_FAIL},
        {"Unsupported", RB_E_CAPACITY, RB_API_FAIL},
        {"SpotMaxPriceTooLow", RB_E_CAPACITY, RB_API_FAIL},
        {"InsufficientFreeAddressesInSubnet", RB_E_CAPACITY, RB_API_FAIL},
        {"VcpuLimitExceeded", RB_E_QUOTA, RB_API_FAIL},
        {"MaxSpotInstanceCountExceeded", RB_E_QUOTA, RB_API_FAIL},
        {"RequestLimitExceeded", RB_E_THROTTLED, RB_API_SLOW_DOWN},
        {"Throttling", RB_E_THROTTLED, RB_API_SLOW_DOWN},
        {"InternalError", RB_E_OUTCOME_UNKNOWN, RB_API_RETRY},
        {"Unavailable", RB_E_OUTCOME_UNKNOWN, RB_API_RETRY},
        {"IdempotentParameterMismatch", RB_E_OUTCOME_UNKNOWN, RB_API_FAIL},
        {"UnauthorizedOperation", RB_E_PERMISSION, RB_API_FAIL},
        {"AuthFailure", RB_E_CREDENTIALS_UNUSABLE, RB_API_FAIL},
        {"AuthFailure.ServiceLinkedRoleCreationNotPermitted", RB_E_CREDENTIALS_UNUSABLE, RB_API_FAIL},
        {"RequestExpired", RB_E_CREDENTIALS_EXPIRED, RB_API_REFRESH},
        {"InvalidInstanceID.NotFound", RB_E_CLOUD_NOT_FOUND, RB_API_FAIL},
        {"InvalidInstanceID.Malformed", RB_E_REFUSED, RB_API_FAIL},
        {"InvalidAMIID.NotFound", RB_E_REFUSED, RB_API_FAIL},
        {"InvalidParameterCombination", RB_E_REFUSED, RB_API_FAIL},
        {"MissingParameter", RB_E_REFUSED, RB_API_FAIL},
        {"UnsupportedOperation", RB_E_REFUSED, RB_API_FAIL},
        {"IncorrectInstanceState", RB_E_CLOUD_STATE, RB_API_RETRY},
        {"InvalidPlacementGroup.Duplicate", RB_E_NONE, RB_API_FAIL},
        {"InvalidPlacementGroup.InUse", RB_E_CLOUD_STATE, RB_API_RETRY},
        {"InvalidPlacementGroup.Unknown", RB_E_CLOUD_NOT_FOUND, RB_API_FAIL},
        {"PlacementGroupLimitExceeded", RB_E_QUOTA, RB_API_FAIL},
        {"OperationNotPermitted", RB_E_PERMISSION, RB_API_FAIL},
        {"ConcurrentTagAccess", RB_E_THROTTLED, RB_API_SLOW_DOWN},
    };
    static const long statuses[] = {400, 500, 503};
    for (size_t c = 0; c < N_OF(cases); c++)
        for (size_t s = 0; s < N_OF(statuses); s++) {
            struct rb_err err = {0};
            const enum rb_api_reaction reaction = judge(statuses[s], cases[c].code, "why", &err);
            if (reaction != cases[c].reaction || err.number != (int)cases[c].number)
                fail_msg("%s with %ld: reaction %d, RB%d", cases[c].code, statuses[s], reaction,
                         rb_err_number(&err));
            assert_says(&err, cases[c].code);
            assert_says(&err, "why");
        }
}

static void messages_decide_where_codes_do_not(void **state)
{
    (void)state;
    struct rb_err err;
    assert_int_equal(judge(400, "InvalidParameterValue",
                           "Value (rb) for parameter iamInstanceProfile.name is invalid. "
                           "Invalid IAM Instance Profile name",
                           &err),
                     RB_API_SLOW_DOWN);
    assert_int_equal(judge(400, "InvalidParameterValue", "Value (x) is invalid", &err), RB_API_FAIL);
    assert_int_equal(judge(403, "SignatureDoesNotMatch", "Signature expired: 2026 is now earlier than", &err),
                     RB_API_REFRESH);
    assert_int_equal(judge(403, "SignatureDoesNotMatch", "The request signature we calculated does not match", &err),
                     RB_API_FAIL);
}

static void unlisted_codes_go_by_status(void **state)
{
    (void)state;
    static const struct {
        long status;
        enum rb_err_code err;
        enum rb_api_reaction reaction;
    } cases[] = {
        {400, RB_ERR_INVALID, RB_API_FAIL},          {403, RB_ERR_DENIED, RB_API_FAIL},
        {429, RB_ERR_THROTTLED, RB_API_SLOW_DOWN},   {500, RB_ERR_UNKNOWN_OUTCOME, RB_API_RETRY},
        {302, RB_ERR_UNKNOWN_OUTCOME, RB_API_RETRY},
    };
    for (size_t c = 0; c < N_OF(cases); c++) {
        struct rb_err err = {0};
        assert_int_equal(judge(cases[c].status, "BrandNew.Code", "m", &err), cases[c].reaction);
        assert_int_equal(err.code, cases[c].err);
    }
}

static void strangers_answers_prove_nothing(void **state)
{
    (void)state;
    static const char *const bodies[] = {"",
                                         "<html><body>502 Bad Gateway</body></html>",
                                         "<html>",
                                         "<Response/>",
                                         "{\"error\":1}",
                                         "<Response><Errors><Error><Code/></Error></Errors></Response>"};
    static const long statuses[] = {400, 403, 404, 429, 500, 502, 503};
    for (size_t b = 0; b < N_OF(bodies); b++)
        for (size_t s = 0; s < N_OF(statuses); s++) {
            struct rb_err err = {0};
            const enum rb_api_reaction reaction = rb_aws_query_judge(statuses[s], bodies[b], strlen(bodies[b]), &err);
            assert_true(reaction == RB_API_RETRY || reaction == RB_API_SLOW_DOWN);
            assert_int_equal(err.code, RB_ERR_UNKNOWN_OUTCOME);
            assert_says(&err, "not EC2's");
        }
}

static void messages_are_made_safe(void **state)
{
    (void)state;
    struct rb_err err = {0};
    judge(400, "Invalid&#10;Thing", "a&#10;b&#x9b;31m", &err);
    assert_null(strchr(err.message, '\n'));
    assert_null(strchr(err.message, '\x1b'));
    char long_message[3000];
    memset(long_message, 'x', sizeof long_message - 1);
    long_message[sizeof long_message - 1] = '\0';
    assert_int_equal(judge(500, "InsufficientInstanceCapacity", long_message, &err), RB_API_FAIL);
    assert_true(strlen(err.message) < sizeof err.message - 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codes_decide),
        cmocka_unit_test(messages_decide_where_codes_do_not),
        cmocka_unit_test(unlisted_codes_go_by_status),
        cmocka_unit_test(strangers_answers_prove_nothing),
        cmocka_unit_test(messages_are_made_safe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
