// Source of the forms of names: "Object Names and IDs" and "Labels and Selectors" in the Kubernetes documentation.
#include "profiles/job/job_kubernetes.h"

#include "base/limits.h"
#include "base/text/closest.h"
#include "base/text/pattern.h"
#include "base/text/units.h"
#include "profiles/job/job_names.h"
#include "profiles/job/job_resources.h"
#include "profiles/job/keys.h"

#include <string.h>

#define MAX_CPUS_PER_GPU 1024 // more than any node has
#define MAX_UUSD_PER_HOUR (10000 * RB_UUSD)
#define MAX_GRACE_US     (INT64_C(3600) * RB_US_PER_S)

static const char object_name[] = "^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$";
static const char label_value[] = "^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$";

static bool read_name(struct rb_map *m, const char *key, struct rb_arena *arena, const char **out, struct rb_err *err)
{
    if (!rb_keys_text(m, key, NULL, arena, out, err))
        return false;
    return !*out || rb_pattern_matches(*out, object_name) ||
           rb_node_refuse(rb_map_get(m, key), err, RB_E_TEXT_FORM,
                          "expected the name of a Kubernetes object (lower case, digits, - and .), got \"%.60s\"",
                          *out);
}

static bool read_selector(const struct rb_node *node, struct rb_arena *arena, struct rb_kubernetes_spec *s,
                          struct rb_err *err)
{
    struct rb_map m;
    if (!node)
        return true;
    if (!rb_map_begin(&m, node, err))
        return false;
    struct rb_key_value *labels = rb_arena_array(arena, (size_t)node->n_children, sizeof *labels);
    for (const struct rb_node *child = node->first; child; child = child->next) {
        struct rb_key_value *label = &labels[s->n_node_selector++];
        const char *value;
        if (!rb_node_string(child, &value, err))
            return false;
        if (!rb_pattern_matches(value, label_value))
            return rb_node_refuse(child, err, RB_E_TEXT_FORM, "expected the value of a node's label, got \"%.60s\"",
                                  value);
        *label = (struct rb_key_value){rb_arena_strdup(arena, child->key), rb_arena_strdup(arena, value)};
    }
    s->node_selector = labels;
    return true;
}

static bool read_toleration(const struct rb_node *node, struct rb_arena *arena, struct rb_toleration *out,
                            struct rb_err *err)
{
    static const char *const keys[] = {"key", "operator", "value", "effect", NULL};
    static const char *const operators[] = {"Exists", "Equal", NULL};
    static const char *const effects[] = {"NoSchedule", "PreferNoSchedule", "NoExecute", NULL};
    struct rb_map m;
    if (!rb_keys_begin(&m, node, keys, err) || !rb_keys_text(&m, "key", NULL, arena, &out->key, err) ||
        !rb_keys_text(&m, "operator", NULL, arena, &out->operator, err) ||
        !rb_keys_text(&m, "value", NULL, arena, &out->value, err) ||
        !rb_keys_text(&m, "effect", NULL, arena, &out->effect, err))
        return false;
    if (out->operator&& !rb_is_one_of(out->operator, operators))
        return rb_node_refuse(rb_map_get(&m, "operator"), err, RB_E_TEXT_FORM, "expected Exists or Equal");
    return !out->effect || rb_is_one_of(out->effect, effects) ||
           rb_node_refuse(rb_map_get(&m, "effect"), err, RB_E_TEXT_FORM,
                          "expected NoSchedule, PreferNoSchedule or NoExecute");
}

static bool read_tolerations(const struct rb_node *node, struct rb_arena *arena, struct rb_kubernetes_spec *s,
                             struct rb_err *err)
{
    if (!node)
        return true;
    if (!rb_node_list(node, err))
        return false;
    struct rb_toleration *all = rb_arena_array(arena, (size_t)node->n_children, sizeof *all);
    for (const struct rb_node *child = node->first; child; child = child->next)
        if (!read_toleration(child, arena, &all[s->n_tolerations++], err))
            return false;
    s->tolerations = all;
    return true;
}

// 0 is a price here: the cluster is ours.
static bool read_price(struct rb_map *m, struct rb_kubernetes_spec *s, struct rb_err *err)
{
    s->has_price = rb_keys_given(m, "price_per_gpu_hour") != NULL;
    if (!rb_keys_money(m, "price_per_gpu_hour", 0, &s->uusd_per_gpu_hour, err))
        return false;
    return s->uusd_per_gpu_hour <= MAX_UUSD_PER_HOUR ||
           rb_node_refuse(rb_map_get(m, "price_per_gpu_hour"), err, RB_E_OUT_OF_RANGE, "expected at most 10000");
}

static bool read_times(struct rb_map *m, struct rb_kubernetes_spec *s, struct rb_err *err)
{
    if (!rb_keys_duration(m, "grace", 0, &s->grace_us, err) ||
        !rb_keys_duration(m, "queue_timeout", 0, &s->queue_timeout_us, err) ||
        !rb_keys_duration(m, "release", 0, &s->release_us, err))
        return false;
    if (s->release_us > RB_LIMIT_RELEASE_S * RB_US_PER_S)
        return rb_node_refuse(rb_map_get(m, "release"), err, RB_E_OUT_OF_RANGE, "expected at most 1d");
    return s->grace_us <= MAX_GRACE_US ||
           rb_node_refuse(rb_map_get(m, "grace"), err, RB_E_OUT_OF_RANGE, "expected at most 1h");
}

// Kueue admits Jobs one by one, each with a Workload of its own.
static bool read_as(struct rb_map *m, struct rb_kubernetes_spec *s, struct rb_err *err)
{
    int as;
    if (!rb_keys_choice(m, "as", rb_kubernetes_as_names, rb_names_count(rb_kubernetes_as_names), RB_KUBERNETES_AS_POD,
                        &as, err))
        return false;
    s->as = (enum rb_kubernetes_as)as;
    return s->as == RB_KUBERNETES_AS_POD || !s->queue ||
           rb_node_refuse(rb_map_get(m, "as"), err, RB_E_K8S_JOB_QUEUE,
                          "with queue the nodes of a launch are admitted together, which Jobs are not: remove one of the two");
}

bool rb_job_kubernetes_read(const struct rb_node *node, struct rb_arena *arena, struct rb_kubernetes_spec *out,
                            struct rb_err *err)
{
    static const char *const keys[] = {"context",         "namespace",
                                       "as",              "queue",
                                       "node_selector",
                                       "tolerations",     "priority_class",
                                       "service_account", "image_pull_secrets",
                                       "cpus_per_gpu",    "memory_per_gpu",
                                       "shm_size",        "grace",
                                       "queue_timeout",   "release",
                                       "price_per_gpu_hour", NULL};
    struct rb_kubernetes_spec s = {0};
    struct rb_map m;
    if (!node) {
        *out = s;
        return true;
    }
    const struct rb_node *secrets;
    if (!rb_keys_begin(&m, node, keys, err) || !rb_keys_text(&m, "context", NULL, arena, &s.context, err) ||
        !read_name(&m, "namespace", arena, &s.namespace, err) || !read_name(&m, "queue", arena, &s.queue, err) ||
        !read_as(&m, &s, err) ||
        !read_selector(rb_keys_given(&m, "node_selector"), arena, &s, err) ||
        !read_tolerations(rb_keys_given(&m, "tolerations"), arena, &s, err) ||
        !read_name(&m, "priority_class", arena, &s.priority_class, err) ||
        !read_name(&m, "service_account", arena, &s.service_account, err) ||
        ((secrets = rb_keys_given(&m, "image_pull_secrets")) &&
         !rb_read_texts(secrets, arena, &s.image_pull_secrets, err)) ||
        !rb_keys_count(&m, "cpus_per_gpu", 0, MAX_CPUS_PER_GPU, 0, &s.cpus_per_gpu, err) ||
        !rb_keys_size(&m, "memory_per_gpu", 0, &s.memory_per_gpu_bytes, err) ||
        !rb_keys_size(&m, "shm_size", 0, &s.shm_bytes, err) || !read_times(&m, &s, err) || !read_price(&m, &s, err))
        return false;
    *out = s;
    return true;
}

// --- writing ---

static bool is_empty(const struct rb_kubernetes_spec *s)
{
    return !s->context && !s->namespace && !s->as && !s->queue && !s->n_node_selector && !s->n_tolerations &&
           !s->priority_class && !s->service_account && !s->image_pull_secrets.n && !s->cpus_per_gpu &&
           !s->memory_per_gpu_bytes && !s->shm_bytes && !s->grace_us && !s->queue_timeout_us && !s->release_us &&
           !s->has_price;
}

static void write_size(struct rb_json *j, const char *key, int64_t bytes)
{
    char text[32];
    rb_json_kstring(j, key, bytes ? rb_format_size_exact(bytes, text) : NULL);
}

static void write_duration(struct rb_json *j, const char *key, int64_t us)
{
    char text[32];
    rb_json_kstring(j, key, us ? rb_format_duration_exact(us, text) : NULL);
}

void rb_job_kubernetes_write(const struct rb_kubernetes_spec *s, struct rb_json *j)
{
    if (is_empty(s))
        return;
    rb_json_kobject(j, "kubernetes");
    rb_json_kstring(j, "context", s->context);
    rb_json_kstring(j, "namespace", s->namespace);
    if (s->as != RB_KUBERNETES_AS_POD)
        rb_json_kstring(j, "as", rb_kubernetes_as_names[s->as]);
    rb_json_kstring(j, "queue", s->queue);
    rb_json_kobject(j, "node_selector");
    for (int i = 0; i < s->n_node_selector; i++)
        rb_json_kstring(j, s->node_selector[i].key, s->node_selector[i].value);
    rb_json_end_object(j);
    rb_json_karray(j, "tolerations");
    for (int i = 0; i < s->n_tolerations; i++) {
        const struct rb_toleration *t = &s->tolerations[i];
        rb_json_put(j, "{key: %s, operator: %s, value: %s, effect: %s}", t->key, t->operator, t->value, t->effect);
    }
    rb_json_end_array(j);
    rb_json_kstring(j, "priority_class", s->priority_class);
    rb_json_kstring(j, "service_account", s->service_account);
    rb_json_kstrings(j, "image_pull_secrets", s->image_pull_secrets.items, s->image_pull_secrets.n);
    rb_json_kint(j, "cpus_per_gpu", s->cpus_per_gpu);
    write_size(j, "memory_per_gpu", s->memory_per_gpu_bytes);
    write_size(j, "shm_size", s->shm_bytes);
    write_duration(j, "grace", s->grace_us);
    write_duration(j, "queue_timeout", s->queue_timeout_us);
    write_duration(j, "release", s->release_us);
    if (s->has_price)
        rb_json_kstring(j, "price_per_gpu_hour", rb_format_money_exact(s->uusd_per_gpu_hour, (char[64]){0}));
    rb_json_end_object(j);
}
