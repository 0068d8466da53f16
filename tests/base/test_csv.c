// CSV: quoting, line ends, compressed files, columns by name, and everything that is refused.
#include "base/document/csv.h"

#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

static bool parse(struct rb_csv *csv, const char *text, struct rb_err *err)
{
    return rb_csv_parse(csv, "prices.csv", text, strlen(text), err);
}

static void cells_are_decoded(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int n_columns, n_rows;
        const char *cells; // all of them, '|' between cells, '/' behind each row, the header first
    } cases[] = {
        {"a,b\n1,2\n", 2, 1, "a|b/1|2/"},
        {"a,b\n1,2", 2, 1, "a|b/1|2/"},
        {"a,b\r\n1,2\r\n", 2, 1, "a|b/1|2/"},
        {"a,b", 2, 0, "a|b/"},
        {"\xEF\xBB\xBF"
         "a,b\n",
         2, 0, "a|b/"},
        {"a,b\n,\n", 2, 1, "a|b/|/"},
        {"a,b\n1,", 2, 1, "a|b/1|/"},
        {"a,b\n\n1,2\n\r\n3,4\n\n", 2, 2, "a|b/1|2/3|4/"},
        {"\"a\",\"b\"\n\"1,5\",\"say \"\"hi\"\"\"\n", 2, 1, "a|b/1,5|say \"hi\"/"},
        {"a\n\"two\nlines\"\n", 1, 1, "a/two\nlines/"},
        {"a,b\n\"\",\"\"\"\"\n", 2, 1, "a|b/|\"/"},
        {"a,b\n 1 ,2\n", 2, 1, "a|b/ 1 |2/"},
        {"a\n\"x\"\r\n", 1, 1, "a/x/"},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct rb_csv csv;
        struct rb_err err;
        if (!parse(&csv, cases[i].text, &err))
            fail_msg("refused %s: %s", cases[i].text, err.message);
        assert_int_equal(csv.n_columns, cases[i].n_columns);
        assert_int_equal(csv.n_rows, cases[i].n_rows);
        char got[128] = "";
        for (int row = -1; row < csv.n_rows; row++)
            for (int k = 0; k < csv.n_columns; k++) {
                strcat(got, row < 0 ? csv.header[k] : csv.cells[row][k]);
                strcat(got, k + 1 < csv.n_columns ? "|" : "/");
            }
        assert_string_equal(got, cases[i].cells);
        rb_csv_finish(&csv);
    }
}

static void lines_are_counted_through_quotes(void **state)
{
    (void)state;
    struct rb_csv csv;
    assert_true(parse(&csv, "\na,b\n\"1\n1\",2\n\n3,4\n", NULL));
    assert_int_equal(csv.header_line, 2);
    assert_int_equal(csv.row_line[0], 3);
    assert_int_equal(csv.row_line[1], 6);
    rb_csv_finish(&csv);
}

static void broken_files_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int line;
        const char *says;
    } cases[] = {
        {"", 1, "empty"},
        {"\n\n", 1, "empty"},
        {"a,b\n1\n", 2, "expected 2 cells as in the header, got 1"},
        {"a,b\n1,2\n1,2,3\n", 3, "got 3"},
        {"a,a\n", 1, "\"a\" is named twice"},
        {"a,,b\n", 1, "column 2 has no name"},
        {"a,b\n1,\"open\n\n", 2, "never closed"},
        {"a,b\n1,x\"y\n", 2, "quote inside"},
        {"a,b\n1,\"x\"y\n", 2, "after a cell"},
        {"a,b\n1,2\rx\n", 2, "after a cell"},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct rb_csv csv = {.file = "untouched"};
        struct rb_err err = {0};
        if (parse(&csv, cases[i].text, &err))
            fail_msg("accepted %s", cases[i].text);
        assert_string_equal(csv.file, "untouched");
        assert_says(&err, cases[i].says);
        assert_int_equal(err.line, cases[i].line);
        assert_string_equal(err.file, "prices.csv");
    }
    struct rb_csv csv;
    struct rb_err err;
    assert_false(rb_csv_parse(&csv, "x", "a\n1\n\0\n", 7, &err));
    assert_says(&err, "NUL");
    assert_int_equal(err.line, 3);
}

static void columns_are_checked_by_name(void **state)
{
    (void)state;
    static const char *const known[] = {"infra", "gpus", "usd_per_hour"};
    static const bool required[] = {true, false, true};
    struct rb_csv csv;
    struct rb_err err;
    assert_true(parse(&csv, "usd_per_hour,infra\n", NULL));
    assert_true(rb_csv_check_columns(&csv, known, required, 3, &err));
    assert_int_equal(rb_csv_column(&csv, "infra"), 1);
    assert_int_equal(rb_csv_column(&csv, "gpus"), -1);
    rb_csv_finish(&csv);
    assert_true(parse(&csv, "infra,usd_per_hours\n", NULL));
    assert_false(rb_csv_check_columns(&csv, known, required, 3, &err));
    assert_says(&err, "did you mean \"usd_per_hour\"?");
    assert_string_equal(err.key, "usd_per_hours");
    rb_csv_finish(&csv);
    assert_true(parse(&csv, "infra,gpus\n", NULL));
    assert_false(rb_csv_check_columns(&csv, known, required, 3, &err));
    assert_says(&err, "required and missing");
    assert_string_equal(err.key, "usd_per_hour");
    rb_csv_finish(&csv);
}

static void numbers_are_checked_with_row_and_column(void **state)
{
    (void)state;
    struct rb_csv csv;
    struct rb_err err;
    double d = 42;
    int64_t i = 42;
    assert_true(parse(&csv, "x,n\n0.5,3\nnan,3.5\n-1,11\n,\n", NULL));
    assert_true(rb_csv_double(&csv, 0, 0, 0, 1, &d, &err) && fabs(d - 0.5) <= 0);
    assert_true(rb_csv_int(&csv, 0, 1, 1, 10, &i, &err) && i == 3);
    for (int row = 1; row < 4; row++) {
        assert_false(rb_csv_double(&csv, row, 0, 0, 1, &d, &err));
        assert_says(&err, "expected a number in 0..1, got \"");
        assert_int_equal(err.line, row + 2);
        assert_string_equal(err.key, "x");
        assert_false(rb_csv_int(&csv, row, 1, 1, 10, &i, &err));
        assert_says(&err, "expected a whole number in 1..10, got \"");
    }
    assert_true(fabs(d - 0.5) <= 0 && i == 3);
    assert_false(rb_csv_error(&csv, 1, -1, &err, "bad row %d", 7));
    assert_string_equal(err.message, "bad row 7");
    assert_string_equal(err.key, "");
    rb_csv_finish(&csv);
}

static char *temporary_path(char *path, const char *suffix)
{
    snprintf(path, 64, "/tmp/rb-csv-test-%d%s", (int)getpid(), suffix);
    return path;
}

static void write_gz(const char *path, const char *text, int copies)
{
    gzFile gz = gzopen(path, "wb1");
    assert_non_null(gz);
    for (int i = 0; i < copies; i++)
        assert_int_equal(gzputs(gz, text), (int)strlen(text));
    assert_int_equal(gzclose(gz), Z_OK);
}

static void compressed_files_are_read(void **state)
{
    (void)state;
    char path[64];
    struct rb_csv csv;
    struct rb_err err;
    write_gz(temporary_path(path, ".csv.gz"), "a,b\n1,2\n", 1);
    assert_true(rb_csv_read(&csv, path, &err));
    assert_string_equal(csv.cells[0][1], "2");
    assert_string_equal(csv.file, path);
    rb_csv_finish(&csv);

    assert_int_equal(truncate(path, 20), 0);
    assert_false(rb_csv_read(&csv, path, &err));
    assert_says(&err, "cannot decompress");
    assert_int_equal(err.code, RB_ERR_INVALID);
    unlink(path);
    assert_false(rb_csv_read(&csv, path, &err));
    assert_int_equal(err.code, RB_ERR_NOT_FOUND);
    assert_says(&err, "No such file");
}

static void a_compressed_bomb_is_refused(void **state)
{
    (void)state;
    char path[64];
    static char megabyte[(1 << 20) + 1];
    memset(megabyte, 'x', sizeof megabyte - 1);
    write_gz(temporary_path(path, "-bomb.csv.gz"), megabyte, 257);
    struct rb_csv csv;
    struct rb_err err;
    assert_false(rb_csv_read(&csv, path, &err));
    unlink(path);
    assert_says(&err, "limit of 268435456 bytes");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cells_are_decoded),
        cmocka_unit_test(lines_are_counted_through_quotes),
        cmocka_unit_test(broken_files_are_refused),
        cmocka_unit_test(columns_are_checked_by_name),
        cmocka_unit_test(numbers_are_checked_with_row_and_column),
        cmocka_unit_test(compressed_files_are_read),
        cmocka_unit_test(a_compressed_bomb_is_refused),
    };
    return cmocka_run_group_tests_name("csv", tests, NULL, NULL);
}
