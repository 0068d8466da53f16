// The trial's law on a lattice. Integrals up to an age are sums with end corrections (Gauss's formula with central
// differences, error of the sixth order in the step); whole integrals need none.
#include "simulator/list_schedule_lattice.h"

#include <math.h>
#include <string.h>

#define MAX_POINTS 4096  // of a window: beyond it a call would take longer than sampling
#define MAX_SUMS   256   // completions between the youngest and the oldest age of interest
#define DUST       1e-13 // mass per step that is not kept
#define PAD        4     // arrays are read up to here beyond their end

// ---- a law at any point

static double interpolate(const double *v, double u, double *out_slope)
{
    // Lagrange on points 0..5; slope per point.
    static const double scale[6] = {-1 / 120.0, 1 / 24.0, -1 / 12.0, 1 / 12.0, -1 / 24.0, 1 / 120.0};
    double value = 0, slope = 0;
    for (int i = 0; i < 6; i++) {
        double product = 1, derivative = 0;
        for (int j = 0; j < 6; j++) {
            if (j != i) {
                derivative = derivative * (u - j) + product;
                product *= u - j;
            }
        }
        value += scale[i] * v[i] * product;
        slope += scale[i] * v[i] * derivative;
    }
    *out_slope = slope;
    return value;
}

struct point {
    double below, above, density;
};

static struct point sample(const struct rb_law *law, double x)
{
    const double u = (x - law->low_s) / law->step_s;
    if (u <= 0 || u >= law->n - 1)
        return (struct point){.below = u <= 0 ? 0 : 1, .above = u <= 0 ? 1 : 0};
    int i = (int)u - 2;
    if (i > law->n - 6)
        i = law->n - 6;
    if (i < 0)
        i = 0;
    const bool lower = law->below[(int)u] < 0.5;
    double slope;
    double part = interpolate((lower ? law->below : law->above) + i, u - i, &slope);
    part = part < 0 ? 0 : part > 1 ? 1 : part;
    slope = (lower ? slope : -slope) / law->step_s;
    return (struct point){
        .below = lower ? part : 1 - part, .above = lower ? 1 - part : part, .density = slope < 0 ? 0 : slope};
}

bool rb_lattice_rough(const struct rb_law *law)
{
    return law->below[1] > 1e-4 * law->step_s / sqrt(law->variance_s2);
}

bool rb_lattice_narrow(const struct rb_law *law, double step_s)
{
    return sqrt(law->variance_s2) < 1.2 * step_s;
}

// Integral of P(X <= x) up to the points from..from+n-1: Simpson's rule on every cell, and the law's own cells inside.
static void integrate(const struct rb_law *law, double step_s, int from, int n, double *out)
{
    double sum = 0, x = from * step_s, below = sample(law, x).below;
    for (int i = 0; i < n; i++) {
        out[i] = sum;
        const double end = (from + i + 1) * step_s;
        const int parts = 1 + (int)(step_s / law->step_s);
        const double begin = x, h = (end - begin) / parts;
        for (int j = 1; j <= parts; j++) {
            const double next = sample(law, begin + j * h).below;
            sum += h / 6 * (below + 4 * sample(law, begin + (j - 0.5) * h).below + next);
            below = next;
        }
        x = end;
    }
}

static void project(const struct rb_law *law, double step_s, int n, double *out, struct rb_arena *arena)
{
    double *first = rb_arena_array(arena, (size_t)n + 4, sizeof *first); // points -2..n+1
    double *hat = rb_arena_array(arena, (size_t)n + 2, sizeof *hat);     // points -1..n
    integrate(law, step_s, -2, n + 4, first);
    for (int i = 0; i < n + 2; i++)
        hat[i] = (first[i + 2] - 2 * first[i + 1] + first[i]) / (step_s * step_s);
    for (int i = 0; i < n; i++)
        out[i] = hat[i + 1] - (hat[i + 2] - 2 * hat[i + 1] + hat[i]) / 12;
    out[0] -= hat[1] / 12; // what falls on point -1 belongs to 0
}

void rb_lattice_sample(const struct rb_law *law, double step_s, int n, double *out_below, double *out_above,
                       double *out_density, struct rb_arena *arena)
{
    for (int i = 0; i < n; i++) {
        const struct point p = sample(law, i * step_s);
        out_below[i] = p.below;
        out_above[i] = p.above;
        out_density[i] = p.density;
    }
    if (rb_lattice_rough(law) || rb_lattice_narrow(law, step_s))
        project(law, step_s, n, out_density, arena);
}

double rb_trial_lattice_below(const struct rb_trial_lattice *l, int point)
{
    return point < 0 ? 0 : point > l->last ? 1 : l->below[point];
}

double rb_trial_lattice_above(const struct rb_trial_lattice *l, int point)
{
    return point < 0 ? 1 : point > l->last ? 0 : l->above[point];
}

static bool sample_trial(const struct rb_law *trial, double tail, struct rb_arena *arena, struct rb_trial_lattice *l,
                         const char **out_why)
{
    int high = trial->n - 1;
    while (high > 1 && trial->above[high - 1] < tail)
        high--;
    const double last = ceil((trial->low_s + high * trial->step_s) / l->step_s);
    if (last - trial->low_s / l->step_s > MAX_POINTS || last > 64 * MAX_POINTS) {
        *out_why = "the trial's time spreads too little for its length, or its tail is too long";
        return false;
    }
    l->last = (int)last;
    l->below = rb_arena_array(arena, (size_t)l->last + 1, sizeof *l->below);
    l->above = rb_arena_array(arena, (size_t)l->last + 1, sizeof *l->above);
    l->density = rb_arena_array(arena, (size_t)l->last + 1, sizeof *l->density);
    rb_lattice_sample(trial, l->step_s, l->last + 1, l->below, l->above, l->density, arena);
    for (l->first = 0; l->first < l->last && fabs(l->density[l->first]) * l->step_s < DUST;)
        l->first++;
    return true;
}

// ---- sums

// out[i + j] += a[i] * b[j]; the inner loop runs in fours so that any compiler puts it into vectors.
static void convolve(const double *a, int n_a, const double *b, int n_b, double factor, double *out)
{
    for (int i = 0; i < n_a; i++) {
        const double x = factor * a[i];
        for (int j = 0; j < n_b; j += PAD) {
            for (int k = 0; k < PAD; k++)
                out[i + j + k] += x * b[j + k];
        }
    }
}

static struct rb_trial_sum sum_of(const struct rb_trial_lattice *l, const struct rb_trial_sum *a,
                                  const struct rb_trial_sum *b, int limit, struct rb_arena *arena)
{
    struct rb_trial_sum s = {.first = a->first + b->first, .last = a->last + b->last};
    if (a->last < a->first || b->last < b->first || s.first > limit)
        return (struct rb_trial_sum){.first = 0, .last = -1};
    const int n_a = a->last - a->first + 1, n_b = b->last - b->first + 1;
    s.density = rb_arena_array(arena, (size_t)(n_a + n_b + 2 * PAD), sizeof *s.density);
    convolve(a->density, n_a, b->density, n_b, l->step_s, s.density);
    if (s.last > limit)
        s.last = limit;
    while (s.last >= s.first && fabs(s.density[s.last - s.first]) * l->step_s < DUST)
        s.last--;
    while (s.first < s.last && fabs(s.density[0]) * l->step_s < DUST) {
        s.first++;
        s.density++;
    }
    // Beyond the window the array is read as zeros.
    for (int i = s.last - s.first + 1; i < s.last - s.first + 1 + PAD; i++)
        s.density[i] = 0;
    return s;
}

static struct rb_trial_sum power_of(const struct rb_trial_lattice *l, const struct rb_trial_sum *one, int k, int limit,
                                    struct rb_arena *arena)
{
    if (k == 1)
        return *one;
    const struct rb_trial_sum half = power_of(l, one, k / 2, limit, arena);
    const struct rb_trial_sum even = sum_of(l, &half, &half, limit, arena);
    return k % 2 ? sum_of(l, &even, one, limit, arena) : even;
}

// Integral up to point i of what h tabulates, the plain sum up to and with i being given.
static double integral_to(const double *h, double sum, double step)
{
    const double d1 = (h[1] - h[-1]) / 2, d3 = (h[2] - 2 * h[1] + 2 * h[-1] - h[-2]) / 2;
    return step * (sum - h[0] / 2 - d1 / 12 + 11 * d3 / 720);
}

static void accumulate(struct rb_trial_lattice *l, struct rb_trial_sum *s, struct rb_arena *arena)
{
    const int n = s->last - s->first + 1;
    if (n <= 0)
        return;
    double *h = l->products + PAD, sum = 0;
    memset(l->products, 0, PAD * sizeof *h);
    memcpy(h, s->density, (size_t)n * sizeof *h);
    memset(h + n, 0, PAD * sizeof *h);
    s->below = rb_arena_array(arena, (size_t)n, sizeof *s->below);
    for (int i = 0; i < n; i++) {
        sum += h[i];
        const double p = integral_to(h + i, sum, l->step_s);
        s->below[i] = p < 0 ? 0 : p > 1 ? 1 : p;
    }
}

static int fewest_completions(const struct rb_law *trial, double age_s)
{
    // Nine standard deviations below the mean: sums of so many terms are close to normal.
    const double mean = trial->mean_s, sd = sqrt(trial->variance_s2);
    int k = (int)(age_s / mean);
    while (k > 0 && k * mean + 9 * sd * sqrt(k) > age_s)
        k--;
    return k < 8 ? 0 : k;
}

static bool make_sums(const struct rb_law *trial, int min_age, struct rb_arena *arena, struct rb_trial_lattice *l,
                      const char **out_why)
{
    const int limit = l->max_age + 2, points = l->last - l->first + 1;
    struct rb_trial_sum one = {.first = l->first, .last = l->last < limit ? l->last : limit}, top = {.last = -1};
    one.density = rb_arena_array(arena, (size_t)points + 2 * PAD, sizeof *one.density);
    if (one.last >= one.first)
        memcpy(one.density, l->density + l->first, (size_t)(one.last - one.first + 1) * sizeof *one.density);
    l->min_k = fewest_completions(trial, min_age * l->step_s);
    const double widest =
        points + 16 * sqrt(trial->variance_s2) / l->step_s * sqrt(l->max_age * l->step_s / trial->mean_s + 1);
    if (widest > 2 * MAX_POINTS) {
        *out_why = "too many waves for so fine a lattice";
        return false;
    }
    l->sums = rb_arena_array(arena, MAX_SUMS, sizeof *l->sums);
    int n = 0;
    if (l->min_k == 0)
        l->sums[n++] = top; // of no durations: an atom at 0, never looked up
    for (;; n++) {
        if (n == MAX_SUMS) {
            *out_why = "too many waves with too wide a spread";
            return false;
        }
        const int k = l->min_k + n;
        top = k == 1 ? one : n == 0 ? power_of(l, &one, k, limit, arena) : sum_of(l, &top, &one, limit, arena);
        l->sums[n] = top;
        if (top.last < top.first)
            break;
    }
    l->max_k = l->min_k + n - 1;
    int most = 1;
    for (int i = 0; i <= n; i++) {
        const int width = l->sums[i].last - l->sums[i].first + 1;
        most = width > most ? width : most;
    }
    l->products = rb_arena_array(arena, (size_t)(most + 2 * PAD), sizeof *l->products);
    for (int i = 0; i <= n; i++)
        accumulate(l, &l->sums[i], arena);
    return true;
}

bool rb_trial_lattice_make(const struct rb_law *trial, double step_s, int min_age, int max_age, double tail,
                           struct rb_arena *arena, struct rb_trial_lattice *out, const char **out_why)
{
    struct rb_trial_lattice l = {.step_s = step_s, .min_age = min_age, .max_age = max_age};
    if (!sample_trial(trial, tail, arena, &l, out_why) || !make_sums(trial, min_age, arena, &l, out_why))
        return false;
    *out = l;
    return true;
}

// ---- what a slot has done

static double sum_below(const struct rb_trial_sum *s, int age)
{
    return age < s->first || s->last < s->first ? 0 : age > s->last ? 1 : s->below[age - s->first];
}

static void none_completed(const struct rb_trial_lattice *l, int t, int from, int to, double *out, int stride)
{
    for (int a = from; a <= to; a++) {
        const double p = rb_trial_lattice_below(l, a) < 0.5
                             ? rb_trial_lattice_below(l, t) - rb_trial_lattice_below(l, a)
                             : rb_trial_lattice_above(l, a) - rb_trial_lattice_above(l, t);
        out[(size_t)(a - from) * stride] = p;
    }
}

// The k-th completion by a and the next by t, less the next by a.
static void some_completed(const struct rb_trial_lattice *l, const struct rb_trial_sum *s,
                           const struct rb_trial_sum *next, int t, int from, int to, double *out, int stride)
{
    const int n = s->last - s->first + 1;
    double *h = l->products + PAD;
    for (int i = 0; i < n; i++)
        h[i] = s->density[i] * rb_trial_lattice_below(l, t - s->first - i);
    memset(h - PAD, 0, PAD * sizeof *h);
    memset(h + n, 0, PAD * sizeof *h);
    double sum = 0;
    int i = 0;
    for (int a = from; a <= to; a++) {
        for (; i <= a - s->first && i < n; i++)
            sum += h[i];
        const int at = a - s->first;
        const double both = at < 0 ? 0 : at < n ? integral_to(h + at, sum, l->step_s) : l->step_s * sum;
        const double p = both - sum_below(next, a);
        out[(size_t)(a - from) * stride] = p > 0 ? p : 0;
    }
}

void rb_trial_lattice_chances(const struct rb_trial_lattice *l, int t, int from, int to, double *out, int stride)
{
    for (int k = l->min_k; k <= l->max_k; k++) {
        const struct rb_trial_sum *s = &l->sums[k - l->min_k];
        if (k == 0)
            none_completed(l, t, from, to, out, stride);
        else
            some_completed(l, s, s + 1, t, from, to, out + (k - l->min_k), stride);
    }
}

void rb_trial_lattice_starts(const struct rb_trial_lattice *l, int age, double *out_mean, double *out_variance)
{
    double mean = l->min_k, square = (double)l->min_k * l->min_k; // starts 1..min_k are certain
    for (int k = l->min_k; k <= l->max_k; k++) {
        const double p = k == 0 ? 1 : sum_below(&l->sums[k - l->min_k], age);
        mean += p;
        square += (2 * k + 1) * p;
    }
    *out_mean = mean;
    *out_variance = square - mean * mean;
}
