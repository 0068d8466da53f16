// Pollux as a policy: what it divides, against every division there is on tiny clusters; and from round to round.
#include "engine/sharing/sharings.h"

#include "check.h"
#include "sharing_jobs.h"

#include <string.h>

static void *begin(uint64_t seed)
{
    const struct rb_sharing_options options = {
        .seed = seed, .restart_us = 30000000, .round_us = 60000000, .fairness_p = -1, .avoid_interference = true};
    void *state;
    assert_true(rb_sharing_pollux.create(&options, &state, NULL));
    return state;
}

static void every_division_can_be_carried_out(void **state)
{
    (void)state;
    struct rb_stream draws;
    struct made_up m;
    for (uint32_t i = 0; i < 25; i++) {
        rb_stream_init(&draws, &(struct rb_stream_key){.seed = 1, .purpose = RB_DRAW_SEARCH, .index = i});
        make_up_at_random(&m, &draws);
        void *policy = begin(i);
        for (int round = 0; round < 2; round++)
            divide(&m, &rb_sharing_pollux, policy, round * INT64_C(60000000)); // checks
        rb_sharing_pollux.destroy(policy);
    }
}

static void a_seed_is_a_result(void **state)
{
    (void)state;
    struct made_up a, b;
    make_up(&a, 9, 8, 4);
    make_up(&b, 9, 8, 4);
    void *pa = begin(5), *pb = begin(5);
    for (int round = 0; round < 3; round++) {
        divide(&a, &rb_sharing_pollux, pa, round);
        divide(&b, &rb_sharing_pollux, pb, round);
        assert_memory_equal(a.division, b.division, sizeof a.division);
    }
    rb_sharing_pollux.destroy(pa);
    rb_sharing_pollux.destroy(pb);
}

// All divisions of 2 nodes with 3 GPUs between 3 jobs, by counting in base 4.
static double best_of_all(struct made_up *m)
{
    double best = 0;
    for (int code = 0; code < 4096; code++) {
        int used[2] = {0, 0}, n_spanning = 0;
        for (int i = 0, rest = code; i < 6; i++, rest /= 4) {
            m->division[i] = rest % 4;
            used[i % 2] += rest % 4;
        }
        for (int j = 0; j < 3; j++)
            n_spanning += nodes_of(m, j) > 1;
        if (used[0] <= 3 && used[1] <= 3 && n_spanning <= 1 && harmonic_mean(m) > best)
            best = harmonic_mean(m);
    }
    return best;
}

static void tiny_clusters_are_divided_in_the_best_way(void **state)
{
    (void)state;
    struct rb_stream draws;
    struct made_up m;
    rb_stream_init(&draws, &(struct rb_stream_key){.seed = 2, .purpose = RB_DRAW_SEARCH});
    for (uint64_t i = 0; i < 10; i++) {
        make_up(&m, 3, 2, 3);
        for (int j = 0; j < 3; j++) {
            // On its fair share, 2 GPUs, everybody does the same: speed-ups and rates agree up to a factor.
            const double overhead = 0.5 * rb_stream_uniform(&draws);
            m.models[j] = (struct made_up_model){.overhead = overhead, .network = rb_stream_uniform(&draws)};
            m.jobs[j].age_us = INT64_C(3600000000) * 24 * 365; // a restart costs nothing
        }
        m.models[1].overhead = m.models[2].overhead = m.models[0].overhead;
        void *policy = begin(i);
        divide(&m, &rb_sharing_pollux, policy, 0);
        const double found = harmonic_mean(&m);
        assert_true(found > best_of_all(&m) * (1 - 1e-6));
        rb_sharing_pollux.destroy(policy);
    }
}

static void jobs_that_span_nodes_keep_apart(void **state)
{
    (void)state;
    struct made_up m;
    int n_spanning = 0;
    make_up(&m, 5, 8, 4);
    void *policy = begin(1);
    for (int round = 0; round < 4; round++) {
        divide(&m, &rb_sharing_pollux, policy, round);
        for (int n = 0; n < 8; n++) {
            int n_here = 0;
            for (int j = 0; j < 5; j++)
                n_here += nodes_of(&m, j) > 1 && m.division[j * 8 + n] > 0;
            assert_true(n_here <= 1);
            n_spanning += n_here;
        }
    }
    assert_true(n_spanning > 0);
    rb_sharing_pollux.destroy(policy);
}

static void it_settles_and_adapts(void **state)
{
    (void)state;
    struct made_up m;
    make_up(&m, 8, 16, 4);
    void *policy = begin(3);
    double first = 0, last = 0;
    for (int round = 0; round < 12; round++) {
        for (int j = 0; j < m.n_jobs; j++)
            m.jobs[j].age_us += 60000000;
        divide(&m, &rb_sharing_pollux, policy, round * INT64_C(60000000));
        last = harmonic_mean(&m);
        first = round == 0 ? last : first;
    }
    assert_true(last >= first);
    assert_int_equal(divide(&m, &rb_sharing_pollux, policy, 0), 0);
    // The first job ends, a new one comes: it gets GPUs, and from then on everybody has some.
    memmove(m.held, m.held + 16, sizeof m.held - 16 * sizeof *m.held);
    for (int j = 0; j < 7; j++)
        m.jobs[j].id = j + 1;
    m.jobs[7].id = 8;
    m.jobs[7].restarts = 0;
    m.jobs[7].age_us = 0;
    memset(m.held + 7 * 16, 0, 16 * sizeof *m.held);
    for (int round = 0; round < 8; round++) {
        for (int j = 0; j < m.n_jobs; j++)
            m.jobs[j].age_us += 60000000;
        divide(&m, &rb_sharing_pollux, policy, 0);
    }
    for (int j = 0; j < 8; j++)
        assert_true(gpus_of(&m, j) > 0);
    rb_sharing_pollux.destroy(policy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_division_can_be_carried_out),
        cmocka_unit_test(a_seed_is_a_result),
        cmocka_unit_test(tiny_clusters_are_divided_in_the_best_way),
        cmocka_unit_test(jobs_that_span_nodes_keep_apart),
        cmocka_unit_test(it_settles_and_adapts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
