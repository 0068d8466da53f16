// `parameters:` of job.yaml: read into distributions, and written back with every distribution named.
#include "profiles/space/space.h"

#include "base/limits.h"
#include "base/order.h"
#include "profiles/job/keys.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EXACT_INT     (INT64_C(1) << 53) // integers beyond are not kept by readers of JSON
#define MAX_NAME_LEN  64
#define MAX_VALUES    4096  // of one parameter: people write them
#define MAX_LN        600.0 // exp() of anything within stays finite
#define MAX_STEPS     1e9   // counted exactly in double arithmetic; a finer lattice is as good as continuous
#define SUM_TOLERANCE 1e-6

static const char *const distribution_names[] = {"uniform",    "log_uniform", "normal",
                                                 "log_normal", "int_uniform", "q_uniform"};
static const enum rb_param_kind distribution_kinds[] = {RB_PARAM_UNIFORM,    RB_PARAM_LOG_UNIFORM, RB_PARAM_NORMAL,
                                                        RB_PARAM_LOG_NORMAL, RB_PARAM_INT_UNIFORM, RB_PARAM_Q_UNIFORM};
#define N_DISTRIBUTIONS ((int)(sizeof distribution_names / sizeof distribution_names[0]))

static const char *const keys[] = {"distribution", "min",    "max",           "q",    "mu",
                                   "sigma",        "values", "probabilities", "flag", "if",  NULL};

// --- values ---

bool rb_value_read(const struct rb_node *node, struct rb_arena *arena, struct rb_value *out, struct rb_err *err)
{
    switch (node->kind) {
    case RB_NODE_INT:
        if (node->integer > EXACT_INT || node->integer < -EXACT_INT)
            return rb_node_refuse(node, err, RB_E_NOT_FINITE, "expected a whole number within +-2^53, got %s",
                                  node->text);
        *out = (struct rb_value){.kind = RB_VALUE_INT, .integer = node->integer, .number = node->number};
        return true;
    case RB_NODE_FLOAT:
        *out = (struct rb_value){.kind = RB_VALUE_FLOAT, .number = node->number};
        return true;
    case RB_NODE_BOOL:
        *out = (struct rb_value){.kind = RB_VALUE_BOOL, .boolean = node->boolean};
        return true;
    case RB_NODE_STRING:
        *out = (struct rb_value){.kind = RB_VALUE_STRING, .string = rb_arena_strdup(arena, node->text)};
        return true;
    case RB_NODE_NULL:
    case RB_NODE_LIST:
    case RB_NODE_MAP:
        break;
    }
    return rb_node_refuse(node, err, RB_E_TYPE_WRONG, "expected a number, text, true or false");
}

void rb_value_json(const struct rb_value *v, struct rb_json *j)
{
    switch (v->kind) {
    case RB_VALUE_INT:
        rb_json_int(j, v->integer);
        break;
    case RB_VALUE_FLOAT: {
        const size_t start = j->out->len;
        rb_json_double(j, v->number);
        if (!strpbrk(j->out->data + start, ".e"))
            rb_buf_puts(j->out, ".0"); // else it would be read back as an integer
        break;
    }
    case RB_VALUE_STRING:
        rb_json_string(j, v->string);
        break;
    case RB_VALUE_BOOL:
        rb_json_bool(j, v->boolean);
        break;
    case RB_VALUE_ABSENT: // it has no text
        rb_json_null(j);
        break;
    }
}

// --- one parameter ---

static bool is_name(const char *s)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
    static const char more[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789.-";
    const size_t n = strlen(s);
    return n >= 1 && n <= MAX_NAME_LEN && strchr(letters, s[0]) && strspn(s, more) == n;
}

static bool refuse(struct rb_map *m, const char *const *unwanted, const char *why, struct rb_err *err)
{
    for (; *unwanted; unwanted++) {
        const struct rb_node *node = rb_map_get(m, *unwanted);
        if (node)
            return rb_node_refuse(node, err, RB_E_PARAMETER_FORM, "`%s` has no meaning %s; remove it", *unwanted, why);
    }
    return true;
}

static bool read_probabilities(const struct rb_node *node, int n_values, struct rb_arena *arena, const double **out,
                               struct rb_err *err)
{
    if (!rb_node_list(node, err))
        return false;
    if (node->n_children != n_values)
        return rb_node_refuse(node, err, RB_E_PARAMETER_RANGE,
                              "expected %d probabilities, one for each of `values`, got %d", n_values,
                              node->n_children);
    double *p = rb_arena_array(arena, (size_t)n_values, sizeof *p), sum = 0;
    int i = 0;
    for (const struct rb_node *child = node->first; child; child = child->next, i++) {
        if (!rb_node_double(child, 0, 1, &p[i], err))
            return false;
        sum += p[i];
    }
    if (fabs(sum - 1) > SUM_TOLERANCE)
        return rb_node_refuse(node, err, RB_E_PARAMETER_RANGE, "expected probabilities that sum to 1, got %.9g", sum);
    *out = p;
    return true;
}

static bool read_choice(struct rb_map *m, struct rb_arena *arena, struct rb_param *p, struct rb_err *err)
{
    static const char *const unwanted[] = {"distribution", "min", "max", "q", "mu", "sigma", NULL};
    const struct rb_node *list = rb_map_get(m, "values"), *probabilities = rb_map_get(m, "probabilities");
    if (!refuse(m, unwanted, "beside `values`", err) || !rb_node_list(list, err))
        return false;
    if (list->n_children < 1 || list->n_children > MAX_VALUES)
        return rb_node_refuse(list, err, RB_E_LIST_LENGTH, "expected 1..%d values, got %d", MAX_VALUES,
                              list->n_children);
    struct rb_value *values = rb_arena_array(arena, (size_t)list->n_children, sizeof *values);
    int i = 0;
    for (const struct rb_node *child = list->first; child; child = child->next, i++)
        if (!rb_value_read(child, arena, &values[i], err))
            return false;
    p->kind = RB_PARAM_CHOICE;
    p->values = values;
    p->n_values = list->n_children;
    return !probabilities || read_probabilities(probabilities, p->n_values, arena, &p->probabilities, err);
}

static bool check_flag_values(struct rb_map *m, const struct rb_param *p, struct rb_err *err)
{
    const struct rb_node *value = rb_map_get(m, "values")->first;
    for (int i = 0; i < p->n_values; i++, value = value->next)
        if (p->values[i].kind != RB_VALUE_BOOL)
            return rb_node_refuse(
                value, err, RB_E_PARAMETER_FORM,
                "expected true or false beside `flag: true`, got %s; without the flag this is --%s=%s", value->text,
                p->name, value->text);
    return true;
}

// {flag: true}: true or false, equally likely unless `values` and `probabilities` say otherwise.
static bool read_flag(struct rb_map *m, struct rb_arena *arena, struct rb_param *p, struct rb_err *err)
{
    static const char *const unwanted[] = {"distribution", "min", "max", "q", "mu", "sigma", NULL};
    static const struct rb_value both[] = {{.kind = RB_VALUE_BOOL, .boolean = false},
                                           {.kind = RB_VALUE_BOOL, .boolean = true}};
    const struct rb_node *flag = rb_map_get(m, "flag"), *probabilities = rb_map_get(m, "probabilities");
    bool is_flag;
    if (!rb_node_bool(flag, &is_flag, err))
        return false;
    if (!is_flag)
        return rb_node_refuse(flag, err, RB_E_PARAMETER_FORM,
                              "expected `flag: true`; without a flag, leave it out and give `values: [true, false]`");
    p->is_flag = true;
    if (rb_map_get(m, "values"))
        return read_choice(m, arena, p, err) && check_flag_values(m, p, err);
    p->kind = RB_PARAM_CHOICE;
    p->values = both;
    p->n_values = 2;
    return refuse(m, unwanted, "beside `flag`", err) &&
           (!probabilities || read_probabilities(probabilities, p->n_values, arena, &p->probabilities, err));
}

static bool is_int(struct rb_map *m, const char *key)
{
    const struct rb_node *node = rb_map_get(m, key);
    return node && node->kind == RB_NODE_INT;
}

static bool read_normal(struct rb_map *m, struct rb_param *p, struct rb_err *err)
{
    static const char *const unwanted[] = {"min", "max", "q", NULL};
    const bool is_log = p->kind == RB_PARAM_LOG_NORMAL;
    const double limit = is_log ? MAX_LN / 2 : 1e300;
    if (!refuse(m, unwanted, "for a normal distribution", err) ||
        !rb_map_need_double(m, "mu", -limit, limit, &p->mu, err) ||
        !rb_map_need_double(m, "sigma", 0, is_log ? MAX_LN / 20 : 1e300, &p->sigma, err))
        return false;
    if (!(p->sigma > 0))
        return rb_node_refuse(rb_map_get(m, "sigma"), err, RB_E_PARAMETER_RANGE,
                              "expected sigma above 0; write a bare value for a constant");
    return true;
}

static bool read_bounds(struct rb_map *m, struct rb_param *p, struct rb_err *err)
{
    const bool is_int_law = p->kind == RB_PARAM_INT_UNIFORM;
    const double limit = is_int_law ? (double)EXACT_INT / 2 : 1e300;
    if (!rb_map_need_double(m, "min", -limit, limit, &p->min, err) ||
        !rb_map_need_double(m, "max", -limit, limit, &p->max, err))
        return false;
    if (!(p->min < p->max))
        return rb_node_refuse(rb_map_get(m, "max"), err, RB_E_PARAMETER_RANGE, "expected max above min (%s)",
                              rb_map_get(m, "min")->text);
    if (is_int_law && !(is_int(m, "min") && is_int(m, "max")))
        return rb_node_refuse(rb_map_get(m, is_int(m, "min") ? "max" : "min"), err, RB_E_PARAMETER_RANGE,
                              "expected a whole number, as int_uniform draws them");
    if (p->kind == RB_PARAM_LOG_UNIFORM && !(p->min > 0))
        return rb_node_refuse(rb_map_get(m, "min"), err, RB_E_PARAMETER_RANGE,
                              "expected min above 0, got %s: bounds of log_uniform are values, never exponents",
                              rb_map_get(m, "min")->text);
    return true;
}

static bool read_step(struct rb_map *m, struct rb_param *p, struct rb_err *err)
{
    const struct rb_node *node;
    if (!rb_map_need(m, "q", &node, err) || !rb_node_double(node, 0, 1e300, &p->q, err))
        return false;
    if (!(p->q > 0 && p->q <= p->max - p->min))
        return rb_node_refuse(node, err, RB_E_PARAMETER_RANGE, "expected a step above 0 and at most max - min, got %s",
                              node->text);
    if ((p->max - p->min) / p->q > MAX_STEPS)
        return rb_node_refuse(node, err, RB_E_PARAMETER_RANGE, "the step %s is too fine for this range; leave q out",
                              node->text);
    p->whole = is_int(m, "min") && is_int(m, "max") && is_int(m, "q");
    if (p->whole && (fabs(p->min) > (double)EXACT_INT || fabs(p->max) > (double)EXACT_INT))
        return rb_node_refuse(m->node, err, RB_E_NOT_FINITE, "expected whole numbers within +-2^53");
    return true;
}

static bool read_uniform(struct rb_map *m, struct rb_param *p, struct rb_err *err)
{
    static const char *const unwanted[] = {"mu", "sigma", NULL};
    if (!refuse(m, unwanted, "for a distribution between min and max", err) || !read_bounds(m, p, err))
        return false;
    if (p->kind == RB_PARAM_Q_UNIFORM)
        return read_step(m, p, err);
    static const char *const step[] = {"q", NULL};
    return refuse(m, step, "for this distribution (q_uniform has steps)", err);
}

// Without a name: the bounds show which distribution is meant.
static bool infer_kind(struct rb_map *m, enum rb_param_kind *out, struct rb_err *err)
{
    if (rb_map_get(m, "mu") || rb_map_get(m, "sigma"))
        return rb_node_refuse(m->node, err, RB_E_PARAMETER_FORM,
                              "expected `distribution: normal` or `distribution: log_normal` beside mu and sigma");
    if (!rb_map_get(m, "min") || !rb_map_get(m, "max"))
        return rb_node_refuse(m->node, err, RB_E_PARAMETER_FORM,
                              "expected `values`, `min` and `max`, a `distribution` or `flag: true`; for a constant "
                              "write the bare value");
    *out = rb_map_get(m, "q")                     ? RB_PARAM_Q_UNIFORM
           : is_int(m, "min") && is_int(m, "max") ? RB_PARAM_INT_UNIFORM
                                                  : RB_PARAM_UNIFORM;
    return true;
}

static bool read_law(struct rb_map *m, struct rb_param *p, struct rb_err *err)
{
    static const char *const unwanted[] = {"probabilities", NULL};
    const struct rb_node *name = rb_map_get(m, "distribution");
    int choice;
    if (name && !rb_node_choice(name, distribution_names, N_DISTRIBUTIONS, &choice, err))
        return false;
    if (name)
        p->kind = distribution_kinds[choice];
    else if (!infer_kind(m, &p->kind, err))
        return false;
    if (!refuse(m, unwanted, "without `values`", err))
        return false;
    return p->kind == RB_PARAM_NORMAL || p->kind == RB_PARAM_LOG_NORMAL ? read_normal(m, p, err)
                                                                        : read_uniform(m, p, err);
}

static bool read_constant(const struct rb_node *node, struct rb_arena *arena, struct rb_param *p, struct rb_err *err)
{
    struct rb_value value;
    if (node->kind == RB_NODE_LIST)
        return rb_node_refuse(node, err, RB_E_PARAMETER_FORM, "expected {values: [...]}, got a bare list");
    if (!rb_value_read(node, arena, &value, err))
        return false;
    struct rb_value *kept = rb_arena_alloc(arena, sizeof *kept);
    *kept = value;
    p->kind = RB_PARAM_CONSTANT;
    p->values = kept;
    p->n_values = 1;
    return true;
}

static bool read_param(const struct rb_node *node, struct rb_arena *arena, struct rb_param *out, struct rb_err *err)
{
    struct rb_param p = {.name = rb_arena_strdup(arena, node->key)};
    struct rb_map m;
    if (!is_name(node->key))
        return rb_node_refuse(
            node, err, RB_E_TEXT_FORM,
            "expected a name of letters, digits, _ . and -, beginning with a letter or _, at most %d long",
            MAX_NAME_LEN);
    if (node->kind != RB_NODE_MAP) {
        if (!read_constant(node, arena, &p, err))
            return false;
    } else if (!rb_keys_begin(&m, node, keys, err) || !(rb_map_get(&m, "flag")     ? read_flag(&m, arena, &p, err)
                                                        : rb_map_get(&m, "values") ? read_choice(&m, arena, &p, err)
                                                                                   : read_law(&m, &p, err))) {
        return false;
    }
    *out = p;
    return true;
}

// ---- conditions

static int find_value(const struct rb_param *p, const struct rb_value *value)
{
    for (int i = 0; i < p->n_values; i++)
        if (rb_value_equal(&p->values[i], value))
            return i;
    return -1;
}

// One value or a list of values of the parent, as indices.
static bool read_parent_values(const struct rb_node *node, const struct rb_param *parent, struct rb_arena *arena,
                               struct rb_param *p, struct rb_err *err)
{
    const bool is_list = node->kind == RB_NODE_LIST;
    const int n = is_list ? node->n_children : 1;
    if (n < 1)
        return rb_node_refuse(node, err, RB_E_LIST_LENGTH, "expected at least one value of %s", parent->name);
    int *indices = rb_arena_array(arena, (size_t)n, sizeof *indices);
    const struct rb_node *child = is_list ? node->first : node;
    for (int i = 0; i < n; i++, child = child->next) {
        struct rb_value value;
        if (!rb_value_read(child, arena, &value, err))
            return false;
        indices[i] = find_value(parent, &value);
        if (indices[i] < 0)
            return rb_node_refuse(child, err, RB_E_PARAMETER_FORM, "%s is not among the values of %s", child->text,
                                  parent->name);
    }
    qsort(indices, (size_t)n, sizeof *indices, rb_order_ints);
    p->parent_values = indices;
    p->n_parent_values = n;
    return true;
}

// {booster: [gbtree, dart]}: one earlier parameter that has `values`.
static bool read_condition(const struct rb_node *node, const struct rb_param *earlier, int n_earlier,
                           struct rb_arena *arena, struct rb_param *p, struct rb_err *err)
{
    const struct rb_node *member = node->first;
    if (node->kind != RB_NODE_MAP || node->n_children != 1)
        return rb_node_refuse(node, err, RB_E_PARAMETER_FORM,
                              "expected one parameter and its values, as in `if: {booster: [gbtree, dart]}`");
    for (int i = 0; i < n_earlier; i++) {
        if (strcmp(earlier[i].name, member->key) != 0)
            continue;
        if (earlier[i].kind != RB_PARAM_CHOICE)
            return rb_node_refuse(member, err, RB_E_PARAMETER_FORM, "%s has no `values` to choose from", member->key);
        p->parent = i;
        return read_parent_values(member, &earlier[i], arena, p, err);
    }
    return rb_node_refuse(member, err, RB_E_PARAMETER_FORM,
                          "expected a parameter that stands before this one; %s does not", member->key);
}

bool rb_space_read(const struct rb_node *node, struct rb_arena *arena, struct rb_space *out, struct rb_err *err)
{
    struct rb_map m;
    if (!rb_map_begin(&m, node, err))
        return false;
    if (node->n_children > RB_LIMIT_PARAMETERS)
        return rb_node_refuse(node, err, RB_E_LIST_LENGTH, "expected at most %d parameters, got %d",
                              RB_LIMIT_PARAMETERS, node->n_children);
    struct rb_param *params = rb_arena_array(arena, (size_t)node->n_children, sizeof *params);
    int n = 0;
    for (const struct rb_node *child = node->first; child; child = child->next, n++) {
        const struct rb_node *condition = rb_node_member(child, "if");
        if (!read_param(child, arena, &params[n], err) ||
            (condition && !read_condition(condition, params, n, arena, &params[n], err)))
            return false;
    }
    *out = (struct rb_space){.params = params, .n_params = n};
    return true;
}

// --- configurations ---

static bool is_within(const struct rb_param *p, const struct rb_value *v)
{
    switch (p->kind) {
    case RB_PARAM_CONSTANT:
    case RB_PARAM_CHOICE:
        return find_value(p, v) >= 0;
    case RB_PARAM_INT_UNIFORM:
    case RB_PARAM_UNIFORM:
    case RB_PARAM_LOG_UNIFORM:
    case RB_PARAM_Q_UNIFORM:
        return v->number >= p->min && v->number <= p->max;
    case RB_PARAM_NORMAL:
    case RB_PARAM_LOG_NORMAL:
        return true;
    }
    return false;
}

static bool wants_whole(const struct rb_param *p)
{
    return p->kind == RB_PARAM_INT_UNIFORM || (p->kind == RB_PARAM_Q_UNIFORM && p->whole);
}

static bool read_value_of(const struct rb_param *p, const struct rb_node *node, struct rb_arena *arena,
                          struct rb_value *out, struct rb_err *err)
{
    struct rb_value v;
    const bool listed = p->kind == RB_PARAM_CHOICE || p->kind == RB_PARAM_CONSTANT;
    if (!rb_value_read(node, arena, &v, err))
        return false;
    if (!listed && wants_whole(p) && v.kind != RB_VALUE_INT)
        return rb_node_refuse(node, err, RB_E_TYPE_WRONG, "expected a whole number, got %s", node->text);
    if (!listed && v.kind == RB_VALUE_INT && !wants_whole(p))
        v = (struct rb_value){.kind = RB_VALUE_FLOAT, .number = v.number};
    if (!listed && v.kind != RB_VALUE_INT && v.kind != RB_VALUE_FLOAT)
        return rb_node_refuse(node, err, RB_E_TYPE_WRONG, "expected a number, got %s", node->text);
    if (!is_within(p, &v))
        return rb_node_refuse(node, err, RB_E_PARAMETER_RANGE, "%s is outside of parameters.%s", node->text, p->name);
    *out = v;
    return true;
}

static bool takes_value(const struct rb_space *space, const struct rb_value *values, const char *name)
{
    for (int i = 0; i < space->n_params; i++)
        if (strcmp(space->params[i].name, name) == 0)
            return values[i].kind != RB_VALUE_ABSENT;
    return false;
}

bool rb_space_read_values(const struct rb_space *space, const struct rb_node *node, struct rb_arena *arena,
                          struct rb_value *out_values, struct rb_err *err)
{
    struct rb_value *values = rb_arena_array(arena, (size_t)(space->n_params ? space->n_params : 1), sizeof *values);
    if (node->kind != RB_NODE_MAP)
        return rb_node_refuse(node, err, RB_E_TYPE_WRONG, "expected an object of parameters");
    for (int i = 0; i < space->n_params; i++) {
        const struct rb_param *p = &space->params[i];
        const struct rb_node *child = rb_node_member(node, p->name);
        values[i] = (struct rb_value){.kind = RB_VALUE_ABSENT};
        if (!rb_space_applies(space, values, i))
            continue;
        if (!child)
            return rb_node_refuse(node, err, RB_E_KEY_MISSING, "expected a value of %s", p->name);
        if (!read_value_of(p, child, arena, &values[i], err))
            return false;
    }
    for (const struct rb_node *child = node->first; child; child = child->next)
        if (!takes_value(space, values, child->key))
            return rb_node_refuse(child, err, RB_E_PARAMETER_FORM, "%s is not a parameter that applies here",
                                  child->key);
    memcpy(out_values, values, (size_t)space->n_params * sizeof *values);
    return true;
}

// --- writing ---

static void write_condition(const struct rb_space *space, const struct rb_param *p, struct rb_json *j)
{
    const struct rb_param *parent = &space->params[p->parent];
    rb_json_kobject(j, "if");
    rb_json_karray(j, parent->name);
    for (int i = 0; i < p->n_parent_values; i++)
        rb_value_json(&parent->values[p->parent_values[i]], j);
    rb_json_end_array(j);
    rb_json_end_object(j);
}

static void write_choice(const struct rb_param *p, struct rb_json *j)
{
    rb_json_karray(j, "values");
    for (int i = 0; i < p->n_values; i++)
        rb_value_json(&p->values[i], j);
    rb_json_end_array(j);
    if (p->is_flag)
        rb_json_kbool(j, "flag", true);
    if (!p->probabilities)
        return;
    rb_json_karray(j, "probabilities");
    for (int i = 0; i < p->n_values; i++)
        rb_json_double(j, p->probabilities[i]);
    rb_json_end_array(j);
}

static void write_number(struct rb_json *j, const char *key, double v, bool whole)
{
    const struct rb_value value = {
        .kind = whole ? RB_VALUE_INT : RB_VALUE_FLOAT, .integer = whole ? (int64_t)v : 0, .number = v};
    rb_json_key(j, key);
    rb_value_json(&value, j);
}

static void write_law(const struct rb_param *p, struct rb_json *j)
{
    const bool whole = p->kind == RB_PARAM_INT_UNIFORM || p->whole;
    int i = 0;
    while (distribution_kinds[i] != p->kind)
        i++;
    rb_json_kstring(j, "distribution", distribution_names[i]);
    if (p->kind == RB_PARAM_NORMAL || p->kind == RB_PARAM_LOG_NORMAL) {
        write_number(j, "mu", p->mu, false);
        write_number(j, "sigma", p->sigma, false);
        return;
    }
    write_number(j, "min", p->min, whole);
    write_number(j, "max", p->max, whole);
    if (p->kind == RB_PARAM_Q_UNIFORM)
        write_number(j, "q", p->q, whole);
}

void rb_space_write(const struct rb_space *space, struct rb_json *j)
{
    rb_json_begin_object(j);
    for (int i = 0; i < space->n_params; i++) {
        const struct rb_param *p = &space->params[i];
        rb_json_key(j, p->name);
        if (p->kind == RB_PARAM_CONSTANT) {
            rb_value_json(&p->values[0], j);
            continue;
        }
        rb_json_begin_object(j);
        if (p->kind == RB_PARAM_CHOICE)
            write_choice(p, j);
        else
            write_law(p, j);
        if (p->n_parent_values > 0)
            write_condition(space, p, j);
        rb_json_end_object(j);
    }
    rb_json_end_object(j);
}
