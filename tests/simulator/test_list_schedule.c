// The dynamic schedule without sampling, against the schedule played trial by trial, against sums and maxima, and against
// itself at another accuracy.
#include "simulator/list_schedule/list_schedule.h"

#include "base/err.h"
#include "base/stream.h"

// cmocka.h wants these first
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define REPLICATES 40000
#define SIGMAS     5.0 // once in two million; there are some two hundred checks, and seeds are fixed
#define MAX_SLOTS  512

static struct rb_dist dist_of(enum rb_dist_kind kind, double mean, double cv)
{
    struct rb_dist d = {.kind = kind, .mean = mean, .cv = cv};
    struct rb_err err;
    assert_true(rb_dist_prepare(&d, &err));
    return d;
}

// ---- the schedule played trial by trial

// Quantiles of a law on a grid: a draw is one uniform number and one interpolation, and exact in the tails.
struct quantiles {
    struct rb_dist dist;
    double at[4097];
};

static struct quantiles quantiles_of(const struct rb_dist *d)
{
    struct quantiles q = {.dist = *d};
    for (int i = 1; i < 4096; i++)
        q.at[i] = rb_dist_quantile(d, i / 4096.0);
    return q;
}

static double draw(const struct quantiles *q, struct rb_stream *s)
{
    const double u = rb_stream_uniform(s), cell = u * 4096;
    const int i = (int)cell;
    if (i < 16 || i >= 4080)
        return rb_dist_quantile(&q->dist, u);
    return q->at[i] + (cell - i) * (q->at[i + 1] - q->at[i]);
}

static void sift_down(double *heap, int n, double value)
{
    int at = 0;
    for (int child = 1; child < n; child = 2 * at + 1) {
        if (child + 1 < n && heap[child + 1] < heap[child])
            child++;
        if (heap[child] >= value)
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = value;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double play(const struct rb_list_schedule *s, const struct quantiles *trial, const struct quantiles *arrival,
                   struct rb_stream *stream)
{
    double free_at[MAX_SLOTS] = {0}, ready[MAX_SLOTS];
    int slots = s->open_slots;
    for (int i = 0; i < s->new_nodes; i++)
        ready[i] = draw(arrival, stream);
    qsort(ready, (size_t)s->new_nodes, sizeof *ready, by_value);
    for (int i = 0; i < s->new_nodes; i++) {
        for (int j = 0; j < s->slots_per_node; j++)
            free_at[slots++] = ready[i]; // in order: already a heap
    }
    double end = 0;
    for (int i = 0; i < s->n_trials; i++) {
        const double ends = free_at[0] + draw(trial, stream);
        end = fmax(end, ends);
        sift_down(free_at, slots, ends);
    }
    return end;
}

static void check_against_play(const struct rb_list_schedule *s, const struct rb_law *law, const struct rb_dist *trial,
                               const struct rb_dist *arrival, uint32_t number)
{
    static const double shares[] = {0.005, 0.05, 0.25, 0.5, 0.75, 0.95, 0.995};
    const struct quantiles trials = quantiles_of(trial), arrivals = quantiles_of(arrival);
    const struct rb_stream_key key = {.seed = 3, .purpose = RB_DRAW_SEARCH, .index = number};
    struct rb_stream stream;
    rb_stream_init(&stream, &key);
    double *ends = rb_xcalloc(REPLICATES, sizeof *ends), sum = 0, square = 0;
    for (int i = 0; i < REPLICATES; i++) {
        ends[i] = play(s, &trials, &arrivals, &stream);
        sum += ends[i];
        square += ends[i] * ends[i];
    }
    qsort(ends, REPLICATES, sizeof *ends, by_value);
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        const double p = shares[i], se = sqrt(p * (1 - p) / REPLICATES);
        const double found = rb_law_below(law, ends[(int)(p * REPLICATES)]);
        if (fabs(found - p) > SIGMAS * se + law->error)
            fail_msg("case %u, %d trials of cv %.3f, %d slots, %d nodes of %d: P %.5f, played %.5f +- %.5f", number,
                     s->n_trials, trial->cv, s->open_slots, s->new_nodes, s->slots_per_node, found, p, se);
    }
    const double mean = sum / REPLICATES, sd = sqrt(square / REPLICATES - mean * mean);
    assert_true(fabs(law->mean_s - mean) < SIGMAS * sd / sqrt(REPLICATES) + 2 * law->error * sd);
    assert_true(fabs(sqrt(law->variance_s2) / sd - 1) < 0.05);
    free(ends);
}

static uint64_t pick(struct rb_stream *s, uint64_t from, uint64_t to)
{
    return from + rb_stream_below(s, to - from + 1);
}

// One third of the cases has no new node, one third no open slot; in half of them nodes arrive within a fraction of a trial.
static void random_schedules(void **state)
{
    (void)state;
    static const enum rb_dist_kind kinds[] = {RB_DIST_LOGNORMAL, RB_DIST_GAMMA, RB_DIST_WEIBULL, RB_DIST_NORMAL};
    const struct rb_stream_key key = {.seed = 11, .purpose = RB_DRAW_SEARCH};
    struct rb_stream stream;
    rb_stream_init(&stream, &key);
    int refused = 0;
    for (uint32_t number = 0; number < 36; number++) {
        const bool kept = number % 3 != 2, nodes = number % 3 != 0;
        const struct rb_dist trial =
            dist_of(kinds[pick(&stream, 0, 3)], number % 2 ? 1000 : 100, 0.02 * pow(30, rb_stream_uniform(&stream)));
        const struct rb_dist arrival = dist_of(RB_DIST_GAMMA, (double)pick(&stream, 20, 200), 0.3);
        struct rb_list_schedule s = {.open_slots = kept ? (int)pick(&stream, 1, nodes ? 20 : 50) : 0,
                                     .new_nodes = nodes ? (int)pick(&stream, 1, 8) : 0,
                                     .slots_per_node = (int)pick(&stream, 1, 6)};
        s.n_trials =
            s.open_slots + (int)pick(&stream, 1, 4 * (uint64_t)(s.open_slots + s.new_nodes * s.slots_per_node));
        struct rb_arena arena;
        rb_arena_init(&arena);
        const struct rb_law trial_law = rb_law_of_dist(&trial, &arena), arrival_law = rb_law_of_dist(&arrival, &arena);
        struct rb_law law;
        const char *why;
        s.trial = &trial_law;
        s.arrival = &arrival_law;
        if (rb_list_schedule_law(&s, 1e-3, 0, &arena, &law, &why)) {
            assert_true(law.error <= 3.5e-3); // narrow openings claim three times what two lattices differ by
            check_against_play(&s, &law, &trial, &arrival, number);
        } else {
            assert_true(nodes); // kept slots alone are never refused here
            refused++;
        }
        rb_arena_finish(&arena);
    }
    assert_true(refused <= 4);
}

// ---- what is known otherwise

struct fixture {
    struct rb_arena arena;
    struct rb_law trial, arrival, law;
    struct rb_list_schedule s;
};

static void fixture_init(struct fixture *f, int n_trials, int open_slots, int new_nodes, int slots_per_node)
{
    const struct rb_dist trial = dist_of(RB_DIST_LOGNORMAL, 60, 0.3), arrival = dist_of(RB_DIST_GAMMA, 80, 0.35);
    rb_arena_init(&f->arena);
    f->trial = rb_law_of_dist(&trial, &f->arena);
    f->arrival = rb_law_of_dist(&arrival, &f->arena);
    f->s = (struct rb_list_schedule){.trial = &f->trial,
                                     .arrival = &f->arrival,
                                     .n_trials = n_trials,
                                     .open_slots = open_slots,
                                     .new_nodes = new_nodes,
                                     .slots_per_node = slots_per_node};
}

static void fixture_law(struct fixture *f, double accuracy)
{
    const char *why = NULL;
    if (!rb_list_schedule_law(&f->s, accuracy, 0, &f->arena, &f->law, &why))
        fail_msg("%s", why);
}

// No distance between the two anywhere is larger than what they say they may err by.
static void check_same(const struct rb_law *a, const struct rb_law *b)
{
    for (double u = 0.001; u < 0.9995; u += 0.007) {
        const double x = rb_law_quantile(b, u), distance = fabs(rb_law_below(a, x) - rb_law_below(b, x));
        if (distance > a->error + b->error)
            fail_msg("at %g s: %.6f and %.6f, errors %.1e and %.1e", x, rb_law_below(a, x), rb_law_below(b, x),
                     a->error, b->error);
    }
}

static void one_slot_is_a_sum(void **state)
{
    (void)state;
    for (int n = 2; n <= 12; n += 5) {
        struct fixture f;
        fixture_init(&f, n, 1, 0, 0);
        fixture_law(&f, 1e-4);
        const struct rb_law sum = rb_law_sum_of(&f.trial, n, &f.arena);
        check_same(&f.law, &sum);
        rb_arena_finish(&f.arena);
    }
}

// A node that opens over a long time: its late openings are rare at each of many points, and count together.
static void a_new_slot_is_an_arrival_and_a_sum(void **state)
{
    (void)state;
    static const double accuracies[] = {2e-3, 1e-4};
    for (size_t i = 0; i < sizeof accuracies / sizeof *accuracies; i++) {
        const struct rb_dist trial = dist_of(RB_DIST_LOGNORMAL, 37, 0.02),
                             arrival = dist_of(RB_DIST_LOGNORMAL, 99, 0.5);
        struct fixture f;
        fixture_init(&f, 3, 0, 1, 1);
        f.trial = rb_law_of_dist(&trial, &f.arena);
        f.arrival = rb_law_of_dist(&arrival, &f.arena);
        fixture_law(&f, accuracies[i]);
        const struct rb_law trials = rb_law_sum_of(&f.trial, 3, &f.arena);
        const struct rb_law sum = rb_law_plus(&f.arrival, &trials, &f.arena);
        check_same(&f.law, &sum);
        for (double above = 1e-3; above > 1e-6; above /= 1.5) { // the upper end
            const double x = rb_law_quantile(&sum, 1 - above);
            assert_true(fabs(rb_law_above(&f.law, x) - rb_law_above(&sum, x)) <= f.law.error + sum.error);
        }
        rb_arena_finish(&f.arena);
    }
}

// Trials that may end at once: no time before the first that was laid out is left to chance.
static void the_lower_end_is_told(void **state)
{
    (void)state;
    static const double cvs[] = {0.3, 0.4, 0.48, 0.6};
    for (size_t i = 0; i < sizeof cvs / sizeof *cvs; i++) {
        const struct rb_dist dist = dist_of(RB_DIST_NORMAL, 196, cvs[i]);
        struct fixture f;
        fixture_init(&f, 2, 1, 0, 0);
        f.trial = rb_law_of_dist(&dist, &f.arena);
        fixture_law(&f, 1e-3);
        const struct rb_law sum = rb_law_sum_of(&f.trial, 2, &f.arena);
        assert_true(f.law.below[0] <= f.law.error);
        check_same(&f.law, &sum);
        rb_arena_finish(&f.arena);
    }
}

static void a_slot_for_each_is_the_largest(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 7, 9, 0, 0);
    fixture_law(&f, 1e-4);
    const struct rb_law largest = rb_law_largest_of(&f.trial, 7, &f.arena);
    check_same(&f.law, &largest);
    rb_arena_finish(&f.arena);
}

static void one_node_for_all_is_an_arrival_and_the_largest(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 8, 0, 1, 8);
    fixture_law(&f, 1e-4);
    const struct rb_law largest = rb_law_largest_of(&f.trial, 8, &f.arena);
    const struct rb_law sum = rb_law_plus(&f.arrival, &largest, &f.arena);
    check_same(&f.law, &sum);
    rb_arena_finish(&f.arena);
}

// The first trial runs from 0 to x, the second from the arrival a or from x, whichever is first.
static double two_trials(const struct fixture *f, double t)
{
    const int n = 4000;
    const double h = t / n;
    double p = 0, arrived = 0; // arrived: P(a < x, a + second <= t)
    for (int i = 0; i < n; i++) {
        const double x = (i + 0.5) * h;
        arrived += h / 2 * rb_law_density(&f->arrival, x) * rb_law_below(&f->trial, t - x);
        p += h * rb_law_density(&f->trial, x) *
             (rb_law_above(&f->arrival, x) * rb_law_below(&f->trial, t - x) + arrived);
        arrived += h / 2 * rb_law_density(&f->arrival, x) * rb_law_below(&f->trial, t - x);
    }
    return p;
}

static void two_trials_on_an_open_and_a_new_slot(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 2, 1, 1, 1);
    fixture_law(&f, 1e-4);
    for (double t = 50; t < 260; t += 10) {
        const double expected = two_trials(&f, t), found = rb_law_below(&f.law, t);
        if (fabs(found - expected) > f.law.error + 2e-5) // of the quadrature
            fail_msg("at %g s: %.6f, expected %.6f, error %.1e", t, found, expected, f.law.error);
    }
    rb_arena_finish(&f.arena);
}

// ---- what it says of itself

static void check_coarse_and_fine(struct fixture *f, double coarse, double fine)
{
    fixture_law(f, coarse);
    const struct rb_law rough = f->law;
    fixture_law(f, fine);
    check_same(&rough, &f->law);
}

static void errors_are_not_understated(void **state)
{
    (void)state;
    static const int cases[][4] = {{100, 32, 0, 0}, {33, 32, 0, 0}, {64, 16, 4, 4}, {40, 0, 5, 3}, {5, 4, 2, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture f;
        fixture_init(&f, cases[i][0], cases[i][1], cases[i][2], cases[i][3]);
        check_coarse_and_fine(&f, 1e-3, 1e-5);
        assert_true(f.law.error < 3e-5);
        rb_arena_finish(&f.arena);
    }
}

// A law is told by points as dense as it is narrow where it rises, however far it reaches.
static void long_tails(void **state)
{
    (void)state;
    const struct rb_dist trial = dist_of(RB_DIST_LOGNORMAL, 170, 0.5);
    struct fixture f;
    fixture_init(&f, 24, 23, 0, 0);
    f.trial = rb_law_of_dist(&trial, &f.arena);
    check_coarse_and_fine(&f, 1e-4, 1e-5);
    rb_arena_finish(&f.arena);
}

// Of nodes that bring eight slots each, how many have opened by some time spreads widely and by eights: a wave on the circle that
// comes back at every eighth of it. And that all end early is a matter of the longest of many.
static void slots_that_open_together(void **state)
{
    (void)state;
    static const double accuracies[] = {2e-3, 1e-4, 1e-5};
    static const struct {
        int trials, nodes;
        double mean_s, cv, arrival_s, arrival_cv;
    } cases[] = {{64, 13, 40, 0.1, 78, 0.25}, {225, 15, 38, 0.08, 52, 0.2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct rb_dist trial = dist_of(RB_DIST_LOGNORMAL, cases[i].mean_s, cases[i].cv);
        const struct rb_dist arrival = dist_of(RB_DIST_LOGNORMAL, cases[i].arrival_s, cases[i].arrival_cv);
        struct fixture f;
        struct rb_law laws[3];
        fixture_init(&f, cases[i].trials, 0, cases[i].nodes, 8);
        f.trial = rb_law_of_dist(&trial, &f.arena);
        f.arrival = rb_law_of_dist(&arrival, &f.arena);
        for (int k = 0; k < 3; k++) {
            fixture_law(&f, accuracies[k]);
            laws[k] = f.law;
            assert_true(f.law.error < 3 * accuracies[k]);
            for (int coarser = 0; coarser < k; coarser++)
                check_same(&laws[coarser], &f.law);
        }
        rb_arena_finish(&f.arena);
    }
}

// What is not reached is told, and so is what is instead.
static void the_worst_is_taken(void **state)
{
    (void)state;
    struct fixture f;
    const char *why = NULL;
    fixture_init(&f, 14, 2, 4, 1);
    const struct rb_dist sudden = dist_of(RB_DIST_LOGNORMAL, 90, 0.005);
    f.arrival = rb_law_of_dist(&sudden, &f.arena);
    assert_false(rb_list_schedule_law(&f.s, 1e-6, 1e-6, &f.arena, &f.law, &why));
    assert_true(rb_list_schedule_law(&f.s, 1e-6, 3e-3, &f.arena, &f.law, &why));
    assert_string_equal(why, "the accuracy was not reached");
    assert_true(f.law.error > 1e-6 && f.law.error < 6e-3);
    const struct rb_law worst = f.law;
    assert_true(rb_list_schedule_law(&f.s, 2e-3, 0, &f.arena, &f.law, &why));
    assert_null(why);
    check_same(&worst, &f.law);
    rb_arena_finish(&f.arena);
}

// Openings that spread by less than a step are kept by their moments, and yet the lattice errs by little: gangs, that open one
// after the other, and nodes of several slots.
static void narrow_openings(void **state)
{
    (void)state;
    for (int i = 0; i < 12; i++) {
        const bool gangs = i % 2 == 0;
        struct fixture f;
        struct rb_law openings[4];
        fixture_init(&f, gangs ? 14 : 30, 2, 4, gangs ? 1 : 3);
        for (int k = 0; k < 4; k++) {
            const struct rb_dist opening = dist_of(RB_DIST_LOGNORMAL, 70 + (4 + i / 2) * k, (1 + 0.15 * i) / 70);
            openings[k] = rb_law_of_dist(&opening, &f.arena);
        }
        f.s.arrival = openings;
        f.s.ranked = gangs ? openings : NULL;
        check_coarse_and_fine(&f, 2e-3, 2e-4);
        rb_arena_finish(&f.arena);
    }
}

static void it_is_a_law(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 90, 12, 3, 4);
    fixture_law(&f, 1e-3);
    for (int i = 1; i < f.law.n; i++) {
        assert_true(f.law.below[i] >= f.law.below[i - 1]);
        assert_true(f.law.above[i] <= f.law.above[i - 1]);
        assert_true(fabs(f.law.below[i] + f.law.above[i] - 1) < 1e-12);
    }
    assert_true(f.law.below[0] < 1e-3);
    assert_true(f.law.above[f.law.n - 1] < 1e-9);
    assert_true(f.law.variance_s2 > 0);
    rb_arena_finish(&f.arena);
}

// Slots work until the last trial starts, and then for no longer than the longest of those that run: so the mean is not below the
// work shared by the slots, and not above that plus the longest trial.
static void all_work_is_done(void **state)
{
    (void)state;
    static const double cvs[] = {0.1, 0.25, 0.4};
    for (int i = 0; i < 3 * 5 * 12; i++) {
        const struct rb_dist dist = dist_of(i % 2 ? RB_DIST_NORMAL : RB_DIST_LOGNORMAL, 16.35, cvs[i % 3]);
        const int slots = 4 << (i / 3 % 5), n = slots * (2 + i / 15) + i % 7;
        struct rb_arena arena;
        struct rb_law law;
        const char *why = NULL;
        rb_arena_init(&arena);
        const struct rb_law trial = rb_law_of_dist(&dist, &arena), longest = rb_law_largest_of(&trial, slots, &arena);
        const struct rb_list_schedule s = {.trial = &trial, .n_trials = n, .open_slots = slots};
        if (rb_list_schedule_law(&s, i % 4 ? 1e-3 : 1e-4, 0, &arena, &law, &why)) {
            const double shared_s = n * trial.mean_s / slots;
            if (law.mean_s < shared_s * 0.999 || law.mean_s > (shared_s + longest.mean_s) * 1.001)
                fail_msg("%d trials on %d slots, cv %g: mean %.3f s, work %.3f s", n, slots, cvs[i % 3], law.mean_s,
                         shared_s);
        } else {
            assert_non_null(why);
        }
        rb_arena_finish(&arena);
    }
}

static void many_trials_cost_little(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 100000, 4096, 0, 0);
    const clock_t start = clock();
    fixture_law(&f, 1e-3);
    const double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    assert_true(seconds < 1); // 10 ms; sanitizers take ten times as long
    assert_true(f.law.mean_s > 100000 * f.trial.mean_s / 4096);
    assert_true(f.law.mean_s < (100000.0 / 4096 + 3) * f.trial.mean_s);
    rb_arena_finish(&f.arena);
}

static void atoms_are_refused(void **state)
{
    (void)state;
    struct fixture f;
    struct rb_law out;
    const char *why;
    fixture_init(&f, 9, 3, 2, 2);
    const struct rb_law constant = rb_law_constant(30);
    f.s.arrival = &constant;
    assert_false(rb_list_schedule_law(&f.s, 1e-3, 0, &f.arena, &out, &why));
    assert_string_equal(why, "the arrival of new nodes has atoms");
    f.s.trial = &constant;
    assert_false(rb_list_schedule_law(&f.s, 1e-3, 0, &f.arena, &out, &why));
    assert_string_equal(why, "the trial's time has atoms");
    rb_arena_finish(&f.arena);
}

// Open slots, slots that open late, nodes of several slots: the same bits with and without AVX2. Without it in the
// processor both are the plain kernels, and nothing is tested.
static void both_kernels_are_one(void **state)
{
    (void)state;
    static const int cases[][4] = {{40, 7, 0, 1}, {30, 0, 5, 1}, {40, 6, 3, 4}, {30, 0, 2, 3}, {500, 64, 9, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture f;
        fixture_init(&f, cases[i][0], cases[i][1], cases[i][2], cases[i][3]);
        fixture_law(&f, 1e-3);
        const struct rb_law fast = f.law;
        f.s.plain = true;
        fixture_law(&f, 1e-3);
        assert_int_equal(fast.n, f.law.n);
        assert_memory_equal(fast.below, f.law.below, (size_t)fast.n * sizeof *fast.below);
        assert_memory_equal(fast.above, f.law.above, (size_t)fast.n * sizeof *fast.above);
        assert_memory_equal(&fast.error, &f.law.error, sizeof fast.error);
        rb_arena_finish(&f.arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_schedules),
        cmocka_unit_test(one_slot_is_a_sum),
        cmocka_unit_test(a_new_slot_is_an_arrival_and_a_sum),
        cmocka_unit_test(the_lower_end_is_told),
        cmocka_unit_test(a_slot_for_each_is_the_largest),
        cmocka_unit_test(one_node_for_all_is_an_arrival_and_the_largest),
        cmocka_unit_test(two_trials_on_an_open_and_a_new_slot),
        cmocka_unit_test(errors_are_not_understated),
        cmocka_unit_test(long_tails),
        cmocka_unit_test(slots_that_open_together),
        cmocka_unit_test(the_worst_is_taken),
        cmocka_unit_test(narrow_openings),
        cmocka_unit_test(it_is_a_law),
        cmocka_unit_test(all_work_is_done),
        cmocka_unit_test(many_trials_cost_little),
        cmocka_unit_test(atoms_are_refused),
        cmocka_unit_test(both_kernels_are_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
