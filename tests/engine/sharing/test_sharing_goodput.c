// Our division of a cluster: the choice of sizes against all choices there are, the search for gaps, and what the policy
// promises: bursts are let in at once, least work left goes first, no one moves for little, deadlines and weights count.
#include "engine/sharing/goodput.h"
#include "engine/sharing/goodput_choice.h"
#include "engine/sharing/goodput_place.h"
#include "engine/sharing/sharings.h"

#include "check.h"
#include "sharing_jobs.h"

#include <math.h>
#include <string.h>

#define HOUR_US (INT64_C(3600) * 1000000)

static struct rb_stream stream(uint32_t index)
{
    struct rb_stream s;
    rb_stream_init(&s, &(struct rb_stream_key){.seed = 11, .purpose = RB_DRAW_SEARCH, .index = index});
    return s;
}

static void *begin(void)
{
    const struct rb_sharing_options options = {
        .restart_us = 30000000, .round_us = 60000000, .fairness_p = NAN, .avoid_interference = true};
    void *state;
    assert_true(rb_sharing_goodput.create(&options, &state, NULL));
    return state;
}

// One division of a fresh policy.
static int divide_once(struct made_up *m)
{
    void *policy = begin();
    const int n_moved = divide(m, &rb_sharing_goodput, policy, 0);
    rb_sharing_goodput.destroy(policy);
    return n_moved;
}

// ---- sizes

#define N_OPTIONS 4

static double value_of(const struct rb_size_choices *jobs, int n_jobs, const int *chosen, int *out_gpus)
{
    double value = 0;
    *out_gpus = 0;
    for (int j = 0; j < n_jobs; j++) {
        value += jobs[j].options[chosen[j]].value;
        *out_gpus += jobs[j].options[chosen[j]].gpus;
    }
    return value;
}

static double best_of_all(const struct rb_size_choices *jobs, int n_jobs, int n_gpus)
{
    double best = -INFINITY;
    for (int code = 0; code < 1 << (2 * n_jobs); code++) {
        int chosen[6], gpus;
        for (int j = 0; j < n_jobs; j++)
            chosen[j] = code >> (2 * j) & 3;
        const double value = value_of(jobs, n_jobs, chosen, &gpus);
        best = gpus <= n_gpus ? fmax(best, value) : best;
    }
    return best;
}

static void no_other_sizes_are_worth_more(void **state)
{
    (void)state;
    struct rb_stream draws = stream(1);
    for (int i = 0; i < 300; i++) {
        struct rb_size_choice options[6][N_OPTIONS];
        struct rb_size_choices jobs[6];
        struct rb_arena arena;
        int chosen[6], gpus;
        const int n_jobs = 1 + (int)rb_stream_below(&draws, 6), n_gpus = (int)rb_stream_below(&draws, 24);
        for (int j = 0; j < n_jobs; j++) {
            for (int o = 0; o < N_OPTIONS; o++)
                options[j][o] = (struct rb_size_choice){o == 0 ? 0 : 1 + (int)rb_stream_below(&draws, 12),
                                                        rb_stream_uniform(&draws) - 0.3};
            jobs[j] = (struct rb_size_choices){options[j], N_OPTIONS};
        }
        rb_arena_init(&arena);
        rb_choose_sizes(&arena, jobs, n_jobs, n_gpus, chosen);
        const double value = value_of(jobs, n_jobs, chosen, &gpus);
        assert_true(gpus <= n_gpus);
        assert_true(fabs(value - best_of_all(jobs, n_jobs, n_gpus)) < 1e-9);
        rb_arena_finish(&arena);
    }
}

// ---- gaps

static void gaps_are_found(void **state)
{
    (void)state;
    static const struct {
        const char *free, *spanning; // a digit a node
        int gpus, nodes;             // 0 nodes: there is no room
        const char *row;
    } cases[] = {
        {"4444", "0000", 4, 1, "4000"}, {"4214", "0000", 2, 1, "0200"}, // the tightest gap
        {"4214", "0000", 1, 1, "0010"}, {"4444", "0000", 8, 2, "4400"},
        {"4324", "0000", 6, 2, "4020"}, // whole nodes, then the tightest gap for the rest
        {"3330", "0000", 4, 2, "3100"}, // nothing whole is free
        {"4444", "1000", 8, 2, "0440"}, // no one spans where somebody does
        {"4444", "1110", 8, 0, ""},     {"4444", "1111", 4, 1, "4000"}, // who stays on one node may
        {"1111", "0000", 5, 0, ""},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct rb_arena arena;
        struct rb_gaps g;
        int gpus[4] = {4, 4, 4, 4}, row[4] = {0};
        const struct rb_shared_cluster cluster = {4, gpus};
        rb_arena_init(&arena);
        rb_gaps_init(&g, &arena, &cluster, true);
        for (int n = 0; n < 4; n++) {
            g.free[n] = cases[i].free[n] - '0';
            g.n_spanning[n] = cases[i].spanning[n] - '0';
        }
        assert_int_equal(rb_gaps_find(&g, cases[i].gpus, row), cases[i].nodes);
        for (int n = 0; n < 4; n++) {
            const int expected = cases[i].nodes > 0 ? cases[i].row[n] - '0' : 0;
            assert_int_equal(row[n], expected);
            assert_int_equal(g.free[n], cases[i].free[n] - '0' - expected);
        }
        rb_arena_finish(&arena);
    }
}

static void a_row_that_is_taken_is_gone(void **state)
{
    (void)state;
    struct rb_arena arena;
    struct rb_gaps g;
    int gpus[3] = {4, 4, 4};
    const struct rb_shared_cluster cluster = {3, gpus};
    rb_arena_init(&arena);
    rb_gaps_init(&g, &arena, &cluster, true);
    assert_true(rb_gaps_take(&g, (int[]){2, 4, 0}));
    assert_false(rb_gaps_take(&g, (int[]){3, 0, 0})); // too few are left
    assert_false(rb_gaps_take(&g, (int[]){1, 0, 1})); // node 0 has a job that spans nodes
    assert_true(rb_gaps_take(&g, (int[]){2, 0, 0}));
    rb_arena_finish(&arena);
}

// ---- the policy

static void every_division_can_be_carried_out(void **state)
{
    (void)state;
    struct made_up m;
    for (uint32_t i = 0; i < 400; i++) {
        struct rb_stream draws = stream(100 + i);
        make_up_at_random(&m, &draws);
        for (int j = 0; j < m.n_jobs; j++)
            m.jobs[j].left = rb_stream_below(&draws, 2) ? 1e5 * rb_stream_uniform(&draws) : 0;
        void *policy = begin();
        for (int round = 0; round < 4; round++) {
            divide(&m, &rb_sharing_goodput, policy, 0); // checks
            for (int j = 0; j < m.n_jobs; j++) {
                m.jobs[j].age_us += 60000000;
                m.jobs[j].max_gpus = 1 + (int)rb_stream_below(&draws, 64);
            }
        }
        rb_sharing_goodput.destroy(policy);
    }
}

static void a_burst_is_let_in_at_once(void **state)
{
    (void)state;
    struct made_up m;
    make_up(&m, 20, 16, 4);
    for (int j = 1; j < 20; j++)
        m.jobs[j].max_gpus = 0; // not there yet
    divide_once(&m);
    assert_true(gpus_of(&m, 0) >= 32);
    for (int j = 1; j < 20; j++)
        m.jobs[j].max_gpus = 64;
    divide_once(&m);
    for (int j = 0; j < 20; j++)
        assert_true(gpus_of(&m, j) >= 1);
}

static void what_is_settled_stays(void **state)
{
    (void)state;
    struct made_up m;
    make_up(&m, 12, 16, 4);
    for (int j = 0; j < 12; j++)
        m.models[j].overhead = 0.01 * j;
    for (int round = 0; round < 3; round++)
        divide_once(&m);
    for (int round = 0; round < 10; round++) {
        for (int j = 0; j < 12; j++)
            m.jobs[j].age_us += 60000000;
        assert_int_equal(divide_once(&m), 0);
    }
}

// One job holds 2 of 8 GPUs and could have all of them: 3.1 times the speed.
static void no_one_moves_more_often_than_its_age_has_room_for(void **state)
{
    (void)state;
    static const struct {
        int64_t age_s;
        int restarts; // the start counts
        bool moves;
    } cases[] = {{60, 1, true}, {60, 3, false}, {600, 2, true}, {600, 10, true}, {600, 20, false}, {36000, 20, true}};
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct made_up m;
        make_up(&m, 1, 1, 8);
        m.held[0] = 2;
        m.jobs[0].age_us = cases[i].age_s * 1000000;
        m.jobs[0].restarts = cases[i].restarts;
        assert_int_equal(divide_once(&m), cases[i].moves);
    }
}

static void least_work_left_goes_first(void **state)
{
    (void)state;
    struct made_up m;
    make_up(&m, 8, 4, 4);
    for (int j = 0; j < 8; j++)
        m.jobs[j].left = 1000 * (j + 1);
    divide_once(&m);
    assert_true(gpus_of(&m, 0) > gpus_of(&m, 7));
    for (int j = 1; j < 8; j++)
        assert_true(gpus_of(&m, j) <= gpus_of(&m, j - 1));
}

static void where_no_one_declared_least_service_goes_first(void **state)
{
    (void)state;
    struct made_up m;
    make_up(&m, 8, 4, 4);
    for (int j = 0; j < 8; j++)
        m.jobs[j].attained_gpu_s = 1000 * (8 - j);
    divide_once(&m);
    assert_true(gpus_of(&m, 7) > gpus_of(&m, 0));
}

static void deadlines_and_weights_count(void **state)
{
    (void)state;
    struct made_up m;
    for (int k = 0; k < 3; k++) {
        make_up(&m, 8, 4, 4);
        for (int j = 0; j < 8; j++)
            m.jobs[j].left = 4000;
        if (k == 1)
            m.jobs[5].weight = 4;
        if (k == 2) // 4,000 / 2 seconds or so on the fair share, 900 are left
            m.jobs[5].deadline_us = m.jobs[5].age_us + 900 * INT64_C(1000000);
        divide_once(&m);
        for (int j = 0; j < 8; j++)
            assert_true(k == 0 ? gpus_of(&m, j) == 2 : j == 5 || gpus_of(&m, j) < gpus_of(&m, 5));
    }
    m.jobs[5].deadline_us = m.jobs[5].age_us; // it has passed: nothing can be won
    memset(m.held, 0, sizeof m.held);
    divide_once(&m);
    for (int j = 0; j < 8; j++)
        assert_int_equal(gpus_of(&m, j), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_other_sizes_are_worth_more),
        cmocka_unit_test(gaps_are_found),
        cmocka_unit_test(a_row_that_is_taken_is_gone),
        cmocka_unit_test(every_division_can_be_carried_out),
        cmocka_unit_test(a_burst_is_let_in_at_once),
        cmocka_unit_test(what_is_settled_stays),
        cmocka_unit_test(no_one_moves_more_often_than_its_age_has_room_for),
        cmocka_unit_test(least_work_left_goes_first),
        cmocka_unit_test(where_no_one_declared_least_service_goes_first),
        cmocka_unit_test(deadlines_and_weights_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
