// Offers that are sold out: who stands in, in which order, what it costs, and that nothing is ever launched twice.
#include "fake_run.h"

#include "engine/plan/stand_in.h"
#include "executor/report/report.h"
#include "profiles/catalog/reservation.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
// cmocka wants the four above first
#include <cmocka.h>

#define SECOND_US INT64_C(1000000)
#define FAR_US    (600 * 60 * SECOND_US)

// The plan's own, and what can stand in: listed in this order.
enum { OWN, CRATE, ZONE_B, SPOT, N_OFFERS, OTHER_GPU = N_OFFERS, BIGGER, N_PRICES };

static const struct rb_offer prices[N_PRICES] = {
    [OWN] = {"mock/here/a", "box", "A", .gpus = 4, .rate = {3600000}, .source = "test"},
    [CRATE] = {"mock/here/b", "crate", "A", .gpus = 4, .rate = {3000000}, .source = "test"},
    [ZONE_B] = {"mock/here/b", "box", "A", .gpus = 4, .rate = {4100000}, .source = "test"},
    [SPOT] = {"mock/here/a", "box", "A", .gpus = 4, .market = RB_MARKET_SPOT, .rate = {1234567}, .source = "test"},
    [OTHER_GPU] = {"mock/here/a", "tin", "B", .gpus = 4, .rate = {100}, .source = "test"},
    [BIGGER] = {"mock/here/a", "chest", "A", .gpus = 8, .rate = {100}, .source = "test"},
};
static const int fallbacks[] = {OTHER_GPU, CRATE, BIGGER, ZONE_B, SPOT};
static const int in_turn[N_OFFERS] = {OWN, ZONE_B, SPOT, CRATE}; // the same type first

// A market where some offers are sold out for a while.
struct market {
    struct fake_run r;
    struct rb_offer offers[N_PRICES];
    int64_t until_us[N_PRICES];         // sold out before; 0: on sale
    enum rb_err_code refuses[N_PRICES]; // with this, always
    int asked[4096], n_asked;           // offers of the launches that arrived, in order
    int n_twins;                        // launches of a node that had an instance already
    int room;                           // of the reservation, which instances leave once they are terminated; 0: any
};

static int offer_of(const struct market *m, const struct fake_instance *i)
{
    for (int k = 0; k < N_PRICES; k++)
        if (strcmp(m->offers[k].instance_type, i->type) == 0 && strcmp(m->offers[k].infra + 10, i->zone) == 0 &&
            m->offers[k].market == i->market)
            return k;
    fail_msg("no one offers %s in %s", i->type, i->zone);
    return -1;
}

static void judge(void *ctx, const struct fake_cloud *c, const struct fake_instance *wanted, struct rb_err *err)
{
    struct market *m = ctx;
    const int offer = offer_of(m, wanted);
    int n_reserved = 0;
    assert_true(m->n_asked < (int)(sizeof m->asked / sizeof *m->asked));
    m->asked[m->n_asked++] = offer;
    for (int i = 0; i < c->n_instances; i++)
        n_reserved += c->instances[i]->market == RB_MARKET_RESERVED && c->instances[i]->state != RB_INSTANCE_TERMINATED;
    for (int i = 0; i < c->n_instances; i++)
        m->n_twins += strcmp(c->instances[i]->name, wanted->name) == 0 &&
                      (c->instances[i]->state == RB_INSTANCE_PENDING || c->instances[i]->state == RB_INSTANCE_RUNNING);
    if (m->refuses[offer])
        rb_err_set(err, m->refuses[offer], "refused by the test");
    else if (c->v->now_us < m->until_us[offer] ||
             (wanted->market == RB_MARKET_RESERVED && m->room > 0 && n_reserved >= m->room))
        rb_err_set(err, RB_ERR_CAPACITY, "InsufficientInstanceCapacity");
}

static void open_market(struct market *m, uint64_t seed)
{
    *m = (struct market){0};
    fake_run_init(&m->r, seed);
    memcpy(m->offers, prices, sizeof prices);
    m->r.plan->offers = m->offers;
    m->r.plan->n_offers = N_PRICES;
    m->r.plan->fallbacks = fallbacks;
    m->r.plan->n_fallbacks = (int)(sizeof fallbacks / sizeof *fallbacks);
    m->r.cloud.judge = judge;
    m->r.cloud.judge_ctx = m;
}

static int64_t bill_of_cloud(const struct market *m)
{
    int64_t sum = 0;
    for (int i = 0; i < m->r.cloud.n_instances; i++) {
        const struct fake_instance *k = m->r.cloud.instances[i];
        const struct rb_billing billing = {.rate = m->offers[offer_of(m, k)].rate};
        if (k->running_unix_us >= 0)
            sum += rb_bill_node(&billing, k->running_unix_us, k->terminated_unix_us).total_uusd;
    }
    return sum;
}

// It completes, and its bill is the cloud's.
static void completes(struct market *m)
{
    struct rb_report report;
    struct rb_err err;
    fake_run_end_within(&m->r, FAR_US);
    if (!rb_job_is_final(m->r.outcome)) // trials may all hang
        fail_msg("%s; it said:\n%s", m->r.err.message, m->r.talk);
    if (!rb_report_make(m->r.journal, m->r.plan, &m->r.arena, &report, &err))
        fail_msg("%s", err.message);
    assert_int_equal(report.cost_uusd, bill_of_cloud(m));
    assert_int_equal(m->n_twins, 0);
}

static int count_asked(const struct market *m, int offer)
{
    int n = 0;
    for (int i = 0; i < m->n_asked; i++)
        n += m->asked[i] == offer;
    return n;
}

static int first_asked(const struct market *m, int offer)
{
    int i = 0;
    while (i < m->n_asked && m->asked[i] != offer)
        i++;
    assert_true(i < m->n_asked);
    return i;
}

static void sell_out(struct market *m, int offer, int64_t until_us)
{
    m->until_us[offer] = until_us;
}

// --- who stands in

static void the_same_type_elsewhere_comes_first(void **state)
{
    (void)state;
    struct market m;
    open_market(&m, 1);
    for (int k = 0; k < N_OFFERS; k++)
        assert_int_equal(rb_stand_in(m.r.plan, OWN, k), in_turn[k]);
    assert_int_equal(rb_stand_in(m.r.plan, OWN, N_OFFERS), -1);
    assert_int_equal(rb_stand_in(m.r.plan, BIGGER, 0), BIGGER);
    assert_int_equal(rb_stand_in(m.r.plan, BIGGER, 1), -1);
    m.r.plan->n_fallbacks = 0;
    assert_int_equal(rb_stand_in(m.r.plan, OWN, 1), -1);
    fake_run_finish(&m.r);
}

static void a_gang_stays_in_its_placement_group(void **state)
{
    (void)state;
    struct market m;
    open_market(&m, 1);
    fake_run_make_gangs(&m.r);
    assert_int_equal(rb_stand_in(m.r.plan, OWN, 1), SPOT);
    assert_int_equal(rb_stand_in(m.r.plan, OWN, 2), -1);
    fake_run_finish(&m.r);
}

// --- runs

static void moves_on_at_once(void **state)
{
    (void)state;
    struct market m;
    open_market(&m, 1);
    sell_out(&m, OWN, FAR_US);
    m.r.capacity_retries = 1; // moving on is no retry
    fake_run_open(&m.r);
    completes(&m);
    assert_int_equal(count_asked(&m, OWN), 3); // three nodes asked at the same time
    assert_int_equal(count_asked(&m, ZONE_B), 3);
    assert_int_equal(m.n_asked, 6);
    assert_non_null(strstr(m.r.talk, "mock/here/b box (on_demand) stands in for mock/here/a box (on_demand)"));
    fake_run_finish(&m.r);
}

static void asks_every_offer_in_turn(void **state)
{
    (void)state;
    struct market m;
    open_market(&m, 1);
    for (int k = 0; k < N_OFFERS - 1; k++)
        sell_out(&m, in_turn[k], FAR_US);
    m.r.capacity_retries = 1;
    fake_run_open(&m.r);
    completes(&m);
    for (int k = 1; k < N_OFFERS; k++)
        assert_true(first_asked(&m, in_turn[k - 1]) < first_asked(&m, in_turn[k]));
    assert_int_equal(count_asked(&m, CRATE), 3);
    assert_int_equal(count_asked(&m, OTHER_GPU) + count_asked(&m, BIGGER), 0);
    fake_run_finish(&m.r);
}

static void the_next_node_does_not_ask_what_was_sold_out(void **state)
{
    (void)state;
    struct market m;
    open_market(&m, 1);
    sell_out(&m, OWN, FAR_US);
    fake_run_open(&m.r);
    fake_run_step_until(&m.r, 30 * SECOND_US);
    assert_int_equal(count_asked(&m, OWN), 3);
    fake_cloud_kill_instance(&m.r.cloud, 0, "Server.SpotInstanceTermination");
    fake_run_step_until(&m.r, 60 * SECOND_US);
    assert_int_equal(m.r.cloud.n_instances, 4); // its replacement
    assert_int_equal(count_asked(&m, OWN), 3);
    completes(&m);
    fake_run_finish(&m.r);
}

// EC2 may accept a launch and find no machine for it afterwards.
static void an_instance_that_never_got_a_machine_was_sold_out(void **state)
{
    (void)state;
    struct market m;
    open_market(&m, 1);
    m.r.cloud.queue_mean_us = 60 * SECOND_US;
    fake_run_open(&m.r);
    fake_run_step_until(&m.r, 2 * SECOND_US);
    assert_int_equal(m.r.cloud.n_instances, 3);
    fake_cloud_kill_instance(&m.r.cloud, 0, "Server.InsufficientInstanceCapacity");
    completes(&m);
    assert_int_equal(count_asked(&m, OWN), 3);
    assert_int_equal(count_asked(&m, ZONE_B), 1);
    fake_run_finish(&m.r);
}

static void what_was_sold_out_is_asked_again_after_a_while(void **state)
{
    (void)state;
    struct market m;
    open_market(&m, 1);
    m.r.machines.training.unit_us = 120 * SECOND_US;
    sell_out(&m, OWN, 100 * SECOND_US);
    fake_run_open(&m.r);
    fake_run_step_until(&m.r, 240 * SECOND_US);
    assert_int_equal(count_asked(&m, OWN), 3);
    fake_cloud_kill_instance(&m.r.cloud, 0, "Server.SpotInstanceTermination");
    completes(&m);
    assert_int_equal(count_asked(&m, OWN), 4);
    fake_run_finish(&m.r);
}

static void gives_up_when_all_are_sold_out_and_names_them(void **state)
{
    (void)state;
    struct market m;
    open_market(&m, 1);
    for (int k = 0; k < N_OFFERS; k++)
        sell_out(&m, k, FAR_US);
    m.r.capacity_retries = 4;
    fake_run_open(&m.r);
    fake_run_end_within(&m.r, FAR_US);
    assert_int_equal(rb_err_exit_code(&m.r.err), 6);
    const char *const names[] = {"mock/here/a box (on_demand)", "mock/here/b box (on_demand)", "mock/here/a box (spot)",
                                 "mock/here/b crate (on_demand)", "resume later"};
    for (int i = 0; i < 5; i++)
        assert_non_null(strstr(m.r.err.message, names[i]));
    assert_int_equal(m.r.cloud.n_instances, 0);
    assert_true(count_asked(&m, OWN) >= 4); // a round begins with it
    for (int k = 0; k < N_OFFERS; k++)
        assert_in_range(count_asked(&m, k), 3, 3 * 4);
    fake_run_finish(&m.r);
}

static void waits_until_something_is_on_sale_again(void **state)
{
    (void)state;
    for (int k = 0; k < N_OFFERS; k++) {
        struct market m;
        open_market(&m, (uint64_t)k);
        for (int i = 0; i < N_OFFERS; i++)
            sell_out(&m, i, i == k ? 45 * SECOND_US : FAR_US);
        fake_run_open(&m.r);
        completes(&m);
        fake_run_finish(&m.r);
    }
}

static void passes_over_what_the_budget_does_not_pay(void **state)
{
    (void)state;
    struct market m;
    open_market(&m, 1);
    for (int k = 1; k < N_OFFERS; k++)
        m.offers[in_turn[k]].rate.uusd_per_hour = INT64_C(900000000); // 15 dollars for the first minute
    sell_out(&m, OWN, 20 * SECOND_US);
    m.r.budget_uusd = 5000000;
    fake_run_open(&m.r);
    completes(&m);
    assert_int_equal(count_asked(&m, OWN), m.n_asked);
    assert_non_null(strstr(m.r.talk, "mock/here/b box (on_demand) is skipped"));
    fake_run_finish(&m.r);
}

static void what_is_refused_for_good_does_not_stand_in(void **state)
{
    (void)state;
    const enum rb_err_code codes[] = {RB_ERR_DENIED, RB_ERR_INVALID};
    for (int i = 0; i < 2; i++) {
        struct market m;
        open_market(&m, 1);
        sell_out(&m, OWN, FAR_US);
        m.refuses[ZONE_B] = codes[i];
        fake_run_open(&m.r);
        completes(&m);
        assert_int_equal(count_asked(&m, SPOT), 3);
        assert_non_null(strstr(m.r.talk, "mock/here/b box (on_demand) does not stand in"));
        fake_run_finish(&m.r);
    }
}

// --- clouds and controllers that fail

static void an_undecided_launch_never_moves_on(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 40; seed++) {
        struct market m;
        open_market(&m, seed);
        for (int k = 0; k < N_OFFERS; k++)
            sell_out(&m, k, (int64_t)((seed + (uint64_t)k) % 4) * 20 * SECOND_US);
        m.r.cloud.faults.lost_answer = 0.4;
        m.r.cloud.faults.lost_request = 0.1;
        m.r.cloud.faults.late_request = 0.3;
        m.r.cloud.faults.visible_after_us = 20 * SECOND_US;
        m.r.cloud.faults.partial_listing = 0.3;
        fake_run_open(&m.r);
        completes(&m);
        fake_run_finish(&m.r);
    }
}

// Dead at its nth write, then carried on by another controller to the end.
static void dies_and_completes(struct market *m, int n, enum rb_journal_death how)
{
    fake_run_open_dying(&m->r, n, how);
    fake_run_step_until(&m->r, FAR_US);
    fake_run_close(&m->r);
    m->r.go_on = true;
    fake_run_open(&m->r);
    completes(m);
    fake_run_finish(&m->r);
}

// Dead after each of its writes, then carried on by another controller: between a refusal and the next attempt as well.
static void a_crash_between_two_offers_launches_nothing_twice(void **state)
{
    (void)state;
    for (int n = 1; n < 60; n++)
        for (int at = 0; at < 2; at++) {
            struct market m;
            open_market(&m, (uint64_t)n);
            sell_out(&m, OWN, FAR_US);
            sell_out(&m, SPOT, FAR_US);
            sell_out(&m, ZONE_B, 15 * SECOND_US);
            sell_out(&m, CRATE, 10 * SECOND_US);
            dies_and_completes(&m, n, at ? RB_JOURNAL_DIES_AT : RB_JOURNAL_DIES_AFTER);
        }
}

// What it learned is in the journal: who comes back asks what is on sale.
static void a_controller_that_comes_back_remembers(void **state)
{
    (void)state;
    struct market m;
    open_market(&m, 1);
    sell_out(&m, OWN, FAR_US);
    fake_run_open(&m.r);
    fake_run_step_until(&m.r, 30 * SECOND_US);
    fake_run_close(&m.r);
    fake_cloud_kill_instance(&m.r.cloud, 0, "Server.SpotInstanceTermination");
    fake_run_open(&m.r);
    fake_run_step_until(&m.r, 80 * SECOND_US);
    assert_int_equal(m.r.cloud.n_instances, 4);
    assert_int_equal(count_asked(&m, OWN), 3);
    completes(&m);
    fake_run_finish(&m.r);
}

// --- resources.spot: safe

// Answers as the test says, and keeps the questions.
struct choice {
    struct rb_node_chooser chooser;
    struct market *market;
    enum rb_spot_mode requests, held; // the answers
    int64_t held_until_us;            // from then on nodes on spot must leave; 0: never
    int64_t waits_until_us;           // before that a request waits while spot is sold out
    int64_t back_from_us;             // from then on nodes on demand go back to spot; 0: no one asks
    int n_events, n_held;
    double seen_ago_s; // of the market, at the last question about a node on demand
    bool saw_sold_out;
    double unsaved_s; // the most of all questions
};

static void saw(void *ctx, const struct rb_event *event)
{
    struct choice *c = ctx;
    (void)event;
    c->n_events++;
}

static enum rb_spot_mode choose(void *ctx, const struct rb_node_question *q, int *out_market, struct rb_buf *why)
{
    struct choice *c = ctx;
    assert_true(q->held <= 0); // there is one spot market
    c->saw_sold_out = c->saw_sold_out || !q->markets[0].up;
    c->unsaved_s = q->unsaved_s > c->unsaved_s ? q->unsaved_s : c->unsaved_s;
    rb_buf_puts(why, "the test says so");
    *out_market = 0;
    if (q->mode == RB_SPOT_ON_DEMAND) {
        c->seen_ago_s = q->markets[0].up ? 0 : q->markets[0].seen_ago_s;
        return c->back_from_us > 0 && q->now_us >= c->back_from_us ? RB_SPOT_ON_SPOT : RB_SPOT_ON_DEMAND;
    }
    if (c->back_from_us > 0 && q->now_us < c->back_from_us)
        return RB_SPOT_ON_DEMAND;
    if (q->held >= 0) {
        c->n_held++;
        return c->held_until_us > 0 && q->now_us >= c->held_until_us ? RB_SPOT_ON_DEMAND : RB_SPOT_ON_SPOT;
    }
    if (!q->markets[0].up && q->now_us < c->waits_until_us)
        return RB_SPOT_IDLE;
    return q->markets[0].up ? c->requests : RB_SPOT_ON_DEMAND;
}

static void open_safely(struct market *m, struct choice *c, enum rb_spot_mode requests)
{
    open_market(m, 1);
    *c = (struct choice){.market = m, .requests = requests};
    c->chooser = (struct rb_node_chooser){.ctx = c, .saw = saw, .choose = choose, .every_us = 5 * SECOND_US};
    m->r.chooser = &c->chooser;
}

static void spot_comes_first_where_it_is_safe(void **state)
{
    (void)state;
    struct market m;
    struct choice c;
    open_safely(&m, &c, RB_SPOT_ON_SPOT);
    fake_run_open(&m.r);
    completes(&m);
    assert_int_equal(count_asked(&m, SPOT), 3);
    assert_int_equal(m.n_asked, 3);
    assert_true(c.n_events > 20 && c.n_held > 0 && c.unsaved_s > 5);
    assert_non_null(strstr(m.r.talk, "on spot: the test says so"));
    assert_null(strstr(m.r.talk, "stands in for"));
    fake_run_finish(&m.r);
}

static void on_demand_it_is_as_planned(void **state)
{
    (void)state;
    struct market m;
    struct choice c;
    open_safely(&m, &c, RB_SPOT_ON_DEMAND);
    fake_run_open(&m.r);
    completes(&m);
    assert_int_equal(count_asked(&m, OWN), 3);
    assert_int_equal(m.n_asked, 3);
    fake_run_finish(&m.r);
}

static void it_waits_for_spot_as_long_as_it_may(void **state)
{
    (void)state;
    struct market m;
    struct choice c;
    open_safely(&m, &c, RB_SPOT_ON_SPOT);
    sell_out(&m, SPOT, 8 * SECOND_US);
    c.waits_until_us = 60 * SECOND_US;
    m.r.capacity_retries = 1; // waiting is no retry
    fake_run_open(&m.r);
    completes(&m);
    assert_int_equal(count_asked(&m, OWN), 0);
    assert_in_range(count_asked(&m, SPOT), 6, 12); // three nodes, every five seconds, until they came
    assert_int_equal(m.n_asked, count_asked(&m, SPOT));
    assert_true(c.saw_sold_out);
    fake_run_finish(&m.r);
}

static void sold_out_spot_is_left_for_on_demand(void **state)
{
    (void)state;
    struct market m;
    struct choice c;
    open_safely(&m, &c, RB_SPOT_ON_SPOT);
    sell_out(&m, SPOT, FAR_US);
    m.r.capacity_retries = 1;
    fake_run_open(&m.r);
    completes(&m);
    assert_int_equal(count_asked(&m, SPOT), 3);
    assert_int_equal(count_asked(&m, OWN), 3);
    fake_run_finish(&m.r);
}

// At a time when its trials have nothing to lose, and when they have.
static void a_node_that_may_not_stay_is_replaced_on_demand(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct market m;
        struct choice c;
        struct rb_report report;
        struct rb_err err;
        open_safely(&m, &c, RB_SPOT_ON_SPOT);
        c.held_until_us = (i == 0 ? 20 : 170) * SECOND_US;
        fake_run_open(&m.r);
        completes(&m);
        assert_int_equal(count_asked(&m, SPOT), 3);
        assert_true(count_asked(&m, OWN) > 0);
        assert_non_null(strstr(m.r.talk, "it gives way to one on demand"));
        assert_true(rb_report_make(m.r.journal, m.r.plan, &m.r.arena, &report, &err));
        for (int t = 0; t < report.n_trials && i == 1; t++)
            assert_int_equal(report.trials[t].restarts, 0); // it saved, and went on from there
        fake_run_finish(&m.r);
    }
}

static void ask_about_demand(struct choice *c, int64_t back_from_us)
{
    c->back_from_us = back_from_us;
    c->chooser.returns = true;
}

// One node after the other, each past its minimum bill, without a loss of work.
static void a_node_on_demand_goes_back_to_spot(void **state)
{
    (void)state;
    struct market m;
    struct choice c;
    struct rb_report report;
    struct rb_err err;
    int64_t moved_us = 0;
    open_safely(&m, &c, RB_SPOT_ON_SPOT);
    ask_about_demand(&c, 130 * SECOND_US);
    fake_run_open(&m.r);
    completes(&m);
    assert_int_equal(count_asked(&m, OWN), 3);
    assert_int_equal(count_asked(&m, SPOT), 2); // a third was not needed any more
    assert_non_null(strstr(m.r.talk, "back to spot: the test says so"));
    assert_non_null(strstr(m.r.talk, "it gives way to one on spot"));
    for (int i = 0; i < m.r.cloud.n_instances; i++) {
        const struct fake_instance *k = m.r.cloud.instances[i];
        if (k->market != RB_MARKET_SPOT) {
            assert_true(k->terminated_unix_us - k->running_unix_us >= 60 * SECOND_US);
            continue;
        }
        assert_true(k->running_unix_us > moved_us);
        moved_us = k->running_unix_us;
    }
    assert_true(rb_report_make(m.r.journal, m.r.plan, &m.r.arena, &report, &err));
    for (int t = 0; t < report.n_trials; t++)
        assert_int_equal(report.trials[t].restarts, 0);
    fake_run_finish(&m.r);
}

// Nothing is killed for the sake of a price.
static void it_stays_on_demand_if_its_trials_do_not_give_way(void **state)
{
    (void)state;
    struct market m;
    struct choice c;
    open_safely(&m, &c, RB_SPOT_ON_SPOT);
    ask_about_demand(&c, 210 * SECOND_US); // its last trial has begun
    m.r.machines.training.deaf = 1;
    fake_run_open(&m.r);
    completes(&m);
    assert_int_equal(count_asked(&m, SPOT), 0);
    assert_non_null(strstr(m.r.talk, "stays on demand: a trial on it does not save and give way"));
    fake_run_finish(&m.r);
}

static void where_it_goes_back_to_was_seen_when_it_refused(void **state)
{
    (void)state;
    struct market m;
    struct choice c;
    open_safely(&m, &c, RB_SPOT_ON_SPOT);
    ask_about_demand(&c, FAR_US);
    fake_run_open(&m.r);
    completes(&m);
    assert_true(isinf(c.seen_ago_s)); // it was never asked
    fake_run_finish(&m.r);
    open_safely(&m, &c, RB_SPOT_ON_SPOT);
    sell_out(&m, SPOT, FAR_US);
    ask_about_demand(&c, 0);
    fake_run_open(&m.r);
    completes(&m);
    assert_true(c.seen_ago_s == 0 || (c.seen_ago_s > 100 && c.seen_ago_s < 1000));
    assert_int_equal(count_asked(&m, OWN), 3);
    fake_run_finish(&m.r);
}

// Between the choices, and while a node is left: one instance a launch, none forgotten, the bill is the cloud's.
static void a_crash_of_a_safe_run_launches_nothing_twice(void **state)
{
    (void)state;
    for (int n = 1; n < 90; n++)
        for (int at = 0; at < 2; at++) {
            struct market m;
            struct choice c;
            open_safely(&m, &c, RB_SPOT_ON_SPOT);
            sell_out(&m, SPOT, 3 * SECOND_US);
            c.waits_until_us = 60 * SECOND_US;
            c.held_until_us = 20 * SECOND_US;
            if (n % 2 == 0)
                ask_about_demand(&c, 70 * SECOND_US);
            dies_and_completes(&m, n, at ? RB_JOURNAL_DIES_AT : RB_JOURNAL_DIES_AFTER);
        }
}

// --- reservations

// OWN is free and reserved, with room for three, and closes in the middle of the run; its notice is ten seconds.
static void reserve(struct market *m, struct rb_reservation *r, int64_t opens_us, int64_t closes_us)
{
    *r = (struct rb_reservation){.id = "cr-00000001", .count = 3, .notice_us = 10 * SECOND_US,
                                 .opens_us = opens_us, .closes_us = closes_us};
    open_market(m, 1);
    m->offers[OWN].market = RB_MARKET_RESERVED;
    m->offers[OWN].rate.uusd_per_hour = 0;
    m->offers[OWN].declared_free = true;
    m->offers[OWN].reservation = r;
}

static void a_reservation_that_ends_is_left_in_time(void **state)
{
    (void)state;
    for (int64_t closes_us = 40 * SECOND_US; closes_us < 100 * SECOND_US; closes_us += 20 * SECOND_US) {
        struct market m;
        struct rb_reservation r;
        reserve(&m, &r, 0, closes_us);
        m.r.capacity_retries = 1;
        fake_run_open(&m.r);
        completes(&m);
        assert_int_equal(count_asked(&m, OWN), 3);
        assert_true(count_asked(&m, ZONE_B) > 0);
        assert_non_null(strstr(m.r.talk, "reservation cr-00000001 ends"));
        assert_non_null(strstr(m.r.talk, "lost: its reservation ends"));
        for (int i = 0; i < m.r.cloud.n_instances; i++) // none is there when it closes
            if (m.r.cloud.instances[i]->market == RB_MARKET_RESERVED)
                assert_true(m.r.cloud.instances[i]->terminated_unix_us - m.r.v.unix_base_us <= closes_us + 2 * SECOND_US);
        fake_run_finish(&m.r);
    }
}

// What is paid for comes before spot, even where spot is safe.
static void a_reservation_comes_before_safe_spot(void **state)
{
    (void)state;
    struct market m;
    struct choice c;
    struct rb_reservation r = {.id = "cr-00000001", .count = 3, .closes_us = -1};
    open_safely(&m, &c, RB_SPOT_ON_SPOT);
    m.offers[OWN].market = RB_MARKET_RESERVED;
    m.offers[OWN].reservation = &r;
    fake_run_open(&m.r);
    completes(&m);
    assert_int_equal(count_asked(&m, OWN), m.n_asked);
    fake_run_finish(&m.r);
}

// One of its three nodes does not boot in time. Until that is gone, the reservation has no room for the next one.
static void open_with_a_late_node(struct market *m, struct rb_reservation *r)
{
    reserve(m, r, 0, -1);
    m->room = 3;
    m->r.boot_timeout_us = 60 * SECOND_US;
    fake_run_open(&m->r);
    while (m->r.cloud.n_instances < 3 || m->r.cloud.instances[0]->state == RB_INSTANCE_PENDING ||
           m->r.cloud.instances[1]->state == RB_INSTANCE_PENDING)
        fake_run_step_for(&m->r, SECOND_US / 10);
    assert_int_equal(m->r.cloud.instances[2]->state, RB_INSTANCE_PENDING);
    m->r.cloud.faults.never_boots = true;
    while (m->r.cloud.instances[2]->state == RB_INSTANCE_PENDING)
        fake_run_step_for(&m->r, SECOND_US / 10);
    m->r.cloud.faults.never_boots = false;
}

static void a_place_that_a_lost_node_leaves_is_waited_for(void **state)
{
    (void)state;
    struct market m;
    struct rb_reservation r;
    open_with_a_late_node(&m, &r);
    completes(&m);
    assert_int_equal(count_asked(&m, OWN), 5); // once too early
    assert_int_equal(m.n_asked, 5);
    assert_non_null(strstr(m.r.talk, "waiting until an earlier node has left its place in reservation cr-00000001"));
    fake_run_finish(&m.r);
}

static void nor_does_a_crash_forget_that_place(void **state)
{
    (void)state;
    struct market m;
    struct rb_reservation r;
    open_with_a_late_node(&m, &r);
    while (m.n_asked < 4)
        fake_run_step_for(&m.r, 1000);
    fake_run_step_for(&m.r, SECOND_US / 10); // it was refused
    fake_run_close(&m.r);
    fake_run_open(&m.r);
    completes(&m);
    assert_int_equal(count_asked(&m, OWN), m.n_asked);
    fake_run_finish(&m.r);
}

// A place that others have taken meanwhile is asked for once more, and then stood in for.
static void a_place_that_another_has_taken_is_not_waited_for(void **state)
{
    (void)state;
    struct market m;
    struct rb_reservation r;
    open_with_a_late_node(&m, &r);
    m.room = 2;
    completes(&m);
    assert_int_equal(count_asked(&m, OWN), 5);
    assert_int_equal(count_asked(&m, ZONE_B), 1);
    fake_run_finish(&m.r);
}

static void a_closed_reservation_is_not_asked(void **state)
{
    (void)state;
    struct market m;
    struct rb_reservation r;
    reserve(&m, &r, FAR_US, -1);
    m.r.capacity_retries = 1;
    fake_run_open(&m.r);
    completes(&m);
    assert_int_equal(count_asked(&m, OWN), 0);
    assert_int_equal(count_asked(&m, ZONE_B), 3);
    fake_run_finish(&m.r);
}

static void a_crash_before_the_end_of_a_reservation_launches_nothing_twice(void **state)
{
    (void)state;
    for (int n = 1; n < 90; n++) {
        struct market m;
        struct rb_reservation r;
        reserve(&m, &r, 0, 40 * SECOND_US);
        dies_and_completes(&m, n, RB_JOURNAL_DIES_AFTER);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_type_elsewhere_comes_first),
        cmocka_unit_test(a_gang_stays_in_its_placement_group),
        cmocka_unit_test(moves_on_at_once),
        cmocka_unit_test(asks_every_offer_in_turn),
        cmocka_unit_test(the_next_node_does_not_ask_what_was_sold_out),
        cmocka_unit_test(an_instance_that_never_got_a_machine_was_sold_out),
        cmocka_unit_test(what_was_sold_out_is_asked_again_after_a_while),
        cmocka_unit_test(gives_up_when_all_are_sold_out_and_names_them),
        cmocka_unit_test(waits_until_something_is_on_sale_again),
        cmocka_unit_test(passes_over_what_the_budget_does_not_pay),
        cmocka_unit_test(what_is_refused_for_good_does_not_stand_in),
        cmocka_unit_test(an_undecided_launch_never_moves_on),
        cmocka_unit_test(a_crash_between_two_offers_launches_nothing_twice),
        cmocka_unit_test(a_controller_that_comes_back_remembers),
        cmocka_unit_test(spot_comes_first_where_it_is_safe),
        cmocka_unit_test(on_demand_it_is_as_planned),
        cmocka_unit_test(it_waits_for_spot_as_long_as_it_may),
        cmocka_unit_test(sold_out_spot_is_left_for_on_demand),
        cmocka_unit_test(a_node_that_may_not_stay_is_replaced_on_demand),
        cmocka_unit_test(a_node_on_demand_goes_back_to_spot),
        cmocka_unit_test(it_stays_on_demand_if_its_trials_do_not_give_way),
        cmocka_unit_test(where_it_goes_back_to_was_seen_when_it_refused),
        cmocka_unit_test(a_crash_of_a_safe_run_launches_nothing_twice),
        cmocka_unit_test(a_reservation_that_ends_is_left_in_time),
        cmocka_unit_test(a_reservation_comes_before_safe_spot),
        cmocka_unit_test(a_place_that_a_lost_node_leaves_is_waited_for),
        cmocka_unit_test(nor_does_a_crash_forget_that_place),
        cmocka_unit_test(a_place_that_another_has_taken_is_not_waited_for),
        cmocka_unit_test(a_closed_reservation_is_not_asked),
        cmocka_unit_test(a_crash_before_the_end_of_a_reservation_launches_nothing_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
