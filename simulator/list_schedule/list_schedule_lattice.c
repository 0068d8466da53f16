#include "simulator/list_schedule/list_schedule_lattice.h"

#include <math.h>
#include <string.h>

#define MAX_POINTS 4096  // of a window: beyond it a call would take longer than sampling
#define DUST       1e-13 // mass per step that is not kept

// ---- a law at any point

// Newton's polynomial on points 0..5; slope per point.
static double interpolate(const double *v, double u, double *out_slope)
{
    static const double share[5] = {1, 1 / 2.0, 1 / 3.0, 1 / 4.0, 1 / 5.0};
    double d[6] = {v[0], v[1], v[2], v[3], v[4], v[5]}; // differences of order 0, 1, ..
    for (int order = 1; order < 6; order++) {
        for (int i = 5; i >= order; i--)
            d[i] -= d[i - 1];
    }
    double value = d[5], slope = 0;
    for (int i = 4; i >= 0; i--) {
        slope = slope * ((u - i) * share[i]) + value * share[i];
        value = value * ((u - i) * share[i]) + d[i];
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

static bool is_narrow(const struct rb_law *law, double step_s)
{
    return sqrt(law->variance_s2) < 1.2 * step_s;
}

// A law with the integral of P(X <= x) up to each of its points: of the sixth order in the law's own step.
struct integrated {
    const struct rb_law *law;
    double *upto; // [n]
};

static struct integrated integrated(const struct rb_law *law, struct rb_arena *arena)
{
    struct integrated out = {law, rb_arena_array(arena, (size_t)law->n, sizeof *out.upto)};
    const double *b = law->below, part = law->step_s / 1440;
    const int n = law->n;
    for (int i = 0; i + 1 < n; i++) {
        const double before = i > 0 ? b[i - 1] : 0, before2 = i > 1 ? b[i - 2] : 0;
        const double after = i + 2 < n ? b[i + 2] : 1, after2 = i + 3 < n ? b[i + 3] : 1;
        out.upto[i + 1] =
            out.upto[i] + part * (802 * (b[i] + b[i + 1]) - 93 * (before + after) + 11 * (before2 + after2));
    }
    return out;
}

// Cubic between the law's points: its slope, P(X <= x), is known there.
static double integral_to(const struct integrated *of, double x)
{
    const struct rb_law *law = of->law;
    const double u = (x - law->low_s) / law->step_s;
    if (u <= 0)
        return 0;
    if (u >= law->n - 1)
        return of->upto[law->n - 1] + (u - (law->n - 1)) * law->step_s;
    const int i = (int)u;
    const double v = u - i, rise = of->upto[i + 1] - of->upto[i];
    const double first = law->below[i] * law->step_s, second = law->below[i + 1] * law->step_s;
    return of->upto[i] + v * (first + v * (3 * rise - 2 * first - second + v * (first + second - 2 * rise)));
}

struct range { // of lattice points
    int from, end;
};

// Where a law lies, and `more` points on either side.
static struct range points_of(const struct rb_law *law, double step_s, int more, int points)
{
    const double first = ceil(law->low_s / step_s) - more;
    const double last = floor((law->low_s + law->step_s * (law->n - 1)) / step_s) + more;
    const int from = first < 0 ? 0 : first > points ? points : (int)first;
    const int end = last < from ? from : last >= points ? points : (int)last + 1;
    return (struct range){from, end};
}

// Hat functions less a twelfth of their second difference.
static void project(const struct rb_law *law, double step_s, int points, double *out, struct rb_arena *arena)
{
    const struct range in = points_of(law, step_s, 2, points);
    const int n = in.end - in.from;
    double *first = rb_arena_array(arena, (size_t)n + 4, sizeof *first); // points from-2..end+1
    double *hat = rb_arena_array(arena, (size_t)n + 2, sizeof *hat);     // points from-1..end
    const struct integrated integral = integrated(law, arena);
    for (int i = 0; i < n + 4; i++)
        first[i] = integral_to(&integral, (in.from + i - 2) * step_s);
    for (int i = 0; i < n + 2; i++)
        hat[i] = (first[i + 2] - 2 * first[i + 1] + first[i]) / (step_s * step_s);
    for (int i = 0; i < n; i++)
        out[in.from + i] = hat[i + 1] - (hat[i + 2] - 2 * hat[i + 1] + hat[i]) / 12;
    if (in.from == 0 && n > 0)
        out[0] -= hat[1] / 12; // what falls on point -1 belongs to 0
}

struct table { // [points] each
    double *below, *above, *slope, *density;
};

static struct table tabulate(const struct rb_law *law, double step_s, int points, struct rb_arena *arena)
{
    const struct range in = points_of(law, step_s, 0, points);
    struct table out;
    out.below = rb_arena_array(arena, (size_t)points, sizeof *out.below);
    out.above = rb_arena_array(arena, (size_t)points, sizeof *out.above);
    out.slope = rb_arena_array(arena, (size_t)points, sizeof *out.slope);
    for (int i = 0; i < in.from; i++)
        out.above[i] = 1;
    for (int i = in.from; i < in.end; i++) {
        const struct point p = sample(law, i * step_s);
        out.below[i] = p.below;
        out.above[i] = p.above;
        out.slope[i] = p.density;
    }
    for (int i = in.end; i < points; i++)
        out.below[i] = 1;
    out.density = out.slope;
    if (rb_lattice_rough(law) || is_narrow(law, step_s)) {
        out.density = rb_arena_array(arena, (size_t)points, sizeof *out.density);
        project(law, step_s, points, out.density, arena);
    }
    return out;
}

// ---- a trial

double rb_trial_lattice_below(const struct rb_trial_lattice *l, int point)
{
    return point < 0 ? 0 : point > l->last ? 1 : l->below[point];
}

double rb_trial_lattice_above(const struct rb_trial_lattice *l, int point)
{
    return point < 0 ? 1 : point > l->last ? 0 : l->above[point];
}

bool rb_trial_lattice_make(const struct rb_law *trial, double step_s, double tail, struct rb_arena *arena,
                           struct rb_trial_lattice *out, const char **out_why)
{
    int high = trial->n - 1;
    while (high > 1 && trial->above[high - 1] < tail)
        high--;
    const double last = ceil((trial->low_s + high * trial->step_s) / step_s);
    if (last - trial->low_s / step_s > MAX_POINTS || last > 64 * MAX_POINTS) {
        *out_why = "the trial's time spreads too little for its length, or its tail is too long";
        return false;
    }
    const struct table t = tabulate(trial, step_s, (int)last + 1, arena);
    struct rb_trial_lattice l = {.law = trial,
                                 .step_s = step_s,
                                 .last = (int)last,
                                 .below = t.below,
                                 .above = t.above,
                                 .slope = t.slope,
                                 .density = t.density};
    while (l.first < l.last && fabs(l.density[l.first]) * step_s < DUST)
        l.first++;
    *out = l;
    return true;
}

// ---- openings

void rb_opening_lattice_make(const struct rb_law *arrival, double step_s, int points, double dust,
                             struct rb_arena *arena, struct rb_opening_lattice *out)
{
    const struct table t = tabulate(arrival, step_s, points, arena);
    struct rb_opening_lattice l = {.first = points, .last = -1, .weight = t.density, .unopened = t.above};
    l.narrow = is_narrow(arrival, step_s);
    for (int o = 0; o < points; o++) {
        l.weight[o] *= step_s;
        if (fabs(l.weight[o]) > dust) {
            l.first = o < l.first ? o : l.first;
            l.last = o;
        }
    }
    double opened = 0; // before the point in question and the one on either side
    for (int x = 0; x < points && l.narrow; x++) {
        l.unopened[x] = 1 - opened;
        for (int o = x > 0 ? x - 1 : 0; o <= x + 1 && o < points; o++)
            l.unopened[x] -= rb_opening_weight(&l, o, x, 1);
        opened += x > 0 ? l.weight[x - 1] : 0;
    }
    *out = l;
}

double rb_lattice_end_weight(int distance)
{
    static const double weights[RB_LATTICE_ENDS] = {251 / 720.0, 299 / 240.0, 211 / 240.0, 739 / 720.0};
    return distance < RB_LATTICE_ENDS ? weights[distance] : 1;
}

double rb_opening_weight(const struct rb_opening_lattice *l, int o, int x, int apart)
{
    static const double jump[] = {-1 / 24.0, 1 / 2.0, 25 / 24.0}; // from a point after x on
    const double narrow = x - o < 2 ? jump[x - o + 1] : 1;
    return apart * (l->narrow ? narrow : rb_lattice_end_weight((x - o) / apart)) * l->weight[o];
}

int rb_opening_last_inner(const struct rb_opening_lattice *l, int x, int apart)
{
    return x - (l->narrow ? 2 : RB_LATTICE_ENDS * apart);
}
