// One job with reservations, spot machines while it cannot be late for them, and data that stays: three loops around one
// search, of which none may undo what another keeps.
#include "case.h"

#include "base/stream.h"
#include "base/text/buf.h"
#include "planner/questions/verification.h"
#include "planner/request/safe_plan.h"
#include "profiles/catalog/infra.h"
#include "profiles/catalog/reservation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MIN_US (60 * RB_US_PER_S)

static const char profile[] =
    "format: rb-profile/1\nname: p\nunit: epoch\nsource: test\ntraining:\n"
    "  - {accelerator: T4, base_s: 600, layouts: [{gpus: 1, nodes: 1, speedup: 1.0}]}\n"
    "noise:\n  between: {distribution: lognormal, mean: 1.0, cv: 0.03}\n"
    "  within: {distribution: lognormal, mean: 1.0, cv: 0.03}\n"
    "startup_s: 5\ncheckpoint_s: 1.0\nprovisioning:\n"
    "  - {infra: \"*\", instance_type: \"*\", market: on_demand, queue_s: 10, init_s: 60, capacity_failure: 0.0,"
    " preemption_per_hour: 0.0}\n"
    "  - {infra: \"*\", instance_type: \"*\", market: reserved, queue_s: 10, init_s: 60, capacity_failure: 0.0,"
    " preemption_per_hour: 0.0}\n"
    "  - {infra: \"*\", instance_type: \"*\", market: spot, queue_s: 10, init_s: 60, capacity_failure: 0.0,"
    " spells: {sampled_s: 60, days: 9, up_s: 36000, down_s: 1200, together: 1, hazard: [{from_s: 0, per_hour: 0.1}]}}\n";

struct prices {
    double aws, aws_spot, gcp, gcp_spot;
};

static void begin(struct rb_case *c, const struct prices *p, const char *reservations, const char *trials,
                  int64_t deadline_us)
{
    RB_AUTO(rb_buf_finish) struct rb_buf job = RB_BUF_INIT, list = RB_BUF_INIT;
    rb_buf_printf(&job,
                  "name: j\nmetric: {name: a, goal: maximize}\nparameters: {lr: {min: 0.1, max: 0.9}}\n"
                  "scheduler: {type: sha, %s, min_resource: 1, max_resource: 2, eta: 2}\nrun: python t.py\n"
                  "data: {stay: true}\n"
                  "resources: {infra: [aws/us-east-1, gcp/us-central1], spot: safe, max_nodes: 4, reservations: [%s]}\n",
                  trials, reservations);
    rb_buf_printf(&list,
                  "infra,instance_type,accelerator,gpus,gpu_memory_gb,vcpus,memory_gb,market,usd_per_hour\n"
                  "aws/us-east-1,g4dn.xlarge,T4,1,16,4,16,on_demand,%.4f\naws/us-east-1,g4dn.xlarge,T4,1,16,4,16,spot,%.4f\n"
                  "gcp/us-central1,n1-standard-4+nvidia-tesla-t4:1,T4,1,16,4,15,on_demand,%.4f\n"
                  "gcp/us-central1,n1-standard-4+nvidia-tesla-t4:1,T4,1,16,4,15,spot,%.4f\n",
                  p->aws, p->aws_spot, p->gcp, p->gcp_spot);
    case_init(c, rb_buf_str(&job), profile, rb_buf_str(&list));
    c->req.deadline_us = deadline_us;
}

static void make(struct rb_case *c, struct rb_plan *out)
{
    struct rb_plan_result result;
    struct rb_err err = {0};
    if (!rb_make_plan(&c->req, "optimal", &c->arena, out, &result, &err))
        fail_msg("%s", err.message);
}

static bool is_reserved(const struct rb_plan *plan, int stage)
{
    return plan->offers[plan->stages[stage].nodes[0].offer].market == RB_MARKET_RESERVED;
}

static const char *place_of(const struct rb_plan *plan)
{
    return rb_infra_within(plan->offers[0].infra, "aws") ? "aws" : "gcp";
}

static void expect_one_place(const struct rb_plan *plan)
{
    for (int i = 0; i < plan->n_offers; i++)
        assert_true(rb_infra_within(plan->offers[i].infra, place_of(plan)));
}

// On demand aws is the cheaper place, with spot machines gcp: what counts is what the run costs.
static void a_place_is_chosen_by_what_the_run_costs(void **state)
{
    (void)state;
    struct rb_case c;
    struct rb_plan plan;
    begin(&c, &(struct prices){0.50, 0.48, 0.52, 0.15}, "", "num_trials: 4", 180 * MIN_US);
    make(&c, &plan);
    assert_non_null(plan.spot);
    expect_one_place(&plan);
    assert_string_equal(place_of(&plan), "gcp");
    case_finish(&c);
}

// Everything is paid for: nothing goes on spot, and nothing is said of it.
static void a_run_in_its_reservation_needs_no_spot(void **state)
{
    (void)state;
    struct rb_case c;
    struct rb_plan plan;
    begin(&c, &(struct prices){0.50, 0.20, 0.52, 0.15},
          "{infra: aws/us-east-1/us-east-1a, instance_type: g4dn.xlarge, id: cr-0123456789abcdef0, count: 4}", "num_trials: 4", 180 * MIN_US);
    make(&c, &plan);
    for (int i = 0; i < plan.n_stages; i++)
        assert_true(is_reserved(&plan, i));
    assert_null(plan.spot);
    assert_int_equal(plan.estimate.cost_uusd.mean, 0);
    expect_one_place(&plan);
    case_finish(&c);
}

// The only stage outside the reservation, which has room for two, is the one that spot machines make cheaper.
static void reserved_stages_are_not_replayed_on_spot(void **state)
{
    (void)state;
    static const char reservation[] = "{infra: aws/us-east-1/us-east-1a, instance_type: g4dn.xlarge, id: cr-0123456789abcdef0, count: 2}";
    struct rb_case c;
    struct rb_plan plan;
    begin(&c, &(struct prices){0.50, 0.10, 0.60, 0.55}, reservation, "num_trials: 4", 25 * MIN_US);
    make(&c, &plan);
    assert_false(is_reserved(&plan, 0)); // 4 trials of ten minutes: two waves on two machines are late
    assert_true(is_reserved(&plan, 1));
    case_finish(&c);
    begin(&c, &(struct prices){0.50, 0.40, 0.60, 0.55}, reservation, "num_trials: 8", 58 * MIN_US);
    make(&c, &plan);
    assert_non_null(plan.spot);
    const int64_t on_demand_uusd = rb_plan_as_it_stands(&plan)->cost_uusd.mean;
    int n_reserved = 0;
    for (int i = 0; i < plan.n_stages; i++)
        n_reserved += is_reserved(&plan, i);
    assert_true(n_reserved > 0 && n_reserved < plan.n_stages);
    // Spot machines cost a fifth less, and only the stage outside can have them.
    assert_in_range(plan.estimate.cost_uusd.mean, 79 * on_demand_uusd / 100, on_demand_uusd - 1);
    assert_true(plan.estimate.p_both >= plan.confidence);
    case_finish(&c);
}

// --- at random

static int64_t pick(struct rb_stream *s, int least, int most)
{
    return least + (int64_t)rb_stream_below(s, (uint32_t)(most - least + 1));
}

static void begin_random(struct rb_case *c, uint32_t number, struct rb_arena *arena)
{
    struct rb_stream s;
    rb_stream_init(&s, &(struct rb_stream_key){.seed = number, .purpose = RB_DRAW_SEARCH, .stage = 32});
    const double aws = 0.3 + 0.01 * (double)pick(&s, 0, 40), gcp = 0.3 + 0.01 * (double)pick(&s, 0, 40);
    const struct prices p = {aws, aws * 0.01 * (double)pick(&s, 20, 110), gcp, gcp * 0.01 * (double)pick(&s, 20, 110)};
    const bool in_aws = pick(&s, 0, 1);
    const char *reservation = rb_arena_printf(
        arena, "{infra: %s, instance_type: %s, id: %s, count: %d%s}",
        in_aws ? "aws/us-east-1/us-east-1a" : "gcp/us-central1/us-central1-a",
        in_aws ? "g4dn.xlarge" : "\"n1-standard-4+nvidia-tesla-t4:1\"", in_aws ? "cr-0123456789abcdef0" : "lab", (int)pick(&s, 1, 3),
        pick(&s, 0, 1) ? ", price: 0.05" : "");
    const char *trials = rb_arena_printf(arena, "num_trials: %d", (int)pick(&s, 2, 6));
    begin(c, &p, reservation, trials, pick(&s, 35, 150) * MIN_US);
    struct rb_reservation *r = c->job.resources.reservations;
    if (pick(&s, 0, 2) > 0) { // it opens later, or closes while the run may use it
        r->opens_us = pick(&s, 0, 20) * MIN_US;
        r->closes_us = pick(&s, 0, 1) ? r->opens_us + pick(&s, 15, 60) * MIN_US : -1;
    }
    c->req.seed = number;
    c->req.samples = 256;
}

static void expect_kept(const struct rb_case *c, const struct rb_plan *plan, uint32_t number)
{
    struct rb_scenario scenario;
    struct rb_verification v;
    struct rb_err err = {0};
    const struct rb_reservation *r = &c->job.resources.reservations[0];
    expect_one_place(plan);
    assert_true(rb_safe_plan_keeps(plan));
    for (int i = 0; i < plan->n_stages; i++)
        assert_true(!is_reserved(plan, i) || plan->stages[i].nodes[0].count <= r->count);
    // The plan's figures on demand are what the world of rbsim finds, windows and moves included.
    if (!rb_scenario_init(&scenario, plan->job, plan->profile, plan->offers, plan->n_offers, plan->catalog, plan->seed, &err) ||
        !rb_verify_by_engine(&scenario, plan, 512, 1, &v, &err))
        fail_msg("job %u: %s", number, err.message);
    if (fabs(v.cost_z.mean) > 5 || fabs(v.time_z.mean) > 5 || v.p_both_z > 5)
        fail_msg("job %u: cost z %g, time z %g, P z %g; %lld said, %lld found", number, v.cost_z.mean,
                 v.time_z.mean, v.p_both_z,
                 (long long)rb_plan_as_it_stands(plan)->cost_uusd.mean, (long long)v.simulated.cost_uusd.mean);
    rb_scenario_finish(&scenario);
    // And those of the run with spot machines are what other replays find.
    struct rb_verified_spot spot;
    if (plan->spot) {
        assert_true(rb_verify_spot(plan, &spot));
        if (fabs(spot.cost_z) > 5 || fabs(spot.p_both_z) > 5)
            fail_msg("job %u: with spot, cost z %g, P z %g", number, spot.cost_z, spot.p_both_z);
    }
}

static void what_one_keeps_no_other_undoes(void **state)
{
    (void)state;
    int n_plans = 0, n_reserved = 0, n_spot = 0, n_both = 0;
    for (uint32_t number = 1; number <= 16; number++) {
        struct rb_arena arena = {0};
        struct rb_case c;
        struct rb_plan plan;
        struct rb_plan_result result;
        struct rb_err err = {0};
        bool reserved = false;
        begin_random(&c, number, &arena);
        if (rb_make_plan(&c.req, "optimal", &c.arena, &plan, &result, &err)) {
            expect_kept(&c, &plan, number);
            for (int i = 0; i < plan.n_stages; i++)
                reserved = reserved || is_reserved(&plan, i);
            n_plans++;
            n_reserved += reserved;
            n_spot += plan.spot != NULL;
            n_both += reserved && plan.spot;
        } else {
            assert_int_equal(err.code, RB_ERR_INFEASIBLE);
        }
        case_finish(&c);
        rb_arena_finish(&arena);
    }
    print_message("%d plans, %d with a reservation, %d with spot, %d with both\n", n_plans, n_reserved, n_spot, n_both);
    assert_true(n_plans >= 10 && n_reserved >= 6 && n_spot >= 4 && n_both >= 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_place_is_chosen_by_what_the_run_costs),
        cmocka_unit_test(a_run_in_its_reservation_needs_no_spot),
        cmocka_unit_test(reserved_stages_are_not_replayed_on_spot),
        cmocka_unit_test(what_one_keeps_no_other_undoes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
