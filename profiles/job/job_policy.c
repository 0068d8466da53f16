// Each option disables one idea of HyperSched, so that its value can be measured.
#include "profiles/job/job_policy.h"

#include "profiles/job/job_names.h"
#include "profiles/job/keys.h"

#include <string.h>

#define MAX_RESIZE_INTERVAL 1000000 // results; no trial reports more often: RB_LIMIT_RESOURCE
#define MAX_ATOM_GPUS       4096    // as trial.gpus

static const struct rb_policy_options published = {
    .speculation = true,
    .overhead = true,
    .admission = true,
    .scaling = RB_SCALING_MEASURED,
    .allocation = RB_SPARE_UNIFORM,
    .resize_interval = 6,
    .atom_gpus = 1,
};

bool rb_policy_read(const struct rb_node *node, const char **out, struct rb_err *err)
{
    int choice = 0;
    if (node && !rb_node_choice(node, rb_policy_names, rb_names_count(rb_policy_names), &choice, err))
        return false;
    *out = rb_policy_names[choice];
    return true;
}

bool rb_policy_has_options(const char *policy)
{
    return strcmp(policy, "hypersched") == 0 || strcmp(policy, "lookahead") == 0;
}

static bool read_flag(struct rb_map *m, const char *key, bool *out, struct rb_err *err)
{
    const struct rb_node *node = rb_map_get(m, key);
    return !node || rb_node_bool(node, out, err);
}

static bool read_exploration(struct rb_map *m, struct rb_policy_options *o, struct rb_err *err)
{
    const struct rb_node *node = rb_keys_given(m, "exploration");
    o->has_exploration = node != NULL;
    return !node || rb_node_double(node, 0, 1, &o->exploration, err);
}

bool rb_policy_options_read(const struct rb_node *node, const char *policy, struct rb_policy_options *out,
                            struct rb_err *err)
{
    static const char *const keys[] = {"speculation", "overhead",        "admission", "scaling", "exploration",
                                       "allocation",  "resize_interval", "atom",      NULL};
    struct rb_policy_options o = published;
    struct rb_map m;
    int scaling, allocation;
    if (!node) {
        *out = o;
        return true;
    }
    if (!rb_policy_has_options(policy))
        return rb_node_refuse(node, err, RB_E_POLICY,
                              "only hypersched and lookahead have options; leave them out of policy: %s", policy);
    if (!rb_keys_begin(&m, node, keys, err) || !read_flag(&m, "speculation", &o.speculation, err) ||
        !read_flag(&m, "overhead", &o.overhead, err) || !read_flag(&m, "admission", &o.admission, err) ||
        !rb_keys_choice(&m, "scaling", rb_scaling_names, rb_names_count(rb_scaling_names), o.scaling, &scaling, err) ||
        !read_exploration(&m, &o, err) ||
        !rb_keys_choice(&m, "allocation", rb_sharing_names, rb_names_count(rb_sharing_names), o.allocation, &allocation,
                        err) ||
        !rb_keys_count(&m, "resize_interval", 1, MAX_RESIZE_INTERVAL, o.resize_interval, &o.resize_interval, err) ||
        !rb_keys_count(&m, "atom", 1, MAX_ATOM_GPUS, o.atom_gpus, &o.atom_gpus, err))
        return false;
    o.scaling = (enum rb_scaling)scaling;
    o.allocation = (enum rb_spare_gpus)allocation;
    *out = o;
    return true;
}

enum rb_rule rb_policy_rule(const char *policy, const struct rb_policy_options *o)
{
    if (!rb_policy_has_options(policy))
        return RB_RULE_PROMOTE;
    return o->speculation ? RB_RULE_SPECULATE : RB_RULE_STOP;
}

void rb_policy_options_write(const struct rb_policy_options *o, struct rb_json *j)
{
    rb_json_begin_object(j);
    rb_json_kbool(j, "speculation", o->speculation);
    rb_json_kbool(j, "overhead", o->overhead);
    rb_json_kbool(j, "admission", o->admission);
    rb_json_kstring(j, "scaling", rb_scaling_names[o->scaling]);
    rb_json_key(j, "exploration");
    if (o->has_exploration)
        rb_json_double(j, o->exploration);
    else
        rb_json_null(j);
    rb_json_kstring(j, "allocation", rb_sharing_names[o->allocation]);
    rb_json_kint(j, "resize_interval", o->resize_interval);
    rb_json_kint(j, "atom", o->atom_gpus);
    rb_json_end_object(j);
}
