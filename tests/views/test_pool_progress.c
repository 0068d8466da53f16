// The line of a pool that goes on.
#include "views/live/pool_progress.h"

#include "base/text/units.h"
#include "views/tables/text_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct rb_pool_progress going_on(void)
{
    return (struct rb_pool_progress){
        .jobs = 7,
        .n_over = 2,
        .n_training = 3,
        .n_waiting = 1,
        .n_not_begun = 1,
        .nodes_ready = 3,
        .nodes = 4,
        .spent_uusd = 210000,
        .budget_uusd = 1000000,
        .elapsed_us = 100 * RB_US_PER_S,
        .end_us = 820 * RB_US_PER_S,
    };
}

static void check(const struct rb_pool_progress *p, int width, const char *expected)
{
    struct rb_buf out = RB_BUF_INIT;
    rb_pool_progress_write(p, width, &out);
    assert_string_equal(rb_buf_str(&out), expected);
    rb_buf_finish(&out);
}

static void it_says_what_counts(void **state)
{
    (void)state;
    struct rb_pool_progress p = going_on();
    check(&p, 0, "2/7 jobs  3 training, 1 waiting, 1 not begun  3/4 nodes  $0.2100 (max $1.00)  ETA 12 m 0 s");
    p.budget_uusd = -1;
    p.is_free = true;
    p.elapsed_us = 900 * RB_US_PER_S; // it takes longer than was foreseen
    check(&p, 0, "2/7 jobs  3 training, 1 waiting, 1 not begun  3/4 nodes  free  ETA 0 s");
}

static void what_is_unknown_says_why(void **state)
{
    (void)state;
    struct rb_pool_progress p = going_on();
    p.n_to_come = 1;
    p.end_us = -1;
    p.why_unknown = "jobs are to come";
    check(&p, 0,
          "2/7 jobs  3 training, 1 waiting, 1 to come, 1 not begun  3/4 nodes  $0.2100 (max $1.00)  ETA ? (jobs are to "
          "come)");
}

static void what_is_over_has_no_end_to_come(void **state)
{
    (void)state;
    struct rb_pool_progress p = going_on();
    p.over = true;
    check(&p, 0, "2/7 jobs  3 training, 1 waiting, 1 not begun  3/4 nodes  $0.2100 (max $1.00)");
    p.n_over = 7;
    check(&p, 0, "7/7 jobs  3/4 nodes  $0.2100 (max $1.00)");
}

static void the_least_important_parts_give_way(void **state)
{
    (void)state;
    struct rb_pool_progress p = going_on();
    check(&p, 85, "2/7 jobs  3 training, 1 waiting, 1 not begun  3/4 nodes  $0.2100  ETA 12 m 0 s");
    check(&p, 75, "2/7 jobs  3 training, 1 waiting, 1 not begun  $0.2100  ETA 12 m 0 s");
    check(&p, 40, "2/7 jobs  $0.2100  ETA 12 m 0 s");
    check(&p, 10, "2/7 jobs");
    for (int width = 1; width < 120; width++) {
        struct rb_buf out = RB_BUF_INIT;
        rb_pool_progress_write(&p, width, &out);
        assert_true(rb_text_columns(rb_buf_str(&out)) <= width);
        rb_buf_finish(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_says_what_counts),
        cmocka_unit_test(what_is_unknown_says_why),
        cmocka_unit_test(what_is_over_has_no_end_to_come),
        cmocka_unit_test(the_least_important_parts_give_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
