// Source: the API reference of Kubernetes, core/v1 Pod, batch/v1 Job, coordination.k8s.io/v1 Lease, authorization.k8s.io/v1; Pod Security
// Standards, "restricted".
#include "providers/k8s/k8s_encode.h"

#include "base/document/json.h"
#include "base/limits.h"
#include "base/text/number.h"
#include "base/text/pattern.h"
#include "base/text/units.h"
#include "providers/k8s/k8s_markets.h"
#include "providers/wire/digest.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_GRACE_S = 30 };

bool rb_kube_shape(const char *instance_type, int gpus_of_node, struct rb_arena *arena, struct rb_kube_shape *out,
                   struct rb_err *err)
{
    const char *slash = strrchr(instance_type, '/');
    const char *type = rb_arena_printf(arena, "%.*s", slash ? (int)(slash - instance_type) : (int)strlen(instance_type),
                                       instance_type);
    int64_t n = gpus_of_node;
    if (!rb_pattern_matches(type, "^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$") ||
        (slash && !rb_parse_int(slash + 1, &n)) || n < 1 || n > RB_LIMIT_GPUS_PER_NODE)
        return rb_err_set(err, RB_E_K8S_TYPE,
                          "instance type \"%.60s\": expected TYPE, TYPE/GPUS, gpu/N or cpu/N, with a number of GPUs in "
                          "1..%d: correct it in the prices of k8s",
                          instance_type, RB_LIMIT_GPUS_PER_NODE);
    const bool cpu = slash && strcmp(type, "cpu") == 0, any = cpu || (slash && strcmp(type, "gpu") == 0);
    *out = (struct rb_kube_shape){.node_type = any ? NULL : type, .gpus = cpu ? 0 : (int)n, .cpus = cpu ? (int)n : 0};
    return true;
}

// --- names

void rb_kube_label(const char *value, char out[static 64])
{
    char hex[65];
    if (rb_pattern_matches(value, "^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$")) {
        snprintf(out, 64, "%s", value);
        return;
    }
    rb_digest_sha256(value, strlen(value), hex);
    snprintf(out, 64, "%.40s", hex);
}

static const char *const prefixes[] = {[RB_KUBERNETES_AS_POD] = "rb-", [RB_KUBERNETES_AS_JOB] = "rbj-"};

void rb_kube_name(enum rb_kubernetes_as as, const char *token, int member, char out[static 64])
{
    char hex[65];
    rb_digest_sha256(token, strlen(token), hex);
    snprintf(out, 64, "%s%.20s-%d", prefixes[as], hex, member);
}

enum rb_kubernetes_as rb_kube_as_of(const char *name)
{
    const char *job = prefixes[RB_KUBERNETES_AS_JOB];
    return strncmp(name, job, strlen(job)) == 0 ? RB_KUBERNETES_AS_JOB : RB_KUBERNETES_AS_POD;
}

void rb_kube_anchor_name(const char *run_id, char out[static 64])
{
    char hex[65];
    if (strlen(run_id) < 60 && rb_pattern_matches(run_id, "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")) {
        snprintf(out, 64, "rb-%s", run_id);
        return;
    }
    rb_digest_sha256(run_id, strlen(run_id), hex);
    snprintf(out, 64, "rb-%.40s", hex);
}

// --- quantities: written as the API server would write them back

static void put_quantity(struct rb_json *j, const char *key, int64_t n)
{
    static const char *const suffixes[] = {"", "k", "M", "G", "T", "P"};
    char text[32];
    size_t i = 0;
    for (; n > 0 && n % 1000 == 0 && i + 1 < sizeof suffixes / sizeof *suffixes; i++)
        n /= 1000;
    snprintf(text, sizeof text, "%" PRId64 "%s", n, suffixes[i]);
    if (n > 0)
        rb_json_kstring(j, key, text);
}

static int64_t memory_of(const struct rb_kube_shape *shape, const struct rb_kubernetes_spec *spec)
{
    return shape->cpus ? spec->memory_per_cpu_bytes * shape->cpus : spec->memory_per_gpu_bytes * shape->gpus;
}

static void put_resources(struct rb_json *j, const struct rb_launch *l, const struct rb_kube_shape *shape,
                          const struct rb_kubernetes_spec *spec)
{
    rb_json_kobject(j, "resources");
    rb_json_kobject(j, "requests");
    put_quantity(j, "cpu", shape->cpus ? shape->cpus : (int64_t)spec->cpus_per_gpu * shape->gpus);
    put_quantity(j, "memory", memory_of(shape, spec));
    put_quantity(j, "ephemeral-storage", l->disk_gb * INT64_C(1000000000));
    put_quantity(j, "nvidia.com/gpu", shape->gpus);
    rb_json_end_object(j);
    rb_json_kobject(j, "limits");
    put_quantity(j, "nvidia.com/gpu", shape->gpus);
    rb_json_end_object(j);
    rb_json_end_object(j);
}

// --- the pod

char *rb_kube_key(const char *tag_key, char out[static RB_KUBE_KEY_BYTES])
{
    const char *own = strchr(tag_key, ':');
    snprintf(out, RB_KUBE_KEY_BYTES, "rb.%s", own ? own + 1 : "name"); // all have our prefix, but the name
    return out;
}

// Values as they are in annotations; labels, which listings search, may shorten theirs.
static void put_tags(struct rb_json *j, const struct rb_launch *l, int member, const struct rb_kubernetes_spec *spec)
{
    const struct rb_tags short_ones = {.owner = l->tags.owner, .run_id = l->tags.run_id, .launch_id = l->tags.launch_id};
    struct rb_tag labels[RB_TAGS], originals[RB_TAGS];
    const int n_labels = rb_tags_list(&short_ones, labels), n_originals = rb_tags_list(&l->tags, originals);
    char name[64], value[64], key[RB_KUBE_KEY_BYTES];
    rb_kube_name(spec->as, l->token, member, name);
    rb_json_put(j, "labels: {");
    for (int i = 0; i < n_labels; i++) {
        rb_kube_label(labels[i].value, value);
        rb_json_kstring(j, rb_kube_key(labels[i].key, key), value);
    }
    // The pods of a launch are admitted together. A group has a Workload of its name, by which its end is seen.
    if (spec->queue)
        rb_json_put(j, "'kueue.x-k8s.io/queue-name': %s, '" RB_KUBE_GROUP "': '%.*s'", spec->queue,
                    (int)(strrchr(name, '-') - name), name);
    rb_json_put(j, "}, annotations: {");
    if (spec->queue)
        rb_json_put(j, "'kueue.x-k8s.io/pod-group-total-count': '%d'", rb_launch_count(l));
    for (int i = 0; i < n_originals; i++)
        rb_json_kstring(j, rb_kube_key(originals[i].key, key), originals[i].value);
    rb_json_put(j,
                "'rb.token': %s, 'rb.member': '%d', 'rb.instance-type': %s, 'rb.market': %s, "
                "'karpenter.sh/do-not-disrupt': 'true', 'cluster-autoscaler.kubernetes.io/safe-to-evict': 'false'}",
                l->token, member, l->instance_type, rb_market_name(l->market));
}

static void put_metadata(struct rb_json *j, const struct rb_launch *l, int member,
                         const struct rb_kubernetes_spec *spec, const struct rb_kube_anchor *anchor)
{
    char name[64];
    rb_kube_name(spec->as, l->token, member, name);
    rb_json_put(j, "metadata: {name: %s", name);
    put_tags(j, l, member, spec);
    rb_json_put(j,
                "ownerReferences: [{apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', name: %s, uid: %s}]}",
                anchor->name, anchor->uid);
}

static void put_placement(struct rb_json *j, enum rb_market market, const struct rb_kube_shape *shape,
                          const struct rb_kubernetes_spec *spec)
{
    if (shape->node_type || spec->n_node_selector) {
        rb_json_put(j, "nodeSelector: {'node.kubernetes.io/instance-type': %s", shape->node_type);
        for (int i = 0; i < spec->n_node_selector; i++)
            rb_json_kstring(j, spec->node_selector[i].key, spec->node_selector[i].value);
        rb_json_put(j, "}");
    }
    rb_kube_put_market(j, market, spec);
    rb_json_put(j, "tolerations: [");
    rb_kube_put_market_toleration(j, market);
    if (shape->gpus)
        rb_json_put(j, "{key: 'nvidia.com/gpu', operator: 'Exists', effect: 'NoSchedule'}");
    for (int i = 0; i < spec->n_tolerations; i++)
        rb_json_put(j, "{key: %s, operator: %s, value: %s, effect: %s}", spec->tolerations[i].key,
                    spec->tolerations[i].operator, spec->tolerations[i].value, spec->tolerations[i].effect);
    rb_json_put(j, "]");
    if (spec->priority_class)
        rb_json_kstring(j, "priorityClassName", spec->priority_class);
    if (spec->service_account)
        rb_json_kstring(j, "serviceAccountName", spec->service_account);
    rb_json_put(j, "imagePullSecrets: [");
    for (int i = 0; i < spec->image_pull_secrets.n; i++)
        rb_json_put(j, "{name: %s}", spec->image_pull_secrets.items[i]);
    rb_json_put(j, "]");
}

static void put_container(struct rb_json *j, const struct rb_launch *l, const struct rb_kube_shape *shape,
                          const struct rb_kubernetes_spec *spec)
{
    // uid 1000 has no passwd entry in most images: getuser() and the like look at USER.
    rb_json_put(
        j,
        "containers: [{name: %s, image: %s, command: ['/bin/sh', '-c', %s], workingDir: %s, env: [{name: 'HOME', "
        "value: %s}, {name: 'USER', value: 'rb'}, {name: 'LOGNAME', value: 'rb'}, {name: 'RB_POD_UID', "
        "valueFrom: {fieldRef: {fieldPath: 'metadata.uid'}}}], ",
        RB_KUBE_CONTAINER, l->image_id, l->user_data ? l->user_data : "", RB_KUBE_HOME, RB_KUBE_HOME);
    put_resources(j, l, shape, spec);
    rb_json_put(
        j,
        "securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: ['ALL']}}, volumeMounts: [{name: "
        "'home', mountPath: %s}, {name: 'shm', mountPath: '/dev/shm'}]}]",
        RB_KUBE_HOME);
    rb_json_put(j, "volumes: [{name: 'home', emptyDir: {}}, {name: 'shm', emptyDir: {medium: 'Memory'");
    put_quantity(j, "sizeLimit", spec->shm_bytes);
    rb_json_put(j, "}}]");
}

static void put_pod_spec(struct rb_json *j, const struct rb_launch *l, const struct rb_kube_shape *shape,
                         const struct rb_kubernetes_spec *spec)
{
    const int64_t grace_s = spec->grace_us ? (spec->grace_us + RB_US_PER_S - 1) / RB_US_PER_S : DEFAULT_GRACE_S;
    rb_json_put(j, "spec: {restartPolicy: 'Never', terminationGracePeriodSeconds: %jd", grace_s);
    if (l->max_lifetime_s > 0)
        rb_json_kint(j, "activeDeadlineSeconds", l->max_lifetime_s);
    rb_json_put(j,
                "automountServiceAccountToken: %i, enableServiceLinks: false, securityContext: {runAsNonRoot: true, "
                "runAsUser: 1000, runAsGroup: 1000, fsGroup: 1000, seccompProfile: {type: 'RuntimeDefault'}}",
                l->is_controller);
    put_placement(j, l->market, shape, spec);
    put_container(j, l, shape, spec);
    rb_json_put(j, "}");
}

// A Job replaces what was deleted, while it still ends, unless podReplacementPolicy says that only what has ended counts;
// then it has failed once, and backoffLimit forbids another. One that the cluster takes back fails the Job at once.
static void put_job_spec(struct rb_json *j, const struct rb_launch *l, int member, const struct rb_kube_shape *shape,
                         const struct rb_kubernetes_spec *spec)
{
    rb_json_put(j, "spec: {parallelism: 1, completions: 1, backoffLimit: 0, podReplacementPolicy: 'Failed', podFailurePolicy: "
                   "{rules: [{action: 'FailJob', onPodConditions: [{type: 'DisruptionTarget', status: 'True'}]}]}, template: "
                   "{metadata: {");
    put_tags(j, l, member, spec);
    rb_json_put(j, "}");
    put_pod_spec(j, l, shape, spec);
    rb_json_put(j, "}}");
}

void rb_kube_write_node(const struct rb_launch *l, int member, const struct rb_kube_shape *shape,
                        const struct rb_kubernetes_spec *spec, const struct rb_kube_anchor *anchor, struct rb_buf *out)
{
    struct rb_json j;
    rb_json_init(&j, out, false);
    if (spec->as == RB_KUBERNETES_AS_JOB)
        rb_json_put(&j, "{apiVersion: 'batch/v1', kind: 'Job'");
    else
        rb_json_put(&j, "{apiVersion: 'v1', kind: 'Pod'");
    put_metadata(&j, l, member, spec, anchor);
    if (spec->as == RB_KUBERNETES_AS_JOB)
        put_job_spec(&j, l, member, shape, spec);
    else
        put_pod_spec(&j, l, shape, spec);
    rb_json_put(&j, "}");
}

// --- the others

// The API's micro time: RFC 3339 with exactly six decimals.
static void micro_time(int64_t us, char out[static 64])
{
    char whole[32];
    rb_format_instant(us / RB_US_PER_S * RB_US_PER_S, whole);
    snprintf(out, 64, "%.*s.%06" PRId64 "Z", (int)strcspn(whole, "Z"), whole, us % RB_US_PER_S);
}

void rb_kube_write_anchor(const char *name, const char *run_id, const char *owner, const struct rb_kube_version *renewed,
                          int64_t now_us, int64_t until_us, struct rb_buf *out)
{
    char run_label[64], owner_label[64], now[64];
    struct rb_json j;
    rb_kube_label(run_id, run_label);
    rb_kube_label(owner, owner_label);
    micro_time(now_us, now);
    const int64_t left_s = (until_us - now_us + RB_US_PER_S - 1) / RB_US_PER_S;
    rb_json_init(&j, out, false);
    rb_json_put(
        &j,
        "{apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: {name: %s, uid: %s, resourceVersion: %s, labels: "
        "{'rb.run-id': %s, 'rb.owner': %s}, annotations: {'rb.run-id': %s, 'rb.owner': %s}}, spec: "
        "{holderIdentity: %s, leaseDurationSeconds: %jd, renewTime: %s}}",
        name, renewed ? renewed->uid : NULL, renewed ? renewed->resource_version : NULL, run_label, owner_label, run_id, owner, owner, left_s > 1 ? left_s : INT64_C(1), now);
}

void rb_kube_write_deletion(const char *uid, int grace_s, struct rb_buf *out)
{
    struct rb_json j;
    rb_json_init(&j, out, false);
    rb_json_put(&j, "{apiVersion: 'v1', kind: 'DeleteOptions'");
    if (grace_s > 0)
        rb_json_kint(&j, "gracePeriodSeconds", grace_s);
    rb_json_put(&j, "preconditions: {uid: %s}, propagationPolicy: 'Background'}", uid);
}

void rb_kube_write_question(const struct rb_kube_right *r, const char *namespace, struct rb_buf *out)
{
    struct rb_json j;
    rb_json_init(&j, out, false);
    rb_json_put(&j,
                "{apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview', spec: {resourceAttributes: "
                "{namespace: %s, group: %s, resource: %s, subresource: %s, verb: %s}}}",
                namespace, r->group, r->resource, r->subresource, r->verb);
}
