// How fast a run trains, by its units: small cases by hand, and many synthetic runs whose truth is known.
#include "check.h"

#include "simulator/posterior/posterior.h"
#include "samplers/model/normal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TRIALS = 32, MOST_UNITS = 64 };

#define UNIT_S 10.0

static struct rb_dist factor(double sigma)
{
    struct rb_dist d = {.kind = RB_DIST_LOGNORMAL, .mean = 1, .cv = sqrt(expm1(sigma * sigma))};
    struct rb_err err;
    if (!rb_dist_prepare(&d, &err))
        fail_msg("%s", err.message);
    return d;
}

// One accelerator, or two. configuration 0: none.
struct made {
    struct rb_training training[2];
    struct rb_dist configuration;
    struct rb_profile profile;
};

static void make(struct made *m, double rho, double between, double within, double configuration)
{
    *m = (struct made){.training = {{.accelerator = "A10G", .relative_error = rho}, {.accelerator = "V100"}}};
    m->profile = (struct rb_profile){
        .training = m->training, .n_training = 2, .between = factor(between), .within = factor(within)};
    m->configuration = factor(configuration);
    if (configuration > 0)
        m->profile.configuration = &m->configuration;
    // the noise is known: what is learned of it is another test
    m->profile.has_measured = true;
    m->profile.measured = (struct rb_measured){.configurations = 1000000, .units = 1000000};
}

static void saw_on(struct rb_posterior *p, int trial, int stage, int layout, double seconds)
{
    rb_posterior_saw(
        p, &(struct rb_posterior_units){
               .trial = trial, .stage = stage, .layout = layout, .unit_s = UNIT_S, .units = 1, .seconds = seconds});
}

static void saw(struct rb_posterior *p, int trial, int stage, double seconds)
{
    saw_on(p, trial, stage, 1, seconds);
}

static bool near(double a, double b)
{
    return fabs(a - b) < 1e-4;
}

static void before_anything_is_seen_it_is_the_prior(void **state)
{
    (void)state;
    struct made m;
    make(&m, 0.2, 0.1, 0.1, 0.6);
    struct rb_posterior *p = rb_posterior_create(&m.profile, 1);
    assert_false(rb_posterior_has_data(p));
    for (int fitted = 0; fitted < 2; fitted++) {
        const struct rb_posterior_log known = rb_posterior_speed(p, 0, 4), exact = rb_posterior_speed(p, 1, 4);
        assert_true(near(known.sd, sqrt(0.04 + 0.01)) && near(known.mean, -0.025)); // the factor's mean is 1
        assert_true(near(exact.sd, 0.02 * sqrt(1.25)));
        assert_true(isnan(rb_posterior_speed_in(p, -1, NULL).mean));
        const struct rb_posterior_log own = rb_posterior_configuration(p, 7);
        assert_true(near(own.sd, 0.6) && near(own.mean, -0.18));
        rb_posterior_fit(p, NULL, 0);
    }
    rb_posterior_destroy(p);
}

// Two trials of two and one unit. By hand: v = .01 + .04 / u, lambda ~ N(-.025, .05).
static void two_trials_by_hand(void **state)
{
    (void)state;
    struct made m;
    make(&m, 0.2, 0.1, 0.2, 0);
    struct rb_posterior *p = rb_posterior_create(&m.profile, 1);
    saw(p, 0, 0, 12);
    saw(p, 0, 0, 12);
    saw(p, 1, 0, 14);
    rb_posterior_fit(p, NULL, 0);
    const double y0 = log(1.2) + 0.025, y1 = log(1.4) + 0.025, v0 = 0.01 + 0.02, v1 = 0.01 + 0.04;
    const double precision = 1 / 0.05 + 1 / v0 + 1 / v1;
    const double mean = (-0.025 / 0.05 + y0 / v0 + y1 / v1) / precision;
    const struct rb_posterior_log speed = rb_posterior_speed(p, 0, 1), in = rb_posterior_speed_in(p, 0, NULL);
    assert_true(near(speed.mean, mean) && near(speed.sd, sqrt(1 / precision)));
    assert_true(near(in.mean, mean) && near(in.sd, speed.sd));
    // alpha has 4/5 of the prior variance, so another layout learns 4/5 of it; another accelerator nothing
    const struct rb_posterior_log other = rb_posterior_speed(p, 0, 2);
    assert_true(near(other.mean + 0.025, 0.8 * (mean + 0.025)));
    assert_true(near(other.sd * other.sd, 0.05 - 0.8 * 0.8 * (0.05 - 1 / precision)));
    assert_true(near(rb_posterior_speed(p, 1, 1).sd, 0.02 * sqrt(1.25)));
    // b of trial 1: 1/5 of what is left of its residual
    const struct rb_posterior_log b = rb_posterior_between(p, 1);
    assert_true(near(b.mean, 0.2 * (y1 - mean) - 0.005));
    assert_true(near(b.sd * b.sd, 0.01 * 0.8 + 0.04 / precision));
    rb_posterior_destroy(p);
}

// A trial's own factor lasts: what stage 0 shows of it is known in stage 1.
static void a_configuration_is_known_after_its_first_stage(void **state)
{
    (void)state;
    struct made m;
    make(&m, 0.05, 0.05, 0.05, 0.6);
    struct rb_posterior *p = rb_posterior_create(&m.profile, 1);
    const double own[] = {0.5, -0.7, 0.1, 0.2, -0.4, 0.9, -0.1, -0.5}; // of a mean factor of 1, about
    for (int i = 0; i < 8; i++)
        for (int u = 0; u < 4; u++)
            saw(p, i, 0, UNIT_S * exp(own[i]));
    rb_posterior_fit(p, NULL, 0);
    for (int i = 0; i < 8; i++) {
        const struct rb_posterior_log c = rb_posterior_configuration(p, i);
        assert_true(fabs(c.mean - own[i]) < 2 * c.sd && c.sd < 0.15);
    }
    saw(p, 9, 0, UNIT_S); // after the fit
    assert_true(near(rb_posterior_configuration(p, 9).sd, 0.6) && near(rb_posterior_between(p, 9).sd, 0.05));
    const struct rb_posterior_log unknown = rb_posterior_configuration(p, 8);
    assert_true(near(unknown.sd, 0.6) && near(unknown.mean, -0.18));
    // draws of a known one agree with that; of an unknown one there are none
    double sum = 0, squares = 0, drawn;
    for (uint32_t r = 0; r < 4000; r++) {
        rb_posterior_draw(p, r);
        assert_false(rb_posterior_drawn_configuration(p, 8, &drawn));
        assert_true(rb_posterior_drawn_configuration(p, 5, &drawn));
        sum += log(drawn) / 4000;
        squares += log(drawn) * log(drawn) / 4000;
    }
    const struct rb_posterior_log c = rb_posterior_configuration(p, 5);
    assert_true(fabs(sum - c.mean) < 0.01 && fabs(sqrt(squares - sum * sum) - c.sd) < 0.01);
    rb_posterior_destroy(p);
}

// Every unit takes half as long again as a profile says that claims to be right to 5 %.
static void a_wrong_profile_gives_way(void **state)
{
    (void)state;
    struct made m;
    make(&m, 0.05, 0.1, 0.1, 0);
    struct rb_posterior *p = rb_posterior_create(&m.profile, 1);
    for (int i = 0; i < 8; i++)
        for (int u = 0; u < 4; u++)
            saw(p, i, 0, 1.5 * UNIT_S * exp(0.1 * (i % 2 ? 1 : -1) - 0.01));
    rb_posterior_fit(p, NULL, 0);
    const struct rb_posterior_log speed = rb_posterior_speed(p, 0, 1), other = rb_posterior_speed(p, 0, 8);
    assert_true(fabs(exp(speed.mean) - 1.5) < 0.03);
    assert_true(fabs(exp(other.mean) - 1.5) < 0.04 && other.sd < 0.08); // a layout never seen is as wrong
    rb_posterior_destroy(p);
}

// Stage 1 trains on another layout, which is not slower at all: the profile is wrong about how training scales.
static void a_layout_apart_widens_the_others(void **state)
{
    (void)state;
    struct made m;
    make(&m, 0.05, 0.1, 0.1, 0);
    struct rb_posterior *p = rb_posterior_create(&m.profile, 1);
    for (int stage = 0; stage < 2; stage++)
        for (int i = 0; i < 8; i++)
            for (int u = 0; u < 4; u++)
                saw_on(p, i, stage, 1 + stage, (stage ? 1 : 1.5) * UNIT_S * exp(0.1 * (i % 2 ? 1 : -1) - 0.01));
    rb_posterior_fit(p, NULL, 0);
    assert_true(fabs(exp(rb_posterior_speed(p, 0, 1).mean) - 1.5) < 0.06);
    assert_true(fabs(exp(rb_posterior_speed(p, 0, 2).mean) - 1) < 0.04);
    assert_true(rb_posterior_speed(p, 0, 8).sd > 0.15); // anything may be true of a third one
    rb_posterior_destroy(p);
}

// One node is three times as slow for two minutes: 4 of the 12 units of 1 of 8 trials, or all units of it so far.
static void a_spike_hardly_moves_it(void **state)
{
    (void)state;
    for (int n_units = 4; n_units <= 12; n_units += 8) {
        struct made m;
        struct rb_posterior_log speed[2];
        make(&m, 0.05, 0.1, 0.1, 0);
        m.profile.has_measured = false; // nor does it pass as noise
        for (int spike = 0; spike < 2; spike++) {
            struct rb_posterior *p = rb_posterior_create(&m.profile, 1);
            for (int i = 0; i < 8; i++)
                for (int u = 0; u < n_units; u++)
                    saw(p, i, 0, UNIT_S * (spike && i == 3 && u < 4 ? 3 : 1) * exp(0.1 * (u % 2 ? 1 : -1)));
            rb_posterior_fit(p, NULL, 0);
            speed[spike] = rb_posterior_speed(p, 0, 1);
            rb_posterior_destroy(p);
        }
        print_message("of %d units 4: %+.4f, its sd %.4f\n", n_units, speed[1].mean - speed[0].mean, speed[0].sd);
        assert_true(fabs(speed[1].mean - speed[0].mean) < (n_units > 4 ? 0.02 : 0.05)); // ln 3 = 1.1
    }
}

// A script's output comes at once, four units at a time.
static void a_burst_is_one_report(void **state)
{
    (void)state;
    struct made m;
    struct rb_posterior_log speed[2];
    make(&m, 0.3, 0.1, 0.1, 0);
    for (int burst = 0; burst < 2; burst++) {
        struct rb_posterior *p = rb_posterior_create(&m.profile, 1);
        for (int i = 0; i < 20; i++)
            saw(p, 0, 0, !burst ? UNIT_S : i % 4 == 0 ? 4 * UNIT_S : 0.001);
        rb_posterior_fit(p, NULL, 0);
        speed[burst] = rb_posterior_speed(p, 0, 1);
        rb_posterior_destroy(p);
    }
    assert_true(fabs(speed[1].mean - speed[0].mean) < 5e-3 && fabs(speed[1].sd - speed[0].sd) < 5e-3);
}

static void the_same_reports_give_the_same_bytes(void **state)
{
    (void)state;
    struct made m;
    struct rb_posterior_log speed[2][3];
    make(&m, 0.1, 0.1, 0.1, 0.3);
    for (int k = 0; k < 2; k++) {
        struct rb_posterior *p = rb_posterior_create(&m.profile, 1);
        for (int i = 0; i < 60; i++) {
            rb_posterior_saw(p, &(struct rb_posterior_units){.trial = i % 7,
                                                             .stage = i / 40,
                                                             .layout = 1 + i / 40,
                                                             .unit_s = UNIT_S,
                                                             .units = 1 + i % 3,
                                                             .seconds = UNIT_S * (1 + i % 5)});
            if (k)
                rb_posterior_fit(p, NULL, 0); // fits leave nothing behind
        }
        const struct rb_posterior_units last = {
            .trial = 2, .stage = 1, .layout = 2, .unit_s = UNIT_S, .units = 1, .seconds = 15};
        rb_posterior_fit(p, &last, 1);
        rb_posterior_draw(p, 3);
        speed[k][0] = rb_posterior_speed(p, 0, 1);
        speed[k][1] = rb_posterior_speed(p, 0, 2);
        speed[k][2] = (struct rb_posterior_log){rb_posterior_drawn_speed(p, 0, 2), rb_posterior_drawn_speed(p, 1, 9)};
        rb_posterior_destroy(p);
    }
    assert_memory_equal(speed[0], speed[1], sizeof speed[0]);
}

// ---- synthetic runs

struct dice {
    struct rb_stream s;
};

static double roll(struct dice *d)
{
    return rb_normal_quantile(rb_stream_uniform(&d->s));
}

// The factor's logarithm.
static double roll_factor(struct dice *d, double sigma)
{
    return sigma * roll(d) - sigma * sigma / 2;
}

struct synthetic {
    double rho, between, within, configuration;
    int trials, units; // of a trial
    double until;      // seen, in units' expected time; 0: every trial to its end
};

// Returns by how many standard deviations lambda is off.
static double run_synthetic(const struct synthetic *y, uint32_t replicate)
{
    struct made m;
    struct dice d;
    struct rb_posterior_units under_way[MOST_TRIALS];
    int n_under_way = 0;
    make(&m, y->rho, y->between, y->within, y->configuration);
    m.profile.has_measured = false; // its noise is learned
    rb_stream_init(&d.s, &(struct rb_stream_key){.seed = 11, .purpose = RB_DRAW_SEARCH, .replicate = replicate});
    const double lambda = roll_factor(&d, y->rho) + roll_factor(&d, y->rho / 2);
    struct rb_posterior *p = rb_posterior_create(&m.profile, 1);
    for (int i = 0; i < y->trials; i++) {
        const double slow = lambda + roll_factor(&d, y->configuration) + roll_factor(&d, y->between);
        double at_s = 0;
        for (int u = 0; u < y->units; u++) {
            const double seconds = UNIT_S * exp(slow + roll_factor(&d, y->within));
            if (y->until > 0 && at_s + seconds > y->until * UNIT_S) {
                under_way[n_under_way++] = (struct rb_posterior_units){
                    .trial = i, .layout = 1, .unit_s = UNIT_S, .units = 1, .seconds = y->until * UNIT_S - at_s};
                break;
            }
            at_s += seconds;
            saw(p, i, 0, seconds);
        }
    }
    rb_posterior_fit(p, under_way, n_under_way);
    const struct rb_posterior_log speed = rb_posterior_speed(p, 0, 1);
    rb_posterior_destroy(p);
    return (lambda - speed.mean) / speed.sd;
}

static void its_intervals_cover(void **state)
{
    (void)state;
    static const struct synthetic runs[] = {
        {.rho = 0.05, .between = 0.1, .within = 0.1, .trials = 8, .units = 4},
        {.rho = 0.25, .between = 0.1, .within = 0.1, .trials = 8, .units = 4},
        {.rho = 0.25, .between = 0.1, .within = 0.3, .trials = 27, .units = 3},
        {.rho = 0.25, .between = 0.05, .within = 0.05, .configuration = 0.6, .trials = 16, .units = 4},
        {.rho = 0.25, .between = 0.1, .within = 0.1, .trials = 8, .units = 9, .until = 1.1},
        {.rho = 0.25, .between = 0.2, .within = 0.2, .trials = 16, .units = 9, .until = 0.95},
        {.rho = 0.05, .between = 0.1, .within = 0.1, .trials = 8, .units = 9, .until = 2.5},
        {.rho = 0.25, .between = 0.1, .within = 0.1, .configuration = 0.6, .trials = 16, .units = 9, .until = 1.2},
    };
    enum { RUNS = 1000 };
    for (size_t k = 0; k < sizeof runs / sizeof runs[0]; k++) {
        int covered = 0;
        double sum = 0;
        for (uint32_t r = 0; r < RUNS; r++) {
            const double off = run_synthetic(&runs[k], r);
            covered += fabs(off) < 1.96;
            sum += off / RUNS;
        }
        print_message("rho %.2f, spreads %.2f %.2f %.2f, %2d trials, until %.2f: %d of %d covered, mean %+.2f sd\n",
                      runs[k].rho, runs[k].configuration, runs[k].between, runs[k].within, runs[k].trials,
                      runs[k].until, covered, RUNS, sum);
        assert_true(covered >= 920 && covered <= 970);
    }
}

// A run is noisier than the profile says: 0.3 instead of 0.1. Nine trials of nine units outweigh four behind the profile.
static void the_noise_is_learned(void **state)
{
    (void)state;
    struct made m;
    struct dice d;
    make(&m, 0.1, 0.1, 0.1, 0);
    m.profile.has_measured = false;
    rb_stream_init(&d.s, &(struct rb_stream_key){.seed = 5, .purpose = RB_DRAW_SEARCH});
    struct rb_posterior *p = rb_posterior_create(&m.profile, 1);
    for (int i = 0; i < 27; i++) {
        const double slow = roll_factor(&d, 0.3);
        for (int u = 0; u < 9; u++)
            saw(p, i, 0, UNIT_S * exp(slow + roll_factor(&d, 0.3)));
    }
    rb_posterior_fit(p, NULL, 0);
    print_message("between %.3f, within %.3f\n", rb_posterior_between_sd(p), rb_posterior_within_sd(p));
    assert_true(rb_posterior_between_sd(p) > 0.22 && rb_posterior_between_sd(p) < 0.36);
    assert_true(rb_posterior_within_sd(p) > 0.25 && rb_posterior_within_sd(p) < 0.33);
    rb_posterior_destroy(p);
}

// Whatever a script reports, numbers stay numbers: constant noise, times off by a million, several layouts a trial.
static void nothing_breaks_it(void **state)
{
    (void)state;
    static const double spreads[] = {0, 0.01, 0.3, 2}, wilds[] = {0, 0.02, 5};
    for (uint32_t k = 0; k < 5000; k++) {
        struct made m;
        struct dice d;
        struct rb_posterior_units under_way[8];
        rb_stream_init(&d.s, &(struct rb_stream_key){.seed = 3, .purpose = RB_DRAW_SEARCH, .replicate = k});
        make(&m, rb_stream_below(&d.s, 2) ? 0 : 0.3, spreads[rb_stream_below(&d.s, 4)],
             spreads[rb_stream_below(&d.s, 4)], spreads[rb_stream_below(&d.s, 4)]);
        m.profile.has_measured = false;
        struct rb_posterior *p = rb_posterior_create(&m.profile, 1);
        const double wild = wilds[rb_stream_below(&d.s, 3)], slow = rb_stream_below(&d.s, 2) ? 1.1 : wild * roll(&d);
        const int n = (int)rb_stream_below(&d.s, 60), n_stages = 1 + (int)rb_stream_below(&d.s, 3);
        for (int i = 0; i < n; i++) {
            const int stage = i * n_stages / n;
            const struct rb_posterior_units u = {
                .trial = (int)rb_stream_below(&d.s, 8),
                .stage = stage,
                .training = (int)rb_stream_below(&d.s, 2) * (stage > 1),
                .layout = 1 + stage,
                .unit_s = UNIT_S,
                .units = 1 + (int64_t)rb_stream_below(&d.s, 3) * 400,
                .seconds = UNIT_S * exp(slow + wild * roll(&d)),
            };
            rb_posterior_saw(p, &u);
        }
        const int n_under_way = (int)rb_stream_below(&d.s, 9);
        for (int i = 0; i < n_under_way; i++)
            under_way[i] = (struct rb_posterior_units){.trial = i,
                                                       .stage = n_stages - 1,
                                                       .layout = n_stages,
                                                       .unit_s = UNIT_S,
                                                       .units = 1,
                                                       .seconds = UNIT_S * exp(slow + wild * roll(&d))};
        rb_posterior_fit(p, under_way, n_under_way);
        rb_posterior_draw(p, k);
        for (int i = 0; i < 8; i++) {
            double factor = 1;
            const struct rb_posterior_log speed = rb_posterior_speed(p, i % 2, i / 2);
            assert_true(isfinite(speed.mean) && speed.sd > 0 && isfinite(speed.sd));
            assert_true(isfinite(rb_posterior_drawn_speed(p, i % 2, i / 2)));
            rb_posterior_drawn_configuration(p, i, &factor);
            assert_true(isfinite(factor) && factor > 0);
            rb_posterior_drawn_between(p, i, n_stages - 1, 0, 0, &factor);
            assert_true(isfinite(factor) && factor > 0);
            assert_true(isfinite(rb_posterior_configuration(p, i).sd) && isfinite(rb_posterior_between(p, i).sd));
        }
        rb_posterior_destroy(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(before_anything_is_seen_it_is_the_prior),
        cmocka_unit_test(two_trials_by_hand),
        cmocka_unit_test(a_configuration_is_known_after_its_first_stage),
        cmocka_unit_test(a_wrong_profile_gives_way),
        cmocka_unit_test(a_layout_apart_widens_the_others),
        cmocka_unit_test(a_spike_hardly_moves_it),
        cmocka_unit_test(a_burst_is_one_report),
        cmocka_unit_test(the_same_reports_give_the_same_bytes),
        cmocka_unit_test(its_intervals_cover),
        cmocka_unit_test(the_noise_is_learned),
        cmocka_unit_test(nothing_breaks_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
