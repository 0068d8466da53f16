// Source: "Troubleshooting resource availability errors", "Troubleshoot API errors" and "Allocation quotas" in the
// Compute Engine documentation, and google.rpc.ErrorInfo.
#include "providers/gcp/gcp_errors.h"

#include "base/errors/log.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

// Words for the user, in the caller's error.
enum kind { PLAIN, QUOTA, PERMISSION };

// First match wins. Codes are compared without case and underscores, because the same one is written quotaExceeded in a
// refused request and QUOTA_EXCEEDED in a failed operation. One that ends in '*' matches all that start like it; text,
// where given, must be in the message; a row without a code is decided by the text alone.
static const struct row {
    const char *code, *text;
    enum rb_err_number number;
    enum rb_api_reaction reaction;
    enum kind kind;
} rows[] = {
    // The pool is empty: another zone or type, not this one again. More quota would not help.
    {"ZONE_RESOURCE_POOL_EXHAUSTED*", NULL, RB_E_CAPACITY, RB_API_FAIL, PLAIN},
    {"RESOURCE_POOL_EXHAUSTED*", NULL, RB_E_CAPACITY, RB_API_FAIL, PLAIN},
    {NULL, "stockout", RB_E_CAPACITY, RB_API_FAIL, PLAIN},
    {NULL, "does not have enough resources available", RB_E_CAPACITY, RB_API_FAIL, PLAIN},
    {"UNSUPPORTED_OPERATION", NULL, RB_E_CAPACITY, RB_API_FAIL, PLAIN}, // preempted while it was being created
    {"IP_SPACE_EXHAUSTED*", NULL, RB_E_CAPACITY, RB_API_FAIL, PLAIN},   // of the subnet
    {"VM_MIN_COUNT_NOT_REACHED", NULL, RB_E_CAPACITY, RB_API_FAIL, PLAIN},
    {NULL, "is not found or access is unauthorized", RB_E_CAPACITY, RB_API_FAIL, PLAIN}, // a zone closed to us

    {"QUOTA_EXCEEDED", NULL, RB_E_QUOTA, RB_API_FAIL, QUOTA},
    {"LIMIT_EXCEEDED", NULL, RB_E_QUOTA, RB_API_FAIL, QUOTA},

    // Requests per minute and project; refilled when the minute is over.
    {"RATE_LIMIT_EXCEEDED", NULL, RB_E_THROTTLED, RB_API_NEXT_MINUTE, PLAIN},
    {"USER_RATE_LIMIT_EXCEEDED", NULL, RB_E_THROTTLED, RB_API_NEXT_MINUTE, PLAIN},
    {"RESOURCE_EXHAUSTED", NULL, RB_E_THROTTLED, RB_API_NEXT_MINUTE, PLAIN},
    // Changes of one resource or in one zone.
    {"RESOURCE_OPERATION_RATE_EXCEEDED", NULL, RB_E_THROTTLED, RB_API_SLOW_DOWN, PLAIN},
    {"RESOURCE_NOT_READY", NULL, RB_E_THROTTLED, RB_API_SLOW_DOWN, PLAIN},

    // Identity. A token that is refused may have expired on the way.
    {"AUTH_ERROR", NULL, RB_E_CREDENTIALS_UNUSABLE, RB_API_REFRESH, PERMISSION},
    {"ACCESS_TOKEN_EXPIRED", NULL, RB_E_CREDENTIALS_EXPIRED, RB_API_REFRESH, PERMISSION},
    {"UNAUTHENTICATED", NULL, RB_E_CREDENTIALS_UNUSABLE, RB_API_REFRESH, PERMISSION},
    {"FORBIDDEN", NULL, RB_E_PERMISSION, RB_API_FAIL, PERMISSION},
    {"PERMISSION_DENIED", NULL, RB_E_PERMISSION, RB_API_FAIL, PERMISSION},
    {"IAM_PERMISSION_DENIED", NULL, RB_E_PERMISSION, RB_API_FAIL, PERMISSION},
    {"INSUFFICIENT_PERMISSIONS", NULL, RB_E_PERMISSION, RB_API_FAIL, PERMISSION},
    {"ACCESS_TOKEN_SCOPE_INSUFFICIENT", NULL, RB_E_PERMISSION, RB_API_FAIL, PERMISSION},
    {"ACCESS_NOT_CONFIGURED", NULL, RB_E_PERMISSION, RB_API_FAIL, PERMISSION},
    {"SERVICE_DISABLED", NULL, RB_E_PERMISSION, RB_API_FAIL, PERMISSION},
    {"BILLING_DISABLED", NULL, RB_E_PERMISSION, RB_API_FAIL, PERMISSION},
    {"PERMISSIONS_ERROR", NULL, RB_E_PERMISSION, RB_API_FAIL, PERMISSION},

    // The name is taken, perhaps by an earlier try of ours: to be looked at, not repeated.
    {"ALREADY_EXISTS", NULL, RB_E_OUTCOME_UNKNOWN, RB_API_FAIL, PLAIN},
    {"RESOURCE_ALREADY_EXISTS", NULL, RB_E_OUTCOME_UNKNOWN, RB_API_FAIL, PLAIN},
    {"CONFLICT", NULL, RB_E_OUTCOME_UNKNOWN, RB_API_FAIL, PLAIN}, // for example deleted while it was being created

    // The service failed, possibly after it had acted.
    {"BACKEND_ERROR", NULL, RB_E_OUTCOME_UNKNOWN, RB_API_RETRY, PLAIN},
    {"INTERNAL*", NULL, RB_E_OUTCOME_UNKNOWN, RB_API_RETRY, PLAIN},
    {"UNAVAILABLE", NULL, RB_E_OUTCOME_UNKNOWN, RB_API_RETRY, PLAIN},
    {"SERVICE_UNAVAILABLE", NULL, RB_E_OUTCOME_UNKNOWN, RB_API_RETRY, PLAIN},

    {"NOT_FOUND", NULL, RB_E_CLOUD_NOT_FOUND, RB_API_FAIL, PLAIN},
    {"RESOURCE_NOT_FOUND", NULL, RB_E_CLOUD_NOT_FOUND, RB_API_FAIL, PLAIN},
    {"CONDITION_NOT_MET", NULL, RB_E_CLOUD_STATE, RB_API_FAIL, PLAIN}, // changed since it was read

    {"INVALID*", NULL, RB_E_REFUSED, RB_API_FAIL, PLAIN},
    {"BAD_REQUEST", NULL, RB_E_REFUSED, RB_API_FAIL, PLAIN},
    {"REQUIRED", NULL, RB_E_REFUSED, RB_API_FAIL, PLAIN},
    {"RESOURCE_IN_USE*", NULL, RB_E_REFUSED, RB_API_FAIL, PLAIN},
};

// "quotaExceeded" and "QUOTA_EXCEEDED" are one code; '*' at the end of a pattern matches the rest.
static bool matches_code(const char *pattern, const char *code)
{
    for (;; pattern++, code++) {
        while (*pattern == '_')
            pattern++;
        while (*code == '_')
            code++;
        if (*pattern == '*')
            return true;
        if (toupper((unsigned char)*pattern) != toupper((unsigned char)*code))
            return false;
        if (*pattern == '\0')
            return true;
    }
}

static bool matches(const struct row *row, const char *code, const char *message)
{
    return (!row->code || matches_code(row->code, code)) && (!row->text || strcasestr(message, row->text));
}

// A reason that is not in the table. Google means more by its statuses than others do.
static struct row unlisted(long status)
{
    switch (status) {
    case 401:
        return (struct row){.number = RB_E_PERMISSION, .reaction = RB_API_REFRESH, .kind = PERMISSION};
    case 403:
        return (struct row){.number = RB_E_PERMISSION, .reaction = RB_API_FAIL, .kind = PERMISSION};
    case 404:
        return (struct row){.number = RB_E_CLOUD_NOT_FOUND, .reaction = RB_API_FAIL};
    case 408:
        return (struct row){.number = RB_E_OUTCOME_UNKNOWN, .reaction = RB_API_RETRY};
    case 409:
        return (struct row){.number = RB_E_OUTCOME_UNKNOWN, .reaction = RB_API_FAIL};
    case 412:
        return (struct row){.number = RB_E_CLOUD_STATE, .reaction = RB_API_FAIL};
    case 429:
        return (struct row){.number = RB_E_THROTTLED, .reaction = RB_API_NEXT_MINUTE};
    default: {
        struct row row = {.kind = PLAIN};
        row.reaction = rb_api_judge_status(status, &row.number);
        return row;
    }
    }
}

static struct row classify(long status, const char *code, const char *message)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (matches(&rows[i], code, message))
            return rows[i];
    return unlisted(status);
}

static const char *text_of(const struct rb_node *map, const char *key)
{
    const struct rb_node *n = rb_node_member(map, key);
    return n && n->kind == RB_NODE_STRING ? n->text : NULL;
}

// The first element of a list that has that member; NULL if none.
static const struct rb_node *first_with(const struct rb_node *list, const char *key)
{
    const struct rb_node *n = list && list->kind == RB_NODE_LIST ? list->first : NULL;
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

static void set_error(const struct row *row, const char *code, const char *message, const char *metric,
                      struct rb_err *err)
{
    char code_text[96], message_text[400], metric_text[120] = "";
    rb_log_sanitise(code, strlen(code), code_text, sizeof code_text);
    rb_log_sanitise(message, strlen(message), message_text, sizeof message_text);
    if (metric)
        rb_log_sanitise(metric, strlen(metric), metric_text, sizeof metric_text);
    switch (row->kind) {
    case QUOTA:
        rb_err_set(err, row->number,
                   "quota%s%s of %s is used up (%s): ask for more under IAM & Admin > Quotas, or plan with less",
                   metric_text[0] ? " " : "", metric_text,
                   strstr(message, "ALL_REGIONS") ? "the whole project" : "this region", message_text);
        return;
    case PERMISSION:
        rb_err_set(err, row->number,
                   "permission missing (%s): %s; docs/policies/gcp-role.yaml lists the necessary ones", code_text,
                   message_text);
        return;
    case PLAIN:
        rb_err_set(err, row->number, "%s: %s", code_text, message_text);
    }
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
    const struct row row = classify(status, reason, message);
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
    struct row row = classify(status_of(operation), code, message);
    row.number = number_of_operation(row.number);
    set_error(&row, code, message, metric_of(error), err);
    return row.number == RB_E_OUTCOME_UNKNOWN ? RB_API_RETRY : RB_API_FAIL;
}
