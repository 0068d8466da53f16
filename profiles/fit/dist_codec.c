// A distribution in a file: a bare number, or a family with mean and cv or with its own parameters.
#include "profiles/fit/dist.h"

#include "base/order.h"
#include "profiles/job/keys.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_VALUES    1000000 // an empirical sample larger than any campaign of ours
#define MAX_SHAPE     1e4     // larger: a cv below 1e-4; give the cv instead
#define MAX_PARAMETER 1e9     // of scale and rate; the mean and cv are checked against the limits of dist.h

static const char *const kind_names[] = {"constant", "normal",      "lognormal", "gamma",
                                         "weibull",  "exponential", "empirical"};
#define ERROR_KEY "relative_error"
#define N_KINDS   ((int)(sizeof kind_names / sizeof kind_names[0]))

const char *rb_dist_kind_name(enum rb_dist_kind kind)
{
    return kind_names[kind];
}

static bool read_values(struct rb_map *m, struct rb_arena *arena, struct rb_dist *d, struct rb_err *err)
{
    const struct rb_node *list;
    if (!rb_map_need(m, "values", &list, err) || !rb_node_list(list, err))
        return false;
    if (list->n_children < 1 || list->n_children > MAX_VALUES)
        return rb_node_refuse(list, err, RB_E_LIST_LENGTH, "expected 1..%d values, got %d", MAX_VALUES,
                              list->n_children);
    double *values = rb_arena_array(arena, (size_t)list->n_children, sizeof *values);
    int n = 0;
    for (const struct rb_node *child = list->first; child; child = child->next)
        if (!rb_node_double(child, 0, RB_DIST_MAX_MEAN, &values[n++], err))
            return false;
    qsort(values, (size_t)n, sizeof *values, rb_order_doubles);
    d->values = values;
    d->n_values = n;
    return true;
}

static bool need_positive(struct rb_map *m, const char *key, double max, double *out, struct rb_err *err)
{
    return rb_map_need_double(m, key, 0, max, out, err) &&
           (*out > 0 || rb_node_refuse(rb_map_get(m, key), err, RB_E_OUT_OF_RANGE, "expected a number above 0"));
}

static double ln_gamma(double x)
{
    int sign;
    return lgamma_r(x, &sign);
}

// Turns the family's textbook parameters into mean and cv.
static bool read_own_parameters(struct rb_map *m, struct rb_dist *d, struct rb_err *err)
{
    double first, second;
    switch (d->kind) {
    case RB_DIST_LOGNORMAL:
        if (!rb_map_need_double(m, "mu", -100, 100, &first, err) ||
            !rb_map_need_double(m, "sigma", 0, 10, &second, err))
            return false;
        d->mean = exp(first + second * second / 2);
        d->cv = sqrt(expm1(second * second));
        return true;
    case RB_DIST_GAMMA:
    case RB_DIST_WEIBULL:
        if (!need_positive(m, "shape", MAX_SHAPE, &first, err) ||
            !need_positive(m, "scale", MAX_PARAMETER, &second, err))
            return false;
        if (d->kind == RB_DIST_GAMMA) {
            d->mean = first * second;
            d->cv = 1 / sqrt(first);
            return true;
        }
        d->mean = second * exp(ln_gamma(1 + 1 / first));
        d->cv = sqrt(expm1(ln_gamma(1 + 2 / first) - 2 * ln_gamma(1 + 1 / first)));
        return true;
    default:
        if (!need_positive(m, "rate", MAX_PARAMETER, &first, err))
            return false;
        d->mean = 1 / first;
        return true;
    }
}

static bool read_mean_and_cv(struct rb_map *m, struct rb_dist *d, struct rb_err *err)
{
    const bool has_cv = d->kind != RB_DIST_CONSTANT && d->kind != RB_DIST_EXPONENTIAL;
    return rb_map_need_double(m, "mean", 0, RB_DIST_MAX_MEAN, &d->mean, err) &&
           (!has_cv || rb_map_need_double(m, "cv", 0, RB_DIST_MAX_CV, &d->cv, err));
}

// The parameters of a family: mean and cv, or the alternative.
static const struct {
    const char *keys[4];        // all keys allowed beside `distribution`
    const char *alternative[3]; // its own parameters
} grammar[] = {
    [RB_DIST_CONSTANT] = {{"distribution", "mean"}, {NULL}},
    [RB_DIST_NORMAL] = {{"distribution", "mean", "cv"}, {NULL}},
    [RB_DIST_LOGNORMAL] = {{"distribution", "mean", "cv"}, {"mu", "sigma"}},
    [RB_DIST_GAMMA] = {{"distribution", "mean", "cv"}, {"shape", "scale"}},
    [RB_DIST_WEIBULL] = {{"distribution", "mean", "cv"}, {"shape", "scale"}},
    [RB_DIST_EXPONENTIAL] = {{"distribution", "mean"}, {"rate"}},
    [RB_DIST_EMPIRICAL] = {{"distribution", "values"}, {NULL}},
};

// Reads only the keys of the given form, so that mean beside mu is an unknown key and is not ignored.
static bool begin_form(struct rb_map *m, const struct rb_node *node, enum rb_dist_kind kind, bool measured, bool *own,
                       struct rb_err *err)
{
    const char *keys[6] = {"distribution"};
    if (!rb_map_begin(m, node, err))
        return false;
    *own = false;
    for (int i = 0; grammar[kind].alternative[i]; i++)
        *own = *own || rb_map_get(m, grammar[kind].alternative[i]);
    const char *const *more = *own ? grammar[kind].alternative : grammar[kind].keys + 1;
    int n = 1;
    for (int i = 0; more[i]; i++)
        keys[n++] = more[i];
    if (measured)
        keys[n++] = ERROR_KEY;
    return rb_keys_begin(m, node, keys, err);
}

static bool read_family(const struct rb_node *node, bool measured, struct rb_arena *arena, struct rb_dist *d,
                        struct rb_err *err)
{
    struct rb_map m;
    const struct rb_node *name;
    int kind;
    bool own;
    if (!rb_map_begin(&m, node, err) || !rb_map_need(&m, "distribution", &name, err) ||
        !rb_node_choice(name, kind_names, N_KINDS, &kind, err))
        return false;
    d->kind = (enum rb_dist_kind)kind;
    if (!begin_form(&m, node, d->kind, measured, &own, err) ||
        (measured && !rb_keys_double(&m, ERROR_KEY, 0, 1, 0, &d->relative_error, err)))
        return false;
    if (d->kind == RB_DIST_EMPIRICAL)
        return read_values(&m, arena, d, err);
    return own ? read_own_parameters(&m, d, err) : read_mean_and_cv(&m, d, err);
}

static bool read_dist(const struct rb_node *node, bool measured, struct rb_arena *arena, struct rb_dist *out,
                      struct rb_err *err)
{
    struct rb_dist d = {.kind = RB_DIST_CONSTANT};
    struct rb_err why;
    if (node->kind == RB_NODE_INT || node->kind == RB_NODE_FLOAT) {
        if (!rb_node_double(node, 0, RB_DIST_MAX_MEAN, &d.mean, err))
            return false;
    } else if (!read_family(node, measured, arena, &d, err)) {
        return false;
    }
    if (!rb_dist_prepare(&d, &why))
        return rb_node_refuse(node, err, rb_err_number(&why), "%s", why.message);
    *out = d;
    return true;
}

bool rb_dist_read(const struct rb_node *node, struct rb_arena *arena, struct rb_dist *out, struct rb_err *err)
{
    return read_dist(node, false, arena, out, err);
}

bool rb_dist_read_measured(const struct rb_node *node, struct rb_arena *arena, struct rb_dist *out, struct rb_err *err)
{
    return read_dist(node, true, arena, out, err);
}

void rb_dist_write(const struct rb_dist *d, struct rb_json *j)
{
    rb_json_put(j, "{distribution: %s", kind_names[d->kind]);
    if (d->kind == RB_DIST_EMPIRICAL) {
        rb_json_karray(j, "values");
        for (int i = 0; i < d->n_values; i++)
            rb_json_double(j, d->values[i]);
        rb_json_end_array(j);
    } else {
        rb_json_kdouble(j, "mean", d->mean);
        if (d->kind != RB_DIST_CONSTANT && d->kind != RB_DIST_EXPONENTIAL)
            rb_json_kdouble(j, "cv", d->cv);
    }
    if (d->relative_error > 0)
        rb_json_kdouble(j, ERROR_KEY, d->relative_error);
    rb_json_end_object(j);
}
