// Integrals over sorted arrivals, one arrival after the other, on nodes even in the arrivals' normal score: there every
// density is a normal one, both tails are reached, and few nodes do. Many times t go through the chain side by side.
#include "simulator/one_wave/one_wave.h"

#include "simulator/one_wave/law_grid.h"

#include <math.h>
#include <string.h>

#define LANES      8       // times at once
#define REACH      7.0     // normal scores of the outermost nodes: 1e-12 lies beyond
#define COARSEST   0.25    // normal scores between nodes
#define MAX_NODES  1024    // more, and the dynamic schedule is as fast
#define MOST_TAPS  1000000 // 8 MB
#define TAPS       6       // nodes for the polynomial in each interval
#define PAD        (TAPS / 2 - 1)
#define GAUSS      6  // points in each interval
#define POINTS     96 // of the law's grid, at first
#define MAX_POINTS 384
#define ENDS_BELOW 1e-9 // P at the lower end of the law's grid
#define ENDS_ABOVE 1e-3 // .. at the upper one, of the accuracy
#define SEARCHES   3    // each divides an interval by LANES - 1
#define NEGLIGIBLE 1e-9 // last arrivals of less density are not looked at
#define SQRT_2     1.41421356237309504880
#define SQRT_2_PI  2.50662827463100050242

struct chain {
    const struct rb_one_wave *w;
    struct rb_law_curve trial;
    struct rb_arena *arena;
    int needed;      // arrivals until all have started
    int alike;       // of the arrivals before that one, the first so many start equally many trials
    int n;           // nodes
    double step;     // normal scores between them
    double *x;       // [n] arrival times
    double *before;  // [n] P(an arrival is before x)
    double *last;    // [n] density of the last arrival needed, times step
    double *taps[3]; // [stride][row_of(needed)][nodes][TAPS + 1] for next_arrival
    double whole[3]; // [stride] the sum of `last`
    double *factor;  // [n][LANES] what each trial that starts at x contributes
    double *so_far;  // [n][LANES] E of the product over the arrivals so far, given that all of them are before x
    double *product; // [n + 2 PAD][LANES] of the two, from the outermost nodes on constant
};

// ---- who starts when

static int open_after(const struct rb_one_wave *w, int arrivals)
{
    const int slots = (arrivals + w->nodes_left) / w->nodes_per_slot * w->slots_per_node;
    const int waiting = w->n_trials - w->open_slots;
    return slots < waiting ? slots : waiting;
}

static int starts_at(const struct rb_one_wave *w, int arrival)
{
    return open_after(w, arrival) - open_after(w, arrival - 1);
}

static int arrivals_needed(const struct rb_one_wave *w)
{
    const int slots = (w->n_trials - w->open_slots + w->slots_per_node - 1) / w->slots_per_node;
    return slots * w->nodes_per_slot - w->nodes_left;
}

// ---- nodes

static double normal_below(double z)
{
    return 0.5 * erfc(-z / SQRT_2);
}

// Nodes must tell the last arrival, which is narrower than the others, and where a trial that starts there ends.
static double first_step(const struct chain *c)
{
    const struct rb_one_wave *w = c->w;
    const double u = (double)c->needed / (w->new_nodes + 1);
    const double from = rb_law_quantile(w->arrival, fmax(u - 0.05, u / 2));
    const double to = rb_law_quantile(w->arrival, fmin(u + 0.05, (u + 1) / 2));
    double z = 0;
    for (int i = 0; i < 20; i++) // of u, by Newton
        z -= fmax(-0.5, fmin(0.5, (normal_below(z) - u) * SQRT_2_PI * exp(z * z / 2)));
    const double width = sqrt(u * (1 - u) / (w->new_nodes + 2)) * SQRT_2_PI * exp(z * z / 2);
    const double scores = (fmin(u + 0.05, (u + 1) / 2) - fmax(u - 0.05, u / 2)) * SQRT_2_PI * exp(z * z / 2);
    const double seconds_per_score = (to - from) / scores;
    return fmin(COARSEST, fmin(0.5 * width, 0.5 * sqrt(w->trial->variance_s2) / seconds_per_score));
}

// last: of the density of the J-th of M, M! / ((J-1)! (M-J)!) G^(J-1) (1-G)^(M-J) g.
static void lay_nodes(struct chain *c, double step)
{
    const struct rb_one_wave *w = c->w;
    const int left = w->new_nodes - c->needed;
    int sign; // lgamma() keeps it in a global, which threads that plan at once would share
    const double ways =
        lgamma_r(w->new_nodes + 1.0, &sign) - lgamma_r(c->needed, &sign) - lgamma_r(left + 1.0, &sign);
    c->step = step;
    c->n = 2 * (int)ceil(REACH / step) + 1;
    const size_t n = (size_t)c->n;
    c->x = rb_arena_array(c->arena, n, sizeof *c->x);
    c->before = rb_arena_array(c->arena, n, sizeof *c->before);
    c->last = rb_arena_array(c->arena, n, sizeof *c->last);
    c->factor = rb_arena_array(c->arena, n * LANES, sizeof *c->factor);
    c->so_far = rb_arena_array(c->arena, n * LANES, sizeof *c->so_far);
    c->product = rb_arena_array(c->arena, (n + 2 * PAD) * LANES, sizeof *c->product);
    for (int k = 0; k < c->n; k++) {
        const double z = (k - c->n / 2) * step;
        c->before[k] = normal_below(z);
        c->x[k] = rb_law_quantile(w->arrival, c->before[k]);
        c->last[k] = step / SQRT_2_PI *
                     exp(ways + (c->needed - 1) * log(c->before[k]) + left * log(normal_below(-z)) - z * z / 2);
    }
}

// ---- the chain. With `stride` 2 every second node is left out: what that changes tells what the nodes err by

static int nodes_of(const struct chain *c, int stride)
{
    return (c->n - 1) / stride + 1;
}

static double power(double base, int exponent)
{
    double product = 1;
    for (; exponent > 0; exponent >>= 1, base *= base)
        product *= exponent & 1 ? base : 1;
    return product;
}

// Points and weights of Gauss and Legendre on [0, 1], and Lagrange's polynomials of the TAPS nodes -PAD .. PAD + 1 there.
struct rule {
    double at[GAUSS], weight[GAUSS], lagrange[GAUSS][TAPS];
};

static struct rule make_rule(void)
{
    static const double at[GAUSS / 2] = {0.2386191860831969, 0.6612093864662645, 0.9324695142031521};
    static const double weight[GAUSS / 2] = {0.4679139345726910, 0.3607615730481386, 0.1713244923791704};
    struct rule rule;
    for (int g = 0; g < GAUSS; g++) {
        const int half = g % (GAUSS / 2);
        rule.at[g] = (1 + (g < GAUSS / 2 ? -at[half] : at[half])) / 2;
        rule.weight[g] = weight[half] / 2;
        for (int i = 0; i < TAPS; i++) {
            rule.lagrange[g][i] = 1;
            for (int j = 0; j < TAPS; j++)
                rule.lagrange[g][i] *= j == i ? 1 : (rule.at[g] - (j - PAD)) / (i - j);
        }
    }
    return rule;
}

// They sum to what they should, so that errors vanish where the product is constant.
static void set_row(const double *mass, double sum, const struct rule *rule, double *row)
{
    double total = 0;
    memset(row, 0, TAPS * sizeof *row);
    for (int g = 0; g < GAUSS; g++) {
        total += mass[g];
        for (int j = 0; j < TAPS; j++)
            row[j] += mass[g] * rule->lagrange[g][j];
    }
    for (int j = 0; j < TAPS; j++)
        row[j] = total > 0 ? row[j] * (sum / total) : j == PAD + 1 ? sum : 0;
}

// Of the i-th arrival among the taps: they are needed for the first, and for those that are not alike.
static int row_of(const struct chain *c, int i)
{
    return i <= c->alike ? 0 : i - c->alike;
}

static size_t taps_at(const struct chain *c, int stride, int i)
{
    return (size_t)row_of(c, i) * (size_t)nodes_of(c, stride) * (TAPS + 1);
}

// Given that i arrivals are before x, the last of them has distribution function (G / G(x))^i. For one interval between
// nodes and i = 1, 2, ..: what the polynomial's nodes weigh in the integral over it, and last of the row, the part before it.
static void weigh_interval(struct chain *c, int stride, int k, const struct rule *rule)
{
    const double h = c->step * stride, from = (k * stride - c->n / 2) * c->step;
    const double end = c->before[(k + 1) * stride], ratio = c->before[k * stride] / end;
    double mass[GAUSS], closer[GAUSS], keep = 1;
    for (int g = 0; g < GAUSS; g++) {
        const double z = from + rule->at[g] * h;
        mass[g] = rule->weight[g] * exp(-z * z / 2);
        closer[g] = normal_below(z) / end;
    }
    const int rows_to = c->alike < c->needed - 1 ? c->needed - 1 : 1;
    for (int i = 1; i <= rows_to; i++) {
        keep *= ratio;
        if (i == 1 || i > c->alike) {
            double *row = c->taps[stride] + taps_at(c, stride, i) + (size_t)(k + 1) * (TAPS + 1);
            set_row(mass, 1 - keep, rule, row);
            row[TAPS] = keep;
        }
        for (int g = 0; g < GAUSS; g++)
            mass[g] *= closer[g];
    }
}

// What all times share.
static void weigh(struct chain *c, int stride)
{
    const struct rule rule = make_rule();
    const size_t nodes = (size_t)nodes_of(c, stride);
    c->whole[stride] = 0;
    for (size_t k = 0; k < nodes; k++)
        c->whole[stride] += c->last[k * (size_t)stride];
    if (c->needed == 1)
        return;
    c->taps[stride] = rb_arena_array(c->arena, taps_at(c, stride, c->needed), sizeof **c->taps);
    for (int k = 0; k + 1 < (int)nodes; k++)
        weigh_interval(c, stride, k, &rule);
}

// factor^starts times so_far.
static void set_product(struct chain *c, int nodes, int starts, bool first)
{
    double *product = c->product + (size_t)PAD * LANES;
    for (int i = 0; i < nodes * LANES; i++)
        product[i] = (first ? 1 : c->so_far[i]) * power(c->factor[i], starts);
    for (int i = 1; i <= PAD; i++) {
        memcpy(product - i * LANES, product, LANES * sizeof *product);
        memcpy(product + (nodes - 1 + i) * LANES, product + (nodes - 1) * LANES, LANES * sizeof *product);
    }
}

// The mean of the product over the last of i arrivals before each node.
static void next_arrival(struct chain *c, int stride, int i)
{
    const int nodes = nodes_of(c, stride);
    const double *tap = c->taps[stride] + taps_at(c, stride, i);
    memcpy(c->so_far, c->product + (size_t)PAD * LANES, LANES * sizeof *c->so_far);
    for (int k = 0; k + 1 < nodes; k++) {
        const double *from = c->product + (size_t)k * LANES, *was = c->so_far + (size_t)k * LANES;
        double *to = c->so_far + (size_t)(k + 1) * LANES;
        tap += TAPS + 1;
        for (int l = 0; l < LANES; l++) {
            double sum = tap[TAPS] * was[l];
            for (int j = 0; j < TAPS; j++)
                sum += tap[j] * from[j * LANES + l];
            to[l] = sum;
        }
    }
}

// so_far: E of the product over all arrivals but the last one needed, given that they are before x. Arrivals that start
// equally many trials need not be sorted: a power.
static void run_chain(struct chain *c, int stride)
{
    const int nodes = nodes_of(c, stride), before = c->needed - 1;
    if (before == 0) {
        for (int i = 0; i < nodes * LANES; i++)
            c->so_far[i] = 1;
        return;
    }
    set_product(c, nodes, starts_at(c->w, 1), true);
    next_arrival(c, stride, 1);
    for (int i = 0; i < nodes * LANES; i++)
        c->so_far[i] = power(c->so_far[i], c->alike);
    for (int i = c->alike + 1; i <= before; i++) {
        set_product(c, nodes, starts_at(c->w, i), false);
        next_arrival(c, stride, i);
    }
}

// E of the product over all arrivals needed.
static void last_arrival(struct chain *c, int stride, double *out)
{
    const int nodes = nodes_of(c, stride);
    set_product(c, nodes, starts_at(c->w, c->needed), false);
    memset(out, 0, LANES * sizeof *out);
    for (int k = 0; k < nodes; k++) {
        const double *product = c->product + (size_t)(k + PAD) * LANES;
        for (int l = 0; l < LANES; l++)
            out[l] += c->last[k * stride] / c->whole[stride] * product[l];
    }
}

// false: too many nodes.
static bool refine(struct chain *c, double step)
{
    const double nodes = 2 * REACH / step + 3;
    if (!(nodes < MAX_NODES && nodes * (TAPS + 1) * row_of(c, c->needed) < MOST_TAPS))
        return false;
    lay_nodes(c, step);
    weigh(c, 1);
    weigh(c, 2);
    return true;
}

static bool make_chain(const struct rb_one_wave *w, struct rb_arena *arena, struct chain *out)
{
    *out = (struct chain){.w = w, .arena = arena, .needed = arrivals_needed(w), .alike = 1};
    while (out->alike < out->needed - 1 && starts_at(w, out->alike + 1) == starts_at(w, 1))
        out->alike++;
    out->trial = rb_law_curve_make(w->trial, arena);
    return refine(out, first_step(out));
}

// ---- P(end > t)

static void above_at(struct chain *c, int stride, const double *times, double *out)
{
    const int nodes = nodes_of(c, stride);
    for (int k = 0; k < nodes; k++) {
        for (int l = 0; l < LANES; l++)
            c->factor[k * LANES + l] = rb_law_curve_below(&c->trial, times[l] - c->x[k * stride]);
    }
    double below[LANES];
    run_chain(c, stride);
    last_arrival(c, stride, below);
    for (int l = 0; l < LANES; l++) {
        const double above = fmin(1, fmax(0, 1 - below[l]));
        const double open = rb_law_curve_above(&c->trial, times[l]);
        const double open_above = c->w->open_slots == 0 ? 0 : open < 1 ? -expm1(c->w->open_slots * log1p(-open)) : 1;
        out[l] = above + (1 - above) * open_above;
    }
}

struct span {
    double from, to;
};

static void even_times(struct span s, double *out)
{
    for (int l = 0; l < LANES; l++)
        out[l] = s.from + l * (s.to - s.from) / (LANES - 1);
}

// An interval in which P(end > t) falls to `share`.
static struct span find_share(struct chain *c, struct span s, double share)
{
    for (int i = 0; i < SEARCHES; i++) {
        double times[LANES], above[LANES];
        int at = 1;
        even_times(s, times);
        above_at(c, 2, times, above);
        while (at < LANES - 1 && above[at] > share)
            at++;
        s = (struct span){times[at - 1], times[at]};
    }
    return s;
}

static struct span everything(const struct chain *c)
{
    const struct rb_law *trial = c->w->trial;
    return (struct span){c->x[0] + trial->low_s, c->x[c->n - 1] + trial->low_s + (trial->n - 1) * trial->step_s};
}

static double difference(struct chain *c, struct span body)
{
    double times[LANES], fine[LANES], coarse[LANES], most = 0;
    even_times(body, times);
    above_at(c, 1, times, fine);
    above_at(c, 2, times, coarse);
    for (int l = 0; l < LANES; l++)
        most = fmax(most, fabs(fine[l] - coarse[l]));
    return most;
}

// ---- P(a trial ends before all have started)

// Given that the last arrival needed is at x_j: all that started at x last longer than x_j - x. One x_j per lane.
static void lasts_until(struct chain *c, int stride, const int *at)
{
    const int nodes = nodes_of(c, stride);
    for (int k = 0; k < nodes; k++) {
        for (int l = 0; l < LANES; l++)
            c->factor[k * LANES + l] = rb_law_curve_above(&c->trial, c->x[at[l] * stride] - c->x[k * stride]);
    }
    run_chain(c, stride);
}

static double early_at(struct chain *c, int stride)
{
    const int nodes = nodes_of(c, stride);
    const double n_open = c->w->open_slots;
    double late = 0;
    for (int k = 0; k < nodes;) {
        int at[LANES], lanes = 0;
        for (; k < nodes && lanes < LANES; k++) {
            if (c->last[k * stride] > NEGLIGIBLE)
                at[lanes++] = k;
        }
        if (lanes == 0)
            break;
        for (int l = lanes; l < LANES; l++)
            at[l] = at[0];
        lasts_until(c, stride, at);
        for (int l = 0; l < lanes; l++) {
            const int node = at[l] * stride;
            const double open = exp(n_open * log(fmax(rb_law_curve_above(&c->trial, c->x[node]), 1e-300)));
            late += c->last[node] / c->whole[stride] * open * c->so_far[at[l] * LANES + l];
        }
    }
    return fmin(1, fmax(0, 1 - late));
}

// On nodes fine enough for it.
static double early(struct chain *c, double accuracy)
{
    for (;;) {
        const double fine = early_at(c, 1), miss = fabs(fine - early_at(c, 2));
        if (miss <= fmax(accuracy, fine * 0.02) || !refine(c, c->step / 2))
            return fmin(1, fine + miss);
    }
}

double rb_one_wave_early(const struct rb_one_wave *w, struct rb_arena *arena)
{
    struct chain c;
    return make_chain(w, arena, &c) ? early(&c, 1e-5) : 1;
}

// ---- the law

static struct rb_law tabulate(struct chain *c, struct span s, int points)
{
    struct rb_law_grid grid = rb_law_grid_make(s.from, s.to, (s.to - s.from) / (points - 1), c->arena);
    for (int i = 0; i < grid.n; i += LANES) {
        double times[LANES], above[LANES];
        for (int l = 0; l < LANES; l++)
            times[l] = grid.low_s + (i + l) * grid.step_s;
        above_at(c, 1, times, above);
        for (int l = 0; l < LANES && i + l < grid.n; l++) {
            grid.above[i + l] = above[l];
            grid.below[i + l] = 1 - above[l];
        }
    }
    return rb_law_grid_finish(&grid, NAN, NAN, 0, 0, 0);
}

// What the errors of the laws given move P by: of the trials as in the largest of n (rb_law_largest_of), whatever the
// arrivals are; and each arrival by its own, since the end rises with it.
static double inherited(const struct rb_one_wave *w)
{
    const struct rb_law *trial = w->trial;
    return 2 * (trial->error - trial->tail_error) + w->n_trials * trial->tail_error + w->new_nodes * w->arrival->error;
}

static const char *why_refused(const struct rb_one_wave *w)
{
    if (w->trial->jump > 0 || w->trial->n < 16)
        return "the trial's time has atoms";
    if (w->arrival->jump > 0 || w->arrival->n < 16)
        return "the arrival of new nodes has atoms";
    return arrivals_needed(w) > w->new_nodes ? "more trials than slots" : NULL;
}

// Nodes fine enough for the accuracy; halving them divides what they err by at least by two.
static bool choose_nodes(struct chain *c, double accuracy, double *out_error)
{
    do {
        const struct span all = everything(c);
        const struct span body = {find_share(c, all, 0.99).from, find_share(c, all, 0.01).to};
        *out_error = difference(c, body) / 2;
        if (*out_error <= accuracy / 2)
            return true;
    } while (refine(c, c->step / 2));
    return false;
}

bool rb_one_wave_law(const struct rb_one_wave *w, double accuracy, double worst, struct rb_arena *arena,
                     struct rb_law *out, const char **out_why)
{
    *out_why = why_refused(w);
    if (*out_why)
        return false;
    struct chain c;
    *out_why = "trials spread too little against the arrival of new nodes";
    if (!make_chain(w, arena, &c))
        return false;
    *out_why = "a trial may end before the last new node has come";
    if (early_at(&c, 2) > 2 * worst) // on few nodes: most that are to be refused are so here
        return false;
    const double ends_early = early(&c, accuracy / 10);
    if (ends_early > worst)
        return false;
    double error;
    *out_why = "the accuracy was not reached";
    if (!choose_nodes(&c, accuracy, &error))
        return false;
    const struct span all = everything(&c);
    const double cut = accuracy * ENDS_ABOVE;
    const struct span ends = {find_share(&c, all, 1 - ENDS_BELOW).from, find_share(&c, all, cut).to};
    struct rb_law law = tabulate(&c, ends, POINTS);
    for (int points = 2 * POINTS; law.error > accuracy / 2 && points <= MAX_POINTS; points *= 2)
        law = tabulate(&c, ends, points);
    law.tail_error += cut + ends_early + w->n_trials * w->trial->tail_error;
    law.error = fmin(1, law.error + cut + ends_early + error + inherited(w));
    if (law.error > worst)
        return false;
    *out_why = NULL;
    *out = law;
    return true;
}
