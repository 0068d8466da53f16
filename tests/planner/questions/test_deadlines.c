// Which deadlines a frontier asks for: with room at both ends, landmarks first, and nothing where there is nothing to learn.
#include "planner/questions/deadlines.h"

#include "base/text/units.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define S RB_US_PER_S

static struct rb_deadlines_end at(int64_t deadline_s, int64_t least_uusd)
{
    return (struct rb_deadlines_end){deadline_s * S, least_uusd};
}

static int64_t between(const struct rb_deadlines *d, struct rb_deadlines_end tighter, struct rb_deadlines_end looser,
                       int n)
{
    return rb_deadlines_between(d, &tighter, &looser, n);
}

static void both_ends_have_room(void **state)
{
    const struct rb_deadlines d = rb_deadlines_of(-1, 1000 * S, 4000 * S);
    (void)state;
    assert_int_equal(d.n_landmarks, 0);
    assert_int_equal(d.first_us, 1010 * S);
    assert_int_equal(d.last_us, 4040 * S);
}

static void what_is_asked_for_is_a_landmark(void **state)
{
    const struct rb_deadlines d = rb_deadlines_of(2000 * S, 1000 * S, 4000 * S);
    (void)state;
    assert_int_equal(d.n_landmarks, 3);
    assert_true(rb_deadlines_is_landmark(&d, 2000 * S));
    assert_true(rb_deadlines_is_landmark(&d, 1940 * S)); // a minute is the largest step up to a tenth
    assert_true(rb_deadlines_is_landmark(&d, 2060 * S));
    assert_false(rb_deadlines_is_landmark(&d, 1010 * S));
    // Flat or not, they are asked for in their turn.
    assert_int_equal(between(&d, at(1010, 100), at(4040, 100), 2), 2000 * S);
    assert_int_equal(between(&d, at(1010, 100), at(2000, 100), 3), 1940 * S);
    assert_int_equal(between(&d, at(1010, 100), at(1940, 100), 4), -1);
}

static void landmarks_move_the_ends(void **state)
{
    const struct rb_deadlines tight = rb_deadlines_of(1005 * S, 1000 * S, 4000 * S);
    const struct rb_deadlines loose = rb_deadlines_of(9000 * S, 1000 * S, 4000 * S);
    const struct rb_deadlines never = rb_deadlines_of(999 * S, 1000 * S, 4000 * S);
    (void)state;
    assert_int_equal(tight.n_landmarks, 2); // a step less is kept by no plan
    assert_int_equal(tight.first_us, 1005 * S);
    assert_int_equal(loose.last_us, 9600 * S);
    assert_int_equal(never.n_landmarks, 0);
    assert_int_equal(never.first_us, 1010 * S);
}

static void it_is_halved_where_the_cost_falls(void **state)
{
    const struct rb_deadlines d = rb_deadlines_of(-1, 1000 * S, 4000 * S);
    (void)state;
    assert_int_equal(between(&d, at(1010, 200), at(4040, 100), 2), 2020 * S); // as ratios go
    assert_int_equal(between(&d, at(1010, 114), at(4040, 100), 2), -1);       // by nearly 15 %
    assert_int_equal(between(&d, at(1010, 116), at(4040, 100), 2), 2020 * S);
    assert_int_equal(between(&d, at(1010, -1), at(4040, 100), 2), 2020 * S); // no plan there: not flat
}

static void there_is_an_end(void **state)
{
    const struct rb_deadlines d = rb_deadlines_of(-1, 1000 * S, 4000 * S);
    (void)state;
    assert_int_equal(between(&d, at(1010, 200), at(1150, 100), 2), -1); // a tenth of the range: a factor of 4^0.1
    assert_int_equal(between(&d, at(1010, 200), at(1170, 100), 2), 1088 * S);
    assert_int_equal(between(&d, at(1010, 200), at(4040, 100), 32), -1);
    const struct rb_deadlines narrow = rb_deadlines_of(-1, 10 * S, 10 * S);
    assert_int_equal(narrow.first_us, narrow.last_us);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_ends_have_room),     cmocka_unit_test(what_is_asked_for_is_a_landmark),
        cmocka_unit_test(landmarks_move_the_ends), cmocka_unit_test(it_is_halved_where_the_cost_falls),
        cmocka_unit_test(there_is_an_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
