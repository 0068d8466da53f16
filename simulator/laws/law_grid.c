#include "simulator/laws/law_grid.h"

#include <math.h>

struct rb_law_grid rb_law_grid_make(double low_s, double high_s, double step_s, struct rb_arena *arena)
{
    const double range = high_s - low_s;
    double cells = ceil(range / step_s - 1e-9);
    if (!(cells <= RB_LAW_POINTS_HEAVY - 1))
        cells = RB_LAW_POINTS_HEAVY - 1;
    if (cells < RB_LAW_LEAST_POINTS - 1)
        cells = RB_LAW_LEAST_POINTS - 1;
    struct rb_law_grid grid = {.low_s = low_s, .n = (int)cells + 1};
    // An exact multiple of the step is kept if it fits: sums then share the grid of their terms.
    grid.step_s = step_s * cells >= range && step_s * (cells - 1) < range ? step_s : range / cells;
    grid.below = rb_arena_array(arena, (size_t)grid.n, sizeof *grid.below);
    grid.above = rb_arena_array(arena, (size_t)grid.n, sizeof *grid.above);
    return grid;
}

// ---- slopes

// Derivatives of the polynomial through five points, at each of them, times 12.
static const double derivative_weights[5][5] = {
    {-25, 48, -36, 16, -3}, {-3, -10, 18, -6, 1}, {1, -8, 0, 8, -1}, {-1, 6, -18, 10, 3}, {3, -16, 36, -48, 25},
};

// Slope at point i of n values spaced by `stride`, in the array that is small there.
static double slope_of(const struct rb_law *law, int i, int stride, int n)
{
    const bool lower = law->below[i * stride] < 0.5;
    const double *values = lower ? law->below : law->above;
    const double sign = lower ? 1 : -1;
    const int start = i < 2 ? 0 : i > n - 3 ? n - 5 : i - 2;
    const double *v = values + start * stride, *w = derivative_weights[i - start];
    double slope = 0, most = INFINITY;
    for (int j = 0; j < 5; j++)
        slope += w[j] * v[j * stride];
    slope *= sign / 12;
    const double *here = values + i * stride;
    if (i > 0)
        most = sign * (here[0] - here[-stride]);
    if (i < n - 1)
        most = fmin(most, sign * (here[stride] - here[0]));
    return fmax(0, fmin(slope, 3 * most)); // Fritsch and Carlson (1980): a cubic with such slopes never falls
}

double rb_law_slope(const struct rb_law *law, int i)
{
    return slope_of(law, i, 1, law->n);
}

static double hermite(double from, double to, double slope_from, double slope_to, double w)
{
    const double rise = to - from;
    return from +
           w * (slope_from + w * (3 * rise - 2 * slope_from - slope_to + w * (slope_from + slope_to - 2 * rise)));
}

struct rb_law_curve rb_law_curve_make(const struct rb_law *law, struct rb_arena *scratch)
{
    struct rb_law_curve curve = {law, rb_arena_array(scratch, (size_t)law->n, sizeof *curve.slope)};
    for (int i = 0; law->n > 1 && i < law->n; i++)
        curve.slope[i] = rb_law_slope(law, i);
    return curve;
}

// P(X <= x) if `below`, else P(X > x): a cubic in one of the two tails. slope NULL: not yet computed.
static double tail_at(const struct rb_law *law, const double *slope, double seconds, bool below)
{
    const double at = (seconds - law->low_s) / law->step_s;
    if (!(at >= 0))
        return below ? 0 : 1;
    if (at >= law->n - 1)
        return below ? 1 : 0;
    const int i = (int)at;
    const double from = slope ? slope[i] : rb_law_slope(law, i), to = slope ? slope[i + 1] : rb_law_slope(law, i + 1);
    const bool in_lower = law->below[i] < 0.5;
    const double tail = in_lower ? hermite(law->below[i], law->below[i + 1], from, to, at - i)
                                 : hermite(law->above[i], law->above[i + 1], -from, -to, at - i);
    return in_lower == below ? tail : 1 - tail;
}

double rb_law_below(const struct rb_law *law, double seconds)
{
    return tail_at(law, NULL, seconds, true);
}

double rb_law_curve_below(const struct rb_law_curve *curve, double seconds)
{
    return tail_at(curve->law, curve->slope, seconds, true);
}

double rb_law_curve_above(const struct rb_law_curve *curve, double seconds)
{
    return tail_at(curve->law, curve->slope, seconds, false);
}

// ---- finishing

// Mean and second moment about the lowest point are integrals of P(X > x) and 2 x P(X > x): the trapezoid rule with the
// first Euler-Maclaurin term, which is the only one for a law that begins with a jump of its density.
void rb_law_grid_moments(const struct rb_law *law, double *out_mean_s, double *out_variance_s2)
{
    double first = 0, second = 0;
    for (int i = 1; i < law->n - 1; i++) {
        first += law->above[i];
        second += 2.0 * i * law->above[i];
    }
    const double start = law->n > 1 ? rb_law_slope(law, 0) / 12 : 0;
    const double mean = first + law->above[0] / 2 - start;
    *out_mean_s = law->low_s + law->step_s * mean;
    *out_variance_s2 = law->step_s * law->step_s * fmax(0, second + law->above[0] / 6 - mean * mean);
}

// Interpolation error: with every second point only, the error at the others is 16 times as large if the law is smooth,
// and twice as large if its density jumps. The factor 8 is in between, and the maximum is taken.
static double error_between_points(const struct rb_law *law)
{
    const int n = (law->n + 1) / 2;
    double most = 0;
    if (n < 5)
        return 1;
    double slope = slope_of(law, 0, 2, n);
    for (int i = 0; i + 1 < n; i++) {
        const double next = slope_of(law, i + 1, 2, n);
        const int at = 2 * i;
        const double *values = law->below[at] < 0.5 ? law->below : law->above;
        const double sign = law->below[at] < 0.5 ? 1 : -1;
        const double guess = hermite(values[at], values[at + 2], sign * slope, sign * next, 0.5);
        most = fmax(most, fabs(guess - values[at + 1]));
        slope = next;
    }
    return most / 8;
}

static void cut_ends(struct rb_law_grid *grid)
{
    int first = 0, last = grid->n - 1;
    while (last - first >= RB_LAW_LEAST_POINTS && grid->below[first + 1] < RB_LAW_BELOW)
        first++;
    while (last - first >= RB_LAW_LEAST_POINTS && grid->above[last - 1] < RB_LAW_ABOVE)
        last--;
    grid->low_s += first * grid->step_s;
    grid->n = last - first + 1;
    grid->below += first;
    grid->above += first;
}

// Both arrays have only rounding errors; the larger value is the complement of the smaller.
static void order(struct rb_law_grid *grid)
{
    int middle = 0;
    while (middle < grid->n && grid->below[middle] < 0.5)
        middle++;
    for (int i = 0; i < middle; i++) {
        grid->below[i] = fmax(grid->below[i], i > 0 ? grid->below[i - 1] : 0);
        grid->above[i] = 1 - grid->below[i];
    }
    grid->above[grid->n - 1] = 0;
    grid->below[grid->n - 1] = 1;
    for (int i = grid->n - 2; i >= middle; i--) {
        grid->above[i] = fmin(0.5, fmax(grid->above[i], grid->above[i + 1]));
        grid->below[i] = 1 - grid->above[i];
    }
}

struct rb_law rb_law_grid_finish(struct rb_law_grid *grid, double mean_s, double variance_s2, double jump, double error,
                                 double tail_error)
{
    cut_ends(grid);
    order(grid);
    struct rb_law law = {
        .low_s = grid->low_s,
        .step_s = grid->step_s,
        .n = grid->n,
        .below = grid->below,
        .above = grid->above,
        .jump = jump,
    };
    double mean, variance;
    rb_law_grid_moments(&law, &mean, &variance);
    law.mean_s = isnan(mean_s) ? mean : mean_s;
    law.variance_s2 = isnan(variance_s2) ? variance : variance_s2;
    law.tail_error = fmin(1, tail_error + RB_LAW_ABOVE);
    // An atom between two points is spread over the cell.
    law.error = fmin(1, fmax(jump, error_between_points(&law)) + error + law.tail_error);
    return law;
}
