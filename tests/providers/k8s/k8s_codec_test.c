// The objects that a launch creates, and what is read from those of the cluster. Pods as the API servers 1.20 and 1.33
// show them.
#include "base/arena.h"
#include "providers/k8s/k8s_decode.h"
#include "providers/k8s/k8s_markets.h"
#include "providers/k8s/k8s_errors.h"
#include "tests/base/check.h"

#include <stdio.h>
#include <stdlib.h>

static struct rb_doc parsed(const char *json)
{
    struct rb_doc doc;
    struct rb_err err = {0};
    if (!rb_doc_parse_json(&doc, "test", json, strlen(json), &err))
        fail_msg("%s in %s", err.message, json);
    return doc;
}

// --- writing

static const struct rb_launch launch = {
    .token = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    .region = "lab",
    .instance_type = "g5.12xlarge/2",
    .image_id = "reg/train@sha256:0a",
    .user_data = "echo 'kept'\n",
    .disk_gb = 100,
    .max_lifetime_s = 7200,
    .tags = {.name = "rb-digits-1",
             .run_id = "digits-20261128-120000-abcdef",
             .launch_id = "0123456789abcdef0123456789abcdef",
             .owner = "ann@laptop",
             .expires_at = "2026-11-28T12:30:00Z"},
};
static const struct rb_key_value selector[] = {{"cloud.google.com/gke-accelerator", "a100"}};
static const struct rb_toleration tolerations[] = {{.key = "team", .operator= "Equal", .value = "ml"}};
static const char *const secrets[] = {"reg"};
static const struct rb_kubernetes_spec full = {
    .queue = "team-ml",
    .node_selector = selector,
    .n_node_selector = 1,
    .tolerations = tolerations,
    .n_tolerations = 1,
    .priority_class = "low",
    .service_account = "trainer",
    .image_pull_secrets = {secrets, 1},
    .cpus_per_gpu = 4,
    .memory_per_gpu_bytes = INT64_C(60000000000),
    .shm_bytes = INT64_C(8000000000),
    .grace_us = 15000000,
};
static const struct rb_kube_anchor anchor = {"rb-digits", "uid-1"};

static void a_pod_has_all_that_was_asked_for(void **state)
{
    (void)state;
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    struct rb_kube_shape shape;
    assert_true(rb_kube_shape(launch.instance_type, 4, &arena, &shape, NULL));
    rb_kube_write_node(&launch, 1, &shape, &full, &anchor, &out);
    assert_string_equal(
        out.data,
        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"rb-a8ae6e6ee929abea3afc-1\",\"labels\":{"
        "\"rb.run-id\":\"digits-20261128-120000-abcdef\",\"rb.launch-id\":\"0123456789abcdef0123456789abcdef\",\"rb."
        "owner\":"
        "\"234805388fd96911af131d9660979b2e691e5e4c\",\"kueue.x-k8s.io/queue-name\":\"team-ml\","
        "\"kueue.x-k8s.io/pod-group-name\":\"rb-a8ae6e6ee929abea3afc\"},\"annotations\":{"
        "\"kueue.x-k8s.io/pod-group-total-count\":\"1\","
        "\"rb.name\":\"rb-digits-1\",\"rb.run-id\":\"digits-20261128-120000-abcdef\",\"rb.launch-id\":"
        "\"0123456789abcdef0123456789abcdef\",\"rb.owner\":\"ann@laptop\",\"rb.expires-at\":\"2026-11-28T12:30:00Z\","
        "\"rb.token\":\"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\",\"rb.member\":\"1\","
        "\"rb.instance-type\":\"g5.12xlarge/2\",\"rb.market\":\"on_demand\",\"karpenter.sh/do-not-disrupt\":\"true\","
        "\"cluster-autoscaler.kubernetes.io/safe-to-evict\":\"false\"},\"ownerReferences\":[{\"apiVersion\":"
        "\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"name\":\"rb-digits\",\"uid\":\"uid-1\"}]},\"spec\":{"
        "\"restartPolicy\":\"Never\",\"terminationGracePeriodSeconds\":15,\"activeDeadlineSeconds\":7200,"
        "\"automountServiceAccountToken\":false,\"enableServiceLinks\":false,\"securityContext\":{\"runAsNonRoot\":"
        "true,"
        "\"runAsUser\":1000,\"runAsGroup\":1000,\"fsGroup\":1000,\"seccompProfile\":{\"type\":\"RuntimeDefault\"}},"
        "\"nodeSelector\":{\"node.kubernetes.io/instance-type\":\"g5.12xlarge\",\"cloud.google.com/gke-accelerator\":"
        "\"a100\"},\"affinity\":{\"nodeAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":{"
        "\"nodeSelectorTerms\":[{\"matchExpressions\":["
        "{\"key\":\"karpenter.sh/capacity-type\",\"operator\":\"NotIn\",\"values\":[\"spot\"]},"
        "{\"key\":\"eks.amazonaws.com/capacityType\",\"operator\":\"NotIn\",\"values\":[\"SPOT\"]},"
        "{\"key\":\"cloud.google.com/gke-spot\",\"operator\":\"NotIn\",\"values\":[\"true\"]}]}]}}},"
        "\"tolerations\":[{\"key\":\"nvidia.com/"
        "gpu\",\"operator\":\"Exists\",\"effect\":\"NoSchedule\"},{\"key\":"
        "\"team\",\"operator\":\"Equal\",\"value\":\"ml\"}],\"priorityClassName\":\"low\",\"serviceAccountName\":"
        "\"trainer\","
        "\"imagePullSecrets\":[{\"name\":\"reg\"}],\"containers\":[{\"name\":\"node\",\"image\":\"reg/"
        "train@sha256:0a\","
        "\"command\":[\"/bin/sh\",\"-c\",\"echo "
        "'kept'\\n\"],\"workingDir\":\"/rb\",\"env\":[{\"name\":\"HOME\",\"value\":"
        "\"/"
        "rb\"},{\"name\":\"USER\",\"value\":\"rb\"},{\"name\":\"LOGNAME\",\"value\":\"rb\"},{\"name\":\"RB_POD_UID\",\"valueFrom\":{"
        "\"fieldRef\":{\"fieldPath\":\"metadata.uid\"}}}],\"resources\":{"
        "\"requests\":{"
        "\"cpu\":\"8\",\"memory\":\"120G\",\"ephemeral-storage\":\"100G\",\"nvidia.com/gpu\":\"2\"},\"limits\":{"
        "\"nvidia.com/"
        "gpu\":\"2\"}},\"securityContext\":{\"allowPrivilegeEscalation\":false,\"capabilities\":{\"drop\":["
        "\"ALL\"]}},\"volumeMounts\":[{\"name\":\"home\",\"mountPath\":\"/rb\"},{\"name\":\"shm\",\"mountPath\":\"/dev/"
        "shm\"}]"
        "}],\"volumes\":[{\"name\":\"home\",\"emptyDir\":{}},{\"name\":\"shm\",\"emptyDir\":{\"medium\":\"Memory\","
        "\"sizeLimit\":\"8G\"}}]}}");
}

// One pod, and never a second: the pod's own spec and tags are as without the Job.
static void a_job_has_the_pod(void **state)
{
    (void)state;
    RB_AUTO(rb_buf_finish) struct rb_buf pod = RB_BUF_INIT;
    RB_AUTO(rb_buf_finish) struct rb_buf job = RB_BUF_INIT;
    const struct rb_kube_shape shape = {.gpus = 1};
    struct rb_kubernetes_spec spec = {.grace_us = 15000000};
    rb_kube_write_node(&launch, 1, &shape, &spec, &anchor, &pod);
    spec.as = RB_KUBERNETES_AS_JOB;
    rb_kube_write_node(&launch, 1, &shape, &spec, &anchor, &job);
    static const char head[] = "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"rbj-a8ae6e6ee929abea3afc-1\",",
                      middle[] = ",\"spec\":{\"parallelism\":1,\"completions\":1,\"backoffLimit\":0,\"podReplacementPolicy\":\"Failed\","
                                 "\"podFailurePolicy\":{\"rules\":[{\"action\":\"FailJob\",\"onPodConditions\":[{\"type\":"
                                 "\"DisruptionTarget\",\"status\":\"True\"}]}]},\"template\":{\"metadata\":{",
                      owner[] = ",\"ownerReferences\":[";
    const char *labels = strstr(pod.data, "\"labels\""), *end = strstr(labels, owner), *pod_spec = strstr(pod.data, "\"spec\":{");
    assert_int_equal(strncmp(job.data, head, strlen(head)), 0);
    assert_int_equal(strncmp(job.data + strlen(head), labels, (size_t)(pod_spec - labels - 1)), 0); // tags and owner
    const char *at = strstr(job.data, middle);
    assert_non_null(at);
    at += strlen(middle);
    assert_int_equal(strncmp(at, labels, (size_t)(end - labels)), 0);
    at += end - labels;
    assert_int_equal(strncmp(at, "},", 2), 0); // its owner is the Job
    assert_int_equal(strncmp(at + 2, pod_spec, strlen(pod_spec) - 1), 0);
    assert_string_equal(at + 2 + strlen(pod_spec) - 1, "}}}");
    assert_int_equal(rb_kube_as_of("rbj-a8ae6e6ee929abea3afc-1"), RB_KUBERNETES_AS_JOB);
    assert_int_equal(rb_kube_as_of("rb-a8ae6e6ee929abea3afc-1"), RB_KUBERNETES_AS_POD);
}

static void markets_are_labels_of_nodes(void **state)
{
    (void)state;
    static const char *const marks[] = {"karpenter.sh/capacity-type", "eks.amazonaws.com/capacityType",
                                        "cloud.google.com/gke-spot"};
    static const struct rb_key_value chosen = {"eks.amazonaws.com/capacityType", "SPOT"};
    const struct rb_kubernetes_spec plain = {0}, chooses = {.node_selector = &chosen, .n_node_selector = 1};
    const struct rb_kube_shape shape = {.gpus = 1};
    struct rb_launch spot = launch;
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    spot.market = RB_MARKET_SPOT;
    rb_kube_write_node(&spot, 0, &shape, &plain, &anchor, &out);
    for (size_t i = 0; i < N_OF(marks); i++) { // each a term of its own: alternatives
        char term[120];
        snprintf(term, sizeof term, "{\"matchExpressions\":[{\"key\":\"%s\",\"operator\":\"In\"", marks[i]);
        assert_non_null(strstr(out.data, term));
    }
    assert_non_null(strstr(out.data, "\"tolerations\":[{\"key\":\"cloud.google.com/gke-spot\",\"operator\":\"Equal\""));
    assert_non_null(strstr(out.data, "\"rb.market\":\"spot\""));
    rb_buf_clear(&out);
    rb_kube_write_node(&spot, 0, &shape, &chooses, &anchor, &out); // the job has chosen
    assert_null(strstr(out.data, "affinity"));

    static const struct {
        const char *labels;
        enum rb_market market;
    } nodes[] = {{"{}", RB_MARKET_ON_DEMAND},
                 {"{\"karpenter.sh/capacity-type\":\"on-demand\"}", RB_MARKET_ON_DEMAND},
                 {"{\"karpenter.sh/capacity-type\":\"spot\"}", RB_MARKET_SPOT},
                 {"{\"eks.amazonaws.com/capacityType\":\"SPOT\"}", RB_MARKET_SPOT},
                 {"{\"cloud.google.com/gke-spot\":\"true\"}", RB_MARKET_SPOT}};
    for (size_t i = 0; i < N_OF(nodes); i++) {
        struct rb_doc doc = parsed(nodes[i].labels);
        assert_int_equal(rb_kube_market_of(doc.root), nodes[i].market);
        rb_doc_finish(&doc);
    }
}

static void shapes(void **state)
{
    (void)state;
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    struct rb_kube_shape s;
    struct rb_err err = {0};
    assert_true(rb_kube_shape("gpu/4", 8, &arena, &s, NULL) && !s.node_type && s.gpus == 4 && s.cpus == 0);
    assert_true(rb_kube_shape("cpu/8", 0, &arena, &s, NULL) && !s.node_type && s.gpus == 0 && s.cpus == 8);
    assert_true(rb_kube_shape("Standard_NC6/1", 2, &arena, &s, NULL) && strcmp(s.node_type, "Standard_NC6") == 0);
    assert_int_equal(s.gpus, 1);
    assert_true(rb_kube_shape("g5.12xlarge", 4, &arena, &s, NULL) && strcmp(s.node_type, "g5.12xlarge") == 0 &&
                s.gpus == 4);
    static const char *const wrong[] = {"a100", "gpu/0", "gpu/x", "/1", "a b/1", "gpu/1/", "gpu/99999"};
    for (size_t i = 0; i < N_OF(wrong); i++) {
        assert_false(rb_kube_shape(wrong[i], 0, &arena, &s, &err));
        assert_says(&err, "RB3503 TYPE/GPUS");
    }
}

static void names_fit(void **state)
{
    (void)state;
    char out[64];
    rb_kube_anchor_name("digits-1", out);
    assert_string_equal(out, "rb-digits-1");
    rb_kube_anchor_name("Digits_1", out); // no name of an object
    assert_int_equal(strlen(out), 43);
    rb_kube_label("a.b_c-D", out);
    assert_string_equal(out, "a.b_c-D");
    rb_kube_label("ann@laptop", out);
    assert_int_equal(strlen(out), 40);
}

static void an_anchor_is_read_back(void **state)
{
    (void)state;
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    struct rb_kube_lease l;
    rb_kube_write_anchor("rb-digits", "digits", "ann@laptop", &(struct rb_kube_version){NULL, "77"},
                         INT64_C(1795867200250000), INT64_C(1795869000000000), &out);
    assert_non_null(strstr(out.data, "\"leaseDurationSeconds\":1800,\"renewTime\":\"2026-11-28T12:00:00.250000Z\""));
    struct rb_doc doc = parsed(out.data);
    struct rb_err err = {0};
    assert_false(rb_kube_decode_lease(doc.root, &arena, &l, &err)); // it has no uid yet
    assert_says(&err, "RB3020 a name and a uid");
    rb_doc_finish(&doc);
    char *with_uid = malloc(out.len + 20);
    sprintf(with_uid, "{\"apiVersion\":\"x\",\"metadata\":{\"uid\":\"u-1\",%s",
            strstr(out.data, "\"name\":\"rb-digits\""));
    doc = parsed(with_uid);
    assert_true(rb_kube_decode_lease(doc.root, &arena, &l, NULL));
    assert_string_equal(l.resource_version, "77");
    assert_string_equal(l.expires_at, "2026-11-28T12:30:00Z");
    assert_string_equal(l.owner, "ann@laptop");
    rb_doc_finish(&doc);
    free(with_uid);
}

// --- reading

#define POD(meta, status)                                                                                    \
    "{\"metadata\":{\"name\":\"rb-0-1\",\"uid\":\"u-1\",\"creationTimestamp\":\"2026-11-28T12:00:00Z\"" meta \
    "},\"status\":{" status "}}"
#define SCHEDULED                                                                            \
    "\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"True\",\"lastTransitionTime\":" \
    "\"2026-11-28T12:00:05Z\"}],\"podIP\":\"10.1.2.3\""
#define CONTAINER(state)                                                                                         \
    "\"containerStatuses\":[{\"name\":\"istio-proxy\",\"state\":{\"running\":{}}},{\"name\":\"node\",\"state\":" \
    "{" state "}}]"
#define RUNNING CONTAINER("\"running\":{\"startedAt\":\"2026-11-28T12:00:09Z\"}")
#define ENDED(reason) \
    CONTAINER("\"terminated\":{\"exitCode\":0,\"reason\":\"" reason "\",\"finishedAt\":\"2026-11-28T13:00:00Z\"}")
#define DELETED ",\"deletionTimestamp\":\"2026-11-28T13:00:30Z\""

static const int64_t noon_us = INT64_C(1795867200000000);

static void states(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        enum rb_instance_state is;
        int64_t running_s, ended_s; // after noon; -1: unknown
        const char *reason;         // NULL: none
    } cases[] = {
        {POD("", "\"phase\":\"Pending\""), RB_INSTANCE_PENDING, -1, -1, NULL},
        {POD("", "\"phase\":\"Pending\"," SCHEDULED), RB_INSTANCE_PENDING, 5, -1, NULL},
        {POD("", "\"phase\":\"Running\"," SCHEDULED "," RUNNING), RB_INSTANCE_RUNNING, 5, -1, NULL},
        {POD(DELETED, "\"phase\":\"Running\"," SCHEDULED "," RUNNING), RB_INSTANCE_RUNNING, 5, -1, NULL},
        {POD(DELETED, "\"phase\":\"Pending\""), RB_INSTANCE_STOPPING, -1, -1, NULL},
        {POD("", "\"phase\":\"Succeeded\"," SCHEDULED "," ENDED("Completed")), RB_INSTANCE_TERMINATED, 5, 3600,
         "Kubernetes reports Completed"},
        {POD("", "\"phase\":\"Running\"," SCHEDULED "," ENDED("OOMKilled")), RB_INSTANCE_TERMINATED, 5, 3600,
         "Kubernetes reports OOMKilled"},
        // 1.20: the phase is ahead of the container
        {POD("", "\"phase\":\"Failed\",\"reason\":\"DeadlineExceeded\"," SCHEDULED "," RUNNING), RB_INSTANCE_STOPPING,
         5, -1, "Kubernetes reports DeadlineExceeded"},
        {POD("", "\"phase\":\"Failed\",\"reason\":\"Evicted\",\"message\":\"The node was low on memory\""),
         RB_INSTANCE_TERMINATED, -1, -1, "Kubernetes reports Evicted: The node was low on memory"},
        {POD("", "\"phase\":\"Failed\",\"conditions\":[{\"type\":\"DisruptionTarget\",\"status\":\"True\",\"reason\":"
                 "\"PreemptionByScheduler\"}]," ENDED("Error")),
         RB_INSTANCE_TERMINATED, -1, 3600, "Kubernetes reports PreemptionByScheduler"},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
        struct rb_doc doc = parsed(cases[i].json);
        struct rb_kube_pod p;
        assert_true(rb_kube_decode_pod(doc.root, "lab", NULL, &arena, &p, NULL));
        assert_int_equal(p.instance.state, cases[i].is);
        assert_int_equal(p.instance.running_at_us,
                         cases[i].running_s < 0 ? -1 : noon_us + cases[i].running_s * 1000000);
        assert_int_equal(p.instance.terminated_at_us, cases[i].ended_s < 0 ? -1 : noon_us + cases[i].ended_s * 1000000);
        if (cases[i].reason)
            assert_string_equal(p.instance.state_reason, cases[i].reason);
        else
            assert_null(p.instance.state_reason);
        assert_string_equal(p.instance.id, "rb-0-1.u-1");
        assert_string_equal(p.instance.address, "rb-0-1.u-1");
        rb_doc_finish(&doc);
    }
}

static void a_notice_and_a_fault(void **state)
{
    (void)state;
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    struct rb_kube_pod p;
    struct rb_doc doc = parsed(POD(DELETED, "\"phase\":\"Running\"," SCHEDULED "," RUNNING));
    assert_true(rb_kube_decode_pod(doc.root, "lab", NULL, &arena, &p, NULL));
    assert_int_equal(p.instance.leaves_at_us, noon_us + INT64_C(3630000000));
    assert_null(p.instance.fault);
    rb_doc_finish(&doc);
    doc = parsed(
        POD("", "\"phase\":\"Pending\"," SCHEDULED "," CONTAINER("\"waiting\":{\"reason\":\"ErrImagePull\",\"message\":"
                                                                 "\"reg/train: not found\"}")));
    assert_true(rb_kube_decode_pod(doc.root, "lab", NULL, &arena, &p, NULL));
    assert_says(p.instance.fault, "RB3506 ErrImagePull: reg/train: not found");
    rb_doc_finish(&doc);
    doc = parsed(
        POD("", "\"phase\":\"Pending\"," SCHEDULED "," CONTAINER("\"waiting\":{\"reason\":\"ContainerCreating\"}")));
    assert_true(rb_kube_decode_pod(doc.root, "lab", NULL, &arena, &p, NULL));
    assert_null(p.instance.fault);
    rb_doc_finish(&doc);
}

static void the_lease_of_its_run_counts(void **state)
{
    (void)state;
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    struct rb_kube_lease lease = {.name = "rb-digits", .uid = "l-1", .expires_at = "2026-11-28T12:40:00Z"};
    const struct rb_kube_leases leases = {&lease, 1};
    struct rb_kube_pod p;
    struct rb_doc doc =
        parsed(POD(",\"annotations\":{\"rb.expires-at\":\"2026-11-28T12:30:00Z\",\"rb.run-id\":\"digits\","
                   "\"rb.token\":\"t\",\"rb.member\":\"3\"},\"ownerReferences\":[{\"kind\":\"Lease\",\"name\":"
                   "\"rb-digits\",\"uid\":\"l-1\"}]",
                   ""));
    assert_true(rb_kube_decode_pod(doc.root, "lab", &leases, &arena, &p, NULL));
    assert_string_equal(p.instance.expires_at, "2026-11-28T12:40:00Z");
    assert_string_equal(p.anchor, "rb-digits");
    assert_int_equal(p.instance.member, 3);
    assert_string_equal(p.instance.run_id, "digits");
    lease.uid = "l-2"; // another of that name
    assert_true(rb_kube_decode_pod(doc.root, "lab", &leases, &arena, &p, NULL));
    assert_string_equal(p.instance.expires_at, "2026-11-28T12:30:00Z");
    rb_doc_finish(&doc);
}

#define JOB(status) \
    "{\"metadata\":{\"name\":\"rbj-0-1\",\"uid\":\"j-1\",\"creationTimestamp\":\"2026-11-28T12:00:00Z\"},\"status\":{" status "}}"
#define OF_JOB(uid, at, meta, status)                                                                              \
    "{\"metadata\":{\"name\":\"rbj-0-1-abcde\",\"uid\":\"" uid "\",\"creationTimestamp\":\"2026-11-28T12:" at "Z\"," \
    "\"ownerReferences\":[{\"kind\":\"Job\",\"name\":\"rbj-0-1\",\"uid\":\"j-1\"}]" meta "},\"status\":{" status "}}"
#define LIVES "\"phase\":\"Running\"," SCHEDULED "," RUNNING
#define OVER  "\"phase\":\"Failed\"," SCHEDULED "," ENDED("Error")
#define FAILED                                                                                                       \
    "\"failed\":1,\"conditions\":[{\"type\":\"Failed\",\"status\":\"True\",\"reason\":\"BackoffLimitExceeded\",\"message\":" \
    "\"has reached\",\"lastTransitionTime\":\"2026-11-28T13:00:01Z\"}]"

static void a_job_and_its_pods_are_one_node(void **state)
{
    (void)state;
    static const struct {
        const char *jobs, *pods; // as they are listed
        enum rb_instance_state is;
        const char *address; // NULL: none
        bool has_second;
        int64_t ended_s;
        const char *reason;
    } cases[] = {
        {JOB(""), "", RB_INSTANCE_PENDING, NULL, false, -1, NULL},
        {JOB("\"active\":1"), OF_JOB("u-1", "00:01", "", LIVES), RB_INSTANCE_RUNNING, "rbj-0-1-abcde.u-1", false, -1, NULL},
        {"", OF_JOB("u-1", "00:01", DELETED, LIVES), RB_INSTANCE_RUNNING, "rbj-0-1-abcde.u-1", false, -1, NULL}, // the Job is gone
        {JOB(FAILED), OF_JOB("u-1", "00:01", "", OVER), RB_INSTANCE_TERMINATED, "rbj-0-1-abcde.u-1", false, 3600,
         "Kubernetes reports Error"},
        {JOB(FAILED), "", RB_INSTANCE_TERMINATED, NULL, false, 3601, "Kubernetes reports BackoffLimitExceeded: has reached"},
        {JOB("\"failed\":1"), "", RB_INSTANCE_TERMINATED, NULL, false, -1, NULL},
        {JOB("\"uncountedTerminatedPods\":{\"failed\":[\"u-1\"]}"), "", RB_INSTANCE_TERMINATED, NULL, false, -1, NULL},
        // a page that was read twice
        {JOB(""), OF_JOB("u-1", "00:01", "", LIVES) "," OF_JOB("u-1", "00:01", "", LIVES), RB_INSTANCE_RUNNING,
         "rbj-0-1-abcde.u-1", false, -1, NULL},
        // two: the first is the node, in whichever order they come, also within a second
        {JOB(""), OF_JOB("u-1", "00:01", DELETED, LIVES) "," OF_JOB("u-2", "00:09", "", LIVES), RB_INSTANCE_RUNNING,
         "rbj-0-1-abcde.u-1", true, -1, NULL},
        {JOB(""), OF_JOB("u-2", "00:09", "", LIVES) "," OF_JOB("u-1", "00:01", DELETED, LIVES), RB_INSTANCE_RUNNING,
         "rbj-0-1-abcde.u-1", true, -1, NULL},
        {"", OF_JOB("u-2", "00:01", "", LIVES) "," OF_JOB("u-1", "00:01", "", OVER), RB_INSTANCE_TERMINATED,
         "rbj-0-1-abcde.u-1", true, 3600, "Kubernetes reports Error"},
        // the first is gone: what is there is none of ours
        {JOB("\"failed\":1,\"active\":1"), OF_JOB("u-2", "00:09", "", LIVES), RB_INSTANCE_STOPPING, NULL, true, -1,
         "its pod has ended, and its Job has made another"},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
        struct rb_kube_pods all = {0};
        const char *next, *lists[] = {cases[i].pods, cases[i].jobs};
        for (int as = RB_KUBERNETES_AS_JOB; as >= RB_KUBERNETES_AS_POD; as--) {
            RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
            rb_buf_printf(&text, "{\"items\":[%s]}", lists[as]);
            struct rb_doc doc = parsed(text.data);
            assert_true(rb_kube_decode_nodes((enum rb_kubernetes_as)as, doc.root, "lab", NULL, &arena, &all, &next, NULL));
            rb_doc_finish(&doc);
        }
        rb_kube_join_jobs(&all);
        assert_int_equal(all.n, 1);
        const struct rb_instance *node = &all.items[0].instance;
        assert_string_equal(node->id, "rbj-0-1.j-1");
        if (node->state != cases[i].is || all.items[0].has_second != cases[i].has_second)
            fail_msg("case %zu: state %d, second %d", i, node->state, all.items[0].has_second);
        assert_int_equal(node->terminated_at_us, cases[i].ended_s < 0 ? -1 : noon_us + cases[i].ended_s * 1000000);
        assert_int_equal(node->address != NULL, cases[i].address != NULL);
        if (cases[i].address)
            assert_string_equal(node->address, cases[i].address);
        assert_int_equal(node->state_reason != NULL, cases[i].reason != NULL);
        if (cases[i].reason)
            assert_string_equal(node->state_reason, cases[i].reason);
    }
}

// It names no Lease: the one of its run counts, also for who does not list Jobs.
static void a_pod_of_a_job_goes_with_the_lease_of_its_run(void **state)
{
    (void)state;
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    struct rb_kube_lease lease = {.name = "rb-digits", .uid = "l-1", .run_id = "digits", .expires_at = "2026-11-28T12:40:00Z"};
    const struct rb_kube_leases leases = {&lease, 1};
    struct rb_kube_pod p;
    struct rb_doc doc = parsed(OF_JOB("u-1", "00:01",
                                      ",\"annotations\":{\"rb.expires-at\":\"2026-11-28T12:30:00Z\",\"rb.run-id\":\"digits\"}",
                                      LIVES));
    assert_true(rb_kube_decode_pod(doc.root, "lab", &leases, &arena, &p, NULL));
    assert_string_equal(p.instance.expires_at, "2026-11-28T12:40:00Z");
    lease.run_id = "another";
    assert_true(rb_kube_decode_pod(doc.root, "lab", &leases, &arena, &p, NULL));
    assert_string_equal(p.instance.expires_at, "2026-11-28T12:30:00Z");
    rb_doc_finish(&doc);
}

static void untrusted_names_are_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"{\"metadata\":{\"name\":\"../x\",\"uid\":\"u\"}}",
                                        "{\"metadata\":{\"name\":\"rb-1\",\"uid\":\"a.b\"}}", "{\"metadata\":{}}", "{}",
                                        "[]"};
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    struct rb_kube_pods pods = {0};
    struct rb_kube_pod p;
    struct rb_err err = {0};
    const char *next;
    char name[64], uid[64];
    for (size_t i = 0; i < N_OF(wrong); i++) {
        struct rb_doc doc = parsed(wrong[i]);
        assert_false(rb_kube_decode_pod(doc.root, "lab", NULL, &arena, &p, &err));
        assert_false(
            rb_kube_decode_nodes(RB_KUBERNETES_AS_POD, doc.root, "lab", NULL, &arena, &pods, &next, &err)); // no list is no empty list
        rb_doc_finish(&doc);
    }
    struct rb_doc doc = parsed("{\"metadata\":{\"continue\":\"c\"},\"items\":null}");
    assert_true(rb_kube_decode_nodes(RB_KUBERNETES_AS_POD, doc.root, "lab", NULL, &arena, &pods, &next, &err));
    assert_string_equal(next, "c");
    rb_doc_finish(&doc);
    assert_true(rb_kube_split_id("rb-0-1.u-1", name, uid) && strcmp(name, "rb-0-1") == 0 && strcmp(uid, "u-1") == 0);
    assert_false(rb_kube_split_id("rb-0-1", name, uid));
    assert_false(rb_kube_split_id("a/b.u", name, uid));
}

static void dropped_fields_are_found(void **state)
{
    (void)state;
    static const struct {
        const char *sent, *stored, *dropped;
    } cases[] = {
        {"{\"a\":1,\"b\":{\"c\":\"x\"}}", "{\"a\":1,\"b\":{\"c\":\"x\",\"d\":1}}", NULL},
        {"{\"a\":1,\"b\":{\"c\":\"x\"}}", "{\"a\":1,\"b\":{}}", "b.c"},
        {"{\"memory\":\"1000M\"}", "{\"memory\":\"1G\"}", NULL}, // written in another way
        {"{\"l\":[{\"name\":\"n\",\"v\":1}]}", "{\"l\":[{\"name\":\"sidecar\"},{\"v\":1,\"name\":\"n\"}]}", NULL},
        {"{\"l\":[{\"name\":\"n\",\"v\":1}]}", "{\"l\":[{\"name\":\"n\"}]}", "l[0].v"},
        {"{\"l\":[\"ALL\"],\"e\":[],\"m\":{}}", "{\"l\":[\"ALL\"]}", NULL},
        {"{\"l\":[\"ALL\"]}", "{\"l\":[\"NONE\"]}", "l[0]"},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct rb_doc sent = parsed(cases[i].sent), stored = parsed(cases[i].stored);
        char at[200] = "";
        assert_int_equal(rb_kube_find_dropped(sent.root, stored.root, at, sizeof at), cases[i].dropped != NULL);
        if (cases[i].dropped)
            assert_string_equal(at, cases[i].dropped);
        rb_doc_finish(&sent);
        rb_doc_finish(&stored);
    }
}

static void refusals(void **state)
{
    (void)state;
    static const struct {
        long status;
        const char *reason, *message;
        enum rb_err_code code;
        enum rb_api_reaction reaction;
    } cases[] = {
        {401, "Unauthorized", "Unauthorized", RB_ERR_DENIED, RB_API_REFRESH},
        {403, "Forbidden", "pods is forbidden: User \\\"x\\\" cannot create", RB_ERR_DENIED, RB_API_PERHAPS_STARTING},
        {403, "Forbidden", "pods rb-1 is forbidden: violates PodSecurity", RB_ERR_DENIED, RB_API_FAIL},
        {403, "Forbidden", "pods rb-1 is forbidden: exceeded quota: q", RB_ERR_DENIED, RB_API_FAIL},
        {404, "NotFound", "pods rb-1 not found", RB_ERR_NOT_FOUND, RB_API_FAIL},
        {409, "AlreadyExists", "pods rb-1 already exists", RB_ERR_UNKNOWN_OUTCOME, RB_API_FAIL},
        {409, "Conflict", "Operation cannot be fulfilled on resourcequotas q: modified", RB_ERR_IO, RB_API_RETRY},
        {409, "Conflict", "Precondition failed: UID in precondition", RB_ERR_IO, RB_API_FAIL},
        {410, "Expired", "The provided continue parameter is too old", RB_ERR_IO, RB_API_FAIL},
        {422, "Invalid", "Pod rb-1 is invalid: spec", RB_ERR_INVALID, RB_API_FAIL},
        {400, "BadRequest", "strict decoding error", RB_ERR_INVALID, RB_API_FAIL},
        {429, "TooManyRequests", "slow down", RB_ERR_THROTTLED, RB_API_SLOW_DOWN},
        {503, "ServiceUnavailable", "starting", RB_ERR_THROTTLED, RB_API_SLOW_DOWN},
        {500, "InternalError", "failed calling webhook", RB_ERR_UNKNOWN_OUTCOME, RB_API_RETRY},
        {504, "Timeout", "Timeout: request did not complete", RB_ERR_UNKNOWN_OUTCOME, RB_API_RETRY},
        {500, "", "no reason", RB_ERR_UNKNOWN_OUTCOME, RB_API_RETRY},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        char body[300];
        struct rb_err err = {0};
        snprintf(body, sizeof body,
                 "{\"kind\":\"Status\",\"status\":\"Failure\",\"message\":\"%s\",\"reason\":\"%s\",\"code\":%ld}",
                 cases[i].message, cases[i].reason, cases[i].status);
        if (rb_kube_judge(cases[i].status, body, strlen(body), &err) != cases[i].reaction || err.code != cases[i].code)
            fail_msg("%ld %s: %s: %s", cases[i].status, cases[i].reason, rb_err_code_name(err.code), err.message);
        assert_int_equal(rb_kube_exists_already(&err), strcmp(cases[i].reason, "AlreadyExists") == 0);
        assert_int_equal(rb_kube_is_conflict(&err), strcmp(cases[i].reason, "Conflict") == 0);
        assert_int_equal(rb_kube_is_expired(&err), strcmp(cases[i].reason, "Expired") == 0);
    }
    struct rb_err err = {0};
    assert_int_equal(rb_kube_judge(404, "404 page not found\n", 19, &err), RB_API_FAIL); // an API that is not there
    assert_int_equal(err.code, RB_ERR_NOT_FOUND);
    assert_int_equal(rb_kube_judge(404, "<html>", 6, &err), RB_API_RETRY); // a proxy's proves nothing
    assert_int_equal(err.code, RB_ERR_UNKNOWN_OUTCOME);
    assert_int_equal(rb_kube_judge(502, "<html>", 6, &err), RB_API_RETRY);
    assert_int_equal(err.code, RB_ERR_UNKNOWN_OUTCOME);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pod_has_all_that_was_asked_for),
        cmocka_unit_test(a_job_has_the_pod),
        cmocka_unit_test(a_job_and_its_pods_are_one_node),
        cmocka_unit_test(a_pod_of_a_job_goes_with_the_lease_of_its_run),
        cmocka_unit_test(markets_are_labels_of_nodes),
        cmocka_unit_test(shapes),
        cmocka_unit_test(names_fit),
        cmocka_unit_test(an_anchor_is_read_back),
        cmocka_unit_test(states),
        cmocka_unit_test(a_notice_and_a_fault),
        cmocka_unit_test(the_lease_of_its_run_counts),
        cmocka_unit_test(untrusted_names_are_refused),
        cmocka_unit_test(dropped_fields_are_found),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
