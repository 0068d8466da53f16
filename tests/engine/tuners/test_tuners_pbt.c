// Population based training: who gives up, who is copied, and what becomes of members that fail.
#include "engine/core/tuner.h"

#include "base/arena.h"
#include "base/stream.h"
#include "base/text/buf.h"

#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct population {
    struct rb_setting settings[3];
    struct rb_job job;
    const struct rb_tuner *tuner;
    void *state;
};

static void describe(struct population *p, int n, int64_t every, int64_t max_resource, double quantile,
                     bool asynchronous)
{
    *p = (struct population){.tuner = rb_tuner_find("pbt")};
    p->settings[0] =
        (struct rb_setting){.key = "ready_every", .kind = RB_NODE_INT, .number = (double)every, .text = ""};
    p->settings[1] = (struct rb_setting){.key = "quantile", .kind = RB_NODE_FLOAT, .number = quantile, .text = ""};
    p->settings[2] =
        (struct rb_setting){.key = "asynchronous", .kind = RB_NODE_BOOL, .boolean = asynchronous, .text = ""};
    p->job = (struct rb_job){.seed = 7,
                             .scheduler = {.type = "pbt",
                                           .num_trials = n,
                                           .min_resource = 1,
                                           .max_resource = max_resource,
                                           .eta = 3,
                                           .brackets = 1,
                                           .unit = "epoch",
                                           .options = {p->settings, 3}}};
}

static void begin(struct population *p, int n, int64_t every, int64_t max_resource, double quantile, bool asynchronous)
{
    struct rb_err err;
    describe(p, n, every, max_resource, quantile, asynchronous);
    if (!p->tuner->create(&p->job, &p->state, &err))
        fail_msg("%s", err.message);
}

static void finish(struct population *p)
{
    p->tuner->destroy(p->state);
}

// "stage 1, 2-4: 0 2 3 4<3 drops 1": the clone 4 goes on from trial 3.
static void group_text(const struct rb_group *g, char *out, size_t size)
{
    size_t at = (size_t)snprintf(out, size, "stage %d, %lld-%lld:", g->stage, (long long)g->resource_start,
                                 (long long)g->resource_end);
    for (int i = 0; i < g->n_trials; i++) {
        at += (size_t)snprintf(out + at, size - at, " %d", g->trials[i]);
        if (g->parents && g->parents[i] >= 0)
            at += (size_t)snprintf(out + at, size - at, "<%d", g->parents[i]);
    }
    for (int i = 0; i < g->n_dropped; i++)
        at += (size_t)snprintf(out + at, size - at, i ? " %d" : " drops %d", g->dropped[i]);
}

static void expect_group(struct population *p, const char *expected)
{
    struct rb_group g;
    char text[512];
    assert_int_equal(p->tuner->next(p->state, &g), RB_TUNER_GROUP);
    group_text(&g, text, sizeof text);
    assert_string_equal(text, expected);
}

static void expect(struct population *p, enum rb_tuner_next expected)
{
    struct rb_group g;
    assert_int_equal(p->tuner->next(p->state, &g), expected);
}

static void score(struct population *p, int trial, int64_t resource, double value)
{
    p->tuner->ended(p->state, trial, resource, value);
}

// ---- stages

static void stages_are_equal_but_the_last(void **unused)
{
    (void)unused;
    struct population p;
    struct rb_rung_table table;
    struct rb_err err;
    describe(&p, 10, 4, 10, 0.2, false);
    assert_true(rb_rungs_of_job(&p.job, &table, &err));
    assert_int_equal(table.n, 3);
    static const int64_t ends[] = {4, 8, 10};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(table.rungs[i].trials, 10);
        assert_int_equal(table.rungs[i].resource_start, i ? ends[i - 1] : 0);
        assert_int_equal(table.rungs[i].resource_end, ends[i]);
    }
    assert_false(rb_job_is_asynchronous(&p.job));
    describe(&p, 10, 4, 10, 0.2, true);
    assert_true(rb_job_is_asynchronous(&p.job));
}

static void expect_refused(const struct population *p, const char *words)
{
    struct rb_rung_table table;
    struct rb_err err = {0};
    assert_false(rb_rungs_of_job(&p->job, &table, &err));
    assert_says(&err, words);
}

static void what_does_not_fit_is_refused(void **unused)
{
    (void)unused;
    struct population p;
    describe(&p, 10, 1, 65, 0.2, false);
    expect_refused(&p, "RB1207 65 stages");
    expect_refused(&p, "use ready_every: 2 or more");
    describe(&p, 131072, 5, 10, 0.2, false);
    expect_refused(&p, "RB1207 may need 262144 trials");
    describe(&p, 10, 1, 10, 0.51, false);
    expect_refused(&p, "from 0.01 to 0.5");
    describe(&p, 10, 1, 10, 0, false);
    expect_refused(&p, "from 0.01 to 0.5");
    describe(&p, 10, 1, 10, 0.2, false);
    p.job.starts_over = true;
    expect_refused(&p, "RB1206 checkpoint.resume: false");
    describe(&p, 10, 1, 10, 0.2, false);
    p.job.scheduler.options.items++;
    p.job.scheduler.options.n--;
    expect_refused(&p, "scheduler.ready_every");
    describe(&p, 10, 1, 10, 0.2, false);
    p.settings[1].key = "fraction";
    expect_refused(&p, "scheduler.type: pbt has no such option");
}

// ---- all together

static void the_worst_go_on_from_the_best(void **unused)
{
    (void)unused;
    static const double scores[] = {0.5, 0.1, 0.6, 0.9, 0.3};
    struct population p;
    begin(&p, 5, 2, 6, 0.2, false);
    expect_group(&p, "stage 0, 0-2: 0 1 2 3 4");
    for (int i = 0; i < 5; i++) {
        expect(&p, RB_TUNER_WAIT);
        score(&p, i, 2, scores[i]);
    }
    expect_group(&p, "stage 1, 2-4: 0 2 3 4 5<3 drops 1");
    assert_int_equal(p.tuner->phase(p.state), 1);
    score(&p, 5, 4, 0.95);
    score(&p, 0, 4, 0.2);
    score(&p, 2, 4, 0.7);
    score(&p, 3, 4, 0.9);
    score(&p, 4, 4, 0.4);
    expect_group(&p, "stage 2, 4-6: 2 3 4 5 6<5 drops 0");
    for (int i = 2; i < 7; i++)
        score(&p, i, 6, i);
    expect(&p, RB_TUNER_DONE); // no one is copied at the end
    finish(&p);
}

static void equals_rank_by_number(void **unused)
{
    (void)unused;
    struct population p;
    begin(&p, 4, 1, 2, 0.25, false);
    expect_group(&p, "stage 0, 0-1: 0 1 2 3");
    for (int i = 3; i >= 0; i--)
        score(&p, i, 1, 0.5);
    expect_group(&p, "stage 1, 1-2: 0 1 2 4<0 drops 3");
    finish(&p);
}

static void the_failed_are_replaced(void **unused)
{
    (void)unused;
    struct population p;
    begin(&p, 6, 1, 3, 0.2, false);
    expect_group(&p, "stage 0, 0-1: 0 1 2 3 4 5");
    p.tuner->failed(p.state, 1);
    score(&p, 0, 1, -INFINITY); // diverged
    score(&p, 2, 1, 0.1);
    p.tuner->failed(p.state, 5);
    score(&p, 3, 1, 0.3);
    score(&p, 4, 1, 0.2);
    // More failed than would give up, so no one else does; two of six are copied, not three of three.
    struct rb_group g;
    assert_int_equal(p.tuner->next(p.state, &g), RB_TUNER_GROUP);
    assert_int_equal(g.n_trials, 6);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(g.trials[i], i + 2);
        assert_int_equal(g.parents[i], -1);
        assert_int_equal(g.trials[i + 3], i + 6);
        assert_in_range(g.parents[i + 3], 3, 4);
    }
    for (int i = 2; i < 9; i++)
        if (i != 5)
            p.tuner->failed(p.state, i);
    expect(&p, RB_TUNER_DONE); // no one is left to copy
    finish(&p);
}

static void one_member_trains_alone(void **unused)
{
    (void)unused;
    struct population p;
    begin(&p, 1, 1, 2, 0.5, false);
    expect_group(&p, "stage 0, 0-1: 0");
    score(&p, 0, 1, 0.5);
    expect_group(&p, "stage 1, 1-2: 0");
    p.tuner->failed(p.state, 0);
    expect(&p, RB_TUNER_DONE);
    finish(&p);
}

// Of n members at most half give up, however the quantile rounds.
static void the_quantile_leaves_half(void **unused)
{
    (void)unused;
    static const struct {
        int n;
        double quantile;
        int give_up;
    } cases[] = {{2, 0.01, 1}, {3, 0.5, 1},  {5, 0.5, 2},   {5, 0.2, 1},
                 {6, 0.2, 2},  {15, 0.2, 3}, {20, 0.25, 5}, {8, 0.5, 4}};
    for (size_t c = 0; c < N_OF(cases); c++) {
        struct population p;
        struct rb_group g;
        begin(&p, cases[c].n, 1, 2, cases[c].quantile, false);
        assert_int_equal(p.tuner->next(p.state, &g), RB_TUNER_GROUP);
        for (int i = 0; i < cases[c].n; i++)
            score(&p, i, 1, i);
        assert_int_equal(p.tuner->next(p.state, &g), RB_TUNER_GROUP);
        assert_int_equal(g.n_trials, cases[c].n);
        assert_int_equal(g.n_dropped, cases[c].give_up);
        for (int i = 0; i < g.n_trials; i++)
            if (g.parents[i] >= 0)
                assert_true(g.parents[i] >= cases[c].n - cases[c].give_up);
        finish(&p);
    }
}

// ---- the order of results

enum { MANY = 20 };

static void shuffle(int *order, int n, struct rb_stream *s)
{
    for (int i = n - 1; i > 0; i--) {
        const int j = (int)rb_stream_below(s, (uint64_t)i + 1), kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
}

// Groups of a run whose results come in an order of its own; a quarter of the trials of a stage fail or diverge.
static void play(uint32_t run, bool in_order, struct rb_buf *out)
{
    struct population p;
    struct rb_group g;
    struct rb_stream s;
    rb_stream_init(&s, &(struct rb_stream_key){.seed = 1, .purpose = RB_DRAW_SEARCH, .index = run});
    begin(&p, MANY, 3, 30, 0.25, false);
    while (p.tuner->next(p.state, &g) == RB_TUNER_GROUP) {
        char text[512];
        int order[MANY];
        group_text(&g, text, sizeof text);
        rb_buf_printf(out, "%s\n", text);
        memcpy(order, g.trials, (size_t)g.n_trials * sizeof *order);
        if (!in_order)
            shuffle(order, g.n_trials, &s);
        const int64_t end = g.resource_end;
        for (int i = 0, n = g.n_trials; i < n; i++) {
            const int value = (order[i] * 37 + (int)end * 11) % 101;
            if (value < 13)
                p.tuner->failed(p.state, order[i]);
            else
                score(&p, order[i], end, value < 25 ? -INFINITY : value / 7);
        }
    }
    finish(&p);
}

static void the_order_of_results_changes_nothing(void **unused)
{
    (void)unused;
    RB_AUTO(rb_buf_finish) struct rb_buf expected = RB_BUF_INIT;
    play(0, true, &expected);
    assert_non_null(strstr(rb_buf_str(&expected), "stage 9, 27-30:"));
    for (uint32_t run = 1; run <= 50; run++) {
        RB_AUTO(rb_buf_finish) struct rb_buf got = RB_BUF_INIT;
        play(run, false, &got);
        assert_string_equal(rb_buf_str(&got), rb_buf_str(&expected));
    }
}

// Every one of the best is copied now and then, and about as often.
static void parents_are_drawn_evenly(void **unused)
{
    (void)unused;
    int n_of[MANY] = {0};
    for (uint64_t seed = 1; seed <= 400; seed++) {
        struct population p;
        struct rb_group g;
        describe(&p, MANY, 1, 2, 0.2, false);
        p.job.seed = seed;
        assert_true(p.tuner->create(&p.job, &p.state, NULL));
        assert_int_equal(p.tuner->next(p.state, &g), RB_TUNER_GROUP);
        for (int i = 0; i < MANY; i++)
            score(&p, i, 1, i);
        assert_int_equal(p.tuner->next(p.state, &g), RB_TUNER_GROUP);
        for (int i = 0; i < g.n_trials; i++)
            if (g.parents[i] >= 0)
                n_of[g.parents[i]]++;
        finish(&p);
    }
    for (int i = 0; i < MANY; i++) // 1600 clones of four parents; a standard deviation is 17
        assert_in_range(n_of[i], i < 16 ? 0 : 400 - 90, i < 16 ? 0 : 400 + 90);
}

// ---- one by one

static void members_are_compared_with_last_results(void **unused)
{
    (void)unused;
    struct population p;
    begin(&p, 4, 1, 3, 0.25, true);
    expect_group(&p, "stage 0, 0-1: 0 1 2 3");
    score(&p, 2, 1, 0.2);
    expect_group(&p, "stage 1, 1-2: 2"); // no one to compare with
    expect(&p, RB_TUNER_WAIT);
    score(&p, 0, 1, 0.1);
    expect_group(&p, "stage 1, 1-2: 4<2 drops 0"); // the worse of two
    assert_int_equal(p.tuner->phase(p.state), 0);
    score(&p, 1, 1, 0.3);
    expect_group(&p, "stage 1, 1-2: 1"); // better than the only other, which has a result of its own
    score(&p, 2, 2, 0.25);
    expect_group(&p, "stage 2, 2-3: 2"); // the worse, but no one better has trained as far
    score(&p, 3, 1, 0.01);
    expect_group(&p, "stage 1, 1-2: 5<1 drops 3");
    assert_int_equal(p.tuner->phase(p.state), 1);
    score(&p, 2, 3, 0.9); // at the end: compared with, but never copied
    score(&p, 1, 2, 0.4);
    expect_group(&p, "stage 2, 2-3: 1");
    score(&p, 4, 2, 0.1);
    expect_group(&p, "stage 2, 2-3: 4"); // the one that is better is at the end
    score(&p, 5, 2, 0.5);
    expect_group(&p, "stage 2, 2-3: 5");
    assert_int_equal(p.tuner->phase(p.state), 2);
    score(&p, 1, 3, 0.5);
    score(&p, 4, 3, 0.5);
    expect(&p, RB_TUNER_WAIT);
    score(&p, 5, 3, 0.5);
    expect(&p, RB_TUNER_DONE);
    finish(&p);
}

static void the_place_of_a_failed_member_waits(void **unused)
{
    (void)unused;
    struct population p;
    begin(&p, 3, 1, 3, 0.34, true);
    expect_group(&p, "stage 0, 0-1: 0 1 2");
    p.tuner->failed(p.state, 1);
    expect(&p, RB_TUNER_WAIT); // for somebody who has ended the stage
    score(&p, 0, 1, 0.5);
    expect_group(&p, "stage 1, 1-2: 0");
    expect_group(&p, "stage 1, 1-2: 3<0 drops 1");
    expect(&p, RB_TUNER_WAIT);
    p.tuner->failed(p.state, 3);
    p.tuner->failed(p.state, 2);
    expect_group(&p, "stage 1, 1-2: 4<0 drops 2"); // in the place of 2; that of 3 waits
    p.tuner->failed(p.state, 0);
    p.tuner->failed(p.state, 4);
    expect(&p, RB_TUNER_DONE);
    finish(&p);
}

// Every place trains each stage once at most, whatever fails: it ends, and the phase never falls.
static void asynchronous_populations_end(void **unused)
{
    (void)unused;
    for (uint32_t run = 0; run < 200; run++) {
        struct population p;
        struct rb_group g;
        struct rb_stream s;
        int at_work[1000], n = 0, n_groups = 0, n_full = 0, phase = 0;
        int64_t ends[1000];
        rb_stream_init(&s, &(struct rb_stream_key){.seed = 2, .purpose = RB_DRAW_SEARCH, .index = run});
        begin(&p, 8, 5, 48, 0.25, true);
        for (;;) {
            enum rb_tuner_next next;
            while ((next = p.tuner->next(p.state, &g)) == RB_TUNER_GROUP)
                for (int i = 0; i < g.n_trials; i++, n_groups++) {
                    assert_in_range(g.trials[i], 0, 999);
                    at_work[n++] = g.trials[i];
                    ends[g.trials[i]] = g.resource_end;
                }
            assert_true(p.tuner->phase(p.state) >= phase);
            phase = p.tuner->phase(p.state);
            if (next == RB_TUNER_DONE)
                break;
            const int at = (int)rb_stream_below(&s, (uint64_t)n), trial = at_work[at];
            at_work[at] = at_work[--n];
            if (run % 4 == 0 || rb_stream_below(&s, 8) > 0) {
                score(&p, trial, ends[trial], rb_stream_uniform(&s));
                n_full += ends[trial] == 48;
            } else {
                p.tuner->failed(p.state, trial);
            }
        }
        assert_int_equal(n, 0);
        assert_true(n_groups <= 8 * 10);
        assert_true(run % 4 != 0 || n_full == 8);
        finish(&p);
    }
}

static void closed_it_copies_no_one(void **unused)
{
    (void)unused;
    for (int asynchronous = 0; asynchronous <= 1; asynchronous++) {
        struct population p;
        begin(&p, 3, 1, 2, 0.34, asynchronous);
        expect_group(&p, "stage 0, 0-1: 0 1 2");
        p.tuner->close(p.state, RB_CLOSE_NEW);
        score(&p, 0, 1, 0.5);
        if (asynchronous)
            expect_group(&p, "stage 1, 1-2: 0");
        p.tuner->failed(p.state, 1);
        score(&p, 2, 1, 0.1);
        expect_group(&p, asynchronous ? "stage 1, 1-2: 2" : "stage 1, 1-2: 0 2");
        score(&p, 0, 2, 0.5);
        expect(&p, RB_TUNER_WAIT);
        score(&p, 2, 2, 0.5);
        expect(&p, RB_TUNER_DONE);
        finish(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stages_are_equal_but_the_last),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(the_worst_go_on_from_the_best),
        cmocka_unit_test(equals_rank_by_number),
        cmocka_unit_test(the_failed_are_replaced),
        cmocka_unit_test(one_member_trains_alone),
        cmocka_unit_test(the_quantile_leaves_half),
        cmocka_unit_test(the_order_of_results_changes_nothing),
        cmocka_unit_test(parents_are_drawn_evenly),
        cmocka_unit_test(members_are_compared_with_last_results),
        cmocka_unit_test(the_place_of_a_failed_member_waits),
        cmocka_unit_test(asynchronous_populations_end),
        cmocka_unit_test(closed_it_copies_no_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
