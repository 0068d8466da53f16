// Source: "Error codes for the Amazon EC2 API" (client and server error codes), the retry lists of the AWS SDKs, and
// "AWS JSON 1.1 protocol" (Smithy), common errors of the APIs.
#include "providers/aws/aws_errors.h"

#include "base/arena.h"
#include "base/document/doc.h"
#include "base/errors/log.h"
#include "providers/wire/api_rows.h"
#include "providers/wire/xml.h"

#include <string.h>

static const struct rb_api_row query_rows[] = {
    // A dry run that would have been done.
    {RB_E_NONE, RB_API_FAIL, NULL, "DryRunOperation"},

    // The pool is empty: try another one, not this one again.
    // Unsupported: this type is not sold in this zone
    {RB_E_CAPACITY, RB_API_FAIL, NULL,
     "InsufficientInstanceCapacity InsufficientCapacity InsufficientHostCapacity "
     "InsufficientReservedInstanceCapacity ReservationCapacityExceeded UnfulfillableCapacity "
     "MaxFleetCountExceeded SpotMaxPriceTooLow InsufficientFreeAddressesInSubnet Unsupported"},

    // Quotas.
    {RB_E_QUOTA, RB_API_FAIL, NULL,
     "MaxSpotInstanceCountExceeded VcpuLimitExceeded InstanceLimitExceeded VolumeLimitExceeded "
     "MaxIOPSLimitExceeded TagLimitExceeded PrivateIpAddressLimitExceeded ResourceCountExceeded "
     "RequestResourceCountExceeded"},

    // Asked to slow down: nothing happened yet.
    {RB_E_THROTTLED, RB_API_SLOW_DOWN, NULL,
     "RequestLimitExceeded Throttling ThrottlingException ThrottledException RequestThrottled "
     "RequestThrottledException TooManyRequestsException EC2ThrottledException BandwidthLimitExceeded "
     "LimitExceededException SlowDown PriorRequestNotComplete ConcurrentTagAccess"},

    // The service failed, possibly after it had acted.
    {RB_E_OUTCOME_UNKNOWN, RB_API_RETRY, NULL,
     "InternalError InternalFailure ServerInternal ServiceUnavailable Unavailable RequestTimeout "
     "RequestTimeoutException"},
    // The token already belongs to other parameters, and perhaps for an instance: to be looked up, not repeated.
    {RB_E_OUTCOME_UNKNOWN, RB_API_FAIL, NULL, "IdempotentParameterMismatch"},

    // Identity and clock.
    {RB_E_CREDENTIALS_EXPIRED, RB_API_REFRESH, NULL, "RequestExpired ExpiredToken ExpiredTokenException"},
    {RB_E_CREDENTIALS_EXPIRED, RB_API_REFRESH, "expired", "SignatureDoesNotMatch"},
    {RB_E_CREDENTIALS_EXPIRED, RB_API_REFRESH, "not yet current", "SignatureDoesNotMatch"},
    {RB_E_CREDENTIALS_UNUSABLE, RB_API_FAIL, NULL, "SignatureDoesNotMatch"},
    {RB_E_PERMISSION, RB_API_FAIL, NULL, "UnauthorizedOperation"},
    {RB_E_CREDENTIALS_UNUSABLE, RB_API_FAIL, NULL,
     "AuthFailure* InvalidClientTokenId MissingAuthenticationToken IncompleteSignature"},
    // Of the token service.
    {RB_E_PERMISSION, RB_API_FAIL, NULL, "AccessDenied"},
    {RB_E_CREDENTIALS_UNUSABLE, RB_API_FAIL, NULL, "InvalidIdentityToken"},
    {RB_E_OUTCOME_UNKNOWN, RB_API_RETRY, NULL, "IDPCommunicationError"},
    // OperationNotPermitted: such as termination protection
    {RB_E_PERMISSION, RB_API_FAIL, NULL, "OptInRequired PendingVerification Blocked OperationNotPermitted"},

    // Placement groups. A request for one that exists is a duplicate; instances that are just ending still belong to
    // theirs; and one that is not found may have been made a moment ago.
    {RB_E_NONE, RB_API_FAIL, NULL, "InvalidPlacementGroup.Duplicate"},
    {RB_E_CLOUD_STATE, RB_API_RETRY, NULL, "InvalidPlacementGroup.InUse"},
    {RB_E_CLOUD_NOT_FOUND, RB_API_FAIL, NULL, "InvalidPlacementGroup.Unknown"},
    {RB_E_QUOTA, RB_API_FAIL, NULL, "PlacementGroupLimitExceeded"},

    // Instances. Not found does not mean not there: a listing decides.
    // InvalidID: CreateTags, of what it does not know
    {RB_E_CLOUD_NOT_FOUND, RB_API_FAIL, NULL, "InvalidInstanceID.NotFound InvalidID"},
    {RB_E_CLOUD_STATE, RB_API_RETRY, NULL, "IncorrectInstanceState IncorrectState"},

    // A profile made a moment ago takes seconds to be known everywhere.
    {RB_E_REFUSED, RB_API_SLOW_DOWN, "Invalid IAM Instance Profile", "InvalidParameterValue"},
    // Invalid*: InvalidAMIID.NotFound, InvalidSubnetID.NotFound, ...
    {RB_E_REFUSED, RB_API_FAIL, NULL, "InvalidParameter* Invalid* Missing* Unknown* UnsupportedOperation Malformed*"},
};

static const struct rb_api_row json_rows[] = {
    {RB_E_CREDENTIALS_EXPIRED, RB_API_REFRESH, NULL, "ExpiredTokenException RequestExpired"},
    {RB_E_THROTTLED, RB_API_SLOW_DOWN, NULL, "ThrottlingException TooManyRequestsException"},
    {RB_E_CLOUD_NOT_FOUND, RB_API_FAIL, NULL,
     "ParameterNotFound ParameterVersionNotFound ResourceNotFoundException NoSuchResourceException"},
    {RB_E_PERMISSION, RB_API_FAIL, NULL, "AccessDeniedException UnauthorizedException ForbiddenException"},
    {RB_E_CREDENTIALS_UNUSABLE, RB_API_FAIL, NULL,
     "UnrecognizedClientException InvalidSignatureException InvalidClientTokenId "
     "MissingAuthenticationTokenException"},
    {RB_E_OUTCOME_UNKNOWN, RB_API_RETRY, NULL,
     "InternalServerError InternalErrorException ServiceUnavailableException"},
};

enum rb_api_reaction rb_aws_query_judge(long status, const char *body, size_t n, struct rb_err *err)
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
    const struct rb_api_row row =
        rb_api_classify(query_rows, sizeof query_rows / sizeof query_rows[0], status, code, message);
    char code_text[96], message_text[480];
    rb_err_set(err, row.number, "%s: %s", rb_log_sanitise(code, strlen(code), code_text, sizeof code_text),
               rb_log_sanitise(message, strlen(message), message_text, sizeof message_text));
    return row.reaction;
}

static void text(const struct rb_node *root, const char *key, const char *other, char *out, size_t size)
{
    const struct rb_node *n = rb_node_member(root, key);
    if (!n)
        n = rb_node_member(root, other);
    if (n && n->kind == RB_NODE_STRING)
        rb_log_sanitise(n->text, n->text_len, out, size);
}

enum rb_api_reaction rb_aws_json_judge(long status, const char *body, size_t n, struct rb_err *err)
{
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    char type[128] = "", message[480] = "";
    if (rb_doc_parse_json(&doc, "answer", body, n, NULL)) {
        text(doc.root, "__type", "code", type, sizeof type);
        text(doc.root, "message", "Message", message, sizeof message);
    }
    const char *hash = strrchr(type, '#'), *code = hash ? hash + 1 : type;
    const struct rb_api_row row =
        rb_api_classify(json_rows, sizeof json_rows / sizeof json_rows[0], status, code, message);
    rb_err_set(err, row.number, "status %ld: %s%s%s", status, code[0] ? code : "no reason given",
               message[0] ? ": " : "", message);
    return row.reaction;
}
