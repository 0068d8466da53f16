// Earlier runs: their best configurations come first, their results count with less and less weight, and are dropped
// once this run contradicts them.
#include "toy.h"

#include "samplers/recall.h"

#define N_EARLIER 60

static struct rb_value values[N_EARLIER][4];

static int compare_scores(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

// sign -1: an earlier run of the opposite function.
static void make_earlier(const struct toy *t, double sign, struct rb_earlier_result *out)
{
    double scores[N_EARLIER], sorted[N_EARLIER];
    for (int i = 0; i < N_EARLIER; i++) {
        rb_space_sample(&t->job.space, 77, (uint32_t)i, values[i]);
        sorted[i] = scores[i] = sign * toy_score(&t->job.space, values[i], 1);
    }
    qsort(sorted, N_EARLIER, sizeof *sorted, compare_scores);
    for (int i = 0; i < N_EARLIER; i++) {
        int rank = 0;
        while (sorted[rank] < scores[i])
            rank++;
        out[i] = (struct rb_earlier_result){
            .values = values[i], .resource = 1, .quantile = (rank + 0.5) / N_EARLIER, .unit_s = NAN, .age = i % 3};
    }
}

static void the_best_of_earlier_runs_come_first(void **state)
{
    (void)state;
    struct toy t;
    struct rb_earlier_result earlier[N_EARLIER];
    struct rb_suggestion s;
    toy_open(&t, toy_parameters, "tpe", 1);
    make_earlier(&t, 1, earlier);
    earlier[5].resource = earlier[6].resource = 9; // further than all others
    earlier[5].quantile = 0.2;
    earlier[6].quantile = 0.9;
    int best = 0;
    for (int i = 0; i < N_EARLIER; i++)
        if (earlier[i].resource == 1 && earlier[i].quantile > earlier[best].quantile)
            best = i;
    rb_search_recall(t.search, earlier, N_EARLIER);
    const int expected[] = {6, 5, best};
    for (int i = 0; i < 3; i++) {
        toy_suggest(&t, i, &t.arena, &s);
        assert_string_equal(s.origin, "earlier run");
        for (int j = 0; j < 3; j++)
            assert_true(rb_value_equal(&s.values[j], &values[expected[i]][j]));
    }
    toy_suggest(&t, 3, &t.arena, &s);
    assert_string_not_equal(s.origin, "earlier run");
    toy_close(&t);
}

static void weights_halve_with_each_older_run_and_are_limited(void **state)
{
    (void)state;
    struct toy t;
    struct rb_earlier_result earlier[N_EARLIER];
    double sum = 0, newest = 0, oldest = 1;
    toy_open(&t, toy_parameters, "tpe", 1);
    make_earlier(&t, 1, earlier);
    rb_search_recall(t.search, earlier, N_EARLIER);
    const struct rb_history *h = rb_search_history(t.search);
    for (int i = 0; i < h->n_recalled; i++) {
        sum += h->recalled[i].weight;
        newest = fmax(newest, h->recalled[i].weight);
        oldest = fmin(oldest, h->recalled[i].weight);
    }
    assert_near(sum, 25, 1e-12);
    assert_near(newest / oldest, 4, 1e-12);
    toy_close(&t);
}

// By hand: scores 3, 1, 1, 7 at the first level, 2 and 2 at the next.
static void what_a_run_leaves_are_ranks_at_each_level(void **state)
{
    (void)state;
    static const int64_t levels[] = {1, 3};
    static const double scores[] = {3, 1, 1, 7};
    static const double expected[] = {0.625, 0.25, 0.25, 0.875, 0.5, 0.5};
    struct rb_history h;
    double u[1] = {0.5}, out[6];
    rb_history_init(&h, 1, levels, 2);
    for (int i = 0; i < 4; i++)
        rb_history_report(&h, rb_history_begin(&h, i, u, 1), 1, scores[i]);
    rb_history_report(&h, 0, 3, 2);
    rb_history_report(&h, 3, 3, 2);
    assert_int_equal(h.n_results, 6);
    rb_recall_quantiles(&h, out);
    for (int i = 0; i < 6; i++)
        assert_near(out[i], expected[i], 1e-12);
    rb_history_finish(&h);
}

// A sampler that has no use for them begins as it would without.
static void samplers_that_do_not_recall_ignore_them(void **state)
{
    (void)state;
    struct toy t;
    struct rb_earlier_result earlier[N_EARLIER];
    struct rb_suggestion s;
    toy_open(&t, toy_parameters, "random", 1);
    make_earlier(&t, 1, earlier);
    rb_search_recall(t.search, earlier, N_EARLIER);
    toy_suggest(&t, 0, &t.arena, &s);
    assert_string_equal(s.origin, "random");
    toy_close(&t);
}

static int recalled_after(double sign, int n_trials)
{
    struct toy t;
    struct rb_earlier_result earlier[N_EARLIER];
    struct rb_value v[4];
    toy_open(&t, toy_parameters, "tpe", 1);
    make_earlier(&t, sign, earlier);
    rb_search_recall(t.search, earlier, N_EARLIER);
    for (int i = 0; i < n_trials; i++) {
        rb_space_sample(&t.job.space, 5, (uint32_t)i, v);
        toy_train(&t, i, v);
    }
    const int n = rb_search_history(t.search)->n_recalled;
    toy_close(&t);
    return n;
}

static void results_that_are_contradicted_are_dropped(void **state)
{
    (void)state;
    assert_int_equal(recalled_after(1, 40), N_EARLIER);
    assert_int_equal(recalled_after(-1, 19), N_EARLIER);
    assert_int_equal(recalled_after(-1, 20), 0);
}

// A search that knows an earlier one needs fewer trials; one that knows the opposite is hardly behind.
static double mean_best(const char *sampler, double sign, int n_trials)
{
    double sum = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct toy t;
        struct rb_arena arena;
        struct rb_earlier_result earlier[N_EARLIER];
        struct rb_suggestion s;
        double best = -INFINITY;
        rb_arena_init(&arena);
        toy_open(&t, toy_parameters, sampler, seed);
        make_earlier(&t, sign, earlier);
        if (sign < 0 || sign > 0)
            rb_search_recall(t.search, earlier, N_EARLIER);
        for (int i = 0; i < n_trials; i++)
            best = fmax(best, toy_train(&t, i, toy_suggest(&t, i, &arena, &s)));
        sum += best / 20;
        toy_close(&t);
        rb_arena_finish(&arena);
    }
    return sum;
}

static void what_was_learned_before_helps(void **state)
{
    (void)state;
    static const char *const samplers[] = {"gp", "tpe"};
    for (size_t i = 0; i < N_OF(samplers); i++) {
        const double cold = mean_best(samplers[i], 0, 20), warm = mean_best(samplers[i], 1, 20);
        if (!(warm > 0.7 * cold))
            fail_msg("%s: %g with an earlier run, %g without", samplers[i], warm, cold);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_of_earlier_runs_come_first),
        cmocka_unit_test(weights_halve_with_each_older_run_and_are_limited),
        cmocka_unit_test(what_a_run_leaves_are_ranks_at_each_level),
        cmocka_unit_test(samplers_that_do_not_recall_ignore_them),
        cmocka_unit_test(results_that_are_contradicted_are_dropped),
        cmocka_unit_test(what_was_learned_before_helps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
