// The parts of Pollux's genetic search, each against its definition written out on plain matrices.
#include "engine/sharing/pollux_row.h"
#include "engine/sharing/pollux_search.h"
#include "engine/sharing/pollux_survival.h"
#include "engine/sharing/pollux_vary.h"

#include "check.h"
#include "sharing_jobs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_WORDS (MAX_NODES / 8)

static struct rb_stream stream(uint32_t index)
{
    struct rb_stream s;
    rb_stream_init(&s, &(struct rb_stream_key){.seed = 7, .purpose = RB_DRAW_SEARCH, .index = index});
    return s;
}

// A problem on its own memory; the caller fills base, limits and the jobs behind the speed-ups.
struct bench {
    struct made_up made_up;
    const struct rb_shared_job *jobs[MAX_JOBS];
    uint64_t capacity[MAX_WORDS], base[MAX_JOBS * MAX_WORDS], left[2 * MAX_WORDS];
    int min_gpus[MAX_JOBS], max_gpus[MAX_JOBS];
    struct rb_arena arena;
    struct rb_pollux_speedups speedups;
    struct rb_pollux_problem problem;
};

static void set_up(struct bench *b, double fairness_p)
{
    const struct made_up *m = &b->made_up;
    const int n_words = rb_row_words(m->cluster.n_nodes);
    memset(b->capacity, 0, sizeof b->capacity);
    memset(b->base, 0, sizeof b->base);
    for (int n = 0; n < m->cluster.n_nodes; n++)
        rb_row_set(b->capacity, n, m->gpus[n]);
    for (int j = 0; j < m->n_jobs; j++) {
        b->jobs[j] = &m->jobs[j];
        b->min_gpus[j] = m->jobs[j].min_gpus;
        b->max_gpus[j] = m->jobs[j].max_gpus;
    }
    b->problem = (struct rb_pollux_problem){
        .n_jobs = m->n_jobs,
        .n_nodes = m->cluster.n_nodes,
        .n_words = n_words,
        .capacity = b->capacity,
        .base = b->base,
        .min_gpus = b->min_gpus,
        .max_gpus = b->max_gpus,
        .avoid_interference = true,
        .log_not_grown = log1p(-1.0 / m->n_jobs),
        .speedups = &b->speedups,
    };
    rb_arena_init(&b->arena);
    const struct rb_sharing_options options = {.restart_us = 30000000, .fairness_p = fairness_p};
    rb_pollux_speedups_init(&b->speedups, &b->arena, &options, &m->cluster, b->jobs, m->n_jobs);
}

static void random_rows(const struct bench *b, struct rb_stream *draws, uint64_t *rows)
{
    const struct rb_pollux_problem *p = &b->problem;
    memset(rows, 0, (size_t)p->n_jobs * (size_t)p->n_words * sizeof *rows);
    for (int j = 0; j < p->n_jobs; j++) {
        for (int n = 0; n < p->n_nodes; n++) {
            if (rb_stream_below(draws, 4) == 0)
                rb_row_set(rows + j * p->n_words, n, (int)rb_stream_below(draws, (uint64_t)b->made_up.gpus[n] + 1));
        }
    }
}

static int at(const struct rb_pollux_problem *p, const uint64_t *rows, int job, int node)
{
    return rb_row_get(rows + job * p->n_words, node);
}

// ---- rows

static void words_are_eight_nodes(void **state)
{
    (void)state;
    struct rb_stream draws = stream(1);
    for (int i = 0; i < 10000; i++) {
        uint64_t a = 0, b = 0, least = 0;
        int sum = 0, count = 0;
        for (int n = 0; n < 8; n++) {
            const int x = (int)rb_stream_below(&draws, 3) * (int)rb_stream_below(&draws, 33);
            const int y = (int)rb_stream_below(&draws, 65);
            rb_row_set(&a, n, x);
            rb_row_set(&b, n, y);
            rb_row_set(&least, n, x < y ? x : y);
            sum += x;
            count += x > 0;
            assert_int_equal(rb_row_get(&a, n), x);
            assert_int_equal(rb_row_widen(rb_row_nonzero(a)) >> (8 * n) & 0xff, x > 0 ? 0xff : 0);
        }
        assert_true(rb_row_min(a, b) == least && rb_row_min(b, a) == least);
        assert_int_equal(rb_row_sum(a), sum);
        assert_int_equal(rb_row_count(rb_row_nonzero(a)), count);
    }
}

// ---- repair

// The artifact's rules on cumulative sums, for jobs whose own limits do not bind: those are repaired at random.
static void repair_plainly(const struct bench *b, const uint64_t *rows, int *out)
{
    const struct rb_pollux_problem *p = &b->problem;
    bool spans[MAX_JOBS];
    for (int j = 0; j < p->n_jobs; j++) {
        int n_nodes = 0;
        for (int n = 0; n < p->n_nodes; n++)
            n_nodes += at(p, rows, j, n) > 0;
        spans[j] = n_nodes > 1;
    }
    for (int n = 0; n < p->n_nodes; n++) {
        int n_spanning = 0, used = 0;
        for (int j = 0; j < p->n_jobs; j++) {
            int gpus = at(p, rows, j, n);
            n_spanning += spans[j] && gpus > 0;
            gpus = n_spanning > 1 ? 0 : gpus;
            const int end = used + gpus < b->made_up.gpus[n] ? used + gpus : b->made_up.gpus[n];
            out[j * p->n_nodes + n] = end - used;
            used = end;
        }
    }
}

static void repair_favours_the_earlier_row(void **state)
{
    (void)state;
    struct rb_stream draws = stream(2);
    struct bench b;
    uint64_t rows[MAX_JOBS * MAX_WORDS];
    int expected[MAX_JOBS * MAX_NODES];
    for (int i = 0; i < 500; i++) {
        make_up(&b.made_up, 1 + (int)rb_stream_below(&draws, MAX_JOBS), 1 + (int)rb_stream_below(&draws, 16),
                1 + (int)rb_stream_below(&draws, 8));
        set_up(&b, -1);
        random_rows(&b, &draws, rows);
        repair_plainly(&b, rows, expected);
        rb_pollux_repair(&b.problem, &draws, rows, b.left);
        for (int j = 0; j < b.problem.n_jobs; j++) {
            for (int n = 0; n < b.problem.n_nodes; n++)
                assert_int_equal(at(&b.problem, rows, j, n), expected[j * b.problem.n_nodes + n]);
        }
        rb_arena_finish(&b.arena);
    }
}

static void repair_keeps_to_the_limits_of_jobs(void **state)
{
    (void)state;
    struct rb_stream draws = stream(3);
    struct bench b;
    uint64_t rows[MAX_JOBS * MAX_WORDS];
    int n_cut = 0;
    for (int i = 0; i < 500; i++) {
        make_up_at_random(&b.made_up, &draws);
        set_up(&b, -1);
        random_rows(&b, &draws, rows);
        for (int j = 0; j < b.problem.n_jobs; j++) {
            int gpus = 0;
            for (int n = 0; n < b.problem.n_nodes; n++)
                gpus += at(&b.problem, rows, j, n);
            n_cut += gpus > b.max_gpus[j];
        }
        rb_pollux_repair(&b.problem, &draws, rows, b.left);
        for (int j = 0; j < b.problem.n_jobs; j++) {
            int gpus = 0, nodes = 0;
            for (int n = 0; n < b.problem.n_nodes; n++) {
                gpus += at(&b.problem, rows, j, n);
                nodes += at(&b.problem, rows, j, n) > 0;
            }
            assert_true(gpus <= b.max_gpus[j] && nodes <= RB_POLLUX_MAX_NODES);
            assert_true(gpus == 0 || gpus >= b.min_gpus[j]);
        }
        rb_arena_finish(&b.arena);
    }
    assert_true(n_cut > 100); // or nothing was tested
}

// ---- crossover and mutation

static void crossover_swaps_the_first_rows(void **state)
{
    (void)state;
    struct rb_stream draws = stream(4);
    struct bench b;
    int times[5] = {0};
    make_up(&b.made_up, 5, 3, 4);
    set_up(&b, -1);
    for (int i = 0; i < 5000; i++) {
        uint64_t x[5] = {1, 1, 1, 1, 1}, y[5] = {2, 2, 2, 2, 2};
        rb_pollux_crossover(&b.problem, &draws, x, y);
        int point = 0;
        while (point < 5 && x[point] == 2)
            point++;
        assert_in_range(point, 0, 4);
        for (int j = 0; j < 5; j++) {
            assert_int_equal(x[j], j < point ? 2 : 1);
            assert_int_equal(y[j], j < point ? 1 : 2);
        }
        times[point]++;
    }
    for (int i = 0; i < 5; i++)
        assert_in_range(times[i], 1000 - 120, 1000 + 120); // 4 standard deviations: 113
    rb_arena_finish(&b.arena);
}

// On an empty cluster every cell is picked with probability 1/8 and then gets 0..4 GPUs.
static void empty_nodes_are_grown_into(void **state)
{
    (void)state;
    struct rb_stream draws = stream(5);
    struct bench b;
    int by_gpus[5] = {0};
    make_up(&b.made_up, 8, 4, 4);
    set_up(&b, -1);
    for (int i = 0; i < 4000; i++) {
        uint64_t rows[8] = {0};
        rb_pollux_mutate(&b.problem, &draws, rows, b.left);
        for (int j = 0; j < 8; j++) {
            for (int n = 0; n < 4; n++)
                by_gpus[at(&b.problem, rows, j, n)]++;
        }
    }
    const double n_cells = 4000 * 8 * 4, p = 1.0 / 8 / 5;
    for (int g = 1; g <= 4; g++)
        assert_true(fabs(by_gpus[g] - n_cells * p) < 4 * sqrt(n_cells * p * (1 - p)));
    rb_arena_finish(&b.arena);
}

// On a full cluster whose jobs now hold nothing: a row is reset with probability 1/10; what stays is erasable with 1/10,
// and then loses its one element with 1/10. Growth may bring an element back to 1..4.
static void rows_are_reset_and_erased(void **state)
{
    (void)state;
    struct rb_stream draws = stream(6);
    struct bench b;
    int n_full = 0;
    make_up(&b.made_up, 4, 4, 4);
    set_up(&b, -1);
    for (int i = 0; i < 20000; i++) {
        uint64_t rows[4];
        for (int j = 0; j < 4; j++)
            rows[j] = UINT64_C(4) << (8 * j);
        rb_pollux_mutate(&b.problem, &draws, rows, b.left);
        for (int j = 0; j < 4; j++)
            n_full += at(&b.problem, rows, j, j) == 4;
    }
    // Grown again: picked with 1/4 where the node is free, and then 4 of 0..4 comes with 1/5.
    const double lost = 0.1 + 0.9 * 0.1 * 0.1, p = 1 - lost + lost / 4 / 5, n = 4 * 20000;
    assert_true(fabs(n_full - n * p) < 4 * sqrt(n * p * (1 - p)));
    rb_arena_finish(&b.arena);
}

// ---- what a division is worth

static double plain_speedup(const struct bench *b, int job, int nodes, int gpus)
{
    const int total = b->made_up.cluster.n_nodes * b->made_up.gpus[0];
    const int fair = (total + b->problem.n_jobs - 1) / b->problem.n_jobs;
    if (gpus == 0)
        return 0;
    if (!b->made_up.jobs[job].rate)
        return (double)gpus / fair;
    return made_up_rate(&b->made_up.models[job], nodes, gpus) / made_up_rate(&b->made_up.models[job], 1, fair);
}

static void plain_costs(const struct bench *b, const uint64_t *rows, double fairness_p, double *out)
{
    const struct rb_pollux_problem *p = &b->problem;
    double sum = 0, speedups = 0;
    int active = 0;
    for (int n = 0; n < p->n_nodes; n++) {
        int used = 0;
        for (int j = 0; j < p->n_jobs; j++)
            used += at(p, rows, j, n);
        active += used > 0 ? b->made_up.gpus[n] : 0;
    }
    for (int j = 0; j < p->n_jobs; j++) {
        int nodes = 0, gpus = 0;
        bool moved = false;
        for (int n = 0; n < p->n_nodes; n++) {
            nodes += at(p, rows, j, n) > 0;
            gpus += at(p, rows, j, n);
            moved |= at(p, rows, j, n) != at(p, p->base, j, n);
        }
        const double speedup = plain_speedup(b, j, nodes, gpus), age = (double)b->made_up.jobs[j].age_us / 1e6;
        const int n_restarts = b->made_up.jobs[j].restarts > 0 ? b->made_up.jobs[j].restarts - 1 : 0;
        const double factor = moved ? fmax(age - 30 * n_restarts, 0) / (age + 30) : 1;
        const double scaled = speedup * factor / b->made_up.gpus[0];
        sum += fairness_p != 0 ? pow(scaled + 1e-3, fairness_p) : log(fmax(scaled, 1e-3));
        speedups += speedup;
    }
    const double mean = sum / p->n_jobs;
    out[0] = -(fairness_p != 0 ? pow(mean, 1 / fairness_p) : exp(mean));
    out[1] = active > 0 ? -speedups / active : 0;
}

static void costs_are_the_published_ones(void **state)
{
    (void)state;
    struct rb_stream draws = stream(7);
    struct bench b;
    static const double exponents[] = {-1, 0, -0.5, 1};
    for (int i = 0; i < 400; i++) {
        uint64_t rows[MAX_JOBS * MAX_WORDS];
        make_up(&b.made_up, 1 + (int)rb_stream_below(&draws, MAX_JOBS), 1 + (int)rb_stream_below(&draws, MAX_NODES), 4);
        for (int j = 0; j < b.made_up.n_jobs; j++) {
            b.made_up.jobs[j].restarts = (int)rb_stream_below(&draws, 4);
            b.made_up.jobs[j].age_us = (int64_t)rb_stream_below(&draws, 200000000);
            if (rb_stream_below(&draws, 8) == 0)
                b.made_up.jobs[j].rate = NULL;
        }
        set_up(&b, exponents[i % 4]);
        random_rows(&b, &draws, b.base);
        rb_pollux_repair(&b.problem, &draws, b.base, b.left);
        memcpy(rows, b.base, sizeof rows);
        rb_pollux_mutate(&b.problem, &draws, rows, b.left);
        struct rb_pollux_search *search = malloc(sizeof *search);
        rb_pollux_search_init(search, &b.arena, &b.problem);
        rb_pollux_search_add(search, &draws, rows);
        double expected[2];
        plain_costs(&b, rb_pollux_rows_of(search, 0), exponents[i % 4], expected);
        for (int k = 0; k < 2; k++)
            assert_true(fabs(search->members[0].cost[k] - expected[k]) <= 1e-12 * fabs(expected[k]));
        assert_false(rb_pollux_search_add(search, &draws, rb_pollux_rows_of(search, 0)));
        free(search);
        rb_arena_finish(&b.arena);
    }
}

// ---- survival

static int count_better(const struct rb_pollux_member *members, const bool *gone, int n, int i)
{
    int n_better = 0;
    for (int k = 0; k < n; k++)
        n_better += !gone[k] && rb_pollux_dominance(&members[k], &members[i]) > 0;
    return n_better;
}

// Fronts peeled off one by one. out_front by slot.
static void plain_fronts(const struct rb_pollux_member *members, int n, int *out_front)
{
    bool gone[RB_POLLUX_SLOTS] = {false};
    for (int front = 0, n_gone = 0; n_gone < n; front++) {
        bool peeled[RB_POLLUX_SLOTS] = {false};
        for (int i = 0; i < n; i++)
            peeled[i] = !gone[i] && count_better(members, gone, n, i) == 0;
        for (int i = 0; i < n; i++) {
            if (peeled[i]) {
                gone[i] = true;
                out_front[members[i].slot] = front;
                n_gone++;
            }
        }
    }
}

static void the_best_fronts_survive(void **state)
{
    (void)state;
    struct rb_stream draws = stream(8);
    struct rb_pollux_member members[RB_POLLUX_SLOTS];
    int fronts[RB_POLLUX_SLOTS];
    for (int i = 0; i < 300; i++) {
        const int n = 1 + (int)rb_stream_below(&draws, RB_POLLUX_SLOTS),
                  n_kept = 1 + (int)rb_stream_below(&draws, (uint64_t)n);
        const uint64_t n_values = 2 + rb_stream_below(&draws, 60); // few: many ties
        for (int m = 0; m < n; m++) {
            members[m] = (struct rb_pollux_member){.slot = m};
            for (int k = 0; k < 2; k++)
                members[m].cost[k] = (double)rb_stream_below(&draws, n_values);
        }
        plain_fronts(members, n, fronts);
        const int n_front = rb_pollux_survive(members, n, n_kept, &draws);
        int n_first = 0;
        for (int m = 0; m < n_kept; m++) {
            n_first += fronts[members[m].slot] == 0;
            for (int k = n_kept; k < n; k++) {
                assert_true(fronts[members[m].slot] <= fronts[members[k].slot]);
                if (fronts[members[m].slot] == fronts[members[k].slot])
                    assert_true(members[m].crowding >= members[k].crowding);
            }
        }
        assert_int_equal(n_front, n_first);
    }
}

static void crowding_is_half_the_box(void **state)
{
    (void)state;
    struct rb_stream draws = stream(9);
    struct rb_pollux_member m[] = {
        {.cost = {0, 10}, .slot = 0}, {.cost = {1, 6}, .slot = 1},  {.cost = {1, 6}, .slot = 2},
        {.cost = {4, 5}, .slot = 3},  {.cost = {10, 0}, .slot = 4}, {.cost = {11, 11}, .slot = 5},
    };
    // The front's extent is 10 in both costs. The second of two equals counts nothing; two alone are infinitely far apart.
    static const double expected[] = {INFINITY, (0.4 + 0.5) / 2, 0, (0.9 + 0.6) / 2, INFINITY, INFINITY};
    assert_int_equal(rb_pollux_survive(m, 6, 6, &draws), 5);
    for (int i = 0; i < 6; i++) {
        if (isinf(expected[m[i].slot]))
            assert_true(isinf(m[i].crowding));
        else
            assert_true(fabs(m[i].crowding - expected[m[i].slot]) < 1e-12);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_eight_nodes),
        cmocka_unit_test(repair_favours_the_earlier_row),
        cmocka_unit_test(repair_keeps_to_the_limits_of_jobs),
        cmocka_unit_test(crossover_swaps_the_first_rows),
        cmocka_unit_test(empty_nodes_are_grown_into),
        cmocka_unit_test(rows_are_reset_and_erased),
        cmocka_unit_test(costs_are_the_published_ones),
        cmocka_unit_test(the_best_fronts_survive),
        cmocka_unit_test(crowding_is_half_the_box),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
