// ASHA: its decisions against a plain implementation on random histories, orders of arrival worked out by hand, the
// completion time of its paper, and its size.
#include "engine/core/tuner.h"

#include "base/arena.h"
#include "base/stream.h"

#include "asha_oracle.h"
#include "check.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static struct rb_job job_of(const struct rb_scheduler *s)
{
    struct rb_job job = {.scheduler = *s};
    job.scheduler.type = "asha";
    if (job.scheduler.brackets == 0)
        job.scheduler.brackets = 1;
    return job;
}

static void *create(const struct rb_tuner *tuner, const struct rb_job *job)
{
    void *state;
    struct rb_err err;
    if (!tuner->create(job, &state, &err))
        fail_msg("%s", err.message);
    return state;
}

// ---- random histories

#define MAX_WORKERS 8

struct worker {
    int trial; // -1: idle
    int64_t resource, end;
    bool gives_way;
};

struct history {
    struct rb_stream random;
    const struct rb_tuner *tuner;
    void *state;
    struct oracle oracle;
    struct worker workers[MAX_WORKERS];
    int n_workers;
    int phase;
    bool done;
};

static int below(struct history *h, int n)
{
    return (int)rb_stream_below(&h->random, (uint64_t)n);
}

// Few values, so that many are equal; one in nine diverges.
static double any_score(struct history *h)
{
    const int score = below(h, 9);
    return score == 8 ? -INFINITY : score / 4.0;
}

static struct rb_scheduler any_scheduler(struct history *h)
{
    struct rb_scheduler s = {.type = "asha", .eta = 2 + below(h, 3), .rule = (enum rb_rule)below(h, 3)};
    s.min_resource = 1 + below(h, 2);
    s.max_resource = s.min_resource + below(h, 1 + (h->n_workers > 1 ? 30 : 12));
    s.num_trials = 1 + below(h, below(h, 8) == 0 ? ORACLE_TRIALS : 14);
    int most = 1;
    for (int64_t r = s.min_resource * s.eta; r <= s.max_resource; r *= s.eta)
        most++;
    s.brackets = below(h, 2) ? 1 : 1 + below(h, most);
    return s;
}

static void check_phase(struct history *h)
{
    const int phase = h->tuner->phase(h->state);
    assert_int_equal(phase, oracle_phase(&h->oracle));
    assert_true(phase >= h->phase);
    h->phase = phase;
}

static void ask(struct history *h, struct worker *w)
{
    struct rb_group group;
    struct oracle_group expected;
    const enum rb_tuner_next next = h->tuner->next(h->state, &group);
    assert_int_equal(next, oracle_next(&h->oracle, &expected));
    h->done = next == RB_TUNER_DONE;
    if (next != RB_TUNER_GROUP)
        return;
    assert_int_equal(group.n_trials, 1);
    assert_int_equal(group.n_dropped, 0);
    assert_int_equal(group.trials[0], expected.trial);
    assert_int_equal(group.stage, expected.stage);
    assert_int_equal(group.resource_start, expected.start);
    assert_int_equal(group.resource_end, expected.end);
    *w = (struct worker){.trial = expected.trial, .resource = expected.start, .end = expected.end};
}

static void tell(struct history *h, int trial, int64_t resource, double score)
{
    h->tuner->ended(h->state, trial, resource, score);
    oracle_report(&h->oracle, trial, resource, score);
}

static void end(struct history *h, struct worker *w, int64_t resource, double score)
{
    tell(h, w->trial, resource, score);
    w->trial = -1;
}

static void report(struct history *h, struct worker *w)
{
    const double score = any_score(h);
    const enum rb_verdict verdict = h->tuner->reported(h->state, w->trial, w->resource, score);
    assert_int_equal(verdict, oracle_reported(&h->oracle, w->trial, w->resource, score));
    if (verdict == RB_VERDICT_STOP)
        w->trial = -1;
    w->gives_way = verdict == RB_VERDICT_PAUSE;
}

static void train(struct history *h, struct worker *w)
{
    if (w->gives_way && below(h, 2)) { // the checkpoint is where it was, or a little older
        end(h, w, w->resource, below(h, 6) / 4.0);
        return;
    }
    w->resource += 1 + below(h, 1 + below(h, 4));
    if (w->resource >= w->end)
        end(h, w, w->end, any_score(h));
    else if (below(h, 40) == 0)
        end(h, w, w->resource, -INFINITY); // failed
    else if (below(h, 40) == 0)
        end(h, w, w->resource, below(h, 6) / 4.0); // a policy pauses it
    else
        report(h, w);
}

// What was said already, or of no one.
static void say_again(struct history *h)
{
    const int trial = below(h, ORACLE_TRIALS + 2);
    for (int i = 0; i < h->n_workers; i++)
        if (h->workers[i].trial == trial)
            return;
    const int64_t resource = 1 + below(h, 30);
    tell(h, trial, resource, any_score(h));
    assert_int_equal(h->tuner->reported(h->state, trial, resource, any_score(h)), RB_VERDICT_CONTINUE);
}

static void close_some(struct history *h)
{
    const enum rb_tuner_close what = below(h, 2) ? RB_CLOSE_NEW : RB_CLOSE_ALL;
    h->tuner->close(h->state, what);
    oracle_close(&h->oracle, what);
}

static void one_history(uint32_t seed, int64_t n_decisions[3])
{
    static struct history h;
    h = (struct history){.tuner = rb_tuner_find("asha")};
    rb_stream_init(&h.random, &(struct rb_stream_key){.seed = seed, .purpose = RB_DRAW_SEARCH});
    h.n_workers = 1 + below(&h, MAX_WORKERS);
    const struct rb_scheduler s = any_scheduler(&h);
    const struct rb_job job = job_of(&s);
    oracle_init(&h.oracle, &job.scheduler);
    h.state = create(h.tuner, &job);
    for (int i = 0; i < h.n_workers; i++)
        h.workers[i].trial = -1;
    while (!h.done) {
        struct worker *w = &h.workers[below(&h, h.n_workers)];
        if (w->trial < 0)
            ask(&h, w);
        else
            train(&h, w);
        if (below(&h, 10) == 0)
            say_again(&h);
        if (below(&h, 500) == 0)
            close_some(&h);
        check_phase(&h);
        n_decisions[job.scheduler.rule]++;
    }
    h.tuner->destroy(h.state);
}

static void random_histories_are_decided_as_plainly(void **unused)
{
    (void)unused;
    int64_t n_decisions[3] = {0};
    for (uint32_t seed = 0; seed < 10000; seed++)
        one_history(seed, n_decisions);
    for (int rule = 0; rule < 3; rule++)
        assert_true(n_decisions[rule] > 100000); // or the histories are too short to say anything
}

// ---- by hand

static enum rb_tuner_next next_as_text(const struct rb_tuner *tuner, void *state, char text[64])
{
    struct rb_group g;
    const enum rb_tuner_next next = tuner->next(state, &g);
    if (next == RB_TUNER_GROUP)
        snprintf(text, 64, "%d: %lld-%lld, stage %d", g.trials[0], (long long)g.resource_start,
                 (long long)g.resource_end, g.stage);
    else
        snprintf(text, 64, next == RB_TUNER_WAIT ? "wait" : "done");
    return next;
}

static void expect_next(const struct rb_tuner *tuner, void *state, const char *expected)
{
    char text[64];
    next_as_text(tuner, state, text);
    assert_string_equal(text, expected);
}

// Nine trials whose score is their number have begun; their results at the first rung arrive in `order`. Writes who is
// promoted, asking after each result or only after the last.
static void promotions(const int order[9], bool ask_each, char out[64])
{
    const struct rb_tuner *asha = rb_tuner_find("asha");
    const struct rb_job job =
        job_of(&(struct rb_scheduler){.num_trials = 9, .min_resource = 1, .max_resource = 9, .eta = 3});
    struct rb_group g;
    void *state = create(asha, &job);
    size_t at = 0;
    out[0] = '\0';
    for (int i = 0; i < 9; i++)
        assert_int_equal(asha->next(state, &g), RB_TUNER_GROUP);
    for (int i = 0; i < 9; i++) {
        asha->ended(state, order[i], 1, order[i]);
        while ((ask_each || i == 8) && asha->next(state, &g) == RB_TUNER_GROUP) {
            assert_int_equal(g.resource_end, 3);
            at += (size_t)snprintf(out + at, 64 - at, " %d", g.trials[0]);
            if (ask_each)
                break;
        }
    }
    asha->destroy(state);
}

// Who is asked for early is promoted on what was known then; with all results in, the order they came in is forgotten.
static void the_order_of_arrival_decides(void **unused)
{
    (void)unused;
    static const struct {
        int order[9];
        const char *asking_each, *asking_last;
    } cases[] = {
        {{8, 7, 6, 5, 4, 3, 2, 1, 0}, " 8 7 6", " 8 7 6"},         // as successive halving
        {{0, 1, 2, 3, 4, 5, 6, 7, 8}, " 2 3 4 5 6 7 8", " 8 7 6"}, // each in turn the best so far
        {{4, 0, 2, 8, 1, 6, 3, 7, 5}, " 4 8 6 7", " 8 7 6"},       // 4 too soon; 6 at 6 results, 7 in the best two of 8
        {{1, 2, 0, 3, 5, 4, 8, 7, 6}, " 2 3 5 4 8 7 6", " 8 7 6"},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        char text[64];
        promotions(cases[i].order, true, text);
        assert_string_equal(text, cases[i].asking_each);
        promotions(cases[i].order, false, text);
        assert_string_equal(text, cases[i].asking_last);
    }
}

static void promotion_prefers_the_highest_rung(void **unused)
{
    (void)unused;
    const struct rb_tuner *asha = rb_tuner_find("asha");
    const struct rb_job job =
        job_of(&(struct rb_scheduler){.num_trials = 100, .min_resource = 2, .max_resource = 9, .eta = 2});
    void *state = create(asha, &job);
    expect_next(asha, state, "0: 0-2, stage 0");
    asha->ended(state, 0, 2, 0.5);
    expect_next(asha, state, "1: 0-2, stage 0"); // one of one is none
    asha->ended(state, 1, 2, 0.5);
    expect_next(asha, state, "0: 2-4, stage 1"); // equal: the lower number
    asha->ended(state, 0, 4, 0.6);
    expect_next(asha, state, "2: 0-2, stage 0");
    asha->ended(state, 2, 2, 0.9);
    expect_next(asha, state, "2: 2-4, stage 1");
    asha->ended(state, 2, 4, 0.5);
    expect_next(asha, state, "0: 4-9, stage 2"); // the last rung ends at R
    expect_next(asha, state, "3: 0-2, stage 0");
    asha->ended(state, 3, 2, -INFINITY);         // a result, though never promoted: two of four now
    expect_next(asha, state, "4: 0-2, stage 0"); // 0 and 2 are gone already
    asha->close(state, RB_CLOSE_NEW);
    asha->ended(state, 0, 9, 0.6);
    asha->ended(state, 4, 2, 0.8);
    expect_next(asha, state, "4: 2-4, stage 1");
    assert_int_equal(asha->phase(state), 1);
    asha->ended(state, 4, 3, 0.8); // paused by a policy on its way: it goes on first
    expect_next(asha, state, "4: 3-4, stage 1");
    asha->ended(state, 4, 4, 0.8);
    expect_next(asha, state, "4: 4-9, stage 2"); // one of three is the best, 4 now: 0 went too soon
    asha->ended(state, 4, 9, 0.1);
    expect_next(asha, state, "done");
    asha->destroy(state);
}

static void stopping_compares_at_milestones(void **unused)
{
    (void)unused;
    const struct rb_tuner *asha = rb_tuner_find("asha");
    const struct rb_job job = job_of(
        &(struct rb_scheduler){.num_trials = 4, .min_resource = 1, .max_resource = 5, .eta = 2, .rule = RB_RULE_STOP});
    void *state = create(asha, &job);
    expect_next(asha, state, "0: 0-5, stage 0");
    expect_next(asha, state, "1: 0-5, stage 0");
    expect_next(asha, state, "2: 0-5, stage 0");
    expect_next(asha, state, "3: 0-5, stage 0");
    assert_int_equal(asha->reported(state, 0, 1, 0.5), RB_VERDICT_CONTINUE); // no one to compare with
    assert_int_equal(asha->reported(state, 1, 1, 0.4), RB_VERDICT_STOP);     // the median is 0.45
    assert_int_equal(asha->reported(state, 1, 2, 0.9), RB_VERDICT_CONTINUE); // too late: no one listens
    assert_int_equal(asha->reported(state, 2, 1, 0.5), RB_VERDICT_CONTINUE); // equal to the median
    assert_int_equal(asha->reported(state, 3, 1, -INFINITY), RB_VERDICT_STOP);
    assert_int_equal(asha->reported(state, 2, 4, 0.1), RB_VERDICT_CONTINUE); // passes 2 and 4 at once, the first
    assert_int_equal(asha->phase(state), 1);
    assert_int_equal(asha->reported(state, 0, 2, 0.0), RB_VERDICT_STOP);
    expect_next(asha, state, "wait");
    asha->ended(state, 2, 5, 0.2);
    expect_next(asha, state, "done");
    asha->destroy(state);
}

static void who_was_paused_before_its_first_report_begins_again(void **unused)
{
    (void)unused;
    const struct rb_tuner *asha = rb_tuner_find("asha");
    for (int rule = 0; rule < 3; rule++) {
        const struct rb_job job = job_of(&(struct rb_scheduler){
            .num_trials = 9, .min_resource = 4, .max_resource = 4, .eta = 2, .rule = (enum rb_rule)rule});
        void *state = create(asha, &job);
        expect_next(asha, state, "0: 0-4, stage 0");
        asha->ended(state, 0, 0, -DBL_MAX);
        expect_next(asha, state, "0: 0-4, stage 0");
        asha->ended(state, 0, 3, 0.5);
        expect_next(asha, state, "0: 3-4, stage 0");
        expect_next(asha, state, "1: 0-4, stage 0");
        asha->destroy(state);
    }
}

static void speculation_is_taken_back(void **unused)
{
    (void)unused;
    const struct rb_tuner *asha = rb_tuner_find("asha");
    const struct rb_job job = job_of(&(struct rb_scheduler){
        .num_trials = 9, .min_resource = 1, .max_resource = 9, .eta = 2, .rule = RB_RULE_SPECULATE});
    void *state = create(asha, &job);
    expect_next(asha, state, "0: 0-9, stage 0");
    expect_next(asha, state, "1: 0-9, stage 0");
    assert_int_equal(asha->reported(state, 0, 1, 0.4), RB_VERDICT_CONTINUE);
    assert_int_equal(asha->reported(state, 1, 1, 0.5), RB_VERDICT_CONTINUE);
    assert_int_equal(asha->reported(state, 0, 2, 0.9), RB_VERDICT_PAUSE); // 0.4 passed once, but the median is 0.45 now
    asha->ended(state, 0, 2, 0.9);
    expect_next(asha, state, "2: 0-9, stage 0");
    assert_int_equal(asha->reported(state, 2, 1, 0.1), RB_VERDICT_PAUSE);
    assert_int_equal(asha->reported(state, 2, 2, 0.9), RB_VERDICT_PAUSE); // on its way out
    asha->ended(state, 2, 1, 0.1);
    expect_next(asha, state, "0: 2-9, stage 2"); // the median fell to 0.4
    expect_next(asha, state, "3: 0-9, stage 0");
    asha->close(state, RB_CLOSE_ALL);
    asha->ended(state, 3, 1, -INFINITY);
    asha->ended(state, 0, 9, 0.9);
    assert_int_equal(asha->phase(state), 1); // trial 1, beyond 1
    asha->ended(state, 1, 9, 0.8);
    expect_next(asha, state, "done");
    asha->destroy(state);
}

static void brackets_get_their_shares(void **unused)
{
    (void)unused;
    const struct rb_tuner *asha = rb_tuner_find("asha");
    const struct rb_job job = job_of(
        &(struct rb_scheduler){.num_trials = 143, .min_resource = 1, .max_resource = 81, .eta = 3, .brackets = 5});
    static const int hyperbands[] = {81, 34, 15, 8, 5};
    int n[5] = {0};
    void *state = create(asha, &job);
    struct rb_group g;
    for (int i = 0; i < 143; i++) {
        assert_int_equal(asha->next(state, &g), RB_TUNER_GROUP);
        assert_int_equal(g.trials[0], i);
        n[g.stage]++;
        for (int b = 0; b < 5; b++) // never a whole trial and a half away from the share of those begun
            assert_true(abs(143 * n[b] - hyperbands[b] * (i + 1)) <= 143 * 3 / 2);
    }
    assert_memory_equal(n, hyperbands, sizeof n);
    assert_int_equal(asha->next(state, &g), RB_TUNER_WAIT);
    asha->destroy(state);
}

// ---- completion time

struct cluster {
    struct worker workers[256];
    int64_t free_at[256];
    int n;
};

static double score_of(int trial)
{
    struct rb_stream s;
    rb_stream_init(&s, &(struct rb_stream_key){.seed = 7, .purpose = RB_DRAW_CURVE, .index = (uint32_t)trial});
    return rb_stream_uniform(&s);
}

static int earliest(const struct cluster *c)
{
    int first = 0;
    for (int i = 1; i < c->n; i++)
        if (c->free_at[i] < c->free_at[first])
            first = i;
    return first;
}

// When the first trial is trained to R; a unit of resource takes a unit of time.
static int64_t time_to_first(const struct rb_scheduler *s, int n_workers, bool resume)
{
    static struct cluster c;
    const struct rb_tuner *asha = rb_tuner_find("asha");
    const struct rb_job job = job_of(s);
    void *state = create(asha, &job);
    c = (struct cluster){.n = n_workers};
    for (int i = 0; i < n_workers; i++)
        c.workers[i].trial = -1;
    for (;;) {
        const int i = earliest(&c);
        struct worker *w = &c.workers[i];
        struct rb_group g;
        if (w->trial >= 0)
            asha->ended(state, w->trial, w->end, score_of(w->trial));
        if (w->trial >= 0 && w->end == s->max_resource)
            break;
        assert_int_equal(asha->next(state, &g), RB_TUNER_GROUP);
        *w = (struct worker){.trial = g.trials[0], .end = g.resource_end};
        c.free_at[i] += g.resource_end - (resume ? g.resource_start : 0);
    }
    asha->destroy(state);
    return c.free_at[earliest(&c)];
}

// Li et al., section 3.2: with eta^(K-s) workers the first configuration is done after the sum of the rungs' full trainings,
// at most 2 time(R); where trials resume from their checkpoints, after time(R).
static void the_first_is_complete_in_time(void **unused)
{
    (void)unused;
    for (int eta = 2; eta <= 5; eta++)
        for (int r = 1; r <= 3; r += 2)
            for (int halvings = 0, n_workers = 1; n_workers <= 256; halvings++, n_workers *= eta)
                for (int beyond = 0; beyond <= 1; beyond++) {
                    const int64_t top = (int64_t)r * n_workers; // r eta^halvings
                    const int64_t R = top + beyond * (top * (eta - 1) / 2);
                    const struct rb_scheduler s = {
                        .num_trials = 1 << 20, .min_resource = r, .max_resource = R, .eta = eta};
                    int64_t sum = R;
                    for (int64_t level = top / eta; level >= r; level /= eta)
                        sum += level;
                    assert_int_equal(time_to_first(&s, n_workers, true), R);
                    assert_int_equal(time_to_first(&s, n_workers, false), sum);
                    assert_true(sum <= 2 * R);
                }
}

// ---- size

// As many trials as there may be, one worker: rungs are as full as the rule lets them be, and it takes well under a second.
static void rungs_fill_at_the_limit(void **unused)
{
    (void)unused;
    const struct rb_tuner *asha = rb_tuner_find("asha");
    const struct rb_job job = job_of(
        &(struct rb_scheduler){.num_trials = RB_LIMIT_TRIALS, .min_resource = 1, .max_resource = 1024, .eta = 4});
    void *state = create(asha, &job);
    int n[6] = {0};
    struct rb_group g;
    while (asha->next(state, &g) == RB_TUNER_GROUP) {
        n[g.stage]++;
        asha->ended(state, g.trials[0], g.resource_end, score_of(g.trials[0]));
    }
    assert_int_equal(n[0], RB_LIMIT_TRIALS);
    for (int i = 1; i < 6; i++) {
        assert_true(n[i] >= n[i - 1] / 4);
        assert_true(n[i] <= n[i - 1] / 4 + 2 * sqrt(n[i - 1])); // the share promoted too soon falls with the size
    }
    asha->destroy(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_histories_are_decided_as_plainly),
        cmocka_unit_test(the_order_of_arrival_decides),
        cmocka_unit_test(promotion_prefers_the_highest_rung),
        cmocka_unit_test(stopping_compares_at_milestones),
        cmocka_unit_test(who_was_paused_before_its_first_report_begins_again),
        cmocka_unit_test(speculation_is_taken_back),
        cmocka_unit_test(brackets_get_their_shares),
        cmocka_unit_test(the_first_is_complete_in_time),
        cmocka_unit_test(rungs_fill_at_the_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
