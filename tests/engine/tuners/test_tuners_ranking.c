// The order of results at a rung, against sorting them.
#include "engine/tuners/ranking.h"

#include "base/stream.h"

#include "check.h"

#include <math.h>
#include <stdlib.h>

#define N 400

static int best_first(const void *pa, const void *pb)
{
    const struct rb_scored *a = pa, *b = pb;
    return rb_score_compare(a->score, a->trial, b->score, b->trial);
}

// Few values, so that many are equal, and some that are worst of all.
static void any_results(struct rb_stream *s, struct rb_scored *out, int n)
{
    for (int i = 0; i < n; i++) {
        const int value = (int)rb_stream_below(s, 12);
        out[i] = (struct rb_scored){value ? value / 2.0 : -INFINITY, i};
    }
    for (int i = n - 1; i > 0; i--) {
        const int k = (int)rb_stream_below(s, (uint64_t)i + 1);
        const struct rb_scored swapped = out[i];
        out[i] = out[k];
        out[k] = swapped;
    }
}

static void a_heap_gives_them_in_order(void **state)
{
    (void)state;
    struct rb_stream s;
    rb_stream_init(&s, &(struct rb_stream_key){.seed = 1, .purpose = RB_DRAW_SEARCH});
    for (int round = 0; round < 60; round++) {
        struct rb_scored all[N];
        struct rb_score_heap best = {0}, worst = {.worst_first = true};
        const int n = (int)rb_stream_below(&s, N);
        any_results(&s, all, n);
        for (int i = 0; i < n; i++) {
            rb_score_heap_push(&best, all[i]);
            rb_score_heap_push(&worst, all[i]);
        }
        qsort(all, (size_t)n, sizeof *all, best_first);
        for (int i = 0; i < n; i++) {
            assert_int_equal(best.items[0].trial, all[i].trial);
            assert_int_equal(rb_score_heap_pop(&best).trial, all[i].trial);
            assert_int_equal(rb_score_heap_pop(&worst).trial, all[n - 1 - i].trial);
        }
        assert_int_equal(best.n, 0);
        rb_score_heap_finish(&best);
        rb_score_heap_finish(&worst);
    }
}

// After every result: the best n_best are the first n_best of all so far, sorted.
static void check_best(const struct rb_ranking *r, const struct rb_scored *so_far, int n, int n_best)
{
    struct rb_scored sorted[N];
    memcpy(sorted, so_far, (size_t)n * sizeof *so_far);
    qsort(sorted, (size_t)n, sizeof *sorted, best_first);
    assert_int_equal(rb_ranking_count(r), n);
    for (int i = 0; i < n; i++) {
        assert_int_equal(rb_ranking_has_among_best(r, sorted[i]), i < n_best);
        assert_int_equal(rb_ranking_reaches_best(r, sorted[i].score),
                         n_best > 0 && sorted[i].score >= sorted[n_best - 1].score);
    }
}

static void a_ranking_knows_the_best(void **state)
{
    (void)state;
    struct rb_stream s;
    rb_stream_init(&s, &(struct rb_stream_key){.seed = 2, .purpose = RB_DRAW_SEARCH});
    for (int eta = 1; eta <= 6; eta++)
        for (int up = 0; up < eta; up++) {
            struct rb_scored all[N / 4];
            struct rb_ranking r;
            rb_ranking_init(&r);
            any_results(&s, all, N / 4);
            for (int n = 1; n <= N / 4; n++) {
                const int n_best = (n + up) / eta;
                rb_ranking_add(&r, all[n - 1], n_best);
                check_best(&r, all, n, n_best);
            }
            rb_ranking_finish(&r);
        }
}

// Some results become the worst there can be while others come; the number of the best stays what it would have been.
static void results_sink(void **state)
{
    (void)state;
    struct rb_stream s;
    rb_stream_init(&s, &(struct rb_stream_key){.seed = 3, .purpose = RB_DRAW_SEARCH});
    for (int eta = 1; eta <= 4; eta++) {
        struct rb_scored all[N / 4];
        struct rb_ranking r;
        rb_ranking_init(&r);
        any_results(&s, all, N / 4);
        for (int n = 1; n <= N / 4; n++) {
            rb_ranking_add(&r, all[n - 1], n / eta);
            if (rb_stream_below(&s, 3) == 0) {
                const int at = (int)rb_stream_below(&s, (uint64_t)n);
                rb_ranking_sink(&r, all[at].trial);
                all[at].score = -INFINITY;
            }
            check_best(&r, all, n, n / eta);
        }
        rb_ranking_finish(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_heap_gives_them_in_order),
        cmocka_unit_test(a_ranking_knows_the_best),
        cmocka_unit_test(results_sink),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
