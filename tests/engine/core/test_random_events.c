// Whatever the world says, and in whatever order: no GPU is used twice, nothing runs on a node that is not there, orders
// make sense, and the same events lead to the same orders, byte by byte. RB_TEST_SEED=n reruns one.
#include "action_text.h"
#include "random_plan.h"

#include "engine/core/engine.h"

#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define N_RUNS      400
#define N_PACKED    60 // each decision is a packing
#define N_EVENTS    600
#define TUNED_EVERY 40 // jobs: one job in this many tunes its batch

struct seen {
    int complete, stopped, resumed, target, lost, requeued, starts;
};

// ---- events, likely and unlikely

static int below(struct rb_stream *s, int n)
{
    return (int)rb_stream_below(s, (uint64_t)n);
}

// Mostly a node that exists, sometimes not.
static int some_node(struct rb_stream *s, const struct rb_engine *e)
{
    return below(s, rb_engine_n_nodes(e) + 1 + (below(s, 20) == 0));
}

// Mostly one that runs.
static int some_trial(struct rb_stream *s, const struct rb_engine *e)
{
    const int n = rb_engine_n_trials(e);
    int trial = below(s, n + 1);
    for (int tries = 0; tries < 20 && trial < n && rb_engine_trial(e, trial)->state != RB_TRIAL_RUNNING; tries++)
        trial = below(s, n);
    return trial;
}

static int some_attempt(struct rb_stream *s, int current)
{
    return below(s, 8) ? current : below(s, current + 2);
}

static void node_event(struct rb_stream *s, const struct rb_engine *e, struct rb_event *event)
{
    static const enum rb_event_kind kinds[] = {RB_EVENT_NODE_RUNNING, RB_EVENT_NODE_READY,   RB_EVENT_NODE_READY,
                                               RB_EVENT_NODE_READY,   RB_EVENT_NODE_REFUSED, RB_EVENT_NODE_LOST};
    event->kind = kinds[below(s, 6)];
    event->node = some_node(s, e);
    event->attempt = some_attempt(s, event->node < rb_engine_n_nodes(e) ? rb_engine_node(e, event->node)->attempt : 0);
}

static double some_metric(struct rb_stream *s)
{
    static const double odd[] = {NAN, INFINITY, -INFINITY, 0};
    return below(s, 10) ? rb_stream_uniform(s) : odd[below(s, 4)];
}

// Expected or not, plausible or not.
static struct rb_step_stats some_steps(struct rb_stream *s)
{
    static const double odd[] = {0, 1e-300, 1e300, 5};
    struct rb_step_stats steps = {.has_noise = below(s, 2) == 0, .has_sync = below(s, 3) == 0};
    steps.step_s = below(s, 8) ? rb_stream_uniform(s) : odd[below(s, 4)];
    steps.sync_s = rb_stream_uniform(s) / 2;
    steps.noise = (struct rb_grad_noise){rb_stream_uniform(s) - 0.1, 100 * rb_stream_uniform(s) - 1};
    return steps;
}

static void trial_event(struct rb_stream *s, const struct rb_engine *e, struct rb_event *event, int64_t max_resource)
{
    static const enum rb_outcome outcomes[] = {RB_OUTCOME_REACHED, RB_OUTCOME_REACHED, RB_OUTCOME_REACHED,
                                               RB_OUTCOME_FAILED,  RB_OUTCOME_HUNG,    RB_OUTCOME_YIELDED,
                                               RB_OUTCOME_EVICTED};
    event->trial = some_trial(s, e);
    event->attempt =
        some_attempt(s, event->trial < rb_engine_n_trials(e) ? rb_engine_trial(e, event->trial)->attempt : 0);
    event->kind = below(s, 2) ? RB_EVENT_REPORT : RB_EVENT_TRIAL_ENDED;
    event->resource = 1 + below(s, (int)max_resource);
    event->metric = some_metric(s);
    event->steps = some_steps(s);
    event->outcome = outcomes[below(s, 7)];
    event->signature = (uint64_t)below(s, 4);
}

static struct rb_event any_event(struct rb_stream *s, const struct rb_engine *e, int64_t now_us, int64_t max_resource)
{
    struct rb_event event = {.time_us = now_us + below(s, 3) * 1000000};
    const int which = below(s, 100);
    if (which < 40)
        node_event(s, e, &event);
    else if (which < 94)
        trial_event(s, e, &event, max_resource);
    else
        event.kind = which < 97   ? RB_EVENT_TIME
                     : which < 98 ? RB_EVENT_START
                     : which < 99 ? RB_EVENT_STOP
                                  : RB_EVENT_RESUME;
    return event;
}

// ---- what must hold

// A GPU belongs to one trial, or to as many as share it, all alike.
static void check_shares(const struct rb_engine *e, int node, int gpu)
{
    int n, n_here = 0, sharers = 0;
    const int *running = rb_engine_running(e, &n);
    for (int i = 0; i < n; i++) {
        const struct rb_trial *t = rb_engine_trial(e, running[i]);
        for (int k = 0; k < t->n_slots; k++) {
            if (t->slots[k].node != node || !(t->slots[k].gpus >> gpu & 1))
                continue;
            assert_true(n_here == 0 || sharers == t->sharers);
            sharers = t->sharers;
            n_here++;
        }
    }
    assert_in_range(n_here, 1, sharers);
}

static void check_trials(const struct rb_engine *e)
{
    uint64_t used[RB_LIMIT_NODES / 16] = {0};
    assert_true(rb_engine_n_nodes(e) <= (int)N_OF(used));
    for (int i = 0; i < rb_engine_n_trials(e); i++) {
        const struct rb_trial *t = rb_engine_trial(e, i);
        assert_true((t->state == RB_TRIAL_RUNNING) == (t->n_slots > 0));
        for (int k = 0; k < t->n_slots; k++) {
            assert_int_equal(rb_engine_node(e, t->slots[k].node)->state, RB_OWNED_READY);
            assert_true(t->slots[k].gpus != 0);
            assert_true(t->sharers > 1 || (used[t->slots[k].node] & t->slots[k].gpus) == 0);
            if (t->sharers > 1)
                check_shares(e, t->slots[k].node, __builtin_ctzll(t->slots[k].gpus));
            used[t->slots[k].node] |= t->slots[k].gpus;
        }
    }
    for (int i = 0; i < rb_engine_n_nodes(e); i++)
        assert_true(rb_engine_node(e, i)->busy == used[i]);
}

static void check_nodes(const struct rb_engine *e)
{
    const bool over = rb_engine_outcome(e, NULL) != RB_JOB_RUNNING;
    for (int i = 0; i < rb_engine_n_nodes(e); i++) {
        const struct rb_owned_node *n = rb_engine_node(e, i);
        assert_true((n->state == RB_OWNED_ENDED) == (n->ended_us >= 0));
        assert_true(!over || n->state == RB_OWNED_ENDED);
        assert_true(n->ready_us < 0 || n->running_us <= n->ready_us);
        assert_true(n->running_us < 0 || n->requested_us <= n->running_us);
        assert_true((n->busy >> (n->gpus - 1)) <= 1);
    }
}

static void check_batch(const struct random_plan *p, const struct rb_action *a)
{
    const struct rb_trial_spec *spec = &p->job.trial;
    const double total = rb_batch_total(&a->with.batch, a->gpus);
    assert_true((spec->batch_size > 0) == (a->with.batch.per_gpu > 0));
    assert_true(total >= (double)spec->batch_size && total <= (double)spec->batch_max);
    assert_true(spec->batch_size == 0 || (a->with.batch.per_gpu <= spec->batch_max_per_gpu && a->with.lr_factor > 0 &&
                                          isfinite(a->with.lr_factor)));
}

// No orders after the end, and nothing is asked of nodes and trials that are gone.
static void check_actions(const struct random_plan *p, const struct rb_engine *e, const struct rb_actions *actions)
{
    for (int i = 0; i < actions->n; i++) {
        const struct rb_action *a = &actions->items[i];
        assert_non_null(a->reason);
        if (a->kind == RB_ACTION_TERMINATE)
            assert_int_equal(rb_engine_node(e, a->node)->state, RB_OWNED_ENDED);
        if (a->kind == RB_ACTION_START_TRIAL)
            check_batch(p, a);
        if (a->kind == RB_ACTION_START_TRIAL)
            assert_true(rb_engine_attempt_is_current(e, a->trial, a->attempt) && a->n_slots > 0);
        if (a->kind == RB_ACTION_KILL_TRIAL)
            assert_false(rb_engine_attempt_is_current(e, a->trial, a->attempt));
        if (a->kind == RB_ACTION_DONE)
            assert_true(i == actions->n - 1 && rb_engine_outcome(e, NULL) != RB_JOB_RUNNING);
    }
}

// A job that is not over has something to wait for.
static void check_progress(const struct rb_engine *e)
{
    if (rb_engine_stage(e) < 0 || rb_engine_outcome(e, NULL) != RB_JOB_RUNNING)
        return;
    bool hope = false;
    for (int i = 0; i < rb_engine_n_trials(e); i++)
        hope |= rb_engine_trial(e, i)->state == RB_TRIAL_RUNNING;
    for (int i = 0; i < rb_engine_n_nodes(e); i++) {
        const enum rb_owned_state state = rb_engine_node(e, i)->state;
        hope |= state == RB_OWNED_REQUESTED || state == RB_OWNED_RUNNING;
    }
    assert_true(hope);
}

// ---- runs

static void count(const struct rb_engine *e, const struct rb_event *event, const struct rb_actions *actions,
                  struct seen *seen)
{
    for (int i = 0; i < actions->n; i++) {
        seen->starts += actions->items[i].kind == RB_ACTION_START_TRIAL;
        seen->requeued += actions->items[i].kind == RB_ACTION_START_TRIAL && actions->items[i].attempt > 0;
        seen->resumed += event->kind == RB_EVENT_RESUME && i == 0;
        if (actions->items[i].kind == RB_ACTION_DONE) {
            const enum rb_job_outcome outcome = rb_engine_outcome(e, NULL);
            seen->complete += outcome == RB_JOB_COMPLETE;
            seen->stopped += outcome == RB_JOB_STOPPED;
            seen->target += outcome == RB_JOB_TARGET;
        }
    }
}

static struct rb_engine *create(const struct random_plan *p)
{
    struct rb_engine *e;
    struct rb_err err;
    if (!rb_engine_create(&p->plan, &e, &err))
        fail_msg("%s", err.message);
    return e;
}

static void record(const struct rb_actions *actions, const struct random_plan *p, struct rb_buf *out)
{
    actions_text(actions, &p->plan, out);
    rb_buf_putc(out, '\n');
}

static void run_once(const struct random_plan *p, uint64_t seed, struct rb_event *events, struct rb_buf *dump,
                     struct seen *seen)
{
    struct rb_stream s;
    struct rb_engine *e = create(p);
    struct rb_actions actions = {0};
    rb_stream_init(&s, &(struct rb_stream_key){.seed = seed, .purpose = RB_DRAW_SEARCH, .stage = 1});
    for (int i = 0; i < N_EVENTS; i++) {
        const int64_t now_us = i ? events[i - 1].time_us : 0;
        events[i] = i == 0 ? (struct rb_event){.kind = RB_EVENT_START, .rules = (int)(seed % 3 != 0)}
                           : any_event(&s, e, now_us, p->job.scheduler.max_resource + 1);
        const int n_before = rb_engine_n_nodes(e);
        rb_engine_step(e, &events[i], &actions);
        seen->lost += events[i].kind == RB_EVENT_NODE_LOST && rb_engine_n_nodes(e) > n_before;
        record(&actions, p, dump);
        check_trials(e);
        check_nodes(e);
        check_actions(p, e, &actions);
        check_progress(e);
        count(e, &events[i], &actions, seen);
    }
    rb_engine_destroy(e);
    rb_actions_finish(&actions);
}

static void replay(const struct random_plan *p, const struct rb_event *events, struct rb_buf *dump)
{
    struct rb_engine *e = create(p);
    struct rb_actions actions = {0};
    for (int i = 0; i < N_EVENTS; i++) {
        rb_engine_step(e, &events[i], &actions);
        record(&actions, p, dump);
    }
    rb_engine_destroy(e);
    rb_actions_finish(&actions);
}

// Any options; deadlines that the run passes, which no one here enforces.
static void watch(struct random_plan *p, uint64_t seed)
{
    p->plan.policy = "hypersched";
    p->plan.deadline_us = (int64_t)(100 + seed) * RB_US_PER_S;
    p->job.policy_options = (struct rb_policy_options){.speculation = true,
                                                       .overhead = seed % 3 != 0,
                                                       .admission = seed % 7 != 0,
                                                       .scaling = (enum rb_scaling)(seed % 2),
                                                       .allocation = (enum rb_spare_gpus)(seed % 5),
                                                       .resize_interval = 2,
                                                       .atom_gpus = 1};
}

// One GPU is always among the sizes, and sharing was measured.
static void pack(struct random_plan *p, uint64_t seed)
{
    static const int shares[] = {1, 2, 3};
    static const struct rb_gpu_sharing costs[] = {{2, 1.3}, {3, 1.8}};
    p->plan.policy = seed % 2 ? "fluid" : "packing";
    p->training.sharing = costs;
    p->training.n_sharing = 2;
    p->job.trial.shares = shares;
    p->job.trial.n_shares = 1 + (int)(seed % 3);
}

// Batches that follow from what was reported of steps; each new one is a fit.
static void tune(struct random_plan *p, uint64_t seed)
{
    static const char *const rules[] = {"adascale", "sqrt", "linear", NULL};
    p->job.trial.batch_size = 16;
    p->job.trial.batch_max = 1024 + p->job.trial.max_gpus;
    p->job.trial.batch_max_per_gpu = 64;
    p->job.trial.lr_scaling = rules[seed / TUNED_EVERY % 4];
}

enum watching { UNWATCHED, HYPERSCHED, PACKING };

static void check_seed(uint64_t seed, const char *tuner, enum watching watching, struct seen *seen)
{
    static struct random_plan p; // large; remade every time
    static struct rb_event events[N_EVENTS];
    struct rb_buf first = RB_BUF_INIT, second = RB_BUF_INIT;
    random_plan_make_of(&p, seed, tuner);
    p.job.has_target = seed % 4 == 0;
    p.job.target = p.job.goal == RB_GOAL_MAXIMIZE ? 0.99 : 0.01;
    p.plan.policy = seed % 3 == 0 ? "static" : "elastic";
    if (watching == HYPERSCHED)
        watch(&p, seed);
    else if (watching == PACKING)
        pack(&p, seed);
    if (seed % TUNED_EVERY == 1)
        tune(&p, seed);
    run_once(&p, seed, events, &first, seen);
    replay(&p, events, &second);
    if (strcmp(rb_buf_str(&first), rb_buf_str(&second)) != 0)
        fail_msg("RB_TEST_SEED=%llu: a replay of the same events led to other actions", (unsigned long long)seed);
    rb_buf_finish(&first);
    rb_buf_finish(&second);
}

static void check_tuner(const char *tuner, enum watching watching)
{
    struct seen seen = {0};
    const char *one = getenv("RB_TEST_SEED");
    if (one) {
        check_seed(strtoull(one, NULL, 10), tuner, watching, &seen);
        return;
    }
    const int n = watching == PACKING ? N_PACKED : N_RUNS;
    for (uint64_t seed = 1; seed <= (uint64_t)n; seed++)
        check_seed(seed, tuner, watching, &seen);
    print_message("%d runs of %d events: %d completed, %d stopped, %d resumed, %d at the target, %d nodes lost, "
                  "%d starts, %d of them again\n",
                  n, N_EVENTS, seen.complete, seen.stopped, seen.resumed, seen.target, seen.lost, seen.starts,
                  seen.requeued);
    assert_true(20 * seen.complete > n && 4 * seen.stopped > n && 4 * seen.resumed > n && 80 * seen.target > n);
    assert_true(seen.lost > 2 * n && seen.requeued > 2 * n);
}

static void any_events_are_survived(void **state)
{
    (void)state;
    check_tuner(NULL, UNWATCHED);
}

static void any_events_are_survived_by_hyperband(void **state)
{
    (void)state;
    check_tuner("hyperband", UNWATCHED);
}

static void any_events_are_survived_by_asha(void **state)
{
    (void)state;
    check_tuner("asha", UNWATCHED);
}

static void any_events_are_survived_by_median(void **state)
{
    (void)state;
    check_tuner("median", UNWATCHED);
}

static void any_events_are_survived_by_pasha(void **state)
{
    (void)state;
    check_tuner("pasha", UNWATCHED);
}

static void any_events_are_survived_by_freeze_thaw(void **state)
{
    (void)state;
    check_tuner("freeze_thaw", UNWATCHED);
}

static void any_events_are_survived_by_populations(void **state)
{
    (void)state;
    check_tuner("pbt", UNWATCHED);
}

static void any_events_are_survived_by_hypersched_with_median(void **state)
{
    (void)state;
    check_tuner("median", HYPERSCHED);
}

static void any_events_are_survived_by_hypersched(void **state)
{
    (void)state;
    check_tuner("asha", HYPERSCHED);
}

static void any_events_are_survived_by_packed_groups(void **state)
{
    (void)state;
    check_tuner(NULL, PACKING);
}

static void any_events_are_survived_by_packed_hyperband(void **state)
{
    (void)state;
    check_tuner("hyperband", PACKING);
}

static void any_events_are_survived_by_packed_populations(void **state)
{
    (void)state;
    check_tuner("pbt", PACKING);
}

static void any_events_are_survived_by_packed_asha(void **state)
{
    (void)state;
    check_tuner("asha", PACKING);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_events_are_survived),
        cmocka_unit_test(any_events_are_survived_by_hyperband),
        cmocka_unit_test(any_events_are_survived_by_asha),
        cmocka_unit_test(any_events_are_survived_by_median),
        cmocka_unit_test(any_events_are_survived_by_pasha),
        cmocka_unit_test(any_events_are_survived_by_freeze_thaw),
        cmocka_unit_test(any_events_are_survived_by_populations),
        cmocka_unit_test(any_events_are_survived_by_hypersched),
        cmocka_unit_test(any_events_are_survived_by_hypersched_with_median),
        cmocka_unit_test(any_events_are_survived_by_packed_groups),
        cmocka_unit_test(any_events_are_survived_by_packed_hyperband),
        cmocka_unit_test(any_events_are_survived_by_packed_populations),
        cmocka_unit_test(any_events_are_survived_by_packed_asha),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
