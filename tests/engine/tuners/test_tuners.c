// Tuners one by one: whom they hand out, in which order, and what they make of ties, failures and diverged trials.
#include "engine/core/tuner.h"

#include "check.h"
#include "profiles/job/job_scheduler.h"

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
        sha->ended(state, i, 1, scores[i]);
    expect_group(sha, state, "stage 1, 1-3: 1 3 7"); // 0.9 three times: the lower ids stay
    sha->ended(state, 7, 3, 0.1);
    sha->ended(state, 3, 3, 0.2);
    assert_int_equal(sha->next(state, &g), RB_TUNER_WAIT);
    sha->ended(state, 1, 3, 0.2);
    expect_group(sha, state, "stage 2, 3-9: 1");
    sha->ended(state, 1, 9, 0.3);
    assert_int_equal(sha->next(state, &g), RB_TUNER_DONE);
    sha->destroy(state);
}

static void expect_dropped(const struct rb_group *g, const char *expected)
{
    char text[256] = "";
    size_t at = 0;
    for (int i = 0; i < g->n_dropped; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, " %d", g->dropped[i]);
    assert_string_equal(text, expected);
}

static void who_is_not_promoted_is_dropped(void **unused)
{
    (void)unused;
    const struct rb_tuner *sha = rb_tuner_find("sha");
    const struct rb_job job = job_of("sha", 6, 9);
    struct rb_group g;
    void *state = create(sha, &job);
    assert_int_equal(sha->phase(state), 0);
    assert_int_equal(sha->next(state, &g), RB_TUNER_GROUP);
    expect_dropped(&g, "");
    for (int i = 0; i < 6; i++)
        sha->ended(state, i, 1, i == 5 ? -INFINITY : i);
    assert_int_equal(sha->phase(state), 0);
    assert_int_equal(sha->next(state, &g), RB_TUNER_GROUP);
    expect_dropped(&g, " 2 1 0 5");
    assert_int_equal(sha->phase(state), 1);
    sha->destroy(state);
}

// Every trial scores its number, so that the last of a bracket win.
static void score_by_number(const struct rb_tuner *tuner, void *state, int first, int last, int64_t resource)
{
    for (int i = first; i <= last; i++)
        tuner->ended(state, i, resource, i);
}

static struct rb_job hyperband_job(enum rb_brackets_run run)
{
    struct rb_job job = job_of("hyperband", 0, 9);
    job.scheduler.brackets = 3;
    job.scheduler.brackets_run = run;
    return job;
}

static void brackets_run_in_turn(void **unused)
{
    (void)unused;
    const struct rb_tuner *hyperband = rb_tuner_find("hyperband");
    const struct rb_job job = hyperband_job(RB_BRACKETS_IN_TURN);
    struct rb_group g;
    void *state = create(hyperband, &job);
    expect_group(hyperband, state, "stage 0, 0-1: 0 1 2 3 4 5 6 7 8");
    assert_int_equal(hyperband->next(state, &g), RB_TUNER_WAIT);
    score_by_number(hyperband, state, 0, 8, 1);
    expect_group(hyperband, state, "stage 1, 1-3: 6 7 8");
    score_by_number(hyperband, state, 6, 8, 3);
    expect_group(hyperband, state, "stage 2, 3-9: 8");
    assert_int_equal(hyperband->phase(state), 2);
    hyperband->ended(state, 8, 9, 0);
    expect_group(hyperband, state, "stage 3, 0-3: 9 10 11 12 13");
    assert_int_equal(hyperband->phase(state), 3);
    for (int i = 9; i <= 13; i++)
        hyperband->ended(state, i, 2, -INFINITY); // all of them fail: on to the next bracket
    expect_group(hyperband, state, "stage 5, 0-9: 14 15 16");
    assert_int_equal(hyperband->phase(state), 5);
    score_by_number(hyperband, state, 14, 16, 9);
    assert_int_equal(hyperband->next(state, &g), RB_TUNER_DONE);
    hyperband->destroy(state);
}

static void brackets_run_side_by_side(void **unused)
{
    (void)unused;
    const struct rb_tuner *hyperband = rb_tuner_find("hyperband");
    const struct rb_job job = hyperband_job(RB_BRACKETS_SIDE_BY_SIDE);
    struct rb_group g;
    void *state = create(hyperband, &job);
    expect_group(hyperband, state, "stage 0, 0-1: 0 1 2 3 4 5 6 7 8");
    expect_group(hyperband, state, "stage 1, 0-3: 9 10 11 12 13");
    expect_group(hyperband, state, "stage 2, 0-9: 14 15 16");
    assert_int_equal(hyperband->next(state, &g), RB_TUNER_WAIT);
    score_by_number(hyperband, state, 9, 13, 3);
    expect_group(hyperband, state, "stage 2, 3-9: 13");
    assert_int_equal(hyperband->phase(state), 0);
    score_by_number(hyperband, state, 0, 8, 1);
    expect_group(hyperband, state, "stage 1, 1-3: 6 7 8");
    assert_int_equal(hyperband->phase(state), 1);
    score_by_number(hyperband, state, 13, 16, 9);
    assert_int_equal(hyperband->next(state, &g), RB_TUNER_WAIT);
    assert_int_equal(hyperband->phase(state), 1);
    score_by_number(hyperband, state, 6, 8, 3);
    expect_group(hyperband, state, "stage 2, 3-9: 8");
    hyperband->ended(state, 8, 9, 0);
    assert_int_equal(hyperband->next(state, &g), RB_TUNER_DONE);
    assert_int_equal(hyperband->phase(state), 2);
    hyperband->destroy(state);
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
        sha->ended(state, i, 1, i == 4 || i == 6 ? 0.5 : -INFINITY);
    expect_group(sha, state, "stage 1, 1-3: 4 6"); // three places, two left standing
    sha->ended(state, 4, 2, -INFINITY);
    sha->ended(state, 6, 2, -INFINITY);
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
        random->ended(state, i, 20, 0);
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
    assert_null(rb_tuner_find("pb"));
}

// The names that a job may have are kept where jobs are read, which knows no tuner.
static void jobs_may_name_every_tuner_and_no_other(void **unused)
{
    (void)unused;
    int n_names = 0, n_tuners = 0;
    for (; rb_scheduler_kinds[n_names].name; n_names++)
        assert_non_null(rb_tuner_find(rb_scheduler_kinds[n_names].name));
    while (rb_tuners[n_tuners])
        n_tuners++;
    assert_int_equal(n_names, n_tuners);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(halving_keeps_the_best),
        cmocka_unit_test(who_is_not_promoted_is_dropped),
        cmocka_unit_test(the_failed_are_never_promoted),
        cmocka_unit_test(brackets_run_in_turn),
        cmocka_unit_test(brackets_run_side_by_side),
        cmocka_unit_test(random_trains_everybody_once),
        cmocka_unit_test(scores_rank_higher_first),
        cmocka_unit_test(tuners_are_sorted_and_found),
        cmocka_unit_test(jobs_may_name_every_tuner_and_no_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
