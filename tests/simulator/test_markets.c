// Spot markets in virtual time: spells, stand-ins, and a table in their place.
#include "small_scenario.h"

#include "profiles/catalog/billing.h"
#include "profiles/catalog/reservation.h"
#include "simulator/world/markets.h"
#include "simulator/world/world.h"

#include <math.h>

#define S      RB_US_PER_S
#define H      (3600 * S)
#define N_RUNS 2000

// One trial on one spot node: two hours of training, ten seconds until it is ready. Offers: the plan's, the same type on
// demand, and elsewhere.
enum { ELSEWHERE = LARGE };
struct market {
    struct small_scenario s;
    struct rb_provisioning entries[2];
    struct rb_spells spells;
    struct rb_hazard_step later;
    int fallbacks[2];
};

static void make(struct market *m, struct rb_dist up_s, struct rb_dist down_s, double together, double per_hour)
{
    small_scenario_make(&m->s);
    small_scenario_one_stage(&m->s, 1, 720, 1);
    m->s.p.nodes[0][0].offer = SMALL_SPOT;
    m->s.p.offers[SMALL_SPOT].infra = "aws/us-east-1/us-east-1a";
    m->s.p.offers[ELSEWHERE] = m->s.p.offers[SMALL_SPOT];
    m->s.p.offers[ELSEWHERE].infra = "aws/us-east-1/us-east-1b";
    m->s.p.offers[ELSEWHERE].rate.uusd_per_hour = 7200000;
    m->spells = (struct rb_spells){
        .up_s = up_s, .down_s = down_s, .together = together, .region_factor = -1, .hazard = {.per_hour = per_hour}};
    m->entries[0] = m->entries[1] = m->s.provisioning;
    m->entries[0].infra = "aws/us-east-1/us-east-1a";
    m->entries[0].market = "spot";
    m->entries[0].spells = &m->spells;
    m->s.p.profile.provisioning = m->entries;
    m->s.p.profile.n_provisioning = 2;
    small_scenario_compile(&m->s, 7);
}

static void let_stand_in(struct market *m, int first, int second)
{
    m->fallbacks[0] = first;
    m->fallbacks[1] = second;
    m->s.p.plan.fallbacks = m->fallbacks;
    m->s.p.plan.n_fallbacks = second < 0 ? 1 : 2;
}

// ---- what happens

struct seen {
    int64_t first_refused_us, running_us, lost_us, again_us; // -1: not
    int n_refused;
    struct {
        enum rb_event_kind kind;
        int node;
        int64_t at_us;
    } nodes[64]; // all events of nodes but NODE_READY
    int n_nodes;
};

static void see(void *ctx, const struct rb_engine *e, const struct rb_event *event, const struct rb_actions *actions)
{
    struct seen *seen = ctx;
    (void)e;
    (void)actions;
    if (event->kind == RB_EVENT_NODE_REFUSED && seen->n_refused++ == 0)
        seen->first_refused_us = event->time_us;
    if (event->kind == RB_EVENT_NODE_RUNNING && seen->running_us < 0)
        seen->running_us = event->time_us;
    else if (event->kind == RB_EVENT_NODE_RUNNING && seen->again_us < 0)
        seen->again_us = event->time_us;
    if (event->kind == RB_EVENT_NODE_LOST && seen->lost_us < 0)
        seen->lost_us = event->time_us;
    if ((event->kind == RB_EVENT_NODE_RUNNING || event->kind == RB_EVENT_NODE_LOST) && seen->n_nodes < 64) {
        seen->nodes[seen->n_nodes].kind = event->kind;
        seen->nodes[seen->n_nodes].node = event->node;
        seen->nodes[seen->n_nodes++].at_us = event->time_us;
    }
}

static bool try_run(struct market *m, uint32_t replicate, const struct rb_market_replay *replay, struct seen *seen,
                    struct rb_world_result *out, struct rb_err *err)
{
    *seen = (struct seen){.first_refused_us = -1, .running_us = -1, .lost_us = -1, .again_us = -1};
    const struct rb_world_options opt = {.replicate = replicate,
                                         .observe = see,
                                         .observe_ctx = seen,
                                         .market = replay,
                                         .deadline_us = -1,
                                         .budget_uusd = -1};
    return rb_world_run(&m->s.scenario, &m->s.p.plan, &opt, out, err);
}

static struct rb_world_result run(struct market *m, uint32_t replicate, const struct rb_market_replay *replay,
                                  struct seen *seen)
{
    struct rb_world_result out;
    struct rb_err err;
    if (!try_run(m, replicate, replay, seen, &out, &err))
        fail_msg("%s", err.message);
    return out;
}

// ---- spells

static double second_moment(const struct rb_dist *d)
{
    return rb_dist_variance(d) + rb_dist_mean(d) * rb_dist_mean(d);
}

// At the beginning a market is down with its share of time, for what is left of a spell, E[X^2] / 2 E[X] on average. A
// pause that begins in it is over at most half a minute after it.
static void the_first_state_is_stationary(void **state)
{
    (void)state;
    const struct rb_dist laws[][2] = {
        {rb_dist_constant(3000), rb_dist_constant(1000)},
        {small_dist(RB_DIST_LOGNORMAL, 3000, 1.5), small_dist(RB_DIST_EXPONENTIAL, 2000, 1)},
        {small_dist(RB_DIST_GAMMA, 2000, 1.3), small_dist(RB_DIST_WEIBULL, 3000, 1.4)},
    };
    for (size_t i = 0; i < sizeof laws / sizeof laws[0]; i++) {
        struct market m;
        double n_down = 0, wait_s = 0, squares = 0;
        make(&m, laws[i][0], laws[i][1], 0, 0);
        m.s.p.nodes[0][0].count = 1;
        for (uint32_t r = 0; r < N_RUNS; r++) {
            struct seen seen;
            run(&m, r, NULL, &seen);
            n_down += seen.n_refused > 0;
            const double s = seen.n_refused > 0 ? (double)seen.running_us / S : 0;
            wait_s += s;
            squares += s * s;
        }
        const double down_s = rb_dist_mean(&laws[i][1]), share = down_s / (down_s + rb_dist_mean(&laws[i][0]));
        const double rest_s = second_moment(&laws[i][1]) / (2 * down_s), mean_s = wait_s / N_RUNS;
        const double error_s = sqrt((squares / N_RUNS - mean_s * mean_s) / N_RUNS);
        if (fabs(n_down / N_RUNS - share) > 4 * sqrt(share * (1 - share) / N_RUNS))
            fail_msg("law %zu: down at first in %.4f, expected %.4f", i, n_down / N_RUNS, share);
        // After a long spell pauses have a mean of 15 s, so one ends 10 s after the spell; then a queue of 5 s.
        if (fabs(mean_s - share * (rest_s + 15)) > 4 * error_s + 5 * share)
            fail_msg("law %zu: waits %.1f s, expected %.1f", i, mean_s, share * (rest_s + 15));
        small_scenario_finish(&m.s);
    }
}

// The loss of the only node begins a spell down with the chance `together`: a node is back after it, or after a queue.
static void a_loss_of_all_begins_a_spell_down(void **state)
{
    (void)state;
    struct market m;
    int n_lost = 0, n_down = 0;
    make(&m, rb_dist_constant(1e6), rb_dist_constant(600), 0.4, 1);
    for (uint32_t r = 0; r < N_RUNS; r++) {
        struct seen seen;
        run(&m, r, NULL, &seen);
        if (seen.n_refused > 0 && (seen.lost_us < 0 || seen.first_refused_us < seen.lost_us))
            continue; // it was down at first
        if (seen.lost_us < 0)
            continue;
        const int64_t away_us = seen.again_us - seen.lost_us;
        n_lost++;
        n_down += away_us > 5 * S;
        if (away_us != 5 * S && (away_us < 600 * S || away_us > 640 * S))
            fail_msg("run %u: away for %.3f s", r, (double)away_us / S);
    }
    assert_true(n_lost > N_RUNS / 2);
    assert_true(fabs((double)n_down / n_lost - 0.4) < 4 * sqrt(0.24 / n_lost));
    small_scenario_finish(&m.s);
}

// ---- stand-ins

// The same type elsewhere and on demand, in the order of the list, at once after each queue; the bill is theirs.
static void stand_ins_are_asked_in_their_order(void **state)
{
    (void)state;
    struct market m;
    struct seen seen;
    make(&m, rb_dist_constant(1), rb_dist_constant(1e6), 0, 0);
    let_stand_in(&m, SMALL, ELSEWHERE);
    struct rb_world_result r = run(&m, 0, NULL, &seen);
    assert_int_equal(seen.first_refused_us, 5 * S);
    assert_int_equal(seen.running_us, 10 * S);
    assert_int_equal(r.time_us, (10 + 10 + 2 + 7200 + 1) * S);
    assert_int_equal(r.cost_uusd, (10 + 2 + 7200 + 1) * 1000);
    let_stand_in(&m, ELSEWHERE, SMALL);
    r = run(&m, 0, NULL, &seen);
    assert_int_equal(seen.running_us, 10 * S);
    assert_int_equal(r.cost_uusd, (10 + 2 + 7200 + 1) * 2000);
    small_scenario_finish(&m.s);
}

// ---- tables

static const struct rb_capacity_step here[] = {{0, 0}, {H, 3}, {2 * H, 2}, {3 * H, 0}, {4 * H, 5}},
                                     there[] = {{0, 1}};
static const struct rb_capacity zones[] = {
    {"us-east-1a", "us-east-1", "small", here, 5, 9 * H, "aws/us-east-1/us-east-1a"},
    {"us-east-1b", "us-east-1", "small", there, 1, 9 * H, "aws/us-east-1/us-east-1b"},
};
static const struct rb_capacity_table table = {zones, 2};

// Three trials of 4003 s on three nodes; half an hour later one is taken, an hour later all. The youngest goes first, two
// minutes after the fall; the only node elsewhere stands in and ends the run. Spells and hazards do not matter.
static void a_fall_takes_the_youngest_with_notice(void **state)
{
    (void)state;
    struct market m;
    struct seen seen;
    make(&m, rb_dist_constant(1), rb_dist_constant(1e6), 1, 60);
    small_scenario_one_stage(&m.s, 3, 720, 3);
    m.s.p.stages[0].gpus_per_trial = 2;
    m.s.p.offers[SMALL_SPOT].gpus = m.s.p.offers[ELSEWHERE].gpus = 2;
    let_stand_in(&m, ELSEWHERE, -1);
    run(&m, 0, &(struct rb_market_replay){&table, 3 * H / 2}, &seen);
    static const struct {
        enum rb_event_kind kind;
        int node;
        int64_t at_us;
    } expected[] = {
        {RB_EVENT_NODE_RUNNING, 0, 5 * S},
        {RB_EVENT_NODE_RUNNING, 1, 5 * S},
        {RB_EVENT_NODE_RUNNING, 2, 5 * S},
        {RB_EVENT_NODE_LOST, 2, H / 2 + 120 * S},
        {RB_EVENT_NODE_RUNNING, 3, H / 2 + 125 * S},
        {RB_EVENT_NODE_LOST, 0, 3 * H / 2 + 120 * S},
        {RB_EVENT_NODE_LOST, 1, 3 * H / 2 + 120 * S},
    };
    assert_int_equal(seen.n_nodes, sizeof expected / sizeof expected[0]);
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        assert_int_equal(seen.nodes[i].kind, expected[i].kind);
        assert_int_equal(seen.nodes[i].node, expected[i].node);
        assert_int_equal(seen.nodes[i].at_us, expected[i].at_us);
    }
    small_scenario_finish(&m.s);
}

// It waits for the first row above 0, and pauses of at most half a minute end after it.
static void a_request_waits_for_the_table(void **state)
{
    (void)state;
    struct market m;
    struct seen seen;
    struct rb_world_result r;
    struct rb_err err;
    make(&m, rb_dist_constant(1e6), rb_dist_constant(1), 0, 0);
    run(&m, 0, &(struct rb_market_replay){&table, H / 2}, &seen);
    assert_int_equal(seen.first_refused_us > 0, true);
    assert_true(seen.running_us >= H / 2 + 5 * S && seen.running_us <= H / 2 + 35 * S);
    assert_false(try_run(&m, 0, &(struct rb_market_replay){&table, 8 * H}, &seen, &r, &err));
    assert_says(&err, "begin earlier");
    small_scenario_finish(&m.s);
}

// Every node is billed at the table's price, by the law of the cloud that replays it (tests/mock/test_cloud_limits.c).
static void a_table_with_prices_is_billed_at_them(void **state)
{
    (void)state;
    static const struct rb_capacity_step steps[] = {{0, 9, 3600000}, {H / 4, 9, 7200000}, {H, 9, 1800000}};
    static const struct rb_capacity zone = {"us-east-1a", "us-east-1", "small", steps, 3, 9 * H, "aws/us-east-1/us-east-1a"};
    static const struct rb_capacity_table priced = {&zone, 1};
    const struct rb_market_replay replay = {&priced, H / 8};
    struct market m;
    struct seen seen;
    make(&m, rb_dist_constant(1e6), rb_dist_constant(1), 0, 0);
    const struct rb_world_result flat = run(&m, 0, &replay, &seen);
    rb_markets_price(&m.s.scenario, NULL);
    assert_int_equal(run(&m, 0, &replay, &seen).cost_uusd, flat.cost_uusd); // no table, no change
    rb_markets_price(&m.s.scenario, &replay);
    const struct rb_world_result r = run(&m, 0, &replay, &seen);
    const struct rb_billing b = {.prices = {steps, 3, H / 8}};
    assert_int_equal(r.time_us, flat.time_us);
    assert_true(r.cost_uusd != flat.cost_uusd);
    assert_int_equal(seen.n_nodes, 1);
    assert_int_equal(r.cost_uusd, rb_bill_node(&b, seen.nodes[0].at_us, r.time_us).total_uusd);
    small_scenario_finish(&m.s);
}

// ---- reservations

// The trial trains two hours. Its reservation is free and closes after one, 5 minutes before which it gives notice; then
// it begins again on demand, at 1000 micro-dollars a second.
static struct rb_reservation reserve(struct market *m, int64_t opens_us, int64_t closes_us)
{
    const struct rb_reservation r = {.infra = "aws/us-east-1/us-east-1a",
                                     .id = "cr-0123456789abcdef0",
                                     .count = 1,
                                     .notice_us = 300 * S,
                                     .opens_us = opens_us,
                                     .closes_us = closes_us};
    small_scenario_finish(&m->s);
    m->s.p.offers[SMALL_SPOT].market = RB_MARKET_RESERVED;
    m->s.p.offers[SMALL_SPOT].rate.uusd_per_hour = 0;
    m->s.p.offers[SMALL_SPOT].declared_free = true;
    return r;
}

static void a_reservation_closes_and_the_rest_is_on_demand(void **state)
{
    (void)state;
    struct market m;
    struct seen seen;
    make(&m, rb_dist_constant(1), rb_dist_constant(1), 0, 0);
    m.entries[1].capacity_failure = 0.9; // on demand; a reservation is never refused
    m.entries[1].preemption_per_hour = 50;
    struct rb_reservation r = reserve(&m, 0, H);
    m.s.p.offers[SMALL_SPOT].reservation = &r;
    m.entries[0].market = m.entries[1].market = "on_demand";
    small_scenario_compile(&m.s, 7);
    assert_false(m.s.scenario.sim_offers[SMALL_SPOT].provisioning->capacity_failure > 0);
    assert_true(rb_sim_offer_goes_down(&m.s.scenario.sim_offers[SMALL_SPOT]));
    small_scenario_finish(&m.s);

    m.entries[1].capacity_failure = m.entries[1].preemption_per_hour = 0;
    m.entries[0] = m.entries[1];
    small_scenario_compile(&m.s, 7);
    let_stand_in(&m, SMALL, -1);
    struct rb_world_result w = run(&m, 0, NULL, &seen);
    assert_int_equal(seen.running_us, 5 * S);
    assert_int_equal(seen.lost_us, H);
    assert_int_equal(seen.again_us, H + 5 * S);
    assert_int_equal(seen.n_refused, 0); // it is known to be closed, and not asked
    assert_int_equal(w.time_us, H + (5 + 10 + 2 + 7200 + 1) * S);
    assert_int_equal(w.cost_uusd, (10 + 2 + 7200 + 1) * 1000);
    small_scenario_finish(&m.s);
}

static void a_reservation_that_outlasts_the_run_is_all_there_is(void **state)
{
    (void)state;
    struct market m;
    struct seen seen;
    make(&m, rb_dist_constant(1), rb_dist_constant(1), 0, 0);
    struct rb_reservation r = reserve(&m, 0, 4 * H);
    m.s.p.offers[SMALL_SPOT].reservation = &r;
    m.entries[0] = m.entries[1];
    small_scenario_compile(&m.s, 7);
    let_stand_in(&m, SMALL, -1);
    struct rb_world_result w = run(&m, 0, NULL, &seen);
    assert_int_equal(w.time_us, (5 + 10 + 2 + 7200 + 1) * S);
    assert_int_equal(w.cost_uusd, 0);
    r.opens_us = H; // another machine stands in for one that has not opened
    w = run(&m, 0, NULL, &seen);
    assert_int_equal(seen.running_us, 5 * S);
    assert_int_equal(w.cost_uusd, (10 + 2 + 7200 + 1) * 1000);
    m.s.p.plan.n_fallbacks = 0; // nothing stands in: it waits
    w = run(&m, 0, NULL, &seen);
    assert_int_equal(seen.running_us, H + 5 * S);
    assert_int_equal(w.cost_uusd, 0);
    small_scenario_finish(&m.s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_state_is_stationary),
        cmocka_unit_test(a_loss_of_all_begins_a_spell_down),
        cmocka_unit_test(stand_ins_are_asked_in_their_order),
        cmocka_unit_test(a_fall_takes_the_youngest_with_notice),
        cmocka_unit_test(a_request_waits_for_the_table),
        cmocka_unit_test(a_table_with_prices_is_billed_at_them),
        cmocka_unit_test(a_reservation_closes_and_the_rest_is_on_demand),
        cmocka_unit_test(a_reservation_that_outlasts_the_run_is_all_there_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
