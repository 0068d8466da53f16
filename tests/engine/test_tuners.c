// Tuners one by one: whom they hand out, in which order, and what they make of ties, failures and diverged trials.
#include "engine/tuner.h"

#include "check.h"

#include <math.h>
#include <stdio.h>

static struct rb_job job_of(const char *type, int num_trials, int64_t max_resource)
{
    return (struct rb_job){.scheduler = {.type = type,
                                         .num_trials = num_trials,
                                         .min_resource = 1,
                                         .max_resource = max_resource,
                                         .eta = 3,
                                         .brackets = 1}};
}

static void expect_group(const struct rb_tuner *tuner, void *state, const char *expected)
{
    struct rb_group g;
    char text[256];
    size_t at;
    assert_int_equal(tuner->next(state, &g), RB_TUNER_GROUP);
    at = (size_t)snprintf(text, sizeof text, "stage %d, %lld-%lld:", g.stage, (long long)g.resource_start,
                          (long long)g.resource_end);
    for (int i = 0; i < g.n_trials; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, " %d", g.trials[i]);
    assert_string_equal(text, expected);
}

static void *create(const struct rb_tuner *tuner, const struct rb_job *job)
{
    void *state;
    struct rb_err err;
    if (!tuner->create(job, &state, &err))
        fail_msg("%s", err.message);
    return state;
}

static void halving_keeps_the_best(void **unused)
{
    (void)unused;
    const struct rb_tuner *sha = rb_tuner_find("sha");
    const struct rb_job job = job_of("sha", 9, 9);
    struct rb_group g;
    void *state = create(sha, &job);
    expect_group(sha, state, "stage 0, 0-1: 0 1 2 3 4 5 6 7 8");
    assert_int_equal(sha->next(state, &g), RB_TUNER_WAIT);
    static const double scores[] = {0.1, 0.9, 0.5, 0.9, 0.2, 0.9, 0.3, 0.95, 0.0};
    for (int i = 8; i >= 0; i--) // results come in any order
        sha->told(state, i, 1, scores[i]);
    expect_group(sha, state, "stage 1, 1-3: 1 3 7"); // 0.9 three times: the lower ids stay
    sha->told(state, 7, 3, 0.1);
    sha->told(state, 3, 3, 0.2);
    assert_int_equal(sha->next(state, &g), RB_TUNER_WAIT);
    sha->told(state, 1, 3, 0.2);
    expect_group(sha, state, "stage 2, 3-9: 1");
    sha->told(state, 1, 9, 0.3);
    assert_int_equal(sha->next(state, &g), RB_TUNER_DONE);
    sha->destroy(state);
}

static void the_failed_are_never_promoted(void **unused)
{
    (void)unused;
    const struct rb_tuner *sha = rb_tuner_find("sha");
    const struct rb_job job = job_of("sha", 9, 9);
    struct rb_group g;
    void *state = create(sha, &job);
    expect_group(sha, state, "stage 0, 0-1: 0 1 2 3 4 5 6 7 8");
    for (int i = 0; i < 9; i++)
        sha->told(state, i, 1, i == 4 || i == 6 ? 0.5 : -INFINITY);
    expect_group(sha, state, "stage 1, 1-3: 4 6"); // three places, two left standing
    sha->told(state, 4, 2, -INFINITY);
    sha->told(state, 6, 2, -INFINITY);
    assert_int_equal(sha->next(state, &g), RB_TUNER_DONE);
    sha->destroy(state);
}

static void random_trains_everybody_once(void **unused)
{
    (void)unused;
    const struct rb_tuner *random = rb_tuner_find("random");
    const struct rb_job job = job_of("random", 3, 20);
    struct rb_group g;
    void *state = create(random, &job);
    expect_group(random, state, "stage 0, 0-20: 0 1 2");
    for (int i = 0; i < 3; i++)
        random->told(state, i, 20, 0);
    assert_int_equal(random->next(state, &g), RB_TUNER_DONE);
    random->destroy(state);
}

static void scores_rank_higher_first(void **unused)
{
    (void)unused;
    assert_true(rb_score(RB_GOAL_MAXIMIZE, 0.5) > rb_score(RB_GOAL_MAXIMIZE, 0.4));
    assert_true(rb_score(RB_GOAL_MINIMIZE, 0.5) < rb_score(RB_GOAL_MINIMIZE, 0.4));
    static const double worst[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < N_OF(worst); i++) {
        assert_true(rb_score(RB_GOAL_MAXIMIZE, worst[i]) == -INFINITY);
        assert_true(rb_score(RB_GOAL_MINIMIZE, worst[i]) == -INFINITY);
    }
    assert_true(rb_score_compare(2, 9, 1, 0) < 0);
    assert_true(rb_score_compare(1, 0, 2, 9) > 0);
    assert_true(rb_score_compare(1, 3, 1, 4) < 0);
    assert_true(rb_score_compare(-INFINITY, 3, -INFINITY, 4) < 0);
    assert_int_equal(rb_score_compare(1, 3, 1, 3), 0);
}

static void tuners_are_sorted_and_found(void **unused)
{
    (void)unused;
    for (int i = 0; rb_tuners[i]; i++) {
        assert_true(i == 0 || strcmp(rb_tuners[i - 1]->name, rb_tuners[i]->name) < 0);
        assert_ptr_equal(rb_tuner_find(rb_tuners[i]->name), rb_tuners[i]);
    }
    assert_null(rb_tuner_find("pbt"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(halving_keeps_the_best),       cmocka_unit_test(the_failed_are_never_promoted),
        cmocka_unit_test(random_trains_everybody_once), cmocka_unit_test(scores_rank_higher_first),
        cmocka_unit_test(tuners_are_sorted_and_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
