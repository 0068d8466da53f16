// Aligned columns of text for a terminal: as wide as needed, no wider than the terminal. Columns that do not fit are
// dropped, the least important first. Knows nothing of the contents.
#ifndef RB_VIEWS_TEXT_TABLE_H
#define RB_VIEWS_TEXT_TABLE_H

#include "base/text/buf.h"

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
    int *failed;     // indices of cells that report a failure, ascending, [n_failed]
    int n_failed;
    int n_cells;
};

// How to write for the destination of the text.
struct rb_text_style {
    int width;       // columns; 0: no limit
    bool colour;
};

void rb_text_table_init(struct rb_text_table *t, const struct rb_text_column *columns, int n_columns);
void rb_text_table_finish(struct rb_text_table *t);
// Next cell in reading order.
void rb_text_table_cell(struct rb_text_table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void rb_text_table_mark_failed(struct rb_text_table *t); // marks the last cell; pages show it in red
bool rb_text_table_has_failed(const struct rb_text_table *t, int cell);
void rb_text_table_write(const struct rb_text_table *t, const struct rb_text_style *style, struct rb_buf *out);

// Columns that a UTF-8 text takes; our texts have no double-width or combining characters.
int rb_text_columns(const char *s);
void rb_text_cut(const char *s, int width, struct rb_buf *out); // its first `width` columns; 0: all

// Columns of the terminal behind fd, COLUMNS if set; 0 where it is not a terminal.
int rb_text_width(int fd);
struct rb_text_style rb_text_style_of(int fd); // the style that suits the destination

#endif
