// Two runs side by side as tables, from their rb-compare/1: the same on a terminal and on a page.
#ifndef RB_VIEWS_COMPARE_TABLE_H
#define RB_VIEWS_COMPARE_TABLE_H

#include "base/document/doc.h"
#include "base/errors/err.h"
#include "views/tables/text_table.h"

enum { RB_COMPARE_FIGURES, RB_COMPARE_DIFFERENCES, RB_COMPARE_BEST, RB_COMPARE_RUNGS, RB_COMPARE_TABLES };

struct rb_compare_table {
    const char *id, *heading, *caption, *none; // none: said instead of an empty table
    struct rb_text_column columns[8];
    struct rb_text_table table;
};

// The names of the two runs in headings, borrowed from the document: their ids, with the folder where both are the
// same.
struct rb_compare_tables {
    char names[2][192];
    struct rb_compare_table items[RB_COMPARE_TABLES];
};

// document: rb-compare/1, parsed. Text of others is in one line, without control characters. Finish it.
void rb_compare_tables_make(struct rb_compare_tables *out, const struct rb_node *document);
void rb_compare_tables_finish(struct rb_compare_tables *t);
void rb_compare_tables_write(const struct rb_compare_tables *t, const struct rb_text_style *style, struct rb_buf *out);

#endif
