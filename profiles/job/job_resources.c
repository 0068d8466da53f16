// Everything here restricts the planner's choice or describes how a node is reached; nothing here has a price.
#include "profiles/job/job_resources.h"

#include "base/limits.h"
#include "base/text/units.h"
#include "profiles/catalog/infra.h"
#include "profiles/catalog/reservation.h"
#include "profiles/job/job_kubernetes.h"
#include "profiles/job/job_names.h"
#include "profiles/job/keys.h"

#include <ctype.h>
#include <string.h>

#define MAX_PORT         65535
#define MAX_CPUS_PER_GPU 1024 // more than any node has
#define MIN_KEEP_US      (600 * RB_US_PER_S)

bool rb_read_texts(const struct rb_node *node, struct rb_arena *arena, struct rb_string_list *out, struct rb_err *err)
{
    const bool is_list = node->kind == RB_NODE_LIST;
    const int n = is_list ? node->n_children : 1;
    if (!is_list && node->kind != RB_NODE_STRING)
        return rb_node_list(node, err);
    if (n > RB_LIMIT_INSTANCE_TYPES)
        return rb_node_refuse(node, err, RB_E_LIST_LENGTH, "expected at most %d entries, got %d",
                              RB_LIMIT_INSTANCE_TYPES, n);
    const char **items = rb_arena_array(arena, (size_t)n, sizeof *items);
    const struct rb_node *item = is_list ? node->first : node;
    for (int i = 0; i < n; i++, item = item->next) {
        if (!rb_node_text(item, arena, &items[i], err))
            return false;
        for (int k = 0; k < i; k++)
            if (strcmp(items[k], items[i]) == 0)
                return rb_node_refuse(item, err, RB_E_LIST_REPEATED, "\"%.60s\" is listed twice; remove one", items[i]);
    }
    *out = (struct rb_string_list){.items = items, .n = n};
    return true;
}

static bool read_optional_texts(struct rb_map *m, const char *key, struct rb_arena *arena, struct rb_string_list *out,
                                struct rb_err *err)
{
    const struct rb_node *node = rb_keys_given(m, key);
    return !node || rb_read_texts(node, arena, out, err);
}

static bool check_infra(const struct rb_node *node, const char *infra, struct rb_err *err)
{
    struct rb_err why;
    return rb_infra_check(infra, &why) || rb_node_refuse(node, err, rb_err_number(&why), "%s", why.message);
}

static bool read_infra(const struct rb_node *node, struct rb_arena *arena, struct rb_string_list *out,
                       struct rb_err *err)
{
    static const char *const here[] = {"local"};
    if (!node) {
        *out = (struct rb_string_list){.items = here, .n = 1};
        return true;
    }
    if (!rb_read_texts(node, arena, out, err))
        return false;
    if (out->n == 0)
        return rb_node_refuse(node, err, RB_E_LIST_LENGTH,
                              "expected at least one provider[/region[/zone]], for example aws/us-east-1");
    const struct rb_node *item = node->kind == RB_NODE_LIST ? node->first : node;
    for (int i = 0; i < out->n; i++, item = item->next)
        if (!check_infra(item, out->items[i], err))
            return false;
    return true;
}

static bool read_images(const struct rb_node *node, struct rb_arena *arena, struct rb_resources *r, struct rb_err *err)
{
    struct rb_map m;
    if (!node)
        return true;
    if (!rb_map_begin(&m, node, err))
        return false;
    struct rb_key_value *images = rb_arena_array(arena, (size_t)node->n_children, sizeof *images);
    int n = 0;
    for (const struct rb_node *child = node->first; child; child = child->next, n++) {
        if (!check_infra(child, child->key, err) || !rb_node_text(child, arena, &images[n].value, err))
            return false;
        images[n].key = rb_arena_strdup(arena, child->key);
    }
    r->image_ids = images;
    r->n_image_ids = n;
    return true;
}

// A login name appears on a command line of ssh: it must not look like an option.
static bool is_login(const char *s)
{
    return (isalnum((unsigned char)s[0]) || s[0] == '_') && strlen(s) <= 32 &&
           s[strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")] == '\0';
}

static bool read_ssh(const struct rb_node *node, struct rb_arena *arena, struct rb_resources *r, struct rb_err *err)
{
    static const char *const keys[] = {"user", "port", NULL};
    const struct rb_node empty = {.kind = RB_NODE_MAP};
    struct rb_map m;
    if (!rb_keys_begin(&m, node ? node : &empty, keys, err) ||
        !rb_keys_text(&m, "user", "ubuntu", arena, &r->ssh_user, err) ||
        !rb_keys_count(&m, "port", 1, MAX_PORT, 22, &r->ssh_port, err))
        return false;
    return is_login(r->ssh_user) ||
           rb_node_refuse(rb_map_get(&m, "user"), err, RB_E_TEXT_FORM,
                          "expected a login name of letters, digits and . _ -, got \"%.40s\"", r->ssh_user);
}

// The node agent is found below it, and it becomes part of paths in shell scripts: it must not be relative.
static bool read_slurm(const struct rb_node *node, struct rb_arena *arena, struct rb_slurm_spec *out,
                       struct rb_err *err)
{
    static const char *const keys[] = {"shared_dir", "url", "account", "cpus_per_gpu", "memory_per_gpu", NULL};
    struct rb_slurm_spec s = {0};
    struct rb_map m;
    if (!node)
        return true;
    if (!rb_keys_begin(&m, node, keys, err) || !rb_keys_text(&m, "shared_dir", NULL, arena, &s.shared_dir, err) ||
        !rb_keys_text(&m, "url", NULL, arena, &s.url, err) ||
        !rb_keys_text(&m, "account", NULL, arena, &s.account, err) ||
        !rb_keys_count(&m, "cpus_per_gpu", 0, MAX_CPUS_PER_GPU, 0, &s.cpus_per_gpu, err) ||
        !rb_keys_size(&m, "memory_per_gpu", 0, &s.memory_per_gpu_bytes, err))
        return false;
    if (s.shared_dir && s.shared_dir[0] != '/')
        return rb_node_refuse(rb_map_get(&m, "shared_dir"), err, RB_E_TEXT_FORM,
                              "expected an absolute path that means the same here and on the nodes, got \"%.60s\"",
                              s.shared_dir);
    *out = s;
    return true;
}

static bool read_controller(const struct rb_node *node, struct rb_arena *arena, struct rb_controller_spec *out,
                            struct rb_err *err)
{
    static const char *const keys[] = {"instance_type", "instance_profile", "keep", NULL};
    struct rb_controller_spec c = {0};
    struct rb_map m;
    if (!node)
        return true;
    if (!rb_keys_begin(&m, node, keys, err) || !rb_keys_text(&m, "instance_type", NULL, arena, &c.instance_type, err) ||
        !rb_keys_text(&m, "instance_profile", NULL, arena, &c.instance_profile, err) ||
        !rb_keys_duration(&m, "keep", 0, &c.keep_us, err))
        return false;
    if (rb_keys_given(&m, "keep") && (c.keep_us < MIN_KEEP_US || c.keep_us > RB_LIMIT_KEEP_S * RB_US_PER_S))
        return rb_node_refuse(rb_map_get(&m, "keep"), err, RB_E_OUT_OF_RANGE,
                              "expected 10m..7d: the run's files are on the machine, and end with it");
    *out = c;
    return true;
}

// A reservation is no way to a place that the job does not name.
static bool read_reservations(const struct rb_node *list, struct rb_arena *arena, struct rb_resources *r,
                              struct rb_err *err)
{
    if (!rb_reservations_read(list, arena, &r->reservations, &r->n_reservations, err))
        return false;
    const struct rb_node *item = list ? list->first : NULL;
    for (int i = 0; i < r->n_reservations; i++, item = item->next) {
        bool named = false;
        for (int k = 0; k < r->infra.n && !named; k++)
            named = rb_infra_within(r->reservations[i].infra, r->infra.items[k]);
        if (!named)
            return rb_node_refuse(item, err, RB_E_RESERVATION, "%.60s is in none of resources.infra: add it there",
                                  r->reservations[i].infra);
    }
    return true;
}

bool rb_resources_read(const struct rb_node *node, struct rb_arena *arena, struct rb_resources *out, struct rb_err *err)
{
    static const char *const keys[] = {
        "infra",   "instance_types",  "accelerators",     "spot",  "max_nodes", "image_id", "disk_size", "ssh",
        "subnets", "security_groups", "instance_profile", "controller", "slurm", "kubernetes", "reservations", NULL};
    const struct rb_node empty = {.kind = RB_NODE_MAP};
    struct rb_resources r = {0};
    struct rb_map m;
    int spot;
    if (!rb_keys_begin(&m, node ? node : &empty, keys, err) ||
        !read_infra(rb_keys_given(&m, "infra"), arena, &r.infra, err) ||
        !read_optional_texts(&m, "instance_types", arena, &r.instance_types, err) ||
        !read_optional_texts(&m, "accelerators", arena, &r.accelerators, err) ||
        !rb_keys_choice(&m, "spot", rb_spot_names, rb_names_count(rb_spot_names), RB_SPOT_NEVER, &spot, err) ||
        !rb_keys_count(&m, "max_nodes", 1, RB_LIMIT_NODES, 16, &r.max_nodes, err) ||
        !read_images(rb_keys_given(&m, "image_id"), arena, &r, err) ||
        !rb_keys_size(&m, "disk_size", 0, &r.disk_bytes, err) || !read_ssh(rb_keys_given(&m, "ssh"), arena, &r, err) ||
        !read_optional_texts(&m, "subnets", arena, &r.subnets, err) ||
        !read_optional_texts(&m, "security_groups", arena, &r.security_groups, err) ||
        !rb_keys_text(&m, "instance_profile", NULL, arena, &r.instance_profile, err) ||
        !read_controller(rb_keys_given(&m, "controller"), arena, &r.controller, err) ||
        !read_slurm(rb_keys_given(&m, "slurm"), arena, &r.slurm, err) ||
        !rb_job_kubernetes_read(rb_keys_given(&m, "kubernetes"), arena, &r.kubernetes, err) ||
        !read_reservations(rb_keys_given(&m, "reservations"), arena, &r, err))
        return false;
    r.spot = (enum rb_spot)spot;
    *out = r;
    return true;
}

// --- writing ---

static void write_texts(struct rb_json *j, const char *key, const struct rb_string_list *list)
{
    rb_json_kstrings(j, key, list->items, list->n);
}

static void write_images(const struct rb_resources *r, struct rb_json *j)
{
    rb_json_kobject(j, "image_id");
    for (int i = 0; i < r->n_image_ids; i++)
        rb_json_kstring(j, r->image_ids[i].key, r->image_ids[i].value);
    rb_json_end_object(j);
}

static void write_slurm(const struct rb_slurm_spec *s, struct rb_json *j)
{
    char memory[32];
    rb_json_key(j, "slurm");
    if (!s->shared_dir && !s->url && !s->account && !s->cpus_per_gpu && !s->memory_per_gpu_bytes) {
        rb_json_null(j);
        return;
    }
    rb_json_begin_object(j);
    rb_json_kstring(j, "shared_dir", s->shared_dir);
    rb_json_kstring(j, "url", s->url);
    rb_json_kstring(j, "account", s->account);
    rb_json_kint(j, "cpus_per_gpu", s->cpus_per_gpu);
    rb_json_kstring(j, "memory_per_gpu",
                    s->memory_per_gpu_bytes ? rb_format_size_exact(s->memory_per_gpu_bytes, memory) : NULL);
    rb_json_end_object(j);
}

static void write_controller(const struct rb_controller_spec *c, struct rb_json *j)
{
    char keep[32];
    if (!c->instance_type && !c->instance_profile && !c->keep_us)
        return;
    rb_json_put(j, "controller: {instance_type: %s|null instance_profile: %s|null keep: %s|null}", c->instance_type,
                c->instance_profile, c->keep_us ? rb_format_duration_exact(c->keep_us, keep) : NULL);
}

void rb_resources_write(const struct rb_resources *r, struct rb_json *j)
{
    char disk[32];
    rb_json_begin_object(j);
    write_texts(j, "infra", &r->infra);
    write_texts(j, "instance_types", &r->instance_types);
    write_texts(j, "accelerators", &r->accelerators);
    rb_json_kstring(j, "spot", rb_spot_names[r->spot]);
    rb_json_kint(j, "max_nodes", r->max_nodes);
    write_images(r, j);
    rb_json_kstring(j, "disk_size", r->disk_bytes ? rb_format_size_exact(r->disk_bytes, disk) : NULL);
    rb_json_kobject(j, "ssh");
    rb_json_kstring(j, "user", r->ssh_user);
    rb_json_kint(j, "port", r->ssh_port);
    rb_json_end_object(j);
    write_texts(j, "subnets", &r->subnets);
    write_texts(j, "security_groups", &r->security_groups);
    rb_json_kstring(j, "instance_profile", r->instance_profile);
    write_controller(&r->controller, j);
    write_slurm(&r->slurm, j);
    rb_job_kubernetes_write(&r->kubernetes, j);
    if (r->n_reservations > 0) {
        rb_json_key(j, "reservations");
        rb_reservations_write(r->reservations, r->n_reservations, j);
    }
    rb_json_end_object(j);
}
