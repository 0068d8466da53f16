// Runs under resources.spot: safe on a cloud that takes spot nodes back and refuses them at random: none is late, whatever
// is lost, and they cost less than on demand.
#include "fake_run.h"
#include "known_profile.h"

#include "base/stream.h"
#include "executor/run/spot_choice.h"
#include "simulator/spot/plan_replay.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SECOND_US INT64_C(1000000)
#define DOLLAR    INT64_C(1000000)
#define UNSEEN_S  35 // the fake launcher gives a node up after half a minute

enum { ON_DEMAND, SPOT, N_OFFERS, RUNS = 12, N_DEADLINES = 3 };

static const struct rb_offer offers[N_OFFERS] = {
    [ON_DEMAND] = {"mock/here", "box", "A", .gpus = 4, .rate = {3600000}, .source = "test"},
    [SPOT] = {"mock/here/a", "box", "A", .gpus = 4, .market = RB_MARKET_SPOT, .rate = {1080000}, .source = "test"},
};
static const int fallbacks[] = {SPOT};

struct world {
    struct fake_run r;
    struct known known;
    struct rb_spells spells;
    struct rb_provisioning provisioning[2]; // of spot; of all others
    struct rb_spot_choice *choice;
    struct rb_node_chooser chooser; // asks it, but begins on demand, and returns only where the test says so
    struct rb_stream draws;
    double losses_per_hour, refused; // of a spot node; chance of a request for one
    int n_lost, n_on_spot, n_on_demand;
};

static void judge(void *ctx, const struct fake_cloud *c, const struct fake_instance *wanted, struct rb_err *err)
{
    struct world *w = ctx;
    (void)c;
    if (wanted->market == RB_MARKET_SPOT && rb_stream_uniform(&w->draws) < w->refused)
        rb_err_set(err, RB_ERR_CAPACITY, "InsufficientInstanceCapacity");
    else
        *(wanted->market == RB_MARKET_SPOT ? &w->n_on_spot : &w->n_on_demand) += 1;
}

static void plan_for(struct world *w, int64_t deadline_us, bool has_spells)
{
    static const int64_t stage_s[] = {60, 55, 135};
    struct rb_job *job = rb_arena_alloc(&w->r.arena, sizeof *job);
    struct rb_plan_stage *stages = (struct rb_plan_stage *)w->r.plan->stages;
    *job = *w->r.plan->job;
    job->resources.spot = RB_SPOT_SAFE;
    know(&w->known);
    w->spells = (struct rb_spells){.sampled_s = 60, .days = 3, .region_factor = -1, .hazard = {.per_hour = 10}};
    w->spells.up_s = rb_dist_constant(360);
    w->spells.down_s = rb_dist_constant(60);
    w->provisioning[0] = w->provisioning[1] = w->known.provisioning;
    w->provisioning[0].market = "spot";
    w->provisioning[0].spells = has_spells ? &w->spells : NULL;
    w->known.training.relative_error = 0.2; // its trials are slower than the profile says, by a fifth at most
    w->known.profile.provisioning = w->provisioning;
    w->known.profile.n_provisioning = 2;
    for (int i = 0; i < w->r.plan->n_stages; i++)
        stages[i].time_us.p50 = stage_s[i] * SECOND_US;
    w->r.plan->estimate = (struct rb_estimate){
        .time_us = {.mean = 250 * SECOND_US, .p50 = 250 * SECOND_US},
        .cost_uusd = {.mean = DOLLAR, .p50 = DOLLAR, .p95 = 11 * DOLLAR / 10, .p99 = 12 * DOLLAR / 10},
        .p_deadline = 1,
        .p_budget = 1,
        .p_both = 1};
    w->r.plan->job = job;
    w->r.plan->profile = &w->known.profile;
    w->r.plan->offers = offers;
    w->r.plan->n_offers = N_OFFERS;
    w->r.plan->fallbacks = fallbacks;
    w->r.plan->n_fallbacks = 1;
    w->r.plan->deadline_us = w->r.deadline_us = deadline_us;
}

static void make_world(struct world *w, uint64_t seed, int64_t deadline_us, double losses_per_hour, bool has_spells)
{
    *w = (struct world){.losses_per_hour = losses_per_hour, .refused = seed % 3 * .3};
    fake_run_init(&w->r, seed);
    plan_for(w, deadline_us, has_spells);
    rb_stream_init(&w->draws, &(struct rb_stream_key){.purpose = RB_DRAW_SEARCH, .seed = seed});
    w->r.cloud.judge = judge;
    w->r.cloud.judge_ctx = w;
    w->choice = rb_spot_choice_create(w->r.plan, UNSEEN_S);
    assert_non_null(w->choice);
    w->r.chooser = rb_spot_choice_chooser(w->choice);
}

static void open_world(struct world *w, uint64_t seed, int64_t deadline_us, double losses_per_hour, bool has_spells)
{
    make_world(w, seed, deadline_us, losses_per_hour, has_spells);
    fake_run_open(&w->r);
}

// Together, as in a real market: all spot nodes that run.
static void lose_spot(struct world *w)
{
    for (int i = 0; i < w->r.cloud.n_instances; i++) {
        const struct fake_instance *k = w->r.cloud.instances[i];
        if (k->market == RB_MARKET_SPOT && k->state == RB_INSTANCE_RUNNING) {
            fake_cloud_kill_instance(&w->r.cloud, i, "Server.SpotInstanceTermination");
            w->n_lost++;
        }
    }
}

static int64_t bill_uusd(const struct world *w)
{
    int64_t sum = 0;
    for (int i = 0; i < w->r.cloud.n_instances; i++) {
        const struct fake_instance *k = w->r.cloud.instances[i];
        const struct rb_billing billing = {.rate = offers[k->market == RB_MARKET_SPOT ? SPOT : ON_DEMAND].rate};
        if (k->running_unix_us >= 0)
            sum += rb_bill_node(&billing, k->running_unix_us, k->terminated_unix_us).total_uusd;
    }
    return sum;
}

// In time; its bill.
static int64_t live(struct world *w)
{
    const int64_t start_us = w->r.v.now_us;
    int64_t next_us = start_us;
    while (!w->r.finished && w->r.v.now_us < start_us + 4 * w->r.deadline_us) {
        if (w->losses_per_hour > 0 && w->r.v.now_us >= next_us) {
            if (next_us > start_us)
                lose_spot(w);
            next_us = w->r.v.now_us + (int64_t)(-log(rb_stream_uniform(&w->draws)) * 3600e6 / w->losses_per_hour);
        }
        virtual_loop_step(&w->r.v);
    }
    if (!w->r.finished || w->r.outcome == RB_JOB_STOPPED)
        fail_msg("%s, deadline %d s, losses %g an hour; it said:\n%s", w->r.finished ? "late" : "it does not end",
                 (int)(w->r.deadline_us / SECOND_US), w->losses_per_hour, w->r.talk);
    return bill_uusd(w);
}

static void saw(void *ctx, const struct rb_event *event)
{
    const struct rb_node_chooser *inner = rb_spot_choice_chooser(((struct world *)ctx)->choice);
    inner->saw(inner->ctx, event);
}

static enum rb_spot_mode begin_on_demand(void *ctx, const struct rb_node_question *q, int *out_market, struct rb_buf *why)
{
    const struct rb_node_chooser *inner = rb_spot_choice_chooser(((struct world *)ctx)->choice);
    if (q->now_us < 20 * SECOND_US)
        return RB_SPOT_ON_DEMAND;
    return inner->choose(inner->ctx, q, out_market, why);
}

static void close_world(struct world *w)
{
    fake_run_close(&w->r);
    rb_spot_choice_destroy(w->choice);
    fake_run_finish(&w->r);
}

static void no_run_is_late(void **state)
{
    (void)state;
    static const int64_t deadlines_us[N_DEADLINES] = {420 * SECOND_US, 500 * SECOND_US, 700 * SECOND_US};
    int n_lost = 0, n_on_spot = 0, n_on_demand = 0;
    for (uint64_t seed = 0; seed < RUNS; seed++)
        for (int d = 0; d < N_DEADLINES; d++) {
            struct world w;
            open_world(&w, seed, deadlines_us[d], seed % 4 * 30.0, seed % 2 == 0);
            live(&w);
            n_lost += w.n_lost;
            n_on_spot += w.n_on_spot;
            n_on_demand += w.n_on_demand;
            close_world(&w);
        }
    assert_true(n_lost > RUNS && n_on_spot > 3 * RUNS && n_on_demand > RUNS);
}

static void a_quiet_market_costs_what_spot_costs(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 6; seed++) {
        struct world w;
        open_world(&w, 3 * seed, 900 * SECOND_US, 0, seed % 2);
        const int64_t on_spot_uusd = live(&w);
        assert_int_equal(w.n_on_demand, 0);
        close_world(&w);
        open_world(&w, 3 * seed, 340 * SECOND_US, 0, seed % 2); // no slack for a loss
        assert_int_equal(w.n_on_spot, 0);
        close_world(&w);
        assert_in_range(on_spot_uusd, 140000, 220000); // five minutes of three, two and one nodes at $1.08
    }
}

static int64_t live_from_demand(uint64_t seed, int64_t deadline_us, double losses_per_hour, bool returns)
{
    struct world w;
    make_world(&w, seed, deadline_us, losses_per_hour, true);
    w.chooser = *rb_spot_choice_chooser(w.choice);
    assert_true(w.chooser.returns);
    w.chooser = (struct rb_node_chooser){&w, saw, begin_on_demand, w.chooser.every_us, returns};
    w.r.chooser = &w.chooser;
    fake_run_open(&w.r);
    const int64_t bill_uusd = live(&w);
    assert_true(w.n_on_demand >= 3);
    assert_int_equal(strstr(w.r.talk, "back to spot") != NULL, returns);
    close_world(&w);
    return bill_uusd;
}

static void who_goes_back_to_spot_pays_less_and_is_in_time(void **state)
{
    (void)state;
    int64_t with_uusd = 0, without_uusd = 0;
    for (uint64_t seed = 0; seed < 12; seed += 3) {
        with_uusd += live_from_demand(seed, 700 * SECOND_US, 0, true);
        without_uusd += live_from_demand(seed, 700 * SECOND_US, 0, false);
        live_from_demand(seed, 600 * SECOND_US, 30, true);
    }
    assert_true(with_uusd < without_uusd);
}

static void replays_of_a_plan_are_in_time_and_cost_between_spot_and_on_demand(void **state)
{
    (void)state;
    static const int64_t deadlines_us[N_DEADLINES] = {330 * SECOND_US, 500 * SECOND_US, 2000 * SECOND_US};
    double before = 2;
    for (int d = 0; d < N_DEADLINES; d++) {
        struct world w = {0};
        struct rb_plan_spot spot;
        fake_run_init(&w.r, 1);
        plan_for(&w, deadlines_us[d], true);
        rb_plan_spot_init(&spot, w.r.plan);
        assert_non_null(spot.policy);
        struct rb_estimate e;
        const struct rb_plan_safe_spot c = rb_plan_replay(&spot, w.r.plan, 0, &e);
        const double share = (double)e.cost_uusd.mean / DOLLAR;
        assert_true(e.p_deadline == 1 && e.samples == RB_PLAN_REPLAYS);
        assert_true(e.cost_uusd.p5 >= 0.29 * DOLLAR && e.cost_uusd.p50 <= e.cost_uusd.p95 && share < before + 0.01);
        assert_int_equal(e.cost_uusd.p95, w.r.plan->estimate.cost_uusd.p95); // it may be on demand throughout
        assert_true(c.p_on_demand >= c.share_on_demand && c.alone_uusd < DOLLAR / 2);
        assert_true(d > 0 || (c.p_alone < 0.9 && c.p_on_demand == 1)); // the deadline costs something
        assert_int_equal(c.on_demand.cost_uusd.mean, DOLLAR);
        before = share;
        rb_plan_spot_finish(&spot);
        plan_for(&w, deadlines_us[d], false);
        rb_plan_spot_init(&spot, w.r.plan);
        assert_null(spot.policy); // the market is unknown
        rb_plan_spot_finish(&spot);
        fake_run_finish(&w.r);
    }
    assert_true(before < 0.6);
}

static void who_does_not_ask_for_it_gets_none(void **state)
{
    (void)state;
    struct world w = {0};
    fake_run_init(&w.r, 1);
    plan_for(&w, 600 * SECOND_US, true);
    w.r.plan->n_fallbacks = 0;
    assert_null(rb_spot_choice_create(w.r.plan, UNSEEN_S));
    w.r.plan->n_fallbacks = 1;
    w.r.plan->deadline_us = -1;
    assert_null(rb_spot_choice_create(w.r.plan, UNSEEN_S));
    w.r.plan->deadline_us = 600 * SECOND_US;
    ((struct rb_job *)w.r.plan->job)->resources.spot = RB_SPOT_ALLOW;
    assert_null(rb_spot_choice_create(w.r.plan, UNSEEN_S));
    fake_run_finish(&w.r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_run_is_late),
        cmocka_unit_test(a_quiet_market_costs_what_spot_costs),
        cmocka_unit_test(who_goes_back_to_spot_pays_less_and_is_in_time),
        cmocka_unit_test(replays_of_a_plan_are_in_time_and_cost_between_spot_and_on_demand),
        cmocka_unit_test(who_does_not_ask_for_it_gets_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
