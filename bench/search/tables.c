#include "bench/search/tables.h"

#include "base/document/csv.h"
#include "base/document/doc.h"
#include "base/order.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- FAMILY.yaml

// `round: int` has no counterpart in job.yaml: the rows are whole numbers already.
static bool read_param(const struct rb_node *node, const struct rb_space *before, struct rb_arena *arena,
                       struct rb_param *p)
{
    const struct rb_node *min = rb_node_member(node, "min"), *values = rb_node_member(node, "values");
    const struct rb_node *law = rb_node_member(node, "distribution"), *condition = rb_node_member(node, "if");
    *p = (struct rb_param){.name = rb_arena_strdup(arena, node->key), .parent = -1};
    if (values) {
        struct rb_value *list = rb_arena_array(arena, (size_t)values->n_children, sizeof *list);
        p->kind = RB_PARAM_CHOICE;
        for (const struct rb_node *v = values->first; v; v = v->next)
            list[p->n_values++] = (struct rb_value){.kind = RB_VALUE_STRING, .string = rb_arena_strdup(arena, v->text)};
        p->values = list;
    } else {
        const struct rb_node *max = rb_node_member(node, "max");
        p->kind = law && strcmp(law->text, "log_uniform") == 0           ? RB_PARAM_LOG_UNIFORM
                  : min->kind == RB_NODE_INT && max->kind == RB_NODE_INT ? RB_PARAM_INT_UNIFORM
                                                                         : RB_PARAM_UNIFORM;
        p->min = min->number;
        p->max = max->number;
    }
    if (!condition)
        return true;
    const struct rb_node *choice = condition->first;
    int *cells = rb_arena_array(arena, (size_t)choice->n_children, sizeof *cells);
    for (int i = 0; i < before->n_params; i++)
        if (strcmp(before->params[i].name, choice->key) == 0)
            p->parent = i;
    const struct rb_param *parent = &before->params[p->parent];
    for (int k = 0; k < parent->n_values; k++)
        for (const struct rb_node *v = choice->first; v; v = v->next)
            if (strcmp(v->text, parent->values[k].string) == 0)
                cells[p->n_parent_values++] = k;
    p->parent_values = cells;
    return true;
}

static bool read_family(struct table *t, const char *folder, const char *family, bool *minimize, struct rb_arena *arena,
                        struct rb_err *err)
{
    struct rb_doc doc;
    char *path = rb_arena_printf(arena, "%s/%s.yaml", folder, family);
    if (!rb_doc_read(&doc, path, err))
        return false;
    const struct rb_node *parameters = rb_node_member(doc.root, "parameters");
    struct rb_param *params = rb_arena_array(arena, (size_t)parameters->n_children, sizeof *params);
    t->space = (struct rb_space){.params = params};
    for (const struct rb_node *p = parameters->first; p; p = p->next) {
        read_param(p, &t->space, arena, &params[t->space.n_params]);
        t->space.n_params++;
    }
    *minimize = strcmp(rb_node_member(rb_node_member(doc.root, "metric"), "goal")->text, "minimize") == 0;
    t->R = (int)rb_node_member(doc.root, "max_resource")->integer;
    t->resumable = rb_node_member(doc.root, "resumable")->boolean;
    rb_doc_finish(&doc);
    return true;
}

// ---- FAMILY_TASK.csv.gz

static struct rb_value read_value(const struct rb_param *p, const char *cell, struct rb_arena *arena)
{
    if (*cell == '\0')
        return (struct rb_value){.kind = RB_VALUE_ABSENT};
    if (p->kind == RB_PARAM_CHOICE)
        return (struct rb_value){.kind = RB_VALUE_STRING, .string = rb_arena_strdup(arena, cell)};
    const double x = atof(cell);
    if (p->kind == RB_PARAM_INT_UNIFORM)
        return (struct rb_value){.kind = RB_VALUE_INT, .integer = (int64_t)x, .number = x};
    return (struct rb_value){.kind = RB_VALUE_FLOAT, .number = x};
}

static bool read_row(struct table *t, const struct rb_csv *csv, int row, bool minimize, struct rb_arena *arena)
{
    struct rb_value *values = t->values + (size_t)row * (size_t)t->space.n_params;
    for (int i = 0; i < t->space.n_params; i++) {
        char name[128];
        snprintf(name, sizeof name, "p.%s", t->space.params[i].name);
        const int column = rb_csv_column(csv, name);
        if (column < 0)
            return false;
        values[i] = read_value(&t->space.params[i], csv->cells[row][column], arena);
    }
    rb_coordinates_of(&t->coordinates, values, t->u + (size_t)row * (size_t)t->coordinates.n);
    const int seconds = rb_csv_column(csv, "unit_s");
    t->unit_s[row] = seconds < 0 ? NAN : atof(csv->cells[row][seconds]);
    for (int r = 1; r <= t->R; r++) {
        char name[16];
        snprintf(name, sizeof name, "%d", r);
        const int column = rb_csv_column(csv, name);
        if (column < 0)
            return false;
        const char *cell = csv->cells[row][column];
        const double score = *cell ? atof(cell) * (minimize ? -1 : 1) : -INFINITY;
        t->score[(size_t)row * (size_t)t->R + (size_t)r - 1] = score;
    }
    return true;
}

static void find_scale(struct table *t)
{
    double *last = rb_xcalloc((size_t)t->n, sizeof *last);
    for (int i = 0; i < t->n; i++)
        last[i] = t->score[(size_t)i * (size_t)t->R + (size_t)t->R - 1];
    qsort(last, (size_t)t->n, sizeof *last, rb_order_doubles);
    t->best = last[t->n - 1];
    t->median = (last[(t->n - 1) / 2] + last[t->n / 2]) / 2;
    free(last);
}

bool table_read(const char *folder, const char *name, struct rb_arena *arena, struct table *out, struct rb_err *err)
{
    struct table *t = out;
    *t = (struct table){.name = rb_arena_strdup(arena, name)};
    struct rb_csv csv;
    bool minimize, ok = true;
    const char *family = rb_arena_strndup(arena, name, strcspn(name, "_"));
    if (!read_family(t, folder, family, &minimize, arena, err) ||
        !rb_csv_read(&csv, rb_arena_printf(arena, "%s/%s.csv.gz", folder, name), err))
        return false;
    t->n = csv.n_rows;
    rb_coordinates_init(&t->coordinates, &t->space);
    t->u = rb_arena_array(arena, (size_t)t->n * (size_t)t->coordinates.n, sizeof *t->u);
    t->values = rb_arena_array(arena, (size_t)t->n * (size_t)t->space.n_params, sizeof *t->values);
    t->score = rb_arena_array(arena, (size_t)t->n * (size_t)t->R, sizeof *t->score);
    t->unit_s = rb_arena_array(arena, (size_t)t->n, sizeof *t->unit_s);
    for (int i = 0; i < t->n && ok; i++)
        ok = read_row(t, &csv, i, minimize, arena);
    rb_csv_finish(&csv);
    if (!ok)
        return rb_err_set(err, RB_E_FILE_READ, "%s.csv.gz lacks a column of a parameter or a resource", name);
    find_scale(t);
    return true;
}

void table_finish(struct table *t)
{
    rb_coordinates_finish(&t->coordinates);
}

int table_nearest(const struct table *t, const double *u, const bool *used)
{
    const int d = t->coordinates.n;
    double least = INFINITY;
    int best = -1;
    for (int i = 0; i < t->n; i++) {
        const double *row = t->u + (size_t)i * (size_t)d;
        double sum = 0;
        for (int j = 0; j < d && !used[i]; j++) {
            const bool missing = isnan(u[j]), row_missing = isnan(row[j]);
            double step = 0;
            if (missing != row_missing)
                step = 1;
            else if (!missing)
                step = t->coordinates.items[j].is_choice ? fabs(u[j] - row[j]) > 1e-9 : u[j] - row[j];
            sum += step * step;
        }
        if (!used[i] && sum < least) {
            least = sum;
            best = i;
        }
    }
    return best;
}
