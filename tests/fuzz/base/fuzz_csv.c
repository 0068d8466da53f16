// Any bytes as CSV: refused with a place, or a rectangular table whose cells all end inside the file.
#include "base/document/csv.h"

#include "fuzz.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void check_cell(const struct rb_csv *csv, int row, int column, size_t n)
{
    double d = 0;
    int64_t i = 0;
    struct rb_err err = {0};
    require(strlen(csv->cells[row][column]) <= n);
    if (rb_csv_double(csv, row, column, -1e9, 1e9, &d, &err))
        require(isfinite(d) && fabs(d) <= 1e9);
    else
        require(err.line == csv->row_line[row] && strlen(err.key) > 0);
    if (rb_csv_int(csv, row, column, -5, 5, &i, &err))
        require(i >= -5 && i <= 5);
}

static void check_table(const struct rb_csv *csv, size_t n)
{
    require(csv->n_columns > 0);
    for (int k = 0; k < csv->n_columns; k++)
        require(csv->header[k][0] != '\0' && rb_csv_column(csv, csv->header[k]) == k);
    int line = csv->header_line;
    for (int row = 0; row < csv->n_rows; row++) {
        require(csv->row_line[row] > line);
        line = csv->row_line[row];
        for (int k = 0; k < csv->n_columns; k++)
            check_cell(csv, row, k, n);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct rb_csv csv;
    struct rb_err err = {0};
    if (rb_csv_parse(&csv, "fuzz.csv", (const char *)bytes, n, &err)) {
        check_table(&csv, n);
        rb_csv_finish(&csv);
    } else {
        require(err.code == RB_ERR_INVALID && err.line > 0 && err.message[0] != '\0');
    }
    return 0;
}
