// Who gets how many GPUs of which node under Tiresias and Optimus, round by round, and the placement they have in common.
#include "check.h"

#include "base/stream.h"
#include "engine/sharing/place.h"
#include "sharing_jobs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define HOUR_US (INT64_C(3600) * 1000000)

static void make_asking(struct made_up *m, const int *gpus, int n_jobs, int n_nodes)
{
    make_up(m, n_jobs, n_nodes, 4);
    for (int j = 0; j < n_jobs; j++)
        m->jobs[j].asked_gpus = gpus[j];
}

// "40 13 00": a row a job, a digit a node.
static void division_is(const struct made_up *m, const char *expected)
{
    char got[MAX_JOBS * (MAX_NODES + 1) + 1];
    int at = 0;
    for (int j = 0; j < m->n_jobs; j++) {
        for (int n = 0; n < m->cluster.n_nodes; n++)
            at += snprintf(got + at, sizeof got - (size_t)at, "%d", m->held[j * m->cluster.n_nodes + n]);
        at += snprintf(got + at, sizeof got - (size_t)at, "%s", j + 1 < m->n_jobs ? " " : "");
    }
    if (strcmp(got, expected) != 0)
        fail_msg("divided as %s, expected %s", got, expected);
}

static void *start(const struct rb_sharing *policy)
{
    struct rb_err err;
    void *state;
    const struct rb_sharing_options options = {.restart_us = 30000000, .round_us = 60000000, .fairness_p = -1};
    if (!policy->create(&options, &state, &err))
        fail_msg("%s", err.message);
    return state;
}

static void gpus_come_from_the_freest_node_first(void **state)
{
    (void)state;
    int gpus[] = {2, 4, 3}, row[3] = {0};
    const struct rb_shared_cluster cluster = {3, gpus};
    struct rb_free_gpus f;
    rb_free_gpus_init(&f, &cluster);
    rb_free_gpus_take(&f, 6, row);
    assert_int_equal(row[1], 4);
    assert_int_equal(row[2], 2);
    assert_int_equal(f.total, 3);
    rb_free_gpus_take(&f, 1, row); // two are free on node 0, one on node 2
    assert_int_equal(row[0], 1);
    rb_free_gpus_finish(&f);
}

static void tiresias_serves_first_come_and_passes_over_what_does_not_fit(void **state)
{
    (void)state;
    struct made_up m;
    const struct rb_sharing *tiresias = rb_sharing_find("tiresias");
    void *s = start(tiresias);
    make_asking(&m, (int[]){3, 6, 4, 1}, 4, 2);
    divide(&m, tiresias, s, 60);
    division_is(&m, "30 00 04 10");
    divide(&m, tiresias, s, 120);
    division_is(&m, "30 00 04 10"); // who runs stays where it is
    tiresias->destroy(s);
}

// 16 GPU-hours: 4 hours on 4 GPUs. Who has had them gives way to everybody who has not, and never comes back up.
static void tiresias_demotes_for_good(void **state)
{
    (void)state;
    struct made_up m;
    const struct rb_sharing *tiresias = rb_sharing_find("tiresias");
    void *s = start(tiresias);
    make_asking(&m, (int[]){4, 8}, 2, 2);
    divide(&m, tiresias, s, 60);
    division_is(&m, "40 00");
    m.jobs[0].executed_us = 4 * HOUR_US - 1;
    divide(&m, tiresias, s, 120);
    division_is(&m, "40 00");
    m.jobs[0].executed_us = 4 * HOUR_US;
    divide(&m, tiresias, s, 180);
    division_is(&m, "00 44");
    m.jobs[1].executed_us = 2 * HOUR_US; // 16 GPU-hours, too: now behind the first
    divide(&m, tiresias, s, 240);
    division_is(&m, "40 00");
    tiresias->destroy(s);
}

// Seconds left on a number of GPUs, by a table that every job carries.
struct table {
    double left_s[9]; // from 1 GPU on; 0: cannot run
};

static double by_table(const void *arg, int gpus)
{
    const struct table *t = arg;
    return gpus <= 8 && t->left_s[gpus] > 0 ? t->left_s[gpus] : INFINITY;
}

static void give_tables(struct made_up *m, const struct table *tables)
{
    for (int j = 0; j < m->n_jobs; j++) {
        m->jobs[j].oracle_s = by_table;
        m->jobs[j].arg = &tables[j];
    }
}

static void optimus_follows_the_largest_saving(void **state)
{
    (void)state;
    struct made_up m;
    const struct rb_sharing *optimus = rb_sharing_find("optimus");
    // Saves 50, 10, 1; 40, 30, 20; the third gains nothing, the fourth cannot use a second GPU.
    const struct table tables[] = {{{0, 100, 50, 40, 39}}, {{0, 100, 60, 30, 10}}, {{0, 5, 5, 6}}, {{0, 1000}}};
    void *s = start(optimus);
    make_up(&m, 4, 2, 4);
    give_tables(&m, tables);
    divide(&m, optimus, s, 60); // one each, then 50, 40, 30, 20; placed from few GPUs to many
    division_is(&m, "20 13 10 01");
    divide(&m, optimus, s, 120);
    division_is(&m, "20 13 10 01");
    optimus->destroy(s);
}

static void optimus_serves_the_first_where_gpus_run_out(void **state)
{
    (void)state;
    struct made_up m;
    const struct rb_sharing *optimus = rb_sharing_find("optimus");
    struct table tables[6];
    void *s = start(optimus);
    make_up(&m, 6, 1, 4);
    for (int j = 0; j < 6; j++)
        tables[j] = (struct table){{0, 100.0 + j, 50}};
    give_tables(&m, tables);
    divide(&m, optimus, s, 60);
    division_is(&m, "1 1 1 1 0 0");
    optimus->destroy(s);
}

// Against handing out one GPU after another by looking at all jobs every time.
static void hand_out_slowly(const struct table *tables, int n_jobs, int n_gpus, int *out)
{
    for (int j = 0; j < n_jobs; j++) {
        out[j] = n_gpus > 0;
        n_gpus -= out[j];
    }
    for (; n_gpus > 0; n_gpus--) {
        int best = -1;
        double most = 0;
        for (int j = 0; j < n_jobs; j++) {
            const double gain = out[j] ? by_table(&tables[j], out[j]) - by_table(&tables[j], out[j] + 1) : 0;
            if (gain > most) {
                most = gain;
                best = j;
            }
        }
        if (best < 0)
            return;
        out[best]++;
    }
}

static void optimus_is_greedy_on_random_jobs(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct made_up m;
        struct table tables[MAX_JOBS];
        struct rb_stream draws;
        int expected[MAX_JOBS];
        void *s = start(rb_sharing_find("optimus"));
        rb_stream_init(&draws, &(struct rb_stream_key){.seed = seed, .purpose = RB_DRAW_SEARCH});
        const int n_jobs = 1 + (int)rb_stream_below(&draws, MAX_JOBS), n_nodes = 1 + (int)rb_stream_below(&draws, 8);
        make_up(&m, n_jobs, n_nodes, 4);
        for (int j = 0; j < n_jobs; j++) {
            tables[j].left_s[1] = 50 + (double)rb_stream_below(&draws, 8); // ties are common
            for (int g = 2; g <= 8; g++)
                tables[j].left_s[g] = tables[j].left_s[g - 1] - (double)rb_stream_below(&draws, 6) + 1;
        }
        give_tables(&m, tables);
        divide(&m, rb_sharing_find("optimus"), s, 60);
        hand_out_slowly(tables, n_jobs, 4 * n_nodes, expected);
        for (int j = 0; j < n_jobs; j++)
            assert_int_equal(gpus_of(&m, j), expected[j]);
    }
}

static void policies_are_found_by_name_in_order(void **state)
{
    (void)state;
    assert_null(rb_sharing_find("optimum"));
    for (int i = 0; rb_sharings[i]; i++) {
        assert_ptr_equal(rb_sharing_find(rb_sharings[i]->name), rb_sharings[i]);
        assert_true(i == 0 || strcmp(rb_sharings[i - 1]->name, rb_sharings[i]->name) < 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpus_come_from_the_freest_node_first),
        cmocka_unit_test(tiresias_serves_first_come_and_passes_over_what_does_not_fit),
        cmocka_unit_test(tiresias_demotes_for_good),
        cmocka_unit_test(optimus_follows_the_largest_saving),
        cmocka_unit_test(optimus_serves_the_first_where_gpus_run_out),
        cmocka_unit_test(optimus_is_greedy_on_random_jobs),
        cmocka_unit_test(policies_are_found_by_name_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
