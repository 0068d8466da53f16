// A run on the fake cloud whose trials are slower than its profile says: with on_drift it changes the nodes of its later
// stages, or stops. What it changed is in the journal, and a controller that takes over carries it out, and decides the
// rest as its predecessor would have.
#include "fake_run.h"
#include "known_profile.h"

#include "executor/run/replanning.h"
#include "executor/run/standing.h"
#include "tests/base/check.h"
#include "tests/base/every.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// One node for the three trials of stage 1: a second one would help.
struct slow_run {
    struct known known;
    struct rb_job job;
    struct rb_plan_nodes nodes;
    struct rb_plan_stage stages[3];
    struct fake_run r;
    struct rb_standing standing;
    struct rb_replanning replanning;
    int n_taken, n_events;
    int n_savings; // searches for a cheaper plan in stage 0
    char words[4096]; // a line a verdict
};

static void hear(void *ctx, struct fake_run *r, const struct rb_event *e)
{
    struct slow_run *s = ctx;
    (void)r;
    rb_prediction_event(s->standing.prediction, e);
    s->n_events++;
}

static void begin_as(struct slow_run *s, enum rb_drift mode, int64_t unit_us, int64_t deadline_us, bool asynchronous)
{
    *s = (struct slow_run){.nodes = {.offer = 0, .count = 1}};
    know(&s->known);
    fake_run_init(&s->r, 5);
    if (asynchronous)
        fake_run_make_asynchronous(&s->r, RB_RULE_SPECULATE);
    s->job = *s->r.plan->job;
    s->job.on_drift = mode;
    assert_int_equal(s->r.plan->n_stages, 3);
    memcpy(s->stages, s->r.plan->stages, sizeof s->stages);
    if (!asynchronous)
        s->stages[1].nodes = &s->nodes;
    s->r.plan->job = &s->job;
    s->r.plan->stages = s->stages;
    s->r.plan->profile = &s->known.profile;
    s->r.plan->confidence = 0.95;
    s->r.plan->deadline_us = s->r.deadline_us = deadline_us;
    s->r.machines.training.unit_us = unit_us;
    s->standing.prediction = rb_prediction_create(s->r.plan);
    rb_replanning_init(&s->replanning, s->r.plan);
    s->r.observe = hear;
    s->r.observe_ctx = s;
    fake_run_open(&s->r);
}

static void begin(struct slow_run *s, enum rb_drift mode, int64_t unit_us, int64_t deadline_us)
{
    begin_as(s, mode, unit_us, deadline_us, false);
}

static void end(struct slow_run *s)
{
    rb_replanning_finish(&s->replanning);
    rb_prediction_destroy(s->standing.prediction);
    fake_run_finish(&s->r);
}

static void look_at(struct slow_run *s, struct rb_progress *now)
{
    int64_t reserved;
    rb_progress_of_engine(rb_controller_engine(s->r.controller), s->r.plan, now);
    rb_controller_spend(s->r.controller, &now->spent_uusd, &reserved);
    now->elapsed_us = rb_controller_now_us(s->r.controller);
    now->deadline_us = s->r.deadline_us;
}

// As a session does it, but until the answer is there.
static void decide(struct slow_run *s, const struct rb_progress *now)
{
    RB_AUTO(rb_buf_finish) struct rb_buf words = RB_BUF_INIT;
    struct rb_event advice;
    s->n_savings += rb_replanning_is_busy(&s->replanning) && s->replanning.for_less && now->stage == 0;
    while (rb_replanning_is_busy(&s->replanning)) {
        const enum rb_replan_verdict v =
            rb_replanning_work(&s->replanning, s->standing.prediction, now, &advice, &words);
        const size_t used = strlen(s->words);
        if (words.len > 0)
            snprintf(s->words + used, sizeof s->words - used, "%s\n", rb_buf_str(&words));
        if (v == RB_REPLAN_TAKE) {
            s->n_taken++;
            const struct rb_note note = {.kind = RB_REPLANNING_NOTE, .text = rb_replanning_note(&s->replanning)};
            rb_controller_advise(s->r.controller, &advice, note.text ? &note : NULL);
        } else if (v == RB_REPLAN_STOP) {
            rb_controller_stop(s->r.controller, RB_STOP_DRIFT);
        }
    }
}

static void look(struct slow_run *s)
{
    struct rb_progress now;
    look_at(s, &now);
    if (now.over)
        return;
    rb_standing_settle(&s->standing, &now);
    rb_standing_report(&s->standing, &now);
    rb_replanning_check(&s->replanning, s->standing.prediction, &now);
    decide(s, &now);
}

// As `rbrun replan` does it.
static void ask(struct slow_run *s)
{
    struct rb_progress now;
    look_at(s, &now);
    assert_true(rb_replanning_ask(&s->replanning, s->standing.prediction, &now));
    decide(s, &now);
}

// Returns when it ended; -1: the deadline or drift stopped it.
static int64_t carry_on(struct slow_run *s, int64_t until_us)
{
    int64_t ended_us = 0;
    for (int64_t at_us = s->r.v.now_us; !s->r.finished && at_us < until_us; at_us += 10 * RB_US_PER_S) {
        fake_run_step_until(&s->r, at_us);
        if (s->r.finished)
            break;
        ended_us = rb_controller_now_us(s->r.controller);
        look(s);
    }
    return s->r.finished && s->r.outcome == RB_JOB_STOPPED ? -1 : ended_us;
}

static const int64_t end_of_time = 10000 * RB_US_PER_S;

static int64_t run_as(struct slow_run *s, enum rb_drift mode, int64_t unit_us, int64_t deadline_us, bool asynchronous)
{
    begin_as(s, mode, unit_us, deadline_us, asynchronous);
    const int64_t ended_us = carry_on(s, end_of_time);
    assert_true(s->r.finished);
    end(s);
    return ended_us;
}

static int64_t run(struct slow_run *s, enum rb_drift mode, int64_t unit_us, int64_t deadline_us)
{
    return run_as(s, mode, unit_us, deadline_us, false);
}

static void a_slow_run_gets_more_nodes_and_is_on_time(void **state)
{
    (void)state;
    static struct slow_run s;
    const int64_t usual_us = run(&s, RB_DRIFT_WARN, 20 * RB_US_PER_S, -1);
    const int64_t deadline_us = usual_us + usual_us / 5;
    assert_true(run(&s, RB_DRIFT_WARN, 20 * RB_US_PER_S, deadline_us) > 0);
    assert_int_equal(run(&s, RB_DRIFT_WARN, 26 * RB_US_PER_S, deadline_us), -1);
    assert_int_equal(s.n_taken, 0);
    const int64_t replanned_us = run(&s, RB_DRIFT_REPLAN, 26 * RB_US_PER_S, deadline_us);
    print_message("%lld s of %lld: %s\n", (long long)(replanned_us / RB_US_PER_S),
                  (long long)(deadline_us / RB_US_PER_S), s.words);
    assert_true(replanned_us > 0 && replanned_us <= deadline_us);
    assert_true(s.n_taken > 0);
    assert_non_null(strstr(s.words, "% longer than expected"));
    assert_non_null(strstr(s.words, "P(both limits) is "));
}

static void nothing_changes_where_all_is_well(void **state)
{
    (void)state;
    static struct slow_run s;
    const int64_t usual_us = run(&s, RB_DRIFT_WARN, 20 * RB_US_PER_S, -1);
    run(&s, RB_DRIFT_REPLAN, 20 * RB_US_PER_S, 2 * usual_us);
    assert_int_equal(s.n_taken, 0);
    run(&s, RB_DRIFT_REPLAN, 40 * RB_US_PER_S, -1); // no limit, nothing to keep
    assert_int_equal(s.n_taken, 0);
}

// A run that is as fast as its profile says has no news: money is looked for in the middle of a stage. One that is faster
// may have some to save with every tenth of it.
static void a_fast_run_looks_for_savings_again(void **state)
{
    (void)state;
    static struct slow_run s;
    const int64_t usual_us = run(&s, RB_DRIFT_WARN, 20 * RB_US_PER_S, -1);
    run(&s, RB_DRIFT_REPLAN, 20 * RB_US_PER_S, 2 * usual_us);
    assert_int_equal(s.n_savings, 1);
    run(&s, RB_DRIFT_REPLAN, 10 * RB_US_PER_S, 2 * usual_us);
    assert_in_range(s.n_savings, 2, 10);
}

// One machine is three times as slow for two minutes, early or late. That is not the speed of all.
static void a_spike_on_one_machine_changes_nothing(void **state)
{
    (void)state;
    static struct slow_run s;
    const int64_t usual_us = run(&s, RB_DRIFT_WARN, 20 * RB_US_PER_S, -1);
    for (int i = 0; i < 4; i++) {
        begin(&s, RB_DRIFT_REPLAN, 20 * RB_US_PER_S, usual_us + usual_us / 2);
        s.r.machines.training.spike.instance = i % 2;
        s.r.machines.training.spike.from_us = i / 2 * 60 * RB_US_PER_S;
        s.r.machines.training.spike.until_us = s.r.machines.training.spike.from_us + 120 * RB_US_PER_S;
        const int64_t ended_us = carry_on(&s, end_of_time);
        assert_true(s.r.finished && ended_us > 0);
        assert_int_equal(s.n_taken, 0);
        end(&s);
    }
}

static void a_run_without_hope_is_stopped(void **state)
{
    (void)state;
    static struct slow_run s;
    const int64_t usual_us = run(&s, RB_DRIFT_WARN, 20 * RB_US_PER_S, -1);
    assert_int_equal(run(&s, RB_DRIFT_STOP, 100 * RB_US_PER_S, usual_us), -1);
    assert_int_equal(s.r.reason, RB_STOP_DRIFT);
    assert_int_equal(s.n_taken, 0);
    assert_non_null(strstr(s.words, "no other nodes for the stages to come"));
}

// It starts no more configurations before it buys nodes.
static void a_slow_asynchronous_run_closes_its_search(void **state)
{
    (void)state;
    static struct slow_run s;
    const int64_t usual_us = run_as(&s, RB_DRIFT_WARN, 20 * RB_US_PER_S, -1, true);
    const int64_t deadline_us = usual_us + usual_us / 5;
    assert_int_equal(run_as(&s, RB_DRIFT_WARN, 40 * RB_US_PER_S, deadline_us, true), -1);
    const int64_t replanned_us = run_as(&s, RB_DRIFT_REPLAN, 40 * RB_US_PER_S, deadline_us, true);
    print_message("%lld s of %lld: %s\n", (long long)(replanned_us / RB_US_PER_S), (long long)(deadline_us / RB_US_PER_S),
                  s.words);
    assert_true(replanned_us > 0 && replanned_us <= deadline_us);
    assert_true(s.n_taken > 0);
    assert_non_null(strstr(s.words, "no configuration is started after"));
}

static void an_asynchronous_run_without_hope_is_stopped(void **state)
{
    (void)state;
    static struct slow_run s;
    const int64_t usual_us = run_as(&s, RB_DRIFT_WARN, 20 * RB_US_PER_S, -1, true);
    assert_int_equal(run_as(&s, RB_DRIFT_STOP, 200 * RB_US_PER_S, usual_us, true), -1);
    assert_int_equal(s.r.reason, RB_STOP_DRIFT);
}

static bool searches(struct slow_run *s, struct rb_progress *now, double p)
{
    now->p_on_time = p;
    now->p_in_budget = NAN;
    now->why_unknown = NULL;
    rb_replanning_check(&s->replanning, s->standing.prediction, now);
    return rb_replanning_is_busy(&s->replanning);
}

// With the first trial at work it is known that all layouts may be as wrong as each other; that is no news of this run.
static void nothing_is_bought_before_there_is_news(void **state)
{
    (void)state;
    static struct slow_run s;
    struct rb_progress now = {0};
    begin(&s, RB_DRIFT_REPLAN, 20 * RB_US_PER_S, 1000 * RB_US_PER_S);
    assert_false(searches(&s, (look_at(&s, &now), &now), 0.97));
    while (now.n_by_state[RB_TRIAL_RUNNING] == 0) {
        fake_run_step_until(&s.r, s.r.v.now_us + RB_US_PER_S);
        look_at(&s, &now);
    }
    assert_true(now.nodes_ready < now.nodes); // the others are not late
    for (int i = 0; i < 3; i++)
        assert_false(searches(&s, &now, 0.88));
    assert_false(searches(&s, &now, 0.84)); // as if they were late now
    assert_true(searches(&s, &now, 0.84));
    end(&s);
}

// A run on course whose owner changes the deadline: more nodes for less time, and back.
static void limits_are_changed_by_hand(void **state)
{
    (void)state;
    static struct slow_run s;
    const int64_t usual_us = run(&s, RB_DRIFT_WARN, 20 * RB_US_PER_S, -1);
    begin(&s, RB_DRIFT_WARN, 20 * RB_US_PER_S, 2 * usual_us);
    fake_run_step_until(&s.r, usual_us / 4);
    assert_int_equal(rb_engine_stage(rb_controller_engine(s.r.controller)), 0);
    const int64_t deadlines_us[] = {usual_us - usual_us / 8, 3 * usual_us, usual_us / 2};
    int nodes[3];
    for (int i = 0; i < 3; i++) {
        bool wait;
        struct rb_err err = {0};
        assert_true(rb_controller_set_limits(s.r.controller, deadlines_us[i], -1, &wait, &err));
        s.r.deadline_us = deadlines_us[i];
        ask(&s);
        nodes[i] = rb_plan_stage_node_count(&rb_engine_present_plan(rb_controller_engine(s.r.controller))->stages[1]);
    }
    print_message("%s", s.words);
    assert_int_equal(s.n_taken, 2);
    assert_true(nodes[0] > 1);
    assert_int_equal(nodes[1], 1); // cheaper again
    assert_non_null(strstr(s.words, "no other nodes for the stages to come keep both limits"));
    assert_true(s.replanning.p_best < 0.5);
    assert_int_equal(carry_on(&s, end_of_time), -1); // the last deadline holds
    assert_int_equal(s.r.reason, RB_STOP_DEADLINE);
    end(&s);
}

static void a_limit_that_has_passed_is_refused(void **state)
{
    (void)state;
    static struct slow_run s;
    struct rb_err err = {0};
    bool wait;
    begin(&s, RB_DRIFT_WARN, 20 * RB_US_PER_S, -1);
    fake_run_step_until(&s.r, 100 * RB_US_PER_S);
    assert_false(rb_controller_set_limits(s.r.controller, 50 * RB_US_PER_S, -1, &wait, &err));
    assert_says(&err, "RB4044 a deadline of 50.0 s has passed");
    assert_false(rb_controller_set_limits(s.r.controller, -1, 1, &wait, &err));
    assert_says(&err, "RB4044 a budget of $0.000001 is spent");
    end(&s);
}

// A controller that takes over knows nothing but the journal.
static void what_was_changed_outlives_the_controller(void **state)
{
    (void)state;
    static struct slow_run s;
    const int64_t usual_us = run(&s, RB_DRIFT_WARN, 20 * RB_US_PER_S, -1);
    begin(&s, RB_DRIFT_REPLAN, 26 * RB_US_PER_S, usual_us + usual_us / 5);
    while (!strstr(s.words, "stage 1 on 2 box instead of 1") && !s.r.finished)
        carry_on(&s, s.r.v.now_us + 10 * RB_US_PER_S + 1);
    assert_true(s.n_taken > 0);
    const struct rb_plan *changed = rb_engine_present_plan(rb_controller_engine(s.r.controller));
    struct rb_plan_stage before[3];
    int n_before[3];
    for (int i = 0; i < 3; i++) {
        before[i] = changed->stages[i];
        n_before[i] = rb_plan_stage_node_count(&changed->stages[i]);
    }
    fake_run_close(&s.r);
    fake_run_open(&s.r);
    changed = rb_engine_present_plan(rb_controller_engine(s.r.controller));
    assert_true(changed != s.r.plan);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(rb_plan_stage_node_count(&changed->stages[i]), n_before[i]);
        assert_int_equal(changed->stages[i].gpus_per_trial, before[i].gpus_per_trial);
    }
    assert_true(fake_run_until_finished(&s.r, end_of_time));
    assert_int_equal(s.r.outcome, RB_JOB_COMPLETE);
    end(&s);
}

// ---- killed

enum { LOOK_US = 10 * RB_US_PER_S, MOST_LOOKS = 200, USUAL_STEP = 8 };

// A look at a run, when its journal had this number of events.
struct looked {
    int n_events;
    struct rb_progress now;
};

struct killed_run {
    struct slow_run slow;
    struct looked looks[MOST_LOOKS];
    int n_looks, n_done; // by this controller, or by who goes through the journal later
    struct rb_buf advice; // a line each
};

static void note_state(struct killed_run *k)
{
    const char *line = rb_replanning_note(&k->slow.replanning);
    if (line)
        rb_controller_note(k->slow.r.controller, RB_REPLANNING_NOTE, "%s", line);
}

// As a session does it. A process that dies before it has written what it decided has not looked.
static void look_and_note(struct killed_run *k)
{
    struct slow_run *s = &k->slow;
    struct looked l = {.n_events = k->slow.n_events};
    look_at(s, &l.now);
    if (l.now.over)
        return;
    const int64_t n_writes = rb_journal_n_writes(s->r.journal);
    look(s);
    note_state(k);
    assert_true(k->n_looks < MOST_LOOKS);
    if (!rb_journal_plays_dead(s->r.journal) || rb_journal_n_writes(s->r.journal) > n_writes)
        k->looks[k->n_looks++] = l;
}

static void each_of(struct killed_run *k, bool (*fn)(void *ctx, const struct rb_event *e, struct rb_err *err))
{
    struct rb_journal *journal;
    struct rb_err err = {0};
    assert_true(rb_journal_open(k->slow.r.journal_path, &journal, &err));
    assert_true(rb_journal_each_event(journal, fn, k, &err));
    rb_journal_close(journal);
}

static bool recall_event(void *ctx, const struct rb_event *e, struct rb_err *err)
{
    struct killed_run *k = ctx;
    (void)err;
    hear(&k->slow, NULL, e);
    return true;
}

static void recall_notes(struct killed_run *k)
{
    struct slow_run *s = &k->slow;
    struct rb_note *notes;
    struct rb_err err;
    int n;
    assert_true(rb_journal_notes(s->r.journal, &s->r.arena, &notes, &n, &err));
    for (int i = 0; i < n; i++) {
        if (strcmp(notes[i].kind, RB_REPLANNING_NOTE) == 0)
            rb_replanning_recall(&s->replanning, notes[i].text);
    }
}

// Another process, which knows nothing but the journal.
static void forget(struct killed_run *k)
{
    struct slow_run *s = &k->slow;
    fake_run_close(&s->r);
    rb_replanning_finish(&s->replanning);
    rb_prediction_destroy(s->standing.prediction);
    s->standing = (struct rb_standing){.prediction = rb_prediction_create(s->r.plan)};
    rb_replanning_init(&s->replanning, s->r.plan);
    k->slow.n_events = 0;
}

static void take_over(struct killed_run *k)
{
    forget(k);
    each_of(k, recall_event);
    k->slow.r.err = (struct rb_err){0};
    fake_run_open(&k->slow.r);
    recall_notes(k);
    look_and_note(k);
}

static void pass(void *arg)
{
    (void)arg;
}

static void carry_on_by_the_clock(struct killed_run *k)
{
    struct fake_run *r = &k->slow.r;
    while (!r->finished) {
        const int64_t next_us = (r->v.now_us / LOOK_US + 1) * LOOK_US;
        r->v.loop.timer_start(r->v.loop.ctx, next_us - r->v.now_us, pass, NULL);
        fake_run_step_until(r, next_us);
        if (!r->finished)
            look_and_note(k);
    }
}

static void write_advice(struct rb_buf *out, const struct rb_event *e)
{
    struct rb_json json = {.out = out};
    rb_event_write(e, &json);
    rb_buf_putc(out, '\n');
}

static bool read_advice(void *ctx, const struct rb_event *e, struct rb_err *err)
{
    (void)err;
    if (e->kind == RB_EVENT_ADVICE)
        write_advice(&((struct killed_run *)ctx)->advice, e);
    return true;
}

// What a process decides that was not killed, at the same looks.
static void decide_again(struct killed_run *k, const struct looked *l)
{
    struct slow_run *s = &k->slow;
    struct rb_progress now = l->now;
    struct rb_event advice;
    RB_AUTO(rb_buf_finish) struct rb_buf words = RB_BUF_INIT;
    rb_standing_settle(&s->standing, &now);
    rb_standing_report(&s->standing, &now);
    rb_replanning_check(&s->replanning, s->standing.prediction, &now);
    while (rb_replanning_is_busy(&s->replanning)) {
        rb_buf_clear(&words);
        if (rb_replanning_work(&s->replanning, s->standing.prediction, &now, &advice, &words) != RB_REPLAN_TAKE)
            continue;
        advice.time_us = now.elapsed_us;
        write_advice(&k->advice, &advice);
    }
}

static bool go_through(void *ctx, const struct rb_event *e, struct rb_err *err)
{
    struct killed_run *k = ctx;
    while (k->n_done < k->n_looks && k->looks[k->n_done].n_events == k->slow.n_events)
        decide_again(k, &k->looks[k->n_done++]);
    return recall_event(k, e, err);
}

// Dies at a write, 0: does not. Returns the writes until its end; both texts are the caller's.
static int64_t run_killed(int64_t deadline_us, int64_t n, enum rb_journal_death how, struct rb_buf *out_advice,
                          struct rb_buf *out_again)
{
    static struct killed_run k;
    struct slow_run *s = &k.slow;
    k = (struct killed_run){.advice = RB_BUF_INIT};
    begin(s, RB_DRIFT_REPLAN, 26 * RB_US_PER_S, deadline_us);
    rb_journal_die(s->r.journal, n, how);
    carry_on_by_the_clock(&k);
    if (s->r.err.code) {
        take_over(&k);
        carry_on_by_the_clock(&k);
    }
    assert_int_equal(s->r.err.code, 0);
    assert_int_equal(s->r.outcome, RB_JOB_COMPLETE);
    const int64_t n_writes = rb_journal_n_writes(s->r.journal);
    forget(&k);
    each_of(&k, read_advice);
    *out_advice = k.advice;
    k.advice = (struct rb_buf)RB_BUF_INIT;
    each_of(&k, go_through);
    *out_again = k.advice;
    end(s);
    return n_writes;
}

// Whenever it dies: what it has advised in the end is what a process would have advised that lived through the same
// events, to the byte. RB_TEST_EVERY=1 kills it at every write of its journal.
static void a_killed_run_gets_the_same_advice(void **state)
{
    (void)state;
    static struct slow_run s;
    const int64_t step = test_every(USUAL_STEP);
    const int64_t usual_us = run(&s, RB_DRIFT_WARN, 20 * RB_US_PER_S, -1), deadline_us = usual_us + usual_us / 5;
    RB_AUTO(rb_buf_finish) struct rb_buf undisturbed = RB_BUF_INIT;
    int64_t n_writes = 1;
    int n_same = 0, n_killed = 0;
    for (int64_t n = 0; n < n_writes; n += n == 0 ? 2 : step) {
        RB_AUTO(rb_buf_finish) struct rb_buf advice = RB_BUF_INIT, again = RB_BUF_INIT;
        const enum rb_journal_death how = n / step % 2 ? RB_JOURNAL_DIES_AFTER : RB_JOURNAL_DIES_AT;
        const int64_t n_its = run_killed(deadline_us, n, how, &advice, &again);
        if (strcmp(rb_buf_str(&advice), rb_buf_str(&again)) != 0)
            print_error("killed at write %d, its journal has\n%snot killed:\n%s", (int)n, rb_buf_str(&advice),
                        rb_buf_str(&again));
        assert_string_equal(rb_buf_str(&advice), rb_buf_str(&again));
        if (n == 0) {
            n_writes = n_its;
            rb_buf_puts(&undisturbed, rb_buf_str(&advice));
            assert_non_null(strstr(rb_buf_str(&advice), "\"stage\":1"));
            continue;
        }
        n_killed++;
        n_same += strcmp(rb_buf_str(&advice), rb_buf_str(&undisturbed)) == 0;
    }
    print_message("%d kills at %d writes; the advice is that of the undisturbed run, to the byte, in %d\n%s", n_killed,
                  (int)n_writes, n_same, rb_buf_str(&undisturbed));
    assert_true(2 * n_same > n_killed); // the others learn later which nodes they have
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slow_run_gets_more_nodes_and_is_on_time),
        cmocka_unit_test(nothing_changes_where_all_is_well),
        cmocka_unit_test(a_fast_run_looks_for_savings_again),
        cmocka_unit_test(a_spike_on_one_machine_changes_nothing),
        cmocka_unit_test(a_run_without_hope_is_stopped),
        cmocka_unit_test(a_slow_asynchronous_run_closes_its_search),
        cmocka_unit_test(an_asynchronous_run_without_hope_is_stopped),
        cmocka_unit_test(nothing_is_bought_before_there_is_news),
        cmocka_unit_test(limits_are_changed_by_hand),
        cmocka_unit_test(a_limit_that_has_passed_is_refused),
        cmocka_unit_test(what_was_changed_outlives_the_controller),
        cmocka_unit_test(a_killed_run_gets_the_same_advice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
