// Source: "Troubleshooting resource availability errors", "Troubleshoot API errors" and "Allocation quotas" in the
// Compute Engine documentation, and google.rpc.ErrorInfo.
#include "providers/gcp/gcp_errors.h"

#include "base/errors/log.h"
#include "providers/wire/api_rows.h"

#include <stdio.h>
#include <string.h>

static const struct rb_api_row rows[] = {
    // The pool is empty: another zone or type, not this one again. More quota would not help.
    {RB_E_CAPACITY, RB_API_FAIL, NULL, "ZONE_RESOURCE_POOL_EXHAUSTED* RESOURCE_POOL_EXHAUSTED*"},
    {RB_E_CAPACITY, RB_API_FAIL, "stockout", NULL},
    {RB_E_CAPACITY, RB_API_FAIL, "does not have enough resources available", NULL},
    {RB_E_CAPACITY, RB_API_FAIL, "does not have available resources for the request", NULL}, // a reservation
    // UNSUPPORTED_OPERATION: preempted while it was being created
    // IP_SPACE_EXHAUSTED*: of the subnet
    {RB_E_CAPACITY, RB_API_FAIL, NULL, "UNSUPPORTED_OPERATION IP_SPACE_EXHAUSTED* VM_MIN_COUNT_NOT_REACHED"},
    // a zone closed to us
    {RB_E_CAPACITY, RB_API_FAIL, "is not found or access is unauthorized", NULL},

    {RB_E_QUOTA, RB_API_FAIL, NULL, "QUOTA_EXCEEDED LIMIT_EXCEEDED"},

    // Requests per minute and project; refilled when the minute is over.
    {RB_E_THROTTLED, RB_API_NEXT_MINUTE, NULL, "RATE_LIMIT_EXCEEDED USER_RATE_LIMIT_EXCEEDED RESOURCE_EXHAUSTED"},
    // Changes of one resource or in one zone.
    {RB_E_THROTTLED, RB_API_SLOW_DOWN, NULL, "RESOURCE_OPERATION_RATE_EXCEEDED RESOURCE_NOT_READY"},

    // Identity. A token that is refused may have expired on the way.
    {RB_E_CREDENTIALS_UNUSABLE, RB_API_REFRESH, NULL, "AUTH_ERROR"},
    {RB_E_CREDENTIALS_EXPIRED, RB_API_REFRESH, NULL, "ACCESS_TOKEN_EXPIRED"},
    {RB_E_CREDENTIALS_UNUSABLE, RB_API_REFRESH, NULL, "UNAUTHENTICATED"},
    {RB_E_PERMISSION, RB_API_FAIL, NULL,
     "FORBIDDEN PERMISSION_DENIED IAM_PERMISSION_DENIED INSUFFICIENT_PERMISSIONS "
     "ACCESS_TOKEN_SCOPE_INSUFFICIENT ACCESS_NOT_CONFIGURED SERVICE_DISABLED BILLING_DISABLED "
     "PERMISSIONS_ERROR"},

    // The name is taken, perhaps by an earlier try of ours: to be looked at, not repeated.
    // CONFLICT: for example deleted while it was being created
    {RB_E_OUTCOME_UNKNOWN, RB_API_FAIL, NULL, "ALREADY_EXISTS RESOURCE_ALREADY_EXISTS CONFLICT"},

    // The service failed, possibly after it had acted.
    {RB_E_OUTCOME_UNKNOWN, RB_API_RETRY, NULL, "BACKEND_ERROR INTERNAL* UNAVAILABLE SERVICE_UNAVAILABLE"},

    {RB_E_CLOUD_NOT_FOUND, RB_API_FAIL, NULL, "NOT_FOUND RESOURCE_NOT_FOUND"},
    // changed since it was read
    {RB_E_CLOUD_STATE, RB_API_FAIL, NULL, "CONDITION_NOT_MET"},

    {RB_E_REFUSED, RB_API_FAIL, NULL, "INVALID* BAD_REQUEST REQUIRED RESOURCE_IN_USE*"},
};

// Of a reason that is in no row. Google means more by its statuses than others do.
static const struct rb_api_row status_rows[] = {
    {RB_E_PERMISSION, RB_API_REFRESH, NULL, "401"},    {RB_E_PERMISSION, RB_API_FAIL, NULL, "403"},
    {RB_E_CLOUD_NOT_FOUND, RB_API_FAIL, NULL, "404"},  {RB_E_OUTCOME_UNKNOWN, RB_API_RETRY, NULL, "408"},
    {RB_E_OUTCOME_UNKNOWN, RB_API_FAIL, NULL, "409"},  {RB_E_CLOUD_STATE, RB_API_FAIL, NULL, "412"},
    {RB_E_THROTTLED, RB_API_NEXT_MINUTE, NULL, "429"},
};

static struct rb_api_row classify(long status, const char *code, const char *message)
{
    return rb_api_classify_by_status(rows, sizeof rows / sizeof rows[0], status_rows,
                                     sizeof status_rows / sizeof status_rows[0], status, code, message);
}

static const char *text_of(const struct rb_node *map, const char *key)
{
    const struct rb_node *n = rb_node_member(map, key);
    return n && n->kind == RB_NODE_STRING ? n->text : NULL;
}

// The first element of a list that has that member; NULL if none.
static const struct rb_node *first_with(const struct rb_node *list, const char *key)
{
    const struct rb_node *n = rb_node_first(list);
    while (n && !rb_node_member(n, key))
        n = n->next;
    return n;
}

// The metric that is exhausted, if the error carries it ("details" of a refusal, "errorDetails" of an operation).
static const char *metric_of(const struct rb_node *error)
{
    const struct rb_node *details = rb_node_member(error, "errorDetails");
    if (!details)
        details = rb_node_member(error, "details");
    const struct rb_node *info = rb_node_member(first_with(details, "quotaInfo"), "quotaInfo");
    if (!info)
        info = first_with(details, "metricName");
    return text_of(info, "metricName");
}

static void set_error(const struct rb_api_row *row, const char *code, const char *message, const char *metric,
                      struct rb_err *err)
{
    char code_text[96], message_text[400], metric_text[120] = "";
    rb_log_sanitise(code, strlen(code), code_text, sizeof code_text);
    rb_log_sanitise(message, strlen(message), message_text, sizeof message_text);
    if (metric)
        rb_log_sanitise(metric, strlen(metric), metric_text, sizeof metric_text);
    if (row->number == RB_E_QUOTA)
        rb_err_set(err, row->number,
                   "quota%s%s of %s is used up (%s): ask for more under IAM & Admin > Quotas, or plan with less",
                   metric_text[0] ? " " : "", metric_text,
                   strstr(message, "ALL_REGIONS") ? "the whole project" : "this region", message_text);
    else if (row->number == RB_E_PERMISSION || row->number == RB_E_CREDENTIALS_UNUSABLE ||
             row->number == RB_E_CREDENTIALS_EXPIRED)
        rb_err_set(err, row->number,
                   "permission missing (%s): %s; docs/policies/gcp-role.yaml lists the necessary ones", code_text,
                   message_text);
    else
        rb_err_set(err, row->number, "%s: %s", code_text, message_text);
}

static const char *reason_of(const struct rb_node *error)
{
    const char *reason = text_of(first_with(rb_node_member(error, "errors"), "reason"), "reason");
    if (!reason)
        reason = text_of(first_with(rb_node_member(error, "details"), "reason"), "reason");
    if (!reason)
        reason = text_of(error, "status");
    return reason ? reason : "";
}

enum rb_api_reaction rb_gcp_judge(long status, const char *body, size_t n, struct rb_err *err)
{
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    if (!rb_doc_parse_json(&doc, "answer", body, n, NULL))
        return rb_api_judge_stranger(status, "Google", err);
    const struct rb_node *error = rb_node_member(doc.root, "error");
    const char *message = text_of(error, "message");
    if (!message) {
        return rb_api_judge_stranger(status, "Google", err);
    }
    const char *reason = reason_of(error);
    const struct rb_api_row row = classify(status, reason, message);
    set_error(&row, *reason ? reason : "no reason given", message, metric_of(error), err);
    return row.reaction;
}

static long status_of(const struct rb_node *operation)
{
    const struct rb_node *n = rb_node_member(operation, "httpErrorStatusCode");
    return n && n->kind == RB_NODE_INT && n->integer >= 100 && n->integer <= 599 ? (long)n->integer : 500;
}

// Nothing came of it, so there is nothing to wait for: what would be throttling or a missing name in a request is here
// no machine now, or a parameter that names nothing.
static enum rb_err_number number_of_operation(enum rb_err_number number)
{
    return number == RB_E_THROTTLED ? RB_E_CAPACITY : number == RB_E_CLOUD_NOT_FOUND ? RB_E_REFUSED : number;
}

enum rb_api_reaction rb_gcp_judge_operation(const struct rb_node *operation, struct rb_err *err)
{
    const struct rb_node *error = first_with(rb_node_member(rb_node_member(operation, "error"), "errors"), "code");
    const char *code = text_of(error, "code"), *message = text_of(error, "message");
    if (!code)
        code = "no code given";
    if (!message)
        message = text_of(operation, "httpErrorMessage");
    if (!message)
        message = "no reason given";
    struct rb_api_row row = classify(status_of(operation), code, message);
    row.number = number_of_operation(row.number);
    set_error(&row, code, message, metric_of(error), err);
    return row.number == RB_E_OUTCOME_UNKNOWN ? RB_API_RETRY : RB_API_FAIL;
}
