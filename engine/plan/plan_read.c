#include "engine/plan/plan_read.h"

#include "engine/core/policy.h"

#include <math.h>
#include <string.h>

#define MAX_SEED (INT64_C(1) << 53) // kept by every reader of JSON

struct reader {
    rb_digest_fn *digest;
    struct rb_arena *arena;
    struct rb_err *err;
    struct rb_plan plan;
};

// ---- members by type

bool rb_plan_need_string(struct rb_map *m, const char *key, struct rb_arena *arena, const char **out,
                         struct rb_err *err)
{
    const struct rb_node *node;
    const char *text;
    if (!rb_map_need(m, key, &node, err) || !rb_node_string(node, &text, err))
        return false;
    *out = rb_arena_strdup(arena, text);
    return true;
}

// null: -1.
static bool need_limit(struct rb_map *m, const char *key, int64_t *out, struct rb_err *err)
{
    const struct rb_node *node;
    if (!rb_map_need(m, key, &node, err))
        return false;
    if (node->kind != RB_NODE_NULL)
        return rb_node_int(node, 0, INT64_MAX, out, err);
    *out = -1;
    return true;
}

bool rb_plan_read_instant(const struct rb_node *node, int64_t *out_us, struct rb_err *err)
{
    const char *text;
    struct rb_err why;
    int64_t us;
    if (!rb_node_string(node, &text, err))
        return false;
    if (!rb_parse_instant(text, &us, &why))
        return rb_node_refuse(node, err, rb_err_number(&why), "%s", why.message);
    if (us < 0)
        return rb_node_refuse(node, err, RB_E_INSTANT, "expected an instant after 1970");
    *out_us = us;
    return true;
}

static bool read_strings(const struct rb_node *list, struct rb_arena *arena, const char *const **out, int *out_n,
                         struct rb_err *err)
{
    if (!rb_node_list(list, err))
        return false;
    const char **items = rb_arena_array(arena, (size_t)list->n_children, sizeof *items);
    int n = 0;
    for (const struct rb_node *item = list->first; item; item = item->next) {
        const char *text;
        if (!rb_node_string(item, &text, err))
            return false;
        items[n++] = rb_arena_strdup(arena, text);
    }
    *out = items;
    *out_n = n;
    return true;
}

// ---- the job and the profile, with their digests

static bool check_digest(const struct reader *r, const struct rb_node *stated, const char *actual)
{
    const char *hex;
    if (!rb_node_string(stated, &hex, r->err))
        return false;
    return strcmp(hex, actual) == 0 ||
           rb_node_refuse(stated, r->err, RB_E_PLAN_CHANGED,
                          "expected %s, the digest of the content beside it: the plan was changed after it was "
                          "made; make it again with rbplan",
                          actual);
}

static bool check_name(const struct rb_node *stated, const char *name, struct rb_err *err)
{
    const char *text;
    if (!rb_node_string(stated, &text, err))
        return false;
    return strcmp(text, name) == 0 ||
           rb_node_refuse(stated, err, RB_E_PLAN_CHANGED, "expected \"%s\", got \"%.60s\"", name, text);
}

static bool read_job(struct reader *r, const struct rb_node *node)
{
    struct rb_map m;
    const struct rb_node *name, *sha256, *config;
    if (!rb_map_begin(&m, node, r->err) || !rb_map_need(&m, "name", &name, r->err) ||
        !rb_plan_need_string(&m, "path", r->arena, &r->plan.job_path, r->err) ||
        !rb_map_need(&m, "sha256", &sha256, r->err) || !rb_map_need(&m, "config", &config, r->err) ||
        !rb_map_end(&m, r->err))
        return false;
    struct rb_job *job = rb_arena_alloc(r->arena, sizeof *job);
    if (!rb_job_read(config, NULL, 0, r->arena, job, r->err) || !check_name(name, job->name, r->err))
        return false;
    r->plan.job = job;
    rb_plan_digest_job(job, r->digest, r->plan.job_sha256);
    return check_digest(r, sha256, r->plan.job_sha256);
}

static bool read_profile(struct reader *r, const struct rb_node *node)
{
    struct rb_map m;
    const struct rb_node *name, *sha256, *model;
    if (!rb_map_begin(&m, node, r->err) || !rb_map_need(&m, "name", &name, r->err) ||
        !rb_map_need(&m, "sha256", &sha256, r->err) || !rb_map_need(&m, "model", &model, r->err) ||
        !rb_map_end(&m, r->err))
        return false;
    struct rb_profile *profile = rb_arena_alloc(r->arena, sizeof *profile);
    if (!rb_profile_read(model, NULL, "", r->arena, profile, r->err) || !check_name(name, profile->name, r->err))
        return false;
    r->plan.profile = profile;
    rb_plan_digest_profile(profile, r->digest, r->plan.profile_sha256);
    return check_digest(r, sha256, r->plan.profile_sha256);
}

static bool read_images(struct reader *r, const struct rb_node *node, const struct rb_key_value **out, int *out_n)
{
    if (node->kind != RB_NODE_MAP)
        return rb_node_refuse(node, r->err, RB_E_TYPE_WRONG, "expected a map from infra to image id");
    struct rb_key_value *images = rb_arena_array(r->arena, (size_t)node->n_children, sizeof *images);
    int n = 0;
    for (const struct rb_node *item = node->first; item; item = item->next) {
        const char *id;
        if (!rb_node_string(item, &id, r->err))
            return false;
        images[n++] = (struct rb_key_value){rb_arena_strdup(r->arena, item->key), rb_arena_strdup(r->arena, id)};
    }
    *out = images;
    *out_n = n;
    return true;
}

// ---- predictions

static bool read_gap(struct rb_map *m, double *out, struct rb_err *err)
{
    const struct rb_node *node;
    if (!rb_map_need(m, "gap", &node, err))
        return false;
    if (node->kind != RB_NODE_NULL)
        return rb_node_double(node, -INFINITY, INFINITY, out, err);
    *out = INFINITY;
    return true;
}

// null, or absent as in older plans: 0.
static bool read_share(struct rb_map *m, const char *key, double *out, struct rb_err *err)
{
    const struct rb_node *node = rb_map_get(m, key);
    *out = 0;
    return !node || node->kind == RB_NODE_NULL || rb_node_double(node, 0, 1, out, err);
}

// null: NULL.
static bool read_why_not(struct reader *r, struct rb_map *m, const char **out)
{
    const struct rb_node *node;
    if (!rb_map_need(m, "why_not", &node, r->err))
        return false;
    *out = NULL;
    return node->kind == RB_NODE_NULL || rb_plan_need_string(m, "why_not", r->arena, out, r->err);
}

static bool check_bound(const struct rb_plan_bound *b, const struct rb_node *node, struct rb_err *err)
{
    if (!b->present && isfinite(b->gap))
        return rb_node_refuse(node, err, RB_E_PLAN_ESTIMATE,
                              "expected gap null where cost_uusd is: no bound, no distance from it");
    if (b->proved && !b->present)
        return rb_node_refuse(node, err, RB_E_PLAN_ESTIMATE,
                              "expected cost_uusd where proved is true: the bound that proves the plan");
    if (b->proved && b->why_not)
        return rb_node_refuse(node, err, RB_E_PLAN_ESTIMATE, "expected why_not null where proved is true");
    return true;
}

static bool read_bound(struct reader *r, const struct rb_node *node)
{
    struct rb_plan_bound *b = &r->plan.bound;
    const struct rb_node *proved, *relaxations;
    struct rb_map m;
    if (!rb_map_begin(&m, node, r->err) || !need_limit(&m, "cost_uusd", &b->cost_uusd, r->err) ||
        !read_gap(&m, &b->gap, r->err) || !rb_map_need(&m, "proved", &proved, r->err) ||
        !rb_node_bool(proved, &b->proved, r->err) || !read_share(&m, "tolerance", &b->tolerance, r->err) ||
        !read_share(&m, "risk", &b->risk, r->err) ||
        !rb_map_need_int(&m, "nodes_explored", 0, INT64_MAX, &b->nodes_explored, r->err) ||
        !rb_map_need(&m, "relaxations", &relaxations, r->err) ||
        !read_strings(relaxations, r->arena, &b->relaxations, &b->n_relaxations, r->err) ||
        !read_why_not(r, &m, &b->why_not) || !rb_map_end(&m, r->err))
        return false;
    b->present = b->cost_uusd >= 0;
    return check_bound(b, node, r->err);
}

static bool read_baselines(struct reader *r, const struct rb_node *node)
{
    static const char *const names[] = {"static", "greedy", "naive"};
    struct rb_map m;
    if (!rb_map_begin(&m, node, r->err))
        return false;
    struct rb_plan_baseline *baselines = rb_arena_array(r->arena, 3, sizeof *baselines);
    for (int i = 0; i < 3; i++) {
        const struct rb_node *estimate;
        if (!rb_map_need(&m, names[i], &estimate, r->err))
            return false;
        baselines[i] = (struct rb_plan_baseline){.name = names[i], .exists = estimate->kind != RB_NODE_NULL};
        if (baselines[i].exists && !rb_estimate_read(estimate, &baselines[i].estimate, r->err))
            return false;
    }
    r->plan.baselines = baselines;
    r->plan.n_baselines = 3;
    return rb_map_end(&m, r->err);
}

// ---- the document

static bool read_format(struct rb_map *m, struct rb_err *err)
{
    const struct rb_node *node;
    const char *format;
    if (!rb_map_need(m, "format", &node, err) || !rb_node_string(node, &format, err))
        return false;
    return strcmp(format, "rb-plan/1") == 0 ||
           rb_node_refuse(node, err, RB_E_PLAN_EXPECTED,
                          "expected rb-plan/1, got \"%.40s\": give a plan made by rbplan", format);
}

static bool read_policy(struct reader *r, struct rb_map *m)
{
    const struct rb_node *node;
    const char *name;
    if (!rb_map_need(m, "policy", &node, r->err) || !rb_node_string(node, &name, r->err))
        return false;
    const struct rb_policy *policy = rb_policy_find(name);
    if (!policy)
        return rb_node_refuse(node, r->err, RB_E_NOT_SUPPORTED, "not supported yet: policy \"%.40s\"", name);
    r->plan.policy = policy->name;
    return true;
}

static bool read_constraints(struct reader *r, struct rb_map *m)
{
    const struct rb_node *deadline_at, *confidence;
    r->plan.deadline_at_us = -1;
    if (!need_limit(m, "deadline_us", &r->plan.deadline_us, r->err))
        return false;
    deadline_at = rb_map_get(m, "deadline_at");
    if (deadline_at && !rb_plan_read_instant(deadline_at, &r->plan.deadline_at_us, r->err))
        return false;
    const struct rb_node *admit_until = rb_map_get(m, "admit_until_us");
    if (admit_until && !rb_node_int(admit_until, 1, INT64_MAX, &r->plan.admit_until_us, r->err))
        return false;
    return need_limit(m, "budget_uusd", &r->plan.budget_uusd, r->err) &&
           rb_map_need(m, "confidence", &confidence, r->err) &&
           rb_node_double(confidence, 0, 1, &r->plan.confidence, r->err);
}

static bool read_origin(struct reader *r, struct rb_map *m)
{
    const struct rb_node *job, *profile, *images;
    int64_t seed;
    if (!rb_plan_need_string(m, "tool", r->arena, &r->plan.tool, r->err) ||
        !rb_map_need_int(m, "seed", 0, MAX_SEED, &seed, r->err) || !rb_map_need(m, "job", &job, r->err) ||
        !rb_map_need(m, "profile", &profile, r->err) || !rb_map_need(m, "images", &images, r->err))
        return false;
    r->plan.seed = (uint64_t)seed;
    const struct rb_node *containers = rb_map_get(m, "containers");
    return read_job(r, job) && read_profile(r, profile) &&
           read_images(r, images, &r->plan.images, &r->plan.n_images) &&
           (!containers || read_images(r, containers, &r->plan.containers, &r->plan.n_containers));
}

// Reads prices before their users, whatever their order in the file.
static bool read_offers_and_stages(struct reader *r, const struct rb_node *root, struct rb_map *m)
{
    const struct rb_node *stages, *prices, *fallbacks;
    return rb_map_need(m, "stages", &stages, r->err) && rb_map_need(m, "prices", &prices, r->err) &&
           rb_plan_read_prices(prices, r->arena, &r->plan, r->err) &&
           rb_plan_read_stages(stages, r->arena, &r->plan, r->err) &&
           rb_plan_read_disks(root, rb_map_get(m, "disks"), r->arena, &r->plan, r->err) &&
           rb_map_need(m, "fallbacks", &fallbacks, r->err) &&
           rb_plan_read_fallbacks(fallbacks, r->arena, &r->plan, r->err);
}

static bool read_estimate(struct reader *r, struct rb_map *m)
{
    const struct rb_node *estimate;
    if (!rb_map_need(m, "estimate", &estimate, r->err))
        return false;
    r->plan.unpredicted = estimate->kind == RB_NODE_NULL;
    return r->plan.unpredicted || rb_estimate_read(estimate, &r->plan.estimate, r->err);
}

// Absent: the estimate is of the plan as it stands.
static bool read_spot(struct reader *r, const struct rb_node *node)
{
    struct rb_map m, alone;
    const struct rb_node *on_demand, *alone_node;
    if (!node)
        return true;
    struct rb_plan_safe_spot *s = rb_arena_alloc(r->arena, sizeof *s);
    if (!rb_map_begin(&m, node, r->err) || !rb_map_need(&m, "on_demand", &on_demand, r->err) ||
        !rb_estimate_read(on_demand, &s->on_demand, r->err) ||
        !rb_map_need_double(&m, "p_on_demand", 0, 1, &s->p_on_demand, r->err) ||
        !rb_map_need_double(&m, "share_on_demand", 0, 1, &s->share_on_demand, r->err) ||
        !rb_map_need(&m, "alone", &alone_node, r->err) || !rb_map_end(&m, r->err) ||
        !rb_map_begin(&alone, alone_node, r->err) ||
        !rb_map_need_int(&alone, "cost_uusd", 0, INT64_MAX, &s->alone_uusd, r->err) ||
        !rb_map_need_double(&alone, "p_deadline", 0, 1, &s->p_alone, r->err) || !rb_map_end(&alone, r->err))
        return false;
    r->plan.spot = s;
    return true;
}

static bool need_text_or_null(struct reader *r, struct rb_map *m, const char *key, const char **out)
{
    const struct rb_node *node;
    *out = NULL;
    return rb_map_need(m, key, &node, r->err) &&
           (node->kind == RB_NODE_NULL || rb_plan_need_string(m, key, r->arena, out, r->err));
}

// Absent: it was not asked for.
static bool read_controller(struct reader *r, const struct rb_node *node)
{
    struct rb_map m, cost;
    const struct rb_node *costs;
    if (!node)
        return true;
    struct rb_plan_controller *c = rb_arena_alloc(r->arena, sizeof *c);
    if (!rb_map_begin(&m, node, r->err) || !rb_plan_need_string(&m, "place", r->arena, &c->place, r->err) ||
        !need_text_or_null(r, &m, "instance_type", &c->instance_type) ||
        !rb_map_need_int(&m, "uusd_per_hour", 0, RB_LIMIT_NODE_UUSD, &c->uusd_per_hour, r->err) ||
        !rb_map_need_int(&m, "keep_us", 0, INT64_MAX, &c->keep_us, r->err) || !rb_map_need(&m, "cost_uusd", &costs, r->err) ||
        !rb_map_need_int(&m, "set_aside_uusd", 0, RB_LIMIT_NODE_UUSD, &c->set_aside_uusd, r->err) || !rb_map_end(&m, r->err) ||
        !rb_map_begin(&cost, costs, r->err) || !rb_map_need_int(&cost, "mean", 0, INT64_MAX, &c->cost_uusd.mean, r->err) ||
        !rb_map_need_int(&cost, "p50", 0, INT64_MAX, &c->cost_uusd.p50, r->err) ||
        !rb_map_need_int(&cost, "p95", 0, INT64_MAX, &c->cost_uusd.p95, r->err) || !rb_map_end(&cost, r->err))
        return false;
    r->plan.controller = c;
    return true;
}

static bool read_predictions(struct reader *r, struct rb_map *m)
{
    const struct rb_node *bound, *baselines;
    return read_estimate(r, m) && read_spot(r, rb_map_get(m, "spot")) &&
           read_controller(r, rb_map_get(m, "controller")) && rb_map_need(m, "bound", &bound, r->err) && read_bound(r, bound) &&
           rb_map_need(m, "baselines", &baselines, r->err) && read_baselines(r, baselines);
}

static bool read_plan(struct reader *r, const struct rb_node *root)
{
    struct rb_map m;
    const struct rb_node *warnings;
    return rb_map_begin(&m, root, r->err) && read_format(&m, r->err) && read_origin(r, &m) && read_policy(r, &m) &&
           rb_plan_need_string(&m, "planner", r->arena, &r->plan.planner, r->err) && read_constraints(r, &m) &&
           read_predictions(r, &m) && read_offers_and_stages(r, root, &m) &&
           rb_map_need(&m, "warnings", &warnings, r->err) &&
           read_strings(warnings, r->arena, &r->plan.warnings, &r->plan.n_warnings, r->err) && rb_map_end(&m, r->err);
}

bool rb_plan_read(const struct rb_node *root, rb_digest_fn *digest, struct rb_arena *arena, struct rb_plan *out,
                  struct rb_err *err)
{
    struct reader r = {.digest = digest, .arena = arena, .err = err};
    if (!read_plan(&r, root))
        return false;
    *out = r.plan;
    return true;
}
