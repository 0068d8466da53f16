// Estimates as JSON, both ways: in rb-plan/1, rb-pareto/1, rb-infeasible/1 and what-if tables.
#include "engine/plan/plan.h"

static const char *const method_names[] = {
    [RB_ESTIMATE_REPLICATES] = "replicates",
    [RB_ESTIMATE_LAWS] = "laws",
    [RB_ESTIMATE_TABLES] = "tables",
};
#define N_METHODS ((int)(sizeof method_names / sizeof method_names[0]))

static const char *method_name(enum rb_estimate_method method)
{
    return method_names[method];
}

struct quantile_field {
    const char *key;
    size_t offset;
};

static const struct quantile_field quantile_fields[] = {
    {"mean", offsetof(struct rb_quantiles, mean)}, {"p5", offsetof(struct rb_quantiles, p5)},
    {"p50", offsetof(struct rb_quantiles, p50)},   {"p95", offsetof(struct rb_quantiles, p95)},
    {"p99", offsetof(struct rb_quantiles, p99)},
};
#define N_QUANTILE_FIELDS (sizeof quantile_fields / sizeof quantile_fields[0])

void rb_quantiles_write(const struct rb_quantiles *q, struct rb_json *j)
{
    rb_json_begin_object(j);
    for (size_t i = 0; i < N_QUANTILE_FIELDS; i++)
        rb_json_kint(j, quantile_fields[i].key, *(const int64_t *)((const char *)q + quantile_fields[i].offset));
    rb_json_end_object(j);
}

static void write_margin(struct rb_json *j, const char *key, const struct rb_estimate_margin *m)
{
    rb_json_put(j, "%s: {time_mean_us: %jd cost_mean_uusd: %jd p_deadline: %g p_budget: %g p_both: %g}", key,
                m->time_mean_us, m->cost_mean_uusd, m->p_deadline, m->p_budget, m->p_both);
}

static void write_probability(struct rb_json *j, const char *key, const struct rb_estimate *e, double p)
{
    rb_json_key(j, key);
    if (e->spread_unknown)
        rb_json_null(j);
    else
        rb_json_double(j, p);
}

void rb_estimate_write(const struct rb_estimate *e, struct rb_json *j)
{
    rb_json_put(j, "{time_us:");
    rb_quantiles_write(&e->time_us, j);
    rb_json_key(j, "cost_uusd");
    rb_quantiles_write(&e->cost_uusd, j);
    write_probability(j, "p_deadline", e, e->p_deadline);
    write_probability(j, "p_budget", e, e->p_budget);
    write_probability(j, "p_both", e, e->p_both);
    rb_json_kint(j, "samples", e->samples);
    write_margin(j, "stderr", &e->stderr_);
    rb_json_put(j, "method: {time: %s|null cost: %s|null}", method_name(e->time_method), method_name(e->cost_method));
    write_margin(j, "error", &e->error);
    rb_json_end_object(j);
}

static bool read_quantiles(struct rb_map *parent, const char *key, struct rb_quantiles *out, struct rb_err *err)
{
    const struct rb_node *node;
    struct rb_map m;
    struct rb_quantiles q;
    if (!rb_map_need(parent, key, &node, err) || !rb_map_begin(&m, node, err))
        return false;
    for (size_t i = 0; i < N_QUANTILE_FIELDS; i++) {
        if (!rb_map_need_int(&m, quantile_fields[i].key, 0, INT64_MAX,
                             (int64_t *)((char *)&q + quantile_fields[i].offset), err))
            return false;
    }
    if (!rb_map_end(&m, err))
        return false;
    if (q.p5 > q.p50 || q.p50 > q.p95 || q.p95 > q.p99)
        return rb_node_refuse(node, err, RB_E_PLAN_ESTIMATE, "expected p5, p50, p95, p99 in ascending order");
    *out = q;
    return true;
}

static bool read_margin(struct rb_map *parent, const char *key, struct rb_estimate_margin *out, struct rb_err *err)
{
    const struct rb_node *node;
    struct rb_map m;
    return rb_map_need(parent, key, &node, err) && rb_map_begin(&m, node, err) &&
           rb_map_need_int(&m, "time_mean_us", 0, INT64_MAX, &out->time_mean_us, err) &&
           rb_map_need_int(&m, "cost_mean_uusd", 0, INT64_MAX, &out->cost_mean_uusd, err) &&
           rb_map_need_double(&m, "p_deadline", 0, 1, &out->p_deadline, err) &&
           rb_map_need_double(&m, "p_budget", 0, 1, &out->p_budget, err) &&
           rb_map_need_double(&m, "p_both", 0, 1, &out->p_both, err) && rb_map_end(&m, err);
}

static bool need_method(struct rb_map *m, const char *key, enum rb_estimate_method *out, struct rb_err *err)
{
    int method;
    if (!rb_map_need_choice(m, key, method_names, N_METHODS, &method, err))
        return false;
    *out = (enum rb_estimate_method)method;
    return true;
}

static bool read_methods(struct rb_map *parent, struct rb_estimate *e, struct rb_err *err)
{
    const struct rb_node *node;
    struct rb_map m;
    return rb_map_need(parent, "method", &node, err) && rb_map_begin(&m, node, err) &&
           need_method(&m, "time", &e->time_method, err) && need_method(&m, "cost", &e->cost_method, err) &&
           rb_map_end(&m, err);
}

// All three are numbers, or none is.
static bool read_probabilities(struct rb_map *m, struct rb_estimate *e, struct rb_err *err)
{
    static const char *const keys[] = {"p_deadline", "p_budget", "p_both"};
    double *const out[] = {&e->p_deadline, &e->p_budget, &e->p_both};
    for (int i = 0; i < 3; i++) {
        const struct rb_node *node;
        if (!rb_map_need(m, keys[i], &node, err))
            return false;
        const bool unknown = node->kind == RB_NODE_NULL;
        *out[i] = 1;
        if (i > 0 && unknown != e->spread_unknown)
            return rb_node_refuse(node, err, RB_E_PLAN_ESTIMATE,
                                  "expected p_deadline, p_budget and p_both to be numbers, or all to be null");
        e->spread_unknown = unknown;
        if (!unknown && !rb_node_double(node, 0, 1, out[i], err))
            return false;
    }
    return true;
}

bool rb_estimate_read(const struct rb_node *node, struct rb_estimate *out, struct rb_err *err)
{
    struct rb_map m;
    struct rb_estimate e = {0};
    if (!rb_map_begin(&m, node, err) || !read_quantiles(&m, "time_us", &e.time_us, err) ||
        !read_quantiles(&m, "cost_uusd", &e.cost_uusd, err) || !read_probabilities(&m, &e, err) ||
        !rb_map_need_int(&m, "samples", 0, INT64_MAX, &e.samples, err) || !read_margin(&m, "stderr", &e.stderr_, err) ||
        !read_methods(&m, &e, err) || !read_margin(&m, "error", &e.error, err) || !rb_map_end(&m, err))
        return false;
    *out = e;
    return true;
}
