// The Gaussian process against a dense solution by elimination, its growing factor against one built at once,
// expected improvement against sampling.
#include "toy.h"

#include "samplers/draws.h"
#include "samplers/model/gp_fit.h"
#include "samplers/model/gp_region.h"
#include "samplers/model/normal.h"

#define N 40

static const int64_t levels[] = {1, 3, 9};

struct data {
    double u[N][4];
    int level[N];
    double y[N];
};

static void make_data(struct data *d, const struct rb_coordinates *c)
{
    struct rb_stream s = test_stream(10, 0);
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < c->n; j++)
            d->u[i][j] = rb_stream_uniform(&s);
        rb_coordinates_settle(c, d->u[i]);
        d->level[i] = i % 3;
        d->y[i] = rb_draws_normal(&s);
    }
}

static const struct rb_gp_hyper hyper = {
    .length = {0.4, 0.7, 0.9, 1.3}, .level_length = 0.6, .level_share = 0.35, .noise = 0.2};

// ---- the same by the definitions: features, kernel, Gauss-Jordan

static double matern(double r)
{
    return (1 + sqrt(5) * r + 5 * r * r / 3) * exp(-sqrt(5) * r);
}

static double kernel(const double *a, int la, const double *b, int lb)
{
    double sum = 0;
    for (int j = 0; j < 2; j++)
        sum += pow((a[j] - b[j]) / hyper.length[j], 2);
    if ((int)(a[2] * 3) != (int)(b[2] * 3)) // two one-hot features differ by 1/sqrt(2)
        sum += 2 * 0.5 / pow(hyper.length[2], 2);
    const double da = isnan(a[3]) ? 0.5 : a[3], db = isnan(b[3]) ? 0.5 : b[3];
    sum += pow((da - db) / hyper.length[3], 2);
    const double t = (log((double)levels[la]) - log((double)levels[lb])) / log(9);
    return matern(sqrt(sum)) * (1 - hyper.level_share + hyper.level_share * matern(fabs(t) / hyper.level_length));
}

// Solves A X = B for m right-hand sides with pivoting; returns ln |A|.
static double eliminate(double *a, int n, double *b, int m)
{
    double log_det = 0;
    for (int k = 0; k < n; k++) {
        int pivot = k;
        for (int i = k + 1; i < n; i++)
            if (fabs(a[i * n + k]) > fabs(a[pivot * n + k]))
                pivot = i;
        for (int j = 0; j < n; j++) {
            const double x = a[k * n + j];
            a[k * n + j] = a[pivot * n + j];
            a[pivot * n + j] = x;
        }
        for (int j = 0; j < m; j++) {
            const double x = b[k * m + j];
            b[k * m + j] = b[pivot * m + j];
            b[pivot * m + j] = x;
        }
        log_det += log(fabs(a[k * n + k]));
        for (int i = 0; i < n; i++) {
            const double f = i == k ? 0 : a[i * n + k] / a[k * n + k];
            for (int j = 0; j < n && i != k; j++)
                a[i * n + j] -= f * a[k * n + j];
            for (int j = 0; j < m && i != k; j++)
                b[i * m + j] -= f * b[k * m + j];
        }
    }
    for (int k = 0; k < n; k++)
        for (int j = 0; j < m; j++)
            b[k * m + j] /= a[k * n + k];
    return log_det;
}

static void fill(double *a, const struct data *d, int n)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            a[i * n + j] = kernel(d->u[i], d->level[i], d->u[j], d->level[j]) + (i == j) * hyper.noise * hyper.noise;
}

static void open_model(struct toy *t, struct rb_gp *gp, struct data *d, int n)
{
    toy_open(t, toy_parameters, "gp", 1);
    rb_gp_init(gp, rb_search_coordinates(t->search), levels, 3, 2 * N);
    make_data(d, rb_search_coordinates(t->search));
    rb_gp_set(gp, &hyper);
    for (int i = 0; i < n; i++)
        assert_true(rb_gp_add(gp, i, d->u[i], d->level[i], 1));
}

static void predictions_are_those_of_a_dense_solution(void **state)
{
    (void)state;
    enum { KNOWN = 30, M = 5 };
    struct toy t;
    struct rb_gp gp;
    struct data d;
    double a[KNOWN * KNOWN], b[KNOWN * (M + 1)], mean[M], sd[M];
    const double *points[M];
    open_model(&t, &gp, &d, KNOWN);
    rb_gp_condition(&gp, d.y, KNOWN);
    for (int c = 0; c < M; c++)
        points[c] = d.u[KNOWN + c];
    rb_gp_predict(&gp, points, M, 2, mean, sd);
    fill(a, &d, KNOWN);
    for (int i = 0; i < KNOWN; i++) {
        for (int c = 0; c < M; c++)
            b[i * (M + 1) + c] = kernel(d.u[i], d.level[i], points[c], 2);
        b[i * (M + 1) + M] = d.y[i];
    }
    const double log_det = eliminate(a, KNOWN, b, M + 1);
    double quadratic = 0;
    for (int i = 0; i < KNOWN; i++)
        quadratic += d.y[i] * b[i * (M + 1) + M];
    assert_near(gp.scale, sqrt(quadratic / KNOWN), 1e-9);
    assert_near(rb_gp_log_likelihood(&gp), -0.5 * KNOWN * log(quadratic / KNOWN) - 0.5 * log_det, 1e-9);
    for (int c = 0; c < M; c++) {
        double m = 0, v = 1;
        for (int i = 0; i < KNOWN; i++) {
            const double k = kernel(d.u[i], d.level[i], points[c], 2);
            m += k * b[i * (M + 1) + M];
            v -= k * b[i * (M + 1) + c];
        }
        assert_true(fabs(mean[c] - m) < 1e-9);
        assert_true(fabs(sd[c] - gp.scale * sqrt(v)) < 1e-9);
    }
    rb_gp_finish(&gp);
    toy_close(&t);
}

// Rows without a score have the same effect as rows whose score is their predicted mean.
static void a_believed_point_moves_no_mean(void **state)
{
    (void)state;
    enum { KNOWN = 25, MORE = 5 };
    struct toy t;
    struct rb_gp gp;
    struct data d;
    double mean[2], sd[2], believed[MORE], unused[MORE], m[2], s[2], y[KNOWN + MORE];
    const double *points[] = {d.u[35], d.u[36]}, *more[MORE];
    open_model(&t, &gp, &d, KNOWN);
    rb_gp_condition(&gp, d.y, KNOWN);
    for (int i = 0; i < MORE; i++)
        more[i] = d.u[KNOWN + i];
    rb_gp_predict(&gp, more, MORE, 1, believed, unused);
    for (int i = 0; i < MORE; i++)
        rb_gp_add(&gp, KNOWN + i, more[i], 1, 1);
    rb_gp_predict(&gp, points, 2, 2, mean, sd);
    for (int i = 0; i < KNOWN + MORE; i++)
        y[i] = i < KNOWN ? d.y[i] : believed[i - KNOWN];
    const double scale = gp.scale;
    rb_gp_condition(&gp, y, KNOWN + MORE);
    rb_gp_predict(&gp, points, 2, 2, m, s);
    for (int i = 0; i < 2; i++) {
        assert_true(fabs(m[i] - mean[i]) < 1e-9);
        assert_true(fabs(s[i] / gp.scale - sd[i] / scale) < 1e-9);
    }
    rb_gp_finish(&gp);
    toy_close(&t);
}

static void a_model_that_grew_equals_one_built_at_once(void **state)
{
    (void)state;
    struct toy t;
    struct rb_gp gp, grown;
    struct data d;
    int keys[N];
    open_model(&t, &gp, &d, N);
    rb_gp_init(&grown, gp.coordinates, levels, 3, 2 * N);
    rb_gp_set(&grown, &hyper);
    for (int i = 0; i < N; i++)
        keys[i] = i;
    for (int i = 0; i < N; i++) {
        for (int k = grown.factor.n; k < i; k++)
            rb_gp_add(&grown, k, d.u[k], d.level[k], 1);
        rb_gp_add(&grown, 1000 + i, d.u[(i * 7) % N], 0, 1); // a trial that trains
        rb_gp_keep_common(&grown, keys, i > 3 ? i - i % 3 : i);
    }
    for (int k = grown.factor.n; k < N; k++)
        rb_gp_add(&grown, k, d.u[k], d.level[k], 1);
    for (int j = 0; j < N; j++)
        for (int i = j; i < N; i++)
            assert_true(gp.factor.l[j * gp.factor.cap + i] == grown.factor.l[j * grown.factor.cap + i]);
    rb_gp_finish(&gp);
    rb_gp_finish(&grown);
    toy_close(&t);
}

static void expected_improvement_is_what_sampling_finds(void **state)
{
    (void)state;
    static const struct {
        double mean, sd, best;
    } cases[] = {{0, 1, 0}, {1, 0.5, 0.2}, {-1, 0.7, 0.5}, {0.3, 2, 1}};
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct rb_stream s = test_stream(11, (uint32_t)i);
        double sum = 0, squares = 0;
        const int n = 200000;
        for (int k = 0; k < n; k++) {
            const double gain = fmax(0, cases[i].mean + cases[i].sd * rb_draws_normal(&s) - cases[i].best);
            sum += gain / n;
            squares += gain * gain / n;
        }
        const double error = sqrt((squares - sum * sum) / n);
        const double ei = exp(rb_log_expected_improvement(cases[i].mean, cases[i].sd, cases[i].best));
        assert_true(fabs(ei - sum) < 4 * error);
    }
}

// Where z Phi(z) + phi(z) cancels the asymptote continues it: the slope stays, and values order.
static void the_logarithm_of_a_small_improvement_is_smooth(void **state)
{
    (void)state;
    const double above = rb_log_expected_improvement(-5 + 1e-6, 1, 0),
                 below = rb_log_expected_improvement(-5 - 1e-6, 1, 0);
    assert_true(fabs(above - below) < 2e-3);
    double last = rb_log_expected_improvement(-60, 1, 0);
    for (double z = -59; z < 3; z += 0.25) {
        const double value = rb_log_expected_improvement(z, 1, 0);
        assert_true(isfinite(value) && value > last);
        last = value;
    }
}

static void scores_are_quantiles_of_ranks(void **state)
{
    (void)state;
    const double values[] = {3, -INFINITY, 7, 3, -INFINITY};
    double scores[5];
    struct rb_arena arena;
    rb_arena_init(&arena);
    rb_normal_scores(values, 5, &arena, scores);
    assert_near(scores[2], rb_normal_quantile(0.9), 1e-12);
    assert_near(scores[0], rb_normal_quantile(0.6), 1e-12);
    assert_near(scores[1], rb_normal_quantile(0.2), 1e-12);
    assert_true(scores[0] == scores[3] && scores[1] == scores[4]);
    rb_arena_finish(&arena);
}

// ---- the trust region

static void add_first_result(struct rb_history *h, double score)
{
    const double u[2] = {0};
    const int place = rb_history_begin(h, h->n_trials, u, 1);
    rb_history_report(h, place, 1, score);
    rb_history_report(h, place, 3, 100); // later results of the trial do not matter
}

static void the_region_grows_with_successes_and_shrinks_with_failures(void **state)
{
    (void)state;
    struct rb_history h;
    rb_history_init(&h, 2, levels, 3);
    assert_near(rb_region_length(&h), 0.8, 1e-12);
    for (int i = 0; i < 3; i++)
        add_first_result(&h, i);
    assert_near(rb_region_length(&h), 1.6, 1e-12);
    for (int i = 0; i < 8; i++) // twice the number that shrinks it
        add_first_result(&h, 0);
    assert_near(rb_region_length(&h), 0.4, 1e-12);
    for (int i = 0; i < 4 * 6; i++)
        add_first_result(&h, 0);
    assert_near(rb_region_length(&h), 0.8, 1e-12); // below 2^-7 it begins again
    rb_history_finish(&h);
}

static void draws_stay_in_the_region(void **state)
{
    (void)state;
    struct toy t;
    struct rb_stream s = test_stream(12, 0);
    const double centre[4] = {0.5, 0.95, 1 / 6.0, NAN};
    double u[4], widest = 0;
    toy_open(&t, toy_parameters, "gp", 1);
    const double mean = pow(0.4 * 0.7 * 0.9 * 1.3, 0.25);
    for (int i = 0; i < 2000; i++) {
        rb_region_draw(rb_search_coordinates(t.search), &hyper, centre, 0.2, &s, u);
        assert_true(fabs(u[0] - 0.5) <= 0.1 * 0.4 / mean && u[1] <= 1 && u[1] >= 0.95 - 0.1 * 0.7 / mean);
        assert_true(u[3] >= 0 && u[3] <= 1);
        widest = fmax(widest, fabs(u[0] - 0.5));
    }
    assert_true(widest > 0.09 * 0.4 / mean);
    toy_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(predictions_are_those_of_a_dense_solution),
        cmocka_unit_test(a_believed_point_moves_no_mean),
        cmocka_unit_test(a_model_that_grew_equals_one_built_at_once),
        cmocka_unit_test(expected_improvement_is_what_sampling_finds),
        cmocka_unit_test(the_logarithm_of_a_small_improvement_is_smooth),
        cmocka_unit_test(scores_are_quantiles_of_ranks),
        cmocka_unit_test(the_region_grows_with_successes_and_shrinks_with_failures),
        cmocka_unit_test(draws_stay_in_the_region),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
