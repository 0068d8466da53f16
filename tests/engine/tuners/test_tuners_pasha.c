// Progressive ASHA: how far trials are trained, by curves whose ranks are known.
#include "engine/core/tuner.h"

#include "check.h"

#include <math.h>

enum { N_TRIALS = 27, R = 27 }; // levels 1, 3, 9, 27

typedef double curve(int trial, int resource);

static double parallel(int trial, int resource)
{
    return trial + resource / 100.0;
}

// The best at 1 are the worst later.
static double crossing(int trial, int resource)
{
    return resource < 3 ? trial : -trial;
}

// Neighbours overtake each other at every report, by less than 2.
static double noisy(int trial, int resource)
{
    return trial + ((trial + resource) % 2 ? 0.9 : -0.9);
}

// Trains one trial after another, each report and end as they come; the farthest that any got to.
static int64_t farthest(curve *score, int *n_trained)
{
    const struct rb_tuner *pasha = rb_tuner_find("pasha");
    const struct rb_job job = {.scheduler = {.type = "pasha",
                                             .num_trials = N_TRIALS,
                                             .min_resource = 1,
                                             .max_resource = R,
                                             .eta = 3,
                                             .brackets = 1}};
    struct rb_group g;
    struct rb_err err;
    void *state;
    int64_t far = 0;
    assert_true(pasha->create(&job, &state, &err));
    enum rb_tuner_next next;
    *n_trained = 0;
    while ((next = pasha->next(state, &g)) == RB_TUNER_GROUP) {
        const int id = g.trials[0];
        const int64_t end = g.resource_end;
        *n_trained += g.resource_start == 0;
        for (int64_t r = g.resource_start + 1; r <= end; r++)
            assert_int_equal(pasha->reported(state, id, r, score(id, (int)r)), RB_VERDICT_CONTINUE);
        pasha->ended(state, id, end, score(id, (int)end));
        far = end > far ? end : far;
    }
    assert_int_equal(next, RB_TUNER_DONE);
    pasha->destroy(state);
    return far;
}

static void equal_ranks_end_at_the_second_level(void **unused)
{
    (void)unused;
    int n;
    assert_int_equal(farthest(parallel, &n), 3);
    assert_int_equal(n, N_TRIALS);
}

static void ranks_that_change_are_trained_on(void **unused)
{
    (void)unused;
    int n;
    assert_int_equal(farthest(crossing, &n), 9); // at 3 and 9 ranks are equal
}

static void ranks_that_change_by_noise_are_not(void **unused)
{
    (void)unused;
    int n;
    assert_int_equal(farthest(noisy, &n), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_ranks_end_at_the_second_level),
        cmocka_unit_test(ranks_that_change_are_trained_on),
        cmocka_unit_test(ranks_that_change_by_noise_are_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
