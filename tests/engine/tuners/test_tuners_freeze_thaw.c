// Freeze-thaw: its model of curves against a dense solve and against curves drawn from it, and what the tuner does with it.
#include "engine/core/tuner.h"

#include "base/stream.h"
#include "check.h"
#include "engine/tuners/level_model.h"

#include <math.h>

enum { N_LEVELS = 4, N_CURVES = 400, N_FIT = 300, N_TRIALS = 40 };

static const int64_t levels[N_LEVELS] = {1, 3, 9, 27};

static double normal(struct rb_stream *s)
{
    return sqrt(-2 * log(rb_stream_uniform(s))) * cos(2 * M_PI * rb_stream_uniform(s));
}

// Asymptotes N(1, .3^2), a distance that decays like .1 / (t + .1) from -.8, and noise.
static void draw_curve(struct rb_stream *s, double *y)
{
    const double f = 1 + 0.3 * normal(s), h = 0.1 * normal(s);
    for (int i = 0; i < N_LEVELS; i++) {
        const double g = 0.1 / ((double)levels[i] / 27 + 0.1);
        y[i] = f + (h - 0.8) * g + 0.03 * normal(s);
    }
}

static void few_levels_predict_the_last(void **unused)
{
    (void)unused;
    static double y[N_CURVES][N_LEVELS];
    struct rb_level_curve curves[N_FIT];
    struct rb_level_model m;
    struct rb_stream s;
    rb_stream_init(&s, &(struct rb_stream_key){.seed = 4, .purpose = RB_DRAW_SEARCH});
    for (int i = 0; i < N_CURVES; i++)
        draw_curve(&s, y[i]);
    for (int i = 0; i < N_FIT; i++) // most are known at the first levels only
        curves[i] = (struct rb_level_curve){y[i], i % 10 == 0 ? 4 : i % 3 == 0 ? 2 : 1};
    rb_level_model_fit(&m, levels, N_LEVELS, curves, N_FIT);
    assert_true(fabs(m.mean[0] - (1 - 0.8 * 0.1 / (1 / 27.0 + 0.1))) < 0.06);
    assert_true(fabs(m.mean[3] - (1 - 0.8 * 0.1 / 1.1)) < 0.06);
    for (int known = 0; known < N_LEVELS; known++) {
        int within = 0;
        for (int i = N_FIT; i < N_CURVES; i++)
            within += fabs(y[i][3] - rb_level_model_expect(&m, y[i], known)) < 1.645 * sqrt(m.sd[known] * m.sd[known] + 9e-4);
        assert_true(within >= 80); // of 100, at 90 %: 2.5 and fewer are 3 sd away
        assert_true(known == 0 || m.sd[known] <= m.sd[known - 1]);
    }
}

// Solves a x = b in place by elimination with pivots.
static void solve(double a[N_LEVELS][N_LEVELS], double *b, int n)
{
    for (int c = 0; c < n; c++) {
        int pivot = c;
        for (int r = c + 1; r < n; r++)
            pivot = fabs(a[r][c]) > fabs(a[pivot][c]) ? r : pivot;
        for (int k = 0; k < n; k++) {
            const double t = a[c][k];
            a[c][k] = a[pivot][k];
            a[pivot][k] = t;
        }
        const double t = b[c];
        b[c] = b[pivot];
        b[pivot] = t;
        for (int r = 0; r < n; r++) {
            const double by = r == c ? 0 : a[r][c] / a[c][c];
            for (int k = c; k < n; k++)
                a[r][k] -= by * a[c][k];
            b[r] -= by * b[c];
        }
    }
    for (int c = 0; c < n; c++)
        b[c] /= a[c][c];
}

// Some shape of the grid, whichever was fitted, must give the weights and deviations that a dense solve does.
static void weights_are_those_of_a_dense_solve(void **unused)
{
    (void)unused;
    static const double betas[] = {0.02, 0.1, 0.5}, decays[] = {0.1, 0.5, 2, 8, 32, 128}, noises[] = {0.001, 0.01, 0.1};
    static double y[50][N_LEVELS];
    struct rb_level_curve curves[50];
    struct rb_level_model m;
    struct rb_stream s;
    rb_stream_init(&s, &(struct rb_stream_key){.seed = 5, .purpose = RB_DRAW_SEARCH});
    for (int i = 0; i < 50; i++) {
        draw_curve(&s, y[i]);
        curves[i] = (struct rb_level_curve){y[i], 1 + i % N_LEVELS};
    }
    rb_level_model_fit(&m, levels, N_LEVELS, curves, 50);
    double least = INFINITY;
    for (int shape = 0; shape < 54; shape++) {
        const double beta = betas[shape / 18], decay = decays[shape / 3 % 6], noise = noises[shape % 3];
        double error = 0;
        for (int known = 1; known <= N_LEVELS; known++) {
            double k[N_LEVELS][N_LEVELS], w[N_LEVELS], c[N_LEVELS], rest = 1 + decay * beta / (2 + beta);
            for (int i = 0; i < known; i++) {
                const double t = (double)levels[i] / 27;
                c[i] = w[i] = 1 + decay * beta / (t + 1 + beta);
                for (int j = 0; j < known; j++)
                    k[i][j] = 1 + decay * beta / (t + (double)levels[j] / 27 + beta) + (i == j ? noise : 0);
            }
            solve(k, w, known);
            for (int i = 0; i < known; i++) {
                error = fmax(error, fabs(w[i] - m.weight[known][i]));
                rest -= w[i] * c[i];
            }
            const double all = 1 + decay * beta / (2 + beta), v = m.sd[0] * m.sd[0] / all;
            error = fmax(error, fabs(rest * v - m.sd[known] * m.sd[known]));
        }
        least = fmin(least, error);
    }
    assert_true(least < 1e-9);
}

static void nothing_to_learn_from_is_no_error(void **unused)
{
    (void)unused;
    const double same[N_LEVELS] = {2, 2, 2, 2};
    const struct rb_level_curve curves[] = {{same, 4}, {same, 2}};
    struct rb_level_model m;
    rb_level_model_fit(&m, levels, N_LEVELS, NULL, 0);
    assert_true(m.sd[0] == 0 && isfinite(m.mean[3]));
    rb_level_model_fit(&m, levels, N_LEVELS, curves, 2);
    assert_true(m.sd[0] < 1e-6 && fabs(rb_level_model_expect(&m, same, 1) - 2) < 1e-6);
}

// ---- the tuner

// Scores that grow towards the trial's number; a few diverge.
static double score_of(int trial, int64_t resource)
{
    return trial % 11 == 7 ? -INFINITY : (double)(trial * 7 % N_TRIALS) - 20.0 / (double)resource;
}

static void it_spends_its_units_and_trains_the_best_to_the_end(void **unused)
{
    (void)unused;
    const struct rb_tuner *tuner = rb_tuner_find("freeze_thaw");
    const struct rb_setting units[] = {
        {.key = "units", .kind = RB_NODE_INT, .number = 150, .text = "150", .path = "units"}};
    const struct rb_job job = {.scheduler = {.type = "freeze_thaw",
                                             .num_trials = N_TRIALS,
                                             .min_resource = 1,
                                             .max_resource = 27,
                                             .eta = 3,
                                             .brackets = 1,
                                             .options = {.items = units, .n = 1}}};
    struct rb_group g;
    struct rb_err err;
    void *state;
    int64_t used = 0, reached[N_TRIALS] = {0};
    int n_new = 0, best_at_end = -1;
    assert_true(tuner->create(&job, &state, &err));
    enum rb_tuner_next next;
    while ((next = tuner->next(state, &g)) == RB_TUNER_GROUP) {
        const int id = g.trials[0];
        assert_int_equal(g.n_trials, 1);
        assert_int_equal(g.resource_start, reached[id]);
        assert_true(reached[id] < 27 && (reached[id] == 0 || score_of(id, 1) > -INFINITY));
        n_new += reached[id] == 0;
        used += g.resource_end - g.resource_start;
        reached[id] = g.resource_end;
        best_at_end = g.resource_end == 27 && (best_at_end < 0 || score_of(id, 27) > score_of(best_at_end, 27)) ? id : best_at_end;
        tuner->ended(state, id, g.resource_end, score_of(id, g.resource_end));
    }
    assert_int_equal(next, RB_TUNER_DONE);
    assert_true(used <= 150 && used > 120);
    assert_true(n_new > 10 && n_new <= N_TRIALS);
    assert_true(best_at_end >= 0);
    int better = 0;
    for (int i = 0; i < N_TRIALS; i++)
        better += reached[i] > 0 && score_of(i, 27) > score_of(best_at_end, 27);
    assert_true(better <= 1); // of those that began
    tuner->destroy(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_levels_predict_the_last),
        cmocka_unit_test(weights_are_those_of_a_dense_solve),
        cmocka_unit_test(nothing_to_learn_from_is_no_error),
        cmocka_unit_test(it_spends_its_units_and_trains_the_best_to_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
