// What the cluster's controller of Jobs does: makes the pod, counts its end, makes another where the Job allows it.
// Source: "Jobs" in the Kubernetes documentation; KEP-3329 (podFailurePolicy), KEP-3939 (podReplacementPolicy).
#include "providers/mock/k8s/k8s_call.h"

#include <stdlib.h>
#include <string.h>

#define RETRY_US        (RB_US_PER_S)         // after a pod that was refused; the original begins with ten seconds
#define COLLECT_US      (700 * INT64_C(1000)) // from a deleted owner, as of pods
#define COLLECT_LATE_US (70 * INT64_C(1000))

struct rb_k8s_job *rb_k8s_find_job(const struct rb_mock_k8s *k, const char *name)
{
    for (int i = k->n_jobs - 1; i >= 0; i--)
        if (!k->jobs[i]->is_gone && strcmp(k->jobs[i]->name, name) == 0)
            return k->jobs[i];
    return NULL;
}

struct rb_k8s_job *rb_k8s_new_job(struct rb_mock_k8s *k, struct rb_doc *doc, int64_t now_us)
{
    struct rb_k8s_job *job = rb_arena_alloc(&k->arena, sizeof *job);
    *job = (struct rb_k8s_job){.doc = *doc, .created_us = now_us, .retry_us = now_us, .collect_us = INT64_MAX};
    *doc = (struct rb_doc){0};
    job->name = rb_arena_strdup(&k->arena, rb_node_member_text(rb_node_member(job->doc.root, "metadata"), "name"));
    job->spec = rb_node_member(job->doc.root, "spec");
    rb_k8s_make_uid(k, job->uid);
    return job;
}

void rb_k8s_add_job(struct rb_mock_k8s *k, struct rb_k8s_job *job)
{
    const struct rb_node *owners = rb_node_member(rb_node_member(job->doc.root, "metadata"), "ownerReferences");
    k->jobs = rb_grow(k->jobs, k->n_jobs, sizeof *k->jobs);
    k->jobs[k->n_jobs++] = job;
    job->version = ++k->version;
    if (!rb_k8s_any_owner_lives(k, owners))
        job->collect_us = job->created_us + COLLECT_LATE_US;
}

void rb_k8s_remove_job(struct rb_mock_k8s *k, struct rb_k8s_job *job, bool with_pods, int64_t now_us)
{
    job->is_gone = true;
    job->retry_us = job->collect_us = INT64_MAX;
    ++k->version;
    if (with_pods)
        rb_k8s_owner_gone(k, job->uid, now_us);
}

void rb_k8s_collect_jobs(struct rb_mock_k8s *k, const char *uid, int64_t now_us)
{
    for (int i = 0; i < k->n_jobs; i++) {
        struct rb_k8s_job *job = k->jobs[i];
        const struct rb_node *owners = rb_node_member(rb_node_member(job->doc.root, "metadata"), "ownerReferences");
        for (const struct rb_node *o = rb_node_first(owners); o && !job->is_gone; o = o->next)
            if (strcmp(rb_node_member_text(o, "uid"), uid) == 0 && !rb_k8s_any_owner_lives(k, owners))
                job->collect_us = now_us + COLLECT_US;
    }
}

// --- its pods ---

static bool is_over(const struct rb_k8s_pod *p)
{
    const char *phase = rb_k8s_phase(p);
    return p->is_gone || strcmp(phase, "Failed") == 0 || strcmp(phase, "Succeeded") == 0;
}

struct rb_k8s_job_pods rb_k8s_job_pods(const struct rb_mock_k8s *k, const struct rb_k8s_job *job)
{
    struct rb_k8s_job_pods n = {0};
    for (int i = 0; i < k->n_pods; i++) {
        const struct rb_k8s_pod *p = k->pods[i];
        if (p->job != job || is_over(p))
            continue;
        n.terminating += p->deletion_us >= 0;
        n.active += p->deletion_us < 0;
        n.ready += p->deletion_us < 0 && p->container.started_us >= 0;
    }
    return n;
}

bool rb_k8s_write_job_pod(const struct rb_k8s_job *job, const char *suffix, struct rb_doc *out)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    const struct rb_node *template = rb_node_member(job->spec, "template"),
                         *meta = rb_node_member(template, "metadata"), *spec = rb_node_member(template, "spec");
    struct rb_json j;
    rb_json_init(&j, &text, false);
    rb_json_put(&j, "{apiVersion: 'v1', kind: 'Pod', metadata: {name: '%s-%s'", job->name, suffix);
    rb_k8s_write_pod_labels(job, rb_node_member(meta, "labels"), &j);
    if (rb_node_member(meta, "annotations")) {
        rb_json_key(&j, "annotations");
        rb_json_node(&j, rb_node_member(meta, "annotations"));
    }
    rb_json_put(&j,
                "ownerReferences: [{apiVersion: 'batch/v1', kind: 'Job', name: %s, uid: %s, controller: true, "
                "blockOwnerDeletion: true}]}",
                job->name, job->uid);
    if (spec) {
        rb_json_key(&j, "spec");
        rb_json_node(&j, spec);
    }
    rb_json_put(&j, "}");
    return rb_doc_parse_json(out, "pod", text.data, text.len, NULL);
}

// The pod meets the rules that any pod meets, but no client waits for an answer: a refusal becomes an event.
static void make_pod(struct rb_mock_k8s *k, struct rb_k8s_job *job, int64_t now_us)
{
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789"; // as the API server makes names
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    struct rb_k8s_call *call = rb_arena_alloc(&arena, sizeof *call);
    unsigned long long draw = rb_cloud_fresh_id(k->cloud);
    char suffix[6] = "";
    for (int i = 0; i < 5; i++, draw /= sizeof letters - 1)
        suffix[i] = letters[draw % (sizeof letters - 1)];
    *call = (struct rb_k8s_call){.k = k, .arena = &arena, .now_us = now_us, .within = ""};
    if (!rb_k8s_write_job_pod(job, suffix, &doc))
        return;
    if (!rb_k8s_check_limits(call, &doc) || !rb_k8s_check_security(call, &doc) || !rb_k8s_check_quota(call, &doc)) {
        const struct rb_k8s_ref ref = {"Job", "batch/v1", job->name, job->uid};
        rb_k8s_tell_of(k, &ref, "Warning", "FailedCreate", now_us, "Error creating: %s", call->refusal.message);
        job->retry_us = now_us + RETRY_US;
        return;
    }
    job->retry_us = INT64_MAX;
    struct rb_k8s_pod *p = rb_k8s_add_pod(k, &doc, now_us);
    p->job = job;
    rb_k8s_changed(k, p, "ADDED", now_us);
    job->version = ++k->version;
}

// --- its end ---

static void end(struct rb_mock_k8s *k, struct rb_k8s_job *job, const char *condition, const char *reason,
                const char *message, int64_t now_us)
{
    job->condition = condition;
    job->reason = reason;
    job->message = message;
    job->condition_us = now_us;
    job->retry_us = INT64_MAX;
    job->version = ++k->version;
    for (int i = 0; i < k->n_pods; i++)
        if (k->pods[i]->job == job && !is_over(k->pods[i]) && k->pods[i]->deletion_us < 0)
            rb_k8s_delete_pod(k, k->pods[i], -1, now_us);
}

static bool fails_on_disruption(const struct rb_k8s_job *job)
{
    return rb_node_first(rb_node_member(rb_node_member(job->spec, "podFailurePolicy"), "rules")) != NULL;
}

// Where a policy for failures is set, only what has ended is replaced; so it is where that was asked for.
static bool replaces_only_ended(const struct rb_k8s_job *job)
{
    const char *policy = rb_k8s_text(job->spec, "podReplacementPolicy");
    return policy ? strcmp(policy, "Failed") == 0 : fails_on_disruption(job);
}

static void count(struct rb_mock_k8s *k, struct rb_k8s_job *job, struct rb_k8s_pod *p, int64_t now_us)
{
    p->is_counted = true;
    if (strcmp(rb_k8s_phase(p), "Succeeded") == 0)
        job->succeeded++;
    else
        job->failed++;
    job->version = ++k->version;
    if (p->disruption && fails_on_disruption(job) && !job->condition)
        end(k, job, "Failed", "PodFailurePolicy", "Pod has condition DisruptionTarget matching FailJob rule at index 0",
            now_us);
}

static void tend(struct rb_mock_k8s *k, struct rb_k8s_job *job, int64_t now_us)
{
    for (int i = 0; i < k->n_pods; i++)
        if (k->pods[i]->job == job && is_over(k->pods[i]) && !k->pods[i]->is_counted)
            count(k, job, k->pods[i], now_us);
    if (job->condition)
        return;
    const struct rb_k8s_job_pods pods = rb_k8s_job_pods(k, job);
    const bool waits = pods.active > 0 || (replaces_only_ended(job) && pods.terminating > 0);
    if (job->succeeded > 0)
        end(k, job, "Complete", "CompletionsReached", "Reached expected number of succeeded pods", now_us);
    else if (job->failed > rb_node_member(job->spec, "backoffLimit")->integer)
        end(k, job, "Failed", "BackoffLimitExceeded", "Job has reached the specified backoff limit", now_us);
    else if (!waits && (job->retry_us == INT64_MAX || job->retry_us <= now_us))
        make_pod(k, job, now_us);
}

void rb_k8s_tend_jobs(struct rb_mock_k8s *k, int64_t now_us)
{
    for (int i = 0; i < k->n_jobs; i++) {
        struct rb_k8s_job *job = k->jobs[i];
        if (job->collect_us <= now_us)
            rb_k8s_remove_job(k, job, true, now_us);
        if (!job->is_gone)
            tend(k, job, now_us);
    }
}

int64_t rb_k8s_next_job_us(const struct rb_mock_k8s *k)
{
    int64_t next_us = INT64_MAX;
    for (int i = 0; i < k->n_jobs; i++) {
        const struct rb_k8s_job *job = k->jobs[i];
        const int64_t at_us = job->retry_us < job->collect_us ? job->retry_us : job->collect_us;
        next_us = !job->is_gone && at_us < next_us ? at_us : next_us;
    }
    return next_us;
}
