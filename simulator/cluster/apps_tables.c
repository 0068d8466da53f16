#include "simulator/cluster/apps_tables.h"

#include "simulator/cluster/apps_between.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_STEP_S 86400 // an iteration of a day is a typing error

bool rb_app_read_columns(const struct rb_app_loading *l, const char *path, const char *const *columns, int n,
                         struct rb_csv *out, int *out_columns)
{
    bool required[8];
    for (int i = 0; i < n; i++)
        required[i] = true;
    if (!rb_csv_read(out, path, l->err) || !rb_csv_check_columns(out, columns, required, n, l->err))
        return false;
    if (out->n_rows == 0)
        return rb_err_set_at(l->err, RB_E_CSV_EMPTY, (struct rb_place){path, out->header_line, 1}, NULL,
                             "expected at least one row");
    for (int i = 0; i < n; i++)
        out_columns[i] = rb_csv_column(out, columns[i]);
    return true;
}

// One row of either table: the layout it belongs to, and the measurement.
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

static bool read_times_row(const struct rb_app_loading *l, const struct rb_csv *csv, int row, const int *columns,
                           struct times_row *out)
{
    int64_t batch;
    if (!rb_csv_int(csv, row, columns[0], 1, RB_APP_MOST_BATCH, &batch, l->err) ||
        !rb_csv_double(csv, row, columns[1], DBL_MIN, MOST_STEP_S, &out->step.step_s, l->err) ||
        !rb_csv_double(csv, row, columns[2], 0, MOST_STEP_S, &out->step.sync_s, l->err))
        return false;
    out->local_batch = (int)batch;
    out->line = csv->row_line[row];
    return out->step.sync_s < out->step.step_s ||
           rb_csv_error(csv, row, columns[2], l->err, "expected less than step_time, %g s: it is a part of it",
                        out->step.step_s);
}

static struct rb_app_times keep_times(const struct rb_app_loading *l, const struct times_row *rows, int n)
{
    int *batches = rb_arena_array(l->arena, (size_t)n, sizeof *batches);
    struct rb_app_step *steps = rb_arena_array(l->arena, (size_t)n, sizeof *steps);
    for (int i = 0; i < n; i++) {
        batches[i] = rows[i].local_batch;
        steps[i] = rows[i].step;
    }
    return (struct rb_app_times){n, batches, steps};
}

// Sorts the rows if necessary; two rows with one layout and batch size are an error.
static bool order_rows(const struct rb_app_loading *l, const char *path, struct times_row *rows, int n)
{
    bool sorted = true;
    for (int i = 1; i < n && sorted; i++)
        sorted = by_layout_and_batch(&rows[i - 1], &rows[i]) < 0;
    if (sorted)
        return true;
    qsort(rows, (size_t)n, sizeof *rows, by_layout_and_batch);
    for (int i = 1; i < n; i++) {
        if (by_layout_and_batch(&rows[i - 1], &rows[i]) == 0)
            return rb_err_set_at(l->err, RB_E_APPS, (struct rb_place){path, rows[i].line, 0}, "local_bsz",
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

static bool check_digits(const struct rb_app_loading *l, const struct rb_csv *csv, int row, int column)
{
    const char *cell = csv->cells[row][column];
    const size_t n = strlen(cell);
    if (n >= 1 && n <= 9 && strspn(cell, "123456789") == n)
        return true;
    return rb_csv_error(csv, row, column, l->err,
                        "expected 1 to 9 digits 1..9, the GPUs on each node, as in 442; got \"%.20s\"", cell);
}

// ---- on the measured placements

static bool load_placements(const struct rb_app_loading *l, struct rb_app *app)
{
    static const char *const names[] = {"local_bsz", "step_time", "sync_time", "placement"};
    const char *path = rb_arena_printf(l->arena, "%s/traces/%s/placements.csv", l->dir, app->name);
    RB_AUTO(rb_csv_finish) struct rb_csv csv = {0};
    int at[4];
    if (!rb_app_read_columns(l, path, names, 4, &csv, at))
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

// ---- between them: the grid that was derived from them

static bool load_grid(const struct rb_app_loading *l, struct rb_app *app)
{
    static const char *const names[] = {"local_bsz", "step_time", "sync_time", "num_nodes", "num_replicas"};
    const char *path = rb_arena_printf(l->arena, "%s/derived-throughput-grid/%s-grid.csv.gz", l->dir, app->name);
    RB_AUTO(rb_csv_finish) struct rb_csv csv = {0};
    int at[5];
    if (!rb_app_read_columns(l, path, names, 5, &csv, at))
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
        const int64_t layout = rows[first].layout;
        grid[layout / (RB_APP_MAX_GPUS + 1)][layout % (RB_APP_MAX_GPUS + 1)] = keep_times(l, rows + first, n);
    }
    app->grid = (const struct rb_app_times(*)[RB_APP_MAX_GPUS + 1]) grid;
    return true;
}

// ---- between them: their triangulation

// Sorted points: placements with the same number of nodes and GPUs are merged to their mean.
struct points {
    struct rb_app_point *items;
    int n, cap;
};

static void finish_points(struct points *p)
{
    free(p->items);
}

static void add_point(struct points *p, const struct rb_app_point *point)
{
    if (p->n == p->cap) {
        p->cap = p->cap ? 2 * p->cap : 512;
        p->items = rb_xrealloc(p->items, (size_t)p->cap, sizeof *p->items);
    }
    p->items[p->n++] = *point;
}

static int by_layout(const void *pa, const void *pb)
{
    const struct rb_app_point *a = pa, *b = pb;
    if (a->nodes != b->nodes)
        return a->nodes - b->nodes;
    return a->gpus != b->gpus ? a->gpus - b->gpus : a->local_batch - b->local_batch;
}

static void add_placement(struct points *p, int placement, const struct rb_app_times *times)
{
    struct rb_app_point point = {0};
    for (; placement > 0; placement /= 10) {
        point.nodes++;
        point.gpus += placement % 10;
    }
    for (int i = 0; i < times->n; i++) {
        point.local_batch = times->local_batch[i];
        point.step = times->steps[i];
        add_point(p, &point);
    }
}

static void merge_equal(struct points *p)
{
    int n = 0;
    qsort(p->items, (size_t)p->n, sizeof *p->items, by_layout);
    for (int first = 0, same; first < p->n; first += same) {
        struct rb_app_point mean = p->items[first];
        for (same = 1; first + same < p->n && by_layout(&p->items[first], &p->items[first + same]) == 0; same++) {
            mean.step.step_s += p->items[first + same].step.step_s;
            mean.step.sync_s += p->items[first + same].step.sync_s;
        }
        mean.step.step_s /= same;
        mean.step.sync_s /= same;
        p->items[n++] = mean;
    }
    p->n = n;
}

static bool add_scalability(const struct rb_app_loading *l, const char *path, struct points *p)
{
    static const char *const names[] = {"local_bsz", "step_time", "sync_time", "num_nodes", "num_replicas"};
    RB_AUTO(rb_csv_finish) struct rb_csv csv = {0};
    int at[5];
    if (!rb_app_read_columns(l, path, names, 5, &csv, at))
        return false;
    for (int r = 0; r < csv.n_rows; r++) {
        int64_t nodes, gpus;
        struct times_row row;
        if (!rb_csv_int(&csv, r, at[3], 1, RB_APP_MAX_NODES, &nodes, l->err) ||
            !rb_csv_int(&csv, r, at[4], nodes, RB_APP_MAX_GPUS, &gpus, l->err) || !read_times_row(l, &csv, r, at, &row))
            return false;
        add_point(p, &(struct rb_app_point){(int)nodes, (int)gpus, row.local_batch, row.step});
    }
    return true;
}

static bool triangulate(const struct rb_app_loading *l, const char *scalability, struct rb_app *app)
{
    RB_AUTO(finish_points) struct points points = {0};
    for (int i = 0; i < app->n_placements; i++)
        add_placement(&points, app->placements[i], &app->placement_times[i]);
    merge_equal(&points);
    return add_scalability(l, scalability, &points) &&
           (rb_app_between_init(l->arena, points.items, points.n, &app->between, l->err) ||
            rb_err_prefix(l->err, "%s", scalability));
}

// The triangulation is the source of the grid; the grid is used without Qhull, or if some of the measured points are
// missing.
bool rb_app_load_tables(const struct rb_app_loading *l, struct rb_app *app)
{
    const char *scalability = rb_arena_printf(l->arena, "%s/traces/%s/scalability.csv", l->dir, app->name);
    if (!load_placements(l, app))
        return false;
    return rb_app_between_available() && access(scalability, R_OK) == 0 ? triangulate(l, scalability, app)
                                                                        : load_grid(l, app);
}
