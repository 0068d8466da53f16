// Source: metav1.Status and its reasons in k8s.io/apimachinery.
#include "providers/k8s/k8s_errors.h"

#include "base/document/doc.h"
#include "base/errors/log.h"
#include "providers/wire/api_rows.h"

#include <stdio.h>
#include <string.h>

static const struct rb_api_row rows[] = {
    {RB_E_K8S_CREDENTIALS, RB_API_REFRESH, NULL, "Unauthorized"},
    {RB_E_QUOTA, RB_API_FAIL, "exceeded quota", "Forbidden"},
    {RB_E_PERMISSION, RB_API_PERHAPS_STARTING, "\" cannot ", "Forbidden"}, // by RBAC, which a server that starts has not read yet
    {RB_E_PERMISSION, RB_API_FAIL, NULL, "Forbidden"},
    {RB_E_CLOUD_NOT_FOUND, RB_API_FAIL, NULL, "NotFound"},
    {RB_E_OUTCOME_UNKNOWN, RB_API_FAIL, NULL, "AlreadyExists"},
    // Two pods were counted at once: this one was not created. Source: kubernetes issue 67761.
    {RB_E_CLOUD_STATE, RB_API_RETRY, "resourcequotas", "Conflict"},
    {RB_E_CLOUD_STATE, RB_API_FAIL, NULL, "Conflict Expired Gone"},
    {RB_E_REFUSED, RB_API_FAIL, NULL,
     "Invalid BadRequest MethodNotAllowed NotAcceptable UnsupportedMediaType RequestEntityTooLarge"},
    {RB_E_THROTTLED, RB_API_SLOW_DOWN, NULL, "TooManyRequests ServiceUnavailable"},
    // Of an admission webhook, too, which may run after the object was stored elsewhere.
    {RB_E_OUTCOME_UNKNOWN, RB_API_RETRY, NULL, "InternalError Timeout ServerTimeout"},
};

// A Status without a reason.
static const struct rb_api_row status_rows[] = {
    {RB_E_K8S_CREDENTIALS, RB_API_REFRESH, NULL, "401"},
    {RB_E_CLOUD_NOT_FOUND, RB_API_FAIL, NULL, "404"},
    {RB_E_CLOUD_STATE, RB_API_FAIL, NULL, "409"},
    {RB_E_THROTTLED, RB_API_SLOW_DOWN, NULL, "503"},
};

static struct rb_api_row classify(long status, const char *reason, const char *message)
{
    return rb_api_classify_by_status(rows, sizeof rows / sizeof rows[0], status_rows,
                                     sizeof status_rows / sizeof status_rows[0], status, reason, message);
}

static const char *advice(enum rb_err_number number, const char *message)
{
    const bool of_jobs = strstr(message, "\"jobs\"") != NULL;
    return number == RB_E_PERMISSION && of_jobs ? "; docs/policies/k8s-role-jobs.yaml is the Role to grant"
           : number == RB_E_PERMISSION          ? "; docs/policies/k8s-role.yaml is the Role to grant"
           : number == RB_E_QUOTA               ? ": ask for more, or plan with less"
           : number == RB_E_K8S_CREDENTIALS     ? "; log in to the cluster again"
                                                : "";
}

// What Go's server says of a path that nothing serves, such as one of an API group that is not installed. Another 404 may
// be a proxy's, and proves no absence.
static const char unserved[] = "404 page not found\n";

enum rb_api_reaction rb_kube_judge(long status, const char *body, size_t n, struct rb_err *err)
{
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    char message[420], reason[64];
    if (status == 404 && n == sizeof unserved - 1 && memcmp(body, unserved, n) == 0) {
        rb_err_set(err, RB_E_CLOUD_NOT_FOUND, "NotFound: this cluster does not have that part of the API");
        return RB_API_FAIL;
    }
    if (!rb_doc_parse_json(&doc, "answer", body, n, NULL) ||
        strcmp(rb_node_member_text(doc.root, "kind"), "Status") != 0) {
        if (status != 401)
            return rb_api_judge_stranger(status, "Kubernetes", err);
        rb_err_set(err, RB_E_K8S_CREDENTIALS, "Unauthorized%s", advice(RB_E_K8S_CREDENTIALS, ""));
        return RB_API_REFRESH;
    }
    const char *m = rb_node_member_text(doc.root, "message"), *r = rb_node_member_text(doc.root, "reason");
    rb_log_sanitise(m, strlen(m), message, sizeof message);
    rb_log_sanitise(*r ? r : "no reason given", *r ? strlen(r) : 15, reason, sizeof reason);
    const struct rb_api_row row = classify(status, r, m);
    rb_err_set(err, row.number, "%s: %s%s", reason, message, advice(row.number, m));
    return row.reaction;
}

// What was done before the reason is put before it: "pods.create: AlreadyExists: ...".
static bool has_reason(const struct rb_err *err, const char *reason)
{
    return err && strstr(err->message, reason) != NULL;
}

bool rb_kube_exists_already(const struct rb_err *err)
{
    return has_reason(err, "AlreadyExists: ");
}

bool rb_kube_is_conflict(const struct rb_err *err)
{
    return has_reason(err, "Conflict: ");
}

bool rb_kube_is_expired(const struct rb_err *err)
{
    return has_reason(err, "Expired: ") || has_reason(err, "Gone: ");
}
