// CSV as RFC 4180 describes it, read into one copy of the text that is cut into cells in place.
#include "base/document/csv.h"

#include "base/text/closest.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/text/number.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static bool error_at(const char *file, int line, struct rb_err *err, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

static bool error_at(const char *file, int line, struct rb_err *err, const char *fmt, ...)
{
    char message[sizeof err->message];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(message, sizeof message, fmt, ap);
    va_end(ap);
    return rb_err_set_at(err, RB_E_CSV_SYNTAX, (struct rb_place){file, line, 0}, NULL, "%s", message);
}

// --- splitting ---

struct splitter {
    const char *file;
    char *at, *end;     // end points at a NUL
    int line;           // of `at`
    bool at_end;        // the last row was read
    const char **cells; // heap; all cells in file order, the header's first
    size_t n_cells, cap_cells;
    int *row_line; // heap; the header's line first
    int n_rows, cap_rows;
    int n_columns; // 0 until the header was read
    struct rb_err *err;
};

static void splitter_finish(struct splitter *s)
{
    free(s->cells);
    free(s->row_line);
}

static bool add_cell(struct splitter *s, const char *cell)
{
    if (s->n_cells == RB_LIMIT_CSV_CELLS)
        return error_at(s->file, s->line, s->err, "the file has more than %d cells", RB_LIMIT_CSV_CELLS);
    if (s->n_cells == s->cap_cells) {
        s->cap_cells = s->cap_cells ? 2 * s->cap_cells : 256;
        s->cells = rb_xrealloc(s->cells, s->cap_cells, sizeof *s->cells);
    }
    s->cells[s->n_cells++] = cell;
    return true;
}

static void add_row(struct splitter *s, int line)
{
    if (s->n_rows == s->cap_rows) {
        s->cap_rows = s->cap_rows ? 2 * s->cap_rows : 64;
        s->row_line = rb_xrealloc(s->row_line, (size_t)s->cap_rows, sizeof *s->row_line);
    }
    s->row_line[s->n_rows++] = line;
}

// Decodes a quoted cell in place: the text only shrinks. s->at ends behind the closing quote.
static bool read_quoted(struct splitter *s, char **out_end)
{
    const int start_line = s->line;
    char *to = s->at++;
    for (;; s->at++) {
        if (s->at == s->end)
            return error_at(s->file, start_line, s->err, "the quote that opens on this line is never closed");
        if (*s->at == '"' && *++s->at != '"')
            break;
        s->line += *s->at == '\n';
        *to++ = *s->at;
    }
    *out_end = to;
    return true;
}

static bool read_cell(struct splitter *s, bool *last_of_row)
{
    char *cell = s->at, *cell_end = s->at;
    if (*s->at == '"') {
        if (!read_quoted(s, &cell_end))
            return false;
    } else {
        s->at += strcspn(s->at, ",\"\r\n");
        cell_end = s->at;
        if (*s->at == '"')
            return error_at(s->file, s->line, s->err,
                            "a quote inside a cell; put the whole cell in quotes and double it");
    }
    if (s->at[0] == '\r' && s->at[1] == '\n')
        s->at++;
    const char separator = *s->at;
    if (separator != ',' && separator != '\n' && s->at != s->end)
        return error_at(s->file, s->line, s->err, "expected a comma or the end of the line after a cell");
    *last_of_row = separator != ',';
    s->line += separator == '\n';
    s->at_end = s->at == s->end;
    s->at += !s->at_end;
    *cell_end = '\0';
    return add_cell(s, cell);
}

static bool read_row(struct splitter *s)
{
    const int line = s->line;
    int n = 0;
    for (bool last = false; !last; n++)
        if (!read_cell(s, &last))
            return false;
    if (s->n_columns == 0)
        s->n_columns = n;
    if (n != s->n_columns)
        return error_at(s->file, line, s->err, "expected %d cells as in the header, got %d", s->n_columns, n);
    add_row(s, line);
    return true;
}

static bool skip_empty_lines(struct splitter *s)
{
    for (;;) {
        if (s->at_end || s->at == s->end)
            return false;
        char *p = s->at;
        p += p[0] == '\r' && p[1] == '\n';
        if (*p != '\n')
            return true;
        s->at = p + 1;
        s->line++;
    }
}

// --- the table ---

static bool check_header(const struct splitter *s)
{
    for (int i = 0; i < s->n_columns; i++) {
        if (s->cells[i][0] == '\0')
            return error_at(s->file, s->row_line[0], s->err, "column %d has no name", i + 1);
        for (int k = 0; k < i; k++)
            if (strcmp(s->cells[k], s->cells[i]) == 0)
                return error_at(s->file, s->row_line[0], s->err, "the column \"%.60s\" is named twice", s->cells[i]);
    }
    return true;
}

static bool split(struct splitter *s)
{
    if (!skip_empty_lines(s))
        return error_at(s->file, 1, s->err, "the file is empty; expected a header line with the names of the columns");
    if (!read_row(s))
        return false;
    if (s->n_columns > RB_LIMIT_CSV_COLUMNS)
        return error_at(s->file, s->row_line[0], s->err, "the file has more than %d columns", RB_LIMIT_CSV_COLUMNS);
    if (!check_header(s))
        return false;
    while (skip_empty_lines(s))
        if (!read_row(s))
            return false;
    return true;
}

static void fill_table(struct rb_csv *csv, const struct splitter *s)
{
    const size_t n_columns = (size_t)s->n_columns, n_rows = (size_t)s->n_rows - 1;
    const char **cells = rb_arena_array(&csv->arena, s->n_cells, sizeof *cells);
    memcpy(cells, s->cells, s->n_cells * sizeof *cells);
    int *row_line = rb_arena_array(&csv->arena, n_rows, sizeof *row_line);
    if (n_rows)
        memcpy(row_line, s->row_line + 1, n_rows * sizeof *row_line);
    const char ***rows = rb_arena_array(&csv->arena, n_rows, sizeof *rows);
    for (size_t i = 0; i < n_rows; i++)
        rows[i] = cells + (i + 1) * n_columns;
    csv->n_columns = s->n_columns;
    csv->n_rows = s->n_rows - 1;
    csv->header = cells;
    csv->header_line = s->row_line[0];
    csv->cells = rows;
    csv->row_line = row_line;
}

static int line_of(const char *bytes, const char *at)
{
    int line = 1;
    for (; bytes < at; bytes++)
        line += *bytes == '\n';
    return line;
}

bool rb_csv_parse(struct rb_csv *out, const char *name, const char *bytes, size_t n, struct rb_err *err)
{
    if (n > RB_LIMIT_CSV_BYTES)
        return rb_err_set_at(err, RB_E_FILE_TOO_LARGE, (struct rb_place){.file = name}, NULL,
                             "the file is larger than the limit of %d bytes", RB_LIMIT_CSV_BYTES);
    const char *nul = n ? memchr(bytes, '\0', n) : NULL;
    if (nul)
        return error_at(name, line_of(bytes, nul), err, "a NUL byte; expected text");
    if (n >= 3 && memcmp(bytes, "\xEF\xBB\xBF", 3) == 0) { // byte order mark: spreadsheets write one
        bytes += 3;
        n -= 3;
    }
    struct rb_csv csv = {0};
    rb_arena_init(&csv.arena);
    csv.file = rb_arena_strdup(&csv.arena, name);
    char *text = rb_arena_strndup(&csv.arena, bytes, n);
    RB_AUTO(splitter_finish) struct splitter s = {.file = name, .at = text, .end = text + n, .line = 1, .err = err};
    if (!split(&s)) {
        rb_arena_finish(&csv.arena);
        return false;
    }
    fill_table(&csv, &s);
    *out = csv;
    return true;
}

// --- files ---

static bool inflate_error(const char *path, gzFile gz, struct rb_err *err)
{
    int code;
    const char *why = gzerror(gz, &code);
    return rb_err_set_at(err, code == Z_ERRNO ? RB_E_FILE_READ : RB_E_CSV_SYNTAX, (struct rb_place){.file = path}, NULL,
                         "cannot decompress: %s", code == Z_ERRNO ? strerror(errno) : why);
}

static bool inflate_all(const char *path, gzFile gz, struct rb_buf *into, struct rb_err *err)
{
    char chunk[65536];
    for (;;) {
        const int got = gzread(gz, chunk, sizeof chunk);
        if (got < 0)
            return inflate_error(path, gz, err);
        if (got == 0)
            break;
        if (into->len + (size_t)got > RB_LIMIT_CSV_BYTES)
            return rb_err_set_at(err, RB_E_FILE_TOO_LARGE, (struct rb_place){.file = path}, NULL,
                                 "the file decompresses to more than the limit of %d bytes", RB_LIMIT_CSV_BYTES);
        rb_buf_append(into, chunk, (size_t)got);
    }
    int code;
    gzerror(gz, &code);
    return code == Z_OK || inflate_error(path, gz, err); // a truncated file ends with Z_BUF_ERROR
}

static bool read_gz(struct rb_csv *out, const char *path, struct rb_err *err)
{
    errno = 0;
    gzFile gz = gzopen(path, "rb");
    if (!gz)
        return rb_err_set(err, errno == ENOENT ? RB_E_FILE_MISSING : RB_E_FILE_READ, "cannot read %s: %s", path,
                          errno ? strerror(errno) : "out of memory");
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    const bool ok = inflate_all(path, gz, &text, err);
    gzclose_r(gz);
    return ok && rb_csv_parse(out, path, rb_buf_str(&text), text.len, err);
}

bool rb_csv_read(struct rb_csv *out, const char *path, struct rb_err *err)
{
    const size_t len = strlen(path);
    if (len > 3 && strcmp(path + len - 3, ".gz") == 0)
        return read_gz(out, path, err);
    RB_AUTO(rb_auto_free) char *bytes = NULL;
    size_t n;
    return rb_read_file(path, RB_LIMIT_CSV_BYTES, &bytes, &n, err) &&
           rb_csv_parse(out, strcmp(path, "-") == 0 ? "<stdin>" : path, bytes, n, err);
}

void rb_csv_finish(struct rb_csv *csv)
{
    rb_arena_finish(&csv->arena);
    *csv = (struct rb_csv){0};
}

// --- access ---

int rb_csv_column(const struct rb_csv *csv, const char *name)
{
    for (int i = 0; i < csv->n_columns; i++)
        if (strcmp(csv->header[i], name) == 0)
            return i;
    return -1;
}

static bool is_known(const char *const *known, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (strcmp(known[i], name) == 0)
            return true;
    return false;
}

bool rb_csv_check_columns(const struct rb_csv *csv, const char *const *known, const bool *required, int n,
                          struct rb_err *err)
{
    for (int i = 0; i < csv->n_columns; i++) {
        if (is_known(known, n, csv->header[i]))
            continue;
        const char *close = rb_closest(csv->header[i], known, n);
        return rb_err_set_at(err, RB_E_CSV_COLUMN, (struct rb_place){csv->file, csv->header_line, 0}, csv->header[i],
                             "unknown column%s%s%s", close ? "; did you mean \"" : "", close ? close : "",
                             close ? "\"?" : "; remove it or correct its name");
    }
    for (int i = 0; i < n; i++)
        if (required[i] && rb_csv_column(csv, known[i]) < 0)
            return rb_err_set_at(err, RB_E_CSV_COLUMN, (struct rb_place){csv->file, csv->header_line, 0}, known[i],
                                 "this column is required and missing");
    return true;
}

bool rb_csv_error(const struct rb_csv *csv, int row, int column, struct rb_err *err, const char *fmt, ...)
{
    char message[sizeof err->message];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(message, sizeof message, fmt, ap);
    va_end(ap);
    const struct rb_place place = {csv->file, csv->row_line[row], 0};
    return rb_err_set_at(err, RB_E_CSV_VALUE, place, column >= 0 ? csv->header[column] : NULL, "%s", message);
}

bool rb_csv_double(const struct rb_csv *csv, int row, int column, double min, double max, double *out,
                   struct rb_err *err)
{
    const char *cell = csv->cells[row][column];
    double v;
    char range[RB_RANGE_BYTES];
    if (!rb_parse_double(cell, &v) || v < min || v > max)
        return rb_csv_error(csv, row, column, err, "expected %s, got \"%.60s\"", rb_double_range(min, max, range),
                            cell);
    *out = v;
    return true;
}

bool rb_csv_int(const struct rb_csv *csv, int row, int column, int64_t min, int64_t max, int64_t *out,
                struct rb_err *err)
{
    const char *cell = csv->cells[row][column];
    int64_t v;
    char range[RB_RANGE_BYTES];
    if (!rb_parse_int(cell, &v) || v < min || v > max)
        return rb_csv_error(csv, row, column, err, "expected %s, got \"%.60s\"", rb_int_range(min, max, range), cell);
    *out = v;
    return true;
}

void rb_csv_put_text(const char *text, bool is_guarded, struct rb_buf *out)
{
    rb_buf_putc(out, '"');
    if (is_guarded && *text && strchr("=+-@\t\r", *text))
        rb_buf_putc(out, '\'');
    for (; *text; text++) {
        rb_buf_puts(out, *text == '"' ? "\"" : "");
        rb_buf_putc(out, *text);
    }
    rb_buf_putc(out, '"');
}
