// The rung rule against tables worked out by hand, against the closed forms where R/r is a power of eta, and for jobs.
#include "engine/core/rungs.h"

#include "check.h"

#include <math.h>
#include <stdio.h>

struct table_case {
    int n;
    int64_t r, R;
    int eta;
    enum rb_rungs convention;
    const char *rungs; // trials:start-end of each
};

static void print_table(const struct rb_rung_table *t, char *out, size_t size)
{
    size_t at = 0;
    out[0] = '\0';
    for (int i = 0; i < t->n; i++)
        at += (size_t)snprintf(out + at, size - at, "%s%d:%lld-%lld", i ? " " : "", t->rungs[i].trials,
                               (long long)t->rungs[i].resource_start, (long long)t->rungs[i].resource_end);
}

static void tables_by_hand(void **state)
{
    (void)state;
    static const struct table_case cases[] = {
        {64, 1, 50, 3, RB_RUNGS_CUMULATIVE, "64:0-1 21:1-3 7:3-9 2:9-50"}, // the design's example
        {81, 1, 81, 3, RB_RUNGS_CUMULATIVE, "81:0-1 27:1-3 9:3-9 3:9-27 1:27-81"},
        {34, 3, 81, 3, RB_RUNGS_CUMULATIVE, "34:0-3 11:3-9 3:9-27 1:27-81"}, // the other brackets of R = 81, eta = 3
        {15, 9, 81, 3, RB_RUNGS_CUMULATIVE, "15:0-9 5:9-27 1:27-81"},
        {8, 27, 81, 3, RB_RUNGS_CUMULATIVE, "8:0-27 2:27-81"},
        {5, 81, 81, 3, RB_RUNGS_CUMULATIVE, "5:0-81"},
        {256, 1, 256, 4, RB_RUNGS_CUMULATIVE, "256:0-1 64:1-4 16:4-16 4:16-64 1:64-256"},
        {64, 4, 256, 4, RB_RUNGS_CUMULATIVE, "64:0-4 16:4-16 4:16-64 1:64-256"},
        {1, 1, 1, 2, RB_RUNGS_CUMULATIVE, "1:0-1"},
        {1, 1, 50, 3, RB_RUNGS_CUMULATIVE, "1:0-1 1:1-50"}, // 0 trials are 1, and that rung is the last
        {2, 1, 100, 3, RB_RUNGS_CUMULATIVE, "2:0-1 1:1-100"},
        {5, 1, 1000, 2, RB_RUNGS_CUMULATIVE, "5:0-1 2:1-2 1:2-4 1:4-1000"},
        {64, 1, 2, 3, RB_RUNGS_CUMULATIVE, "64:0-2"}, // the only rung ends at R
        {32, 4, 508, 2, RB_RUNGS_ADDITIONAL, "32:0-4 16:4-12 8:12-28 4:28-60 2:60-124 1:124-252 1:252-508"},
        {81, 1, 81, 3, RB_RUNGS_ADDITIONAL, "81:0-1 27:1-4 9:4-13 3:13-40 1:40-81"},
        {64, 1, 50, 3, RB_RUNGS_ADDITIONAL, "64:0-1 21:1-4 7:4-13 2:13-50"},
        {3, 1, 50, 3, RB_RUNGS_ADDITIONAL, "3:0-1 1:1-4 1:4-50"},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct rb_rung_table t;
        char text[512];
        rb_rungs_sha(cases[i].n, cases[i].r, cases[i].R, cases[i].eta, cases[i].convention, &t);
        print_table(&t, text, sizeof text);
        assert_string_equal(text, cases[i].rungs);
    }
}

// R = r eta^k, n = eta^k: k + 1 rungs, n eta^-i trials to r eta^i, and every rung costs n r (cumulative budgets).
static void powers_follow_the_closed_form(void **state)
{
    (void)state;
    for (int eta = 2; eta <= 7; eta++) {
        int64_t power = 1;
        for (int k = 0; k <= 5; k++, power *= eta) {
            struct rb_rung_table t;
            rb_rungs_sha((int)power, 3, 3 * power, eta, RB_RUNGS_CUMULATIVE, &t);
            assert_int_equal(t.n, k + 1);
            for (int i = 0; i < t.n; i++)
                assert_int_equal(t.rungs[i].trials * t.rungs[i].resource_end, 3 * power);
        }
    }
}

// Whatever the numbers: starts meet ends, resource rises, trials never grow, the last rung ends at R, nothing overflows.
static void any_table_is_sound(void **state)
{
    (void)state;
    static const int64_t resources[] = {1, 2, 3, 7, 50, 81, 1000, 1000000, INT64_C(1) << 40, INT64_MAX};
    for (size_t a = 0; a < N_OF(resources); a++)
        for (size_t b = a; b < N_OF(resources); b++)
            for (int eta = 2; eta < 70; eta += 1 + eta / 4)
                for (int n = 1; n < 140000; n = 3 * n + 1)
                    for (int convention = 0; convention < 2; convention++) {
                        struct rb_rung_table t;
                        rb_rungs_sha(n, resources[a], resources[b], eta, (enum rb_rungs)convention, &t);
                        assert_true(t.n >= 1 && t.n <= RB_LIMIT_STAGES);
                        assert_int_equal(t.rungs[0].trials, n);
                        assert_true(t.rungs[t.n - 1].resource_end == resources[b]);
                        for (int i = 0; i < t.n; i++) {
                            assert_true(t.rungs[i].resource_start == (i ? t.rungs[i - 1].resource_end : 0));
                            assert_true(t.rungs[i].resource_end > t.rungs[i].resource_start);
                            assert_true(t.rungs[i].trials >= 1);
                            assert_true(i == 0 || t.rungs[i].trials <= t.rungs[i - 1].trials);
                        }
                    }
}

static struct rb_job job_of(const char *type, int num_trials)
{
    return (struct rb_job){
        .scheduler = {
            .type = type, .num_trials = num_trials, .min_resource = 1, .max_resource = 50, .eta = 3, .brackets = 1}};
}

static void random_and_grid_are_one_stage(void **state)
{
    (void)state;
    static const struct rb_value values[] = {{.kind = RB_VALUE_INT, .integer = 1},
                                             {.kind = RB_VALUE_INT, .integer = 2}};
    static const struct rb_param params[] = {
        {.name = "a", .kind = RB_PARAM_CHOICE, .values = values, .n_values = 2},
        {.name = "b", .kind = RB_PARAM_INT_UNIFORM, .min = 1, .max = 5, .q = 1},
    };
    static const struct {
        const char *type;
        int num_trials, expected;
    } cases[] = {{"random", 7, 7}, {"grid", 0, 10}, {"grid", 4, 4}, {"grid", 40, 10}};
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct rb_job job = job_of(cases[i].type, cases[i].num_trials);
        struct rb_rung_table t;
        struct rb_err err;
        job.space = (struct rb_space){params, 2};
        if (!rb_rungs_of_job(&job, &t, &err))
            fail_msg("%s", err.message);
        assert_int_equal(t.n, 1);
        assert_int_equal(t.rungs[0].trials, cases[i].expected);
        assert_int_equal(t.rungs[0].resource_end, 50);
    }
}

// ---- several brackets

static struct rb_job brackets_job(const char *type, int64_t r, int64_t R, int eta, int brackets)
{
    return (struct rb_job){
        .scheduler = {.type = type, .min_resource = r, .max_resource = R, .eta = eta, .brackets = brackets}};
}

static void expect_rungs(const struct rb_job *job, const char *expected)
{
    struct rb_rung_table t;
    struct rb_err err;
    char text[1024];
    if (!rb_rungs_of_job(job, &t, &err))
        fail_msg("%s", err.message);
    print_table(&t, text, sizeof text);
    assert_string_equal(text, expected);
}

static void hyperbands_brackets_as_published(void **state)
{
    (void)state;
    // Li et al., "Hyperband", JMLR 18, algorithm 1 with R = 81, eta = 3.
    struct rb_job job = brackets_job("hyperband", 1, 81, 3, 5);
    expect_rungs(&job, "81:0-1 27:1-3 9:3-9 3:9-27 1:27-81 34:0-3 11:3-9 3:9-27 1:27-81 15:0-9 5:9-27 1:27-81 8:0-27 "
                       "2:27-81 5:0-81");
    job.scheduler.brackets_run = RB_BRACKETS_SIDE_BY_SIDE;
    expect_rungs(&job, "81:0-1 61:1-3 35:3-9 19:9-27 10:27-81");
    job.scheduler.brackets = 2;
    expect_rungs(&job, "81:0-1 61:1-3 20:3-9 6:9-27 2:27-81");
    // R = 256, eta = 4: the setting of ASHA's simulated study.
    job = brackets_job("hyperband", 1, 256, 4, 5);
    expect_rungs(&job,
                 "256:0-1 64:1-4 16:4-16 4:16-64 1:64-256 80:0-4 20:4-16 5:16-64 1:64-256 27:0-16 6:16-64 1:64-256 "
                 "10:0-64 2:64-256 5:0-256");
    // mlr3hyperband's manual prints the run of R = 8, eta = 2.
    job = brackets_job("hyperband", 1, 8, 2, 4);
    expect_rungs(&job, "8:0-1 4:1-2 2:2-4 1:4-8 6:0-2 3:2-4 1:4-8 4:0-4 2:4-8 4:0-8");
    job = brackets_job("hyperband", 3, 20, 2, 3); // the last rung of every bracket ends at R
    expect_rungs(&job, "4:0-3 2:3-6 1:6-20 3:0-6 1:6-20 3:0-20");
    job.scheduler.rungs = RB_RUNGS_ADDITIONAL;
    expect_rungs(&job, "4:0-3 2:3-9 1:9-20 3:0-6 1:6-20 3:0-20");
    job = brackets_job("hyperband", 7, 13, 2, 1);
    expect_rungs(&job, "1:0-13");
}

// R = r eta^K: bracket s has K's n_s trials, every rung of it floor(n_s eta^-i) at R eta^(i-s), and s + 1 rungs.
static void brackets_follow_the_closed_form(void **state)
{
    (void)state;
    for (int eta = 2; eta <= 5; eta++)
        for (int K = 0; K <= 5; K++) {
            int64_t power[8] = {1};
            for (int i = 1; i < 8; i++)
                power[i] = power[i - 1] * eta;
            const struct rb_job job = brackets_job("hyperband", 2, 2 * power[K], eta, K + 1);
            struct rb_rung_table t;
            int at = 0;
            assert_true(rb_rungs_of_job(&job, &t, NULL));
            for (int s = K; s >= 0; s--) {
                const int64_t n = (int64_t)ceil((double)(K + 1) / (s + 1) * (double)power[s] - 1e-9);
                for (int i = 0; i <= s; i++, at++) {
                    assert_int_equal(t.rungs[at].trials, n / power[i]);
                    assert_int_equal(t.rungs[at].resource_end, 2 * power[K] / power[s - i]);
                    assert_int_equal(t.rungs[at].resource_start, i ? t.rungs[at - 1].resource_end : 0);
                }
            }
            assert_int_equal(t.n, at);
        }
}

static void ashas_levels(void **state)
{
    (void)state;
    struct rb_job job = brackets_job("asha", 1, 50, 3, 1);
    job.scheduler.num_trials = 64;
    expect_rungs(&job, "64:0-1 21:1-3 7:3-9 2:9-50");
    job.scheduler.num_trials = 4; // somebody may be trained to R all the same
    expect_rungs(&job, "4:0-1 1:1-3 1:3-9 1:9-50");
    job.scheduler.rule = RB_RULE_STOP; // 27 is a milestone on the way
    expect_rungs(&job, "4:0-1 1:1-3 1:3-9 1:9-27 1:27-50");
    job = brackets_job("asha", 1, 81, 3, 5); // as many as Hyperband would start: its own levels
    job.scheduler.num_trials = 143;
    expect_rungs(&job, "81:0-1 61:1-3 35:3-9 19:9-27 10:27-81");
    job.scheduler.rule = RB_RULE_SPECULATE;
    expect_rungs(&job, "81:0-1 61:1-3 35:3-9 19:9-27 10:27-81");
    job = brackets_job("asha", 2, 200, 4, 1); // HyperSched's milestones of its ResNet-50 study: 2, 8, 32, 128
    job.scheduler.num_trials = 144;
    job.scheduler.rule = RB_RULE_SPECULATE;
    expect_rungs(&job, "144:0-2 36:2-8 9:8-32 2:32-128 1:128-200");
}

static void too_many_are_refused(void **state)
{
    (void)state;
    struct rb_rung_table t;
    struct rb_err err;
    struct rb_job job = brackets_job("hyperband", 1, 1 << 10, 2, 11);
    assert_false(rb_rungs_of_job(&job, &t, &err));
    assert_says(&err, "RB1207 more than 64 rungs");
    assert_says(&err, "use brackets: 9, or brackets_run: side_by_side");
    job.scheduler.brackets = 9;
    assert_true(rb_rungs_of_job(&job, &t, &err));
    job.scheduler.brackets = 11;
    job.scheduler.brackets_run = RB_BRACKETS_SIDE_BY_SIDE;
    assert_true(rb_rungs_of_job(&job, &t, &err));
    job = brackets_job("hyperband", 1, 1000000, 2, 20);
    assert_false(rb_rungs_of_job(&job, &t, &err));
    assert_says(&err, "trials, at most 131072");
}

static void what_has_no_stages_is_refused(void **state)
{
    (void)state;
    struct rb_rung_table t;
    struct rb_err err;
    struct rb_job job = job_of("stranger", 10);
    assert_false(rb_rungs_of_job(&job, &t, &err));
    assert_says(&err, "stranger");
    job = job_of("sha", 10);
    job.scheduler.brackets = 2;
    assert_false(rb_rungs_of_job(&job, &t, &err));
    assert_says(&err, "brackets: 2");
    assert_says(&err, "use scheduler.type: hyperband");
    static const struct rb_param continuous = {.name = "lr", .kind = RB_PARAM_UNIFORM, .max = 1};
    job = job_of("grid", 0);
    job.space = (struct rb_space){&continuous, 1};
    assert_false(rb_rungs_of_job(&job, &t, &err));
    assert_says(&err, "lr");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_by_hand),
        cmocka_unit_test(powers_follow_the_closed_form),
        cmocka_unit_test(any_table_is_sound),
        cmocka_unit_test(random_and_grid_are_one_stage),
        cmocka_unit_test(hyperbands_brackets_as_published),
        cmocka_unit_test(brackets_follow_the_closed_form),
        cmocka_unit_test(ashas_levels),
        cmocka_unit_test(too_many_are_refused),
        cmocka_unit_test(what_has_no_stages_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
