// Tables of text: aligned, and no wider than they may be.
#include "views/tables/text_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const struct rb_text_column columns[] = {
    {"name", false, 0}, {"count", true, 0}, {"why", false, 1}, {"cost", true, 2}};

static void fill(struct rb_text_table *t)
{
    rb_text_table_init(t, columns, 4);
    rb_text_table_cell(t, "%s", "a");
    rb_text_table_cell(t, "%d", 1);
    rb_text_table_cell(t, "because");
    rb_text_table_cell(t, "$%d.00", 12);
    rb_text_table_cell(t, "%s", "µ-long");
    rb_text_table_cell(t, "%d", 1000);
    rb_text_table_cell(t, "so");
    rb_text_table_cell(t, "$1.00");
}

static void check(int width, bool colour, const char *expected)
{
    struct rb_text_table t;
    struct rb_buf out = RB_BUF_INIT;
    fill(&t);
    rb_text_table_write(&t, &(struct rb_text_style){width, colour}, &out);
    assert_string_equal(rb_buf_str(&out), expected);
    rb_buf_finish(&out);
    rb_text_table_finish(&t);
}

static void columns_are_aligned(void **state)
{
    (void)state;
    check(0, false,
          "name    count  why        cost\n"
          "a           1  because  $12.00\n"
          "µ-long   1000  so        $1.00\n");
}

static void least_important_columns_go_first(void **state)
{
    (void)state;
    check(30, false,
          "name    count  why        cost\n"
          "a           1  because  $12.00\n"
          "µ-long   1000  so        $1.00\n");
    check(29, false,
          "name    count    cost\n"
          "a           1  $12.00\n"
          "µ-long   1000   $1.00\n");
    check(5, false,
          "name    count\n"
          "a           1\n"
          "µ-long   1000\n");
}

static void only_the_heading_is_coloured(void **state)
{
    (void)state;
    check(5, true,
          "\033[1mname    count\033[0m\n"
          "a           1\n"
          "µ-long   1000\n");
}

static void no_line_ends_in_blanks(void **state)
{
    (void)state;
    static const struct rb_text_column two[] = {{"where the money went", false, 0}, {"", true, 0}, {"", false, 0}};
    struct rb_text_table t;
    struct rb_text_style style = {0};
    struct rb_buf out = RB_BUF_INIT;
    rb_text_table_init(&t, two, 3);
    rb_text_table_cell(&t, "training");
    rb_text_table_cell(&t, "%s", "$1.20");
    rb_text_table_cell(&t, "%s", "");
    rb_text_table_cell(&t, "idle");
    rb_text_table_cell(&t, "%s", "");
    rb_text_table_cell(&t, "a while");
    rb_text_table_write(&t, &style, &out);
    rb_text_table_finish(&t);
    assert_string_equal(rb_buf_str(&out), "where the money went\n"
                                          "training              $1.20\n"
                                          "idle                         a while\n");
    rb_buf_finish(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_aligned),
        cmocka_unit_test(least_important_columns_go_first),
        cmocka_unit_test(only_the_heading_is_coloured),
        cmocka_unit_test(no_line_ends_in_blanks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
