// Source: "Error codes for the Amazon EC2 API" (client and server error codes), and the retry lists of the AWS SDKs.
#include "providers/ec2/ec2_errors.h"

#include "base/arena.h"
#include "base/errors/log.h"
#include "providers/wire/xml.h"

#include <string.h>

// First match wins. A code that ends in '*' matches all that start like it; text, where given, must be in the message.
static const struct row {
    const char *code, *text;
    enum rb_err_number number;
    enum rb_api_reaction reaction;
} rows[] = {
    {"DryRunOperation", NULL, RB_E_NONE, RB_API_FAIL}, // it would have been done

    // The pool is empty: try another one, not this one again.
    {"InsufficientInstanceCapacity", NULL, RB_E_CAPACITY, RB_API_FAIL},
    {"InsufficientCapacity", NULL, RB_E_CAPACITY, RB_API_FAIL},
    {"InsufficientHostCapacity", NULL, RB_E_CAPACITY, RB_API_FAIL},
    {"InsufficientReservedInstanceCapacity", NULL, RB_E_CAPACITY, RB_API_FAIL},
    {"ReservationCapacityExceeded", NULL, RB_E_CAPACITY, RB_API_FAIL},
    {"UnfulfillableCapacity", NULL, RB_E_CAPACITY, RB_API_FAIL},
    {"MaxFleetCountExceeded", NULL, RB_E_CAPACITY, RB_API_FAIL},
    {"SpotMaxPriceTooLow", NULL, RB_E_CAPACITY, RB_API_FAIL},
    {"InsufficientFreeAddressesInSubnet", NULL, RB_E_CAPACITY, RB_API_FAIL},
    {"Unsupported", NULL, RB_E_CAPACITY, RB_API_FAIL}, // this type is not sold in this zone

    // Quotas.
    {"MaxSpotInstanceCountExceeded", NULL, RB_E_QUOTA, RB_API_FAIL},
    {"VcpuLimitExceeded", NULL, RB_E_QUOTA, RB_API_FAIL},
    {"InstanceLimitExceeded", NULL, RB_E_QUOTA, RB_API_FAIL},
    {"VolumeLimitExceeded", NULL, RB_E_QUOTA, RB_API_FAIL},
    {"MaxIOPSLimitExceeded", NULL, RB_E_QUOTA, RB_API_FAIL},
    {"TagLimitExceeded", NULL, RB_E_QUOTA, RB_API_FAIL},
    {"PrivateIpAddressLimitExceeded", NULL, RB_E_QUOTA, RB_API_FAIL},
    {"ResourceCountExceeded", NULL, RB_E_QUOTA, RB_API_FAIL},
    {"RequestResourceCountExceeded", NULL, RB_E_QUOTA, RB_API_FAIL},

    // Asked to slow down: nothing happened yet.
    {"RequestLimitExceeded", NULL, RB_E_THROTTLED, RB_API_SLOW_DOWN},
    {"Throttling", NULL, RB_E_THROTTLED, RB_API_SLOW_DOWN},
    {"ThrottlingException", NULL, RB_E_THROTTLED, RB_API_SLOW_DOWN},
    {"ThrottledException", NULL, RB_E_THROTTLED, RB_API_SLOW_DOWN},
    {"RequestThrottled", NULL, RB_E_THROTTLED, RB_API_SLOW_DOWN},
    {"RequestThrottledException", NULL, RB_E_THROTTLED, RB_API_SLOW_DOWN},
    {"TooManyRequestsException", NULL, RB_E_THROTTLED, RB_API_SLOW_DOWN},
    {"EC2ThrottledException", NULL, RB_E_THROTTLED, RB_API_SLOW_DOWN},
    {"BandwidthLimitExceeded", NULL, RB_E_THROTTLED, RB_API_SLOW_DOWN},
    {"LimitExceededException", NULL, RB_E_THROTTLED, RB_API_SLOW_DOWN},
    {"SlowDown", NULL, RB_E_THROTTLED, RB_API_SLOW_DOWN},
    {"PriorRequestNotComplete", NULL, RB_E_THROTTLED, RB_API_SLOW_DOWN},
    {"ConcurrentTagAccess", NULL, RB_E_THROTTLED, RB_API_SLOW_DOWN},

    // The service failed, possibly after it had acted.
    {"InternalError", NULL, RB_E_OUTCOME_UNKNOWN, RB_API_RETRY},
    {"InternalFailure", NULL, RB_E_OUTCOME_UNKNOWN, RB_API_RETRY},
    {"ServerInternal", NULL, RB_E_OUTCOME_UNKNOWN, RB_API_RETRY},
    {"ServiceUnavailable", NULL, RB_E_OUTCOME_UNKNOWN, RB_API_RETRY},
    {"Unavailable", NULL, RB_E_OUTCOME_UNKNOWN, RB_API_RETRY},
    {"RequestTimeout", NULL, RB_E_OUTCOME_UNKNOWN, RB_API_RETRY},
    {"RequestTimeoutException", NULL, RB_E_OUTCOME_UNKNOWN, RB_API_RETRY},
    // The token already belongs to other parameters, and perhaps for an instance: to be looked up, not repeated.
    {"IdempotentParameterMismatch", NULL, RB_E_OUTCOME_UNKNOWN, RB_API_FAIL},

    // Identity and clock.
    {"RequestExpired", NULL, RB_E_CREDENTIALS_EXPIRED, RB_API_REFRESH},
    {"ExpiredToken", NULL, RB_E_CREDENTIALS_EXPIRED, RB_API_REFRESH},
    {"ExpiredTokenException", NULL, RB_E_CREDENTIALS_EXPIRED, RB_API_REFRESH},
    {"SignatureDoesNotMatch", "expired", RB_E_CREDENTIALS_EXPIRED, RB_API_REFRESH},
    {"SignatureDoesNotMatch", "not yet current", RB_E_CREDENTIALS_EXPIRED, RB_API_REFRESH},
    {"SignatureDoesNotMatch", NULL, RB_E_CREDENTIALS_UNUSABLE, RB_API_FAIL},
    {"UnauthorizedOperation", NULL, RB_E_PERMISSION, RB_API_FAIL},
    {"AuthFailure*", NULL, RB_E_CREDENTIALS_UNUSABLE, RB_API_FAIL},
    {"InvalidClientTokenId", NULL, RB_E_CREDENTIALS_UNUSABLE, RB_API_FAIL},
    {"MissingAuthenticationToken", NULL, RB_E_CREDENTIALS_UNUSABLE, RB_API_FAIL},
    {"IncompleteSignature", NULL, RB_E_CREDENTIALS_UNUSABLE, RB_API_FAIL},
    {"AccessDenied", NULL, RB_E_PERMISSION, RB_API_FAIL}, // this and the next two: of the token service
    {"InvalidIdentityToken", NULL, RB_E_CREDENTIALS_UNUSABLE, RB_API_FAIL},
    {"IDPCommunicationError", NULL, RB_E_OUTCOME_UNKNOWN, RB_API_RETRY},
    {"OptInRequired", NULL, RB_E_PERMISSION, RB_API_FAIL},
    {"PendingVerification", NULL, RB_E_PERMISSION, RB_API_FAIL},
    {"Blocked", NULL, RB_E_PERMISSION, RB_API_FAIL},
    {"OperationNotPermitted", NULL, RB_E_PERMISSION, RB_API_FAIL}, // such as termination protection

    // Placement groups. A request for one that exists is a duplicate; instances that are just ending still belong to
    // theirs; and one that is not found may have been made a moment ago.
    {"InvalidPlacementGroup.Duplicate", NULL, RB_E_NONE, RB_API_FAIL},
    {"InvalidPlacementGroup.InUse", NULL, RB_E_CLOUD_STATE, RB_API_RETRY},
    {"InvalidPlacementGroup.Unknown", NULL, RB_E_CLOUD_NOT_FOUND, RB_API_FAIL},
    {"PlacementGroupLimitExceeded", NULL, RB_E_QUOTA, RB_API_FAIL},

    // Instances. Not found does not mean not there: a listing decides.
    {"InvalidInstanceID.NotFound", NULL, RB_E_CLOUD_NOT_FOUND, RB_API_FAIL},
    {"InvalidID", NULL, RB_E_CLOUD_NOT_FOUND, RB_API_FAIL}, // CreateTags, of what it does not know
    {"IncorrectInstanceState", NULL, RB_E_CLOUD_STATE, RB_API_RETRY},
    {"IncorrectState", NULL, RB_E_CLOUD_STATE, RB_API_RETRY},

    // A profile made a moment ago takes seconds to be known everywhere.
    {"InvalidParameterValue", "Invalid IAM Instance Profile", RB_E_REFUSED, RB_API_SLOW_DOWN},
    {"InvalidParameter*", NULL, RB_E_REFUSED, RB_API_FAIL},
    {"Invalid*", NULL, RB_E_REFUSED, RB_API_FAIL}, // InvalidAMIID.NotFound, InvalidSubnetID.NotFound, ...
    {"Missing*", NULL, RB_E_REFUSED, RB_API_FAIL},
    {"Unknown*", NULL, RB_E_REFUSED, RB_API_FAIL},
    {"UnsupportedOperation", NULL, RB_E_REFUSED, RB_API_FAIL},
    {"Malformed*", NULL, RB_E_REFUSED, RB_API_FAIL},
};

static bool matches(const struct row *row, const char *code, const char *message)
{
    const size_t n = strlen(row->code);
    const bool same = row->code[n - 1] == '*' ? strncmp(row->code, code, n - 1) == 0 : strcmp(row->code, code) == 0;
    return same && (!row->text || strcasestr(message, row->text));
}

static struct row classify(long status, const char *code, const char *message)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (matches(&rows[i], code, message))
            return rows[i];
    struct row row = {0};
    row.reaction = rb_api_judge_status(status, &row.number);
    return row;
}

enum rb_api_reaction rb_ec2_judge(long status, const char *body, size_t n, struct rb_err *err)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    const struct rb_xml *root;
    if (!rb_xml_parse(body, n, &arena, &root, NULL))
        return rb_api_judge_stranger(status, "EC2", err);
    const struct rb_xml *errors = rb_xml_child(root, "Errors"); // EC2 has several, the other query services one
    const struct rb_xml *error = rb_xml_child(errors ? errors : root, "Error");
    const char *code = rb_xml_text(error, "Code"), *message = rb_xml_text(error, "Message");
    if (!code || !*code)
        return rb_api_judge_stranger(status, "EC2", err);
    if (!message)
        message = "";
    const struct row row = classify(status, code, message);
    char code_text[96], message_text[480];
    rb_err_set(err, row.number, "%s: %s", rb_log_sanitise(code, strlen(code), code_text, sizeof code_text),
               rb_log_sanitise(message, strlen(message), message_text, sizeof message_text));
    return row.reaction;
}
