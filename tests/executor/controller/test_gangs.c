// Nodes that one trial is spread over are launched together or not at all: one request, one refusal, one fallback; and what
// the cloud leaves of half a gang is ended.
#include "fake_run.h"

#include "executor/controller/spend.h"
#include "executor/report/report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
// cmocka wants the four above first
#include <cmocka.h>

#define SECOND_US INT64_C(1000000)
#define FAR_US    (600 * 60 * SECOND_US)

// Trials of 8 GPUs on nodes of 4: two nodes each, of 4, then 2, then 2.
static void open_gangs(struct fake_run *r, uint64_t seed)
{
    fake_run_init(r, seed);
    fake_run_make_gangs(r);
}

// It completes, and its bill is the cloud's.
static void completes(struct fake_run *r)
{
    struct rb_report report;
    struct rb_err err;
    fake_run_end_within(r, FAR_US);
    if (r->outcome != RB_JOB_COMPLETE)
        fail_msg("%s; it said:\n%s", r->err.message, r->talk);
    if (!rb_report_make(r->journal, r->plan, &r->arena, &report, &err))
        fail_msg("%s", err.message);
    assert_int_equal(report.cost_uusd, fake_cloud_bill_uusd(&r->cloud, &r->billing));
}

static void says(const struct fake_run *r, const char *text)
{
    if (!strstr(r->talk, text))
        fail_msg("expected it to say \"%s\"; it said:\n%s", text, r->talk);
}

// Instances with that token.
static int size_of_launch(const struct fake_cloud *c, const char *token)
{
    int n = 0;
    for (int i = 0; i < c->n_instances; i++)
        n += strcmp(c->instances[i]->token, token) == 0;
    return n;
}

// --- one request

static void nodes_of_one_trial_are_asked_for_at_once(void **state)
{
    (void)state;
    struct fake_run r;
    open_gangs(&r, 1);
    fake_run_open(&r);
    fake_run_step_until(&r, 2 * SECOND_US);
    assert_int_equal(r.cloud.n_launch_calls, 2); // for four nodes
    assert_int_equal(r.cloud.n_instances, 4);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(r.cloud.instances[i]->count, 2);
        assert_int_equal(r.cloud.instances[i]->member, i % 2);
    }
    assert_string_equal(r.cloud.instances[0]->launch_id, r.cloud.instances[1]->launch_id);
    assert_string_not_equal(r.cloud.instances[0]->launch_id, r.cloud.instances[2]->launch_id);
    completes(&r);
    assert_int_equal(r.cloud.n_instances, 4); // the later stages have what they need
    fake_run_finish(&r);
}

static void nodes_that_are_of_use_alone_are_not(void **state)
{
    (void)state;
    struct fake_run r;
    fake_run_init(&r, 1);
    fake_run_open(&r);
    completes(&r);
    for (int i = 0; i < r.cloud.n_instances; i++)
        assert_int_equal(r.cloud.instances[i]->count, 1);
    fake_run_finish(&r);
}

// Its partner is there, so it is asked for alone.
static void a_lost_member_is_replaced_alone(void **state)
{
    (void)state;
    struct fake_run r;
    open_gangs(&r, 1);
    fake_run_open(&r);
    fake_run_step_until(&r, 20 * SECOND_US);
    assert_int_equal(r.cloud.n_instances, 4);
    fake_cloud_kill_instance(&r.cloud, 1, "Server.SpotInstanceTermination");
    completes(&r);
    assert_int_equal(r.cloud.n_instances, 5);
    assert_int_equal(r.cloud.instances[4]->count, 1);
    fake_run_finish(&r);
}

// --- all or none

static void room_for_one_less_launches_none(void **state)
{
    (void)state;
    struct fake_run r;
    open_gangs(&r, 1);
    r.capacity_retries = 3;
    r.cloud.room = 1;
    fake_run_open(&r);
    fake_run_end_within(&r, FAR_US);
    assert_int_equal(r.outcome, RB_JOB_STOPPED);
    assert_int_equal(r.err.code, RB_ERR_CAPACITY);
    assert_int_equal(r.cloud.n_instances, 0);
    says(&r, "nodes 0, 1: mock/here refused box");
    says(&r, "no capacity for nodes ");
    fake_run_finish(&r);
}

static void one_gang_waits_while_the_other_trains(void **state)
{
    (void)state;
    struct fake_run r;
    open_gangs(&r, 1);
    r.cloud.room = 3;
    fake_run_open(&r);
    completes(&r);
    assert_int_equal(r.cloud.n_instances, 2);
    fake_run_finish(&r);
}

static void the_budget_pays_for_all_of_a_gang_or_none(void **state)
{
    (void)state;
    struct fake_run r;
    open_gangs(&r, 1);
    r.budget_uusd = 3 * rb_bill_least_uusd(&r.billing); // one gang and a half
    fake_run_open(&r);
    fake_run_end_within(&r, FAR_US);
    assert_int_equal(r.outcome, RB_JOB_STOPPED);
    assert_int_equal(r.reason, RB_STOP_BUDGET);
    assert_true(r.cloud.n_instances % 2 == 0);
    assert_true(fake_cloud_bill_uusd(&r.cloud, &r.billing) <= r.budget_uusd);
    fake_run_finish(&r);
}

// --- fallbacks

static const struct rb_offer markets[] = {
    {"mock/here", "box", "A", .gpus = 4, .rate = {3600000}, .source = "test"},
    {"mock/here", "box", "A", .gpus = 4, .market = RB_MARKET_SPOT, .rate = {3600000}, .source = "test"},
};
static const int spot_stands_in[] = {1};

// On demand there is room for one machine.
static void one_on_demand(void *ctx, const struct fake_cloud *c, const struct fake_instance *wanted, struct rb_err *err)
{
    int *n_refused = ctx, used = 0;
    for (int i = 0; i < c->n_instances; i++)
        used += c->instances[i]->market == RB_MARKET_ON_DEMAND && c->instances[i]->state != RB_INSTANCE_TERMINATED;
    if (wanted->market != RB_MARKET_ON_DEMAND || used + wanted->count <= 1)
        return;
    ++*n_refused;
    rb_err_set(err, RB_ERR_CAPACITY, "InsufficientInstanceCapacity");
}

static void another_offer_stands_in_for_all_of_it(void **state)
{
    (void)state;
    struct fake_run r;
    int n_refused = 0;
    open_gangs(&r, 1);
    r.plan->offers = markets;
    r.plan->n_offers = 2;
    r.plan->fallbacks = spot_stands_in;
    r.plan->n_fallbacks = 1;
    r.cloud.judge = one_on_demand;
    r.cloud.judge_ctx = &n_refused;
    fake_run_open(&r);
    completes(&r);
    assert_true(n_refused >= 1);
    assert_int_equal(r.cloud.n_instances, 4);
    for (int i = 0; i < r.cloud.n_instances; i++) {
        assert_int_equal(r.cloud.instances[i]->market, RB_MARKET_SPOT);
        assert_int_equal(r.cloud.instances[i]->count, 2);
    }
    says(&r, "nodes 0, 1: mock/here box (spot) stands in for mock/here box (on_demand)");
    fake_run_finish(&r);
}

// --- some of it

// Members come into listings one by one, minutes apart, and no answer ever arrives.
static void some_of_it_is_waited_for(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct fake_run r;
        open_gangs(&r, seed);
        r.cloud.faults = (struct fake_faults){.lost_answer = 1, .visible_after_us = 200 * SECOND_US};
        fake_run_open(&r);
        fake_run_step_until(&r, 240 * SECOND_US);
        assert_int_equal(r.cloud.n_instances, 4);
        r.cloud.faults = (struct fake_faults){0};
        completes(&r);
        assert_int_equal(r.cloud.n_instances, 4);
        assert_null(strstr(r.talk, "given up"));
        fake_run_finish(&r);
    }
}

static void half_a_gang_is_ended_and_asked_for_again(void **state)
{
    (void)state;
    struct fake_run r;
    open_gangs(&r, 1);
    r.cloud.faults.half_gang = 1;
    fake_run_open(&r);
    fake_run_step_until(&r, 250 * SECOND_US);
    assert_int_equal(r.cloud.n_instances, 2); // of four
    r.cloud.faults.half_gang = 0;
    completes(&r);
    says(&r, "nodes 0, 1: given up together: some of it was launched, and the rest is not to be seen");
    says(&r, "nodes 2, 3: given up together");
    assert_int_equal(r.cloud.n_instances, 2 + 4);
    for (int i = 2; i < 6; i++)
        assert_int_equal(size_of_launch(&r.cloud, r.cloud.instances[i]->token), 2);
    fake_run_finish(&r);
}

// One of it is gone before anybody hears of it: the other is of no use, and waits for no one.
static void a_gang_that_comes_apart_unseen_is_asked_for_again(void **state)
{
    (void)state;
    struct fake_run r;
    open_gangs(&r, 1);
    r.cloud.faults.lost_answer = 1;
    fake_run_open(&r);
    while (r.cloud.n_instances < 4)
        assert_true(virtual_loop_step(&r.v));
    for (int i = 0; i < 4; i++)
        r.cloud.instances[i]->visible_us = 200 * SECOND_US;
    fake_run_step_until(&r, 20 * SECOND_US);
    fake_cloud_kill_instance(&r.cloud, 1, "Server.SpotInstanceTermination");
    r.cloud.faults = (struct fake_faults){0};
    completes(&r);
    says(&r, "given up together: some of it had ended before its launch was answered");
    assert_int_equal(r.cloud.n_instances, 6);
    for (int i = 4; i < 6; i++)
        assert_int_equal(r.cloud.instances[i]->count, 2);
    fake_run_finish(&r);
}

// What comes after its gang was given up belongs to no one any more.
static void a_late_member_is_ended(void **state)
{
    (void)state;
    int n_late = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct fake_run r;
        open_gangs(&r, seed);
        r.cloud.faults = (struct fake_faults){.lost_answer = 1, .visible_after_us = 560 * SECOND_US};
        fake_run_open(&r);
        fake_run_step_until(&r, 10 * SECOND_US);
        assert_int_equal(r.cloud.n_instances, 4);
        r.cloud.faults.visible_after_us = 0;
        fake_run_step_until(&r, 400 * SECOND_US);
        r.cloud.faults.lost_answer = 0;
        completes(&r);
        n_late += strstr(r.talk, "its gang was given up, and there comes") != NULL;
        fake_run_finish(&r);
    }
    assert_true(n_late > 3);
}

// Requests that arrive when no one waits for them any more, beside others that are refused.
static void a_late_gang_is_none_beside_another(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 30; seed++) {
        struct fake_run r;
        open_gangs(&r, seed);
        r.cloud.faults = (struct fake_faults){.late_request = 0.5, .capacity = 0.5, .visible_after_us = 5 * SECOND_US};
        fake_run_open(&r);
        completes(&r);
        assert_true(r.cloud.n_instances == 4 ||
                    r.cloud.n_instances == 2); // the second gang may come too late to be of use
        for (int i = 0; i < r.cloud.n_instances; i++)
            assert_int_equal(size_of_launch(&r.cloud, r.cloud.instances[i]->token), 2);
        fake_run_finish(&r);
    }
}

// --- killed

// Between SENT and ACKED: the next controller says the same words, and there is one gang.
static void killed_while_the_request_is_on_its_way(void **state)
{
    (void)state;
    for (int64_t n = 1; n <= 12; n++) {
        struct fake_run r;
        open_gangs(&r, 7);
        fake_run_open_dying(&r, n, RB_JOURNAL_DIES_AFTER);
        fake_run_step_until(&r, FAR_US); // it is dead before that
        assert_true(r.finished && r.err.code == RB_ERR_IO);
        fake_run_close(&r);
        fake_run_open(&r);
        completes(&r);
        assert_int_equal(r.cloud.n_instances, 4);
        for (int i = 0; i < 4; i++)
            assert_int_equal(size_of_launch(&r.cloud, r.cloud.instances[i]->token), 2);
        fake_run_finish(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_of_one_trial_are_asked_for_at_once),
        cmocka_unit_test(nodes_that_are_of_use_alone_are_not),
        cmocka_unit_test(a_lost_member_is_replaced_alone),
        cmocka_unit_test(room_for_one_less_launches_none),
        cmocka_unit_test(one_gang_waits_while_the_other_trains),
        cmocka_unit_test(the_budget_pays_for_all_of_a_gang_or_none),
        cmocka_unit_test(another_offer_stands_in_for_all_of_it),
        cmocka_unit_test(some_of_it_is_waited_for),
        cmocka_unit_test(half_a_gang_is_ended_and_asked_for_again),
        cmocka_unit_test(a_gang_that_comes_apart_unseen_is_asked_for_again),
        cmocka_unit_test(a_late_member_is_ended),
        cmocka_unit_test(a_late_gang_is_none_beside_another),
        cmocka_unit_test(killed_while_the_request_is_on_its_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
