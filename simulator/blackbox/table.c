#include "simulator/blackbox/table.h"

#include "base/document/csv.h"
#include "base/limits.h"
#include "base/order.h"
#include "profiles/job/job_names.h"
#include "profiles/job/keys.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_POINTS    10000 // columns of a learning curve
#define ROUNDING      1e-3  // values may be that much beyond a bound, relative to it: tables hold rounded numbers
#define SAME_CATEGORY 1e-9

// ---- FAMILY.yaml

static struct rb_node *copy_node(const struct rb_node *node, struct rb_arena *arena)
{
    struct rb_node *copy = rb_arena_alloc(arena, sizeof *copy);
    *copy = *node;
    copy->next = NULL;
    return copy;
}

// A copy of a map without the key `round`, which a job has no word for: rows hold whole numbers already.
static struct rb_node *without_round(const struct rb_node *map, struct rb_arena *arena)
{
    struct rb_node *copy = copy_node(map, arena);
    const struct rb_node **last = &copy->first;
    copy->first = NULL;
    copy->n_children = 0;
    for (const struct rb_node *child = map->first; child; child = child->next) {
        if (map->kind == RB_NODE_MAP && strcmp(child->key, "round") == 0)
            continue;
        struct rb_node *kept = copy_node(child, arena);
        *last = kept;
        last = &kept->next;
        copy->n_children++;
    }
    return copy;
}

static bool read_space(const struct rb_node *node, struct rb_arena *arena, struct rb_space *out, struct rb_err *err)
{
    if (node->kind != RB_NODE_MAP)
        return rb_space_read(node, arena, out, err);
    struct rb_node *copy = copy_node(node, arena);
    const struct rb_node **last = &copy->first;
    for (const struct rb_node *child = node->first; child; child = child->next) {
        struct rb_node *param = without_round(child, arena);
        *last = param;
        last = &param->next;
    }
    return rb_space_read(copy, arena, out, err);
}

static bool read_metric(const struct rb_node *node, struct rb_arena *arena, struct rb_blackbox *t, struct rb_err *err)
{
    static const char *const keys[] = {"name", "goal", "unit", NULL};
    struct rb_map m;
    int goal;
    if (!rb_keys_begin(&m, node, keys, err) || !rb_keys_need_text(&m, "name", arena, &t->metric_name, err) ||
        !rb_map_need_choice(&m, "goal", rb_goal_names, rb_names_count(rb_goal_names), &goal, err))
        return false;
    t->goal = (enum rb_goal)goal;
    return true;
}

static bool read_family(const struct rb_node *root, struct rb_arena *arena, struct rb_blackbox *t, struct rb_err *err)
{
    static const char *const keys[] = {"family",    "metric",     "unit", "max_resource",
                                       "resumable", "parameters", "kind", "license", NULL};
    struct rb_map m;
    const struct rb_node *metric, *parameters, *resumable;
    t->resumable = true;
    if (!rb_keys_begin(&m, root, keys, err) || !rb_map_need(&m, "metric", &metric, err) ||
        !read_metric(metric, arena, t, err) || !rb_keys_text(&m, "unit", "unit", arena, &t->unit, err) ||
        !rb_map_need_count(&m, "max_resource", 1, MAX_POINTS, &t->max_resource, err) ||
        !rb_map_need(&m, "parameters", &parameters, err) || !read_space(parameters, arena, &t->space, err))
        return false;
    resumable = rb_keys_given(&m, "resumable");
    if (resumable && !rb_node_bool(resumable, &t->resumable, err))
        return false;
    return t->space.n_params > 0 ||
           rb_node_refuse(parameters, err, RB_E_BLACKBOX, "expected at least one parameter that the rows give a value");
}

// ---- the rows

struct columns {
    int *params; // by parameter
    int unit_s;  // -1: none
    int *points; // by resource - 1
};

static bool find_columns(const struct rb_blackbox *t, const struct rb_csv *csv, struct rb_arena *arena,
                         struct columns *out, struct rb_err *err)
{
    const int n = t->space.n_params + 1 + t->max_resource;
    const char **known = rb_arena_array(arena, (size_t)n, sizeof *known);
    bool *required = rb_arena_array(arena, (size_t)n, sizeof *required);
    for (int i = 0; i < n; i++) {
        const int point = i - t->space.n_params;
        required[i] = point != 0;
        known[i] = point < 0    ? rb_arena_printf(arena, "p.%s", t->space.params[i].name)
                   : point == 0 ? "unit_s"
                                : rb_arena_printf(arena, "%d", point);
    }
    if (!rb_csv_check_columns(csv, known, required, n, err))
        return false;
    int *at = rb_arena_array(arena, (size_t)n, sizeof *at);
    for (int i = 0; i < n; i++)
        at[i] = rb_csv_column(csv, known[i]);
    *out = (struct columns){at, at[t->space.n_params], at + t->space.n_params + 1};
    return true;
}

static bool is_listed(const struct rb_value *value, const char *cell)
{
    char *end;
    if (value->kind == RB_VALUE_STRING)
        return strcmp(value->string, cell) == 0;
    if (value->kind == RB_VALUE_BOOL)
        return strcmp(value->boolean ? "true" : "false", cell) == 0;
    const double x = strtod(cell, &end);
    return end != cell && *end == '\0' && x == (value->kind == RB_VALUE_INT ? (double)value->integer : value->number);
}

static bool read_listed(const struct rb_csv *csv, int row, int column, const struct rb_param *p, struct rb_value *out,
                        struct rb_err *err)
{
    for (int i = 0; i < p->n_values; i++) {
        if (is_listed(&p->values[i], csv->cells[row][column])) {
            *out = p->values[i];
            return true;
        }
    }
    return rb_csv_error(csv, row, column, err, "expected one of the %d values of %s in the family's file, got \"%.40s\"",
                        p->n_values, p->name, csv->cells[row][column]);
}

static bool read_number(const struct rb_csv *csv, int row, int column, const struct rb_param *p, struct rb_value *out,
                        struct rb_err *err)
{
    const bool is_bounded = p->kind != RB_PARAM_NORMAL && p->kind != RB_PARAM_LOG_NORMAL;
    const double low = is_bounded ? p->min - ROUNDING * fabs(p->min) : -DBL_MAX;
    const double high = is_bounded ? p->max + ROUNDING * fabs(p->max) : DBL_MAX;
    if (p->kind == RB_PARAM_INT_UNIFORM || p->whole) {
        int64_t whole;
        if (!rb_csv_int(csv, row, column, (int64_t)p->min, (int64_t)p->max, &whole, err))
            return false;
        *out = (struct rb_value){.kind = RB_VALUE_INT, .integer = whole, .number = (double)whole};
        return true;
    }
    *out = (struct rb_value){.kind = RB_VALUE_FLOAT};
    if (!rb_csv_double(csv, row, column, low, high, &out->number, err))
        return false;
    if (is_bounded)
        out->number = fmin(fmax(out->number, p->min), p->max);
    return true;
}

static bool read_values(const struct rb_blackbox *t, const struct rb_csv *csv, int row, const struct columns *at,
                        struct rb_arena *arena, struct rb_value *values, struct rb_err *err)
{
    for (int i = 0; i < t->space.n_params; i++) {
        const struct rb_param *p = &t->space.params[i];
        const bool applies = rb_space_applies(&t->space, values, i), given = *csv->cells[row][at->params[i]] != '\0';
        values[i] = (struct rb_value){.kind = RB_VALUE_ABSENT};
        if (applies != given)
            return rb_csv_error(csv, row, at->params[i], err,
                                applies ? "expected a value: the parameter applies in this row"
                                        : "expected an empty cell: by its `if` the parameter does not apply in this row");
        if (!given)
            continue;
        if (!(p->kind == RB_PARAM_CHOICE || p->kind == RB_PARAM_CONSTANT
                  ? read_listed(csv, row, at->params[i], p, &values[i], err)
                  : read_number(csv, row, at->params[i], p, &values[i], err)))
            return false;
        if (values[i].kind == RB_VALUE_STRING)
            values[i].string = rb_arena_strdup(arena, values[i].string);
    }
    return true;
}

static bool read_curve(const struct rb_blackbox *t, const struct rb_csv *csv, int row, const struct columns *at,
                       double *out, struct rb_err *err)
{
    for (int k = 0; k < t->max_resource; k++) {
        out[k] = NAN;
        if (*csv->cells[row][at->points[k]] &&
            !rb_csv_double(csv, row, at->points[k], -DBL_MAX, DBL_MAX, &out[k], err))
            return false;
    }
    return true;
}

static bool read_rows(struct rb_blackbox *t, const struct rb_csv *csv, struct rb_arena *arena, struct rb_err *err)
{
    const size_t n = (size_t)csv->n_rows, n_params = (size_t)t->space.n_params, d = (size_t)t->coordinates.n;
    struct columns at;
    if (!find_columns(t, csv, arena, &at, err))
        return false;
    struct rb_value *values = rb_arena_array(arena, n * n_params, sizeof *values);
    double *u = rb_arena_array(arena, n * d + 1, sizeof *u);
    double *metrics = rb_arena_array(arena, n * (size_t)t->max_resource, sizeof *metrics);
    double *unit_s = at.unit_s >= 0 ? rb_arena_array(arena, n, sizeof *unit_s) : NULL;
    for (size_t i = 0; i < n; i++) {
        if (!read_values(t, csv, (int)i, &at, arena, values + i * n_params, err) ||
            !read_curve(t, csv, (int)i, &at, metrics + i * (size_t)t->max_resource, err) ||
            (unit_s && !rb_csv_double(csv, (int)i, at.unit_s, DBL_MIN, RB_LIMIT_DURATION_S, &unit_s[i], err)))
            return false;
        rb_coordinates_of(&t->coordinates, values + i * n_params, u + i * d);
    }
    t->n_rows = csv->n_rows;
    t->values = values;
    t->u = u;
    t->metrics = metrics;
    t->unit_s = unit_s;
    return true;
}

// What regret is measured by.
static bool find_scale(struct rb_blackbox *t, const struct rb_csv *csv, struct rb_err *err)
{
    const double sign = t->goal == RB_GOAL_MAXIMIZE ? 1 : -1;
    RB_AUTO(rb_auto_free) double *scores = rb_xcalloc((size_t)t->n_rows + 1, sizeof *scores);
    for (int i = 0; i < t->n_rows; i++) {
        const double last = rb_blackbox_metric(t, i, t->max_resource);
        scores[i] = isnan(last) ? -INFINITY : sign * last;
    }
    qsort(scores, (size_t)t->n_rows, sizeof *scores, rb_order_doubles);
    if (t->n_rows > 0) {
        t->best = sign * scores[t->n_rows - 1];
        t->median = sign * (scores[(t->n_rows - 1) / 2] + scores[t->n_rows / 2]) / 2;
    }
    return (t->n_rows > 0 && isfinite(t->median) && isfinite(t->best - t->median) && t->best != t->median) ||
           rb_err_set_at(err, RB_E_BLACKBOX, (struct rb_place){csv->file, csv->header_line, 1}, NULL,
                         "expected rows whose best metric at %d differs from the median one: regret is measured by "
                         "that distance, and more than half of the rows must not have diverged",
                         t->max_resource);
}

static bool read_table(struct rb_blackbox *t, const struct rb_doc *family, const struct rb_csv *csv,
                       struct rb_arena *arena, struct rb_err *err)
{
    if (!read_family(family->root, arena, t, err))
        return false;
    t->path = rb_arena_strdup(arena, csv->file);
    t->family_path = rb_arena_strdup(arena, family->file);
    rb_coordinates_init(&t->coordinates, &t->space);
    return read_rows(t, csv, arena, err) && find_scale(t, csv, err);
}

// ---- files

// "data/lcbench_3945.csv.gz" -> "data/lcbench.yaml"
static const char *family_of(const char *path, struct rb_arena *arena)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const size_t n = strcspn(name, "_");
    return name[n] ? rb_arena_printf(arena, "%.*s.yaml", (int)(name - path + (ptrdiff_t)n), path) : NULL;
}

static bool is_table_name(const char *path)
{
    return rb_has_ending(path, ".csv") || rb_has_ending(path, ".csv.gz");
}

bool rb_blackbox_read(const char *path, struct rb_arena *arena, struct rb_blackbox *out, struct rb_err *err)
{
    RB_AUTO(rb_doc_finish) struct rb_doc family = {0};
    RB_AUTO(rb_csv_finish) struct rb_csv csv = {0};
    const char *family_path = is_table_name(path) ? family_of(path, arena) : NULL;
    if (!family_path)
        return rb_err_set(err, RB_E_BLACKBOX,
                          "%.200s: expected FAMILY_TASK.csv or FAMILY_TASK.csv.gz, whose FAMILY.yaml lies beside it",
                          path);
    return rb_doc_read(&family, family_path, err) && rb_csv_read(&csv, path, err) &&
           read_table(out, &family, &csv, arena, err);
}

bool rb_blackbox_parse(const char *family_name, const char *family, size_t family_len, const char *name,
                       const char *bytes, size_t n, struct rb_arena *arena, struct rb_blackbox *out, struct rb_err *err)
{
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    RB_AUTO(rb_csv_finish) struct rb_csv csv = {0};
    return rb_doc_parse_yaml(&doc, family_name, family, family_len, err) && rb_csv_parse(&csv, name, bytes, n, err) &&
           read_table(out, &doc, &csv, arena, err);
}

void rb_blackbox_finish(struct rb_blackbox *t)
{
    rb_coordinates_finish(&t->coordinates);
}

// ---- lookup

const struct rb_value *rb_blackbox_values(const struct rb_blackbox *t, int row)
{
    return t->values + (size_t)row * (size_t)t->space.n_params;
}

double rb_blackbox_metric(const struct rb_blackbox *t, int row, int64_t resource)
{
    const int64_t k = resource < t->max_resource ? resource : t->max_resource;
    return t->metrics[(size_t)row * (size_t)t->max_resource + (size_t)k - 1];
}

static double squared_distance(const struct rb_coordinates *c, const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < c->n; i++) {
        double step = a[i] - b[i];
        if (isnan(step))
            step = isnan(a[i]) != isnan(b[i]);
        else if (c->items[i].is_choice)
            step = fabs(step) > SAME_CATEGORY;
        sum += step * step;
    }
    return sum;
}

int rb_blackbox_nearest(const struct rb_blackbox *t, const double *u, const bool *used)
{
    double least = INFINITY;
    int best = -1;
    for (int i = 0; i < t->n_rows; i++) {
        if (used[i])
            continue;
        const double distance = squared_distance(&t->coordinates, u, t->u + (size_t)i * (size_t)t->coordinates.n);
        if (distance < least) {
            least = distance;
            best = i;
        }
    }
    return best;
}

double rb_blackbox_regret(const struct rb_blackbox *t, double metric)
{
    const double x = (t->best - metric) / (t->best - t->median);
    return !isfinite(x) || x > 1 ? 1 : x < 0 ? 0 : x;
}
