// Reads a folder of measured applications: constants from reference_vectors.json, tables from CSV.
#include "simulator/apps.h"

#include "base/csv.h"
#include "base/doc.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

#define MOST_EPOCHS 100000
#define MOST_BATCH  (1 << 26)
#define MOST_STEP_S 86400 // an iteration of a day is a typing error
#define CONSTANTS   "reference_vectors.json"

struct loading {
    struct rb_arena *arena; // of what is loaded
    const char *dir;
    struct rb_err *err;
};

static void finish_csv(struct rb_csv *csv)
{
    rb_csv_finish(csv);
}

// Reads `columns`, all of them required, others refused; out_columns: where each is.
static bool read_columns(const struct loading *l, const char *path, const char *const *columns, int n,
                         struct rb_csv *out, int *out_columns)
{
    bool required[8];
    for (int i = 0; i < n; i++)
        required[i] = true;
    if (!rb_csv_read(out, path, l->err) || !rb_csv_check_columns(out, columns, required, n, l->err))
        return false;
    if (out->n_rows == 0)
        return rb_err_set_at(l->err, RB_ERR_INVALID, (struct rb_place){path, out->header_line, 1}, NULL,
                             "expected at least one row");
    for (int i = 0; i < n; i++)
        out_columns[i] = rb_csv_column(out, columns[i]);
    return true;
}

// ---- iterations

// One row of either table: which layout it belongs to, and what was measured.
struct times_row {
    int64_t layout;
    int line;
    int local_batch;
    struct rb_app_step step;
};

static int by_layout_and_batch(const void *pa, const void *pb)
{
    const struct times_row *a = pa, *b = pb;
    if (a->layout != b->layout)
        return a->layout < b->layout ? -1 : 1;
    return (a->local_batch > b->local_batch) - (a->local_batch < b->local_batch);
}

static bool read_times_row(const struct loading *l, const struct rb_csv *csv, int row, const int *columns,
                           struct times_row *out)
{
    int64_t batch;
    if (!rb_csv_int(csv, row, columns[0], 1, MOST_BATCH, &batch, l->err) ||
        !rb_csv_double(csv, row, columns[1], DBL_MIN, MOST_STEP_S, &out->step.step_s, l->err) ||
        !rb_csv_double(csv, row, columns[2], 0, MOST_STEP_S, &out->step.sync_s, l->err))
        return false;
    out->local_batch = (int)batch;
    out->line = csv->row_line[row];
    return out->step.sync_s < out->step.step_s ||
           rb_csv_error(csv, row, columns[2], l->err, "expected less than step_time, %g s: it is a part of it",
                        out->step.step_s);
}

static struct rb_app_times keep_times(const struct loading *l, const struct times_row *rows, int n)
{
    int *batches = rb_arena_array(l->arena, (size_t)n, sizeof *batches);
    struct rb_app_step *steps = rb_arena_array(l->arena, (size_t)n, sizeof *steps);
    for (int i = 0; i < n; i++) {
        batches[i] = rows[i].local_batch;
        steps[i] = rows[i].step;
    }
    return (struct rb_app_times){n, batches, steps};
}

// Sorts the rows where they are not; two of one layout and batch size are an error.
static bool order_rows(const struct loading *l, const char *path, struct times_row *rows, int n)
{
    bool sorted = true;
    for (int i = 1; i < n && sorted; i++)
        sorted = by_layout_and_batch(&rows[i - 1], &rows[i]) < 0;
    if (sorted)
        return true;
    qsort(rows, (size_t)n, sizeof *rows, by_layout_and_batch);
    for (int i = 1; i < n; i++) {
        if (by_layout_and_batch(&rows[i - 1], &rows[i]) == 0)
            return rb_err_set_at(l->err, RB_ERR_INVALID, (struct rb_place){path, rows[i].line, 0}, "local_bsz",
                                 "%d was measured twice on this placement (see line %d): keep one of the rows",
                                 rows[i].local_batch, rows[i - 1].line);
    }
    return true;
}

static int count_layout(const struct times_row *rows, int n)
{
    int same = 1;
    while (same < n && rows[same].layout == rows[0].layout)
        same++;
    return same;
}

static bool check_digits(const struct loading *l, const struct rb_csv *csv, int row, int column)
{
    const char *cell = csv->cells[row][column];
    const size_t n = strlen(cell);
    if (n >= 1 && n <= 9 && strspn(cell, "123456789") == n)
        return true;
    return rb_csv_error(csv, row, column, l->err,
                        "expected 1 to 9 digits 1..9, the GPUs on each node, as in 442; got \"%.20s\"", cell);
}

static bool load_placements(const struct loading *l, struct rb_app *app)
{
    static const char *const names[] = {"local_bsz", "step_time", "sync_time", "placement"};
    const char *path = rb_arena_printf(l->arena, "%s/traces/%s/placements.csv", l->dir, app->name);
    RB_AUTO(finish_csv) struct rb_csv csv = {0};
    int at[4];
    if (!read_columns(l, path, names, 4, &csv, at))
        return false;
    RB_AUTO(rb_auto_free) struct times_row *rows = rb_xcalloc((size_t)csv.n_rows, sizeof *rows);
    for (int r = 0; r < csv.n_rows; r++) {
        if (!check_digits(l, &csv, r, at[3]) || !read_times_row(l, &csv, r, at, &rows[r]))
            return false;
        rows[r].layout = atoi(csv.cells[r][at[3]]);
    }
    if (!order_rows(l, path, rows, csv.n_rows))
        return false;
    int *placements = rb_arena_array(l->arena, (size_t)csv.n_rows, sizeof *placements);
    struct rb_app_times *times = rb_arena_array(l->arena, (size_t)csv.n_rows, sizeof *times);
    for (int first = 0, n; first < csv.n_rows; first += n) {
        n = count_layout(rows + first, csv.n_rows - first);
        placements[app->n_placements] = (int)rows[first].layout;
        times[app->n_placements++] = keep_times(l, rows + first, n);
    }
    app->placements = placements;
    app->placement_times = times;
    return true;
}

static bool load_grid(const struct loading *l, struct rb_app *app)
{
    static const char *const names[] = {"local_bsz", "step_time", "sync_time", "num_nodes", "num_replicas"};
    const char *path = rb_arena_printf(l->arena, "%s/derived-throughput-grid/%s-grid.csv.gz", l->dir, app->name);
    RB_AUTO(finish_csv) struct rb_csv csv = {0};
    int at[5];
    if (!read_columns(l, path, names, 5, &csv, at))
        return false;
    RB_AUTO(rb_auto_free) struct times_row *rows = rb_xcalloc((size_t)csv.n_rows, sizeof *rows);
    for (int r = 0; r < csv.n_rows; r++) {
        int64_t nodes, gpus;
        if (!rb_csv_int(&csv, r, at[3], 1, RB_APP_MAX_NODES, &nodes, l->err) ||
            !rb_csv_int(&csv, r, at[4], nodes, RB_APP_MAX_GPUS, &gpus, l->err) ||
            !read_times_row(l, &csv, r, at, &rows[r]))
            return false;
        rows[r].layout = nodes * (RB_APP_MAX_GPUS + 1) + gpus;
    }
    if (!order_rows(l, path, rows, csv.n_rows))
        return false;
    struct rb_app_times(*grid)[RB_APP_MAX_GPUS + 1] = rb_arena_array(l->arena, RB_APP_MAX_NODES + 1, sizeof *grid);
    for (int first = 0, n; first < csv.n_rows; first += n) {
        n = count_layout(rows + first, csv.n_rows - first);
        grid[0][rows[first].layout] = keep_times(l, rows + first, n);
    }
    app->grid = (const struct rb_app_times(*)[RB_APP_MAX_GPUS + 1]) grid;
    return true;
}

// ---- training

static bool load_training(const struct loading *l, const struct rb_app *app, struct rb_app_training *t)
{
    static const char *const names[] = {"progress", "iteration", "metric", "grad_sqr", "grad_var"};
    const char *path = rb_arena_printf(l->arena, "%s/traces/%s/validation-%d.csv", l->dir, app->name, t->batch);
    RB_AUTO(finish_csv) struct rb_csv csv = {0};
    int at[5];
    if (!read_columns(l, path, names, 5, &csv, at))
        return false;
    if (csv.n_rows < app->n_epochs)
        return rb_err_set_at(l->err, RB_ERR_INVALID, (struct rb_place){path, csv.row_line[csv.n_rows - 1], 0}, NULL,
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

// An epoch ends where the batch size that needs least progress for it has ended it.
static void find_epochs(const struct loading *l, struct rb_app *app)
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

static bool load_trainings(const struct loading *l, const struct rb_node *epochs, struct rb_app *app)
{
    if (!epochs || epochs->kind != RB_NODE_MAP || epochs->n_children == 0)
        return rb_node_error(epochs, l->err, "expected the batch sizes that were measured, each with its last epoch");
    struct rb_app_training *trainings = rb_arena_array(l->arena, (size_t)epochs->n_children, sizeof *trainings);
    for (const struct rb_node *n = epochs->first; n; n = n->next) {
        struct rb_app_training *t = &trainings[app->n_trainings++];
        int64_t last;
        char *end;
        t->batch = (int)strtol(n->key, &end, 10);
        if (*end || t->batch < 1 || t->batch > MOST_BATCH)
            return rb_node_error(n, l->err, "expected a batch size as the key");
        if (!rb_node_int(n, app->n_epochs - 1, app->n_epochs - 1, &last, l->err) || !load_training(l, app, t))
            return false;
    }
    qsort(trainings, (size_t)app->n_trainings, sizeof *trainings, by_batch);
    app->trainings = trainings;
    find_epochs(l, app);
    return true;
}

// ---- applications

static bool read_constant(const struct loading *l, const struct rb_node *node, const char *key, int64_t max, int *out)
{
    const struct rb_node *value = rb_node_member(node, key);
    int64_t v;
    if (!value)
        return rb_node_error(node, l->err, "expected the key \"%s\"", key);
    if (!rb_node_int(value, 1, max, &v, l->err))
        return false;
    *out = (int)v;
    return true;
}

static bool load_app(const struct loading *l, const struct rb_node *node, struct rb_app *app)
{
    app->name = rb_arena_strdup(l->arena, node->key);
    if (!read_constant(l, node, "init_batch_size", MOST_BATCH, &app->init_batch) ||
        !read_constant(l, node, "max_batch_size", MOST_BATCH, &app->max_batch) ||
        !read_constant(l, node, "min_local_bsz", MOST_BATCH, &app->min_local_batch) ||
        !read_constant(l, node, "max_local_bsz", MOST_BATCH, &app->max_local_batch) ||
        !read_constant(l, node, "max_epochs", MOST_EPOCHS, &app->n_epochs))
        return false;
    if (app->min_local_batch > app->max_local_batch || app->init_batch > app->max_batch)
        return rb_node_error(node, l->err,
                             "expected min_local_bsz <= max_local_bsz and init_batch_size <= max_batch_size");
    return load_trainings(l, rb_node_member(node, "completion_epoch"), app) && load_placements(l, app) &&
           load_grid(l, app);
}

static int by_name(const void *pa, const void *pb)
{
    const struct rb_app *a = pa, *b = pb;
    return strcmp(a->name, b->name);
}

static bool load_all(const struct loading *l, const struct rb_node *nodes, struct rb_apps *out)
{
    if (!nodes || nodes->kind != RB_NODE_MAP || nodes->n_children == 0)
        return rb_err_set(l->err, RB_ERR_INVALID, "%s/" CONSTANTS ": expected a map `apps` of applications", l->dir);
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
    const struct loading l = {&apps.arena, dir, err};
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
