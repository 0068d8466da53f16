#include "views/tables/text_table.h"

#include "base/arena.h"
#include "base/errors/log.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define GAP 2 // spaces between columns

void rb_text_table_init(struct rb_text_table *t, const struct rb_text_column *columns, int n_columns)
{
    *t = (struct rb_text_table){.columns = columns, .n_columns = n_columns};
}

void rb_text_table_finish(struct rb_text_table *t)
{
    for (int i = 0; i < t->n_cells; i++)
        free(t->cells[i]);
    free(t->cells);
    free(t->failed);
    *t = (struct rb_text_table){0};
}

void rb_text_table_cell(struct rb_text_table *t, const char *fmt, ...)
{
    struct rb_buf text = RB_BUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    rb_buf_vprintf(&text, fmt, ap);
    va_end(ap);
    t->cells = rb_grow(t->cells, t->n_cells, sizeof *t->cells);
    t->cells[t->n_cells++] = rb_xstrdup(rb_buf_str(&text));
    rb_buf_finish(&text);
}

void rb_text_table_mark_failed(struct rb_text_table *t)
{
    assert(t->n_cells > 0);
    t->failed = rb_xrealloc(t->failed, (size_t)t->n_failed + 1, sizeof *t->failed);
    t->failed[t->n_failed++] = t->n_cells - 1;
}

static int by_place(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

bool rb_text_table_has_failed(const struct rb_text_table *t, int cell)
{
    return t->n_failed > 0 && bsearch(&cell, t->failed, (size_t)t->n_failed, sizeof cell, by_place);
}

static bool begins_column(char c)
{
    return ((unsigned char)c & 0xc0) != 0x80; // the first byte of a code point
}

int rb_text_columns(const char *s)
{
    int n = 0;
    for (; *s; s++)
        n += begins_column(*s);
    return n;
}

void rb_text_cut(const char *s, int width, struct rb_buf *out)
{
    size_t end = 0;
    for (int n = 0; s[end]; end++) {
        n += begins_column(s[end]);
        if (width > 0 && n > width)
            break;
    }
    rb_buf_append(out, s, end);
}

static int column_width(const struct rb_text_table *t, int column)
{
    int width = rb_text_columns(t->columns[column].title);
    for (int i = column; i < t->n_cells; i += t->n_columns) {
        int w = rb_text_columns(t->cells[i]);
        width = w > width ? w : width;
    }
    return width;
}

static int total_width(const struct rb_text_table *t, const bool *shown)
{
    int total = -GAP;
    for (int c = 0; c < t->n_columns; c++)
        total += shown[c] ? column_width(t, c) + GAP : 0;
    return total;
}

static void drop_until_it_fits(const struct rb_text_table *t, int limit, bool *shown)
{
    while (limit > 0 && total_width(t, shown) > limit) {
        int least = -1;
        for (int c = 0; c < t->n_columns; c++) {
            if (shown[c] && t->columns[c].importance > 0 &&
                (least < 0 || t->columns[c].importance < t->columns[least].importance))
                least = c;
        }
        if (least < 0)
            return;
        shown[least] = false;
    }
}

// Blanks are written only before further text, so that no line ends with one.
static void write_row(const struct rb_text_table *t, const bool *shown, const char *const *cells, struct rb_buf *out)
{
    int blanks = 0;
    for (int c = 0; c < t->n_columns; c++) {
        if (!shown[c])
            continue;
        const char *text = cells ? cells[c] : t->columns[c].title;
        const int pad = column_width(t, c) - rb_text_columns(text);
        blanks += t->columns[c].right ? pad : 0;
        if (*text) {
            rb_buf_printf(out, "%*s%s", blanks, "", text);
            blanks = 0;
        }
        blanks += (t->columns[c].right ? 0 : pad) + GAP;
    }
}

void rb_text_table_write(const struct rb_text_table *t, const struct rb_text_style *style, struct rb_buf *out)
{
    assert(t->n_columns > 0 && t->n_columns <= 32 && t->n_cells % t->n_columns == 0);
    bool shown[32];
    for (int c = 0; c < t->n_columns; c++)
        shown[c] = true;
    drop_until_it_fits(t, style->width, shown);
    rb_buf_puts(out, style->colour ? "\033[1m" : "");
    write_row(t, shown, NULL, out);
    rb_buf_puts(out, style->colour ? "\033[0m\n" : "\n");
    for (int i = 0; i < t->n_cells; i += t->n_columns) {
        write_row(t, shown, (const char *const *)&t->cells[i], out);
        rb_buf_putc(out, '\n');
    }
}

int rb_text_width(int fd)
{
    struct winsize size;
    const char *columns = getenv("COLUMNS");
    if (!isatty(fd))
        return 0;
    if (columns && atoi(columns) > 0)
        return atoi(columns);
    return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

struct rb_text_style rb_text_style_of(int fd)
{
    return (struct rb_text_style){.width = rb_text_width(fd), .colour = rb_colour(fd)};
}
