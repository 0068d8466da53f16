// Sequential decisions: wrong no more often than their risk says, and never in the direction that the share itself denies.
#include "planner/proof/decide.h"

#include "base/stream.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define CONFIDENCE 0.95

static void a_share_below_never_keeps_and_one_above_never_falls_short(void **state)
{
    (void)state;
    for (int n = 1; n <= 4096; n *= 2) {
        for (int hits = 0; hits <= n; hits++) {
            const enum rb_decision d = rb_decide_share(hits, n, CONFIDENCE, 0.1);
            if (hits < CONFIDENCE * n)
                assert_int_not_equal(d, RB_DECIDED_KEEPS);
            if (hits > (CONFIDENCE + RB_DECIDED) * n)
                assert_int_not_equal(d, RB_DECIDED_FALLS_SHORT);
        }
    }
}

static void enough_runs_decide(void **state)
{
    (void)state;
    assert_int_equal(rb_decide_share(99, 100, CONFIDENCE, 1e-3), RB_UNDECIDED);
    assert_int_equal(rb_decide_share(9900, 10000, CONFIDENCE, 1e-3), RB_DECIDED_KEEPS);
    assert_int_equal(rb_decide_share(9200, 10000, CONFIDENCE, 1e-3), RB_DECIDED_FALLS_SHORT);
}

// No number of runs shows that much: none may miss.
static void certainty_needs_runs_without_a_miss(void **state)
{
    (void)state;
    assert_int_equal(rb_decide_share(RB_DECIDED_NO_MISS, RB_DECIDED_NO_MISS, 1, 1e-3), RB_DECIDED_KEEPS);
    assert_int_equal(rb_decide_share(RB_DECIDED_NO_MISS - 1, RB_DECIDED_NO_MISS - 1, 1, 1e-3), RB_UNDECIDED);
    assert_int_equal(rb_decide_share(RB_DECIDED_NO_MISS - 1, RB_DECIDED_NO_MISS, 1, 1e-3), RB_DECIDED_FALLS_SHORT);
}

// One sequence of runs with this probability, looked at after 256, 512, ... 16,384, every look with half the risk of the last.
static enum rb_decision sequence(double probability, double risk, uint32_t number)
{
    struct rb_stream s;
    enum rb_decision d = RB_UNDECIDED;
    int hits = 0, n = 0;
    rb_stream_init(&s, &(struct rb_stream_key){.seed = 21, .purpose = RB_DRAW_SEARCH, .index = number});
    for (int looks = 256; looks <= 16384 && d == RB_UNDECIDED; looks *= 2) {
        for (; n < looks; n++)
            hits += rb_stream_uniform(&s) < probability;
        risk /= 2;
        d = rb_decide_share(hits, n, CONFIDENCE, risk);
    }
    return d;
}

static int count(double probability, double risk, enum rb_decision wrong)
{
    enum { SEQUENCES = 10000 };
    int n_wrong = 0;
    for (uint32_t i = 0; i < SEQUENCES; i++)
        n_wrong += sequence(probability, risk, i) == wrong;
    return n_wrong;
}

static void errors_are_rarer_than_the_risk(void **state)
{
    (void)state;
    assert_true(count(CONFIDENCE, 0.02, RB_DECIDED_KEEPS) <= 200);
    assert_true(count(CONFIDENCE + RB_DECIDED, 0.02, RB_DECIDED_FALLS_SHORT) <= 200);
    assert_true(count(0.90, 0.02, RB_DECIDED_FALLS_SHORT) > 9900); // they do decide
    assert_true(count(0.99, 0.02, RB_DECIDED_KEEPS) > 9900);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_share_below_never_keeps_and_one_above_never_falls_short),
        cmocka_unit_test(enough_runs_decide),
        cmocka_unit_test(certainty_needs_runs_without_a_miss),
        cmocka_unit_test(errors_are_rarer_than_the_risk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
