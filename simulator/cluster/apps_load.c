// Reads a folder of measured applications: constants from reference_vectors.json, training from validation-*.csv;
// iteration times are read by apps_tables.c.
#include "simulator/cluster/apps_tables.h"

#include "base/document/doc.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

#define MOST_EPOCHS 100000
#define CONSTANTS   "reference_vectors.json"

// ---- training

static bool load_training(const struct rb_app_loading *l, const struct rb_app *app, struct rb_app_training *t)
{
    static const char *const names[] = {"progress", "iteration", "metric", "grad_sqr", "grad_var"};
    const char *path = rb_arena_printf(l->arena, "%s/traces/%s/validation-%d.csv", l->dir, app->name, t->batch);
    RB_AUTO(rb_csv_finish) struct rb_csv csv = {0};
    int at[5];
    if (!rb_app_read_columns(l, path, names, 5, &csv, at))
        return false;
    if (csv.n_rows < app->n_epochs)
        return rb_err_set_at(l->err, RB_E_APPS, (struct rb_place){path, csv.row_line[csv.n_rows - 1], 0}, NULL,
                             "expected %d rows, one for each epoch (max_epochs of " CONSTANTS "), got %d",
                             app->n_epochs, csv.n_rows);
    double *columns[5];
    for (int c = 0; c < 5; c++) {
        columns[c] = rb_arena_array(l->arena, (size_t)app->n_epochs, sizeof(double));
        for (int e = 0; c != 2 && e < app->n_epochs; e++) {
            if (!rb_csv_double(&csv, e, at[c], 0, DBL_MAX, &columns[c][e], l->err))
                return false;
            if (c < 2 && e > 0 && !(columns[c][e] > columns[c][e - 1]))
                return rb_csv_error(&csv, e, at[c], l->err, "expected more than %.17g, that of the epoch before",
                                    columns[c][e - 1]);
        }
    }
    for (int e = 0; e < app->n_epochs; e++) {
        if (!(columns[3][e] + columns[4][e] > 0))
            return rb_csv_error(&csv, e, at[3], l->err, "expected grad_sqr and grad_var not both 0");
    }
    t->progress = columns[0];
    t->iteration = columns[1];
    t->grad_sqr = columns[3];
    t->grad_var = columns[4];
    return true;
}

static int by_batch(const void *pa, const void *pb)
{
    const struct rb_app_training *a = pa, *b = pb;
    return (a->batch > b->batch) - (a->batch < b->batch);
}

// An epoch ends at the progress of the batch size that needs the least for it.
static void find_epochs(const struct rb_app_loading *l, struct rb_app *app)
{
    double *progress = rb_arena_array(l->arena, (size_t)app->n_epochs + 1, sizeof *progress);
    for (int e = 1; e <= app->n_epochs; e++) {
        progress[e] = app->trainings[0].progress[e - 1];
        for (int i = 1; i < app->n_trainings; i++) {
            const double p = app->trainings[i].progress[e - 1];
            progress[e] = p < progress[e] ? p : progress[e];
        }
    }
    app->progress = progress;
}

static bool load_trainings(const struct rb_app_loading *l, const struct rb_node *epochs, struct rb_app *app)
{
    if (!epochs || epochs->kind != RB_NODE_MAP || epochs->n_children == 0)
        return rb_node_refuse(epochs, l->err, RB_E_APPS,
                              "expected the batch sizes that were measured, each with its last epoch");
    struct rb_app_training *trainings = rb_arena_array(l->arena, (size_t)epochs->n_children, sizeof *trainings);
    for (const struct rb_node *n = epochs->first; n; n = n->next) {
        struct rb_app_training *t = &trainings[app->n_trainings++];
        int64_t last;
        char *end;
        t->batch = (int)strtol(n->key, &end, 10);
        if (*end || t->batch < 1 || t->batch > RB_APP_MOST_BATCH)
            return rb_node_refuse(n, l->err, RB_E_APPS, "expected a batch size as the key");
        if (!rb_node_int(n, app->n_epochs - 1, app->n_epochs - 1, &last, l->err) || !load_training(l, app, t))
            return false;
    }
    qsort(trainings, (size_t)app->n_trainings, sizeof *trainings, by_batch);
    app->trainings = trainings;
    find_epochs(l, app);
    return true;
}

// ---- applications

static bool read_constant(const struct rb_app_loading *l, const struct rb_node *node, const char *key, int64_t max,
                          int *out)
{
    const struct rb_node *value = rb_node_member(node, key);
    int64_t v;
    if (!value)
        return rb_node_refuse(node, l->err, RB_E_APPS, "expected the key \"%s\"", key);
    if (!rb_node_int(value, 1, max, &v, l->err))
        return false;
    *out = (int)v;
    return true;
}

static bool load_app(const struct rb_app_loading *l, const struct rb_node *node, struct rb_app *app)
{
    app->name = rb_arena_strdup(l->arena, node->key);
    if (!read_constant(l, node, "init_batch_size", RB_APP_MOST_BATCH, &app->init_batch) ||
        !read_constant(l, node, "max_batch_size", RB_APP_MOST_BATCH, &app->max_batch) ||
        !read_constant(l, node, "min_local_bsz", RB_APP_MOST_BATCH, &app->min_local_batch) ||
        !read_constant(l, node, "max_local_bsz", RB_APP_MOST_BATCH, &app->max_local_batch) ||
        !read_constant(l, node, "max_epochs", MOST_EPOCHS, &app->n_epochs))
        return false;
    if (app->min_local_batch > app->max_local_batch || app->init_batch > app->max_batch)
        return rb_node_refuse(node, l->err, RB_E_APPS,
                              "expected min_local_bsz <= max_local_bsz and init_batch_size <= max_batch_size");
    return load_trainings(l, rb_node_member(node, "completion_epoch"), app) && rb_app_load_tables(l, app);
}

static int by_name(const void *pa, const void *pb)
{
    const struct rb_app *a = pa, *b = pb;
    return strcmp(a->name, b->name);
}

static bool load_all(const struct rb_app_loading *l, const struct rb_node *nodes, struct rb_apps *out)
{
    if (!nodes || nodes->kind != RB_NODE_MAP || nodes->n_children == 0)
        return rb_err_set(l->err, RB_E_APPS, "%s/" CONSTANTS ": expected a map `apps` of applications", l->dir);
    struct rb_app *apps = rb_arena_array(l->arena, (size_t)nodes->n_children, sizeof *apps);
    for (const struct rb_node *n = nodes->first; n; n = n->next) {
        if (!load_app(l, n, &apps[out->n++]))
            return false;
    }
    qsort(apps, (size_t)out->n, sizeof *apps, by_name);
    out->apps = apps;
    return true;
}

bool rb_apps_load(struct rb_apps *out, const char *dir, struct rb_err *err)
{
    struct rb_apps apps = {0};
    rb_arena_init(&apps.arena);
    const struct rb_app_loading l = {&apps.arena, dir, err};
    struct rb_doc doc = {0};
    const bool ok = rb_doc_read(&doc, rb_arena_printf(l.arena, "%s/" CONSTANTS, dir), err) &&
                    load_all(&l, rb_node_member(doc.root, "apps"), &apps);
    rb_doc_finish(&doc);
    if (ok)
        *out = apps;
    else
        rb_apps_finish(&apps);
    return ok;
}
