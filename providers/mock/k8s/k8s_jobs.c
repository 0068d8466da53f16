// The methods of Jobs, with one pod each. What makes their pods is in k8s_job_controller.c.
#include "providers/mock/k8s/k8s_call.h"

#include <stdlib.h>
#include <string.h>

#define MAX_NAME 63 // it becomes a label of the pods

static struct rb_k8s_job *need_job(struct rb_k8s_call *call)
{
    struct rb_k8s_job *job = rb_k8s_find_job(call->k, call->name);
    if (!job)
        rb_k8s_not_found(call, "jobs", call->name);
    return job;
}

// --- writing ---

void rb_k8s_write_pod_labels(const struct rb_k8s_job *job, const struct rb_node *labels, struct rb_json *j)
{
    rb_json_kobject(j, "labels");
    for (const struct rb_node *l = labels ? labels->first : NULL; l; l = l->next)
        rb_json_kstring(j, l->key, l->text);
    rb_json_put(j,
                "'batch.kubernetes.io/controller-uid': %s, 'batch.kubernetes.io/job-name': %s, 'controller-uid': %s, "
                "'job-name': %s",
                job->uid, job->name, job->uid, job->name);
    rb_json_end_object(j);
}

static void write_spec(const struct rb_k8s_job *job, struct rb_json *j)
{
    const struct rb_node *template = rb_node_member(job->spec, "template"),
                         *meta = rb_node_member(template, "metadata");
    rb_json_kobject(j, "spec");
    for (const struct rb_node *c = job->spec->first; c; c = c->next)
        if (c != template) {
            rb_json_key(j, c->key);
            rb_json_node(j, c);
        }
    rb_json_put(j, "selector: {matchLabels: {'batch.kubernetes.io/controller-uid': %s}}, template: {metadata: {",
                job->uid);
    rb_k8s_write_pod_labels(job, rb_node_member(meta, "labels"), j);
    if (rb_node_member(meta, "annotations")) {
        rb_json_key(j, "annotations");
        rb_json_node(j, rb_node_member(meta, "annotations"));
    }
    rb_json_end_object(j);
    rb_json_key(j, "spec");
    rb_json_node(j, rb_node_member(template, "spec"));
    rb_json_end_object(j);
    rb_json_end_object(j);
}

static void write_count(struct rb_json *j, const char *key, int n)
{
    if (n > 0)
        rb_json_kint(j, key, n);
}

static void write_status(const struct rb_k8s_job *job, const struct rb_mock_k8s *k, struct rb_json *j)
{
    const struct rb_k8s_job_pods pods = rb_k8s_job_pods(k, job);
    rb_json_kobject(j, "status");
    write_count(j, "active", pods.active);
    write_count(j, "failed", job->failed);
    write_count(j, "succeeded", job->succeeded);
    rb_json_put(j, "ready: %d, terminating: %d, uncountedTerminatedPods: {}", pods.ready, pods.terminating);
    rb_k8s_instant(j, "startTime", job->created_us);
    if (job->condition) {
        if (strcmp(job->condition, "Complete") == 0)
            rb_k8s_instant(j, "completionTime", job->condition_us);
        rb_json_put(j, "conditions: [{type: %s, status: 'True', reason: %s, message: %s", job->condition, job->reason,
                    job->message);
        rb_k8s_instant(j, "lastProbeTime", job->condition_us);
        rb_k8s_instant(j, "lastTransitionTime", job->condition_us);
        rb_json_put(j, "}]");
    }
    rb_json_end_object(j);
}

static void write_job(const struct rb_k8s_job *job, const struct rb_mock_k8s *k, bool is_item, struct rb_json *j)
{
    rb_k8s_begin_object(j, "batch/v1", "Job", is_item);
    rb_k8s_begin_meta(j, k->config->space, job->name, job->uid, job->version, job->created_us);
    const struct rb_node *meta = rb_node_member(job->doc.root, "metadata");
    static const char *const members[] = {"labels", "annotations", "ownerReferences"};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (rb_node_member(meta, members[i])) {
            rb_json_key(j, members[i]);
            rb_json_node(j, rb_node_member(meta, members[i]));
        }
    rb_json_end_object(j);
    write_spec(job, j);
    write_status(job, k, j);
    rb_json_put(j, "}");
}

// --- create ---

// What a Job may be here: one pod, made at once.
static bool check_form(struct rb_k8s_call *call, const struct rb_node *spec)
{
    static const char *const ones[] = {"parallelism", "completions"};
    const struct rb_node *limit = rb_node_member(spec, "backoffLimit");
    for (size_t i = 0; i < sizeof ones / sizeof *ones; i++) {
        const struct rb_node *n = rb_node_member(spec, ones[i]);
        if (n->integer != 1)
            return rb_k8s_invalid(call, rb_arena_printf(call->arena, "spec.%s", ones[i]),
                                  "Invalid value: %lld: a Job of this mock cloud has one pod", (long long)n->integer);
    }
    if (limit->integer < 0)
        return rb_k8s_invalid(call, "spec.backoffLimit", "Invalid value: %lld: must be greater than or equal to 0",
                              (long long)limit->integer);
    if (rb_node_member(spec, "suspend")->boolean)
        return rb_k8s_invalid(call, "spec.suspend", "Unsupported value: true: this mock cloud starts Jobs at once");
    return strcmp(rb_node_member_text(spec, "completionMode"), "NonIndexed") == 0 ||
           rb_k8s_invalid(call, "spec.completionMode",
                          "Unsupported value: \"%.60s\": supported values of this mock cloud: "
                          "\"NonIndexed\"",
                          rb_node_member_text(spec, "completionMode"));
}

static bool check_rules(struct rb_k8s_call *call, const struct rb_node *policy)
{
    const struct rb_node *rules = rb_node_member(policy, "rules");
    for (const struct rb_node *r = rb_node_first(rules); r; r = r->next)
        for (const struct rb_node *c = rb_node_first(rb_node_member(r, "onPodConditions")); c; c = c->next)
            if (strcmp(rb_node_member_text(r, "action"), "FailJob") != 0 ||
                strcmp(rb_node_member_text(c, "type"), "DisruptionTarget") != 0)
                return rb_k8s_invalid(
                    call, "spec.podFailurePolicy.rules[0]",
                    "Unsupported value: supported values of this mock cloud: FailJob on DisruptionTarget");
    return !policy || rules || rb_k8s_invalid(call, "spec.podFailurePolicy.rules", "Required value");
}

// The pod is held against the rules of pods: the original finds much of that only when it makes the pod.
static bool check_template(struct rb_k8s_call *call, const struct rb_k8s_job *job)
{
    RB_AUTO(rb_doc_finish) struct rb_doc pod = {0};
    const char *queue =
        rb_k8s_text(rb_node_member(rb_node_member(job->doc.root, "metadata"), "labels"), RB_K8S_QUEUE_LABEL);
    if (queue)
        return rb_k8s_invalid(call, "metadata.labels",
                              "Invalid value: \"%.60s\": the Kueue of this mock cloud queues pods", queue);
    call->within = "spec.template.";
    const bool ok = rb_k8s_write_job_pod(job, "check", &pod) && rb_k8s_check_pod(call, &pod);
    call->within = "";
    return ok;
}

static bool check_spec(struct rb_k8s_call *call, const struct rb_k8s_job *job)
{
    const struct rb_node *policy = rb_node_member(job->spec, "podFailurePolicy");
    const char *replaces = rb_k8s_text(job->spec, "podReplacementPolicy");
    if (!rb_node_member(job->spec, "template"))
        return rb_k8s_invalid(call, "spec.template", "Required value");
    if (!check_form(call, job->spec) || !check_rules(call, policy))
        return false;
    if (replaces && strcmp(replaces, "Failed") != 0 && (policy || strcmp(replaces, "TerminatingOrFailed") != 0))
        return rb_k8s_invalid(call, "spec.podReplacementPolicy",
                              "Unsupported value: \"%.60s\": supported values: \"Failed\"%s", replaces,
                              policy ? "" : ", \"TerminatingOrFailed\"");
    return check_template(call, job);
}

// Pod Security enforces nothing on Jobs: their pods are refused when they are made.
static void warn_of_security(struct rb_k8s_call *call, const struct rb_k8s_job *job)
{
    RB_AUTO(rb_doc_finish) struct rb_doc pod = {0};
    struct rb_k8s_call judged = {.k = call->k, .arena = call->arena, .now_us = call->now_us, .within = ""};
    if (!rb_k8s_write_job_pod(job, "check", &pod) || rb_k8s_check_security(&judged, &pod))
        return;
    rb_k8s_warn(call, rb_arena_printf(call->arena, "would violate%s", strstr(judged.refusal.message, " PodSecurity")));
}

// Servers before these drop what they do not know.
static const char *too_new(const struct rb_mock_k8s *k)
{
    return k->config->minor < 29 ? "spec.podReplacementPolicy" : NULL;
}

bool rb_k8s_job_create(struct rb_k8s_call *call)
{
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    bool dry_run;
    rb_k8s_query(call, "fieldValidation");
    if (!rb_k8s_read_dry_run(call, &dry_run) || !rb_k8s_checked(call) ||
        !rb_k8s_read_body_without(call, "Job", too_new(call->k), &doc) ||
        !rb_k8s_check_meta(call, rb_node_member(doc.root, "metadata"), "Job"))
        return false;
    const char *name = rb_node_member_text(rb_node_member(doc.root, "metadata"), "name");
    if (strlen(name) > MAX_NAME)
        return rb_k8s_invalid(call, "metadata.name", "Invalid value: \"%.70s\": must be no more than 63 characters",
                              name);
    if (!rb_node_member(doc.root, "spec"))
        return rb_k8s_invalid(call, "spec.template", "Required value");
    struct rb_k8s_job *job = rb_k8s_new_job(call->k, &doc, call->now_us);
    call->refusal.kind = "jobs";
    call->refusal.name = job->name;
    bool ok = check_spec(call, job);
    if (ok && rb_k8s_find_job(call->k, job->name))
        ok = rb_k8s_refuse(call, 409, "AlreadyExists", "jobs.batch \"%s\" already exists", job->name);
    if (ok) {
        call->status = 201;
        warn_of_security(call, job);
        if (!dry_run)
            rb_k8s_add_job(call->k, job);
        write_job(job, call->k, false, &call->json);
    }
    if (!ok || dry_run)
        rb_doc_finish(&job->doc);
    return ok;
}

// --- get, delete ---

bool rb_k8s_job_get(struct rb_k8s_call *call)
{
    rb_k8s_query(call, "resourceVersion");
    const struct rb_k8s_job *job = rb_k8s_checked(call) ? need_job(call) : NULL;
    if (job)
        write_job(job, call->k, false, &call->json);
    return job != NULL;
}

// Who names no policy leaves the pods behind: batch/v1 is older than the collector of garbage.
bool rb_k8s_job_delete(struct rb_k8s_call *call)
{
    const char *policy = rb_k8s_query(call, "propagationPolicy"),
               *uid = rb_k8s_text(rb_node_member(call->body, "preconditions"), "uid");
    rb_k8s_query(call, "gracePeriodSeconds");
    policy = policy ? policy : rb_k8s_text(call->body, "propagationPolicy");
    if (policy && strcmp(policy, "Background") != 0 && strcmp(policy, "Orphan") != 0)
        return rb_k8s_refuse(
            call, 422, "Invalid",
            "propagationPolicy: Unsupported value: \"%.60s\": this mock cloud collects in the Background, "
            "or leaves an Orphan",
            policy);
    struct rb_k8s_job *job = rb_k8s_checked(call) ? need_job(call) : NULL;
    if (!job)
        return false;
    call->refusal.kind = "jobs";
    call->refusal.name = job->name;
    if (uid && strcmp(uid, job->uid) != 0)
        return rb_k8s_other_uid(call, "jobs", job->name, uid, job->uid);
    if (!policy)
        rb_k8s_warn(call,
                    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to "
                    "remove them or set propagationPolicy=Orphan to suppress this warning");
    rb_k8s_remove_job(call->k, job, policy && strcmp(policy, "Background") == 0, call->now_us);
    rb_json_put(
        &call->json,
        "{kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details: {name: %s, group: 'batch', kind: "
        "'jobs', uid: %s}}",
        job->name, job->uid);
    return true;
}

// --- list ---

static bool is_there(struct rb_k8s_call *call, int at)
{
    return !call->k->jobs[at]->is_gone;
}

static const void *job_at(const struct rb_k8s_call *call, int at)
{
    return call->k->jobs[at];
}

static const char *label(const void *object, const char *key)
{
    const struct rb_k8s_job *job = object;
    return rb_k8s_text(rb_node_member(rb_node_member(job->doc.root, "metadata"), "labels"), key);
}

static const char *field(const void *object, const char *key)
{
    return strcmp(key, "metadata.name") == 0 ? ((const struct rb_k8s_job *)object)->name : NULL;
}

static void write_at(struct rb_k8s_call *call, int at)
{
    write_job(call->k->jobs[at], call->k, true, &call->json);
}

bool rb_k8s_jobs_list(struct rb_k8s_call *call)
{
    const struct rb_k8s_kind kind = {.list_kind = "JobList",
                                     .api_version = "batch/v1",
                                     .n = call->k->n_jobs,
                                     .shows = is_there,
                                     .label = label,
                                     .fields = "metadata.name",
                                     .field = field,
                                     .at = job_at,
                                     .write = write_at};
    return rb_k8s_list(call, &kind);
}
