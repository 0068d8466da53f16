// The reader of rb-profile/1, from YAML or JSON. Values on which a prediction rests have no defaults: unknown is an
// error.
#include "profiles/store/profile.h"

#include "base/limits.h"
#include "profiles/catalog/infra.h"
#include "profiles/job/keys.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_GPUS             4096 // of one trial, as in job.yaml
#define DEFAULT_MAX_GPUS     8    // of a throughput model that does not state what was measured: one node of today
#define DEFAULT_MAX_NODES    1
#define MAX_SECONDS          1e6 // of one unit or one iteration
#define MAX_SPEEDUP          1e6
#define MAX_BATCH            1e9
#define MAX_CAPACITY_FAILURE 0.99 // at 1 no request would ever succeed
#define ONE_TOLERANCE        1e-9

static bool need_positive(struct rb_map *m, const char *key, double max, double *out, struct rb_err *err)
{
    const struct rb_node *node;
    double v;
    if (!rb_map_need(m, key, &node, err) || !rb_node_double(node, 0, max, &v, err))
        return false;
    if (!(v > 0))
        return rb_node_refuse(node, err, RB_E_OUT_OF_RANGE, "expected a number above 0, got %s", node->text);
    *out = v;
    return true;
}

static bool need_dist(struct rb_map *m, const char *key, struct rb_arena *arena, struct rb_dist *out,
                      struct rb_err *err)
{
    const struct rb_node *node;
    return rb_map_need(m, key, &node, err) && rb_dist_read(node, arena, out, err);
}

static bool need_measured(struct rb_map *m, const char *key, struct rb_arena *arena, struct rb_dist *out,
                          struct rb_err *err)
{
    const struct rb_node *node;
    return rb_map_need(m, key, &node, err) && rb_dist_read_measured(node, arena, out, err);
}

// --- speed-up table ---

struct numbered_layout {
    struct rb_layout layout;
    const struct rb_node *node;
};

static int compare_layouts(const void *a, const void *b)
{
    const struct numbered_layout *x = a, *y = b;
    const int by_nodes = x->layout.nodes - y->layout.nodes;
    const int by_gpus = by_nodes ? by_nodes : x->layout.gpus - y->layout.gpus;
    return by_gpus ? by_gpus : x->node->index - y->node->index;
}

static bool read_layout(const struct rb_node *node, struct rb_layout *out, struct rb_err *err)
{
    static const char *const keys[] = {"gpus", "nodes", "speedup", NULL};
    struct rb_map m;
    return rb_keys_begin(&m, node, keys, err) && rb_map_need_count(&m, "gpus", 1, MAX_GPUS, &out->gpus, err) &&
           rb_map_need_count(&m, "nodes", 1, out->gpus, &out->nodes, err) &&
           need_positive(&m, "speedup", MAX_SPEEDUP, &out->speedup, err);
}

static bool check_layouts(const struct rb_node *list, const struct numbered_layout *rows, int n, struct rb_err *err)
{
    for (int i = 1; i < n; i++)
        if (rows[i].layout.gpus == rows[i - 1].layout.gpus && rows[i].layout.nodes == rows[i - 1].layout.nodes)
            return rb_node_refuse(rows[i].node, err, RB_E_LIST_REPEATED,
                                  "gpus %d on nodes %d is listed twice; remove one", rows[i].layout.gpus,
                                  rows[i].layout.nodes);
    if (rows[0].layout.gpus != 1 || rows[0].layout.nodes != 1)
        return rb_node_refuse(list, err, RB_E_PROFILE_MODEL,
                              "expected an entry {gpus: 1, nodes: 1, speedup: 1.0}, to which others are compared");
    if (fabs(rows[0].layout.speedup - 1) > ONE_TOLERANCE)
        return rb_node_refuse(rows[0].node, err, RB_E_PROFILE_MODEL,
                              "expected speedup 1.0 for one GPU: speed-ups are over one GPU");
    return true;
}

static bool read_layouts(const struct rb_node *list, struct rb_arena *arena, struct rb_training *t, struct rb_err *err)
{
    if (!rb_node_list(list, err))
        return false;
    const int n = list->n_children;
    if (n < 1 || n > RB_LIMIT_LAYOUTS)
        return rb_node_refuse(list, err, RB_E_LIST_LENGTH, "expected 1..%d layouts, got %d", RB_LIMIT_LAYOUTS, n);
    RB_AUTO(rb_auto_free) struct numbered_layout *rows = rb_xcalloc((size_t)n, sizeof *rows);
    int i = 0;
    for (const struct rb_node *child = list->first; child; child = child->next, i++) {
        rows[i].node = child;
        if (!read_layout(child, &rows[i].layout, err))
            return false;
    }
    qsort(rows, (size_t)n, sizeof *rows, compare_layouts);
    if (!check_layouts(list, rows, n, err))
        return false;
    struct rb_layout *layouts = rb_arena_array(arena, (size_t)n, sizeof *layouts);
    for (i = 0; i < n; i++)
        layouts[i] = rows[i].layout;
    t->layouts = layouts;
    t->n_layouts = n;
    t->max_gpus = t->max_nodes = 1;
    for (i = 0; i < n; i++) {
        t->max_gpus = layouts[i].gpus > t->max_gpus ? layouts[i].gpus : t->max_gpus;
        t->max_nodes = layouts[i].nodes > t->max_nodes ? layouts[i].nodes : t->max_nodes;
    }
    return true;
}

// --- throughput model ---

static bool read_throughput(const struct rb_node *node, struct rb_training *t, struct rb_err *err)
{
    static const char *const keys[] = {"alpha_c", "beta_c", "alpha_n",         "beta_n",   "alpha_r",   "beta_r",
                                       "gamma",   "batch",  "units_per_epoch", "max_gpus", "max_nodes", NULL};
    struct rb_map m;
    if (!rb_keys_begin(&m, node, keys, err) || !rb_throughput_read(&m, &t->throughput, err) ||
        !need_positive(&m, "batch", MAX_BATCH, &t->batch, err) ||
        !need_positive(&m, "units_per_epoch", MAX_BATCH, &t->units_per_epoch, err) ||
        !rb_keys_count(&m, "max_gpus", 1, MAX_GPUS, DEFAULT_MAX_GPUS, &t->max_gpus, err) ||
        !rb_keys_count(&m, "max_nodes", 1, t->max_gpus, DEFAULT_MAX_NODES, &t->max_nodes, err))
        return false;
    if (!(rb_throughput_grad_s(&t->throughput, t->batch) > 0))
        return rb_node_refuse(node, err, RB_E_PROFILE_MODEL,
                              "expected alpha_c + beta_c x batch above 0: an iteration takes time");
    t->has_throughput = true;
    return true;
}

// --- training ---

static bool read_base(struct rb_map *m, struct rb_training *t, struct rb_err *err)
{
    if (!t->has_throughput || rb_map_get(m, "base_s"))
        return need_positive(m, "base_s", MAX_SECONDS, &t->base_s, err);
    t->base_s = t->units_per_epoch * rb_throughput_iter_s(&t->throughput, 1, 1, t->batch, 0);
    return t->base_s <= MAX_SECONDS ||
           rb_node_refuse(m->node, err, RB_E_PROFILE_MODEL,
                          "one unit on one GPU would take %.3g s by this model; the most is %g", t->base_s,
                          MAX_SECONDS);
}

// --- sharing a GPU ---

#define MAX_SLOWDOWN 1000.0

static bool read_share(const struct rb_node *node, int least, struct rb_gpu_sharing *out, struct rb_err *err)
{
    static const char *const keys[] = {"trials", "slowdown", NULL};
    struct rb_map m;
    if (!rb_keys_begin(&m, node, keys, err) ||
        !rb_map_need_count(&m, "trials", 2, RB_LIMIT_TRIALS_PER_GPU, &out->trials, err) ||
        !need_positive(&m, "slowdown", MAX_SLOWDOWN, &out->slowdown, err))
        return false;
    return out->trials >= least ||
           rb_node_refuse(rb_map_get(&m, "trials"), err, RB_E_ORDER, "expected more trials than in the entry before");
}

static bool read_sharing(const struct rb_node *list, struct rb_arena *arena, struct rb_training *t, struct rb_err *err)
{
    int least = 2;
    if (!list)
        return true;
    if (!rb_node_list(list, err))
        return false;
    struct rb_gpu_sharing *rows = rb_arena_array(arena, (size_t)list->n_children, sizeof *rows);
    t->sharing = rows;
    for (const struct rb_node *child = list->first; child; child = child->next, t->n_sharing++) {
        if (!read_share(child, least, &rows[t->n_sharing], err))
            return false;
        least = rows[t->n_sharing].trials + 1;
    }
    return true;
}

#define MOST_LOG_SD 10.0
#define MOST_FASTER 1e6

static bool read_transfer(const struct rb_node *node, struct rb_arena *arena, struct rb_training *t, struct rb_err *err)
{
    static const char *const keys[] = {"from", "faster", "log_sd", NULL};
    struct rb_map m;
    return !node ||
           (rb_keys_begin(&m, node, keys, err) && rb_keys_need_text(&m, "from", arena, &t->transfer.from, err) &&
            rb_map_need_double(&m, "faster", 1 / MOST_FASTER, MOST_FASTER, &t->transfer.faster, err) &&
            rb_map_need_double(&m, "log_sd", 0, MOST_LOG_SD, &t->transfer.log_sd, err));
}

static bool read_training(const struct rb_node *node, double most_error, struct rb_arena *arena, struct rb_training *t,
                          struct rb_err *err)
{
    static const char *const keys[] = {"accelerator", "base_s",  "relative_error", "layouts", "throughput",
                                       "sharing",     "goodput", "transfer",       NULL};
    struct rb_map m;
    if (!rb_keys_begin(&m, node, keys, err) || !rb_keys_need_text(&m, "accelerator", arena, &t->accelerator, err))
        return false;
    const struct rb_node *layouts = rb_map_get(&m, "layouts"), *throughput = rb_map_get(&m, "throughput");
    const struct rb_node *goodput = rb_keys_given(&m, "goodput");
    t->has_goodput = goodput != NULL;
    if (goodput && !rb_training_goodput_read(goodput, &t->goodput, err))
        return false;
    if (!layouts == !throughput)
        return rb_node_refuse(node, err, RB_E_KEYS_TOGETHER, "expected either `layouts` or `throughput`");
    return rb_keys_double(&m, "relative_error", 0, most_error, 0, &t->relative_error, err) &&
           (layouts ? read_layouts(layouts, arena, t, err) : read_throughput(throughput, t, err)) &&
           read_sharing(rb_keys_given(&m, "sharing"), arena, t, err) &&
           read_transfer(rb_keys_given(&m, "transfer"), arena, t, err) && read_base(&m, t, err);
}

static bool read_trainings(struct rb_map *m, struct rb_arena *arena, struct rb_profile *p, struct rb_err *err)
{
    const struct rb_node *list;
    if (!rb_map_need(m, "training", &list, err) || !rb_node_list(list, err))
        return false;
    if (list->n_children < 1 || list->n_children > RB_LIMIT_INSTANCE_TYPES)
        return rb_node_refuse(list, err, RB_E_LIST_LENGTH, "expected 1..%d entries, one for each accelerator, got %d",
                              RB_LIMIT_INSTANCE_TYPES, list->n_children);
    struct rb_training *training = rb_arena_array(arena, (size_t)list->n_children, sizeof *training);
    p->training = training;
    for (const struct rb_node *child = list->first; child; child = child->next) {
        struct rb_training *t = &training[p->n_training];
        if (!read_training(child, p->n_basis > 0 ? RB_DIST_MAX_CV : 1, arena, t, err))
            return false;
        if (rb_profile_training(p, t->accelerator))
            return rb_node_refuse(child, err, RB_E_LIST_REPEATED, "accelerator %.60s has an entry already; merge them",
                                  t->accelerator);
        p->n_training++;
    }
    return true;
}

// --- noise and provisioning ---

static bool need_factor(struct rb_map *m, const char *key, struct rb_arena *arena, struct rb_dist *out,
                        struct rb_err *err)
{
    if (!need_dist(m, key, arena, out, err))
        return false;
    return rb_dist_mean(out) > 0 ||
           rb_node_refuse(rb_map_get(m, key), err, RB_E_OUT_OF_RANGE, "expected a factor with a mean above 0");
}

static bool read_configuration(struct rb_map *noise, struct rb_arena *arena, struct rb_profile *p, struct rb_err *err)
{
    if (!rb_map_get(noise, "configuration"))
        return true;
    struct rb_dist *factor = rb_arena_alloc(arena, sizeof *factor);
    p->configuration = factor;
    return need_factor(noise, "configuration", arena, factor, err);
}

static bool read_noise(struct rb_map *m, struct rb_arena *arena, struct rb_profile *p, struct rb_err *err)
{
    static const char *const keys[] = {"between", "within", "configuration", NULL};
    const struct rb_node *node;
    struct rb_map noise;
    return rb_map_need(m, "noise", &node, err) && rb_keys_begin(&noise, node, keys, err) &&
           need_factor(&noise, "between", arena, &p->between, err) &&
           need_factor(&noise, "within", arena, &p->within, err) && read_configuration(&noise, arena, p, err);
}

static bool read_pattern(struct rb_map *m, const char *key, bool (*check)(const char *, struct rb_err *),
                         struct rb_arena *arena, const char **out, struct rb_err *err)
{
    struct rb_err why;
    if (!rb_keys_need_text(m, key, arena, out, err))
        return false;
    return !check || strcmp(*out, "*") == 0 || check(*out, &why) ||
           rb_node_refuse(rb_map_get(m, key), err, RB_E_INFRA, "%s (or \"*\" for all)", why.message);
}

static bool check_market(const char *text, struct rb_err *err)
{
    enum rb_market market;
    return strcmp(text, rb_market_name(RB_MARKET_RESERVED)) == 0 || rb_market_parse(text, &market, err);
}

// Either a constant rate or spells; neither: unknown.
static bool read_preemption(struct rb_map *m, struct rb_arena *arena, struct rb_provisioning *p, struct rb_err *err)
{
    const struct rb_node *rate = rb_keys_given(m, "preemption_per_hour"), *spells = rb_keys_given(m, "spells");
    p->has_preemption = rate || spells;
    if (rate && spells)
        return rb_node_refuse(spells, err, RB_E_KEYS_TOGETHER,
                              "expected either `preemption_per_hour` or `spells`, got both: remove one");
    if (!spells)
        return !rate || rb_node_double(rate, 0, RB_MAX_PREEMPTIONS, &p->preemption_per_hour, err);
    struct rb_spells *read = rb_arena_alloc(arena, sizeof *read);
    p->spells = read;
    return rb_spells_read(spells, arena, read, err);
}

static bool read_provision(const struct rb_node *node, struct rb_arena *arena, struct rb_provisioning *p,
                           struct rb_err *err)
{
    static const char *const keys[] = {
        "infra",  "instance_type", "market", "queue_s", "init_s", "capacity_failure", "preemption_per_hour",
        "spells", "release_s",     NULL};
    struct rb_map m;
    if (!rb_keys_begin(&m, node, keys, err) || !read_pattern(&m, "infra", rb_infra_check, arena, &p->infra, err) ||
        !read_pattern(&m, "instance_type", NULL, arena, &p->instance_type, err) ||
        !read_pattern(&m, "market", check_market, arena, &p->market, err) ||
        !need_measured(&m, "queue_s", arena, &p->queue_s, err) ||
        !need_measured(&m, "init_s", arena, &p->init_s, err) ||
        !rb_map_need_double(&m, "capacity_failure", 0, MAX_CAPACITY_FAILURE, &p->capacity_failure, err) ||
        !rb_keys_count(&m, "release_s", 0, RB_LIMIT_RELEASE_S, 0, &p->release_s, err))
        return false;
    return read_preemption(&m, arena, p, err);
}

bool rb_provisioning_read(const struct rb_node *list, struct rb_arena *arena, const struct rb_provisioning **out,
                          int *out_n, struct rb_err *err)
{
    if (!list) {
        *out = NULL;
        *out_n = 0;
        return true;
    }
    if (!rb_node_list_of(list, RB_LIMIT_INSTANCE_TYPES, "entries", err))
        return false;
    struct rb_provisioning *rows = rb_arena_array(arena, (size_t)list->n_children, sizeof *rows);
    int n = 0;
    for (const struct rb_node *child = list->first; child; child = child->next)
        if (!read_provision(child, arena, &rows[n++], err))
            return false;
    *out = rows;
    *out_n = n;
    return true;
}

// --- how long data is fetched ---

static bool read_reading(const struct rb_node *node, struct rb_arena *arena, struct rb_reading *r, struct rb_err *err)
{
    static const char *const keys[] = {"fetch", "infra", "instance_type", "size", "read_s", "nodes", NULL};
    const struct rb_node *size;
    struct rb_map m;
    if (!rb_keys_begin(&m, node, keys, err) || !rb_keys_need_text(&m, "fetch", arena, &r->fetch, err) ||
        !rb_keys_need_text(&m, "infra", arena, &r->infra, err) ||
        !rb_keys_need_text(&m, "instance_type", arena, &r->instance_type, err) ||
        !rb_map_need(&m, "size", &size, err) || !rb_keys_size(&m, "size", 0, &r->bytes, err) ||
        !need_measured(&m, "read_s", arena, &r->read_s, err) ||
        !rb_map_need_count(&m, "nodes", 1, INT_MAX, &r->nodes, err))
        return false;
    return r->bytes > 0 || rb_node_refuse(size, err, RB_E_SIZE, "expected the size of the data, such as 150GB");
}

static bool read_readings(const struct rb_node *list, struct rb_arena *arena, struct rb_profile *p, struct rb_err *err)
{
    if (!list)
        return true;
    if (!rb_node_list_of(list, RB_LIMIT_INSTANCE_TYPES, "entries", err))
        return false;
    struct rb_reading *rows = rb_arena_array(arena, (size_t)list->n_children, sizeof *rows);
    p->readings = rows;
    for (const struct rb_node *child = list->first; child; child = child->next)
        if (!read_reading(child, arena, &rows[p->n_readings++], err))
            return false;
    return true;
}

// --- what a guess rests on ---

static bool read_basis_row(const struct rb_node *node, struct rb_arena *arena, struct rb_basis *out, struct rb_err *err)
{
    static const char *const keys[] = {"what", "from", "log_sd", NULL};
    struct rb_map m;
    return rb_keys_begin(&m, node, keys, err) && rb_keys_need_text(&m, "what", arena, &out->what, err) &&
           rb_keys_need_text(&m, "from", arena, &out->from, err) &&
           rb_map_need_double(&m, "log_sd", 0, MOST_LOG_SD, &out->log_sd, err);
}

static bool read_basis(const struct rb_node *list, struct rb_arena *arena, struct rb_profile *p, struct rb_err *err)
{
    if (!list)
        return true;
    if (!rb_node_list(list, err))
        return false;
    if (list->n_children < 1 || list->n_children > RB_LIMIT_INSTANCE_TYPES)
        return rb_node_refuse(list, err, RB_E_LIST_LENGTH, "expected 1..%d entries, got %d", RB_LIMIT_INSTANCE_TYPES,
                              list->n_children);
    struct rb_basis *rows = rb_arena_array(arena, (size_t)list->n_children, sizeof *rows);
    p->basis = rows;
    for (const struct rb_node *child = list->first; child; child = child->next)
        if (!read_basis_row(child, arena, &rows[p->n_basis++], err))
            return false;
    return true;
}

// --- the whole ---

// The two files that people write are easily confused.
static bool is_job(const struct rb_node *root)
{
    bool found = false;
    for (const struct rb_node *child = root->kind == RB_NODE_MAP ? root->first : NULL; child && !found;
         child = child->next)
        found = strcmp(child->key, "scheduler") == 0;
    return found;
}

static bool read_format(struct rb_map *m, struct rb_err *err)
{
    static const char *const formats[] = {"rb-profile/1"};
    const struct rb_node *node;
    int choice;
    return rb_map_need(m, "format", &node, err) && rb_node_choice(node, formats, 1, &choice, err);
}

static bool read_name(struct rb_map *m, const char *name_override, const char *stem, struct rb_arena *arena,
                      const char **out, struct rb_err *err)
{
    if (!rb_keys_text(m, "name", stem, arena, out, err))
        return false;
    const char *name = name_override ? name_override : *out;
    if (!name || !*name)
        return rb_node_refuse(m->node, err, RB_E_KEY_MISSING, "the profile has no name; add `name:` or give --name");
    *out = rb_arena_strdup(arena, name);
    return true;
}

const char *rb_profile_stem(const char *path, struct rb_arena *arena)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path, *dot = strrchr(base, '.');
    return rb_arena_strndup(arena, base, dot && dot > base ? (size_t)(dot - base) : strlen(base));
}

static bool read_flag(struct rb_map *m, const char *key, bool fallback, bool *out, struct rb_err *err)
{
    const struct rb_node *node = rb_keys_given(m, key);
    *out = fallback;
    return !node || rb_node_bool(node, out, err);
}

bool rb_profile_read(const struct rb_node *root, const char *name_override, const char *stem, struct rb_arena *arena,
                     struct rb_profile *out, struct rb_err *err)
{
    static const char *const keys[] = {
        "format",       "name",         "unit",    "source", "training", "noise", "startup_s",
        "checkpoint_s", "provisioning", "resumes", "exact",  "measured", "basis", "data", NULL};
    struct rb_profile p = {0};
    struct rb_map m;
    bool resumes;
    if (is_job(root))
        return rb_node_refuse(root, err, RB_E_FORMAT_WRONG,
                              "this is a job, not a profile (rb-profile/1); `rbprofile train` measures one for it");
    if (!rb_keys_begin(&m, root, keys, err) || !read_format(&m, err) ||
        !read_name(&m, name_override, stem, arena, &p.name, err) ||
        !rb_keys_text(&m, "unit", "epoch", arena, &p.unit, err) ||
        !rb_keys_text(&m, "source", "", arena, &p.source, err) ||
        !read_basis(rb_keys_given(&m, "basis"), arena, &p, err) || !read_trainings(&m, arena, &p, err) ||
        !read_noise(&m, arena, &p, err) || !need_measured(&m, "startup_s", arena, &p.startup_s, err) ||
        !need_measured(&m, "checkpoint_s", arena, &p.checkpoint_s, err) ||
        !rb_provisioning_read(rb_keys_given(&m, "provisioning"), arena, &p.provisioning, &p.n_provisioning, err) ||
        !read_readings(rb_keys_given(&m, "data"), arena, &p, err) ||
        !read_flag(&m, "resumes", true, &resumes, err) || !read_flag(&m, "exact", false, &p.exact, err))
        return false;
    const struct rb_node *measured = rb_keys_given(&m, "measured");
    p.has_measured = measured != NULL;
    p.restarts = !resumes;
    if (measured && !rb_measured_read(measured, arena, &p.measured, err))
        return false;
    *out = p;
    return true;
}
