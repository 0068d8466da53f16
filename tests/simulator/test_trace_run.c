// Traces run by hand: the published rules to the second, the event-driven world to the microsecond, an elastic cluster, and
// what every run keeps to whatever its policy.
#include "small_apps.h"

#include "base/stream.h"
#include "check.h"
#include "simulator/cluster/trace_fairness.h"
#include "simulator/cluster/trace_summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define S RB_US_PER_S

static void options_for(struct rb_trace_options *o, enum rb_trace_rules rules, const char *policy, int n_nodes)
{
    rb_trace_options_defaults(o);
    o->rules = rules;
    o->policy = rb_sharing_find(policy);
    o->n_nodes = n_nodes;
    o->gpus_per_node = 2;
    assert_non_null(o->policy);
}

static void run(struct rb_trace_run *r, const struct small_apps *s, const struct rb_trace_options *o)
{
    struct rb_err err = {0};
    if (!rb_trace_run_init(r, &s->trace, o, &err) || !rb_trace_run_all(r, &err))
        fail_msg("%s", err.message);
}

static void run_rows(struct rb_trace_run *r, struct small_apps *s, enum rb_trace_rules rules, const char *policy,
                     int n_nodes, const char *rows)
{
    struct rb_trace_options o;
    small_apps_write(s);
    small_apps_load(s, rows);
    options_for(&o, rules, policy, n_nodes);
    run(r, s, &o);
}

static void finish(struct rb_trace_run *r, struct small_apps *s)
{
    rb_trace_run_finish(r);
    small_apps_finish(s);
}

static void ends_at(const struct rb_trace_run *r, int job, int64_t expected_us)
{
    if (r->jobs[job].ended_us != expected_us)
        fail_msg("%s ended at %lld us, expected %lld", r->trace->jobs[job].name, (long long)r->jobs[job].ended_us,
                 (long long)expected_us);
}

// ---- the published rules

// Seen at 60, stands still to 90, trains 1/s. The first epoch's last 10.5 s are 10: ties go to the even second. The second
// epoch's 99.5 s begin there, and 49.5 of them after the round that ends at 240: 50.
static void a_job_keeps_to_the_grid_and_to_whole_seconds(void **state)
{
    (void)state;
    struct small_apps s;
    struct rb_trace_run r;
    run_rows(&r, &s, RB_TRACE_OSDI21, "tiresias", 1, "a,30,toy,1,10\n");
    ends_at(&r, 0, 290 * S);
    assert_int_equal(r.jobs[0].started_us, 60 * S);
    assert_int_equal(r.jobs[0].restarts, 1);
    assert_int_equal(r.jobs[0].gpu_us, 230 * S);
    finish(&r, &s);
}

// A single GPU that trains more than the initial batch accumulates: 20 samples are two gradients of 10, 2 s an iteration.
static void one_gpu_accumulates_a_large_batch(void **state)
{
    (void)state;
    struct small_apps s;
    struct rb_trace_run r;
    run_rows(&r, &s, RB_TRACE_OSDI21, "tiresias", 1, "a,0,toy,1,20\n");
    assert_int_equal(r.jobs[0].cut.per_gpu, 10);
    assert_int_equal(r.jobs[0].cut.accumulation, 1);
    ends_at(&r, 0, 490 * S); // from 90: 201 s, then 199 s, to whole seconds
    finish(&r, &s);
}

// Three GPUs are taken from the freest node first: 2 of one and 1 of the other, the ring 12.
static void who_does_not_fit_is_passed_over(void **state)
{
    (void)state;
    struct small_apps s;
    struct rb_trace_run r;
    run_rows(&r, &s, RB_TRACE_OSDI21, "tiresias", 2, "a,0,toy,3,30\nb,1,toy,2,20\nc,2,toy,1,10\n");
    assert_int_equal(r.jobs[2].started_us, 60 * S);
    assert_int_equal(r.jobs[0].started_us, 60 * S);
    ends_at(&r, 0, 190 * S);                         // 30 s of restart, then 50 + 50 s
    assert_int_equal(r.jobs[1].started_us, 240 * S); // the round after that
    finish(&r, &s);
}

static void interference_is_lost_progress(void **state)
{
    (void)state;
    struct small_apps s;
    struct rb_trace_run r;
    struct rb_trace_options o;
    small_apps_write(&s);
    small_apps_load(&s, "a,0,toy,3,30\nb,0,toy,3,30\n");
    options_for(&o, RB_TRACE_OSDI21, "tiresias", 3);
    o.interference = 0.5;
    run(&r, &s, &o); // a: 2 of node 0, 1 of node 1; b: 2 of node 2, 1 of node 1
    ends_at(&r, 0, 290 * S);
    ends_at(&r, 1, 290 * S);
    finish(&r, &s);
}

static void optimus_gives_one_gpu_after_another_to_who_gains_most(void **state)
{
    (void)state;
    struct small_apps s;
    struct rb_trace_run r;
    run_rows(&r, &s, RB_TRACE_OSDI21, "optimus", 2, "a,0,toy,1,30\n");
    // 3 s on one GPU by accumulation, 1.1 s on two, 0.5 s on three; the fourth gains nothing and is not taken.
    assert_int_equal(r.jobs[0].gpu_us, 3 * (r.jobs[0].ended_us - 60 * S));
    finish(&r, &s);
}

// ---- the event-driven world

static void nothing_waits_for_a_grid(void **state)
{
    (void)state;
    struct small_apps s;
    struct rb_trace_run r;
    run_rows(&r, &s, RB_TRACE_EVENTS, "tiresias", 1, "a,30.25,toy,1,10\n");
    ends_at(&r, 0, 260 * S + S / 4);
    const struct rb_trace_summary sum = rb_trace_summarise(&r, &(double){1});
    assert_float_equal(sum.jct_mean_s, 230, 1e-9);
    assert_float_equal(sum.makespan_s, 260.25, 1e-9);
    assert_int_equal(sum.cost_uusd, -1);
    finish(&r, &s);
}

static void a_round_is_held_when_a_job_ends(void **state)
{
    (void)state;
    struct small_apps s;
    struct rb_trace_run r;
    run_rows(&r, &s, RB_TRACE_EVENTS, "tiresias", 1, "a,0,toy,2,20\nb,7,toy,2,20\n");
    ends_at(&r, 0, 150 * S); // 30 + 200 iterations of 0.6 s
    assert_int_equal(r.jobs[1].started_us, 150 * S);
    ends_at(&r, 1, 300 * S);
    finish(&r, &s);
}

static void fairness_is_against_an_equal_share(void **state)
{
    (void)state;
    struct small_apps s;
    struct rb_trace_run r;
    double fairness[2];
    run_rows(&r, &s, RB_TRACE_EVENTS, "tiresias", 1, "a,0,toy,1,10\nb,0,toy,1,10\n");
    rb_trace_fairness(&r, fairness); // two jobs, two GPUs: each had its share for itself
    assert_float_equal(fairness[0], 1, 1e-9);
    assert_float_equal(fairness[1], 1, 1e-9);
    finish(&r, &s);
    run_rows(&r, &s, RB_TRACE_EVENTS, "tiresias", 1, "a,0,toy,2,20\nb,0,toy,2,20\n");
    rb_trace_fairness(&r, fairness);
    // a is not alone: half of the GPUs would have taken it 430 s. b is there for 300 s, with 1.5 jobs on average: one GPU.
    assert_float_equal(fairness[0], 150.0 / 430, 1e-9);
    assert_float_equal(fairness[1], 300.0 / 430, 1e-9);
    finish(&r, &s);
}

// ---- what a job knows of itself

static void a_job_knows_what_it_has_seen_and_what_was_measured(void **state)
{
    (void)state;
    struct small_apps s;
    struct rb_err err = {0};
    small_apps_write(&s);
    small_apps_load(&s, "a,0,toy,1,10\n");
    const struct rb_batch_limits limits = rb_app_limits(s.trace.jobs[0].app);
    struct rb_goodput_batches *batches = rb_goodput_batches_create(&limits, RB_APP_MAX_GPUS);
    struct rb_trace_training t;
    rb_trace_training_init(&t, &s.trace.jobs[0], true, 3, batches);
    assert_int_equal(rb_trace_training_reach(&t), 1);
    assert_true(rb_trace_training_place(&t, (int[]){2}, 1, 0, 0, &err));
    assert_int_equal(t.cut.per_gpu * 2, 10); // no model yet: the initial batch
    assert_true(rb_trace_training_learn(&t, &err));
    assert_true(rb_trace_training_learn(&t, &err));
    assert_int_equal(t.n_seen, 1); // the second time it was nothing new
    assert_int_equal(rb_trace_training_reach(&t), 4);
    assert_true(rb_trace_training_tune(&t, &err));
    assert_int_equal(t.cut.per_gpu * 2 * (t.cut.accumulation + 1), 10); // no noise: more samples teach nothing
    assert_true(rb_trace_training_goodput(&t, 1, 2) > 0);
    assert_true(rb_trace_training_goodput(&t, 2, 3) > 0);
    assert_true(rb_trace_training_goodput(&t, 1, 3) <= 0); // three GPUs of one node were never measured
    assert_true(rb_trace_training_goodput(&t, 1, 4) > 0);  // nor can they be: a question about an equal share
    rb_trace_training_finish(&t);
    rb_goodput_batches_destroy(batches);
    small_apps_finish(&s);
}

// ---- an elastic cluster

static const struct rb_rate a_dollar_a_second[] = {{3600 * RB_UUSD}, {3600 * RB_UUSD}};

// Two nodes from the first round on, one as soon as the job that came first is over.
static bool create_rule(const struct rb_autoscale_options *options, void **out_state, struct rb_err *err)
{
    (void)err;
    *out_state = NULL;
    assert_int_equal(options->provision_us, 30 * S);
    assert_int_equal(options->rates[1].uusd_per_hour, 3600 * RB_UUSD);
    return true;
}

static bool create_freely(const struct rb_autoscale_options *options, void **out_state, struct rb_err *err)
{
    (void)options;
    (void)err;
    *out_state = NULL;
    return true;
}

static void destroy_rule(void *state)
{
    (void)state;
}

static int two_while_the_first_is_there(void *state, int64_t now_us, const struct rb_autoscale_view *view)
{
    (void)state;
    (void)now_us;
    return view->n_jobs > 0 && view->jobs[0].id == 0 ? 2 : 1;
}

static const struct rb_autoscale rule = {.name = "test",
                                         .summary = "",
                                         .create = create_rule,
                                         .destroy = destroy_rule,
                                         .decide = two_while_the_first_is_there};

static void nodes_are_waited_for_paid_for_and_given_back(void **state)
{
    (void)state;
    struct small_apps s;
    struct rb_trace_run r;
    struct rb_trace_options o;
    small_apps_write(&s);
    small_apps_load(&s, "a,0,toy,2,20\nb,0,toy,2,20\n");
    options_for(&o, RB_TRACE_EVENTS, "tiresias", 2);
    o.autoscale = &rule;
    o.provisioning = (struct rb_trace_provisioning){.queue_s = rb_dist_constant(10), .init_s = rb_dist_constant(20)};
    o.rates = a_dollar_a_second;
    run(&r, &s, &o);
    assert_int_equal(r.nodes.n_leases, 2);
    assert_int_equal(r.nodes.leases[1].running_us, 10 * S);
    assert_int_equal(r.jobs[1].started_us, 30 * S);
    ends_at(&r, 0, 150 * S);
    // One node must go then, both are idle or busy: node 0, idle, goes before node 1, where b trains on.
    assert_int_equal(r.nodes.leases[0].ended_us, 150 * S);
    ends_at(&r, 1, 180 * S);
    assert_int_equal(r.jobs[1].restarts, 1);
    assert_int_equal(rb_trace_summarise(&r, (double[]){1, 1}).cost_uusd, (150 + 170) * RB_UUSD);
    finish(&r, &s);
}

// No one is asked which node goes while both are busy: the higher number does, and its job waits.
static int one_after_a_while(void *state, int64_t now_us, const struct rb_autoscale_view *view)
{
    (void)state;
    (void)view;
    return now_us < 60 * S ? 2 : 1;
}

static void a_job_loses_its_node_and_keeps_its_progress(void **state)
{
    (void)state;
    const struct rb_autoscale shrinks = {
        .name = "test", .summary = "", .create = create_rule, .destroy = destroy_rule, .decide = one_after_a_while};
    struct small_apps s;
    struct rb_trace_run r;
    struct rb_trace_options o;
    small_apps_write(&s);
    small_apps_load(&s, "a,0,toy,2,20\nb,0,toy,2,20\n");
    options_for(&o, RB_TRACE_EVENTS, "tiresias", 2);
    o.autoscale = &shrinks;
    o.min_nodes = 1;
    o.provisioning = (struct rb_trace_provisioning){.queue_s = rb_dist_constant(30), .init_s = rb_dist_constant(0)};
    o.rates = a_dollar_a_second;
    run(&r, &s, &o);
    assert_int_equal(r.nodes.leases[1].ended_us,
                     90 * S); // the first round after 60: node 1 was ready, and asked, at 30
    ends_at(&r, 0, 150 * S);
    ends_at(&r, 1, 270 * S); // 30 s of its 120 were done by 90; from 150 on: 30 s of restart, then the rest
    assert_int_equal(r.jobs[1].restarts, 2);
    assert_int_equal(rb_trace_summarise(&r, (double[]){1, 1}).cost_uusd, (270 + 60) * RB_UUSD);
    finish(&r, &s);
}

// As above, but b's node costs twice as much. Once a is over it saves more to move b, for half a minute, than to keep that node.
static void the_costly_node_goes_first_and_every_dollar_is_somebodys(void **state)
{
    (void)state;
    static const struct rb_rate rates[] = {{3600 * RB_UUSD}, {7200 * RB_UUSD}};
    struct small_apps s;
    struct rb_trace_run r;
    struct rb_trace_options o;
    struct rb_trace_price prices[2];
    small_apps_write(&s);
    small_apps_load(&s, "a,0,toy,2,20\nb,0,toy,2,20\n");
    options_for(&o, RB_TRACE_EVENTS, "tiresias", 2);
    const struct rb_autoscale of_two_prices = {.name = "test",
                                               .summary = "",
                                               .create = create_freely,
                                               .destroy = destroy_rule,
                                               .decide = two_while_the_first_is_there};
    o.autoscale = &of_two_prices;
    o.provisioning = (struct rb_trace_provisioning){.queue_s = rb_dist_constant(10), .init_s = rb_dist_constant(20)};
    o.rates = rates;
    run(&r, &s, &o);
    ends_at(&r, 0, 150 * S);
    assert_int_equal(r.nodes.leases[1].ended_us, 150 * S);
    ends_at(&r, 1, 210 * S); // 90 s of its 120 were done; half a minute of restart, then the rest
    rb_trace_prices(&r, prices);
    assert_int_equal(prices[0].cost_uusd, 210 * RB_UUSD);
    assert_int_equal(prices[1].cost_uusd, 2 * 140 * RB_UUSD); // billed from 10 s on, ready at 30
    assert_int_equal(rb_trace_job_uusd(&r, 0), 150 * RB_UUSD);
    assert_int_equal(rb_trace_job_uusd(&r, 1), (2 * 120 + 60) * RB_UUSD);
    const struct rb_trace_summary sum = rb_trace_summarise(&r, (double[]){1, 1});
    assert_int_equal(sum.cost_uusd, 490 * RB_UUSD);
    assert_int_equal(sum.idle_uusd, 40 * RB_UUSD);
    finish(&r, &s);
}

// ---- whatever the policy

static char *random_rows(struct small_apps *s, uint64_t seed, int n)
{
    struct rb_stream draws;
    rb_stream_init(&draws, &(struct rb_stream_key){.seed = seed, .purpose = RB_DRAW_SEARCH});
    char *rows = rb_arena_printf(&s->arena, "%s", "");
    for (int i = 0; i < n; i++) {
        const int gpus = 1 + (int)rb_stream_below(&draws, 3);
        rows = rb_arena_printf(&s->arena, "%sj%d,%d,toy,%d,%d\n", rows, i, (int)rb_stream_below(&draws, 600), gpus,
                               10 * gpus);
    }
    return rows;
}

static void check_run(const struct rb_trace_run *r, const struct rb_trace_options *o)
{
    const struct rb_trace_summary sum = rb_trace_summarise(r, (double[12]){0});
    assert_true(sum.gpu_hours <= sum.node_hours * o->gpus_per_node + 1e-9);
    for (int j = 0; j < r->trace->n; j++) {
        const struct rb_trace_training *t = &r->jobs[j];
        assert_true(t->started_us >= t->job->submitted_us);
        // No one is faster than 200 iterations of half a second and the restart, less a second for each rounded epoch.
        assert_true(t->ended_us - t->started_us >= 128 * S);
        assert_true(t->gpu_us >= t->executed_us && t->restarts >= 1);
        assert_true(o->rules == RB_TRACE_EVENTS || t->ended_us % S == 0);
    }
}

static void every_policy_ends_every_job_and_twice_the_same(void **state)
{
    (void)state;
    for (int p = 0; rb_sharings[p]; p++) {
        // The published search looks longest where it finds nothing new, which is on small clusters.
        const bool slow = strcmp(rb_sharings[p]->name, "pollux") == 0;
        for (uint64_t seed = 0; seed < (slow ? 1 : 8); seed++) {
            struct small_apps s;
            struct rb_trace_options o;
            struct rb_trace_run a, b;
            small_apps_write(&s);
            small_apps_load(&s, random_rows(&s, seed, slow ? 3 : 12));
            options_for(&o, seed % 2 ? RB_TRACE_OSDI21 : RB_TRACE_EVENTS, rb_sharings[p]->name, 2);
            o.sharing.seed = seed;
            run(&a, &s, &o);
            run(&b, &s, &o);
            check_run(&a, &o);
            for (int j = 0; j < a.trace->n; j++)
                ends_at(&b, j, a.jobs[j].ended_us);
            rb_trace_run_finish(&a);
            finish(&b, &s);
        }
    }
}

// ---- jobs that cannot run here

static void no_one_can_run(const char *policy, const char *rows, const char *expected)
{
    struct small_apps s;
    struct rb_trace_options o;
    struct rb_trace_run r = {0};
    struct rb_err err = {0};
    small_apps_write(&s);
    small_apps_load(&s, rows);
    options_for(&o, RB_TRACE_EVENTS, policy, 1);
    assert_true(rb_trace_run_init(&r, &s.trace, &o, &err));
    assert_false(rb_trace_run_all(&r, &err));
    assert_says(&err, expected);
    finish(&r, &s);
}

static void a_trace_of_none_but_such_jobs_is_an_error(void **state)
{
    (void)state;
    no_one_can_run("tiresias", "a,0,toy,3,30\n",
                   "RB5005 none of the 1 jobs can run on this cluster under tiresias; the first is job a: it was "
                   "submitted with 3 GPUs");
}

// The others run as if it were not in the trace.
static void a_job_that_is_too_large_is_skipped(void **state)
{
    (void)state;
    static const enum rb_trace_rules rules[] = {RB_TRACE_EVENTS, RB_TRACE_OSDI21};
    for (size_t i = 0; i < 2; i++) {
        struct small_apps s, t;
        struct rb_trace_run with, without;
        run_rows(&with, &s, rules[i], "tiresias", 1, "a,0,toy,2,20\nlarge,5,toy,3,30\nb,7,toy,2,20\n");
        run_rows(&without, &t, rules[i], "tiresias", 1, "a,0,toy,2,20\nb,7,toy,2,20\n");
        assert_int_equal(with.n_skipped, 1);
        assert_non_null(
            strstr(with.jobs[1].skipped, "submitted with 3 GPUs, which tiresias keeps to, and the cluster has 2"));
        ends_at(&with, 0, without.jobs[0].ended_us);
        ends_at(&with, 2, without.jobs[1].ended_us);
        double fairness[3], own[2];
        rb_trace_fairness(&with, fairness);
        rb_trace_fairness(&without, own);
        assert_true(isnan(fairness[1]));
        const struct rb_trace_summary a = rb_trace_summarise(&with, fairness), b = rb_trace_summarise(&without, own);
        assert_true(a.jct_mean_s >= b.jct_mean_s && a.jct_mean_s <= b.jct_mean_s);
        assert_true(a.makespan_s >= b.makespan_s && a.makespan_s <= b.makespan_s);
        finish(&with, &s);
        finish(&without, &t);
    }
}

// Measured on two nodes alone: every policy that begins with one GPU puts it where nothing is known.
static void an_application_with_wide_layouts_alone_is_skipped(void **state)
{
    (void)state;
    static const char *const policies[] = {"goodput", "pollux", "optimus"};
    for (size_t i = 0; i < sizeof policies / sizeof policies[0]; i++) {
        struct small_apps s;
        struct rb_trace_options o;
        struct rb_trace_run r = {0};
        struct rb_err err = {0};
        small_apps_write(&s);
        small_apps_put(&s, "traces/toy/placements.csv",
                       "placement,local_bsz,step_time,sync_time\n22,1,0.5,0.1\n22,10,0.5,0.1\n");
        small_apps_put(&s, "derived-throughput-grid/toy-grid.csv",
                       "num_nodes,num_replicas,local_bsz,step_time,sync_time\n2,4,1,0.5,0.1\n2,4,10,0.5,0.1\n");
        small_apps_load(&s, "a,0,toy,1,10\n");
        options_for(&o, RB_TRACE_EVENTS, policies[i], 1);
        assert_true(rb_trace_run_init(&r, &s.trace, &o, &err));
        assert_false(rb_trace_run_all(&r, &err));
        assert_says(&err, "RB5005 none of the 1 jobs can run");
        assert_non_null(r.jobs[0].skipped);
        assert_non_null(strstr(r.jobs[0].skipped, "toy was"));
        finish(&r, &s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_keeps_to_the_grid_and_to_whole_seconds),
        cmocka_unit_test(one_gpu_accumulates_a_large_batch),
        cmocka_unit_test(who_does_not_fit_is_passed_over),
        cmocka_unit_test(interference_is_lost_progress),
        cmocka_unit_test(optimus_gives_one_gpu_after_another_to_who_gains_most),
        cmocka_unit_test(nothing_waits_for_a_grid),
        cmocka_unit_test(a_round_is_held_when_a_job_ends),
        cmocka_unit_test(fairness_is_against_an_equal_share),
        cmocka_unit_test(a_job_knows_what_it_has_seen_and_what_was_measured),
        cmocka_unit_test(nodes_are_waited_for_paid_for_and_given_back),
        cmocka_unit_test(a_job_loses_its_node_and_keeps_its_progress),
        cmocka_unit_test(the_costly_node_goes_first_and_every_dollar_is_somebodys),
        cmocka_unit_test(every_policy_ends_every_job_and_twice_the_same),
        cmocka_unit_test(a_trace_of_none_but_such_jobs_is_an_error),
        cmocka_unit_test(a_job_that_is_too_large_is_skipped),
        cmocka_unit_test(an_application_with_wide_layouts_alone_is_skipped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
