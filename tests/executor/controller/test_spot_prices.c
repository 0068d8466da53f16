// The controller on the fake cloud in virtual time, on a spot market whose price moves: bills, budget, recovery.
#include "fake_run.h"

#include "executor/report/report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
// cmocka wants the four above first
#include <cmocka.h>

#define S     RB_US_PER_S
#define FAR_S INT64_C(36000)

// The plan's price is 3.6 dollars an hour. Of the run's seconds; the first one held before.
struct market {
    struct fake_run r;
    struct rb_offer offer;
    struct rb_capacity_step steps[8];
};

static const int64_t at_s[] = {-7200, 20, 47, 61, 90, 100, 130};
static const int64_t uusd_per_hour[] = {2500000, 7100000, 1300001, 9999999, 9999998, 4000000, 17654321};
#define N_STEPS ((int)(sizeof at_s / sizeof *at_s))

static void begin(struct market *m, bool lists)
{
    fake_run_init(&m->r, 1);
    m->offer = m->r.plan->offers[0];
    m->offer.market = RB_MARKET_SPOT;
    m->r.plan->offers = &m->offer;
    for (int i = 0; i < N_STEPS; i++)
        m->steps[i] = (struct rb_capacity_step){.at_us = virtual_loop_unix_us(&m->r.v) + at_s[i] * S + 300000,
                                                .uusd_per_hour = uusd_per_hour[i]};
    m->r.billing.prices = (struct rb_price_path){m->steps, N_STEPS, 0};
    if (lists)
        m->r.cloud.prices = m->r.billing.prices;
    m->r.provider = fake_cloud_provider(&m->r.cloud);
}

// By the cloud; 0: no machine.
static int64_t row_bill_uusd(const struct fake_run *r, const struct rb_launch_row *row)
{
    for (int i = 0; i < r->cloud.n_instances; i++) {
        const struct fake_instance *k = r->cloud.instances[i];
        if (strcmp(k->id, row->instance_id) == 0)
            return rb_bill_node(&r->billing, k->running_unix_us, k->terminated_unix_us).total_uusd;
    }
    return 0;
}

// In the report, for the controller, and in every row of the journal.
static void assert_billed(struct fake_run *r)
{
    const int64_t bill_uusd = fake_cloud_bill_uusd(&r->cloud, &r->billing);
    const struct rb_report report = fake_run_report(r);
    int64_t spent_uusd, reserved_uusd, rows_uusd = 0;
    struct rb_launch_row *rows;
    struct rb_err err;
    int n;
    rb_controller_spend(r->controller, &spent_uusd, &reserved_uusd);
    assert_true(rb_journal_launches(r->journal, &r->arena, &rows, &n, &err));
    for (int i = 0; i < n; i++) {
        assert_int_equal(rows[i].cost_uusd, row_bill_uusd(r, &rows[i]));
        rows_uusd += rows[i].cost_uusd;
    }
    assert_int_equal(report.cost_uusd, bill_uusd);
    assert_int_equal(report.attributed_uusd, 0);
    assert_int_equal(spent_uusd, bill_uusd);
    assert_int_equal(rows_uusd, bill_uusd);
}

static void bills_each_second_at_its_price(void **state)
{
    (void)state;
    struct market m;
    begin(&m, true);
    fake_run_open(&m.r);
    fake_run_end_within(&m.r, FAR_S * S);
    assert_int_equal(m.r.outcome, RB_JOB_COMPLETE);
    assert_billed(&m.r);
    assert_in_range(m.r.cloud.n_price_questions, 2, 1 + m.r.v.now_us / (12 * S) + 1);
    struct rb_billing planned = m.r.billing;
    planned.prices = (struct rb_price_path){0};
    assert_true(fake_cloud_bill_uusd(&m.r.cloud, &planned) != fake_cloud_bill_uusd(&m.r.cloud, &m.r.billing));
    fake_run_finish(&m.r);
}

// While it runs, too: what it has spent follows the price, a question later at most.
static void knows_what_it_has_spent_so_far(void **state)
{
    (void)state;
    struct market m;
    int64_t spent_uusd, reserved_uusd;
    begin(&m, true);
    m.r.budget_uusd = 100 * RB_UUSD; // asks with every listing
    fake_run_open(&m.r);
    for (int64_t s = 20; s < 130; s += 10) {
        fake_run_step_until(&m.r, s * S);
        int64_t bill_uusd = 0;
        for (int i = 0; i < m.r.cloud.n_instances; i++) {
            const struct fake_instance *k = m.r.cloud.instances[i];
            const int64_t end_us = k->terminated_unix_us >= 0 ? k->terminated_unix_us : virtual_loop_unix_us(&m.r.v);
            if (k->running_unix_us >= 0)
                bill_uusd += rb_bill_node(&m.r.billing, k->running_unix_us, end_us).total_uusd;
        }
        rb_controller_spend(m.r.controller, &spent_uusd, &reserved_uusd);
        // Three nodes, two seconds each at prices that differ by less than 14 dollars an hour, and minima at another price.
        assert_in_range(spent_uusd + 300000, bill_uusd, bill_uusd + 600000);
    }
    fake_run_end_within(&m.r, FAR_S * S);
    assert_billed(&m.r);
    fake_run_finish(&m.r);
}

static void a_rise_that_the_budget_does_not_pay_stops_the_run(void **state)
{
    (void)state;
    bool stopped = false;
    for (int64_t budget_uusd = 400000; budget_uusd < 1500000; budget_uusd += 57000) {
        struct market m;
        begin(&m, true);
        for (int i = 1; i < N_STEPS; i++)
            m.steps[i].uusd_per_hour = 9000000; // 2.5 times the plan's
        m.steps[0].uusd_per_hour = 3600000;
        m.r.budget_uusd = budget_uusd;
        fake_run_open(&m.r);
        fake_run_end_within(&m.r, FAR_S * S);
        assert_true(m.r.outcome == RB_JOB_COMPLETE || (m.r.outcome == RB_JOB_STOPPED && m.r.reason == RB_STOP_BUDGET));
        if (fake_cloud_bill_uusd(&m.r.cloud, &m.r.billing) > budget_uusd)
            fail_msg("%lld of %lld", (long long)fake_cloud_bill_uusd(&m.r.cloud, &m.r.billing), (long long)budget_uusd);
        struct rb_billing planned = m.r.billing;
        planned.prices = (struct rb_price_path){0};
        stopped = stopped || (m.r.outcome == RB_JOB_STOPPED && fake_cloud_bill_uusd(&m.r.cloud, &planned) < budget_uusd / 2);
        assert_billed(&m.r);
        fake_run_finish(&m.r);
    }
    assert_true(stopped); // at the plan's price it would have gone on
}

// At every write of the journal one controller dies and another one goes on.
static void a_resumed_controller_bills_the_same(void **state)
{
    (void)state;
    struct market m;
    begin(&m, true);
    fake_run_open(&m.r);
    fake_run_end_within(&m.r, FAR_S * S);
    const int64_t n_writes = rb_journal_n_writes(m.r.journal);
    fake_run_finish(&m.r);
    for (int64_t n = 1; n < n_writes; n += 3) {
        begin(&m, true);
        fake_run_open_dying(&m.r, n, n % 2 ? RB_JOURNAL_DIES_AFTER : RB_JOURNAL_DIES_AT);
        while (!m.r.finished && virtual_loop_step(&m.r.v))
            ;
        fake_run_close(&m.r);
        fake_run_step_until(&m.r, m.r.v.now_us + 30 * S);
        fake_run_open(&m.r);
        fake_run_end_within(&m.r, FAR_S * S);
        assert_int_equal(m.r.outcome, RB_JOB_COMPLETE);
        assert_billed(&m.r);
        fake_run_finish(&m.r);
    }
}

static void without_a_history_the_cost_is_attributed(void **state)
{
    (void)state;
    for (int denied = 0; denied < 2; denied++) {
        struct market m;
        begin(&m, denied);
        m.r.cloud.refuse_prices = denied ? RB_ERR_DENIED : RB_ERR_NONE;
        fake_run_open(&m.r);
        fake_run_end_within(&m.r, FAR_S * S);
        assert_int_equal(m.r.outcome, RB_JOB_COMPLETE);
        m.r.billing.prices = (struct rb_price_path){0};
        const struct rb_report report = fake_run_report(&m.r);
        assert_int_equal(report.cost_uusd, fake_cloud_bill_uusd(&m.r.cloud, &m.r.billing));
        assert_int_equal(report.attributed_uusd, report.cost_uusd);
        const char *said = strstr(m.r.talk, "does not say what spot machines cost now: not authorized to perform: "
                                            "ec2:DescribeSpotPriceHistory");
        assert_int_equal(said != NULL, denied);
        assert_true(!said || !strstr(said + 1, "does not say what")); // once
        fake_run_finish(&m.r);
    }
}

// It waits at the end for a cloud that fails for a while, but not for one that never answers.
static void the_end_waits_for_the_last_prices(void **state)
{
    (void)state;
    struct market m;
    begin(&m, true);
    m.r.cloud.refuse_prices = RB_ERR_IO;
    fake_run_open(&m.r);
    fake_run_step_until(&m.r, 100 * S);
    m.r.cloud.refuse_prices = RB_ERR_NONE;
    fake_run_end_within(&m.r, FAR_S * S);
    assert_billed(&m.r);
    fake_run_finish(&m.r);

    begin(&m, true);
    m.r.cloud.refuse_prices = RB_ERR_IO;
    fake_run_open(&m.r);
    fake_run_end_within(&m.r, FAR_S * S);
    assert_int_equal(m.r.outcome, RB_JOB_COMPLETE);
    assert_int_equal(m.r.err.code, RB_ERR_NONE);
    assert_true(fake_run_report(&m.r).attributed_uusd > 0);
    fake_run_finish(&m.r);
}

// A clock that differs is learnt, and a token is fetched again: the next question may have an answer.
static void a_request_that_has_expired_is_asked_again(void **state)
{
    (void)state;
    for (int64_t from_s = 0; from_s < 200; from_s += 25) {
        struct market m;
        begin(&m, true);
        fake_run_open(&m.r);
        fake_run_step_until(&m.r, from_s * S);
        m.r.cloud.refuse_prices = RB_E_CREDENTIALS_EXPIRED;
        m.r.cloud.n_refused_prices = 2;
        fake_run_end_within(&m.r, FAR_S * S);
        assert_int_equal(m.r.outcome, RB_JOB_COMPLETE);
        assert_billed(&m.r);
        assert_null(strstr(m.r.talk, "does not say what"));
        fake_run_finish(&m.r);
    }
}

static void a_right_that_is_given_later_counts(void **state)
{
    (void)state;
    struct market m;
    begin(&m, true);
    m.r.cloud.refuse_prices = RB_E_PERMISSION;
    fake_run_open(&m.r);
    fake_run_step_until(&m.r, 60 * S);
    fake_run_assert_said(&m.r, "does not say what spot machines cost now");
    m.r.cloud.refuse_prices = RB_ERR_NONE;
    fake_run_end_within(&m.r, FAR_S * S);
    fake_run_assert_said(&m.r, "says again what spot machines cost");
    assert_billed(&m.r);
    fake_run_finish(&m.r);
}

// The first machine ends before any answer about prices; its node has another one when the answer comes.
static void begin_short_lived(struct market *m)
{
    begin(m, true);
    m->r.cloud.refuse_prices = RB_ERR_IO;
    fake_run_open(&m->r);
    for (int64_t s = 0; m->r.cloud.n_instances == 0 || m->r.cloud.instances[0]->running_unix_us < 0; s++)
        fake_run_step_until(&m->r, s * S);
    fake_run_step_for(&m->r, 20 * S);
    fake_cloud_kill_instance(&m->r.cloud, 0, "Server.SpotInstanceTermination");
    fake_run_step_for(&m->r, 20 * S);
}

static void a_machine_that_ends_before_the_first_answer_is_billed(void **state)
{
    (void)state;
    struct market m;
    struct rb_launch_row *rows;
    struct rb_err err;
    int n, n_relaunched = 0;
    begin_short_lived(&m);
    m.r.cloud.refuse_prices = RB_ERR_NONE;
    fake_run_end_within(&m.r, FAR_S * S);
    assert_true(rb_journal_launches(m.r.journal, &m.r.arena, &rows, &n, &err));
    for (int i = 0; i < n; i++)
        n_relaunched += rows[i].attempt > 0 && rows[i].running_unix_us >= 0;
    assert_true(n_relaunched > 0);
    assert_billed(&m.r);
    fake_run_finish(&m.r);
}

// The first listing that shows the machine shows its end.
static void a_machine_that_is_seen_only_ended_is_billed(void **state)
{
    (void)state;
    struct market m;
    begin(&m, true);
    m.r.poll_us = 10 * S;
    m.r.cloud.faults.lost_answer = 1;
    fake_run_open(&m.r);
    for (int64_t us = 0; m.r.cloud.n_instances == 0 || m.r.cloud.instances[0]->running_unix_us < 0; us += S / 10)
        fake_run_step_until(&m.r, us);
    assert_int_equal(m.r.cloud.n_listings, 1);
    m.r.cloud.faults.lost_answer = 0;
    fake_cloud_kill_instance(&m.r.cloud, 0, "Server.SpotInstanceTermination");
    fake_run_end_within(&m.r, FAR_S * S);
    assert_billed(&m.r);
    fake_run_finish(&m.r);
}

// All have ended when the only answer comes.
static void the_only_answer_counts(void **state)
{
    (void)state;
    struct market m;
    begin(&m, true);
    m.r.poll_us = 10 * S; // two minutes between questions that fail: fewer than make it give up
    m.r.cloud.refuse_prices = RB_ERR_IO;
    fake_run_open(&m.r);
    for (int64_t s = 0; m.r.cloud.n_instances == 0 || fake_cloud_alive(&m.r.cloud) > 0; s++)
        fake_run_step_until(&m.r, s * S);
    assert_false(m.r.finished);
    m.r.cloud.refuse_prices = RB_ERR_NONE;
    fake_run_end_within(&m.r, FAR_S * S);
    assert_billed(&m.r);
    fake_run_finish(&m.r);
}

// Machines end while the network is gone for long. A listing shows it at last: then the prices can be asked for, too.
static void an_outage_at_the_end_costs_no_prices(void **state)
{
    (void)state;
    struct market m;
    begin(&m, true);
    fake_run_open(&m.r);
    fake_run_step_until(&m.r, 40 * S);
    rb_controller_stop(m.r.controller, RB_STOP_USER);
    fake_run_step_for(&m.r, S / 5);
    m.r.cloud.faults.unreachable = true;
    fake_run_step_for(&m.r, 90 * S);
    fake_run_assert_said(&m.r, "does not say what spot machines cost now");
    m.r.cloud.faults.unreachable = false;
    fake_run_end_within(&m.r, FAR_S * S);
    fake_run_assert_said(&m.r, "says again what spot machines cost");
    assert_billed(&m.r);
    fake_run_finish(&m.r);
}

// The next controller hears no more of that machine, and asks for its market's prices all the same.
static void its_market_outlives_the_controller(void **state)
{
    (void)state;
    struct market m;
    begin_short_lived(&m);
    m.r.cloud.faults.vanishing = true;
    fake_run_close(&m.r);
    m.r.cloud.refuse_prices = RB_ERR_NONE;
    fake_run_open(&m.r);
    fake_run_end_within(&m.r, FAR_S * S);
    assert_billed(&m.r);
    fake_run_finish(&m.r);
}

struct open_rows {
    const struct rb_capacity_step *steps;
    int n, n_pending, n_other;
};

static void compare_prices(void *ctx, const struct rb_launch_row *row)
{
    struct open_rows *o = ctx;
    if (row->prices.n == 0 || !row->market_infra[0])
        return;
    o->n_other += o->steps && (o->steps != row->prices.steps || o->n != row->prices.n);
    o->n_pending += row->running_unix_us < 0;
    o->steps = row->prices.steps;
    o->n = row->prices.n;
}

// A controller that takes over reads prices for machines that do not run yet. They follow what it learns, too.
static void a_machine_that_is_pending_follows_the_prices(void **state)
{
    (void)state;
    struct market m;
    struct open_rows o = {0};
    begin(&m, true);
    m.r.budget_uusd = 100 * RB_UUSD; // asks with every listing
    m.r.boot_timeout_us = 3600 * S;
    fake_run_open(&m.r);
    fake_run_step_until(&m.r, 35 * S);
    m.r.cloud.faults.never_boots = true;
    fake_cloud_kill_instance(&m.r.cloud, 0, "Server.SpotInstanceTermination");
    fake_run_step_for(&m.r, 10 * S);
    fake_run_close(&m.r);
    fake_run_open(&m.r);
    fake_run_step_until(&m.r, 70 * S);
    rb_controller_each_open_launch(m.r.controller, compare_prices, &o);
    assert_int_equal(o.n_pending, 1);
    assert_int_equal(o.n_other, 0);
    fake_run_finish(&m.r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bills_each_second_at_its_price),
        cmocka_unit_test(knows_what_it_has_spent_so_far),
        cmocka_unit_test(a_rise_that_the_budget_does_not_pay_stops_the_run),
        cmocka_unit_test(a_resumed_controller_bills_the_same),
        cmocka_unit_test(without_a_history_the_cost_is_attributed),
        cmocka_unit_test(the_end_waits_for_the_last_prices),
        cmocka_unit_test(a_request_that_has_expired_is_asked_again),
        cmocka_unit_test(a_right_that_is_given_later_counts),
        cmocka_unit_test(a_machine_that_ends_before_the_first_answer_is_billed),
        cmocka_unit_test(a_machine_that_is_seen_only_ended_is_billed),
        cmocka_unit_test(the_only_answer_counts),
        cmocka_unit_test(an_outage_at_the_end_costs_no_prices),
        cmocka_unit_test(its_market_outlives_the_controller),
        cmocka_unit_test(a_machine_that_is_pending_follows_the_prices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
