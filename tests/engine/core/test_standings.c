// Places of trials against sorting them again after every change.
#include "base/stream.h"
#include "engine/core/standings.h"
#include "engine/core/tuner.h"

#include "check.h"

#include <math.h>
#include <stdlib.h>

#define N_TRIALS 200

struct entry {
    double score;
    int trial;
};

static int by_score(const void *pa, const void *pb)
{
    const struct entry *a = pa, *b = pb;
    return rb_score_compare(a->score, a->trial, b->score, b->trial);
}

static void same_places(const struct rb_standings *s, const bool *stands, const double *scores)
{
    struct entry sorted[N_TRIALS];
    int n = 0;
    for (int i = 0; i < N_TRIALS; i++) {
        assert_int_equal(rb_standings_has(s, i), stands[i]);
        if (stands[i])
            sorted[n++] = (struct entry){scores[i], i};
    }
    qsort(sorted, (size_t)n, sizeof sorted[0], by_score);
    assert_int_equal(rb_standings_count(s), n);
    for (int place = 0; place < n; place++) {
        assert_int_equal(rb_standings_at(s, place), sorted[place].trial);
        assert_int_equal(rb_standings_place(s, sorted[place].trial), place);
    }
}

// Few different scores, so that ties are common; some that have not reported.
static double draw_score(struct rb_stream *s)
{
    const int k = (int)rb_stream_below(s, 12);
    return k == 0 ? -INFINITY : k / 4.0;
}

static void places_are_those_of_a_sorted_list(void **state)
{
    (void)state;
    struct rb_standings s = {0};
    struct rb_stream draws;
    bool stands[N_TRIALS] = {false};
    double scores[N_TRIALS] = {0};
    rb_stream_init(&draws, &(struct rb_stream_key){.seed = 1, .purpose = RB_DRAW_SEARCH});
    assert_int_equal(rb_standings_count(&s), 0);
    rb_standings_remove(&s, 3); // no one stands
    for (int step = 0; step < 3000; step++) {
        const int trial = (int)rb_stream_below(&draws, N_TRIALS);
        rb_standings_remove(&s, trial);
        stands[trial] = rb_stream_below(&draws, 3) > 0;
        scores[trial] = draw_score(&draws);
        if (stands[trial])
            rb_standings_add(&s, trial, scores[trial]);
        if (step % 10 == 0)
            same_places(&s, stands, scores);
    }
    rb_standings_finish(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(places_are_those_of_a_sorted_list)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
