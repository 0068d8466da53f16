// Reads CSV with a header line (RFC 4180 quoting). Columns are found by name; unknown and duplicate columns, ragged rows
// and NUL bytes are errors with file and line. Empty lines are skipped. Reads .gz through zlib when the name ends
// in .gz. An error names the column as its key.
#ifndef RB_BASE_CSV_H
#define RB_BASE_CSV_H

#include "base/arena.h"
#include "base/errors/err.h"
#include "base/text/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rb_csv {
    struct rb_arena arena;
    const char *file;
    int n_columns, n_rows;
    const char **header;  // [n_columns]
    int header_line;
    const char ***cells;  // [n_rows][n_columns], never NULL, may be ""
    const int *row_line;  // [n_rows] line where the row starts
};

bool rb_csv_read(struct rb_csv *out, const char *path, struct rb_err *err);
bool rb_csv_parse(struct rb_csv *out, const char *name, const char *bytes, size_t n, struct rb_err *err);
void rb_csv_finish(struct rb_csv *csv);

// Index of a column or -1.
int rb_csv_column(const struct rb_csv *csv, const char *name);
// Fails on a column that is not one of the n known names (did you mean), and on a required one that is missing;
// known[i] is required if required[i].
bool rb_csv_check_columns(const struct rb_csv *csv, const char *const *known, const bool *required, int n,
                          struct rb_err *err);
// Writes a cell in quotes. is_guarded: for spreadsheets, which take some texts for formulas; such a text begins with '.
void rb_csv_put_text(const char *text, bool is_guarded, struct rb_buf *out);
// Error at (row, column). Returns false.
bool rb_csv_error(const struct rb_csv *csv, int row, int column, struct rb_err *err, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
bool rb_csv_double(const struct rb_csv *csv, int row, int column, double min, double max, double *out,
                   struct rb_err *err);
bool rb_csv_int(const struct rb_csv *csv, int row, int column, int64_t min, int64_t max, int64_t *out,
                struct rb_err *err);

#endif
