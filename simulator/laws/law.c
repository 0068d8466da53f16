// Laws from inputs, and the quantities read off a single law: probabilities, quantiles, its transform.
#include "simulator/laws/law.h"

#include "simulator/laws/law_grid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STEPS_PER_BEND       16
#define LEAST_STEPS_PER_BEND 10

// ---- from what is given

struct rb_law rb_law_constant(double seconds)
{
    static const double one = 1, zero = 0;
    return (struct rb_law){
        .low_s = seconds,
        .step_s = 1,
        .n = 1,
        .below = &one,
        .above = &zero,
        .mean_s = seconds,
        .jump = 1,
    };
}

// The scale on which the distribution function bends: its standard deviation, or the one of the nearer half if that is
// smaller, since a heavy tail increases the former.
static double bend_of(const struct rb_dist *d)
{
    const double median = rb_dist_quantile(d, 0.5);
    const double left = (median - rb_dist_quantile(d, 0.05)) / 1.645,
                 right = (rb_dist_quantile(d, 0.95) - median) / 1.645;
    double bend = sqrt(rb_dist_variance(d));
    bend = left > 0 ? fmin(bend, left) : bend;
    return right > 0 ? fmin(bend, right) : bend;
}

// Fine enough for the bend, but coarser if a long tail would need too many points.
static double step_of(const struct rb_dist *d, double range)
{
    const double bend = bend_of(d);
    return fmin(bend / LEAST_STEPS_PER_BEND, fmax(bend / STEPS_PER_BEND, range / RB_LAW_POINTS));
}

// The largest share of equal values: quantiles are linear between neighbours, so m equal ones are m - 1 steps.
static double largest_atom(const double *sorted, int n)
{
    int most = 0;
    for (int i = 1, run = 0; i < n; i++) {
        run = sorted[i] > sorted[i - 1] ? 0 : run + 1;
        most = run > most ? run : most;
    }
    return n > 1 ? (double)most / (n - 1) : 1;
}

// Compares the grid with the formula where a density may be steepest: after its beginning.
static double worst_probe(const struct rb_law *law, const struct rb_dist *d)
{
    static const double cells[] = {1e-6, 1e-4, 0.01, 0.1, 0.3, 0.5, 0.7, 1.5, 2.5, 4.5, 8.5};
    double worst = 0;
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
        const double at = law->low_s + cells[i] * law->step_s;
        worst = fmax(worst, fabs(rb_law_below(law, at) - rb_dist_cdf(d, at)));
    }
    return 1.5 * worst;
}

struct rb_law rb_law_of_dist(const struct rb_dist *d, struct rb_arena *arena)
{
    if (!(rb_dist_variance(d) > 0))
        return rb_law_constant(rb_dist_mean(d));
    const bool empirical = d->kind == RB_DIST_EMPIRICAL;
    double low = empirical ? d->values[0] : rb_dist_quantile(d, RB_LAW_BELOW);
    const double high = empirical ? d->values[d->n_values - 1] : rb_dist_quantile(d, 1 - RB_LAW_ABOVE);
    const double step = step_of(d, high - low);
    if (low < step) // the density may jump there, and a jump at a grid point is harmless
        low = 0;
    struct rb_law_grid grid = rb_law_grid_make(low, high, step, arena);
    for (int i = 0; i < grid.n; i++) {
        grid.below[i] = rb_dist_cdf(d, grid.low_s + i * grid.step_s);
        grid.above[i] = 1 - grid.below[i];
    }
    struct rb_law law = rb_law_grid_finish(&grid, rb_dist_mean(d), rb_dist_variance(d),
                                           empirical ? largest_atom(d->values, d->n_values) : 0, 0, 0);
    law.error = fmin(1, fmax(law.error, worst_probe(&law, d)));
    return law;
}

// ---- reading

// In the cell above point i, from which the cubic rises with below[i] < u: bisection, since the cubic may be flat.
// Slopes at its ends.
static double invert_cell(const struct rb_law *law, int i, double slope_from, double slope_to, double u)
{
    const bool lower = law->below[i] < 0.5;
    const double *values = lower ? law->below : law->above;
    const double sign = lower ? 1 : -1, wanted = lower ? u : 1 - u;
    const double from = sign * slope_from, to = sign * slope_to, rise = values[i + 1] - values[i];
    double left = 0, right = 1, w = (wanted - values[i]) / rise;
    for (int step = 0; step < 60 && right - left > 1e-15; step++) {
        if (!(w > left && w < right))
            w = (left + right) / 2;
        const double cubic = 3 * rise - 2 * from - to, top = from + to - 2 * rise;
        const double miss = values[i] + w * (from + w * (cubic + w * top)) - wanted;
        if (sign * miss < 0)
            left = w;
        else
            right = w;
        const double newton = w - miss / (from + w * (2 * cubic + 3 * w * top));
        if (fabs(newton - w) < 1e-14)
            break;
        w = newton;
    }
    return fmax(left, fmin(right, w));
}

static bool is_reached(const struct rb_law *law, int i, double u)
{
    return u < 0.5 ? law->below[i] >= u : law->above[i] <= 1 - u;
}

static void enter_cell(struct rb_law_reader *r, int cell)
{
    r->cell = cell;
    r->slope_from = cell < 0 ? 0 : rb_law_slope(r->law, cell);
    r->slope_to = cell < 0 ? 0 : rb_law_slope(r->law, cell + 1);
}

struct rb_law_reader rb_law_read_from(const struct rb_law *law, double u)
{
    struct rb_law_reader r = {.law = law};
    int low = -1, high = law->n - 1; // below[low] < u <= below[high]
    while (high - low > 1) {
        const int middle = low + (high - low) / 2;
        *(is_reached(law, middle, u) ? &high : &low) = middle;
    }
    enter_cell(&r, low);
    return r;
}

double rb_law_read_quantile(struct rb_law_reader *r, double u)
{
    const struct rb_law *law = r->law;
    int cell = r->cell;
    while (cell >= 0 && is_reached(law, cell, u))
        cell--;
    while (cell + 2 < law->n && !is_reached(law, cell + 1, u))
        cell++;
    if (cell != r->cell)
        enter_cell(r, cell);
    return law->low_s + law->step_s * (cell < 0 ? 0 : cell + invert_cell(law, cell, r->slope_from, r->slope_to, u));
}

// ---- transforms

#define LANES 8  // angles processed in parallel
#define SPINS 16 // between two that are computed by libm: their errors accumulate

// exp(i x) at `LANES` evenly spaced numbers x; every step advances by LANES of them.
struct spin {
    double from, apart;
    double c[LANES], s[LANES], on_c, on_s;
    int n;
};

static struct spin spin_of(double from, double apart)
{
    return (struct spin){.from = from, .apart = apart, .on_c = cos(LANES * apart), .on_s = sin(LANES * apart)};
}

static void spin(struct spin *z)
{
    const bool is_new = z->n % SPINS == 0;
    for (int l = 0; l < LANES; l++) {
        const double c = z->c[l], s = z->s[l], x = z->from + (z->n * LANES + l) * z->apart;
        z->c[l] = is_new ? cos(x) : c * z->on_c - s * z->on_s;
        z->s[l] = is_new ? sin(x) : s * z->on_c + c * z->on_s;
    }
    z->n++;
}

static double cell_mass(const struct rb_law *law, int k)
{
    return law->below[k] < 0.5 ? law->below[k + 1] - law->below[k] : law->above[k] - law->above[k + 1];
}

// Sum over k of mass[k] exp(i theta (k + 1/2)) at LANES angles theta, given by the cosine and sine of half of each:
// Horner's rule, from the last cell to the first.
static void sum_cells(const double *mass, int n, const struct spin *half, double *out_re, double *out_im)
{
    double turn_re[LANES], turn_im[LANES], re[LANES] = {0}, im[LANES] = {0};
    for (int l = 0; l < LANES; l++) {
        turn_re[l] = 1 - 2 * half->s[l] * half->s[l];
        turn_im[l] = 2 * half->s[l] * half->c[l];
    }
    for (int k = n - 1; k >= 0; k--) {
        for (int l = 0; l < LANES; l++) {
            const double x = re[l] * turn_re[l] - im[l] * turn_im[l] + mass[k];
            im[l] = re[l] * turn_im[l] + im[l] * turn_re[l];
            re[l] = x;
        }
    }
    for (int l = 0; l < LANES; l++) {
        out_re[l] = re[l] * half->c[l] - im[l] * half->s[l];
        out_im[l] = re[l] * half->s[l] + im[l] * half->c[l];
    }
}

#define COARSE_ANGLE 2.5 // radians of frequency per step, beyond which the grid only represents the law's beginning

// From the sum over cells to the transform, docs/MODEL.md "Laws". The sum is that of a density averaged over a cell and
// repeated at every multiple of 2 pi / step. The average is divided out. Of the repetitions only those matter that come
// from a jump of the density at the law's lower end, and they have a closed form. sine: of half the angle.
static void put_right(double angle, double sine, double start, double *re, double *im)
{
    const double u = angle / 2, u2 = u * u;
    if (!(u > 0))
        return;
    const double repeated = u < 0.05 ? 1.0 / 3 + u2 / 15 + 2 * u2 * u2 / 189 : 1 / (sine * sine) - 1 / u2;
    *re *= u / sine;
    *im *= u / sine;
    *im -= start * u / 2 * repeated;
}

// At high frequencies a transform is determined by the density's jump at the lower end and its slope there.
static void put_far(double angle, double start, double bend, double *re, double *im)
{
    *re = -bend / (angle * angle);
    *im = start / angle;
}

void rb_law_transform_from(const struct rb_law *law, double omega, int from, int n, double *out_re, double *out_im)
{
    const double start = law->n > 1 ? rb_law_slope(law, 0) : 0;
    const double bend = law->n > 1 ? rb_law_slope(law, 1) - start : 0;
    const int cells = law->n - 1;
    RB_AUTO(rb_auto_free) double *mass = rb_xcalloc((size_t)cells + 1, sizeof *mass);
    for (int k = 0; k < cells; k++)
        mass[k] = cell_mass(law, k);
    struct spin half = spin_of(from * omega * law->step_s / 2, omega * law->step_s / 2);
    struct spin turn = spin_of(from * omega * law->low_s, omega * law->low_s);
    for (int j = 0; j < n; j += LANES) {
        double re[LANES] = {0}, im[LANES] = {0};
        spin(&half);
        spin(&turn);
        if ((from + j) * omega * law->step_s < COARSE_ANGLE)
            sum_cells(mass, cells, &half, re, im);
        for (int l = 0; l < LANES && j + l < n; l++) {
            const double angle = (from + j + l) * omega * law->step_s;
            if (angle < COARSE_ANGLE)
                put_right(angle, half.s[l], start, &re[l], &im[l]);
            else
                put_far(angle, start, bend, &re[l], &im[l]);
            re[l] += law->below[0]; // mass at the lowest point
            out_re[j + l] = re[l] * turn.c[l] - im[l] * turn.s[l];
            out_im[j + l] = re[l] * turn.s[l] + im[l] * turn.c[l];
        }
    }
}
