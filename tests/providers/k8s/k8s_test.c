// The verbs of the provider of Kubernetes against a server that plays a script.
#include "base/file.h"
#include "profiles/job/job.h"
#include "providers/k8s/k8s.h"
#include "providers/k8s/k8s_verbs.h"
#include "tests/base/check.h"
#include "tests/base/remove_tree.h"
#include "tests/providers/scripted.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define TOKEN "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define NAME  "rb-a8ae6e6ee929abea3afc"
#define LEASE                                                                                                         \
    "{\"metadata\":{\"name\":\"rb-digits\",\"uid\":\"l-1\",\"resourceVersion\":\"7\",\"annotations\":{\"rb.run-id\":" \
    "\"digits\","                                                                                                     \
    "\"rb.owner\":\"ann@laptop\"}},\"spec\":{\"renewTime\":\"2026-01-01T00:00:00.000000Z\",\"leaseDurationSeconds\":" \
    "1800}}"
#define LEASES "{\"metadata\":{},\"items\":[" LEASE "]}"
#define POD_OF(token, member, uid)                                        \
    "{\"metadata\":{\"name\":\"" NAME "-" member "\",\"uid\":\"" uid      \
    "\",\"creationTimestamp\":\"2026-01-01T00:00:00Z\","                  \
    "\"annotations\":{\"rb.token\":\"" token "\",\"rb.member\":\"" member \
    "\",\"rb.run-id\":\"digits\"},\"ownerReferences\":["                  \
    "{\"kind\":\"Lease\",\"name\":\"rb-digits\",\"uid\":\"l-1\"}]},\"status\":{\"phase\":\"Pending\"}}"
#define REFUSAL(code, reason, message)                                                                                 \
    "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"" reason "\",\"message\":\"" message "\",\"code\":" code \
    "}"

static const struct rb_launch launch = {.token = TOKEN,
                                        .region = "lab",
                                        .instance_type = "gpu/1",
                                        .image_id = "train",
                                        .user_data = "keep",
                                        .tags = {.owner = "ann@laptop",
                                                 .run_id = "digits",
                                                 .expires_at = "2026-01-01T00:30:00Z"}};
static struct rb_resources resources = {.kubernetes = {.queue_timeout_us = INT64_C(60000000)}};

struct world {
    struct scripted s;
    struct rb_provider provider;
    char dir[32], ids[512], groups[256], reason[256];
    enum rb_instance_state state;
    int64_t running_at_us;
    bool complete, sold_out;
    int n;
};

static void begin(struct world *w, const struct step *steps, int n)
{
    char config[512], path[64];
    *w = (struct world){0};
    scripted_begin(&w->s, steps, n);
    strcpy(w->dir, "/tmp/rb-k8s-XXXXXX");
    assert_non_null(mkdtemp(w->dir));
    snprintf(path, sizeof path, "%s/config", w->dir);
    snprintf(config, sizeof config,
             "contexts: [{name: lab, context: {cluster: c, user: u, namespace: ml}}]\nclusters: [{name: c, cluster: "
             "{server: "
             "\"%s\"}}]\nusers: [{name: u, user: {token: secret}}]\n",
             script_server_url(w->s.server));
    assert_true(rb_write_file(path, config, strlen(config), NULL) && chmod(path, 0600) == 0);
    setenv("KUBECONFIG", path, 1);
    const struct rb_provider_config c = {
        .loop = &w->s.loop.loop, .http = w->s.http, .region = "lab", .resources = &resources};
    struct rb_err err = {0};
    if (!rb_provider_k8s.create(&c, &w->provider, &err))
        fail_msg("%s", err.message);
}

static void end(struct world *w)
{
    w->provider.ops->destroy(&w->provider);
    scripted_end(&w->s);
    remove_tree(w->dir);
}

static void take(struct world *w, const struct rb_instance *instances, int n)
{
    w->n = n;
    w->ids[0] = '\0';
    for (int i = 0; i < n; i++)
        snprintf(w->ids + strlen(w->ids), sizeof w->ids - strlen(w->ids), "%s ", instances[i].id);
    if (n > 0) {
        w->state = instances[0].state;
        w->sold_out = instances[0].sold_out;
        w->running_at_us = instances[0].running_at_us;
        snprintf(w->reason, sizeof w->reason, "%s", instances[0].state_reason ? instances[0].state_reason : "");
    }
}

static int wanted; // members of the launch

static void launched(void *arg, const struct rb_err *err, const struct rb_instance *instances)
{
    struct world *w = arg;
    take(w, instances, err ? 0 : wanted);
    scripted_tell(&w->s, err);
}

static void do_launch(struct world *w, const struct step *steps, int n, int members)
{
    struct rb_launch l = launch;
    l.count = wanted = members;
    begin(w, steps, n);
    w->provider.ops->launch(&w->provider, &l, launched, w);
    scripted_wait(&w->s);
}

static void listed(void *arg, const struct rb_err *err, const struct rb_instance *instances, int n, bool complete)
{
    struct world *w = arg;
    take(w, instances, n);
    w->complete = complete;
    scripted_tell(&w->s, err);
}

static void answered(void *arg, const struct rb_err *err)
{
    struct world *w = arg;
    scripted_tell(&w->s, err);
}

// What was sent comes back with a uid and a status: as an API server that keeps all of it.
static char echo[2][6000];
static const char *kept(int i, const char *token, const char *member, const char *uid)
{
    snprintf(
        echo[i], sizeof echo[i],
        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"" NAME
        "-%s\",\"uid\":\"%s\",\"labels\":{\"rb.run-id\":"
        "\"digits\",\"rb.owner\":\"x\"},\"annotations\":{\"rb.run-id\":\"digits\",\"rb.owner\":\"o\",\"rb.expires-at\":"
        "\"e\","
        "\"rb.token\":\"%s\",\"rb.member\":\"%s\",\"rb.instance-type\":\"t\",\"rb.market\":\"m\",\"karpenter.sh/do-not-disrupt\":\"true\","
        "\"cluster-autoscaler.kubernetes.io/"
        "safe-to-evict\":\"false\"},\"ownerReferences\":[{\"apiVersion\":\"a\",\"kind\":"
        "\"Lease\",\"name\":\"rb-digits\",\"uid\":\"l-1\"}]},\"spec\":{\"restartPolicy\":\"Never\","
        "\"terminationGracePeriodSeconds\":30,\"automountServiceAccountToken\":false,\"enableServiceLinks\":false,"
        "\"securityContext\":{\"runAsNonRoot\":true,\"runAsUser\":1000,\"runAsGroup\":1000,\"fsGroup\":1000,"
        "\"seccompProfile\":{"
        "\"type\":\"RuntimeDefault\"}},\"affinity\":{\"nodeAffinity\":{"
        "\"requiredDuringSchedulingIgnoredDuringExecution\":{\"nodeSelectorTerms\":[{\"matchExpressions\":["
        "{\"key\":\"karpenter.sh/capacity-type\",\"operator\":\"NotIn\",\"values\":[\"spot\"]},"
        "{\"key\":\"eks.amazonaws.com/capacityType\",\"operator\":\"NotIn\",\"values\":[\"SPOT\"]},"
        "{\"key\":\"cloud.google.com/gke-spot\",\"operator\":\"NotIn\",\"values\":[\"true\"]}]}]}}},"
        "\"tolerations\":[{\"key\":\"nvidia.com/gpu\",\"operator\":\"Exists\",\"effect\":"
        "\"NoSchedule\"}],\"containers\":[{\"name\":\"node\",\"image\":\"train\",\"command\":[\"/bin/"
        "sh\",\"-c\",\"keep\"],"
        "\"workingDir\":\"/rb\",\"env\":[{\"name\":\"HOME\",\"value\":\"/"
        "rb\"},{\"name\":\"USER\",\"value\":\"rb\"},{\"name\":"
        "\"LOGNAME\",\"value\":\"rb\"},{\"name\":\"RB_POD_UID\",\"valueFrom\":{\"fieldRef\":{\"fieldPath\":\"metadata.uid\"}}}],"
        "\"resources\":{\"requests\":{\"nvidia.com/"
        "gpu\":\"1\"},\"limits\":{\"nvidia.com/gpu\":"
        "\"1\"}},\"securityContext\":{\"allowPrivilegeEscalation\":false,\"capabilities\":{\"drop\":[\"ALL\"]}},"
        "\"volumeMounts\":[{\"name\":\"home\",\"mountPath\":\"/rb\"},{\"name\":\"shm\",\"mountPath\":\"/dev/shm\"}]}],"
        "\"volumes\":[{\"name\":\"home\",\"emptyDir\":{}},{\"name\":\"shm\",\"emptyDir\":{\"medium\":\"Memory\"}}]},"
        "\"status\":{\"phase\":\"Pending\"}}",
        member, uid, token, member);
    return echo[i];
}

#define NOT_FOUND REFUSAL("404", "NotFound", "leases \\\"rb-digits\\\" not found")
#define EXISTS    REFUSAL("409", "AlreadyExists", "pods exists")

static void a_launch_makes_the_lease_and_the_pod(void **state)
{
    (void)state;
    struct world w;
    const struct step steps[] = {
        {ANSWER, 404, NULL, NOT_FOUND}, {ANSWER, 201, NULL, LEASE}, {ANSWER, 201, NULL, kept(0, TOKEN, "0", "u-1")}};
    do_launch(&w, steps, N_OF(steps), 1);
    assert_int_equal(w.s.err.code, RB_ERR_NONE);
    assert_string_equal(w.ids, NAME "-0.u-1 ");
    scripted_expect_begin(&w.s, 0, "GET /apis/coordination.k8s.io/v1/namespaces/ml/leases/rb-digits ");
    scripted_expect(&w.s, 0, "Authorization: Bearer secret");
    scripted_expect_begin(&w.s, 1, "POST /apis/coordination.k8s.io/v1/namespaces/ml/leases ");
    scripted_expect(&w.s, 1, "\"leaseDurationSeconds\":1800");
    scripted_expect_begin(&w.s, 2, "POST /api/v1/namespaces/ml/pods?fieldValidation=Strict ");
    scripted_expect(&w.s, 2, "\"uid\":\"l-1\"");
    end(&w);
}

static void the_name_is_the_token(void **state)
{
    (void)state;
    struct world w;
    const struct step same[] = {{ANSWER, 200, NULL, LEASE},
                                {RESET},
                                {ANSWER, 409, NULL, EXISTS},
                                {ANSWER, 200, NULL, POD_OF(TOKEN, "0", "u-1")}};
    do_launch(&w, same, N_OF(same), 1); // the answer was lost: the identical POST, and it is ours
    assert_int_equal(w.s.err.code, RB_ERR_NONE);
    assert_string_equal(w.ids, NAME "-0.u-1 ");
    end(&w);
    const struct step other[] = {
        {ANSWER, 200, NULL, LEASE}, {ANSWER, 409, NULL, EXISTS}, {ANSWER, 200, NULL, POD_OF("another", "0", "u-1")}};
    do_launch(&w, other, N_OF(other), 1);
    assert_says(&w.s.err, "RB3504 not of this launch");
    end(&w);
    const struct step gone[] = {{ANSWER, 200, NULL, LEASE},
                                {ANSWER, 409, NULL, EXISTS},
                                {ANSWER, 404, NULL, REFUSAL("404", "NotFound", "gone")}};
    do_launch(&w, gone, N_OF(gone), 1);
    assert_int_equal(w.s.err.code, RB_ERR_UNKNOWN_OUTCOME);
    end(&w);
}

#define JOB_NAME "rbj-a8ae6e6ee929abea3afc-0"
#define JOB_OF(token, status)                                                                                      \
    "{\"metadata\":{\"name\":\"" JOB_NAME "\",\"uid\":\"j-1\",\"creationTimestamp\":\"2026-01-01T00:00:00Z\","     \
    "\"annotations\":{\"rb.token\":\"" token "\",\"rb.member\":\"0\",\"rb.run-id\":\"digits\"},\"ownerReferences\":[" \
    "{\"kind\":\"Lease\",\"name\":\"rb-digits\",\"uid\":\"l-1\"}]},\"status\":{" status "}}"
#define POD_OF_JOB(uid)                                                                                               \
    "{\"metadata\":{\"name\":\"" JOB_NAME "-x2x4z\",\"uid\":\"" uid "\",\"creationTimestamp\":\"2026-01-01T00:00:01Z\"," \
    "\"annotations\":{\"rb.token\":\"" TOKEN "\",\"rb.run-id\":\"digits\"},\"ownerReferences\":[{\"kind\":\"Job\",\"name\":\"" \
    JOB_NAME "\",\"uid\":\"j-1\"}]},\"status\":{\"phase\":\"Running\",\"containerStatuses\":[{\"name\":\"node\",\"state\":" \
    "{\"running\":{}}}]}}"

// Where resources.kubernetes.as is job. What is deleted, looked at and renewed says by its name what it is.
static void a_node_may_be_a_job(void **state)
{
    (void)state;
    struct world w;
    const char *const ids[] = {JOB_NAME ".j-1"};
    resources.kubernetes.as = RB_KUBERNETES_AS_JOB;
    const struct step made[] = {{ANSWER, 200, NULL, LEASE},
                                {RESET},
                                {ANSWER, 409, NULL, REFUSAL("409", "AlreadyExists", "jobs.batch exists")},
                                {ANSWER, 200, NULL, JOB_OF(TOKEN, "")}};
    do_launch(&w, made, N_OF(made), 1); // the answer was lost
    assert_int_equal(w.s.err.code, RB_ERR_NONE);
    assert_string_equal(w.ids, JOB_NAME ".j-1 ");
    scripted_expect_begin(&w.s, 2, "POST /apis/batch/v1/namespaces/ml/jobs?fieldValidation=Strict ");
    scripted_expect_begin(&w.s, 3, "GET /apis/batch/v1/namespaces/ml/jobs/" JOB_NAME " ");
    end(&w);
    const struct step dropped[] = {
        {ANSWER, 200, NULL, LEASE}, {ANSWER, 201, NULL, JOB_OF(TOKEN, "")}, {ANSWER, 200, NULL, "{}"}};
    do_launch(&w, dropped, N_OF(dropped), 1);
    assert_says(&w.s.err, "RB3505 dropped apiVersion");
    scripted_expect_begin(&w.s, 2, "DELETE /apis/batch/v1/namespaces/ml/jobs/" JOB_NAME " ");
    scripted_expect(&w.s, 2, "\"preconditions\":{\"uid\":\"j-1\"},\"propagationPolicy\":\"Background\"");
    end(&w);
    const struct step listing[] = {{ANSWER, 200, NULL, LEASES},
                                   {ANSWER, 200, NULL, "{\"metadata\":{},\"items\":[" JOB_OF(TOKEN, "\"failed\":1") "]}"},
                                   {ANSWER, 200, NULL, "{\"metadata\":{},\"items\":[" POD_OF_JOB("u-2") "]}"},
                                   {ANSWER, 200, NULL, "{}"}};
    begin(&w, listing, N_OF(listing)); // its pod has ended: the one that is there is a second one, and ends with the Job
    w.provider.ops->list(&w.provider, "digits", listed, &w);
    scripted_wait(&w.s);
    assert_int_equal(w.s.err.code, RB_ERR_NONE);
    assert_string_equal(w.ids, JOB_NAME ".j-1 ");
    assert_int_equal(w.state, RB_INSTANCE_STOPPING);
    scripted_expect_begin(&w.s, 1, "GET /apis/batch/v1/namespaces/ml/jobs?labelSelector=rb.run-id%3Ddigits&limit=500 ");
    scripted_expect_begin(&w.s, 2, "GET /api/v1/namespaces/ml/pods?labelSelector=rb.run-id%3Ddigits&limit=500 ");
    scripted_expect_begin(&w.s, 3, "DELETE /apis/batch/v1/namespaces/ml/jobs/" JOB_NAME " ");
    end(&w);
    resources.kubernetes.as = RB_KUBERNETES_AS_POD; // as for rbrun gc, which may know no job
    const struct step others[] = {{ANSWER, 200, NULL, JOB_OF(TOKEN, "")},
                                  {ANSWER, 200, NULL, "{\"items\":[" POD_OF_JOB("u-1") "]}"},
                                  {ANSWER, 200, NULL, JOB_OF(TOKEN, "")},
                                  {ANSWER, 200, NULL, LEASE},
                                  {ANSWER, 200, NULL, LEASE},
                                  {ANSWER, 404, NULL, REFUSAL("404", "NotFound", "gone")}};
    begin(&w, others, N_OF(others));
    wanted = 1;
    w.provider.ops->look(&w.provider, ids[0], launched, &w);
    scripted_wait(&w.s);
    assert_int_equal(w.s.err.code, RB_ERR_NONE);
    assert_int_equal(w.state, RB_INSTANCE_RUNNING);
    scripted_expect_begin(&w.s, 1, "GET /api/v1/namespaces/ml/pods?labelSelector=batch.kubernetes.io%2Fjob-name%3D" JOB_NAME "&");
    w.s.done = false, w.s.n_calls = 0;
    w.provider.ops->renew(&w.provider, ids, 1, &(struct rb_tag){RB_LEASE_TAG, "2026-01-01T00:40:00Z"}, answered, &w);
    scripted_wait(&w.s);
    assert_int_equal(w.s.err.code, RB_ERR_NONE);
    w.s.done = false, w.s.n_calls = 0;
    w.provider.ops->terminate(&w.provider, ids[0], answered, &w);
    scripted_wait(&w.s);
    assert_int_equal(w.s.err.code, RB_ERR_NONE);
    scripted_expect_begin(&w.s, 5, "DELETE /apis/batch/v1/namespaces/ml/jobs/" JOB_NAME " ");
    end(&w);
}

// A Job that is deleted goes at once; its pod may still run.
static void a_job_that_has_gone_is_seen_by_its_pod(void **state)
{
    (void)state;
    static const char *const answers[] = {"{\"items\":[" POD_OF_JOB("u-1") "]}", "{\"items\":[]}"};
    static const char *const ids[] = {JOB_NAME ".j-1", JOB_NAME ".j-2"};
    for (int of_another = 0; of_another < 2; of_another++)
        for (int gone = 0; gone < 2; gone++) {
            struct world w;
            const struct step steps[] = {{ANSWER, 404, NULL, REFUSAL("404", "NotFound", "gone")},
                                         {ANSWER, 200, NULL, answers[gone]}};
            begin(&w, steps, N_OF(steps));
            wanted = 1;
            w.provider.ops->look(&w.provider, ids[of_another], launched, &w);
            scripted_wait(&w.s);
            assert_int_equal(w.s.err.code, gone || of_another ? RB_ERR_NOT_FOUND : RB_ERR_NONE);
            if (!gone && !of_another)
                assert_int_equal(w.state, RB_INSTANCE_RUNNING);
            end(&w);
        }
}

static void refusals_of_a_launch(void **state)
{
    (void)state;
    struct world w;
    const struct step quota[] = {
        {ANSWER, 200, NULL, LEASE},
        {ANSWER, 409, NULL, REFUSAL("409", "Conflict", "Operation cannot be fulfilled on resourcequotas")},
        {ANSWER, 403, NULL, REFUSAL("403", "Forbidden", "exceeded quota: q")}};
    do_launch(&w, quota, N_OF(quota), 1); // a conflict of quotas is no answer: again
    assert_says(&w.s.err, "RB3012 exceeded quota");
    end(&w);
    const struct step dropped[] = {
        {ANSWER, 200, NULL, LEASE}, {ANSWER, 201, NULL, POD_OF(TOKEN, "0", "u-1")}, {ANSWER, 200, NULL, "{}"}};
    do_launch(&w, dropped, N_OF(dropped), 1); // it kept no spec: the pod is deleted again
    assert_says(&w.s.err, "RB3505 dropped apiVersion");
    scripted_expect_begin(&w.s, 2, "DELETE /api/v1/namespaces/ml/pods/" NAME "-0 ");
    scripted_expect(&w.s, 2, "\"preconditions\":{\"uid\":\"u-1\"}");
    end(&w);
}

static void a_refused_gang_leaves_nothing(void **state)
{
    (void)state;
    struct world w;
    const struct step half[] = {{ANSWER, 200, NULL, LEASE},
                                {ANSWER, 201, NULL, kept(0, TOKEN, "0", "u-0")},
                                {ANSWER, 201, NULL, kept(1, TOKEN, "1", "u-1")},
                                {ANSWER, 403, NULL, REFUSAL("403", "Forbidden", "exceeded quota: q")},
                                {ANSWER, 200, NULL, "{}"},
                                {ANSWER, 404, NULL, REFUSAL("404", "NotFound", "gone")}};
    do_launch(&w, half, N_OF(half), 3);
    assert_says(&w.s.err, "RB3012 exceeded quota");
    scripted_expect_begin(&w.s, 4, "DELETE /api/v1/namespaces/ml/pods/" NAME "-1 ");
    scripted_expect_begin(&w.s, 5, "DELETE /api/v1/namespaces/ml/pods/" NAME "-0 ");
    end(&w);
    const struct step kept_by_force[] = {{ANSWER, 200, NULL, LEASE},
                                         {ANSWER, 201, NULL, kept(0, TOKEN, "0", "u-0")},
                                         {ANSWER, 403, NULL, REFUSAL("403", "Forbidden", "exceeded quota: q")},
                                         {ANSWER, 403, NULL, REFUSAL("403", "Forbidden", "may not delete")}};
    do_launch(&w, kept_by_force, N_OF(kept_by_force), 2);
    assert_int_equal(w.s.err.code, RB_ERR_UNKNOWN_OUTCOME);
    assert_says(&w.s.err, NAME "-0 may still be there");
    end(&w);
}

static void a_listing_begins_again(void **state)
{
    (void)state;
    struct world w;
    const struct step steps[] = {
        {ANSWER, 200, NULL, LEASES},
        {ANSWER, 200, NULL, "{\"metadata\":{\"continue\":\"c1\"},\"items\":[" POD_OF(TOKEN, "0", "u-0") "]}"},
        {ANSWER, 410, NULL, REFUSAL("410", "Expired", "too old")},
        {ANSWER, 200, NULL, LEASES},
        {ANSWER, 200, NULL, "{\"metadata\":{\"continue\":\"c2\"},\"items\":[" POD_OF(TOKEN, "0", "u-0") "]}"},
        {ANSWER, 200, NULL, "{\"metadata\":{},\"items\":[" POD_OF(TOKEN, "1", "u-1") "]}"},
    };
    begin(&w, steps, N_OF(steps));
    w.provider.ops->list(&w.provider, "digits", listed, &w);
    scripted_wait(&w.s);
    assert_int_equal(w.s.err.code, RB_ERR_NONE);
    assert_true(w.complete);
    assert_string_equal(w.ids, NAME "-0.u-0 " NAME "-1.u-1 ");
    scripted_expect_begin(&w.s, 1, "GET /api/v1/namespaces/ml/pods?labelSelector=rb.run-id%3Ddigits&limit=500 ");
    scripted_expect(&w.s, 5, "&continue=c2");
    end(&w);
}

static void who_waits_for_too_long_is_sold_out(void **state)
{
    (void)state;
    struct world w;
    const struct step steps[] = {
        {ANSWER, 200, NULL, LEASES},
        {ANSWER, 200, "Date: Thu, 01 Jan 2026 00:01:02 GMT\r\n",
         "{\"metadata\":{},\"items\":[" POD_OF(TOKEN, "0", "u-0") "]}"},
        {ANSWER, 200, NULL,
         "{\"items\":[{\"reason\":\"TriggeredScaleUp\",\"message\":\"no reason to wait\",\"lastTimestamp\":\"2026-01-01T00:00:59Z\"},"
         "{\"reason\":\"NotTriggerScaleUp\",\"message\":\"1 max node group size reached\",\"lastTimestamp\":"
         "\"2026-01-01T00:00:50Z\"},{\"reason\":\"FailedScheduling\",\"message\":\"older\",\"lastTimestamp\":null,"
         "\"eventTime\":\"2026-01-01T00:00:40.000000Z\"}]}"},
        {ANSWER, 200, NULL, "{}"},
    };
    begin(&w, steps, N_OF(steps));
    w.provider.ops->list(&w.provider, "digits", listed, &w);
    scripted_wait(&w.s);
    assert_true(w.sold_out);
    assert_int_equal(w.state, RB_INSTANCE_TERMINATED);
    assert_non_null(strstr(w.reason, "queue_timeout (NotTriggerScaleUp: 1 max node group size reached)"));
    scripted_expect_begin(&w.s, 2, "GET /api/v1/namespaces/ml/events?fieldSelector=involvedObject.uid%3Du-0&limit=500 ");
    scripted_expect_begin(&w.s, 3, "DELETE ");
    end(&w);
    const struct step denied[] = {steps[0], steps[1], {ANSWER, 403, NULL, REFUSAL("403", "Forbidden", "no")}, steps[3]};
    begin(&w, denied, N_OF(denied)); // without the right the scheduler's condition has to do
    w.provider.ops->list(&w.provider, "digits", listed, &w);
    scripted_wait(&w.s);
    assert_int_equal(w.s.err.code, RB_ERR_NONE);
    assert_non_null(strstr(w.reason, "queue_timeout (the scheduler says no more)"));
    end(&w);
    begin(&w, steps, 2); // another listing than the run's own ends nothing
    w.provider.ops->list(&w.provider, NULL, listed, &w);
    scripted_wait(&w.s);
    assert_int_equal(w.state, RB_INSTANCE_PENDING);
    scripted_expect_begin(&w.s, 1, "GET /api/v1/namespaces/ml/pods?labelSelector=rb.run-id&limit=500 ");
    end(&w);
}

#define ON_MACHINE                                                                                                  \
    "{\"metadata\":{},\"items\":[{\"metadata\":{\"name\":\"" NAME "-0\",\"uid\":\"u-0\",\"creationTimestamp\":"          \
    "\"2026-01-01T00:00:00Z\"},\"status\":{\"phase\":\"Pending\",\"conditions\":[{\"type\":\"PodScheduled\",\"status\":" \
    "\"True\",\"lastTransitionTime\":\"2026-01-01T00:00:10Z\"}]}}]}"
#define EVENT(reason, second) \
    "{\"reason\":\"" reason "\",\"message\":\"why\",\"lastTimestamp\":\"2026-01-01T00:00:" second "Z\"}"

// What the scheduler said before is over, and so is a hold once the image is being pulled.
static void what_holds_up_a_pod_on_its_machine(void **state)
{
    (void)state;
    struct world w;
    const struct {
        const char *events, *says;
    } cases[] = {
        {"{\"items\":[" EVENT("FailedScheduling", "05") "]}", ""},
        {"{\"items\":[" EVENT("FailedMount", "20") "," EVENT("FailedScheduling", "05") "]}", "FailedMount: why"},
        {"{\"items\":[" EVENT("FailedMount", "20") "," EVENT("Pulling", "30") "]}", ""},
        {"{\"items\":[" EVENT("Pulled", "30") "," EVENT("FailedCreatePodSandBox", "31") "]}", "FailedCreatePodSandBox: why"},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        const struct step steps[] = {{ANSWER, 200, NULL, LEASES},
                                     {ANSWER, 200, "Date: Thu, 01 Jan 2026 00:01:02 GMT\r\n", ON_MACHINE},
                                     {ANSWER, 200, NULL, cases[i].events}};
        begin(&w, steps, N_OF(steps));
        w.provider.ops->list(&w.provider, "digits", listed, &w);
        scripted_wait(&w.s);
        assert_int_equal(w.state, RB_INSTANCE_PENDING);
        assert_true(w.running_at_us > 0);
        assert_string_equal(w.reason, cases[i].says);
        end(&w);
    }
}

static void a_pod_that_failed_has_last_words(void **state)
{
    (void)state;
    struct world w;
    static const char pods[] =
        "{\"metadata\":{},\"items\":[{\"metadata\":{\"name\":\"rb-0-0\",\"uid\":\"u-0\",\"annotations\":{\"rb.run-id\":"
        "\"digits\"}},\"status\":{\"phase\":\"Failed\",\"containerStatuses\":[{\"name\":\"node\",\"state\":{"
        "\"terminated\":{\"exitCode\":3,\"reason\":\"Error\",\"finishedAt\":\"2026-01-01T00:00:09Z\"}}}]}}]}";
    const struct step steps[] = {{ANSWER, 200, NULL, LEASES},
                                 {ANSWER, 200, NULL, pods},
                                 {ANSWER, 200, NULL, "sh: cd: /rb\nread-only \x1b file system\n"},
                                 {ANSWER, 200, NULL, LEASES},
                                 {ANSWER, 200, NULL, pods}};
    begin(&w, steps, N_OF(steps));
    for (int i = 0; i < 2; i++) { // the second listing knows them
        w.s.done = false;
        w.provider.ops->list(&w.provider, "digits", listed, &w);
        scripted_wait(&w.s);
        assert_string_equal(w.reason,
                            "Kubernetes reports Error; its last words: sh: cd: /rb|read-only ? file system");
        w.s.n_calls = 0;
    }
    scripted_expect_begin(&w.s, 2, "GET /api/v1/namespaces/ml/pods/rb-0-0/log?container=node&tailLines=5&limitBytes=2000 ");
    end(&w);
}

static void offered(void *arg, const struct rb_err *err, const struct rb_catalog *catalog)
{
    struct world *w = arg;
    w->ids[0] = '\0';
    for (int i = 0; catalog && i < catalog->n_offers; i++) {
        const struct rb_offer *o = &catalog->offers[i];
        snprintf(w->ids + strlen(w->ids), sizeof w->ids - strlen(w->ids), "%s %s %s %d %lld; ", o->infra,
                 o->instance_type, rb_market_name(o->market), o->gpus, (long long)o->rate.uusd_per_hour);
        snprintf(w->reason, sizeof w->reason, "%s", o->source);
    }
    scripted_tell(&w->s, err);
}

#define NODE(id, type, label, gpus)                                                                                  \
    "{\"metadata\":{\"labels\":{\"node.kubernetes.io/instance-type\":\"" type "\"" label "}},\"spec\":{\"providerID\":" \
    "\"" id "\"},\"status\":{\"capacity\":{\"nvidia.com/gpu\":\"" gpus "\"}}}"

static void pods_are_priced_by_their_nodes(void **state)
{
    (void)state;
    struct world w;
    struct rb_offer offers[] = {
        {.infra = "aws/us-east-1", .instance_type = "g5.12xlarge", .accelerator = "A10G", .gpus = 4, .rate = {5672001}},
        {.infra = "aws/us-east-1/us-east-1a", .instance_type = "g5.12xlarge", .accelerator = "A10G", .gpus = 4,
         .market = RB_MARKET_SPOT, .rate = {2000000}},
        {.infra = "gcp/us-central1", .instance_type = "a2-highgpu-1g", .accelerator = "A100", .gpus = 1,
         .market = RB_MARKET_SPOT, .rate = {1100000}},
    };
    const struct rb_catalog prices = {.offers = offers, .n_offers = N_OF(offers)};
    static const char nodes[] =
        "{\"metadata\":{},\"items\":["
        NODE("aws:///us-east-1b/i-1", "g5.12xlarge", "", "4") ","
        NODE("aws:///us-east-1a/i-2", "g5.12xlarge", ",\"eks.amazonaws.com/capacityType\":\"SPOT\"", "4") ","
        NODE("gce://p/us-central1-a/n", "a2-highgpu-1g", ",\"cloud.google.com/gke-spot\":\"true\"", "1") ","
        NODE("azure:///x/y", "NC6", "", "1") "," NODE("aws:///us-east-1b/i-3", "m5.large", "", "") "]}";
    const struct step steps[] = {{ANSWER, 200, NULL, nodes},
                                 {ANSWER, 200, NULL, nodes},
                                 {ANSWER, 403, NULL, REFUSAL("403", "Forbidden", "nodes is forbidden")},
                                 {ANSWER, 200, NULL, "{\"items\":[" NODE("azure:///x/y", "NC6", "", "1") "]}"}};
    static const char *const one[] = {"g5.12xlarge/3"};
    begin(&w, steps, N_OF(steps));
    ((struct rb_kube *)w.provider.state)->prices = &prices;
    w.provider.ops->offers(&w.provider, NULL, 0, offered, &w);
    scripted_wait(&w.s);
    assert_string_equal(w.ids, "k8s/lab a2-highgpu-1g spot 1 1100000; k8s/lab g5.12xlarge on_demand 4 5672001; "
                               "k8s/lab g5.12xlarge spot 4 2000000; k8s/lab g5.12xlarge/1 on_demand 1 1418001; "
                               "k8s/lab g5.12xlarge/1 spot 1 500000; k8s/lab g5.12xlarge/2 on_demand 2 2836001; "
                               "k8s/lab g5.12xlarge/2 spot 2 1000000; ");
    assert_string_equal(w.reason, "attributed: 2 of 4 GPUs of aws/us-east-1/us-east-1a");
    scripted_expect_begin(&w.s, 0, "GET /api/v1/nodes?limit=500 ");
    w.s.done = false, w.s.n_calls = 0;
    w.provider.ops->offers(&w.provider, one, 1, offered, &w);
    scripted_wait(&w.s);
    assert_string_equal(w.ids, "k8s/lab g5.12xlarge/3 on_demand 3 4254001; k8s/lab g5.12xlarge/3 spot 3 1500000; ");
    w.s.done = false, w.s.n_calls = 0;
    w.provider.ops->offers(&w.provider, NULL, 0, offered, &w);
    scripted_wait(&w.s);
    assert_says(&w.s.err, "RB3011 k8s-nodes.yaml is the ClusterRole to grant");
    w.s.done = false, w.s.n_calls = 0;
    w.provider.ops->offers(&w.provider, NULL, 0, offered, &w);
    scripted_wait(&w.s);
    assert_says(&w.s.err, "RB3540 NC6 on_demand of azure:///x/y");
    end(&w);
}

static void another_pod_of_that_name_is_left_alone(void **state)
{
    (void)state;
    struct world w;
    const struct step steps[] = {{ANSWER, 409, NULL, REFUSAL("409", "Conflict", "Precondition failed: UID")},
                                 {ANSWER, 200, NULL, POD_OF(TOKEN, "0", "u-2")}};
    begin(&w, steps, N_OF(steps));
    w.provider.ops->terminate(&w.provider, NAME "-0.u-1", answered, &w);
    scripted_wait(&w.s);
    assert_int_equal(w.s.err.code, RB_ERR_NONE); // ours has ended
    w.s.done = false;
    w.s.n_calls = 0;
    wanted = 1;
    w.provider.ops->look(&w.provider, NAME "-0.u-1", launched, &w);
    scripted_wait(&w.s);
    assert_int_equal(w.s.err.code, RB_ERR_NOT_FOUND);
    end(&w);
}

// Its object may go at once, and with it what it was.
static void a_pod_that_was_deleted_before_it_had_a_machine_never_ran(void **state)
{
    (void)state;
    struct world w;
    const struct step steps[] = {{ANSWER, 200, NULL, POD_OF(TOKEN, "0", "u-1")},
                                 {ANSWER, 404, NULL, REFUSAL("404", "NotFound", "gone")},
                                 {ANSWER, 404, NULL, REFUSAL("404", "NotFound", "gone")}};
    begin(&w, steps, N_OF(steps));
    w.provider.ops->terminate(&w.provider, NAME "-0.u-1", answered, &w);
    scripted_wait(&w.s);
    w.s.done = false;
    w.s.n_calls = 0;
    w.running_at_us = 7;
    wanted = 1;
    w.provider.ops->look(&w.provider, NAME "-0.u-1", launched, &w);
    scripted_wait(&w.s);
    assert_int_equal(w.s.err.code, RB_ERR_NONE);
    assert_true(w.state == RB_INSTANCE_TERMINATED && w.running_at_us == -1);
    w.s.done = false;
    w.s.n_calls = 0;
    w.provider.ops->look(&w.provider, NAME "-0.u-2", launched, &w);
    scripted_wait(&w.s);
    assert_int_equal(w.s.err.code, RB_ERR_NOT_FOUND);
    end(&w);
}

static void the_end_of_a_run_lists_again_what_the_server_forgot(void **state)
{
    (void)state;
    struct world w;
    const struct step steps[] = {
        {ANSWER, 200, NULL, LEASE},
        {ANSWER, 200, NULL, "{\"metadata\":{\"continue\":\"c1\"},\"items\":[" POD_OF(TOKEN, "0", "u-0") "]}"},
        {ANSWER, 410, NULL, REFUSAL("410", "Expired", "too old")},
        {ANSWER, 200, NULL, "{\"metadata\":{},\"items\":[" POD_OF(TOKEN, "0", "u-0") "]}"},
        {ANSWER, 200, NULL, LEASE},
    };
    resources.kubernetes.queue = "team";
    begin(&w, steps, N_OF(steps));
    w.provider.ops->end_group(&w.provider, "rb-digits", answered, &w);
    scripted_wait(&w.s);
    assert_int_equal(w.s.err.code, RB_ERR_NONE);
    scripted_expect_begin(&w.s, 4, "DELETE /apis/coordination.k8s.io/v1/namespaces/ml/leases/rb-digits ");
    end(&w);
    resources.kubernetes.queue = NULL;
}

static void a_whole_gang_in_a_queue_goes_with_its_workload(void **state)
{
    (void)state;
    struct world w;
    const struct step steps[] = {
        {ANSWER, 200, NULL, LEASE},
        {ANSWER, 201, NULL, kept(0, TOKEN, "0", "u-0")}, // without the label of the queue
        {ANSWER, 200, NULL, "{\"kind\":\"Status\",\"status\":\"Success\"}"},
        {ANSWER, 200, NULL, kept(0, TOKEN, "0", "u-0")},
    };
    resources.kubernetes.queue = "team";
    do_launch(&w, steps, N_OF(steps), 1);
    assert_says(&w.s.err, "RB3505 metadata.labels.kueue.x-k8s.io/");
    scripted_expect_begin(&w.s, 2, "DELETE /apis/kueue.x-k8s.io/v1beta1/namespaces/ml/workloads/" NAME " ");
    scripted_expect_begin(&w.s, 3, "DELETE /api/v1/namespaces/ml/pods/" NAME "-0 ");
    end(&w);
    resources.kubernetes.queue = NULL;
}

static void a_lease_is_renewed_for_all_pods(void **state)
{
    (void)state;
    struct world w;
    const char *const ids[] = {NAME "-9.u-9", NAME "-0.u-0"};
    const struct step steps[] = {
        {ANSWER, 404, NULL, REFUSAL("404", "NotFound", "gone")},
        {ANSWER, 200, NULL, POD_OF(TOKEN, "0", "u-0")},
        {ANSWER, 200, NULL, LEASE},
        {ANSWER, 409, NULL, REFUSAL("409", "Conflict", "the object has been modified")},
        {ANSWER, 200, "Date: Thu, 01 Jan 2026 00:10:00 GMT\r\n", LEASE},
        {ANSWER, 200, NULL, LEASE},
    };
    begin(&w, steps, N_OF(steps));
    w.provider.ops->renew(&w.provider, ids, 2, &(struct rb_tag){RB_LEASE_TAG, "2026-01-01T00:40:00Z"}, answered, &w);
    scripted_wait(&w.s);
    assert_int_equal(w.s.err.code, RB_ERR_NONE);
    scripted_expect_begin(&w.s, 5, "PUT /apis/coordination.k8s.io/v1/namespaces/ml/leases/rb-digits ");
    scripted_expect(&w.s, 5, "\"uid\":\"l-1\",\"resourceVersion\":\"7\""); // without the uid a deleted one would be made again
    scripted_expect(&w.s, 5, "\"renewTime\":\"2026-01-01T00:10:0");
    end(&w);
}

struct wakes {
    struct world *w;
    int n;
};

static void woken(void *arg)
{
    struct wakes *k = arg;
    k->n++;
    scripted_tell(&k->w->s, NULL);
}

// A change wakes, a sign of life does not; a watch that ended begins again, and one that is refused for good does not.
static void a_watch_only_wakes(void **state)
{
    (void)state;
    struct world w;
    struct wakes k = {.w = &w};
    const struct step steps[] = {
        {ANSWER, 200, NULL, "{\"type\":\"BOOKMARK\",\"object\":{}}\n{\"type\":\"BOOKMARK\",\"object\":{}}\n"},
        {ANSWER, 500, NULL, ""},
        {RESET},
        {ANSWER, 410, NULL, ""},
        {ANSWER, 200, NULL, "{\"type\":\"BOOKMARK\",\"object\":{}}\n{\"type\":\"MODIFIED\",\"object\":{\"type\":\"BOOKMARK\"}}\n"},
        {ANSWER, 200, NULL, "{\"type\":\"ERROR\",\"object\":{\"code\":410}}\n"},
        {ANSWER, 403, NULL, ""}};
    begin(&w, steps, N_OF(steps));
    w.provider.ops->watch(&w.provider, "digits", woken, &k);
    assert_int_equal(k.n, 0); // never from inside the call
    scripted_wait(&w.s);
    scripted_expect_begin(&w.s, 0, "GET /api/v1/namespaces/ml/pods?watch=true&labelSelector=rb.run-id%3Ddigits&allowWatchBookmarks=true&timeoutSeconds=300 ");
    scripted_expect(&w.s, 0, "Authorization: Bearer secret");
    assert_int_equal(script_server_n_requests(w.s.server), 5);
    w.s.done = false, w.s.n_calls = 0;
    scripted_wait(&w.s); // by the error: a listing says more
    bool over = false;
    test_loop_run(&w.s.loop, &over); // until nothing is waited for
    assert_int_equal(script_server_n_requests(w.s.server), 7);
    end(&w);
    const struct step one[] = {{ANSWER, 500, NULL, ""}};
    begin(&w, one, N_OF(one));
    w.provider.ops->watch(&w.provider, "digits", woken, &k);
    end(&w); // it leaves no timer
}

static void grouped(void *arg, const struct rb_err *err, const struct rb_placement_group *groups, int n)
{
    struct world *w = arg;
    for (int i = 0; i < n; i++)
        snprintf(w->groups, sizeof w->groups, "%s %s %s %d", groups[i].name, groups[i].run_id, groups[i].owner,
                 groups[i].in_use);
    scripted_tell(&w->s, err);
}

static void a_lease_is_the_group_of_its_run(void **state)
{
    (void)state;
    struct world w;
    const struct step fresh[] = {{ANSWER, 200, "Date: Thu, 01 Jan 2026 00:29:00 GMT\r\n", LEASES}};
    const struct step lapsed[] = {{ANSWER, 200, "Date: Thu, 01 Jan 2026 00:31:00 GMT\r\n", LEASES}};
    begin(&w, fresh, 1);
    w.provider.ops->groups(&w.provider, NULL, grouped, &w);
    scripted_wait(&w.s);
    assert_string_equal(w.groups, "rb-digits digits ann@laptop 1");
    end(&w);
    begin(&w, lapsed, 1);
    w.provider.ops->groups(&w.provider, NULL, grouped, &w);
    scripted_wait(&w.s);
    assert_string_equal(w.groups, "rb-digits digits ann@laptop 0");
    end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_launch_makes_the_lease_and_the_pod),
        cmocka_unit_test(the_name_is_the_token),
        cmocka_unit_test(a_node_may_be_a_job),
        cmocka_unit_test(a_job_that_has_gone_is_seen_by_its_pod),
        cmocka_unit_test(refusals_of_a_launch),
        cmocka_unit_test(a_refused_gang_leaves_nothing),
        cmocka_unit_test(a_listing_begins_again),
        cmocka_unit_test(who_waits_for_too_long_is_sold_out),
        cmocka_unit_test(what_holds_up_a_pod_on_its_machine),
        cmocka_unit_test(a_pod_that_failed_has_last_words),
        cmocka_unit_test(pods_are_priced_by_their_nodes),
        cmocka_unit_test(another_pod_of_that_name_is_left_alone),
        cmocka_unit_test(a_pod_that_was_deleted_before_it_had_a_machine_never_ran),
        cmocka_unit_test(the_end_of_a_run_lists_again_what_the_server_forgot),
        cmocka_unit_test(a_whole_gang_in_a_queue_goes_with_its_workload),
        cmocka_unit_test(a_lease_is_renewed_for_all_pods),
        cmocka_unit_test(a_watch_only_wakes),
        cmocka_unit_test(a_lease_is_the_group_of_its_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
