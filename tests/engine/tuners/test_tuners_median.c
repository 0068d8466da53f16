// Median stopping: known answers, and every verdict of random searches against medians by sorting.
#include "engine/core/tuner.h"

#include "base/stream.h"
#include "check.h"

#include <math.h>
#include <stdlib.h>

enum { N_TRIALS = 40, R = 20 };

static struct rb_setting option(const char *key, enum rb_node_kind kind, double number, const char *text)
{
    return (struct rb_setting){.key = key, .kind = kind, .number = number, .text = text, .path = key};
}

static struct rb_job median_job(const struct rb_setting *options, int n)
{
    return (struct rb_job){.scheduler = {.type = "median",
                                         .num_trials = N_TRIALS,
                                         .min_resource = 1,
                                         .max_resource = R,
                                         .eta = 3,
                                         .brackets = 1,
                                         .options = {.items = options, .n = n}}};
}

static void *create(const struct rb_job *job)
{
    void *state;
    struct rb_err err;
    if (!rb_tuner_find("median")->create(job, &state, &err))
        fail_msg("%s", err.message);
    return state;
}

static int start(void *state)
{
    struct rb_group g;
    assert_int_equal(rb_tuner_find("median")->next(state, &g), RB_TUNER_GROUP);
    assert_int_equal(g.n_trials, 1);
    assert_int_equal(g.resource_end, R);
    return g.trials[0];
}

// Trial t scores by lines: its best so far counts, and the averages of the others.
static void the_best_so_far_is_compared_with_averages(void **unused)
{
    (void)unused;
    const struct rb_tuner *median = rb_tuner_find("median");
    const struct rb_setting three[] = {option("results", RB_NODE_INT, 3, "3")};
    const struct rb_job job = median_job(three, 1);
    void *state = create(&job);
    for (int t = 0; t < 3; t++) {
        assert_int_equal(start(state), t);
        for (int r = 1; r <= 2; r++) // averages at 2: 1.5, 2.5, 3.5
            assert_int_equal(median->reported(state, t, r, t + r), RB_VERDICT_CONTINUE);
    }
    assert_int_equal(start(state), 3);
    assert_int_equal(median->reported(state, 3, 1, 2.6), RB_VERDICT_CONTINUE); // the median is 2
    assert_int_equal(median->reported(state, 3, 2, 0), RB_VERDICT_CONTINUE);   // 2.6 is its best, the median 2.5
    assert_int_equal(start(state), 4);
    assert_int_equal(median->reported(state, 4, 1, 2.2), RB_VERDICT_STOP); // averages 1, 2, 2.6, 3: 2.3
    median->destroy(state);
}

static void values_are_compared_if_the_job_says_so(void **unused)
{
    (void)unused;
    const struct rb_tuner *median = rb_tuner_find("median");
    const struct rb_setting values[] = {option("results", RB_NODE_INT, 1, "1"),
                                        option("compare", RB_NODE_STRING, 0, "values")};
    const struct rb_job job = median_job(values, 2);
    void *state = create(&job);
    assert_int_equal(start(state), 0);
    assert_int_equal(median->reported(state, 0, 1, 0), RB_VERDICT_CONTINUE);
    assert_int_equal(median->reported(state, 0, 2, 4), RB_VERDICT_CONTINUE);
    assert_int_equal(start(state), 1);
    assert_int_equal(median->reported(state, 1, 1, 3), RB_VERDICT_CONTINUE);
    assert_int_equal(median->reported(state, 1, 2, 3), RB_VERDICT_STOP); // 3 < 4; the average of the other is 2
    median->destroy(state);
}

static void its_keys_are_checked(void **unused)
{
    (void)unused;
    const struct rb_setting wrong[] = {option("results", RB_NODE_INT, 0, "0")};
    const struct rb_setting unknown[] = {option("result", RB_NODE_INT, 3, "3")};
    struct rb_job job = median_job(wrong, 1);
    struct rb_rung_table rungs;
    struct rb_err err;
    assert_false(rb_rungs_of_job(&job, &rungs, &err));
    assert_int_equal(err.number, RB_E_OUT_OF_RANGE);
    job = median_job(unknown, 1);
    assert_false(rb_rungs_of_job(&job, &rungs, &err));
    assert_non_null(strstr(err.message, "did you mean results?"));
}

// ---- against medians by sorting

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct shadow {
    int reached;
    double scores[R + 1];
    bool stopped;
};

static double average(const struct shadow *s, int r)
{
    double sum = 0;
    for (int i = 1; i <= r; i++)
        sum += s->scores[i];
    return sum / r;
}

static bool must_stop(const struct shadow *shadows, int trial, int r)
{
    double others[N_TRIALS], best = -INFINITY;
    int n = 0;
    for (int t = 0; t < N_TRIALS; t++)
        if (t != trial && shadows[t].reached >= r)
            others[n++] = average(&shadows[t], r);
    for (int i = 1; i <= r; i++)
        best = fmax(best, shadows[trial].scores[i]);
    if (n < 5)
        return false;
    qsort(others, (size_t)n, sizeof *others, compare);
    return best < (others[(n - 1) / 2] + others[n / 2]) / 2;
}

static void verdicts_equal_those_by_sorting(void **unused)
{
    (void)unused;
    const struct rb_tuner *median = rb_tuner_find("median");
    int stops = 0, goes_on = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct rb_stream random;
        struct shadow shadows[N_TRIALS] = {0};
        const struct rb_job job = median_job(NULL, 0);
        void *state = create(&job);
        rb_stream_init(&random, &(struct rb_stream_key){.seed = seed, .purpose = RB_DRAW_SEARCH});
        for (int t = 0; t < N_TRIALS; t++)
            assert_int_equal(start(state), t);
        for (int step = 0; step < N_TRIALS * R; step++) {
            const int t = (int)rb_stream_below(&random, N_TRIALS);
            struct shadow *s = &shadows[t];
            if (s->stopped || s->reached == R - 1)
                continue;
            const int r = ++s->reached;
            s->scores[r] = floor(8 * rb_stream_uniform(&random)) + t / 8; // ties too
            s->stopped = must_stop(shadows, t, r);
            assert_int_equal(median->reported(state, t, r, s->scores[r]),
                             s->stopped ? RB_VERDICT_STOP : RB_VERDICT_CONTINUE);
            stops += s->stopped;
            goes_on += !s->stopped;
        }
        median->destroy(state);
    }
    assert_true(stops > 100 && goes_on > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_so_far_is_compared_with_averages),
        cmocka_unit_test(values_are_compared_if_the_job_says_so),
        cmocka_unit_test(its_keys_are_checked),
        cmocka_unit_test(verdicts_equal_those_by_sorting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
