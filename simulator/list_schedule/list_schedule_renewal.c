// Integrals up to an age are sums with end corrections (Gauss's formula with central differences, error of the sixth order
// in the step); whole integrals need none.
#include "simulator/list_schedule/list_schedule_renewal.h"

#include <math.h>
#include <string.h>

#define MAX_POINTS 8192 // of a sum: beyond it a call would take longer than sampling
#define MAX_SUMS   256  // completions between the youngest and the oldest age of interest
#define DUST       1e-2 // times the chance that is of no interest: mass per step that is not kept
#define PAD        4    // arrays are read up to here beyond their end

// ---- sums

static bool is_empty(const struct rb_renewal_sum *s)
{
    return s->last < s->first;
}

// Beyond the window the array is read as zeros.
static void trim(struct rb_renewal_sum *s, double least, int limit)
{
    const int end = s->last;
    if (s->last > limit)
        s->last = limit;
    while (s->last >= s->first && fabs(s->density[s->last - s->first]) < least)
        s->last--;
    for (int i = s->last + 1; i <= end && i <= s->last + PAD; i++)
        s->density[i - s->first] = 0;
    while (s->first < s->last && fabs(s->density[0]) < least) {
        s->first++;
        s->density++;
    }
}

// A copy with a tile of zeros on either side.
static double *padded(const struct rb_renewal_sum *s, struct rb_arena *arena)
{
    const int n = s->last - s->first + 1;
    double *copy = rb_arena_array(arena, (size_t)(n + 2 * RB_CONVOLVE_TILE), sizeof *copy);
    return memcpy(copy + RB_CONVOLVE_TILE, s->density, (size_t)n * sizeof *copy);
}

static struct rb_renewal_sum sum_of(const struct rb_renewal *r, const struct rb_renewal_sum *a,
                                    const struct rb_renewal_sum *b, int limit, struct rb_arena *arena)
{
    struct rb_renewal_sum s = {.first = a->first + b->first, .last = a->last + b->last};
    if (is_empty(a) || is_empty(b) || s.first > limit)
        return (struct rb_renewal_sum){.first = 0, .last = -1};
    const int n_a = a->last - a->first + 1, n_b = b->last - b->first + 1, all = n_a + n_b - 1;
    const int within = limit - s.first + 1, n = all < within ? all : within;
    const double *factors = b->padded ? b->density : padded(b, arena);
    s.density = rb_arena_array(arena, (size_t)(n + RB_CONVOLVE_TILE + PAD), sizeof *s.density);
    r->convolver->convolve(a->density, n_a, r->trial->step_s, factors, n_b, s.density, n);
    trim(&s, r->dust * DUST / r->trial->step_s, limit);
    return s;
}

static struct rb_renewal_sum power_of(const struct rb_renewal *r, const struct rb_renewal_sum *one, int k, int limit,
                                      struct rb_arena *arena)
{
    if (k == 1)
        return *one;
    const struct rb_renewal_sum half = power_of(r, one, k / 2, limit, arena);
    const struct rb_renewal_sum even = sum_of(r, &half, &half, limit, arena);
    return k % 2 ? sum_of(r, &even, one, limit, arena) : even;
}

static struct rb_renewal_sum one_trial(const struct rb_trial_lattice *l, int limit, struct rb_arena *arena)
{
    struct rb_renewal_sum one = {.first = l->first, .last = l->last < limit ? l->last : limit, .padded = true};
    if (is_empty(&one))
        return one;
    one.density = l->density + l->first;
    one.density = padded(&one, arena);
    return one;
}

static struct rb_renewal_sum one_opening(const struct rb_opening_lattice *l, double step_s, int limit,
                                         struct rb_arena *arena)
{
    struct rb_renewal_sum one = {.first = l->first, .last = l->last < limit ? l->last : limit, .narrow = l->narrow};
    if (is_empty(&one))
        return one;
    const int n = one.last - one.first + 1;
    one.density = rb_arena_array(arena, (size_t)n, sizeof *one.density);
    for (int i = 0; i < n; i++)
        one.density[i] = l->weight[one.first + i] / step_s;
    return one;
}

// Integral up to point i of what h tabulates, the plain sum up to and with i being given.
static double integral_to(const double *h, double sum, double step)
{
    return step * (sum - h[0] / 2 - 82 / 1440.0 * (h[1] - h[-1]) + 11 / 1440.0 * (h[2] - h[-2]));
}

// Of a narrow law, whose weights keep its moments up to the third: no more than first differences are of use.
static double narrow_integral_to(const double *h, double sum, double step)
{
    return step * (sum - h[0] / 2 + (h[-1] - h[1]) / 24);
}

static void accumulate(struct rb_renewal *r, struct rb_renewal_sum *s, struct rb_arena *arena)
{
    const int n = s->last - s->first + 1;
    if (n <= 0)
        return;
    double *h = r->products + PAD, sum = 0;
    memset(r->products, 0, PAD * sizeof *h);
    memcpy(h, s->density, (size_t)n * sizeof *h);
    memset(h + n, 0, PAD * sizeof *h);
    s->below = rb_arena_array(arena, (size_t)n, sizeof *s->below);
    s->plain = rb_arena_array(arena, (size_t)n, sizeof *s->plain);
    for (int i = 0; i < n; i++) {
        sum += h[i];
        s->plain[i] = sum;
        const double p = integral_to(h + i, sum, r->trial->step_s);
        s->below[i] = p < 0 ? 0 : p > 1 ? 1 : p;
    }
}

// ---- making one

// Nine standard deviations below the mean: sums of so many terms are close to normal. The last to open comes latest.
static int fewest_completions(const struct rb_renewal *r, int last_opening)
{
    const double mean = r->trial->law->mean_s, sd = sqrt(r->trial->law->variance_s2);
    const double age = (r->min_age - last_opening) * r->trial->step_s;
    int k = age > 0 ? (int)(age / mean) : 0;
    while (k > 0 && k * mean + 9 * sd * sqrt(k) > age)
        k--;
    return k < 8 ? 0 : k;
}

// Sums of min_k, min_k + 1, .. durations up to the first that is longer than the oldest age.
static bool make_sums(struct rb_renewal *r, const struct rb_opening_lattice *opening, struct rb_arena *arena,
                      const char **out_why)
{
    const double step_s = r->trial->step_s;
    const int limit = r->max_age + 2;
    const struct rb_renewal_sum one = one_trial(r->trial, limit, arena);
    struct rb_renewal_sum start = {.first = 0, .last = -1}, top = start; // open at 0: an atom, never looked up
    if (opening)
        start = one_opening(opening, step_s, limit, arena);
    r->sums = rb_arena_array(arena, MAX_SUMS, sizeof *r->sums);
    int n = 0;
    do {
        if (n == MAX_SUMS) {
            *out_why = "too many waves with too wide a spread";
            return false;
        }
        const int k = r->min_k + n;
        if (k == 0)
            top = start;
        else if (n == 0 || (k == 1 && !opening))
            top = power_of(r, &one, k, limit, arena);
        else
            top = sum_of(r, &top, &one, limit, arena);
        if (k > 0 && n == 0 && opening)
            top = sum_of(r, &top, &start, limit, arena);
        r->sums[n++] = top;
    } while (!is_empty(&top) || n == 1);
    r->max_k = r->min_k + n - 2;
    return true;
}

bool rb_renewal_make(const struct rb_trial_lattice *trial, const struct rb_opening_lattice *opening, int min_age,
                     int max_age, double dust, const struct rb_schedule_convolver *convolver, struct rb_arena *arena,
                     struct rb_renewal *out, const char **out_why)
{
    struct rb_renewal r = {.trial = trial,
                           .convolver = convolver,
                           .delayed = opening != NULL,
                           .min_age = min_age,
                           .max_age = max_age,
                           .dust = dust};
    const double sd = sqrt(trial->law->variance_s2) / trial->step_s, mean = trial->law->mean_s / trial->step_s;
    if (trial->last - trial->first + 16 * sd * sqrt(max_age / mean + 1) > MAX_POINTS) {
        *out_why = "too many waves for so fine a lattice";
        return false;
    }
    r.min_k = fewest_completions(&r, opening ? opening->last : 0);
    if (!make_sums(&r, opening, arena, out_why))
        return false;
    int most = 1;
    for (int i = 0; i < r.max_k + 2 - r.min_k; i++) {
        const int width = r.sums[i].last - r.sums[i].first + 1;
        most = width > most ? width : most;
    }
    r.products = rb_arena_array(arena, (size_t)(most + 2 * PAD), sizeof *r.products);
    for (int i = 0; i < r.max_k + 2 - r.min_k; i++)
        accumulate(&r, &r.sums[i], arena);
    *out = r;
    return true;
}

// ---- what a slot has done

static double sum_below(const struct rb_renewal_sum *s, int age)
{
    return age < s->first || is_empty(s) ? 0 : age > s->last ? 1 : s->below[age - s->first];
}

static void none_completed(const struct rb_trial_lattice *l, int t, const struct rb_renewal_chances *c, double *out)
{
    for (int a = c->from; a <= c->to; a += c->apart, out += c->n_k) {
        *out = rb_trial_lattice_below(l, a) < 0.5 ? rb_trial_lattice_below(l, t) - rb_trial_lattice_below(l, a)
                                                  : rb_trial_lattice_above(l, a) - rb_trial_lattice_above(l, t);
    }
}

// h[i] = density[i] * P(a trial ends by t - i), from <= i < n.
static void multiply_by_ends(const struct rb_renewal_sum *s, const struct rb_trial_lattice *trial, int t, int from,
                             int n, double *h)
{
    const int certain = t - trial->last < n ? t - trial->last : n, possible = t + 1 < n ? t + 1 : n;
    int i = from;
    for (; i < certain; i++)
        h[i] = s->density[i];
    for (; i < possible; i++)
        h[i] = s->density[i] * trial->below[t - i];
    for (; i < n; i++)
        h[i] = 0;
}

// The k-th completion by a and the next by t, less the next by a. What completes so early that the next is certain to end by t
// is summed up already.
static void some_completed(const struct rb_renewal *r, const struct rb_renewal_sum *s,
                           const struct rb_renewal_sum *next, int t, const struct rb_renewal_chances *c, double *out)
{
    const double step_s = r->trial->step_s;
    const int n = s->last - s->first + 1, wanted = c->to - s->first + 1 + PAD, used = wanted < n ? wanted : n;
    const int certain = t - r->trial->last - s->first, known = certain < 0 || used < 0 ? 0
                                                               : certain < used        ? certain
                                                                                       : used;
    double *h = r->products + PAD;
    memset(h - PAD, 0, PAD * sizeof *h);
    multiply_by_ends(s, r->trial, t - s->first, known > PAD ? known - PAD : 0, used, h);
    if (used == n && n >= 0)
        memset(h + n, 0, PAD * sizeof *h);
    double sum = known > 0 ? s->plain[known - 1] : 0;
    const int beside = s->narrow; // its differences reach a point farther
    int a = c->from, i = known;
    for (; a <= c->to && a < s->first - beside; a += c->apart, out += c->n_k)
        *out = 0;
    for (; a <= c->to && a - s->first < n + beside; a += c->apart, out += c->n_k) {
        const int at = a - s->first;
        double more = 0;
        for (; i <= at; i++)
            more += h[i];
        sum += more;
        const double both = s->narrow ? narrow_integral_to(h + at, sum, step_s) : integral_to(h + at, sum, step_s);
        const double p = both - sum_below(next, a);
        *out = p > 0 || s->narrow ? p : 0; // what one point has too little of, the next has too much of
    }
    if (a > c->to)
        return;
    for (; i < n; i++)
        sum += h[i];
    for (; a <= c->to; a += c->apart, out += c->n_k) {
        const double p = step_s * sum - sum_below(next, a);
        *out = p > 0 ? p : 0;
    }
}

void rb_renewal_likely(const struct rb_renewal *r, struct rb_renewal_chances *chances)
{
    const struct rb_renewal_sum *sums = r->sums - r->min_k;
    int min_k = r->min_k, max_k = r->max_k;
    while (min_k < max_k && !is_empty(&sums[min_k + 1]) && sums[min_k + 1].last < chances->from)
        min_k++;
    while (max_k > min_k && (is_empty(&sums[max_k]) || sums[max_k].first > chances->to))
        max_k--;
    chances->min_k = min_k;
    chances->n_k = max_k - min_k + 1;
}

void rb_renewal_fill(const struct rb_renewal *r, int t, const struct rb_renewal_chances *chances)
{
    for (int i = 0; i < chances->n_k; i++) {
        const int k = chances->min_k + i;
        const struct rb_renewal_sum *s = &r->sums[k - r->min_k];
        if (k == 0 && !r->delayed)
            none_completed(r->trial, t, chances, chances->p);
        else
            some_completed(r, s, s + 1, t, chances, chances->p + i);
    }
}

void rb_renewal_starts(const struct rb_renewal *r, int age, double *out_mean, double *out_variance)
{
    double mean = r->min_k, square = (double)r->min_k * r->min_k; // starts 1..min_k are certain
    for (int k = r->min_k; k <= r->max_k; k++) {
        const double p = k == 0 && !r->delayed ? 1 : sum_below(&r->sums[k - r->min_k], age);
        mean += p;
        square += (2 * k + 1) * p;
    }
    *out_mean = mean;
    *out_variance = square - mean * mean;
}
