#include "views/pages/compare_document.h"

#include "views/pages/compare_curve.h"
#include "views/pages/document.h"
#include "views/pages/run_page_tables.h"

#include <math.h>
#include <string.h>

#define MOST_DIFFERENCES 1000 // more is not looked at

// ---- what the jobs differ in

struct differences {
    struct rb_json *j;
    int n;
};

// A value in one line; NULL: there is none.
static const char *value_text(const struct rb_node *node, struct rb_buf *out)
{
    struct rb_json j;
    if (!node)
        return NULL;
    if (node->kind == RB_NODE_STRING)
        return node->text;
    rb_json_init(&j, out, false);
    rb_json_node(&j, node);
    return rb_buf_str(out);
}

static void compare_values(struct differences *d, const char *key, const struct rb_node *a, const struct rb_node *b)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text_a = RB_BUF_INIT, text_b = RB_BUF_INIT;
    const char *x = value_text(a, &text_a), *y = value_text(b, &text_b);
    if ((x && y && strcmp(x, y) == 0) || (!x && !y) || d->n++ >= MOST_DIFFERENCES)
        return;
    rb_json_begin_object(d->j);
    rb_json_kstring(d->j, "key", key);
    rb_json_karray(d->j, "values");
    rb_json_string(d->j, x);
    rb_json_string(d->j, y);
    rb_json_end_array(d->j);
    rb_json_end_object(d->j);
}

static void compare_nodes(struct differences *d, const char *key, const struct rb_node *a, const struct rb_node *b);

static void compare_member(struct differences *d, const char *path, const char *name, const struct rb_node *a,
                           const struct rb_node *b)
{
    RB_AUTO(rb_buf_finish) struct rb_buf key = RB_BUF_INIT;
    rb_buf_printf(&key, "%s%s%s", path, path[0] ? "." : "", name);
    compare_nodes(d, rb_buf_str(&key), a, b);
}

static bool is_map(const struct rb_node *node)
{
    return node && node->kind == RB_NODE_MAP;
}

// Maps by their members, everything else as a whole.
static void compare_nodes(struct differences *d, const char *key, const struct rb_node *a, const struct rb_node *b)
{
    if (!is_map(a) && !is_map(b)) {
        compare_values(d, key, a, b);
        return;
    }
    if ((a && !is_map(a)) || (b && !is_map(b)))
        compare_values(d, key, is_map(a) ? NULL : a, is_map(b) ? NULL : b);
    for (const struct rb_node *m = is_map(a) ? a->first : NULL; m; m = m->next)
        compare_member(d, key, m->key, m, is_map(b) ? rb_node_member(b, m->key) : NULL);
    for (const struct rb_node *m = is_map(b) ? b->first : NULL; m; m = m->next)
        if (!is_map(a) || !rb_node_member(a, m->key))
            compare_member(d, key, m->key, NULL, m);
}

static void write_differences(const struct rb_compared two[static 2], struct rb_json *j)
{
    struct differences d = {.j = j};
    const struct rb_node *a = two[0].document, *b = two[1].document;
    rb_json_karray(j, "differences");
    compare_nodes(&d, "", rb_run_page_job(a), rb_run_page_job(b));
    compare_nodes(&d, "planner", rb_document_at(a, "plan.planner"), rb_document_at(b, "plan.planner"));
    compare_nodes(&d, "profile.sha256", rb_document_at(a, "plan.profile.sha256"),
                  rb_document_at(b, "plan.profile.sha256"));
    rb_json_end_array(j);
}

// ---- results

static void write_best(const struct rb_node *document, struct rb_json *j)
{
    const struct rb_node *best = rb_document_at(document, "report.best"), *params = rb_document_member(best, "params"),
                         *metric = rb_document_member(best, "metric");
    if (!best) {
        rb_json_null(j);
        return;
    }
    rb_json_begin_object(j);
    rb_json_kint_or_null(j, "trial", rb_document_int(best, "trial"));
    rb_json_kdouble_or_null(j, "metric", metric && metric->kind != RB_NODE_STRING ? metric->number : NAN);
    rb_json_kobject(j, "params");
    for (const struct rb_node *p = is_map(params) ? params->first : NULL; p; p = p->next) {
        RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
        rb_json_kstring(j, p->key, value_text(p, &text));
    }
    rb_json_end_object(j);
    rb_json_end_object(j);
}

static void write_rung(const struct rb_node *stage, const struct rb_compare_curve *curve, struct rb_json *j)
{
    const int64_t end_us = rb_document_int(stage, "end_us");
    rb_json_begin_object(j);
    rb_json_kint_or_null(j, "stage", rb_document_int(stage, "stage"));
    rb_json_kint_or_null(j, "trials", rb_document_int(stage, "trials"));
    rb_json_kint_or_null(j, "resource_end", rb_document_int(stage, "resource_end"));
    rb_json_kint_or_null(j, "gpus_per_trial", rb_document_int(stage, "gpus_per_trial"));
    rb_json_kint_or_null(j, "end_us", end_us);
    rb_json_kint_or_null(j, "cost_uusd", rb_document_int(stage, "cost_uusd"));
    rb_json_kint_or_null(j, "spent_uusd", end_us >= 0 ? rb_compare_curve_spent(curve, end_us) : -1);
    rb_json_kdouble_or_null(j, "best_metric", end_us >= 0 ? rb_compare_curve_best(curve, end_us) : NAN);
    rb_json_end_object(j);
}

static void int_or_null(int64_t v, struct rb_json *j)
{
    if (v >= 0)
        rb_json_int(j, v);
    else
        rb_json_null(j);
}

static void write_point(const struct rb_compare_curve *c, const struct rb_compare_point *p, struct rb_json *j)
{
    rb_json_begin_array(j);
    rb_json_int(j, p->at_us);
    int_or_null(rb_compare_curve_spent(c, p->at_us), j);
    rb_json_double(j, p->metric);
    int_or_null(p->trial, j);
    rb_json_int(j, p->resource);
    rb_json_end_array(j);
}

static void write_curve(const struct rb_compare_curve *c, struct rb_json *j)
{
    static const char *const columns[] = {"at_us", "uusd", "metric", "trial", "resource"};
    rb_json_begin_object(j);
    rb_json_kstrings(j, "columns", columns, 5);
    rb_json_karray(j, "rows");
    for (int i = 0; i < c->n; i++)
        write_point(c, &c->points[i], j);
    rb_json_end_array(j);
    rb_json_end_object(j);
}

static void write_results(const struct rb_compared two[static 2], struct rb_json *j)
{
    struct rb_compare_curve curves[2];
    for (int i = 0; i < 2; i++)
        rb_compare_curve_make(&curves[i], two[i].document);
    rb_json_karray(j, "best");
    for (int i = 0; i < 2; i++)
        write_best(two[i].document, j);
    rb_json_end_array(j);
    rb_json_karray(j, "rungs");
    for (int i = 0; i < 2; i++) {
        rb_json_begin_array(j);
        for (const struct rb_node *s = rb_document_items(rb_document_member(two[i].document, "report"), "stages"); s;
             s = s->next)
            write_rung(s, &curves[i], j);
        rb_json_end_array(j);
    }
    rb_json_end_array(j);
    rb_json_karray(j, "curves");
    for (int i = 0; i < 2; i++)
        write_curve(&curves[i], j);
    rb_json_end_array(j);
    for (int i = 0; i < 2; i++)
        rb_compare_curve_finish(&curves[i]);
}

static bool write_rows(const struct rb_compared two[static 2], struct rb_json *j, struct rb_err *err)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena;
    rb_arena_init(&arena);
    rb_json_karray(j, "runs");
    for (int i = 0; i < 2; i++) {
        struct rb_run_row row = {.run = two[i].run, .from = two[i].from};
        if (!rb_run_row_read(two[i].document, &arena, &row, err))
            return rb_err_prefix(err, "run %s", two[i].run);
        rb_run_row_write(&row, j);
    }
    rb_json_end_array(j);
    return true;
}

bool rb_compare_document(const struct rb_compared two[static 2], struct rb_buf *out, struct rb_err *err)
{
    struct rb_json j;
    rb_json_init(&j, out, false);
    rb_json_begin_object(&j);
    rb_json_kstring(&j, "format", "rb-compare/1");
    if (!write_rows(two, &j, err))
        return false;
    write_differences(two, &j);
    write_results(two, &j);
    rb_json_end_object(&j);
    return true;
}
