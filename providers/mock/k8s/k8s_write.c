// Objects as JSON.
#include "providers/mock/k8s/k8s_state.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void rb_k8s_instant(struct rb_json *j, const char *key, int64_t unix_us)
{
    char text[32];
    if (unix_us >= 0)
        rb_json_kstring(j, key, rb_format_instant(unix_us - unix_us % RB_US_PER_S, text));
}

static void write_member(struct rb_json *j, const char *key, const struct rb_node *node)
{
    if (!node)
        return;
    rb_json_key(j, key);
    rb_json_node(j, node);
}

void rb_k8s_begin_meta(struct rb_json *j, const char *space, const char *name, const char *uid, uint64_t version,
                       int64_t created_us)
{
    rb_json_kobject(j, "metadata");
    rb_json_put(j, "name: %s, namespace: %s, uid: %s", name, space, uid);
    if (version) // a dry run has none
        rb_json_put(j, "resourceVersion: '%ju'", (uintmax_t)version);
    rb_k8s_instant(j, "creationTimestamp", created_us);
}

// --- pods ---

static void write_toleration(struct rb_json *j, const char *key)
{
    rb_json_put(j, "{key: %s, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300}", key);
}

// With what admission adds, and the machine.
static void write_spec(const struct rb_k8s_pod *p, const char *sidecar, struct rb_json *j)
{
    rb_json_kobject(j, "spec");
    for (const struct rb_node *c = p->spec->first; c; c = c->next)
        if (strcmp(c->key, "tolerations") != 0 && strcmp(c->key, "schedulingGates") != 0 &&
            strcmp(c->key, "containers") != 0)
            write_member(j, c->key, c);
    rb_json_karray(j, "containers");
    if (sidecar)
        rb_json_put(j, "{name: %s, image: 'sidecar', resources: {}}", sidecar);
    rb_json_node(j, rb_node_first(rb_node_member(p->spec, "containers")));
    rb_json_end_array(j);
    rb_json_karray(j, "tolerations");
    for (const struct rb_node *t = rb_node_first(rb_node_member(p->spec, "tolerations")); t; t = t->next)
        rb_json_node(j, t);
    write_toleration(j, "node.kubernetes.io/not-ready");
    write_toleration(j, "node.kubernetes.io/unreachable");
    rb_json_end_array(j);
    if (p->is_gated)
        rb_json_put(j, "schedulingGates: [{name: 'kueue.x-k8s.io/admission'}]");
    if (p->scheduled_us >= 0)
        rb_json_kstring(j, "nodeName", p->machine->name);
    rb_json_end_object(j);
}

static void write_text(struct rb_json *j, const char *key, const char *text)
{
    if (text)
        rb_json_kstring(j, key, text);
}

static void write_condition(struct rb_json *j, const char *type, const char *status, int64_t since_us,
                            const char *reason, const char *message)
{
    rb_json_put(j, "{type: %s, status: %s, lastProbeTime: null", type, status);
    rb_k8s_instant(j, "lastTransitionTime", since_us);
    write_text(j, "reason", reason);
    write_text(j, "message", message);
    rb_json_put(j, "}");
}

static void write_conditions(const struct rb_k8s_pod *p, struct rb_json *j)
{
    const bool ready = p->container.started_us >= 0 && !rb_k8s_has_ended(p) && !p->reason;
    const bool unknown = p->is_silent && p->due_us[RB_K8S_DUE_SILENT] == INT64_MAX;
    const int64_t since_us = p->scheduled_us >= 0 ? p->scheduled_us : p->created_us;
    if (p->scheduled_us < 0 && !p->was_tried && !p->is_gated && !p->disruption)
        return; // no one has looked at it yet
    rb_json_karray(j, "conditions");
    if (p->disruption)
        write_condition(j, "DisruptionTarget", "True", p->disruption_us, p->disruption, p->disruption_message);
    if (p->scheduled_us >= 0)
        write_condition(j, "Initialized", "True", since_us, NULL, NULL);
    write_condition(j, "PodScheduled", p->scheduled_us >= 0 ? "True" : "False", since_us,
                    p->is_gated           ? "SchedulingGated"
                    : p->scheduled_us < 0 ? "Unschedulable"
                                          : NULL,
                    p->is_gated           ? "Scheduling is blocked due to non-empty scheduling gates"
                    : p->scheduled_us < 0 ? "0 nodes are available: Insufficient nvidia.com/gpu."
                                          : NULL);
    if (p->scheduled_us >= 0) {
        write_condition(j, "ContainersReady", ready ? "True" : "False", since_us, ready ? NULL : "ContainersNotReady",
                        NULL);
        write_condition(j, "Ready", !ready || unknown ? "False" : "True", since_us,
                        unknown ? "NodeNotReady"
                        : ready ? NULL
                                : "ContainersNotReady",
                        NULL);
    }
    rb_json_end_array(j);
}

static void write_container(const struct rb_k8s_pod *p, struct rb_json *j)
{
    const struct rb_k8s_container *c = &p->container;
    const struct rb_node *spec = rb_node_first(rb_node_member(p->spec, "containers"));
    const bool runs = c->started_us >= 0 && c->finished_us < 0;
    rb_json_put(j, "{name: %s, image: %s, imageID: %s, containerID: '%s%s', restartCount: 0, ready: %i, started: %i",
                rb_node_member_text(spec, "name"), rb_node_member_text(spec, "image"), c->image_id,
                c->started_us >= 0 ? "containerd://" : "", c->started_us >= 0 ? p->uid : "", runs, runs);
    rb_json_put(j, "lastState: {}, state: {");
    if (c->finished_us >= 0 && c->started_us >= 0) {
        rb_json_put(j, "terminated: {exitCode: %d, reason: %s", c->exit_code,
                    c->waiting_message  ? "StartError"
                    : c->exit_code == 0 ? "Completed"
                                        : "Error");
        write_text(j, "message", c->waiting_message);
        rb_k8s_instant(j, "startedAt", c->started_us);
        rb_k8s_instant(j, "finishedAt", c->finished_us);
        rb_json_put(j, "containerID: 'containerd://%s'}", p->uid);
    } else if (runs) {
        rb_json_put(j, "running: {");
        rb_k8s_instant(j, "startedAt", c->started_us);
        rb_json_put(j, "}");
    } else {
        rb_json_put(j, "waiting: {reason: %s, message: %s}", c->waiting ? c->waiting : "ContainerCreating",
                    c->waiting_message);
    }
    rb_json_put(j, "}}");
}

// It runs from the pod's first container on, and never ends by itself.
static void write_sidecar(const struct rb_k8s_pod *p, const char *name, struct rb_json *j)
{
    rb_json_put(j, "{name: %s, image: 'sidecar', imageID: 'sidecar', restartCount: 0, ready: %i, started: %i, state: {",
                name, p->container.started_us >= 0, p->container.started_us >= 0);
    rb_json_put(j, p->container.started_us >= 0 ? "running: {" : "waiting: {reason: 'ContainerCreating'");
    rb_k8s_instant(j, "startedAt", p->container.started_us);
    rb_json_put(j, "}}}");
}

static void write_status(const struct rb_k8s_pod *p, const char *sidecar, struct rb_json *j)
{
    rb_json_put(j, "status: {phase: %s, qosClass: 'Burstable', reason: %s, message: %s",
                rb_k8s_has_ended(p) && sidecar ? "Running" : rb_k8s_phase(p), p->reason, p->message);
    write_conditions(p, j);
    if (p->scheduled_us >= 0) {
        struct in_addr address = {.s_addr = htonl(p->instance->address)};
        const char *ip = inet_ntoa(address);
        rb_k8s_instant(j, "startTime", p->scheduled_us);
        rb_json_put(j, "hostIP: '127.0.0.1', podIP: %s, podIPs: [{ip: %s}], containerStatuses: [", ip, ip);
        if (sidecar)
            write_sidecar(p, sidecar, j);
        write_container(p, j);
        rb_json_put(j, "]");
    }
    rb_json_put(j, "}");
}

// In a list the objects have neither kind nor version.
void rb_k8s_begin_object(struct rb_json *j, const char *version, const char *kind, bool is_item)
{
    rb_json_put(j, "{");
    if (!is_item)
        rb_json_put(j, "apiVersion: %s, kind: %s", version, kind);
}

void rb_k8s_write_pod(const struct rb_k8s_pod *p, const struct rb_mock_k8s *k, bool is_item, struct rb_json *j)
{
    rb_k8s_begin_object(j, "v1", "Pod", is_item);
    rb_k8s_begin_meta(j, k->config->space, p->name, p->uid, p->version, p->created_us);
    write_member(j, "labels", p->labels);
    write_member(j, "annotations", p->annotations);
    write_member(j, "ownerReferences", p->owners);
    if (p->is_managed)
        rb_json_put(j, "finalizers: ['kueue.x-k8s.io/managed']");
    if (p->deletion_us >= 0) {
        rb_k8s_instant(j, "deletionTimestamp", p->deletion_us);
        rb_json_kint(j, "deletionGracePeriodSeconds", p->grace_us / RB_US_PER_S);
    }
    rb_json_end_object(j);
    write_spec(p, k->config->sidecar, j);
    write_status(p, k->config->sidecar, j);
    rb_json_put(j, "}");
}

// --- the others ---

void rb_k8s_write_lease(const struct rb_k8s_lease *l, const struct rb_mock_k8s *k, bool is_item, struct rb_json *j)
{
    rb_k8s_begin_object(j, "coordination.k8s.io/v1", "Lease", is_item);
    rb_k8s_begin_meta(j, k->config->space, l->name, l->uid, l->version, l->created_us);
    write_member(j, "labels", l->labels);
    write_member(j, "annotations", l->annotations);
    rb_json_end_object(j);
    write_member(j, "spec", l->spec);
    rb_json_put(j, "}");
}

void rb_k8s_write_event(const struct rb_k8s_event *e, const struct rb_mock_k8s *k, struct rb_json *j)
{
    rb_json_put(j, "{");
    rb_k8s_begin_meta(j, k->config->space, e->name, e->name, e->version, e->first_us);
    rb_json_end_object(j);
    rb_json_put(j,
                "involvedObject: {kind: %s, apiVersion: %s, namespace: %s, name: %s, uid: %s}, type: %s, "
                "reason: %s, message: %s, count: %d, source: {component: %s}",
                e->of.kind, e->of.api_version, k->config->space, e->of.name, e->of.uid, e->type, e->reason, e->message,
                e->count, e->source);
    rb_k8s_instant(j, "firstTimestamp", e->first_us);
    rb_k8s_instant(j, "lastTimestamp", e->last_us);
    rb_json_put(j, "}");
}

// "aws:///us-east-1a/i-node-0", "gce://mock/us-central1-a/node-0"
static void write_provider_id(const struct rb_k8s_machine *m, const char *place, struct rb_json *j)
{
    const char *zone = place ? strrchr(place, '/') + 1 : NULL;
    if (!place)
        rb_json_put(j, "providerID: 'rbmock:///%s'", m->name);
    else if (strncmp(place, "gcp/", 4) == 0)
        rb_json_put(j, "providerID: 'gce://mock/%s/%s'", zone, m->name);
    else
        rb_json_put(j, "providerID: 'aws:///%s/i-%s'", zone, m->name);
}

void rb_k8s_write_machine(const struct rb_k8s_machine *m, const char *place, int minor, struct rb_json *j)
{
    char since[32], version[24];
    snprintf(version, sizeof version, "v1.%d.0-rbmock", minor);
    const bool spot = m->offer->market == RB_MARKET_SPOT, cpu = strcmp(m->offer->accelerator, "CPU") == 0;
    rb_json_put(j,
                "{metadata: {name: %s, uid: %s, creationTimestamp: %s, labels: {"
                "node.kubernetes.io/instance-type: %s, karpenter.sh/capacity-type: %s, nvidia.com/gpu.product: %s, "
                "kubernetes.io/hostname: %s}}, spec: {",
                m->name, m->name, rb_format_instant(m->ready_us - m->ready_us % RB_US_PER_S, since), m->offer->instance_type, spot ? "spot" : "on-demand", m->offer->accelerator, m->name);
    write_provider_id(m, place, j);
    if (!cpu)
        rb_json_put(j, "taints: [{key: 'nvidia.com/gpu', value: 'present', effect: 'NoSchedule'}]");
    rb_json_put(j,
                "}, status: {capacity: {cpu: '%d', memory: '%dG', nvidia.com/gpu: '%d'}, conditions: ["
                "{type: 'Ready', status: %s}], nodeInfo: {machineID: '', systemUUID: '', bootID: '', kernelVersion: '', osImage: "
                "'this machine', containerRuntimeVersion: 'rbmock://0', kubeletVersion: %s, kubeProxyVersion: %s, operatingSystem: "
                "'linux', architecture: 'amd64'}}}",
                (int)m->offer->vcpus, (int)m->offer->memory_gb, cpu ? 0 : m->offer->gpus,
                m->is_dead ? "Unknown" : "True", version, version);
}

// --- the container ---

static const char *const *read_words(const struct rb_node *list, const struct rb_node *more, struct rb_arena *arena)
{
    const int n = (list ? list->n_children : 0) + (more ? more->n_children : 0);
    const char **words = rb_arena_array(arena, (size_t)n + 1, sizeof *words);
    int at = 0;
    for (const struct rb_node *c = rb_node_first(list); c; c = c->next)
        words[at++] = c->text;
    for (const struct rb_node *c = rb_node_first(more); c; c = c->next)
        words[at++] = c->text;
    return words;
}

// The downward API: admission lets no other field pass.
static const char *field_of(const struct rb_k8s_pod *p, const struct rb_node *env)
{
    const char *path = rb_node_member_text(rb_node_member(rb_node_member(env, "valueFrom"), "fieldRef"), "fieldPath");
    return strcmp(path, "metadata.uid") == 0 ? p->uid : p->name;
}

static bool has_account(const struct rb_mock_k8s *k, const struct rb_k8s_pod *p)
{
    bool wanted = false;
    const struct rb_node *n = rb_node_member(p->spec, "automountServiceAccountToken");
    return k->account_dir && n && rb_node_bool(n, &wanted, NULL) && wanted;
}

static const char *const *read_env(const struct rb_mock_k8s *k, const struct rb_k8s_pod *p, const struct rb_node *list,
                                   struct rb_arena *arena)
{
    const char **env = rb_arena_array(arena, (size_t)(list ? list->n_children : 0) + 6, sizeof *env);
    int n = 0;
    env[n++] = rb_arena_printf(arena, "HOSTNAME=%s", p->name);
    env[n++] = "HOME=/";
    if (has_account(k, p)) {
        env[n++] = "KUBERNETES_SERVICE_HOST=127.0.0.1";
        env[n++] = rb_arena_printf(arena, "KUBERNETES_SERVICE_PORT=%d", k->account_port);
        env[n++] = "RB_TEST_SERVICE_ACCOUNT=" RB_K8S_ACCOUNT_PATH;
    }
    for (const struct rb_node *c = rb_node_first(list); c; c = c->next) {
        const char *name = rb_node_member_text(c, "name");
        const size_t length = strlen(name);
        int at = 0;
        while (at < n && (strncmp(env[at], name, length) != 0 || env[at][length] != '='))
            at++;
        const char *value = rb_node_member(c, "valueFrom") ? field_of(p, c) : rb_node_member_text(c, "value");
        env[at] = rb_arena_printf(arena, "%s=%s", name, value);
        n += at == n;
    }
    return env;
}

void rb_k8s_read_start(const struct rb_mock_k8s *k, const struct rb_k8s_pod *p, struct rb_arena *arena,
                       struct rb_pod_start *out)
{
    const struct rb_node *c = rb_node_first(rb_node_member(p->spec, "containers"));
    const struct rb_node *mounts = rb_node_member(c, "volumeMounts");
    struct rb_pod_volume *volumes =
        rb_arena_array(arena, (size_t)(mounts ? mounts->n_children : 0) + 2, sizeof *volumes);
    const char *workdir = rb_node_member_text(c, "workingDir");
    *out = (struct rb_pod_start){.id = p->uid,
                                 .argv = read_words(rb_node_member(c, "command"), rb_node_member(c, "args"), arena),
                                 .env = read_env(k, p, rb_node_member(c, "env"), arena),
                                 .workdir = *workdir ? workdir : "/",
                                 .volumes = volumes};
    for (const struct rb_node *m = rb_node_first(mounts); m; m = m->next)
        volumes[out->n_volumes++].path = rb_node_member_text(m, "mountPath");
    if (has_account(k, p))
        volumes[out->n_volumes++] = (struct rb_pod_volume){RB_K8S_ACCOUNT_PATH, k->account_dir};
}
