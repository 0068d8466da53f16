// Trials that fail, tuner by tuner: who takes their places, how the search ends, which trial is the best, and when a script is
// taken to be broken. A world without delays plays every row; its events are replayed into a second engine, and by the rules
// of older journals.
#include "small_plan.h"

#include "engine/core/engine.h"
#include "engine/core/tuner.h"

#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_EVENTS = 2000 };

// One rule: a trial (ANY: all) fails in a stage (ANY: any) after it has reported `reports` units there.
enum { ANY = -1, END = -2 };
struct failing {
    int trial, stage;
    int reports;
    uint64_t signature;
    int times; // 0: always
};

struct row {
    const char *name, *type;
    enum rb_rule rule;
    int n_trials; // of asha
    int max_restarts;
    struct failing failing[6]; // ends with trial END
    enum rb_job_outcome outcome;
    int best;
    const char *starts;         // "trial@stage ...", in order
    enum rb_stop_reason reason; // of STOPPED
};

struct played {
    struct rb_engine *engine;
    struct rb_event events[MAX_EVENTS];
    int n;
    struct {
        int trial, attempt, stage;
        int64_t from, to;
    } started[MAX_EVENTS];
    int n_started, n_done;
    int times[64][8]; // how often a rule has failed which trial
    char starts[4096];
};

static void take(struct played *w, const struct rb_actions *actions, int *pending, int *n_pending)
{
    for (int i = 0; i < actions->n; i++) {
        const struct rb_action *a = &actions->items[i];
        if (a->kind == RB_ACTION_PROVISION)
            pending[(*n_pending)++] = a->node;
        if (a->kind != RB_ACTION_START_TRIAL)
            continue;
        w->started[w->n_started].trial = a->trial;
        w->started[w->n_started].attempt = a->attempt;
        w->started[w->n_started].stage = a->stage;
        w->started[w->n_started].from = a->resource_start;
        w->started[w->n_started++].to = a->resource_end;
        const size_t at = strlen(w->starts);
        snprintf(w->starts + at, sizeof w->starts - at, "%s%d@%d", at ? " " : "", a->trial, a->stage);
    }
}

static void step(struct played *w, struct rb_event event)
{
    struct rb_actions actions = {0};
    int nodes[64], n_nodes = 0;
    assert_true(w->n < MAX_EVENTS);
    event.time_us = w->n;
    w->events[w->n++] = event;
    rb_engine_step(w->engine, &event, &actions);
    take(w, &actions, nodes, &n_nodes);
    rb_actions_finish(&actions);
    for (int i = 0; i < n_nodes; i++) {
        step(w, (struct rb_event){.kind = RB_EVENT_NODE_RUNNING, .node = nodes[i]});
        step(w, (struct rb_event){.kind = RB_EVENT_NODE_READY, .node = nodes[i]});
    }
}

static int rule_of(struct played *w, const struct row *row, int trial, int stage)
{
    for (int i = 0; row->failing[i].trial != END; i++) {
        const struct failing *f = &row->failing[i];
        if ((f->trial == ANY || f->trial == trial) && (f->stage == ANY || f->stage == stage) &&
            (f->times == 0 || w->times[trial][i] < f->times)) {
            w->times[trial][i]++;
            return i;
        }
    }
    return -1;
}

// Trials score their number: the last are the best.
static void train(struct played *w, const struct row *row, int at)
{
    const int trial = w->started[at].trial, attempt = w->started[at].attempt, stage = w->started[at].stage;
    const int64_t from = w->started[at].from, to = w->started[at].to;
    const int rule = rule_of(w, row, trial, stage);
    const int64_t last = rule < 0 ? to : from + row->failing[rule].reports;
    if (!rb_engine_attempt_is_current(w->engine, trial, attempt))
        return;
    for (int64_t r = from + 1; r <= last; r++)
        step(w, (struct rb_event){
                    .kind = RB_EVENT_REPORT, .trial = trial, .attempt = attempt, .resource = r, .metric = trial + 1});
    if (!rb_engine_attempt_is_current(w->engine, trial, attempt))
        return;
    step(w, (struct rb_event){.kind = RB_EVENT_TRIAL_ENDED,
                              .trial = trial,
                              .attempt = attempt,
                              .outcome = rule < 0 ? RB_OUTCOME_REACHED : RB_OUTCOME_FAILED,
                              .signature = rule < 0 ? 0 : row->failing[rule].signature,
                              .said = rule < 0 ? NULL : "Traceback | KeyError: 'x'"});
}

static void make_plan(struct small_plan *p, const struct row *row)
{
    small_plan_make(p);
    p->job.trial.max_restarts = row->max_restarts;
    p->job.scheduler.type = row->type;
    p->job.scheduler.rule = row->rule;
    if (row->n_trials > 0)
        p->job.scheduler.num_trials = row->n_trials;
    if (strcmp(row->type, "random") == 0) {
        p->plan.n_stages = 1;
        p->stages[0].resource_end = 4;
        p->stages[0].trials = p->job.scheduler.num_trials;
    }
}

static struct rb_engine *create(const struct small_plan *p)
{
    struct rb_engine *e;
    struct rb_err err;
    if (!rb_engine_create(&p->plan, &e, &err))
        fail_msg("%s", err.message);
    return e;
}

static void play(struct played *w, const struct small_plan *p, const struct row *row, int rules)
{
    *w = (struct played){.engine = create(p)};
    step(w, (struct rb_event){.kind = RB_EVENT_START, .rules = rules});
    while (w->n_done < w->n_started)
        train(w, row, w->n_done++);
}

static void check_replay(const struct played *w, const struct small_plan *p)
{
    struct rb_engine *again = create(p);
    struct rb_actions actions = {0};
    for (int i = 0; i < w->n; i++)
        rb_engine_step(again, &w->events[i], &actions);
    assert_int_equal(rb_engine_outcome(again, NULL), rb_engine_outcome(w->engine, NULL));
    assert_int_equal(rb_engine_best(again), rb_engine_best(w->engine));
    rb_actions_finish(&actions);
    rb_engine_destroy(again);
}

// sha, asha: 4 trials to epoch 1, 2 of them to 2, 1 to 4; two at a time, later two.
static const struct row rows[] = {
    {"sha, none fails", "sha", .failing = {{END}}, .outcome = RB_JOB_COMPLETE, .best = 3,
     .starts = "0@0 1@0 2@0 3@0 2@1 3@1 3@2"},
    {"sha, the last one fails: the other of its rung goes on", "sha", .failing = {{3, 2}, {END}},
     .outcome = RB_JOB_COMPLETE, .best = 2, .starts = "0@0 1@0 2@0 3@0 2@1 3@1 3@2 2@2"},
    {"sha, one fails midway in its rung", "sha", .failing = {{3, 2, 1}, {END}}, .outcome = RB_JOB_COMPLETE, .best = 2,
     .starts = "0@0 1@0 2@0 3@0 2@1 3@1 3@2 2@2"},
    {"sha, both of the last rung fail", "sha", .failing = {{3, 2}, {2, 2}, {END}}, .outcome = RB_JOB_INCOMPLETE,
     .best = 1, .starts = "0@0 1@0 2@0 3@0 2@1 3@1 3@2 2@2"},
    {"sha, one of the middle fails: the third takes its place", "sha", .failing = {{3, 1}, {END}},
     .outcome = RB_JOB_COMPLETE, .best = 2, .starts = "0@0 1@0 2@0 3@0 2@1 3@1 1@1 2@2"},
    {"sha, a replacement fails and is replaced", "sha", .failing = {{3, 1}, {1, 1}, {END}}, .outcome = RB_JOB_COMPLETE,
     .best = 2, .starts = "0@0 1@0 2@0 3@0 2@1 3@1 1@1 0@1 2@2"},
    {"sha, all of the middle fail", "sha", .failing = {{ANY, 1}, {END}}, .outcome = RB_JOB_INCOMPLETE, .best = 3,
     .starts = "0@0 1@0 2@0 3@0 2@1 3@1 1@1 0@1"},
    {"sha, in the first rung none takes a place", "sha", .failing = {{3, 0}, {2, 0}, {END}}, .outcome = RB_JOB_COMPLETE,
     .best = 1, .starts = "0@0 1@0 2@0 3@0 0@1 1@1 1@2"},
    {"sha, too few are left to replace one", "sha", .failing = {{3, 0}, {2, 0}, {1, 1}, {END}},
     .outcome = RB_JOB_COMPLETE, .best = 0, .starts = "0@0 1@0 2@0 3@0 0@1 1@1 0@2"},
    {"sha, all fail at once in different ways", "sha",
     .failing = {{0, 0, 0, 1}, {1, 0, 0, 2}, {2, 0, 0, 3}, {3, 0, 0, 4}, {END}}, .outcome = RB_JOB_INCOMPLETE,
     .best = -1, .starts = "0@0 1@0 2@0 3@0"},
    {"sha, all fail after they have reported", "sha", .failing = {{ANY, 0, 1, 7}, {END}}, .outcome = RB_JOB_INCOMPLETE,
     .best = 3, .starts = "0@0 1@0 2@0 3@0"},
    {"random, some fail", "random", .failing = {{3, ANY}, {1, ANY}, {END}}, .outcome = RB_JOB_COMPLETE, .best = 2,
     .starts = "0@0 1@0 2@0 3@0"},
    {"random, all fail late", "random", .failing = {{ANY, ANY, 3, 9}, {END}}, .outcome = RB_JOB_INCOMPLETE, .best = 3,
     .starts = "0@0 1@0 2@0 3@0"},
    // asha: a result at a time, the higher rungs first.
    {"asha, none fails", "asha", .failing = {{END}}, .outcome = RB_JOB_COMPLETE, .best = 3},
    {"asha, the first at the top fails", "asha", .n_trials = 8, .failing = {{ANY, 2, 0, 0, 0}, {END}},
     .outcome = RB_JOB_INCOMPLETE},
    {"asha, only the best fails", "asha", .n_trials = 8, .failing = {{7, ANY}, {END}}, .outcome = RB_JOB_COMPLETE,
     .best = 6},
    {"asha, those that fail at once leave the best two alone", "asha", .n_trials = 4,
     .failing = {{0, 0}, {1, 0}, {END}}, .outcome = RB_JOB_COMPLETE, .best = 3},
    {"asha, one is left of four", "asha", .n_trials = 4, .failing = {{0, 0}, {1, 0}, {2, 0}, {END}},
     .outcome = RB_JOB_COMPLETE, .best = 3},
    {"asha, the promoted of the middle fails", "asha", .n_trials = 4, .failing = {{3, 1}, {END}},
     .outcome = RB_JOB_COMPLETE, .best = 2},
    {"asha by stop, one fails late", "asha", .rule = RB_RULE_STOP, .n_trials = 4, .failing = {{3, ANY, 3}, {END}},
     .outcome = RB_JOB_COMPLETE, .best = 2},
    {"asha, too few to promote one", "asha", .n_trials = 1, .failing = {{END}}, .outcome = RB_JOB_COMPLETE, .best = 0},
    // What is broken.
    {"three alike before any report", "sha", .max_restarts = 3, .failing = {{ANY, ANY, 0, 7}, {END}},
     .outcome = RB_JOB_STOPPED, .reason = RB_STOP_BROKEN_SCRIPT, .best = -1, .starts = "0@0 1@0 2@0 3@0 0@0 1@0"},
    {"two alike, the third otherwise, the fourth alike", "sha", .failing = {{2, ANY, 0, 8}, {ANY, ANY, 0, 7}, {END}},
     .outcome = RB_JOB_STOPPED, .reason = RB_STOP_BROKEN_SCRIPT, .best = -1},
    {"one has reported", "sha", .failing = {{0, ANY, 1, 7}, {ANY, ANY, 0, 7}, {END}}, .outcome = RB_JOB_INCOMPLETE,
     .best = 0},
    {"nothing to compare: infrastructure", "sha", .failing = {{ANY, ANY, 0, 0}, {END}}, .outcome = RB_JOB_INCOMPLETE,
     .best = -1},
    {"they fail once and then train", "sha", .max_restarts = 1, .failing = {{0, 0, 0, 7, 1}, {1, 0, 0, 7, 1}, {END}},
     .outcome = RB_JOB_COMPLETE, .best = 3},
    {"two trials, both alike", "random", .n_trials = 2, .max_restarts = 3, .failing = {{ANY, ANY, 0, 7}, {END}},
     .outcome = RB_JOB_STOPPED, .reason = RB_STOP_BROKEN_SCRIPT, .best = -1, .starts = "0@0 1@0 0@0"},
    {"one trial, twice alike", "random", .n_trials = 1, .max_restarts = 3, .failing = {{ANY, ANY, 0, 7}, {END}},
     .outcome = RB_JOB_STOPPED, .reason = RB_STOP_BROKEN_SCRIPT, .best = -1, .starts = "0@0 0@0"},
    {"one trial, once", "random", .n_trials = 1, .max_restarts = 3, .failing = {{ANY, ANY, 0, 7, 1}, {END}},
     .outcome = RB_JOB_COMPLETE, .best = 0, .starts = "0@0 0@0"},
    {"asha, three alike", "asha", .n_trials = 50, .max_restarts = 3, .failing = {{ANY, ANY, 0, 7}, {END}},
     .outcome = RB_JOB_STOPPED, .reason = RB_STOP_BROKEN_SCRIPT, .best = -1},
    // One trial.
    {"twice alike ends it, whatever max_restarts", "random", .max_restarts = 9, .failing = {{3, ANY, 2, 7}, {END}},
     .outcome = RB_JOB_COMPLETE, .best = 2, .starts = "0@0 1@0 2@0 3@0 3@0"},
    {"each time otherwise: max_restarts counts", "random", .n_trials = 1, .max_restarts = 2,
     .failing = {{0, ANY, 0, 7, 1}, {0, ANY, 0, 8, 1}, {0, ANY, 0, 7, 1}, {END}}, .outcome = RB_JOB_STOPPED,
     .reason = RB_STOP_BROKEN_SCRIPT, .best = -1, .starts = "0@0 0@0 0@0"},
    {"further each time: it makes its way", "random", .n_trials = 1, .max_restarts = 3,
     .failing = {{0, ANY, 1, 7, 1}, {0, ANY, 2, 7, 1}, {0, ANY, 3, 7, 1}, {END}}, .outcome = RB_JOB_COMPLETE, .best = 0,
     .starts = "0@0 0@0 0@0 0@0"},
};

static void every_row(void **unused)
{
    (void)unused;
    static struct played w;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct row *row = &rows[i];
        struct small_plan p;
        enum rb_stop_reason reason = RB_STOP_USER;
        make_plan(&p, row);
        play(&w, &p, row, RB_RULES_NOW);
        const enum rb_job_outcome outcome = rb_engine_outcome(w.engine, &reason);
        const int best = rb_engine_best(w.engine);
        if (outcome != row->outcome || (outcome == RB_JOB_STOPPED && reason != row->reason) ||
            (row->best != best && (row->best != 0 || row->starts)) ||
            (row->starts && strcmp(row->starts, w.starts) != 0))
            fail_msg("%s: outcome %d (%s), best %d, starts %s", row->name, outcome, rb_stop_reason_name(reason), best,
                     w.starts);
        const char *said;
        assert_int_equal(rb_engine_broken(w.engine, &said) > 0, row->reason == RB_STOP_BROKEN_SCRIPT);
        if (row->reason == RB_STOP_BROKEN_SCRIPT)
            assert_string_equal(said, "Traceback | KeyError: 'x'");
        check_replay(&w, &p);
        rb_engine_destroy(w.engine);
    }
}

// Journals that name no rules: a rung may end with no trial, and that is complete.
static void old_rules_stay(void **unused)
{
    (void)unused;
    static const struct row row = {"sha", "sha", .failing = {{3, 2}, {END}}};
    static struct played w;
    struct small_plan p;
    make_plan(&p, &row);
    play(&w, &p, &row, RB_RULES_OLDEST);
    assert_string_equal(w.starts, "0@0 1@0 2@0 3@0 2@1 3@1 3@2");
    assert_int_equal(rb_engine_outcome(w.engine, NULL), RB_JOB_COMPLETE);
    rb_engine_destroy(w.engine);
}

// A broken run that is resumed, as after the script was mended, does not stop at the first failure it sees.
static void resumed_it_counts_again(void **unused)
{
    (void)unused;
    static const struct row row = {"sha", "sha", .max_restarts = 3, .failing = {{ANY, ANY, 0, 7, 1}, {END}}};
    static struct played w;
    struct small_plan p;
    const char *said;
    make_plan(&p, &row);
    play(&w, &p, &row, RB_RULES_NOW);
    assert_int_equal(rb_engine_broken(w.engine, &said), 3);
    step(&w, (struct rb_event){.kind = RB_EVENT_RESUME});
    assert_int_equal(rb_engine_broken(w.engine, &said), 0);
    while (w.n_done < w.n_started)
        train(&w, &row, w.n_done++);
    assert_int_equal(rb_engine_outcome(w.engine, NULL), RB_JOB_COMPLETE);
    rb_engine_destroy(w.engine);
}

// ---- tuners alone

static void brackets_replace_their_own(void **unused)
{
    (void)unused;
    const struct rb_tuner *hyperband = rb_tuner_find("hyperband");
    const struct rb_job job = {
        .scheduler = {.type = "hyperband", .min_resource = 1, .max_resource = 9, .eta = 3, .brackets = 3}};
    struct rb_group g;
    struct rb_err err;
    void *state;
    assert_true(hyperband->create(&job, &state, &err));
    assert_int_equal(hyperband->next(state, &g), RB_TUNER_GROUP); // 0..8 to 1
    for (int i = 0; i < 9; i++)
        hyperband->ended(state, i, 1, i);
    assert_int_equal(hyperband->next(state, &g), RB_TUNER_GROUP); // 6, 7, 8 to 3
    hyperband->failed(state, 7);
    hyperband->ended(state, 8, 3, 8);
    hyperband->failed(state, 6);
    assert_int_equal(hyperband->next(state, &g), RB_TUNER_GROUP);
    assert_true(g.replaces && g.n_trials == 1 && g.trials[0] == 5 && g.stage == 1 && g.resource_end == 3);
    assert_int_equal(hyperband->next(state, &g), RB_TUNER_GROUP);
    assert_int_equal(g.trials[0], 4);
    assert_int_equal(hyperband->next(state, &g), RB_TUNER_WAIT);
    hyperband->ended(state, 4, 3, 4);
    hyperband->ended(state, 5, 3, 5);
    assert_int_equal(hyperband->next(state, &g), RB_TUNER_GROUP);
    assert_true(!g.replaces && g.n_trials == 1 && g.trials[0] == 8 && g.stage == 2);
    hyperband->failed(state, 8);
    hyperband->next(state, &g);
    assert_true(g.replaces && g.trials[0] == 5 && g.stage == 2);
    hyperband->failed(state, 5);
    hyperband->next(state, &g);
    assert_int_equal(g.trials[0], 4);
    hyperband->failed(state, 4);
    assert_int_equal(hyperband->next(state, &g), RB_TUNER_GROUP); // the bracket ends with none: the next one
    assert_true(g.stage == 3 && g.n_trials == 5);
    hyperband->destroy(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row),
        cmocka_unit_test(old_rules_stay),
        cmocka_unit_test(resumed_it_counts_again),
        cmocka_unit_test(brackets_replace_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
