// Spot nodes under a deadline: chains of markets, the guard against every order of losses, and the policy's tables
// against the expectation over all that can happen.
#include "check.h"

#include "simulator/spot/spot_policy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TICK_S 180.0

static void assert_close(double actual, double expected, double tolerance)
{
    if (!(fabs(actual - expected) <= tolerance))
        fail_msg("%.9g, expected %.9g within %g", actual, expected, tolerance);
}

// --- markets

static struct rb_spells exponential(double up_per_hour, double down_s)
{
    struct rb_spells s = {.sampled_s = 60, .days = 10, .region_factor = -1, .hazard = {.per_hour = up_per_hour}};
    struct rb_err err = {0};
    s.down_s = (struct rb_dist){.kind = RB_DIST_EXPONENTIAL, .mean = down_s, .cv = 1};
    s.up_s = (struct rb_dist){.kind = RB_DIST_EXPONENTIAL, .mean = 3600 / up_per_hour, .cv = 1};
    assert_true(rb_dist_prepare(&s.down_s, &err) && rb_dist_prepare(&s.up_s, &err));
    return s;
}

static void a_market_without_memory_has_one_rate(void **state)
{
    (void)state;
    const struct rb_spells s = exponential(.5, 1800);
    const struct rb_market_chain c = rb_market_chain_of(&s, TICK_S);
    for (int age = 0; age < RB_MARKET_AGES; age++) {
        assert_close(c.leave[true][age], -expm1(-.5 * TICK_S / 3600), 1e-12);
        assert_close(c.leave[false][age], -expm1(-TICK_S / 1800), 2e-3);
        assert_close(c.life_s[age], TICK_S / c.leave[true][age], 1e-6);
    }
}

static void no_age_lives_for_ever(void **state)
{
    (void)state;
    static const struct rb_hazard_step later[] = {{900, 0}};
    struct rb_spells s = exponential(2, 1800);
    s.hazard.later = later;
    s.hazard.n_later = 1;
    const struct rb_market_chain c = rb_market_chain_of(&s, TICK_S);
    const double least = -expm1(-RB_MARKET_LEAST_PER_HOUR * TICK_S / 3600);
    assert_true(least > .0019 && least < .0021);
    assert_int_equal(rb_market_age(INFINITY), RB_MARKET_AGES - 1); // of a market that was never lost
    assert_close(c.leave[true][rb_market_age(0)], -expm1(-2 * TICK_S / 3600), 1e-12);
    assert_close(c.leave[true][rb_market_age(899)], -expm1(-2 * TICK_S / 3600), 1e-12);
    assert_close(c.leave[true][rb_market_age(900)], least, 1e-12);
    assert_close(c.leave[true][RB_MARKET_AGES - 1], least, 1e-12);
    assert_int_equal(rb_market_age(INFINITY), RB_MARKET_AGES - 1);
}

static double sum(const double *row, int n)
{
    double s = 0;
    for (int i = 0; i < n; i++)
        s += row[i];
    return s;
}

// Expected: time up over both, losses by the hazard. A path of 100,000 ticks: a fiftieth.
static void a_mix_of_one_is_its_market(void **state)
{
    (void)state;
    const struct rb_spells s = exponential(1, 1800);
    const struct rb_market_source source = {&s, 0};
    struct rb_market_mix mix;
    rb_market_mix_init(&mix, &source, 1, TICK_S);
    assert_close(sum(mix.share, RB_MARKET_AGES), 2.0 / 3, .02);
    for (int age = 0; age < RB_MARKET_AGES; age++) {
        assert_close(sum(mix.kept[age], RB_MARKET_AGES) + sum(mix.lost[age], RB_MARKET_STATES), 1, 1e-9);
        assert_true(sum(mix.lost[age], RB_MARKET_STATES) > .0019);
    }
    for (int i = 0; i < RB_MARKET_STATES; i++)
        assert_close(sum(mix.next[i], RB_MARKET_STATES), 1, 1e-9);
}

// Without memory: to its share of time, with the sum of both rates.
static void what_was_seen_is_forgotten_as_the_market_moves(void **state)
{
    (void)state;
    const struct rb_spells s = exponential(1, 1800);
    const struct rb_market_chain c = rb_market_chain_of(&s, TICK_S);
    assert_true(rb_market_chain_chance(&c, &(struct rb_market_state){true, 60, 0}) == 1);
    assert_true(rb_market_chain_chance(&c, &(struct rb_market_state){false, 60, 0}) == 0);
    for (int ticks = 1; ticks < 60; ticks *= 2) {
        const double ago_s = ticks * TICK_S, kept = pow(1 - c.leave[true][0] - c.leave[false][0], ticks);
        const double share = c.leave[false][0] / (c.leave[true][0] + c.leave[false][0]);
        assert_close(rb_market_chain_chance(&c, &(struct rb_market_state){true, 60, ago_s}), share + (1 - share) * kept, 5e-3);
        assert_close(rb_market_chain_chance(&c, &(struct rb_market_state){false, 60, ago_s}), share - share * kept, 5e-3);
    }
    assert_close(rb_market_chain_chance(&c, &(struct rb_market_state){false, 0, INFINITY}), 2.0 / 3, .01);
}

static void the_market_that_lasts_is_the_best(void **state)
{
    (void)state;
    struct rb_spells bad = exponential(2, 1800), good = exponential(.2, 1800);
    bad.region_factor = good.region_factor = 20;
    const struct rb_market_source sources[] = {{&bad, 0}, {&good, 1}, {&bad, 1}};
    struct rb_market_mix mix;
    rb_market_mix_init(&mix, sources, 3, TICK_S);
    struct rb_market_state up[] = {{true, 60}, {true, 60}, {false, 60}};
    const double quiet[] = {INFINITY, INFINITY, INFINITY}, shaken[] = {INFINITY, INFINITY, 600};
    assert_int_equal(rb_market_mix_best(&mix, up, NULL), 1);
    assert_int_equal(rb_market_mix_best(&mix, up, quiet), 1);
    assert_int_equal(rb_market_mix_best(&mix, up, shaken), 0); // a neighbour of the good one was just lost
    up[1].seen_ago_s = INFINITY; // it is worth more than the bad one, even where no one knows whether it is there
    assert_int_equal(rb_market_mix_best(&mix, up, quiet), 1);
    up[1].seen_ago_s = 0;
    up[0].up = up[1].up = false;
    assert_int_equal(rb_market_mix_best(&mix, up, quiet), -1);
    assert_int_equal(rb_market_mix_state(&mix, up, -1), RB_MARKET_AGES);
}

// An age is seen, a hazard was fitted in other weeks: it decides among equals only. Less than a tick is no age.
static void the_oldest_market_is_the_best(void **state)
{
    (void)state;
    const struct rb_spells bad = exponential(2, 1800), good = exponential(.2, 1800);
    const struct rb_market_source sources[] = {{&bad, 0}, {&good, 1}};
    struct rb_market_mix mix;
    rb_market_mix_init(&mix, sources, 2, TICK_S);
    struct rb_market_state up[] = {{true, 3 * TICK_S}, {true, 2 * TICK_S}};
    assert_int_equal(rb_market_mix_best(&mix, up, NULL), 0);
    up[0].age_s = 3 * TICK_S - 1;
    assert_int_equal(rb_market_mix_best(&mix, up, NULL), 1);
    up[0].age_s = INFINITY; // it was never lost
    assert_int_equal(rb_market_mix_best(&mix, up, NULL), 0);
    up[1].age_s = INFINITY;
    assert_int_equal(rb_market_mix_best(&mix, up, NULL), 1);
    up[0] = (struct rb_market_state){true, 10 * TICK_S};
    up[1] = (struct rb_market_state){true, 9 * TICK_S, .seen_ago_s = 3600}; // 29 ticks old, if it is still there
    assert_int_equal(rb_market_mix_best(&mix, up, NULL), 1);
    up[0].age_s = 28 * TICK_S;
    assert_int_equal(rb_market_mix_best(&mix, up, NULL), 0);
}

// On a path of a market that never lasts and one that does, the one that lasts is what could be had, but for its outages.
static void a_path_knows_the_oldest(void **state)
{
    (void)state;
    const struct rb_spells bad = exponential(10, 360), good = exponential(.05, 360);
    const struct rb_market_source both[] = {{&bad, 0}, {&good, 1}}, alone = {&good, 0};
    struct rb_market_mix mix, one;
    rb_market_mix_init(&mix, both, 2, TICK_S);
    rb_market_mix_init(&one, &alone, 1, TICK_S);
    double lost = 0, lost_alone = 0;
    for (int k = 0; k < RB_MARKET_AGES; k++) {
        lost += mix.share[k] * sum(mix.lost[k], RB_MARKET_STATES);
        lost_alone += one.share[k] * sum(one.lost[k], RB_MARKET_STATES);
    }
    assert_true(lost < 3 * lost_alone);
}

// --- the guard: minutes, every order of losses

enum { MOST_MIN = 40 };

struct game {
    int start[3], every, save_every; // minutes; save_every 0: nothing is lost
    int worst_late;                  // over all plays
    long plays, losses;
};

static struct rb_spot_guard guard_of(const struct game *g)
{
    return (struct rb_spot_guard){.start_s = {0, g->start[1] * 60.0, g->start[2] * 60.0}, .budget = INFINITY};
}

static int unsaved(const struct game *g, int done)
{
    return g->save_every > 0 ? done % g->save_every : 0;
}

// All that the guard permits, and all that a market can do until the next question.
static void play(struct game *g, enum rb_spot_mode mode, int time, int work, int done)
{
    const struct rb_spot_guard guard = guard_of(g);
    const int kept = mode == RB_SPOT_ON_SPOT ? unsaved(g, done) : 0;
    if (work <= 0) {
        g->plays++;
        g->worst_late = -time > g->worst_late ? -time : g->worst_late;
        return;
    }
    int permitted = 0;
    for (enum rb_spot_mode to = RB_SPOT_IDLE; to <= RB_SPOT_ON_DEMAND; to++) {
        const int risk = g->save_every > 0 ? (to == mode ? kept : 0) + g->every : 0;
        const struct rb_spot_now now = {
            .mode = mode, .slack_s = (time - work) * 60.0, .unsaved_s = risk * 60.0, .ahead_s = g->every * 60.0};
        if (!rb_spot_guard_permits(&guard, &now, to))
            continue;
        permitted++;
        const int start = to == mode ? 0 : g->start[to], since = to == mode ? done : 0;
        const int runs = g->every < work ? g->every : work;
        if (to == RB_SPOT_IDLE) {
            play(g, to, time - g->every, work, 0);
            continue;
        }
        play(g, to, time - start - runs, work - runs, since + runs);
        for (int at = 1; at <= start && to == RB_SPOT_ON_SPOT; at++, g->losses++) // in the cold start
            play(g, RB_SPOT_IDLE, time - at, work, 0);
        for (int at = 1; at <= runs && at < work && to == RB_SPOT_ON_SPOT; at++, g->losses++) // at work
            play(g, RB_SPOT_IDLE, time - start - at,
                 work - at + (g->save_every > 0 ? unsaved(g, since + at - 1) + 1 : 0), 0);
    }
    assert_true(permitted > 0);
}

static void no_order_of_losses_makes_it_late(void **state)
{
    (void)state;
    static const struct game games[] = {
        {.start = {0, 1, 1}, .every = 1},
        {.start = {0, 2, 1}, .every = 1},
        {.start = {0, 1, 2}, .every = 2},
        {.start = {0, 1, 1}, .every = 1, .save_every = 2},
        {.start = {0, 2, 2}, .every = 1, .save_every = 100},
    };
    for (size_t i = 0; i < sizeof games / sizeof *games; i++) {
        for (int slack = games[i].start[2]; slack <= games[i].start[2] + 5; slack++) {
            struct game g = games[i];
            play(&g, RB_SPOT_IDLE, 4 + slack, 4, 0);
            assert_int_equal(g.worst_late, 0);
            assert_true(slack < games[i].start[2] + 5 || g.losses > 0);
        }
    }
}

static void on_demand_is_the_last_that_is_permitted(void **state)
{
    (void)state;
    const struct rb_spot_guard g = {.start_s = {0, 300, 360}, .budget = INFINITY};
    struct rb_spot_now now = {.mode = RB_SPOT_IDLE, .slack_s = 840, .unsaved_s = 180, .ahead_s = 180};
    assert_true(rb_spot_guard_permits(&g, &now, RB_SPOT_ON_SPOT)); // 300 to start, 180 lost, 360 to start again
    now.slack_s = 839;
    assert_false(rb_spot_guard_permits(&g, &now, RB_SPOT_ON_SPOT));
    now.mode = RB_SPOT_ON_SPOT;
    now.slack_s = 540;
    assert_true(rb_spot_guard_permits(&g, &now, RB_SPOT_ON_SPOT)); // it may stay for less
    now.slack_s = 539;
    assert_false(rb_spot_guard_permits(&g, &now, RB_SPOT_ON_SPOT));
    now.mode = RB_SPOT_IDLE;
    now.slack_s = 540;
    assert_true(rb_spot_guard_permits(&g, &now, RB_SPOT_IDLE));
    now.slack_s = 539;
    assert_false(rb_spot_guard_permits(&g, &now, RB_SPOT_IDLE));
    assert_true(rb_spot_guard_permits(&g, &now, RB_SPOT_ON_DEMAND));
}

static void the_rest_on_demand_must_be_paid(void **state)
{
    (void)state;
    // Rest: 3,600 s for $1; a start on demand $0.10, on spot $0.03; three minutes of spot $0.015.
    const struct rb_spot_guard g = {
        .start_s = {0, 360, 360}, .rate = {0, 1e6 / 12000, 1e6 / 3600}, .budget = 1.1e6 + 3e4 + 1.5e4};
    struct rb_spot_now now = {.mode = RB_SPOT_IDLE, .slack_s = 1e4, .ahead_s = 180, .work_s = 3600};
    assert_true(rb_spot_guard_permits(&g, &now, RB_SPOT_ON_SPOT));
    now.spent = 1;
    assert_false(rb_spot_guard_permits(&g, &now, RB_SPOT_ON_SPOT));
    assert_true(rb_spot_guard_permits(&g, &now, RB_SPOT_ON_DEMAND));
    now.spent = 45001;
    assert_false(rb_spot_guard_permits(&g, &now, RB_SPOT_ON_DEMAND));
}

// --- the policy

// Three states: two ages with nodes, one without.
static struct rb_market_mix small_mix(void)
{
    struct rb_market_mix mix = {.tick_s = TICK_S, .n_markets = 1, .region_factor = {1}};
    enum { DOWN = RB_MARKET_AGES };
    for (int s = 0; s < RB_MARKET_STATES; s++)
        mix.next[s][s] = 1;
    for (int k = 0; k < RB_MARKET_AGES; k++) {
        mix.kept[k][k] = .9;
        mix.lost[k][DOWN] = .1;
        mix.class_of[0][k] = k;
    }
    mix.next[0][0] = .5, mix.next[0][1] = .2, mix.next[0][DOWN] = .3;
    mix.next[1][1] = .9, mix.next[1][DOWN] = .1;
    mix.next[DOWN][DOWN] = .6, mix.next[DOWN][0] = .4;
    mix.kept[0][0] = .5, mix.kept[0][1] = .2, mix.lost[0][DOWN] = .25, mix.lost[0][1] = .05;
    mix.kept[1][1] = .9, mix.lost[1][DOWN] = .1;
    mix.share[0] = .25, mix.share[1] = .25, mix.share[DOWN] = .5;
    return mix;
}

struct tree {
    const struct rb_market_mix *mix;
    int work[2], save_every[2], trials[2], n_stages;
    int start; // ticks
    double ratio;
};

static double value(const struct tree *t, int stage, int slack, int work, enum rb_spot_mode mode, int state);

static double next_stage(const struct tree *t, int stage, int slack)
{
    double sum_ = 0;
    for (int s = 0; s < RB_MARKET_STATES && stage + 1 < t->n_stages; s++)
        if (t->mix->share[s] > 0)
            sum_ += t->mix->share[s] * value(t, stage + 1, slack + t->start, t->work[stage + 1], RB_SPOT_IDLE, s);
    return stage + 1 < t->n_stages ? sum_ * t->trials[stage + 1] / t->trials[stage] : 0;
}

// Over the ticks of a cold start one after the other; a node lost in it is idle when it would have been over.
static double started(const struct tree *t, int stage, int slack, int work, bool spot, bool lost, int state, int left)
{
    double sum_ = 0;
    if (left == 0)
        return value(t, stage, slack, work, spot ? lost ? RB_SPOT_IDLE : RB_SPOT_ON_SPOT : RB_SPOT_ON_DEMAND, state);
    for (int to = 0; to < RB_MARKET_STATES; to++) {
        if ((!spot || lost) && t->mix->next[state][to] > 0)
            sum_ += t->mix->next[state][to] * started(t, stage, slack, work, spot, lost, to, left - 1);
        if (spot && !lost && to < RB_MARKET_AGES && t->mix->kept[state][to] > 0)
            sum_ += t->mix->kept[state][to] * started(t, stage, slack, work, true, false, to, left - 1);
        if (spot && !lost && t->mix->lost[state][to] > 0)
            sum_ += t->mix->lost[state][to] * started(t, stage, slack, work, true, true, to, left - 1);
    }
    return sum_;
}

static int risk(const struct tree *t, int stage, int done)
{
    return t->save_every[stage] == 1 ? 0 : done % t->save_every[stage] + 1;
}

static double stay(const struct tree *t, int stage, int slack, int work, enum rb_spot_mode mode, int state)
{
    const int done = t->work[stage] - work, unsaved_ = (done + 1) % t->save_every[stage];
    double sum_ = mode == RB_SPOT_ON_DEMAND ? t->ratio : 1;
    if (mode == RB_SPOT_ON_SPOT && slack < t->start + risk(t, stage, done))
        return INFINITY;
    for (int to = 0; to < RB_MARKET_STATES; to++) {
        if (mode == RB_SPOT_ON_DEMAND && t->mix->next[state][to] > 0)
            sum_ += t->mix->next[state][to] * value(t, stage, slack, work - 1, mode, to);
        if (mode == RB_SPOT_ON_SPOT && to < RB_MARKET_AGES && t->mix->kept[state][to] > 0)
            sum_ += t->mix->kept[state][to] * value(t, stage, slack, work - 1, mode, to);
        if (mode == RB_SPOT_ON_SPOT && t->mix->lost[state][to] > 0)
            sum_ += t->mix->lost[state][to] * value(t, stage, slack - unsaved_, work - 1 + unsaved_, RB_SPOT_IDLE, to);
    }
    return sum_;
}

// By its definition, without a table.
static double value(const struct tree *t, int stage, int slack, int work, enum rb_spot_mode mode, int state)
{
    if (work == 0)
        return next_stage(t, stage, slack);
    // Without the slack for a cold start it is late: the table counts on demand, however late.
    double least = slack < t->start
                       ? t->ratio * (t->start + work) + next_stage(t, stage, 0)
                       : t->start * t->ratio + started(t, stage, slack - t->start, work, false, false, state, t->start);
    if (mode != RB_SPOT_IDLE)
        least = fmin(least, stay(t, stage, slack, work, mode, state));
    if (mode == RB_SPOT_ON_SPOT)
        return least;
    if (state < RB_MARKET_AGES && slack >= 2 * t->start + risk(t, stage, 0))
        least = fmin(least, t->start + started(t, stage, slack - t->start, work, true, false, state, t->start));
    if (slack - 1 >= t->start) {
        double wait = 0;
        for (int to = 0; to < RB_MARKET_STATES; to++)
            if (t->mix->next[state][to] > 0)
                wait += t->mix->next[state][to] * value(t, stage, slack - 1, work, RB_SPOT_IDLE, to);
        least = fmin(least, wait);
    }
    return least;
}

static struct rb_spot_policy *policy_of(const struct tree *t, int slack)
{
    struct rb_spot_stage stages[2];
    for (int i = 0; i < t->n_stages; i++)
        stages[i] = (struct rb_spot_stage){t->trials[i], t->work[i] * TICK_S,
                                           t->save_every[i] == 1 ? 0 : t->save_every[i] * TICK_S};
    return rb_spot_policy_create(&(struct rb_spot_problem){
        .mix = t->mix,
        .stages = stages,
        .n_stages = t->n_stages,
        .start_s = t->start * TICK_S,
        .start_most_s = t->start * TICK_S,
        .ratio = t->ratio,
        .slack_s = slack * TICK_S,
    });
}

static void tables_are_the_expectation_over_everything(void **state)
{
    (void)state;
    const struct rb_market_mix mix = small_mix();
    const struct tree trees[] = {
        {.mix = &mix, .work = {3}, .save_every = {1}, .trials = {1}, .n_stages = 1, .start = 1, .ratio = 3},
        {.mix = &mix, .work = {3}, .save_every = {2}, .trials = {1}, .n_stages = 1, .start = 1, .ratio = 3},
        {.mix = &mix, .work = {2}, .save_every = {1}, .trials = {1}, .n_stages = 1, .start = 2, .ratio = 8},
        {.mix = &mix, .work = {2, 1}, .save_every = {1, 1}, .trials = {4, 1}, .n_stages = 2, .start = 1, .ratio = 3},
    };
    static const int states[] = {0, 1, RB_MARKET_AGES};
    for (size_t i = 0; i < sizeof trees / sizeof *trees; i++) {
        const struct tree *t = &trees[i];
        struct rb_spot_policy *p = policy_of(t, 4 + t->start);
        for (int slack = t->start; slack <= 4; slack++) {
            for (int work = 1; work <= t->work[0]; work++) {
                for (int s = 0; s < 3; s++) {
                    for (enum rb_spot_mode m = RB_SPOT_IDLE; m <= RB_SPOT_ON_DEMAND; m++) {
                        if (m == RB_SPOT_ON_SPOT && states[s] >= RB_MARKET_AGES)
                            continue;
                        const double stated = rb_spot_policy_value(p, 0, slack, work, m, states[s]) * t->ratio / TICK_S;
                        assert_close(stated, value(t, 0, slack, work, m, states[s]), 1e-4);
                    }
                }
            }
        }
        rb_spot_policy_destroy(p);
    }
}

static void more_slack_costs_no_more(void **state)
{
    (void)state;
    const struct rb_spells s = exponential(.5, 1800);
    const struct rb_market_source source = {&s, 0};
    const struct tree t = {
        .work = {40, 20}, .save_every = {1, 1}, .trials = {4, 1}, .n_stages = 2, .start = 2, .ratio = 3};
    struct rb_market_mix mix;
    struct tree with = t;
    rb_market_mix_init(&mix, &source, 1, TICK_S);
    with.mix = &mix;
    struct rb_spot_policy *p = policy_of(&with, 60);
    const double all_s = (4 * 42 + 22) * TICK_S;
    double before = rb_spot_policy_cost(p, 2 * TICK_S);
    assert_close(before, all_s, .02 * all_s); // no more than cold starts: on demand throughout
    for (int slack = 3; slack <= 60; slack++) {
        const double cost = rb_spot_policy_cost(p, slack * TICK_S);
        assert_true(cost <= before * (1 + 1e-6));
        before = cost;
    }
    assert_true(before < .6 * all_s && before > all_s / 3);
    rb_spot_policy_destroy(p);
}

// A node on demand, with an hour of slack and eight of work: to a market that is there, not to one that has just refused, and
// again to one that refused long ago.
static void a_node_on_demand_goes_back_where_that_pays(void **state)
{
    (void)state;
    const struct rb_spells s = exponential(.1, 1800);
    const struct rb_market_source source = {&s, 0};
    const struct rb_spot_guard g = {.start_s = {0, 360, 360}, .budget = INFINITY};
    struct rb_market_mix mix;
    rb_market_mix_init(&mix, &source, 1, TICK_S);
    const struct tree t = {
        .mix = &mix, .work = {160}, .save_every = {1}, .trials = {1}, .n_stages = 1, .start = 2, .ratio = 3.3};
    struct rb_spot_policy *p = policy_of(&t, 20);
    const struct rb_market_state there = {true, 600, 0}, refused = {false, 0, 0}, long_ago = {false, 0, 7200};
    struct rb_spot_question q = {.now = {.mode = RB_SPOT_ON_DEMAND, .slack_s = 3600, .ahead_s = TICK_S}, .work_s = 160 * TICK_S};
    int market = -1;
    q.markets = &there;
    assert_int_equal(rb_spot_policy_choose(p, &g, &q, &market), RB_SPOT_ON_SPOT);
    assert_int_equal(market, 0);
    q.markets = &long_ago;
    assert_int_equal(rb_spot_policy_choose(p, &g, &q, &market), RB_SPOT_ON_SPOT);
    q.markets = &refused;
    assert_int_not_equal(rb_spot_policy_choose(p, &g, &q, &market), RB_SPOT_ON_SPOT);
    q.markets = &there;
    q.now.slack_s = 600; // no time for two of them
    assert_int_equal(rb_spot_policy_choose(p, &g, &q, &market), RB_SPOT_ON_DEMAND);
    rb_spot_policy_destroy(p);
}

// The policy asked every tick, against every order of losses and refusals; true: always in time.
static bool is_in_time(const struct rb_spot_policy *p, enum rb_spot_mode mode, int time, int work, int up_for)
{
    const struct rb_spot_guard g = {.start_s = {0, TICK_S, TICK_S}, .budget = INFINITY};
    const struct rb_market_state market = {up_for >= 0, up_for >= 0 ? up_for * TICK_S : 0};
    int where = 0;
    if (work == 0 || time < 0)
        return time >= 0;
    const struct rb_spot_question q = {.now = {.mode = mode, .slack_s = (time - work) * TICK_S, .ahead_s = TICK_S},
                                       .work_s = work * TICK_S,
                                       .markets = &market};
    const enum rb_spot_mode to = rb_spot_policy_choose(p, &g, &q, &where);
    const int start = to == mode ? 0 : 1, older = up_for + 1 + start;
    if (to == RB_SPOT_IDLE)
        return is_in_time(p, to, time - 1, work, older) && is_in_time(p, to, time - 1, work, -1);
    if (to == RB_SPOT_ON_DEMAND)
        return is_in_time(p, to, time - start - 1, work - 1, older) &&
               is_in_time(p, to, time - start - 1, work - 1, -1);
    return is_in_time(p, to, time - start - 1, work - 1, older) &&
           is_in_time(p, RB_SPOT_IDLE, time - start - 1, work - 1, -1) &&
           (start == 0 || is_in_time(p, RB_SPOT_IDLE, time - start, work, -1));
}

static void the_policy_is_never_late(void **state)
{
    (void)state;
    const struct rb_spells kind = exponential(.05, 60); // promises what the market does not keep
    const struct rb_market_source source = {&kind, 0};
    struct rb_market_mix mix;
    rb_market_mix_init(&mix, &source, 1, TICK_S);
    const struct tree t = {
        .mix = &mix, .work = {8}, .save_every = {1}, .trials = {1}, .n_stages = 1, .start = 1, .ratio = 3};
    for (int slack = 1; slack <= 6; slack++) {
        struct rb_spot_policy *p = policy_of(&t, slack);
        assert_true(is_in_time(p, RB_SPOT_IDLE, 8 + slack, 8, 0));
        assert_true(is_in_time(p, RB_SPOT_IDLE, 8 + slack, 8, -1));
        rb_spot_policy_destroy(p);
    }
}

static void ticks_fit_cold_starts(void **state)
{
    (void)state;
    assert_close(rb_spot_policy_tick_s(3600, 360, 200), 18, 1e-9);
    assert_close(rb_spot_policy_tick_s(3600, 40, 200), 20, 1e-9);
    assert_close(rb_spot_policy_tick_s(3600, 10, 200), 18, 1e-9);
    assert_close(rb_spot_policy_tick_s(100 * 3600, 360, 200), 1800, 1e-9);
    assert_close(rb_spot_policy_tick_s(20 * 3600, 800, 200), 400, 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_market_without_memory_has_one_rate),
        cmocka_unit_test(no_age_lives_for_ever),
        cmocka_unit_test(a_mix_of_one_is_its_market),
        cmocka_unit_test(what_was_seen_is_forgotten_as_the_market_moves),
        cmocka_unit_test(the_market_that_lasts_is_the_best),
        cmocka_unit_test(the_oldest_market_is_the_best),
        cmocka_unit_test(a_path_knows_the_oldest),
        cmocka_unit_test(no_order_of_losses_makes_it_late),
        cmocka_unit_test(on_demand_is_the_last_that_is_permitted),
        cmocka_unit_test(the_rest_on_demand_must_be_paid),
        cmocka_unit_test(tables_are_the_expectation_over_everything),
        cmocka_unit_test(more_slack_costs_no_more),
        cmocka_unit_test(a_node_on_demand_goes_back_where_that_pays),
        cmocka_unit_test(the_policy_is_never_late),
        cmocka_unit_test(ticks_fit_cold_starts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
