// The charts are in views/charts/run_parallel.js, run_importance.js and run_slices.js.
#include "views/pages/run_page_parameters.h"

#include "views/pages/document.h"
#include "views/pages/run_page_tables.h"
#include "views/tables/text_table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool any_varies(const struct rb_node *document)
{
    const struct rb_node *declared = rb_document_member(rb_run_page_job(document), "parameters");
    for (const struct rb_node *p = declared ? declared->first : NULL; p; p = p->next)
        if (p->kind == RB_NODE_MAP)
            return true;
    return false;
}

static double number_of(const struct rb_node *map, const char *key)
{
    const struct rb_node *n = rb_document_member(map, key);
    return n && (n->kind == RB_NODE_FLOAT || n->kind == RB_NODE_INT) ? n->number : 0;
}

// ---- importance

static void share_row(struct rb_text_table *t, const char *name, double share, double sd)
{
    rb_text_table_cell(t, "%s", name);
    rb_text_table_cell(t, "%.1f %%", 100 * share);
    rb_text_table_cell(t, "%.1f %%", 100 * sd);
}

static int by_share(const void *a, const void *b)
{
    const struct rb_node *const *x = a, *const *y = b;
    const double p = number_of(*x, "share"), q = number_of(*y, "share");
    return p != q ? (p > q ? -1 : 1) : (*x)->index - (*y)->index;
}

static void share_table(struct rb_page *p, const struct rb_node *importance)
{
    static const struct rb_text_column columns[] = {
        {"parameter", false, 0}, {"share of the variance", true, 0}, {"standard deviation over the trees", true, 0}};
    const struct rb_node *list = rb_document_member(importance, "parameters");
    RB_AUTO(rb_auto_free) const struct rb_node **rows = rb_xcalloc((size_t)list->n_children + 1, sizeof *rows);
    struct rb_text_table t;
    int n = 0;
    for (const struct rb_node *item = list->first; item; item = item->next)
        rows[n++] = item;
    qsort(rows, (size_t)n, sizeof *rows, by_share);
    rb_text_table_init(&t, columns, 3);
    for (int i = 0; i < n; i++)
        share_row(&t, rb_document_text(rows[i], "name"), number_of(rows[i], "share"), number_of(rows[i], "sd"));
    share_row(&t, "several together", number_of(importance, "together"), number_of(importance, "together_sd"));
    rb_page_table(p, "How much each parameter explains by itself, and what only several explain together", &t);
    rb_text_table_finish(&t);
}

static void words_of(struct rb_page *p, const struct rb_node *document, const struct rb_node *importance)
{
    const char *state = rb_document_text(importance, "state"),
               *unit = rb_document_text(rb_document_member(rb_run_page_job(document), "scheduler"), "unit");
    const int64_t n = rb_document_int(importance, "n_results"), least = rb_document_int(importance, "least"),
                  resource = rb_document_int(importance, "resource");
    if (strcmp(state, "few") == 0)
        rb_page_paragraph(p,
                          "Too few results to say how much each parameter explains: there are %" PRId64
                          " at one %s, and %" PRId64 " are needed.",
                          n, unit, least);
    else if (strcmp(state, "unseen") == 0)
        rb_page_paragraph(p,
                          "Too few results to say how much each parameter explains: a random forest on %" PRId64
                          " results at %s %" PRId64
                          " does not predict those that it has not seen (R\u00b2 %.2f). Either the parameters make little "
                          "difference, or more trials are needed to see it.",
                          n, unit, resource, number_of(importance, "r2"));
    else
        rb_page_paragraph(p,
                          "fANOVA (Hutter et al., 2014) of a random forest on the ranks of %" PRId64 " results at %s %" PRId64
                          ", failed ones last: the share of the forest's variance, over the whole search space, that "
                          "each parameter explains by itself. On results that its trees have not seen the forest has "
                          "R\u00b2 %.2f.",
                          n, unit, resource, number_of(importance, "r2"));
}

static void importance_part(struct rb_page *p, const struct rb_node *document, bool live)
{
    const struct rb_node *importance = rb_document_member(document, "importance");
    const bool is_known = strcmp(rb_document_text(importance, "state"), "known") == 0;
    if (!importance)
        return;
    words_of(p, document, importance);
    if (live || is_known)
        rb_page_chart(p, "run-importance",
                      "How much of the variance of the results each parameter explains by itself, with one standard "
                      "deviation over the trees.");
    if (is_known)
        share_table(p, importance);
}

// ---- the section

void rb_run_page_parameters(struct rb_page *p, const struct rb_node *document, bool live)
{
    if (!any_varies(document))
        return;
    rb_page_section(p, "parameters", "Parameters and results", NULL);
    if (!live && !rb_document_items(rb_document_member(document, "report"), "trials")) {
        rb_page_paragraph(p, "No trial was begun.");
        return;
    }
    rb_page_chart(p, "run-parallel",
                  "Each line is a trial: its parameters, how far it trained, and its last result, which gives the colour. "
                  "Below an axis: the parameter does not apply to the trial, or the trial failed or diverged.");
    importance_part(p, document, live);
    rb_page_chart(p, "run-slices",
                  "The last result of each trial over each parameter, by the stage that the trial reached; only trials of "
                  "one stage can be compared.");
}
