// Combines two laws by sum or product. Both are mixtures: the wider law, moved or stretched, over nodes of the narrower
// one. All weights are positive, so both tails keep a small relative error.
#include "simulator/laws/law_grid.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define SQRT_2        1.41421356237309504880
#define NODES_REACH   7.5 // normal scores of the outermost nodes: 3e-14 lies beyond
#define COARSEST      1.0 // normal scores between nodes
#define FINEST        0.03125
#define GOOD_ENOUGH   1e-7  // error of the cubic between points of the wider law, roughly ...
#define OF_GIVEN      0.01  // ... or the error of the given laws
#define PROBES        23    // for comparing two sets of nodes
#define RANKED_DUST   1e-16 // of a sum: upper bound on its last terms
#define RANKED_POINTS 12    // between one deviation below the middle and one above
#define CROWDED       24    // points per standard deviation: every second one suffices

struct rb_law rb_law_times(const struct rb_law *a, double factor, struct rb_arena *arena)
{
    (void)arena;
    if (!(factor > 0))
        return rb_law_constant(0);
    struct rb_law law = *a;
    law.low_s *= factor;
    law.step_s *= a->n > 1 ? factor : 1;
    law.mean_s *= factor;
    law.variance_s2 *= factor * factor;
    return law;
}

static struct rb_law moved(const struct rb_law *a, const struct rb_law *constant)
{
    struct rb_law law = *a;
    law.low_s += constant->low_s;
    law.mean_s += constant->low_s;
    law.error = fmin(1, law.error + constant->error);
    law.tail_error = fmin(1, law.tail_error + constant->tail_error);
    return law;
}

// ---- nodes

struct nodes { // a law as weighted points: the trapezoid rule over its quantile function of normal scores
    int n;
    double *value, *weight, sum; // of the weights
};

// `n` scores `apart`, symmetric about 0.
static struct nodes nodes_of(const struct rb_law *law, int n, double apart, struct rb_arena *scratch)
{
    struct nodes nodes = {.n = n};
    struct rb_law_reader reader = rb_law_read_from(law, 0);
    nodes.value = rb_arena_array(scratch, (size_t)n, sizeof *nodes.value);
    nodes.weight = rb_arena_array(scratch, (size_t)n, sizeof *nodes.weight);
    for (int i = 0; i < n; i++) {
        const double z = (i - (n - 1) / 2.0) * apart;
        nodes.weight[i] = exp(-z * z / 2);
        nodes.value[i] = rb_law_read_quantile(&reader, erfc(-z / SQRT_2) / 2);
        nodes.sum += nodes.weight[i];
    }
    return nodes;
}

static struct nodes both(const struct nodes *a, const struct nodes *b, struct rb_arena *scratch)
{
    struct nodes all = {.n = a->n + b->n, .sum = a->sum + b->sum};
    all.value = rb_arena_array(scratch, (size_t)all.n, sizeof *all.value);
    all.weight = rb_arena_array(scratch, (size_t)all.n, sizeof *all.weight);
    memcpy(all.value, a->value, (size_t)a->n * sizeof *all.value);
    memcpy(all.value + a->n, b->value, (size_t)b->n * sizeof *all.value);
    memcpy(all.weight, a->weight, (size_t)a->n * sizeof *all.weight);
    memcpy(all.weight + a->n, b->weight, (size_t)b->n * sizeof *all.weight);
    return all;
}

enum operation { SUM, PRODUCT };

// The point at which to evaluate the wider law for the result at `seconds` when the narrower law is `value`.
static double wider_at(enum operation op, double seconds, double value)
{
    if (op == SUM)
        return seconds - value;
    return value > 0 ? seconds / value : seconds >= 0 ? INFINITY : -INFINITY;
}

static double mixed(enum operation op, const struct rb_law_curve *wide, const struct nodes *nodes, double seconds,
                    bool upper)
{
    double sum = 0;
    for (int j = 0; j < nodes->n; j++) {
        const double at = wider_at(op, seconds, nodes->value[j]);
        sum += nodes->weight[j] * (upper ? rb_law_curve_above(wide, at) : rb_law_curve_below(wide, at));
    }
    return sum / nodes->sum;
}

// The distribution function by one rule, at the points used to compare two rules.
static void probe(enum operation op, const struct rb_law_curve *wide, const struct nodes *nodes,
                  const struct rb_law_grid *grid, double below[PROBES])
{
    for (int i = 0; i < PROBES; i++) {
        const double share = (double)(i + 1) / (PROBES + 1);
        below[i] = mixed(op, wide, nodes, grid->low_s + grid->step_s * (grid->n - 1) * share * share, false);
    }
}

// The rule with its nodes shifted by half their spacing has the opposite error, though not exactly if a density jumps;
// hence *out_error is twice the difference. While that is too large, both rules together are the next one.
static struct nodes enough_nodes(enum operation op, const struct rb_law_curve *wide, const struct rb_law *narrow,
                                 const struct rb_law_grid *grid, double *out_error, struct rb_arena *scratch)
{
    const double enough = fmax(GOOD_ENOUGH, OF_GIVEN * (wide->law->error + narrow->error));
    struct nodes nodes = nodes_of(narrow, 2 * (int)(NODES_REACH / COARSEST) + 1, COARSEST, scratch);
    double here[PROBES], there[PROBES];
    probe(op, wide, &nodes, grid, here);
    for (double apart = COARSEST;; apart /= 2) {
        const struct nodes between = nodes_of(narrow, nodes.n + 1, apart, scratch);
        double most = 0;
        probe(op, wide, &between, grid, there);
        for (int i = 0; i < PROBES; i++)
            most = fmax(most, fabs(here[i] - there[i]));
        *out_error = 2 * most;
        if (*out_error <= enough || apart <= FINEST)
            return nodes;
        const struct nodes all = both(&nodes, &between, scratch);
        for (int i = 0; i < PROBES; i++)
            here[i] = (here[i] * nodes.sum + there[i] * between.sum) / all.sum;
        nodes = all;
    }
}

// The approximate middle of the result: below it the lower tail is summed, above it the upper one.
static void fill_product(const struct rb_law_curve *wide, const struct nodes *nodes, double middle,
                         struct rb_law_grid *grid)
{
    for (int i = 0; i < grid->n; i++) {
        const double at = grid->low_s + i * grid->step_s;
        const bool upper = at > middle;
        const double p = mixed(PRODUCT, wide, nodes, at, upper);
        grid->below[i] = upper ? 1 - p : p;
        grid->above[i] = upper ? p : 1 - p;
    }
}

// ---- sums; the points of the result are as far apart as those of the wider law, or a multiple of that

// The wider law moved by one node: point i of the result is in its cell first + i * stride, always at the same relative
// position, so that the cubic's factors are computed once.
struct moved_law {
    const struct rb_law_curve *wide;
    int first, stride;
    double to, slope_from, slope_to;
};

static struct moved_law move_by(const struct rb_law_curve *wide, double value_s, int stride,
                                const struct rb_law_grid *grid)
{
    const double at = (grid->low_s - value_s - wide->law->low_s) / wide->law->step_s, first = floor(at), w = at - first;
    return (struct moved_law){wide, (int)first, stride, w * w * (3 - 2 * w), w * (1 - w) * (1 - w), w * w * (w - 1)};
}

// The first point of the result, up to n, that is in this cell or in a later one.
static int first_point_in(const struct moved_law *m, int cell, int n)
{
    const int points = cell > m->first ? (cell - m->first + m->stride - 1) / m->stride : 0;
    return points < n ? points : n;
}

// out += constant + weight x one tail of the law.
static void add_tail(const struct moved_law *m, bool lower, int from, int to, double constant, double weight,
                     double *out)
{
    const double *tail = lower ? m->wide->law->below : m->wide->law->above, *slope = m->wide->slope;
    const double a = weight * (1 - m->to), b = weight * m->to;
    const double c = (lower ? weight : -weight) * m->slope_from, d = (lower ? weight : -weight) * m->slope_to;
    for (int i = from; i < to; i++) {
        const int k = m->first + i * m->stride;
        out[i] += constant + (a * tail[k] + b * tail[k + 1] + (c * slope[k] + d * slope[k + 1]));
    }
}

static void add_constant(int from, int to, double constant, double *out)
{
    for (int i = from; i < to; i++)
        out[i] += constant;
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

static int most(int a, int b)
{
    return a > b ? a : b;
}

// Below point `middle` the lower tail is summed, from there on the upper one. The wider law's own tails change in cell
// `half`.
static void add_node(const struct moved_law *m, double weight, int half, int middle, const struct rb_law_grid *grid)
{
    const int begin = first_point_in(m, 0, grid->n), turn = first_point_in(m, half, grid->n);
    const int end = first_point_in(m, m->wide->law->n - 1, grid->n);
    add_tail(m, true, begin, least(turn, middle), 0, weight, grid->below);
    add_tail(m, false, turn, least(end, middle), weight, -weight, grid->below);
    add_constant(end, middle, weight, grid->below);
    add_constant(middle, begin, weight, grid->above);
    add_tail(m, true, most(begin, middle), turn, weight, -weight, grid->above);
    add_tail(m, false, most(turn, middle), end, 0, weight, grid->above);
}

static void fill_by_cells(const struct rb_law_curve *wide, const struct nodes *nodes, double middle_s, int stride,
                          struct rb_law_grid *grid)
{
    int half = 0, middle = 0;
    while (half < wide->law->n - 1 && wide->law->below[half] < 0.5)
        half++;
    while (middle < grid->n && !(grid->low_s + middle * grid->step_s > middle_s))
        middle++;
    for (int j = 0; j < nodes->n; j++) {
        const struct moved_law m = move_by(wide, nodes->value[j], stride, grid);
        add_node(&m, nodes->weight[j] / nodes->sum, half, middle, grid);
    }
    for (int i = 0; i < middle; i++)
        grid->above[i] = 1 - grid->below[i];
    for (int i = middle; i < grid->n; i++)
        grid->below[i] = 1 - grid->above[i];
}

// The law at points of another step, from its lowest point on.
static struct rb_law resampled(const struct rb_law_curve *of, double step_s, struct rb_arena *scratch)
{
    struct rb_law law = *of->law;
    const int n = (int)ceil(law.step_s * (law.n - 1) / step_s) + 1;
    law.n = n > RB_LAW_LEAST_POINTS ? n : RB_LAW_LEAST_POINTS; // slopes are read off five points
    law.step_s = step_s;
    double *below = rb_arena_array(scratch, (size_t)law.n, sizeof *below);
    double *above = rb_arena_array(scratch, (size_t)law.n, sizeof *above);
    for (int i = 0; i < law.n; i++) {
        below[i] = rb_law_curve_below(of, law.low_s + i * step_s);
        above[i] = rb_law_curve_above(of, law.low_s + i * step_s);
    }
    law.below = below;
    law.above = above;
    return law;
}

// Returns the error that interpolation adds: with the maximum number of points the grid has its own step, and then the
// wider law is interpolated twice.
static double fill_sum(const struct rb_law_curve *wide, const struct nodes *nodes, double middle_s,
                       struct rb_law_grid *grid, struct rb_arena *scratch)
{
    const double stride = grid->step_s / wide->law->step_s;
    if (fabs(stride - round(stride)) < 1e-12 * stride) {
        fill_by_cells(wide, nodes, middle_s, (int)round(stride), grid);
        return 0;
    }
    const struct rb_law other_step = resampled(wide, grid->step_s, scratch);
    const struct rb_law_curve curve = rb_law_curve_make(&other_step, scratch);
    fill_by_cells(&curve, nodes, middle_s, 1, grid);
    return wide->law->error;
}

// A density that jumps at its law's lower end: mixing over such a law is smooth, moving it is not.
static bool begins_with_a_jump(const struct rb_law *law)
{
    return rb_law_slope(law, 0) > 1e-4 * law->step_s / sqrt(law->variance_s2);
}

static bool mixes_better(enum operation op, const struct rb_law *a, const struct rb_law *b)
{
    const double by_a = sqrt(a->variance_s2) / (op == SUM ? 1 : a->mean_s);
    const double by_b = sqrt(b->variance_s2) / (op == SUM ? 1 : b->mean_s);
    const bool rough_a = a->jump > 0 || begins_with_a_jump(a), rough_b = b->jump > 0 || begins_with_a_jump(b);
    return rough_a != rough_b ? rough_a : by_a < by_b;
}

struct moments {
    double mean, variance;
};

static struct rb_law mix(enum operation op, const struct rb_law *a, const struct rb_law *b, struct moments m,
                         struct rb_arena *arena)
{
    const bool over_a = mixes_better(op, a, b);
    const struct rb_law *narrow = over_a ? a : b, *wide = over_a ? b : a;
    const double a_high = a->low_s + a->step_s * (a->n - 1), b_high = b->low_s + b->step_s * (b->n - 1);
    const double low = op == SUM ? a->low_s + b->low_s : a->low_s * b->low_s;
    const double high = op == SUM ? a_high + b_high : a_high * b_high;
    double step = op == SUM ? wide->step_s : wide->step_s * fmax(narrow->mean_s, narrow->low_s);
    const double deviation = sqrt(m.variance);
    while (deviation / step >= CROWDED)
        step *= 2;
    struct rb_arena scratch;
    rb_arena_init(&scratch);
    struct rb_law_grid grid = rb_law_grid_make(low, high, step, arena);
    const struct rb_law_curve curve = rb_law_curve_make(wide, &scratch);
    double error;
    const struct nodes nodes = enough_nodes(op, &curve, narrow, &grid, &error, &scratch);
    if (op == SUM)
        error += fill_sum(&curve, &nodes, m.mean, &grid, &scratch);
    else
        fill_product(&curve, &nodes, m.mean, &grid);
    rb_arena_finish(&scratch);
    const double jump = fmin(a->jump, b->jump);
    return rb_law_grid_finish(&grid, m.mean, m.variance, jump, error + a->error + b->error,
                              a->tail_error + b->tail_error);
}

struct rb_law rb_law_plus(const struct rb_law *a, const struct rb_law *b, struct rb_arena *arena)
{
    if (a->n == 1)
        return moved(b, a);
    if (b->n == 1)
        return moved(a, b);
    return mix(SUM, a, b, (struct moments){a->mean_s + b->mean_s, a->variance_s2 + b->variance_s2}, arena);
}

struct rb_law rb_law_product(const struct rb_law *a, const struct rb_law *b, struct rb_arena *arena)
{
    if (a->n == 1)
        return rb_law_times(b, a->low_s, arena);
    if (b->n == 1)
        return rb_law_times(a, b->low_s, arena);
    const double squares = a->mean_s * a->mean_s * b->variance_s2 + b->mean_s * b->mean_s * a->variance_s2;
    return mix(PRODUCT, a, b, (struct moments){a->mean_s * b->mean_s, squares + a->variance_s2 * b->variance_s2},
               arena);
}
