// What the methods of the Kubernetes front share: the call that they serve, refusing it, its query.
#ifndef RB_PROVIDERS_MOCK_K8S_CALL_H
#define RB_PROVIDERS_MOCK_K8S_CALL_H

#include "base/document/json.h"
#include "providers/mock/k8s/k8s_state.h"
#include "providers/mock/k8s/selector.h"

#define RB_K8S_MAX_QUERY 256

struct rb_k8s_call {
    struct rb_mock_k8s *k;
    struct rb_arena *arena; // lives as long as the call
    const struct rb_exchange_request *request;
    const char *space, *name; // of the path; NULL: not in it
    struct rb_k8s_parameter {
        const char *name, *value;
        bool asked;
    } query[RB_K8S_MAX_QUERY]; // names may repeat
    int n_query;
    const char *within;         // where in the body the object is that is judged: "", "spec.template."
    const struct rb_node *body; // NULL: none, or not JSON
    int64_t now_us;
    struct rb_chaos_verdict chaos;
    struct rb_json json; // the answer
    int status;          // of it, or of the refusal
    struct {
        const char *reason, *kind, *name; // kind, name NULL: of nothing in particular
        char message[1024];
        const char *cause_reason, *cause_field, *cause_message; // NULL: no causes
    } refusal;
    struct rb_exchange_answer *out; // for headers, and for answers that are no JSON
};

// false: refused, call->refusal says why, nothing was changed.
typedef bool rb_k8s_method_fn(struct rb_k8s_call *call);

rb_k8s_method_fn rb_k8s_pod_create, rb_k8s_pod_get, rb_k8s_pods_list, rb_k8s_pods_watch, rb_k8s_pod_delete,
    rb_k8s_pod_exec, rb_k8s_pod_log, rb_k8s_pod_evict, rb_k8s_events_list, rb_k8s_lease_create, rb_k8s_lease_get,
    rb_k8s_leases_list, rb_k8s_job_create, rb_k8s_job_get, rb_k8s_jobs_list, rb_k8s_job_delete, rb_k8s_lease_update, rb_k8s_lease_delete, rb_k8s_quotas_list, rb_k8s_limits_list,
    rb_k8s_machines_list, rb_k8s_namespaces_list, rb_k8s_namespace_get, rb_k8s_review_create, rb_k8s_version_get,
    rb_k8s_groups_list, rb_k8s_core_get, rb_k8s_resources_list, rb_k8s_queues_list, rb_k8s_queue_get,
    rb_k8s_workload_get, rb_k8s_workload_delete, rb_k8s_pod_patch, rb_k8s_lease_patch;

const char *rb_k8s_group_of(const struct rb_k8s_call *call);                // of the path; "": the core's
const char *rb_k8s_with_group(struct rb_k8s_call *call, const char *kind);  // "leases.coordination.k8s.io", "pods"
bool rb_k8s_serves(const struct rb_mock_k8s *k, const char *group);         // is that API installed?

// --- refusing; all return false ---

// reason NULL: the server itself failed, and gives none.
bool rb_k8s_refuse(struct rb_k8s_call *call, int status, const char *reason, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
bool rb_k8s_not_found(struct rb_k8s_call *call, const char *kind, const char *name); // "pods", "rb-1"
// The object has that uid, and not the one that was wanted.
bool rb_k8s_other_uid(struct rb_k8s_call *call, const char *kind, const char *name, const char *wanted, const char *uid);
// 422 for one field of a new object.
bool rb_k8s_invalid(struct rb_k8s_call *call, const char *field, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

// --- reading ---

const char *rb_k8s_query(struct rb_k8s_call *call, const char *name); // NULL: absent; the first of several
bool rb_k8s_query_bool(struct rb_k8s_call *call, const char *name);
bool rb_k8s_query_int(struct rb_k8s_call *call, const char *name, int64_t *inout); // false: refused
bool rb_k8s_checked(struct rb_k8s_call *call); // every parameter has been asked for; refuses otherwise
// Admits the body as an object of this kind: JSON with known fields (Warning headers or 400 for others) in *out, a new
// document; the caller finishes it.
bool rb_k8s_read_body(struct rb_k8s_call *call, const char *kind, struct rb_doc *out);
// The same by a server that does not know this field; NULL: it knows all.
bool rb_k8s_read_body_without(struct rb_k8s_call *call, const char *kind, const char *unknown, struct rb_doc *out);
bool rb_k8s_read_dry_run(struct rb_k8s_call *call, bool *out);
void rb_k8s_warn(struct rb_k8s_call *call, const char *text);
// May the token do this? "create", "pods/exec".
bool rb_k8s_may(const struct rb_mock_k8s *k, const char *verb, const char *resource);

// Labels and annotations as the body's patch makes them, as metadata in *out, a new document; the caller finishes it, also
// where it was refused. kind: "Pod".
bool rb_k8s_patch(struct rb_k8s_call *call, const char *kind, const struct rb_node *labels,
                  const struct rb_node *annotations, struct rb_doc *out, bool *out_dry_run);

// --- lists ---

// A kind that can be listed. Positions rise with the age of an object.
struct rb_k8s_kind {
    const char *list_kind, *api_version; // "PodList", "v1"
    int n;
    bool (*shows)(struct rb_k8s_call *call, int k); // is it there?
    rb_k8s_value_fn *label, *field; // of the object at `at`
    const char *fields;             // that it can be selected by, with blanks between; NULL: none
    const void *(*at)(const struct rb_k8s_call *call, int k);
    void (*write)(struct rb_k8s_call *call, int k);
};
bool rb_k8s_list(struct rb_k8s_call *call, const struct rb_k8s_kind *kind);
bool rb_k8s_read_selectors(struct rb_k8s_call *call, struct rb_k8s_selector *labels, struct rb_k8s_selector *fields);
const char *rb_k8s_pod_label(const void *pod, const char *key);
const char *rb_k8s_pod_field(const void *pod, const char *key);

// --- tables (k8s_table.c) ---

bool rb_k8s_wants_table(const struct rb_k8s_call *call);
// The answer, an object or a list, as a table.
void rb_k8s_write_table(const struct rb_node *answer, int64_t now_us, struct rb_json *j);

// --- admission of pods (k8s_admission.c) ---

// Is the name a DNS subdomain, are labels short enough, and so on: 422.
bool rb_k8s_check_meta(struct rb_k8s_call *call, const struct rb_node *meta, const char *kind);
bool rb_k8s_check_pod(struct rb_k8s_call *call, const struct rb_doc *doc);      // 422
bool rb_k8s_check_security(struct rb_k8s_call *call, const struct rb_doc *doc); // 403
bool rb_k8s_check_limits(struct rb_k8s_call *call, const struct rb_doc *doc);   // 403
bool rb_k8s_check_quota(struct rb_k8s_call *call, const struct rb_doc *doc);    // 403
int64_t rb_k8s_quota_used(const struct rb_mock_k8s *k, const char *resource);   // thousandths

// --- Kueue (k8s_kueue.c) ---

void rb_k8s_queue_pod(struct rb_mock_k8s *k, struct rb_k8s_pod *p, int64_t now_us);
void rb_k8s_admit_groups(struct rb_mock_k8s *k, int64_t now_us);
// Lets the members of its group go if all of them are being deleted and there is no Workload.
void rb_k8s_finalize_group(struct rb_mock_k8s *k, const struct rb_k8s_pod *deleted, int64_t now_us);

#endif
