// Aligned columns of text for a terminal: as wide as needed, no wider than the terminal. What does not fit is dropped
// column by column, the least important first. Knows nothing of what it shows.
#ifndef RB_VIEWS_TEXT_TABLE_H
#define RB_VIEWS_TEXT_TABLE_H

#include "base/buf.h"

#include <stdbool.h>

struct rb_text_column {
    const char *title;
    bool right;      // numbers
    int importance;  // the lowest is dropped first; 0: never
};

struct rb_text_table {
    const struct rb_text_column *columns; // borrowed
    int n_columns;
    char **cells;    // in reading order
    int *failed;     // places of cells that say that something failed, ascending, [n_failed]
    int n_failed;
    int n_cells, cap_cells;
};

// How to write for the place the text goes to.
struct rb_text_style {
    int width;       // columns; 0: no limit
    bool colour;
};

void rb_text_table_init(struct rb_text_table *t, const struct rb_text_column *columns, int n_columns);
void rb_text_table_finish(struct rb_text_table *t);
// Next cell in reading order.
void rb_text_table_cell(struct rb_text_table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void rb_text_table_mark_failed(struct rb_text_table *t); // the last cell, which pages show in red
bool rb_text_table_has_failed(const struct rb_text_table *t, int cell);
void rb_text_table_write(const struct rb_text_table *t, const struct rb_text_style *style, struct rb_buf *out);

int rb_text_columns(const char *s); // that a UTF-8 text takes; nothing of ours is double-width or combining
void rb_text_cut(const char *s, int width, struct rb_buf *out); // its first `width` columns; 0: all

// Columns of the terminal behind fd, COLUMNS if set; 0 where it is not a terminal.
int rb_text_width(int fd);
struct rb_text_style rb_text_style_of(int fd); // what suits the place behind it

#endif
