#include "executor/metrics/metric_table.h"

#include "base/text/number.h"

#include <stdbool.h>
#include <string.h>

struct cell {
    const char *at;
    size_t n;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static struct cell trimmed(const char *at, const char *end)
{
    while (at < end && is_blank(*at))
        at++;
    while (end > at && is_blank(end[-1]))
        end--;
    if (end - at >= 2 && *at == '"' && end[-1] == '"')
        at++, end--;
    return (struct cell){at, (size_t)(end - at)};
}

// A separator within quotes belongs to the cell.
static const char *comma_cell_end(const char *p, const char *end)
{
    for (bool quoted = false; p < end && (quoted || *p != ','); p++)
        if (*p == '"')
            quoted = !quoted;
    return p;
}

static const char *blank_cell_end(const char *p, const char *end)
{
    while (p < end && is_blank(*p))
        p++;
    while (p < end && !is_blank(*p))
        p++;
    return p;
}

// False: there is no further cell. *p moves behind it.
static bool next_cell(const char **p, const char *end, char separator, struct cell *out)
{
    if (*p > end)
        return false;
    const char *stop = separator == ',' ? comma_cell_end(*p, end) : blank_cell_end(*p, end);
    *out = trimmed(*p, stop);
    *p = separator == ',' ? stop + 1 : stop;
    return separator == ',' || out->n > 0;
}

static bool is_header(const char *line, size_t n, char separator, const char *key)
{
    const char *p = line;
    struct cell cell;
    for (int i = 0; i < RB_TABLE_COLUMNS && next_cell(&p, line + n, separator, &cell); i++)
        if (cell.n == strlen(key) && memcmp(cell.at, key, cell.n) == 0)
            return true;
    return false;
}

static void take_header(struct rb_metric_table *t, const char *line, size_t n, char separator)
{
    const char *p = line;
    struct cell cell;
    rb_buf_clear(&t->names);
    for (t->n_columns = 0; t->n_columns < RB_TABLE_COLUMNS && next_cell(&p, line + n, separator, &cell);
         t->n_columns++) {
        rb_buf_append(&t->names, cell.at, cell.n);
        rb_buf_putc(&t->names, '\0');
    }
}

void rb_metric_table_finish(struct rb_metric_table *t)
{
    rb_buf_finish(&t->names);
}

void rb_metric_table_line(struct rb_metric_table *t, const char *line, size_t n, char separator, const char *key,
                          rb_metric_value_fn *fn, void *ctx)
{
    if (memchr(line, '\0', n))
        return;
    if (is_header(line, n, separator, key)) {
        take_header(t, line, n, separator);
        return;
    }
    const char *p = line, *name = t->names.data;
    struct cell cell;
    for (int i = 0; i < t->n_columns && next_cell(&p, line + n, separator, &cell); i++, name += strlen(name) + 1) {
        double value;
        if (rb_parse_printed(cell.at, cell.n, &value))
            fn(ctx, name, strlen(name), value);
    }
}
