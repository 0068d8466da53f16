// One wave with new nodes, against arrivals drawn and sorted, against what is known otherwise, and against the schedule
// played trial by trial: what the wave says it errs by is no less than what it does.
#include "simulator/one_wave/one_wave.h"

#include "base/err.h"
#include "base/stream.h"
#include "simulator/list_schedule/list_schedule.h"

// cmocka.h wants these first
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define REPLICATES 20000
#define SIGMAS     5.0 // once in two million; there are some three hundred checks, and seeds are fixed
#define MAX_NODES  64
#define MAX_TRIALS 256

static struct rb_law law_of(enum rb_dist_kind kind, double mean, double cv, struct rb_arena *arena)
{
    struct rb_dist d = {.kind = kind, .mean = mean, .cv = cv};
    struct rb_err err;
    assert_true(rb_dist_prepare(&d, &err));
    return rb_law_of_dist(&d, arena);
}

// ---- played

// Quantiles of a law on a grid: a draw is one uniform number and one interpolation, and exact in the tails.
struct quantiles {
    const struct rb_law *law;
    double at[1025];
};

static void quantiles_init(struct quantiles *q, const struct rb_law *law)
{
    q->law = law;
    for (int i = 1; i < 1024; i++)
        q->at[i] = rb_law_quantile(law, i / 1024.0);
}

static double draw(const struct quantiles *q, struct rb_stream *s)
{
    const double u = rb_stream_uniform(s), cell = u * 1024;
    const int i = (int)cell;
    if (i < 8 || i >= 1016)
        return rb_law_quantile(q->law, u);
    return q->at[i] + (cell - i) * (q->at[i + 1] - q->at[i]);
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct played {
    double end;
    bool early; // a trial ended before all had started
};

// Slots in the order in which they open; the first free one takes the next trial.
static struct played play(const struct rb_one_wave *w, const struct quantiles *trial, const struct quantiles *arrival,
                          struct rb_stream *stream)
{
    double ready[MAX_NODES], free_at[MAX_TRIALS] = {0}, first_end = INFINITY;
    struct played out = {0};
    int slots = w->open_slots, nodes = w->nodes_left;
    for (int i = 0; i < w->new_nodes; i++)
        ready[i] = draw(arrival, stream);
    qsort(ready, (size_t)w->new_nodes, sizeof *ready, by_value);
    for (int i = 0; i < w->new_nodes; i++) {
        if (++nodes % w->nodes_per_slot != 0)
            continue;
        for (int j = 0; j < w->slots_per_node && slots < MAX_TRIALS; j++)
            free_at[slots++] = ready[i];
    }
    double last_start = 0;
    for (int i = 0; i < w->n_trials; i++)
        last_start = fmax(last_start, free_at[i]);
    for (int i = 0; i < w->n_trials; i++) {
        int first = 0;
        for (int j = 1; j < slots; j++)
            first = free_at[j] < free_at[first] ? j : first;
        free_at[first] += draw(trial, stream);
        first_end = fmin(first_end, free_at[first]);
        out.end = fmax(out.end, free_at[first]);
    }
    out.early = first_end < last_start;
    return out;
}

static void check_against_play(const struct rb_one_wave *w, const struct rb_law *law, double early, uint32_t number)
{
    static const double shares[] = {0.005, 0.05, 0.25, 0.5, 0.75, 0.95, 0.995};
    struct quantiles trials, arrivals;
    struct rb_stream stream;
    quantiles_init(&trials, w->trial);
    quantiles_init(&arrivals, w->arrival);
    rb_stream_init(&stream, &(struct rb_stream_key){.seed = 5, .purpose = RB_DRAW_SEARCH, .index = number});
    double *ends = rb_xcalloc(REPLICATES, sizeof *ends), sum = 0, square = 0, n_early = 0;
    for (int i = 0; i < REPLICATES; i++) {
        const struct played p = play(w, &trials, &arrivals, &stream);
        ends[i] = p.end;
        n_early += p.early;
        sum += p.end;
        square += p.end * p.end;
    }
    qsort(ends, REPLICATES, sizeof *ends, by_value);
    for (size_t i = 0; law && i < sizeof shares / sizeof *shares; i++) {
        const double p = shares[i], se = sqrt(p * (1 - p) / REPLICATES);
        const double found = rb_law_below(law, ends[(int)(p * REPLICATES)]);
        if (fabs(found - p) > SIGMAS * se + law->error)
            fail_msg("case %u, %d trials, %d slots, %d nodes of %d, gangs of %d, %d left: P %.5f, played %.5f +- %.5f",
                     number, w->n_trials, w->open_slots, w->new_nodes, w->slots_per_node, w->nodes_per_slot,
                     w->nodes_left, found, p, se);
    }
    const double mean = sum / REPLICATES, sd = sqrt(square / REPLICATES - mean * mean);
    if (law) {
        assert_true(fabs(law->mean_s - mean) < SIGMAS * sd / sqrt(REPLICATES) + 2 * law->error * sd);
        assert_true(fabs(sqrt(law->variance_s2) / sd - 1) < 0.05 + 5 * law->error);
    }
    const double se = sqrt(early * (1 - early) / REPLICATES);
    if (fabs(n_early / REPLICATES - early) > SIGMAS * se + 0.02 * early + 5.0 / REPLICATES)
        fail_msg("case %u: a trial ends early with P %.5f, played %.5f +- %.5f", number, early, n_early / REPLICATES,
                 se);
    free(ends);
}

static int pick(struct rb_stream *s, int from, int to)
{
    return from + (int)rb_stream_below(s, (uint64_t)(to - from + 1));
}

// Slots: partial last nodes and nodes to spare. Gangs: nodes left over, and nodes to spare. From trials that outlast all
// arrivals to trials that do not.
static struct rb_one_wave random_wave(struct rb_stream *s, bool gangs)
{
    struct rb_one_wave w = {.open_slots = pick(s, 0, 1) ? pick(s, 1, 10) : 0, .nodes_per_slot = 1, .slots_per_node = 1};
    if (gangs) {
        const int waiting = pick(s, 1, 6);
        w.nodes_per_slot = pick(s, 2, 4);
        w.nodes_left = pick(s, 0, w.nodes_per_slot - 1);
        w.n_trials = w.open_slots + waiting;
        w.new_nodes = waiting * w.nodes_per_slot - w.nodes_left + pick(s, 0, 3);
    } else {
        const int waiting = pick(s, 1, 40);
        w.slots_per_node = pick(s, 1, 8);
        w.n_trials = w.open_slots + waiting;
        w.new_nodes = (waiting + w.slots_per_node - 1) / w.slots_per_node + pick(s, 0, 2);
    }
    return w;
}

static void random_waves(void **state)
{
    (void)state;
    static const enum rb_dist_kind kinds[] = {RB_DIST_LOGNORMAL, RB_DIST_GAMMA, RB_DIST_WEIBULL, RB_DIST_NORMAL};
    struct rb_stream stream;
    rb_stream_init(&stream, &(struct rb_stream_key){.seed = 12, .purpose = RB_DRAW_SEARCH});
    int fine = 0, made = 0;
    for (uint32_t number = 0; number < 48; number++) {
        struct rb_arena arena;
        rb_arena_init(&arena);
        struct rb_one_wave w = random_wave(&stream, number % 2);
        const double mean = 40 * pow(20, rb_stream_uniform(&stream)), cv = 0.02 * pow(15, rb_stream_uniform(&stream));
        const struct rb_law trial = law_of(kinds[pick(&stream, 0, 3)], mean, cv, &arena);
        const struct rb_law arrival = law_of(kinds[pick(&stream, 0, 1)], 60, 0.1 + 0.2 * (number % 3), &arena);
        struct rb_law law;
        const char *why;
        w.trial = &trial;
        w.arrival = &arrival;
        const double early = rb_one_wave_early(&w, &arena);
        const bool ok = rb_one_wave_law(&w, 1e-4, 0.05, &arena, &law, &why);
        if (ok)
            assert_true(law.error <= 0.05 && law.error >= early);
        else
            assert_true(early > 0.045 && !strcmp(why, "a trial may end before the last new node has come"));
        check_against_play(&w, ok ? &law : NULL, early, number);
        made += ok;
        fine += ok && law.error < 3e-4;
        rb_arena_finish(&arena);
    }
    assert_true(made >= 24 && made < 48 && fine >= 12);
}

// ---- what is known otherwise

struct fixture {
    struct rb_arena arena;
    struct rb_law trial, arrival, law;
    struct rb_one_wave w;
};

static void fixture_init(struct fixture *f, double trial_s, int n_trials, int open_slots, int new_nodes,
                         int slots_per_node)
{
    rb_arena_init(&f->arena);
    f->trial = law_of(RB_DIST_LOGNORMAL, trial_s, 0.1, &f->arena);
    f->arrival = law_of(RB_DIST_GAMMA, 80, 0.2, &f->arena);
    f->w = (struct rb_one_wave){.trial = &f->trial,
                                .n_trials = n_trials,
                                .open_slots = open_slots,
                                .arrival = &f->arrival,
                                .new_nodes = new_nodes,
                                .nodes_per_slot = 1,
                                .slots_per_node = slots_per_node};
}

static void fixture_law(struct fixture *f, double accuracy)
{
    const char *why = NULL;
    if (!rb_one_wave_law(&f->w, accuracy, 5 * accuracy, &f->arena, &f->law, &why))
        fail_msg("%s", why);
}

static void check_same(const struct rb_law *a, const struct rb_law *b)
{
    for (double u = 0.001; u < 0.9995; u += 0.007) {
        const double x = rb_law_quantile(b, u), distance = fabs(rb_law_below(a, x) - rb_law_below(b, x));
        if (distance > a->error + b->error)
            fail_msg("at %g s: %.6f and %.6f, errors %.1e and %.1e", x, rb_law_below(a, x), rb_law_below(b, x),
                     a->error, b->error);
    }
}

// However short the trials are: they all start at once.
static void one_node_for_all_is_an_arrival_and_the_largest(void **state)
{
    (void)state;
    for (double trial_s = 5; trial_s < 2000; trial_s *= 6) {
        struct fixture f;
        fixture_init(&f, trial_s, 8, 0, 1, 8);
        fixture_law(&f, 1e-4);
        const struct rb_law largest = rb_law_largest_of(&f.trial, 8, &f.arena);
        const struct rb_law sum = rb_law_plus(&f.arrival, &largest, &f.arena);
        check_same(&f.law, &sum);
        rb_arena_finish(&f.arena);
    }
}

// Whole nodes and none to spare: the largest of independent (arrival + the largest of a node's trials), and of the kept.
static void whole_nodes_are_independent(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 900, 3 + 5 * 4, 3, 5, 4);
    fixture_law(&f, 1e-5);
    const struct rb_law node = rb_law_largest_of(&f.trial, 4, &f.arena);
    const struct rb_law ready = rb_law_plus(&f.arrival, &node, &f.arena);
    for (double u = 0.001; u < 0.9995; u += 0.007) {
        const double x = rb_law_quantile(&f.law, u);
        const double known = pow(rb_law_below(&ready, x), 5) * pow(rb_law_below(&f.trial, x), 3);
        assert_true(fabs(known - u) < f.law.error + 5 * ready.error + 3 * f.trial.error);
    }
    rb_arena_finish(&f.arena);
}

// One gang: the last of its nodes.
static void one_gang_starts_with_its_last_node(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 300, 1, 0, 4, 1);
    f.w.nodes_per_slot = 4;
    fixture_law(&f, 1e-5);
    const struct rb_law last = rb_law_largest_of(&f.arrival, 4, &f.arena);
    const struct rb_law sum = rb_law_plus(&last, &f.trial, &f.arena);
    check_same(&f.law, &sum);
    rb_arena_finish(&f.arena);
}

static void it_agrees_with_the_dynamic_schedule(void **state)
{
    (void)state;
    static const int cases[][4] = {{8, 0, 2, 4}, {11, 3, 3, 3}, {5, 4, 1, 1}, {9, 2, 4, 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture f;
        fixture_init(&f, 400, cases[i][0], cases[i][1], cases[i][2], cases[i][3]);
        fixture_law(&f, 1e-4);
        const struct rb_list_schedule s = {.trial = &f.trial,
                                           .n_trials = f.w.n_trials,
                                           .open_slots = f.w.open_slots,
                                           .new_nodes = f.w.new_nodes,
                                           .slots_per_node = f.w.slots_per_node,
                                           .arrival = &f.arrival};
        struct rb_law law;
        const char *why = NULL;
        if (!rb_list_schedule_law(&s, 1e-4, 0, &f.arena, &law, &why))
            fail_msg("%s", why);
        check_same(&f.law, &law);
        rb_arena_finish(&f.arena);
    }
}

// ---- what it says of itself

static void short_trials_are_refused(void **state)
{
    (void)state;
    struct fixture f;
    const char *why;
    fixture_init(&f, 20, 12, 4, 2, 4);
    struct rb_law law = f.trial;
    assert_false(rb_one_wave_law(&f.w, 1e-3, 1e-3, &f.arena, &law, &why));
    assert_string_equal(why, "a trial may end before the last new node has come");
    assert_memory_equal(&law, &f.trial, sizeof law);
    assert_true(rb_one_wave_early(&f.w, &f.arena) > 0.99);
    f.w.n_trials = 13;
    assert_false(rb_one_wave_law(&f.w, 1e-3, 1, &f.arena, &law, &why));
    assert_string_equal(why, "more trials than slots");
    const struct rb_law constant = rb_law_constant(30);
    f.w.n_trials = 12;
    f.w.arrival = &constant;
    assert_false(rb_one_wave_law(&f.w, 1e-3, 1, &f.arena, &law, &why));
    assert_string_equal(why, "the arrival of new nodes has atoms");
    rb_arena_finish(&f.arena);
}

static void errors_are_not_understated(void **state)
{
    (void)state;
    static const int cases[][4] = {{64, 0, 16, 4}, {60, 1, 64, 1}, {30, 20, 40, 3}, {100, 4, 16, 8}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture f;
        fixture_init(&f, 2000, cases[i][0], cases[i][1], cases[i][2], cases[i][3]);
        fixture_law(&f, 1e-3);
        const struct rb_law rough = f.law;
        fixture_law(&f, 1e-6);
        check_same(&rough, &f.law);
        rb_arena_finish(&f.arena);
    }
}

// Far out it is the union of the trials' own tails, to a small part of itself.
static void the_upper_tail_is_accurate(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 900, 20, 4, 4, 4);
    fixture_law(&f, 1e-4);
    const struct rb_law ready = rb_law_plus(&f.arrival, &f.trial, &f.arena);
    for (double p = 1e-3; p > 1e-6; p /= 3) {
        const double x = rb_law_quantile(&f.law, 1 - p);
        const double known = 16 * rb_law_above(&ready, x) + 4 * rb_law_above(&f.trial, x);
        if (fabs(known / p - 1) > 0.01)
            fail_msg("P %.3g, expected %.3g", p, known);
    }
    rb_arena_finish(&f.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_waves),
        cmocka_unit_test(one_node_for_all_is_an_arrival_and_the_largest),
        cmocka_unit_test(whole_nodes_are_independent),
        cmocka_unit_test(one_gang_starts_with_its_last_node),
        cmocka_unit_test(it_agrees_with_the_dynamic_schedule),
        cmocka_unit_test(short_trials_are_refused),
        cmocka_unit_test(errors_are_not_understated),
        cmocka_unit_test(the_upper_tail_is_accurate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
