// Sums of k copies of one law by characteristic functions. A density on a bounded interval is its cosine series, whose
// coefficients are values of the transform (Fang and Oosterlee, SIAM J. Sci. Comput. 31, 2008); the distribution
// function is the series summed term by term.
#include "simulator/laws/law_grid.h"

#include <float.h>
#include <math.h>

#define PI         3.14159265358979323846
#define CUT        1e-13 // probability outside the interval, on each side
#define MOST_TERMS 1024
#define SETTLED    1e-13 // of a transform: later terms are negligible
#define STEPS      14    // points per standard deviation
#define CHERNOFF   14    // exponents tried

// ---- the range of a sum

// ln E exp(t (X - mean)), every cell's probability spread evenly over it.
static double cumulant_generating(const struct rb_law *law, double mean_s, double t)
{
    const double ratio = exp(t * law->step_s), half = t * law->step_s / 2;
    double factor = 1, sum = law->below[0];
    for (int i = 0; i + 1 < law->n; i++) {
        sum += factor * (law->below[i] < 0.5 ? law->below[i + 1] - law->below[i] : law->above[i] - law->above[i + 1]);
        factor *= ratio;
    }
    return log(sum) + t * (law->low_s - mean_s) + half + half * half / 6;
}

// P(sign (sum of k copies - k mean) > returned) <= p by exponential bounds (Chernoff).
static double reach(const struct rb_law *law, double k, double p, double sign)
{
    const double deviation = sqrt(k * law->variance_s2), ln = -log(p);
    const double edge = sign > 0 ? law->low_s + law->step_s * (law->n - 1) - law->mean_s : law->mean_s - law->low_s;
    double best = k * edge, mean, variance;
    rb_law_grid_moments(law, &mean, &variance);
    double t = sqrt(2 * ln) / deviation * 1.2;
    for (int i = 0; i < CHERNOFF; i++, t *= 0.8) {
        if (t * edge > 600) // exp would overflow
            continue;
        best = fmin(best, (k * cumulant_generating(law, mean, sign * t) + ln) / t);
    }
    return fmax(best, deviation);
}

// ---- the cosine series

// A law from its transform about `center_s`, phi(j pi / width), j = 0 .. n_terms - 1: the density's cosine series on
// [center + start, center + start + width]; the probability outside must be negligible.
struct series {
    double center_s, start_s, width_s;
    int n_terms;
    double *re, *im;
};

// Coefficients of the distribution function's sine series, in place of the transform's real part.
static void to_coefficients(const struct series *s, double *out)
{
    for (int j = 1; j < s->n_terms; j++) {
        const double turn = j * PI * s->start_s / s->width_s;
        out[j] = 2 / (j * PI) * (s->re[j] * cos(turn) + s->im[j] * sin(turn));
    }
}

static struct rb_law law_of_series(const struct series *s, double step_s, double mean_s, double variance_s2,
                                   double error, struct rb_arena *arena)
{
    struct rb_arena scratch;
    rb_arena_init(&scratch);
    struct rb_law_grid grid =
        rb_law_grid_make(s->center_s + s->start_s, s->center_s + s->start_s + s->width_s, step_s, arena);
    grid.step_s = s->width_s / (grid.n - 1);
    const int period = 2 * (grid.n - 1); // sin(pi i j / (n - 1)) repeats
    double *sine = rb_arena_array(&scratch, (size_t)period, sizeof *sine);
    double *term = rb_arena_array(&scratch, (size_t)s->n_terms, sizeof *term);
    for (int i = 0; i < period; i++)
        sine[i] = sin(2 * PI * i / period);
    to_coefficients(s, term);
    for (int i = 0; i < grid.n; i++) {
        double sum = (double)i / (grid.n - 1);
        for (int j = 1, at = i; j < s->n_terms; j++) {
            sum += term[j] * sine[at];
            at += i;
            at -= at >= period ? period : 0;
        }
        grid.below[i] = fmax(0, fmin(1, sum));
        grid.above[i] = fmax(0, fmin(1, 1 - sum));
    }
    rb_arena_finish(&scratch);
    return rb_law_grid_finish(&grid, mean_s, variance_s2, 0, 0, error);
}

// ---- k copies

// phi^k of a law about its mean, until it is negligible. The grid's mean and variance differ slightly from the law's,
// and k copies would add up the differences: both are corrected.
static bool power_series(const struct rb_law *a, int64_t k, struct series *s, struct rb_arena *scratch)
{
    struct rb_law centered = *a;
    double mean, variance;
    rb_law_grid_moments(a, &mean, &variance);
    centered.low_s -= mean;
    const double omega = PI / s->width_s, spare = (a->variance_s2 - variance) / 2;
    const int finest = (int)fmin(MOST_TERMS, 0.7 * PI / (a->step_s * omega)); // beyond, the grid is inaccurate
    s->re = rb_arena_array(scratch, MOST_TERMS + 8, sizeof *s->re);
    s->im = rb_arena_array(scratch, MOST_TERMS + 8, sizeof *s->im);
    double *re = s->re, *im = s->im;
    for (int from = 0; from < finest; from += 32) {
        const int n = finest - from < 32 ? finest - from : 32;
        struct series part = {.re = re + from, .im = im + from};
        rb_law_transform_from(&centered, omega, from, n, part.re, part.im);
        for (int j = from; j < from + n; j++) {
            const double theta = j * omega, size = hypot(re[j], im[j]);
            const double ln = log(size > DBL_MIN ? size : DBL_MIN) - theta * theta * spare;
            const double power = exp((double)k * ln), turn = (double)k * atan2(im[j], re[j]);
            re[j] = power * cos(turn);
            im[j] = power * sin(turn);
            if (power < SETTLED && j > 8) {
                s->n_terms = j + 1;
                return true;
            }
        }
    }
    return false;
}

static bool sum_by_series(const struct rb_law *a, int64_t k, struct rb_arena *arena, struct rb_law *out)
{
    const double deviation = sqrt((double)k * a->variance_s2), mean = (double)k * a->mean_s;
    const double lower = fmin(reach(a, (double)k, CUT, -1), (double)k * (a->mean_s - a->low_s));
    const double upper = reach(a, (double)k, CUT, 1);
    struct series s = {.center_s = mean, .start_s = -lower, .width_s = lower + upper};
    struct rb_arena scratch;
    rb_arena_init(&scratch);
    const bool ok = power_series(a, k, &s, &scratch);
    if (ok) // the error of one copy's law, relative to its spread, shrinks in the sum: its moments are right
        *out =
            law_of_series(&s, deviation / STEPS, mean, deviation * deviation, 4 * CUT + 1e-15 * sqrt((double)k), arena);
    rb_arena_finish(&scratch);
    if (ok)
        out->error = fmin(1, out->error + a->error);
    return ok;
}

// If the transform decays too slowly (a density that jumps), pairs are smoother.
struct rb_law rb_law_sum_of(const struct rb_law *a, int64_t k, struct rb_arena *arena)
{
    struct rb_law sum;
    if (k <= 1)
        return *a;
    if (a->n == 1)
        return rb_law_times(a, (double)k, arena);
    if (sum_by_series(a, k, arena, &sum))
        return sum;
    const struct rb_law pair = rb_law_plus(a, a, arena);
    sum = rb_law_sum_of(&pair, k / 2, arena);
    return k % 2 ? rb_law_plus(&sum, a, arena) : sum;
}
