// Replicates on common draws against the laws of the same stages: right on average, and with controls never surely above what is
// true though much closer to it.
#include "case.h"

#include "planner/request/controls.h"
#include "planner/scores/score.h"

#include "engine/core/placement.h"

#include <math.h>

#define N_CASES  60
#define MOST_OFF 6.0 // standard errors; layouts of one stage share their draws, so not many are independent

struct tally {
    int n, n_waiting;               // layouts; of these, with new nodes
    double worst;                   // standard errors between replicates and law
    double alone_s, with_control_s; // how far bounds are below, in standard deviations of the stage
};

struct bench {
    struct rb_case c;
    struct rb_scenario s;
    struct rb_stage_times *times;
    struct rb_common_draws *draws;
};

static void open_bench(struct bench *b, uint32_t number)
{
    struct rb_offer *offers;
    struct rb_err err = {0};
    int n;
    case_random(&b->c, number);
    if (!rb_planner_offers(&b->c.job, &b->c.catalog, &b->c.arena, &offers, &n, &err) ||
        !rb_scenario_init(&b->s, &b->c.job, &b->c.profile, offers, n, &b->c.catalog, b->c.req.seed, &err))
        fail_msg("%s", err.message);
    b->times = rb_stage_times_create(RB_PILOT_SAMPLES);
    b->draws = rb_common_draws_create(&b->s, b->times);
}

static void close_bench(struct bench *b)
{
    rb_common_draws_destroy(b->draws);
    rb_stage_times_destroy(b->times);
    rb_scenario_finish(&b->s);
    case_finish(&b->c);
}

static double mean_of(const float *seconds)
{
    double sum = 0;
    for (int r = 0; r < RB_COMMON_REPLICATES; r++)
        sum += seconds[r];
    return sum / RB_COMMON_REPLICATES;
}

static void check_layout(struct bench *b, const struct rb_stage_work *work, struct rb_controls *controls,
                         float *seconds, struct tally *tally)
{
    static const struct rb_controls none;
    const double theta[RB_N_TILTS] = {rb_tilts[0] * 1e-3, rb_tilts[1] * 1e-3, rb_tilts[2] * 1e-3, rb_tilts[3] * 1e-3};
    struct rb_common_draw known[RB_COMMON_KNOWN];
    struct rb_times alone, below, likely;
    struct rb_err err = {0};
    const struct rb_stage_time *time = rb_stage_times_get(b->times, &b->s, work, RB_SCORE_SEARCH_ACCURACY, &err);
    if (!time || !rb_common_draws_run(b->draws, work, seconds, &err))
        fail_msg("%s", err.message);
    const double deviation_s = sqrt(time->law.variance_s2);
    if (time->method == RB_STAGE_PILOT || time->law.error > RB_SCORE_SEARCH_ACCURACY || !(deviation_s > 0))
        return;
    const double z = (mean_of(seconds) - time->law.mean_s) / deviation_s * sqrt(RB_COMMON_REPLICATES);
    tally->worst = fmax(tally->worst, fabs(z));
    rb_controls_estimate(&none, NULL, 0, seconds, theta, &alone, &likely);
    const int n_known = rb_common_draws_known(b->draws, work, known);
    rb_controls_estimate(controls, known, n_known, seconds, theta, &below, &likely);
    assert_true(below.mean_s <= time->law.mean_s && alone.mean_s <= time->law.mean_s);
    for (int i = 0; i < RB_N_TILTS; i++)
        assert_true(below.tilted_s[i] <= time->law.mean_s);
    tally->alone_s += (time->law.mean_s - alone.mean_s) / deviation_s;
    tally->with_control_s += (time->law.mean_s - below.mean_s) / deviation_s;
    tally->n++;
    tally->n_waiting += work->kept < work->nodes;
    rb_controls_add(controls, seconds, &time->law);
}

static void check_stage(struct bench *b, int stage, struct tally *tally)
{
    static float seconds[RB_CONTROLS_KEPT][RB_COMMON_REPLICATES];
    struct rb_controls controls = {.n_added = 0};
    int n = 0;
    for (int offer = 0; offer < b->s.n_offers; offer++) {
        int sizes[RB_LIMIT_GPUS_PER_NODE];
        const int n_sizes = rb_planner_sizes(&b->s, offer, sizes), per_node = b->s.offers[offer].gpus;
        for (int i = 0; i < 6 * n_sizes && n < RB_CONTROLS_KEPT; i++) {
            const int nodes = 1 + i % 3;
            const struct rb_stage_work work = {stage, offer, sizes[i / 6], nodes, i % 6 < 3 ? nodes : nodes - 1};
            if (rb_placement_capacity(nodes, per_node, work.gpus) > 0 && rb_common_draws_apply(b->draws, &work))
                check_layout(b, &work, &controls, seconds[n++], tally);
        }
    }
}

static void bounds_are_close_and_below(void **state)
{
    struct tally tally = {.n = 0};
    (void)state;
    for (uint32_t number = 0; number < N_CASES; number++) {
        struct bench b;
        const char *why;
        open_bench(&b, number);
        for (int stage = 0; stage < b.s.stages.n; stage++) {
            bool applies = true;
            for (int offer = 0; offer < b.s.n_offers; offer++)
                applies &= rb_stage_times_apply(&b.s, offer, &why);
            if (applies)
                check_stage(&b, stage, &tally);
        }
        close_bench(&b);
    }
    print_message(
        "%d layouts, %d with new nodes: off by %.1f standard errors at most; bounds below by %.3f deviations, "
        "with controls by %.3f\n",
        tally.n, tally.n_waiting, tally.worst, tally.alone_s / tally.n, tally.with_control_s / tally.n);
    assert_true(tally.n > 300 && tally.n_waiting > 100);
    assert_true(tally.worst < MOST_OFF);
    assert_true(tally.with_control_s < 0.4 * tally.alone_s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(bounds_are_close_and_below)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
