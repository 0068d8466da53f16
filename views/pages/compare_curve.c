#include "views/pages/compare_curve.h"

#include "views/pages/document.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// The place of a column in a table of the document; -1: it has none.
static int column_of(const struct rb_node *table, const char *name)
{
    int i = 0;
    for (const struct rb_node *c = rb_document_items(table, "columns"); c; c = c->next, i++)
        if (c->kind == RB_NODE_STRING && strcmp(c->text, name) == 0)
            return i;
    return -1;
}

static const struct rb_node *item(const struct rb_node *row, int place)
{
    const struct rb_node *found = row->kind == RB_NODE_LIST && place >= 0 ? row->first : NULL;
    for (int i = 0; found && i < place; i++)
        found = found->next;
    return found;
}

static bool whole(const struct rb_node *row, int place, int64_t *out)
{
    const struct rb_node *n = item(row, place);
    if (!n || n->kind != RB_NODE_INT || n->integer < 0)
        return false;
    *out = n->integer;
    return true;
}

// ---- reports

static int by_time(const void *a, const void *b)
{
    const struct rb_compare_point *x = a, *y = b;
    return x->at_us != y->at_us ? (x->at_us > y->at_us) - (x->at_us < y->at_us)
                                : (x->trial > y->trial) - (x->trial < y->trial);
}

static int count_rows(const struct rb_node *trials)
{
    int n = 0;
    for (const struct rb_node *t = trials; t; t = t->next) {
        const struct rb_node *rows = rb_document_member(t, "rows");
        n += rows && rows->kind == RB_NODE_LIST ? rows->n_children : 0;
    }
    return n;
}

static void take_reports(struct rb_compare_curve *c, const struct rb_node *reports)
{
    const struct rb_node *trials = rb_document_items(reports, "trials");
    const int at = column_of(reports, "at_us"), resource = column_of(reports, "resource"),
              metric = column_of(reports, "metric");
    c->points = rb_xcalloc((size_t)count_rows(trials) + 1, sizeof *c->points);
    for (const struct rb_node *t = trials; t; t = t->next)
        for (const struct rb_node *row = rb_document_items(t, "rows"); row; row = row->next) {
            struct rb_compare_point p = {.trial = rb_document_int(t, "trial")};
            const struct rb_node *value = item(row, metric);
            if (!whole(row, at, &p.at_us) || !whole(row, resource, &p.resource) || !value ||
                (value->kind != RB_NODE_INT && value->kind != RB_NODE_FLOAT))
                continue;
            p.metric = value->number;
            c->points[c->n++] = p;
        }
}

static void keep_improvements(struct rb_compare_curve *c)
{
    int n = 0;
    qsort(c->points, (size_t)c->n, sizeof *c->points, by_time);
    for (int i = 0; i < c->n; i++) {
        const double metric = c->points[i].metric;
        if (n == 0 || (c->minimize ? metric < c->points[n - 1].metric : metric > c->points[n - 1].metric))
            c->points[n++] = c->points[i];
    }
    c->n = n;
}

// ---- dollars

static void take_spent(struct rb_compare_curve *c, const struct rb_node *spent)
{
    const struct rb_node *rows = rb_document_member(spent, "rows");
    const int at = column_of(spent, "at_us"), uusd = column_of(spent, "uusd");
    const int n = rows && rows->kind == RB_NODE_LIST ? rows->n_children : 0;
    c->spent = rb_xcalloc((size_t)n + 1, sizeof *c->spent);
    for (const struct rb_node *row = n ? rows->first : NULL; row; row = row->next) {
        struct rb_compare_spent *s = &c->spent[c->n_spent];
        if (whole(row, at, &s->at_us) && whole(row, uusd, &s->uusd) && (c->n_spent == 0 || s->at_us >= s[-1].at_us))
            c->n_spent++;
    }
}

// Between two instants the nodes cost the same every second.
int64_t rb_compare_curve_spent(const struct rb_compare_curve *c, int64_t at_us)
{
    int i = 0;
    while (i < c->n_spent && c->spent[i].at_us < at_us)
        i++;
    if (c->n_spent == 0)
        return -1;
    if (i == c->n_spent)
        return c->spent[i - 1].uusd;
    if (i == 0 || c->spent[i].at_us == at_us)
        return c->spent[i].at_us == at_us ? c->spent[i].uusd : 0;
    const struct rb_compare_spent *from = &c->spent[i - 1], *to = &c->spent[i];
    const double share = (double)(at_us - from->at_us) / (double)(to->at_us - from->at_us);
    return from->uusd + (int64_t)llround(share * (double)(to->uusd - from->uusd));
}

double rb_compare_curve_best(const struct rb_compare_curve *c, int64_t at_us)
{
    double best = NAN;
    for (int i = 0; i < c->n && c->points[i].at_us <= at_us; i++)
        best = c->points[i].metric;
    return best;
}

void rb_compare_curve_make(struct rb_compare_curve *out, const struct rb_node *document)
{
    const struct rb_node *history = rb_document_member(document, "history");
    *out = (struct rb_compare_curve){0};
    out->minimize =
        strcmp(rb_document_text(rb_document_at(document, "plan.job.config.metric"), "goal"), "minimize") == 0;
    take_reports(out, rb_document_member(history, "reports"));
    keep_improvements(out);
    take_spent(out, rb_document_member(history, "spent"));
}

void rb_compare_curve_finish(struct rb_compare_curve *c)
{
    free(c->points);
    free(c->spent);
    *c = (struct rb_compare_curve){0};
}
