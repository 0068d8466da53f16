// Draws depend on their key and on nothing else; a trial's time is one number however it is asked for; and what cannot
// be simulated says why.
#include "small_scenario.h"

#include "simulator/model/draws.h"
#include "simulator/world/event_heap.h"

#include <math.h>

static void noisy(struct small_scenario *s)
{
    small_scenario_make(s);
    s->provisioning.queue_s = small_dist(RB_DIST_LOGNORMAL, 20, 0.5);
    s->provisioning.init_s = small_dist(RB_DIST_GAMMA, 60, 0.3);
    s->provisioning.capacity_failure = 0.5;
    s->provisioning.preemption_per_hour = 2;
    s->p.profile.startup_s = small_dist(RB_DIST_LOGNORMAL, 8, 0.3);
    s->p.profile.checkpoint_s = small_dist(RB_DIST_EXPONENTIAL, 2, 1);
    s->p.profile.between = small_dist(RB_DIST_LOGNORMAL, 1, 0.05);
    s->p.profile.within = small_dist(RB_DIST_LOGNORMAL, 1, 0.1);
    small_scenario_compile(s, 4);
}

static void every_part_of_the_key_counts(void **state)
{
    (void)state;
    struct small_scenario s;
    noisy(&s);
    const struct rb_scenario *c = &s.scenario;
    const int64_t queue = rb_draw_queue_us(c, SMALL, 1, 2, 3, 4), life = rb_draw_preemption_us(c, SMALL, 1, 2, 3, 4);
    assert_int_equal(queue, rb_draw_queue_us(c, SMALL, 1, 2, 3, 4));
    assert_int_equal(queue, rb_draw_queue_us(c, LARGE, 1, 2, 3, 4)); // not the offer: its distribution is the same
    assert_int_not_equal(queue, rb_draw_queue_us(c, SMALL, 0, 2, 3, 4));
    assert_int_not_equal(queue, rb_draw_queue_us(c, SMALL, 1, 0, 3, 4));
    assert_int_not_equal(queue, rb_draw_queue_us(c, SMALL, 1, 2, 0, 4));
    assert_int_not_equal(queue, rb_draw_queue_us(c, SMALL, 1, 2, 3, 0));
    assert_int_not_equal(queue, rb_draw_init_us(c, SMALL, 1, 2, 3, 4));
    assert_int_not_equal(life, rb_draw_preemption_us(c, SMALL, 1, 2, 4, 4));
    const int64_t trial = rb_draw_trial_us(c, 1, 2, 3, 4, 5, 10);
    assert_int_not_equal(trial, rb_draw_trial_us(c, 0, 2, 3, 4, 5, 10));
    assert_int_not_equal(trial, rb_draw_trial_us(c, 1, 0, 3, 4, 5, 10));
    assert_int_not_equal(trial, rb_draw_trial_us(c, 1, 2, 0, 4, 5, 10));
    assert_int_not_equal(trial, rb_draw_trial_us(c, 1, 2, 3, 0, 5, 10));
    int n_refused = 0;
    for (int i = 0; i < 1000; i++)
        n_refused += rb_draw_refused(c, SMALL, 0, i, 0, 0);
    assert_in_range(n_refused, 420, 580);
    small_scenario_finish(&s);
}

static void a_trial_drawn_unit_by_unit_takes_as_long(void **state)
{
    (void)state;
    for (int constant = 0; constant < 2; constant++) {
        struct small_scenario s;
        noisy(&s);
        if (constant)
            s.p.profile.within = rb_dist_constant(0.1); // sums of it are not exact
        for (uint32_t replicate = 0; replicate < 200; replicate++) {
            struct rb_trial_progress p;
            int64_t before = 0;
            rb_trial_progress_begin(&p, &s.scenario, 1, 2, 0, replicate, 7.7);
            for (int64_t units = 1; units <= 30; units++) {
                const int64_t at = rb_trial_progress_next_us(&p);
                assert_true(at >= before && rb_trial_progress_end_us(&p) >= at);
                assert_int_equal(rb_trial_progress_end_us(&p),
                                 rb_draw_trial_us(&s.scenario, 1, 2, 0, replicate, units, 7.7));
                before = at;
            }
        }
        small_scenario_finish(&s);
    }
}

// Units of 10 s, saves of 1 s, 2 s to start: every 25 s is after units 3 and 6, of 7; not after the last.
static void a_start_that_saves_is_as_much_longer(void **state)
{
    static const struct {
        double every_s, by_s, lasts_s;
        int64_t units, safe;
    } rows[] = {{25, 1e6, 75, 7, 6}, {25, 64, 75, 7, 6},    {25, 63.999, 75, 7, 3},  {25, 60, 75, 7, 3},    {25, 33, 75, 7, 3},
                {25, 32.9, 75, 7, 0}, {25, 1e6, 64, 6, 3},   {10, 1e6, 79, 7, 6},     {60, 1e6, 74, 7, 6},   {61, 1e6, 73, 7, 0},
                {0, 1e6, 73, 7, 0},   {1e-6, 1e6, 79, 7, 6}};
    (void)state;
    struct small_scenario s;
    small_scenario_make(&s);
    small_scenario_compile(&s, 1);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t safe = -1;
        assert_int_equal(rb_draw_saving_trial_us(&s.scenario, 0, 0, 0, 0, rows[i].units, 10, rows[i].every_s,
                                                 rb_us_from_seconds(rows[i].by_s), &safe),
                         rb_us_from_seconds(rows[i].lasts_s));
        assert_int_equal(safe, rows[i].safe);
    }
    small_scenario_finish(&s);
}

static void no_draw_is_longer_than_the_longest(void **state)
{
    (void)state;
    struct small_scenario s;
    noisy(&s);
    assert_int_equal(rb_draw_trial_us(&s.scenario, 0, 0, 0, 0, 1000, 1e300), RB_SIM_LONGEST_US);
    s.provisioning.preemption_per_hour = 1e-12;
    assert_true(rb_draw_preemption_us(&s.scenario, SMALL, 0, 0, 0, 0) == INT64_MAX);
    s.provisioning.preemption_per_hour = 0;
    assert_true(rb_draw_preemption_us(&s.scenario, SMALL, 0, 0, 0, 0) == INT64_MAX);
    small_scenario_finish(&s);
}

// Of many lives, as many end in each span of ages as the integral of the hazard says.
static void lifetimes_follow_the_hazard(void **state)
{
    (void)state;
    enum { N = 40000, N_AGES = 7 };
    static const double ages_s[N_AGES] = {0, 400, 900, 2000, 3600, 9000, 20000};
    static const struct rb_hazard_step later[] = {{900, 1.30}, {3600, 0.56}, {14400, 0.36}};
    const struct rb_spells spells = {.hazard = {.per_hour = 1.65, .later = later, .n_later = 3}};
    struct small_scenario s;
    int counts[N_AGES] = {0};
    noisy(&s);
    s.provisioning.spells = &spells;
    for (int i = 0; i < N; i++) {
        const double life_s = (double)rb_draw_preemption_us(&s.scenario, SMALL, 0, i, 0, 0) / RB_US_PER_S;
        int age = 0;
        while (age + 1 < N_AGES && ages_s[age + 1] <= life_s)
            age++;
        counts[age]++;
    }
    for (int i = 0; i < N_AGES; i++) {
        const double kept = exp(-rb_hazard_over(&spells.hazard, 0, ages_s[i]));
        const double kept_on = i + 1 < N_AGES ? exp(-rb_hazard_over(&spells.hazard, 0, ages_s[i + 1])) : 0;
        const double share = kept - kept_on, sigma = sqrt(share * (1 - share) / N);
        assert_true(fabs((double)counts[i] / N - share) < 4 * sigma);
    }
    small_scenario_finish(&s);
}

// A profile without spells draws what it drew before there were any: a rate is one hazard for all ages, to the microsecond,
// and takes one node at a time.
static void a_rate_draws_as_one_hazard_for_all_ages(void **state)
{
    (void)state;
    enum { N = 1000 };
    const struct rb_spells spells = {.hazard = {.per_hour = 0.7}};
    struct small_scenario s;
    noisy(&s);
    s.provisioning.preemption_per_hour = 0.7;
    for (int i = 0; i < N; i++) {
        s.provisioning.spells = NULL;
        const int64_t by_rate_us = rb_draw_preemption_us(&s.scenario, SMALL, 0, i, 0, 0);
        assert_true(by_rate_us > 0 && by_rate_us < INT64_MAX);
        assert_int_equal(rb_draw_strike(&s.scenario, SMALL, 0, i, 0, 0, 0, 5), RB_STRIKE_ONE);
        s.provisioning.spells = &spells;
        assert_true(rb_draw_preemption_us(&s.scenario, SMALL, 0, i, 0, 0) == by_rate_us);
    }
    small_scenario_finish(&s);
}

struct first_loss {
    double at_h, first_h; // of node 0; of any of them
    bool first_takes_all;
};

// Five nodes that came at the same instant, until node 0 is lost.
static struct first_loss play_market(const struct rb_scenario *s, uint32_t replicate)
{
    enum { N = 5 };
    struct first_loss out = {.first_h = -1};
    int64_t next_us[N];
    int strikes[N] = {0}, n_up = N;
    for (int i = 0; i < N; i++)
        next_us[i] = rb_draw_preemption_us(s, SMALL, 0, i, 0, replicate);
    for (;;) {
        int first = 0;
        for (int i = 1; i < N; i++)
            first = next_us[i] < next_us[first] ? i : first;
        const int64_t at_us = next_us[first];
        const double at_h = (double)at_us / RB_US_PER_S / 3600;
        const enum rb_strike taken = rb_draw_strike(s, SMALL, 0, first, 0, replicate, strikes[first], n_up);
        if (taken == RB_STRIKE_NONE) {
            next_us[first] = rb_draw_next_strike_us(s, SMALL, 0, first, 0, replicate, strikes[first]++, 0, at_us);
            continue;
        }
        if (out.first_h < 0) {
            out.first_h = at_h;
            out.first_takes_all = taken == RB_STRIKE_ALL;
        }
        out.at_h = at_h;
        if (first == 0 || taken == RB_STRIKE_ALL)
            return out;
        next_us[first] = INT64_MAX;
        n_up--;
    }
}

// Whatever goes together, a node is lost at its hazard of 2 an hour; a share of 0.4 of the losses takes all; and the
// first of five nodes is lost at 2 x 5 / (1 + 4 x 0.4) an hour.
static void a_share_of_losses_takes_all(void **state)
{
    (void)state;
    enum { N = 20000 };
    const struct rb_spells spells = {.together = 0.4, .hazard = {.per_hour = 2}};
    struct small_scenario s;
    double mean_h = 0, first_h = 0, share = 0;
    noisy(&s);
    s.provisioning.spells = &spells;
    for (int r = 0; r < N; r++) {
        const struct first_loss loss = play_market(&s.scenario, (uint32_t)r);
        mean_h += loss.at_h / N;
        first_h += loss.first_h / N;
        share += (double)loss.first_takes_all / N;
    }
    assert_true(fabs(mean_h - 0.5) < 4 * 0.5 / sqrt(N));
    assert_true(fabs(first_h - 0.26) < 4 * 0.26 / sqrt(N));
    assert_true(fabs(share - 0.4) < 4 * sqrt(0.24 / N));
    small_scenario_finish(&s);
}

// ---- what can be used, and why not

static void offers_that_cannot_be_used_say_why(void **state)
{
    (void)state;
    struct small_scenario s;
    double unit_s;
    struct rb_err err;
    small_scenario_make(&s);
    s.provisioning.instance_type = "small";
    s.provisioning.has_preemption = false;
    small_scenario_compile(&s, 1);
    assert_true(s.scenario.sim_offers[SMALL].usable);
    assert_false(s.scenario.sim_offers[SMALL_SPOT].usable);
    assert_non_null(strstr(s.scenario.sim_offers[SMALL_SPOT].why_not, "preemption_per_hour"));
    assert_false(s.scenario.sim_offers[LARGE].usable);
    assert_non_null(strstr(s.scenario.sim_offers[LARGE].why_not, "provisioning"));
    assert_false(rb_scenario_unit_s(&s.scenario, LARGE, 1, &unit_s, &err));
    assert_true(rb_scenario_unit_s(&s.scenario, SMALL, 2, &unit_s, &err));
    assert_true(fabs(unit_s - 10 / 1.8) < 1e-12);
    assert_true(rb_scenario_unit_s(&s.scenario, SMALL, 4, &unit_s, &err)); // two nodes: another layout
    assert_true(fabs(unit_s - 10 / 2.5) < 1e-12);
    assert_false(rb_scenario_unit_s(&s.scenario, SMALL, 5, &unit_s, &err)); // three nodes
    assert_says(&err, "trial.max_nodes");
    small_scenario_finish(&s);
    small_scenario_make(&s);
    s.p.offers[LARGE].accelerator = "H100";
    small_scenario_compile(&s, 1);
    assert_non_null(strstr(s.scenario.sim_offers[LARGE].why_not, "H100"));
    small_scenario_finish(&s);
}

static void this_machine_needs_no_provisioning(void **state)
{
    (void)state;
    struct small_scenario s;
    small_scenario_make(&s);
    s.p.profile.n_provisioning = 0;
    s.p.offers[SMALL].infra = "local";
    s.p.offers[SMALL].rate.uusd_per_hour = 0;
    s.p.offers[SMALL].declared_free = true;
    small_scenario_one_stage(&s, 2, 1, 1);
    small_scenario_compile(&s, 1);
    const struct rb_replicate r = small_scenario_run(&s, 0);
    assert_int_equal(r.time_us, 13 * RB_US_PER_S);
    assert_int_equal(r.cost_uusd, 0);
    small_scenario_finish(&s);
}

static void a_missing_price_is_an_error(void **state)
{
    (void)state;
    struct small_plan p;
    struct rb_scenario s;
    struct rb_err err;
    small_plan_make(&p);
    p.offers[LARGE].rate.uusd_per_hour = 0;
    assert_false(rb_scenario_init(&s, &p.job, &p.profile, p.offers, N_SMALL_OFFERS, NULL, 1, &err));
    assert_int_equal(err.code, RB_ERR_PRICE);
    small_plan_make(&p);
    p.job.resources.disk_bytes = 1;
    assert_false(rb_scenario_init(&s, &p.job, &p.profile, p.offers, N_SMALL_OFFERS, NULL, 1, &err));
    assert_int_equal(err.code, RB_ERR_PRICE);
    struct rb_catalog empty = {0};
    assert_false(rb_scenario_init(&s, &p.job, &p.profile, p.offers, N_SMALL_OFFERS, &empty, 1, &err));
    assert_int_equal(err.code, RB_ERR_PRICE);
}

// ---- the order of events

static void events_leave_the_heap_in_order(void **state)
{
    (void)state;
    struct rb_event_heap heap = {0};
    struct rb_stream s;
    rb_stream_init(&s, &(struct rb_stream_key){.seed = 1, .purpose = RB_DRAW_SEARCH});
    for (int i = 0; i < 5000; i++)
        rb_event_heap_push(&heap, &(struct rb_sim_event){.time_us = (int64_t)rb_stream_below(&s, 50),
                                                         .order = (enum rb_sim_order)rb_stream_below(&s, 7),
                                                         .index = (int)rb_stream_below(&s, 9)});
    struct rb_sim_event last = rb_event_heap_pop(&heap);
    while (heap.n > 0) {
        const struct rb_sim_event next = rb_event_heap_pop(&heap);
        const int64_t a = (last.time_us * 7 + last.order) * 9 + last.index;
        const int64_t b = (next.time_us * 7 + next.order) * 9 + next.index;
        assert_true(a <= b);
        last = next;
    }
    rb_event_heap_finish(&heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_part_of_the_key_counts),       cmocka_unit_test(a_trial_drawn_unit_by_unit_takes_as_long),
        cmocka_unit_test(a_start_that_saves_is_as_much_longer),
        cmocka_unit_test(no_draw_is_longer_than_the_longest), cmocka_unit_test(offers_that_cannot_be_used_say_why),
        cmocka_unit_test(this_machine_needs_no_provisioning), cmocka_unit_test(a_missing_price_is_an_error),
        cmocka_unit_test(events_leave_the_heap_in_order),     cmocka_unit_test(lifetimes_follow_the_hazard),
        cmocka_unit_test(a_rate_draws_as_one_hazard_for_all_ages),
        cmocka_unit_test(a_share_of_losses_takes_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
