// A type is a list of words: FIELD:FORM. Forms: s string, i integer, b boolean, q quantity, * anything, t instant, a type's name;
// [FORM a list of it, {FORM a map to it.
#include "providers/mock/k8s/schema.h"
#include "base/text/units.h"
#include "providers/mock/k8s/quantity.h"

#include <stdio.h>
#include <string.h>

#define MAX_FORM 64

struct type {
    const char *name, *fields;
};

static const struct type types[] = {
    {"Meta",
     "name:s generateName:s namespace:s labels:{s annotations:{s ownerReferences:[Owner uid:s resourceVersion:s "
     "creationTimestamp:* generation:i managedFields:*"},
    {"Owner", "apiVersion:s kind:s name:s uid:s controller:b blockOwnerDeletion:b"},
    {"Pod", "apiVersion:s kind:s metadata:Meta spec:PodSpec status:*"},
    {"PodSpec",
     "containers:[Container volumes:[Volume restartPolicy:s terminationGracePeriodSeconds:i activeDeadlineSeconds:i "
     "dnsPolicy:s nodeSelector:{s serviceAccountName:s serviceAccount:s automountServiceAccountToken:b nodeName:s "
     "hostNetwork:b hostPID:b hostIPC:b securityContext:PodSecurity imagePullSecrets:[Named hostname:s subdomain:s "
     "schedulerName:s tolerations:[Toleration priorityClassName:s priority:i preemptionPolicy:s enableServiceLinks:b "
     "schedulingGates:[Named shareProcessNamespace:b setHostnameAsFQDN:b runtimeClassName:s os:Named "
     "affinity:Affinity"},
    {"Affinity", "nodeAffinity:NodeAffinity"},
    {"NodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution:NodeSelector"},
    {"NodeSelector", "nodeSelectorTerms:[NodeTerm"},
    {"NodeTerm", "matchExpressions:[NodeExpression"},
    {"NodeExpression", "key:s operator:s values:[s"},
    {"Named", "name:s"},
    {"PodSecurity", "runAsNonRoot:b runAsUser:i runAsGroup:i fsGroup:i fsGroupChangePolicy:s supplementalGroups:[i "
                    "seccompProfile:Profile"},
    {"Profile", "type:s localhostProfile:s"},
    {"Container",
     "name:s image:s command:[s args:[s workingDir:s env:[Env resources:Resources volumeMounts:[Mount ports:[Port "
     "imagePullPolicy:s securityContext:Security stdin:b stdinOnce:b tty:b terminationMessagePath:s "
     "terminationMessagePolicy:s"},
    {"Env", "name:s value:s valueFrom:EnvSource"},
    {"EnvSource", "fieldRef:FieldRef"},
    {"FieldRef", "apiVersion:s fieldPath:s"},
    {"Port", "name:s containerPort:i protocol:s"},
    {"Mount", "name:s mountPath:s readOnly:b subPath:s"},
    {"Resources", "limits:{q requests:{q"},
    {"Security", "allowPrivilegeEscalation:b capabilities:Capabilities privileged:b readOnlyRootFilesystem:b "
                 "runAsNonRoot:b runAsUser:i runAsGroup:i seccompProfile:Profile procMount:s"},
    {"Capabilities", "add:[s drop:[s"},
    {"Volume", "name:s emptyDir:EmptyDir hostPath:HostPath"},
    {"EmptyDir", "medium:s sizeLimit:q"},
    {"HostPath", "path:s type:s"},
    {"Toleration", "key:s operator:s value:s effect:s tolerationSeconds:i"},
    {"Job", "apiVersion:s kind:s metadata:Meta spec:JobSpec status:*"},
    {"JobSpec", "parallelism:i completions:i backoffLimit:i completionMode:s suspend:b podReplacementPolicy:s "
                "podFailurePolicy:FailurePolicy template:PodTemplate"},
    {"FailurePolicy", "rules:[FailureRule"},
    {"FailureRule", "action:s onPodConditions:[FailureCondition"},
    {"FailureCondition", "type:s status:s"},
    {"PodTemplate", "metadata:Meta spec:PodSpec"},
    {"Lease", "apiVersion:s kind:s metadata:Meta spec:LeaseSpec"},
    {"LeaseSpec", "holderIdentity:s leaseDurationSeconds:i acquireTime:t renewTime:t leaseTransitions:i"},
    {"DeleteOptions", "apiVersion:s kind:s gracePeriodSeconds:i propagationPolicy:s preconditions:Preconditions "
                      "orphanDependents:b dryRun:[s"},
    {"Preconditions", "uid:s resourceVersion:s"},
    {"Eviction", "apiVersion:s kind:s metadata:Meta deleteOptions:DeleteOptions"},
    {"SelfSubjectAccessReview", "apiVersion:s kind:s metadata:Meta spec:ReviewSpec status:*"},
    {"ReviewSpec", "resourceAttributes:Attributes nonResourceAttributes:*"},
    {"Attributes", "namespace:s verb:s group:s version:s resource:s subresource:s name:s"},
};

// What is filled in where it was left out.
static const struct {
    const char *type, *field, *json;
} defaults[] = {
    {"JobSpec", "parallelism", "1"},
    {"JobSpec", "completions", "1"},
    {"JobSpec", "backoffLimit", "6"},
    {"JobSpec", "completionMode", "\"NonIndexed\""},
    {"JobSpec", "suspend", "false"},
    {"FailureCondition", "status", "\"True\""},
    {"PodSpec", "restartPolicy", "\"Always\""},
    {"PodSpec", "terminationGracePeriodSeconds", "30"},
    {"PodSpec", "dnsPolicy", "\"ClusterFirst\""},
    {"PodSpec", "schedulerName", "\"default-scheduler\""},
    {"PodSpec", "serviceAccountName", "\"default\""},
    {"PodSpec", "serviceAccount", "\"default\""},
    {"PodSpec", "securityContext", "{}"},
    {"PodSpec", "enableServiceLinks", "true"},
    {"Container", "resources", "{}"},
    {"Container", "imagePullPolicy", "\"IfNotPresent\""},
    {"Container", "terminationMessagePath", "\"/dev/termination-log\""},
    {"Container", "terminationMessagePolicy", "\"File\""},
};

struct writer {
    struct rb_json *json;
    const char *dropped;
    struct rb_k8s_conformance *out;
};

static const struct type *find_type(const char *name)
{
    for (size_t k = 0; k < sizeof types / sizeof *types; k++)
        if (strcmp(types[k].name, name) == 0)
            return &types[k];
    return NULL;
}

// The form of a field; false: the type has no such field.
static bool form_of(const struct type *t, const char *field, char out[static MAX_FORM])
{
    const size_t n = strlen(field);
    for (const char *word = t->fields; word; word = strchr(word, ' ')) {
        word += *word == ' ';
        if (strncmp(word, field, n) == 0 && word[n] == ':') {
            const char *form = word + n + 1;
            snprintf(out, MAX_FORM, "%.*s", (int)strcspn(form, " "), form);
            return true;
        }
    }
    return false;
}

static bool refuse(struct writer *w, const struct rb_node *node, const char *expected)
{
    char path[160];
    snprintf(w->out->refusal, sizeof w->out->refusal, "%s: expected %s", rb_node_path(node, path, sizeof path),
             expected);
    return false;
}

static void note_unknown(struct writer *w, const struct rb_node *node)
{
    if (w->out->n_unknown++ < RB_K8S_MAX_UNKNOWN)
        rb_node_path(node, w->out->unknown[w->out->n_unknown - 1], sizeof w->out->unknown[0]);
}

static bool write_value(struct writer *w, const struct rb_node *node, const char *form);

static bool write_quantity(struct writer *w, const struct rb_node *node)
{
    struct rb_quantity q;
    char text[32];
    if (node->kind != RB_NODE_STRING && node->kind != RB_NODE_INT && node->kind != RB_NODE_FLOAT)
        return refuse(w, node, "a quantity, such as 4, 1500m or 16Gi");
    if (!rb_quantity_parse(node->text, &q))
        return refuse(w, node, "a quantity that matches ^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$");
    rb_json_string(w->json, rb_quantity_format(&q, text));
    return true;
}

// The API's MicroTime takes nothing else.
static bool has_six_decimals(const char *instant)
{
    const char *dot = strchr(instant, '.');
    return dot && strspn(dot + 1, "0123456789") == 6;
}

static bool write_instant(struct writer *w, const struct rb_node *node)
{
    int64_t us;
    if (node->kind != RB_NODE_STRING || !rb_parse_instant(node->text, &us, NULL) || !has_six_decimals(node->text))
        return refuse(w, node, "an instant with six decimals, such as 2026-08-01T12:00:00.000000Z");
    rb_json_string(w->json, node->text);
    return true;
}

static bool write_list(struct writer *w, const struct rb_node *node, const char *form)
{
    if (node->kind != RB_NODE_LIST)
        return refuse(w, node, "a list");
    rb_json_begin_array(w->json);
    for (const struct rb_node *child = node->first; child; child = child->next)
        if (!write_value(w, child, form))
            return false;
    rb_json_end_array(w->json);
    return true;
}

static bool write_map(struct writer *w, const struct rb_node *node, const char *form)
{
    if (node->kind != RB_NODE_MAP)
        return refuse(w, node, "a map");
    rb_json_begin_object(w->json);
    for (const struct rb_node *child = node->first; child; child = child->next) {
        rb_json_key(w->json, child->key);
        if (!write_value(w, child, form))
            return false;
    }
    rb_json_end_object(w->json);
    return true;
}

// What is null is left out, too.
static bool is_given(const struct rb_node *map, const char *field)
{
    const struct rb_node *value = rb_node_member(map, field);
    return value && value->kind != RB_NODE_NULL;
}

static void write_defaults(struct writer *w, const struct type *t, const struct rb_node *node)
{
    for (size_t k = 0; k < sizeof defaults / sizeof *defaults; k++) {
        RB_AUTO(rb_doc_finish) struct rb_doc value = {0};
        if (strcmp(defaults[k].type, t->name) != 0 || is_given(node, defaults[k].field) ||
            !rb_doc_parse_json(&value, "default", defaults[k].json, strlen(defaults[k].json), NULL))
            continue;
        rb_json_key(w->json, defaults[k].field);
        rb_json_node(w->json, value.root);
    }
}

// What is limited and not requested is requested up to the limit.
static bool write_resources(struct writer *w, const struct rb_node *node)
{
    const struct rb_node *limits = rb_node_member(node, "limits"), *requests = rb_node_member(node, "requests");
    rb_json_begin_object(w->json);
    rb_json_key(w->json, "limits");
    if (limits ? !write_map(w, limits, "q") : (rb_json_begin_object(w->json), rb_json_end_object(w->json), false))
        return false;
    if (requests && requests->kind != RB_NODE_MAP)
        return refuse(w, requests, "a map");
    rb_json_kobject(w->json, "requests");
    for (const struct rb_node *child = requests ? requests->first : NULL; child; child = child->next) {
        rb_json_key(w->json, child->key);
        if (!write_quantity(w, child))
            return false;
    }
    for (const struct rb_node *child = limits ? limits->first : NULL; child; child = child->next)
        if (!rb_node_member(requests, child->key)) {
            rb_json_key(w->json, child->key);
            if (!write_quantity(w, child))
                return false;
        }
    rb_json_end_object(w->json);
    rb_json_end_object(w->json);
    return true;
}

static bool is_dropped(const struct writer *w, const struct rb_node *node)
{
    char path[160];
    return w->dropped && strcmp(rb_node_path(node, path, sizeof path), w->dropped) == 0;
}

static bool write_object(struct writer *w, const struct rb_node *node, const struct type *t)
{
    char form[MAX_FORM];
    if (node->kind != RB_NODE_MAP)
        return refuse(w, node, "an object");
    if (strcmp(t->name, "Resources") == 0 && (rb_node_member(node, "limits") || rb_node_member(node, "requests")))
        return write_resources(w, node);
    rb_json_begin_object(w->json);
    for (const struct rb_node *child = node->first; child; child = child->next) {
        if (is_dropped(w, child) || child->kind == RB_NODE_NULL)
            continue;
        if (!form_of(t, child->key, form)) {
            note_unknown(w, child);
            continue;
        }
        rb_json_key(w->json, child->key);
        if (!write_value(w, child, form))
            return false;
    }
    write_defaults(w, t, node);
    rb_json_end_object(w->json);
    return true;
}

static bool write_value(struct writer *w, const struct rb_node *node, const char *form)
{
    static const struct {
        char form;
        enum rb_node_kind kind;
        const char *expected;
    } scalars[] = {
        {'s', RB_NODE_STRING, "a string"}, {'i', RB_NODE_INT, "a whole number"}, {'b', RB_NODE_BOOL, "true or false"}};
    const struct type *t = find_type(form);
    if (t)
        return write_object(w, node, t);
    if (*form == '[')
        return write_list(w, node, form + 1);
    if (*form == '{')
        return write_map(w, node, form + 1);
    if (*form == 'q')
        return write_quantity(w, node);
    if (*form == 't')
        return write_instant(w, node);
    for (size_t k = 0; k < sizeof scalars / sizeof *scalars; k++)
        if (*form == scalars[k].form && node->kind != scalars[k].kind)
            return refuse(w, node, scalars[k].expected);
    rb_json_node(w->json, node);
    return true;
}

bool rb_k8s_conform(const struct rb_node *body, const char *kind, const char *dropped, struct rb_json *json,
                    struct rb_k8s_conformance *out)
{
    struct writer w = {.json = json, .dropped = dropped, .out = out};
    *out = (struct rb_k8s_conformance){0};
    return write_object(&w, body, find_type(kind));
}
