// The catalogue of errors: its order, its rows, its areas.
#include "base/errors/err.h"

#include "check.h"

#include <string.h>

static void numbers_ascend_and_are_found(void **state)
{
    (void)state;
    int n;
    const struct rb_err_entry *rows = rb_err_entries(&n);
    assert_true(n > 100);
    for (int i = 0; i < n; i++) {
        assert_true(i == 0 || rows[i].number > rows[i - 1].number);
        assert_in_range(rows[i].number, 1001, 9999);
        assert_ptr_equal(rb_err_entry(rows[i].number), &rows[i]);
    }
    assert_null(rb_err_entry(0));
    assert_null(rb_err_entry(1000));
    assert_null(rb_err_entry(9999));
    assert_null(rb_err_entry(-1));
}

// Permanent: scripts and bookmarks know them. A number may be added to this list, never changed.
static void some_numbers_as_they_were_first_given(void **state)
{
    (void)state;
    assert_int_equal(RB_E_OPTION_UNKNOWN, 1021);
    assert_int_equal(RB_E_FILE_MISSING, 1101);
    assert_int_equal(RB_E_KEY_UNKNOWN, 1112);
    assert_int_equal(RB_E_PRICE_UNKNOWN, 1401);
    assert_int_equal(RB_E_NO_PLAN, 2001);
    assert_int_equal(RB_E_CREDENTIALS_MISSING, 3001);
    assert_int_equal(RB_E_CAPACITY, 3013);
    assert_int_equal(RB_E_INSTANCES_LEFT, 4021);
}

static bool is_sentence(const char *s)
{
    const size_t n = strlen(s);
    return n > 10 && s[n - 1] == '.' && strchr(s, '\n') == NULL;
}

static void every_row_says_cause_remedy_and_example(void **state)
{
    (void)state;
    int n;
    const struct rb_err_entry *rows = rb_err_entries(&n);
    for (int i = 0; i < n; i++) {
        if (!is_sentence(rows[i].cause) || !is_sentence(rows[i].remedy))
            fail_msg("RB%d: cause and remedy are sentences that end with a dot", rows[i].number);
        const size_t example = strlen(rows[i].example);
        if (example == 0 || rows[i].example[example - 1] == '.')
            fail_msg("RB%d: an example is a message, without a dot at its end", rows[i].number);
        if (strspn(rows[i].name, "abcdefghijklmnopqrstuvwxyz0123456789-") != strlen(rows[i].name))
            fail_msg("RB%d: a name is lower-case words and digits joined by -", rows[i].number);
        for (int k = 0; k < i; k++)
            if (strcmp(rows[k].name, rows[i].name) == 0 || strcmp(rows[k].cause, rows[i].cause) == 0)
                fail_msg("RB%d and RB%d say the same", rows[k].number, rows[i].number);
    }
}

static void general_numbers_are_those_of_the_classes(void **state)
{
    (void)state;
    for (int code = RB_ERR_INVALID; code <= RB_ERR_BROKEN_SCRIPT; code++) {
        assert_non_null(rb_err_entry(1000 + code));
        assert_int_equal(rb_err_entry(1000 + code)->code, code);
    }
    assert_null(rb_err_entry(1000 + RB_ERR_BROKEN_SCRIPT + 1));
}

static void areas_hold_their_numbers(void **state)
{
    (void)state;
    assert_string_equal(rb_err_area(1112)->title, "Files and formats");
    assert_string_equal(rb_err_area(1199)->title, "Files and formats");
    assert_string_equal(rb_err_area(1200)->title, "The job file");
    assert_string_equal(rb_err_area(7004)->title, "Reports and pictures");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_ascend_and_are_found),
        cmocka_unit_test(some_numbers_as_they_were_first_given),
        cmocka_unit_test(every_row_says_cause_remedy_and_example),
        cmocka_unit_test(general_numbers_are_those_of_the_classes),
        cmocka_unit_test(areas_hold_their_numbers),
    };
    return cmocka_run_group_tests_name("err_catalog", tests, NULL, NULL);
}
