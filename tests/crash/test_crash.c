// Kills the controller at every second write of its journal, lets another one take over, and compares the end with
// that of a run that was not killed: the same best trial, no report lost, no launch made twice, no instance left,
// the cloud's own bill. Of asynchronous tuners, whose decisions depend on who reports first, the ending is its own: all of it
// is replayed from the journal. Two deaths: the process got as far as it could without another write; or not one side
// effect further. And a full disk, which it survives: it ends all that it has rented, and says so.
//
// RB_TEST_EVERY=1 kills at each write, RB_CRASH_SEEDS=N runs N seeds of every world instead of one (see docs/HACKING.md).
#include "fake_reports.h"
#include "fake_run.h"

#include "base/text/number.h"
#include "executor/report/report.h"
#include "tests/base/every.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
// cmocka wants the four above first
#include <cmocka.h>

struct world {
    const char *name;
    struct fake_faults faults;
    struct fake_training training; // only probabilities; times stay
    bool same_launches;            // nothing but deaths can change how many nodes are asked for
    bool gangs;                    // trials over two nodes
    bool asynchronous;             // asha, whose trials are asked to give way
    bool packed;                   // GPUs shared, trials resized
    bool population;               // whose members are copied; compared one by one if asynchronous
    enum rb_rule rule;
    int64_t deadline_us;   // of hypersched, 0: another policy
    int64_t stopped_at_us; // by the user, once, and resumed at once; 0: never
};

static const struct world worlds[] = {
    {.name = "a well-behaved cloud", .same_launches = true},
    {.name = "slow listings, lost answers",
     .faults = {.lost_request = 0.2, .lost_answer = 0.3, .partial_listing = 0.3, .visible_after_us = 20000000}},
    {.name = "refusals and failing trials",
     .faults = {.capacity = 0.4, .visible_after_us = 3000000},
     .training = {.fails = 0.15, .yields = 0.15, .hangs = 0.05, .save_fails = 0.1}},
    {.name = "preemptions", .faults = {.preemption_per_hour = 25, .lost_answer = 0.1, .visible_after_us = 3000000}},
    {.name = "checkpoints announced, preemptions",
     .faults = {.preemption_per_hour = 25, .lost_answer = 0.1, .visible_after_us = 3000000},
     .training = {.fails = 0.1, .save_fails = 0.1, .announces = true}},
    {.name = "gangs, preempted and failing",
     .gangs = true,
     .faults = {.preemption_per_hour = 10, .visible_after_us = 3000000},
     .training = {.fails = 0.1, .hangs = 0.05}},
    {.name = "gangs, slow listings, lost answers",
     .gangs = true,
     .faults = {.lost_request = 0.2, .lost_answer = 0.3, .partial_listing = 0.2, .visible_after_us = 20000000}},
    {.name = "gangs, refused and left half",
     .gangs = true,
     .faults = {.capacity = 0.4, .half_gang = 0.1, .visible_after_us = 3000000}},
    {.name = "stopped and resumed",
     .faults = {.lost_answer = 0.1, .visible_after_us = 3000000},
     .stopped_at_us = 45000000},
    {.name = "asha, promoting", .asynchronous = true, .rule = RB_RULE_PROMOTE, .faults = {.visible_after_us = 3000000}},
    {.name = "asha, giving way, some deaf",
     .asynchronous = true,
     .rule = RB_RULE_SPECULATE,
     .faults = {.preemption_per_hour = 5, .visible_after_us = 3000000},
     .training = {.fails = 0.05, .deaf = 0.3, .save_fails = 0.1}},
    {.name = "asha, stopped and resumed",
     .asynchronous = true,
     .rule = RB_RULE_SPECULATE,
     .faults = {.lost_answer = 0.1},
     .stopped_at_us = 60000000},
    {.name = "hypersched until the deadline",
     .asynchronous = true,
     .deadline_us = 240000000,
     .faults = {.preemption_per_hour = 5, .visible_after_us = 3000000},
     .training = {.deaf = 0.1}},
    {.name = "packed, GPUs shared",
     .packed = true,
     .faults = {.preemption_per_hour = 10, .lost_answer = 0.1, .visible_after_us = 3000000},
     .training = {.fails = 0.1, .deaf = 0.1}},
    {.name = "a population, failing and refused",
     .population = true,
     .faults = {.capacity = 0.3, .lost_answer = 0.2, .visible_after_us = 3000000},
     .training = {.fails = 0.15, .yields = 0.15, .hangs = 0.05, .save_fails = 0.1}},
    {.name = "a population, preempted",
     .population = true,
     .faults = {.preemption_per_hour = 10, .visible_after_us = 3000000}},
    {.name = "a population, one by one",
     .population = true,
     .asynchronous = true,
     .faults = {.preemption_per_hour = 5, .visible_after_us = 3000000},
     .training = {.fails = 0.1, .yields = 0.2, .save_fails = 0.1}},
};
enum { N_WORLDS = sizeof worlds / sizeof *worlds, N_TRIALS = 15, LIMIT_US = 2000000000 };

// What must not depend on any death.
struct ending {
    int best, n_trials, n_launches;
    struct {
        enum rb_trial_state state;
        int parent;
        int64_t resource;
        double metric, lr;
    } trials[N_TRIALS];
};

static struct {
    int points, identical, left, launched_twice, resumes;
    int kept, resumed_midway; // checkpoints that were announced
    int full, rescued; // disks, and how often all was known to have ended
} table[N_WORLDS];

static void init(struct fake_run *r, const struct world *w, uint64_t seed)
{
    fake_run_init(r, seed);
    const int64_t unit_us = r->machines.training.unit_us, startup_us = r->machines.training.startup_us;
    r->cloud.faults = w->faults;
    r->machines.training = w->training;
    r->machines.training.unit_us = unit_us;
    r->machines.training.startup_us = startup_us;
    r->go_on = w->stopped_at_us > 0;
    if (w->gangs)
        fake_run_make_gangs(r);
    if (w->packed)
        fake_run_make_packed(r);
    if (w->population)
        fake_run_make_population(r, w->asynchronous);
    else if (w->deadline_us > 0)
        fake_run_make_anytime(r, w->deadline_us);
    else if (w->asynchronous)
        fake_run_make_asynchronous(r, w->rule);
}

// Steps to the end of this controller, which stays open for questions.
static void run_to_end(struct fake_run *r)
{
    fake_run_step_until(r, r->v.now_us + LIMIT_US);
    if (!r->finished)
        fail_msg("the run does not end; it said:\n%s", r->talk);
}

// One life of a controller that dies at write n (0: never), with the user's stop in it if the world has one and it has
// not been yet. A stopped run is resumed by the same life, as its user would. Returns the writes it made.
static int64_t live(struct fake_run *r, const struct world *w, int64_t n, enum rb_journal_death how)
{
    const bool will_stop = w->stopped_at_us > r->v.now_us;
    fake_run_open_dying(r, n, how);
    if (will_stop) {
        fake_run_step_until(r, w->stopped_at_us);
        if (!r->finished)
            rb_controller_stop(r->controller, RB_STOP_USER);
    }
    run_to_end(r);
    const int64_t n_writes = rb_journal_n_writes(r->journal);
    if (r->err.code || r->outcome != RB_JOB_STOPPED)
        return n_writes;
    fake_run_close(r);
    fake_run_open_dying(r, n > n_writes ? n - n_writes : 0, how);
    run_to_end(r);
    return n_writes + rb_journal_n_writes(r->journal);
}

static struct ending ending_of(struct fake_run *r)
{
    const struct rb_engine *e = rb_controller_engine(r->controller);
    struct ending end = {
        .best = rb_engine_best(e), .n_trials = rb_engine_n_trials(e), .n_launches = r->cloud.n_instances};
    assert_true(end.n_trials <= N_TRIALS);
    for (int i = 0; i < end.n_trials; i++) {
        const struct rb_trial *t = rb_engine_trial(e, i);
        end.trials[i].state = t->state;
        end.trials[i].resource = t->resource;
        end.trials[i].metric = t->metric;
        end.trials[i].parent = t->parent;
        end.trials[i].lr = t->values ? t->values[0].number : 0;
    }
    return end;
}

static bool same_ending(const struct ending *a, const struct ending *b)
{
    if (a->best != b->best || a->n_trials != b->n_trials)
        return false;
    for (int i = 0; i < a->n_trials; i++) {
        if (a->trials[i].state != b->trials[i].state || a->trials[i].resource != b->trials[i].resource ||
            a->trials[i].parent != b->trials[i].parent || !fake_same_metric(a->trials[i].lr, b->trials[i].lr) ||
            !fake_same_metric(a->trials[i].metric, b->trials[i].metric))
            return false;
    }
    return true;
}

// The journal alone leads to the same end.
static bool replays(struct fake_run *r, const struct ending *end)
{
    struct rb_report report;
    struct rb_err err;
    struct ending again = {0};
    if (!rb_report_make(r->journal, r->plan, &r->arena, &report, &err))
        fail_msg("%s", err.message);
    again.best = report.best_trial;
    again.n_trials = report.n_trials;
    for (int i = 0; i < report.n_trials && i < end->n_trials; i++) {
        again.trials[i].state = end->trials[i].state; // the report has its name
        assert_string_equal(report.trials[i].state, rb_trial_state_name(end->trials[i].state));
        assert_true(end->trials[i].state != RB_TRIAL_RUNNING && end->trials[i].state != RB_TRIAL_WAITING);
        again.trials[i].resource = report.trials[i].resource;
        again.trials[i].metric = report.trials[i].metric;
        again.trials[i].parent = report.trials[i].parent;
        again.trials[i].lr = report.trials[i].suggested ? report.trials[i].suggested[0].number : 0;
    }
    return same_ending(&again, end);
}

// One instance for every launch that was answered, one token for every launch, and the bill is the cloud's.
static int check_launches(struct fake_run *r)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena;
    struct rb_launch_row *rows;
    struct rb_err err;
    int n, answered = 0;
    int64_t cost = 0;
    rb_arena_init(&arena);
    assert_true(rb_journal_launches(r->journal, &arena, &rows, &n, &err));
    for (int i = 0; i < n; i++) {
        assert_true(rows[i].state == RB_LAUNCH_GONE || rows[i].state == RB_LAUNCH_REFUSED);
        answered += rows[i].state == RB_LAUNCH_GONE;
        cost += rows[i].cost_uusd;
        for (int k = 0; k < i; k++) {
            if (strcmp(rows[i].launch_id, rows[k].launch_id) == 0) // of one gang: asked for with the same words
                assert_true(rows[i].node != rows[k].node && strcmp(rows[i].token, rows[k].token) == 0);
            else
                assert_string_not_equal(rows[i].token, rows[k].token);
            assert_true(!rows[i].instance_id[0] || strcmp(rows[i].instance_id, rows[k].instance_id) != 0);
        }
    }
    assert_int_equal(cost, fake_cloud_bill_uusd(&r->cloud, &r->billing));
    return r->cloud.n_instances - answered;
}

// Five final listings in a row were lost or not complete: then it is unknown what is left, and this is said.
static bool is_unsure(const struct fake_run *r, int world)
{
    return worlds[world].faults.partial_listing > 0 && r->err.number == RB_E_INSTANCES_LEFT &&
           strstr(r->err.message, "the last listing never became complete");
}

static bool check_end(struct fake_run *r, const struct ending *expected, bool same_launches, int world)
{
    if (r->err.code && !is_unsure(r, world))
        fail_msg("ended with: %s", r->err.message);
    assert_int_equal(r->outcome, RB_JOB_COMPLETE);
    const struct ending end = ending_of(r);
    table[world].left += fake_cloud_alive(&r->cloud);
    const int launched_twice = check_launches(r);
    table[world].launched_twice += launched_twice;
    assert_int_equal(launched_twice, 0);
    assert_int_equal(fake_reports_lost(&r->machines, r->journal), 0);
    assert_int_equal(fake_cloud_alive(&r->cloud), 0);
    if (worlds[world].asynchronous)
        return replays(r, &end);
    if (same_launches)
        assert_int_equal(end.n_launches, expected->n_launches);
    return same_ending(&end, expected);
}

// It said that nothing is left: that is true. Only what was asked for and not answered can make it less than sure.
static void check_rescue(const struct fake_run *r, int world)
{
    assert_non_null(strstr(r->err.message, "database or disk is full; the run cannot continue without its journal"));
    assert_int_equal(r->err.code, RB_ERR_IO);
    if (strstr(r->err.message, "a listing shows none left"))
        assert_int_equal(fake_cloud_alive(&r->cloud), 0);
    else
        assert_non_null(strstr(r->err.message, "not all of its instances are known to have ended"));
    table[world].full++;
    table[world].rescued += strstr(r->err.message, "a listing shows none left") != NULL;
}

// Dies at write n, and if `again` is not 0 at that write of the second controller too.
static void one_point(int world, uint64_t seed, int64_t n, enum rb_journal_death how, int64_t again,
                      const struct ending *expected)
{
    const struct world *w = &worlds[world];
    const int64_t dies_at[] = {n, again, 0};
    struct fake_run r;
    init(&r, w, seed);
    for (int life = 0;; life++) {
        live(&r, w, dies_at[life], how);
        if (dies_at[life] == 0 || !r.err.code)
            break;
        fake_run_close(&r);
        table[world].resumes++;
        if (how == RB_JOURNAL_FULL)
            check_rescue(&r, world);
        fake_run_step_until(&r, r.v.now_us + (n % 3) * 7000000); // no one is there for a while
    }
    table[world].points++;
    table[world].kept += r.machines.n_kept;
    table[world].resumed_midway += r.machines.n_resumed_midway;
    const bool same = check_end(&r, expected, w->same_launches && again == 0 && how != RB_JOURNAL_FULL, world);
    table[world].identical += same;
    if (!same)
        print_error("%s: seed %d, write %d: another ending\n", w->name, (int)seed, (int)n);
    assert_true(same);
    fake_run_finish(&r);
}

static void every_point(int world, uint64_t seed)
{
    struct fake_run r;
    struct ending expected;
    init(&r, &worlds[world], seed);
    const int64_t n_writes = live(&r, &worlds[world], 0, RB_JOURNAL_DIES_AFTER);
    expected = ending_of(&r);
    assert_true(check_end(&r, &expected, true, world));
    fake_run_finish(&r);
    assert_true(n_writes > 50);
    const int step = test_every(2);
    for (int64_t n = 1 + world % step; n <= n_writes; n += step) {
        one_point(world, seed, n, RB_JOURNAL_DIES_AFTER, 0, &expected);
        one_point(world, seed, n, RB_JOURNAL_DIES_AT, 0, &expected);
        one_point(world, seed, n, RB_JOURNAL_FULL, 0, &expected);
        if (n % 3 == 0)
            one_point(world, seed, n, RB_JOURNAL_DIES_AT, 1 + n % 11, &expected);
    }
}

static void every_seed(int world)
{
    const char *text = getenv("RB_CRASH_SEEDS");
    int64_t n_seeds = 1;
    if (text && !rb_parse_int(text, &n_seeds))
        fail_msg("RB_CRASH_SEEDS: expected a number, got %s", text);
    for (int64_t seed = 1; seed <= n_seeds; seed++)
        every_point(world, (uint64_t)seed);
}

static void well_behaved(void **state)
{
    (void)state;
    every_seed(0);
}

static void lost_answers(void **state)
{
    (void)state;
    every_seed(1);
}

static void refusals_and_failures(void **state)
{
    (void)state;
    every_seed(2);
}

static void preemptions(void **state)
{
    (void)state;
    every_seed(3);
}

static void announced(void **state)
{
    (void)state;
    every_seed(4);
    assert_true(table[4].kept > 0 && table[4].resumed_midway > 0);
}

static void gangs(void **state)
{
    (void)state;
    every_seed(5);
}

static void gangs_unanswered(void **state)
{
    (void)state;
    every_seed(6);
}

static void gangs_refused(void **state)
{
    (void)state;
    every_seed(7);
}

static void stopped_and_resumed(void **state)
{
    (void)state;
    every_seed(8);
}

static void asynchronous_promoting(void **state)
{
    (void)state;
    every_seed(9);
}

static void asynchronous_giving_way(void **state)
{
    (void)state;
    every_seed(10);
}

static void asynchronous_stopped(void **state)
{
    (void)state;
    every_seed(11);
}

static void until_the_deadline(void **state)
{
    (void)state;
    every_seed(12);
}

static void packed(void **state)
{
    (void)state;
    every_seed(13);
}

static void a_failing_population(void **state)
{
    (void)state;
    every_seed(14);
}

static void a_preempted_population(void **state)
{
    (void)state;
    every_seed(15);
}

static void a_population_one_by_one(void **state)
{
    (void)state;
    every_seed(16);
}

static int print_table(void **state)
{
    (void)state;
    print_message("%-32s %12s %8s %10s %15s %15s %11s %10s\n", "world", "kill points", "resumes", "identical",
                  "launched twice", "instances left", "full disks", "all ended");
    for (int i = 0; i < N_WORLDS; i++)
        print_message("%-32s %12d %8d %10d %15d %15d %11d %10d\n", worlds[i].name, table[i].points, table[i].resumes,
                      table[i].identical, table[i].launched_twice, table[i].left, table[i].full, table[i].rescued);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(well_behaved),
        cmocka_unit_test(lost_answers),
        cmocka_unit_test(refusals_and_failures),
        cmocka_unit_test(preemptions),
        cmocka_unit_test(announced),
        cmocka_unit_test(gangs),
        cmocka_unit_test(gangs_unanswered),
        cmocka_unit_test(gangs_refused),
        cmocka_unit_test(stopped_and_resumed),
        cmocka_unit_test(asynchronous_promoting),
        cmocka_unit_test(asynchronous_giving_way),
        cmocka_unit_test(asynchronous_stopped),
        cmocka_unit_test(until_the_deadline),
        cmocka_unit_test(packed),
        cmocka_unit_test(a_failing_population),
        cmocka_unit_test(a_preempted_population),
        cmocka_unit_test(a_population_one_by_one),
    };
    return cmocka_run_group_tests(tests, NULL, print_table);
}
