#include "simulator/forecast/curves.h"

#include "base/document/csv.h"
#include "base/document/doc.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/text/number.h"
#include "base/stream.h"

#include <dirent.h>
#include <float.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MOST_CURVES 65536 // a directory with more of them is not one of curves

// Curves while they are read.
struct reading {
    struct rb_arena *arena;
    struct rb_curve_points *curves;
    int n, cap;
    struct rb_err *err;
};

static bool add_curve(struct reading *r, const char *source, const int64_t *resource, const double *metric, int n)
{
    if (r->n == MOST_CURVES)
        return rb_err_set(r->err, RB_E_CURVES, "more than %d curves: give fewer files", MOST_CURVES);
    if (r->n == r->cap) {
        r->cap = r->cap ? 2 * r->cap : 16;
        r->curves = rb_xrealloc(r->curves, (size_t)r->cap, sizeof *r->curves);
    }
    r->curves[r->n++] = (struct rb_curve_points){source, resource, metric, n};
    return true;
}

// ---- CSV

struct table {
    struct rb_csv csv;
    int metric, resource, trial; // columns, -1: none
};

static void finish_table(struct table *t)
{
    rb_csv_finish(&t->csv);
}

// A measured file has other columns, too (progress, gradients): they are not used here.
static bool find_columns(struct table *t, struct rb_err *err)
{
    t->metric = rb_csv_column(&t->csv, "metric");
    t->resource = rb_csv_column(&t->csv, "resource");
    t->trial = rb_csv_column(&t->csv, "trial");
    if (t->metric < 0)
        return rb_err_set_at(err, RB_E_CURVES, (struct rb_place){t->csv.file, t->csv.header_line, 1}, NULL,
                             "expected a column `metric` (one row for each unit of resource, or with `resource`, and "
                             "`trial` where the file holds several curves)");
    if (t->trial >= 0 && t->resource < 0)
        return rb_err_set_at(err, RB_E_CURVES, (struct rb_place){t->csv.file, t->csv.header_line, 1}, NULL,
                             "expected a column `resource` beside `trial`");
    return t->csv.n_rows > 0 ||
           rb_err_set_at(err, RB_E_CSV_EMPTY, (struct rb_place){t->csv.file, t->csv.header_line, 1}, NULL,
                         "expected at least one row");
}

static bool same_curve(const struct table *t, int row, int first)
{
    return t->trial < 0 || strcmp(t->csv.cells[row][t->trial], t->csv.cells[first][t->trial]) == 0;
}

// Rows first.. of one curve.
static bool read_rows(struct reading *r, const struct table *t, int first, int n)
{
    int64_t *resource = rb_arena_array(r->arena, (size_t)n, sizeof *resource);
    double *metric = rb_arena_array(r->arena, (size_t)n, sizeof *metric);
    for (int i = 0; i < n; i++) {
        const int row = first + i;
        resource[i] = i + 1;
        if (!rb_csv_double(&t->csv, row, t->metric, -DBL_MAX, DBL_MAX, &metric[i], r->err) ||
            (t->resource >= 0 && !rb_csv_int(&t->csv, row, t->resource, 1, RB_LIMIT_RESOURCE, &resource[i], r->err)))
            return false;
        if (i > 0 && resource[i] <= resource[i - 1])
            return rb_csv_error(&t->csv, row, t->resource, r->err,
                                "expected more than %lld, the resource of the row before", (long long)resource[i - 1]);
    }
    const char *source = t->trial < 0
                             ? rb_arena_strdup(r->arena, t->csv.file)
                             : rb_arena_printf(r->arena, "%s trial %s", t->csv.file, t->csv.cells[first][t->trial]);
    return add_curve(r, source, resource, metric, n);
}

static bool read_table(struct reading *r, struct table *t)
{
    if (!find_columns(t, r->err))
        return false;
    for (int first = 0, n; first < t->csv.n_rows; first += n) {
        for (n = 1; first + n < t->csv.n_rows && same_curve(t, first + n, first);)
            n++;
        if (!read_rows(r, t, first, n))
            return false;
    }
    return true;
}

static bool read_csv(struct reading *r, const char *path)
{
    RB_AUTO(finish_table) struct table t = {0};
    return rb_csv_read(&t.csv, path, r->err) && read_table(r, &t);
}

// ---- events.jsonl of a run

// Reports in their order; those of a trial are combined afterwards.
struct report {
    int trial;
    int order; // in the file
    int64_t resource;
    double metric;
};

struct reports {
    struct report *items;
    int n, cap;
};

static void finish_reports(struct reports *r)
{
    free(r->items);
}

static bool read_line(struct reports *reports, const char *path, int line, const char *text, size_t len,
                      struct rb_err *err)
{
    struct rb_doc doc = {0};
    if (!rb_doc_parse_json(&doc, path, text, len, err))
        return rb_err_prefix(err, "line %d of the file", line);
    const struct rb_node *kind = rb_node_member(doc.root, "event"), *trial = rb_node_member(doc.root, "trial"),
                         *resource = rb_node_member(doc.root, "resource"), *metric = rb_node_member(doc.root, "metric");
    // "nan" and infinities, which are strings, are not part of a curve.
    const bool taken = kind && kind->text && strcmp(kind->text, "report") == 0 && metric &&
                       (metric->kind == RB_NODE_FLOAT || metric->kind == RB_NODE_INT);
    int64_t id = 0, at = 0;
    const bool ok = !taken || (rb_node_int(trial, 0, RB_LIMIT_TRIALS - 1, &id, err) &&
                               rb_node_int(resource, 1, RB_LIMIT_RESOURCE, &at, err));
    if (taken && ok) {
        if (reports->n == reports->cap) {
            reports->cap = reports->cap ? 2 * reports->cap : 1024;
            reports->items = rb_xrealloc(reports->items, (size_t)reports->cap, sizeof *reports->items);
        }
        reports->items[reports->n] = (struct report){(int)id, reports->n, at, metric->number};
        reports->n++;
    }
    rb_doc_finish(&doc);
    return ok;
}

static int by_trial_and_resource(const void *pa, const void *pb)
{
    const struct report *a = pa, *b = pb;
    if (a->trial != b->trial)
        return a->trial < b->trial ? -1 : 1;
    if (a->resource != b->resource)
        return a->resource < b->resource ? -1 : 1;
    return a->order - b->order;
}

// A trial that reports again after a restart continues from that report: the last report of a resource counts.
static bool add_trial(struct reading *r, const char *path, const struct report *reports, int n)
{
    int64_t *resource = rb_arena_array(r->arena, (size_t)n, sizeof *resource);
    double *metric = rb_arena_array(r->arena, (size_t)n, sizeof *metric);
    int n_points = 0;
    for (int i = 0; i < n; i++) {
        if (n_points > 0 && resource[n_points - 1] == reports[i].resource)
            n_points--;
        resource[n_points] = reports[i].resource;
        metric[n_points++] = reports[i].metric;
    }
    return add_curve(r, rb_arena_printf(r->arena, "%s trial %d", path, reports[0].trial), resource, metric, n_points);
}

static bool parse_events(struct reading *r, const char *path, const char *bytes, size_t len)
{
    RB_AUTO(finish_reports) struct reports reports = {0};
    int line = 0;
    for (const char *at = bytes, *end; at < bytes + len; at = end + 1) {
        end = memchr(at, '\n', (size_t)(bytes + len - at));
        end = end ? end : bytes + len;
        line++;
        if (end > at && !read_line(&reports, path, line, at, (size_t)(end - at), r->err))
            return false;
    }
    if (reports.n == 0)
        return rb_err_set(r->err, RB_E_CURVES,
                          "%s: no event says what a trial reported; expected the events.jsonl of a run", path);
    qsort(reports.items, (size_t)reports.n, sizeof *reports.items, by_trial_and_resource);
    for (int first = 0, n; first < reports.n; first += n) {
        for (n = 1; first + n < reports.n && reports.items[first + n].trial == reports.items[first].trial;)
            n++;
        if (!add_trial(r, path, reports.items + first, n))
            return false;
    }
    return true;
}

static bool read_events(struct reading *r, const char *path)
{
    RB_AUTO(rb_auto_free) char *bytes = NULL;
    size_t len;
    return rb_read_file(path, RB_LIMIT_CSV_BYTES, &bytes, &len, r->err) && parse_events(r, path, bytes, len);
}

// ---- files and directories

static bool is_curves(const char *name)
{
    return rb_has_ending(name, ".csv") || rb_has_ending(name, ".csv.gz") || rb_has_ending(name, ".jsonl");
}

static bool read_file(struct reading *r, const char *path)
{
    if (rb_has_ending(path, ".jsonl"))
        return read_events(r, path);
    if (rb_has_ending(path, ".json"))
        return rb_err_set(r->err, RB_E_CURVES,
                          "%s: a report holds only what each trial reported last: give the events.jsonl of that run",
                          path);
    return read_csv(r, path);
}

static int only_curves(const struct dirent *entry)
{
    return is_curves(entry->d_name);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static bool read_directory(struct reading *r, const char *path)
{
    struct dirent **entries;
    const int n = scandir(path, &entries, only_curves, by_name);
    bool ok = n > 0;
    if (n <= 0)
        rb_err_set(r->err, RB_E_CURVES, "%s: expected files *.csv or *.jsonl with learning curves", path);
    for (int i = 0; i < n; i++) {
        ok = ok && read_file(r, rb_arena_printf(r->arena, "%s/%s", path, entries[i]->d_name));
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
    return ok;
}

// Copies what was read to its final place.
static void keep(struct reading *r, struct rb_curves *out)
{
    struct rb_curve_points *points = rb_arena_array(r->arena, (size_t)r->n, sizeof *points);
    memcpy(points, r->curves, (size_t)r->n * sizeof *points);
    out->points = points;
    out->n = r->n;
    out->shortest = INT64_MAX;
    for (int i = 0; i < r->n; i++) {
        const int64_t last = points[i].resource[points[i].n - 1];
        out->shortest = last < out->shortest ? last : out->shortest;
    }
}

static bool read_measured(const char *path, struct rb_arena *arena, struct rb_curves *out, struct rb_err *err)
{
    struct reading r = {.arena = arena, .err = err};
    struct stat st;
    const bool is_directory = stat(path, &st) == 0 && S_ISDIR(st.st_mode);
    const bool ok = is_directory ? read_directory(&r, path) : read_file(&r, path);
    if (ok) {
        keep(&r, out);
        out->says = rb_arena_printf(arena, "%d measured curve%s from %s, each trial's chosen by the seed", r.n,
                                    r.n == 1 ? "" : "s", path);
    }
    free(r.curves);
    return ok;
}

bool rb_curves_parse(const char *name, const char *bytes, size_t n, struct rb_arena *arena, struct rb_curves *out,
                     struct rb_err *err)
{
    struct reading r = {.arena = arena, .err = err};
    RB_AUTO(finish_table) struct table t = {0};
    const bool ok = rb_has_ending(name, ".jsonl") ? parse_events(&r, name, bytes, n)
                                              : rb_csv_parse(&t.csv, name, bytes, n, err) && read_table(&r, &t);
    if (ok) {
        *out = (struct rb_curves){.says = name};
        keep(&r, out);
    }
    free(r.curves);
    return ok;
}

// ---- the synthetic family

static double *parameter(struct rb_curve_family *family, const char *name, size_t len)
{
    struct {
        const char *name;
        double *value;
    } known[] = {{"b0", &family->b0}, {"b1", &family->b1}, {"b2", &family->b2}, {"noise", &family->noise}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strlen(known[i].name) == len && strncmp(known[i].name, name, len) == 0)
            return known[i].value;
    }
    return NULL;
}

// "b0=0.2,noise=0.01"
static bool read_parameters(const char *text, struct rb_arena *arena, struct rb_curve_family *family,
                            struct rb_err *err)
{
    while (*text) {
        const size_t len = strcspn(text, ",");
        const char *equals = memchr(text, '=', len);
        double *value = equals ? parameter(family, text, (size_t)(equals - text)) : NULL;
        double given = 0;
        const char *number = equals ? rb_arena_printf(arena, "%.*s", (int)(text + len - equals - 1), equals + 1) : "";
        if (!value || !rb_parse_double(number, &given) || !(given >= 0 && given <= 1e6))
            return rb_err_set(err, RB_E_OPTION_VALUE,
                              "--curves synthetic: expected b0, b1, b2 or noise = 0..1000000, got %.*s", (int)len,
                              text);
        *value = given;
        text += len + (text[len] == ',');
    }
    return true;
}

bool rb_curves_open(const char *spec, uint64_t seed, enum rb_goal goal, struct rb_arena *arena, struct rb_curves *out,
                    struct rb_err *err)
{
    static const char synthetic[] = "synthetic";
    struct rb_curves c = {.seed = seed,
                          .goal = goal,
                          .family = rb_curve_family_default,
                          .says = "synthetic (the family of HyperSched's ablations)"};
    const size_t n = sizeof synthetic - 1;
    if (spec && strncmp(spec, synthetic, n) == 0 && spec[n] == ':') {
        if (!read_parameters(spec + n + 1, arena, &c.family, err))
            return false;
        c.says = rb_arena_printf(arena, "%s with %s", c.says, spec + n + 1);
    } else if (spec && strcmp(spec, synthetic) != 0) {
        if (!read_measured(spec, arena, &c, err))
            return false;
    }
    *out = c;
    return true;
}

// ---- what a trial reports

static double metric_at(const struct rb_curve_points *c, int64_t resource)
{
    int low = 0, high = c->n - 1;
    if (resource <= c->resource[0])
        return c->metric[0];
    if (resource >= c->resource[high])
        return c->metric[high];
    while (high - low > 1) {
        const int middle = low + (high - low) / 2;
        if (c->resource[middle] <= resource)
            low = middle;
        else
            high = middle;
    }
    const double share = (double)(resource - c->resource[low]) / (double)(c->resource[high] - c->resource[low]);
    return c->metric[low] + share * (c->metric[high] - c->metric[low]);
}

double rb_curves_metric(void *ctx, uint32_t replicate, int trial, int64_t resource)
{
    const struct rb_curves *c = ctx;
    struct rb_stream s;
    if (c->n == 0)
        return rb_family_curve(&c->family, c->seed, replicate, c->goal, trial, resource);
    rb_stream_init(&s,
                   &(struct rb_stream_key){
                       .seed = c->seed, .purpose = RB_DRAW_CURVE, .index = (uint32_t)trial, .replicate = replicate});
    return metric_at(&c->points[rb_stream_below(&s, (uint64_t)c->n)], resource);
}
