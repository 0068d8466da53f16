// Integrals over sorted arrivals, one arrival after the other, on nodes even in the arrivals' normal score: there every
// density is a normal one, both tails are reached, and few nodes do. Many times t go through the chain side by side.
#include "simulator/one_wave.h"

#include "simulator/law_grid.h"

#include <math.h>
#include <string.h>

#define LANES          8    // times at once
#define REACH          7.0  // normal scores of the outermost nodes: 1e-12 lies beyond
#define COARSEST       0.25 // normal scores between nodes
#define MAX_NODES      1024
#define POINTS         96 // of the law's grid, at first
#define MAX_POINTS     384
#define ENDS_BELOW     1e-9 // P at the lower end of the law's grid
#define ENDS_ABOVE     1e-3 // .. at the upper one, of the accuracy
#define MOST_NEW_NODES 512  // ways to choose among them stay numbers
#define SEARCHES       3    // each divides an interval by LANES - 1
#define NEGLIGIBLE     1e-9 // last arrivals of less density are not looked at
#define SQRT_2         1.41421356237309504880
#define SQRT_2_PI      2.50662827463100050242
#define PAD            3 // rows of zeros around an integrand: what its ends are

struct chain {
    const struct rb_one_wave *w;
    struct rb_law_curve trial;
    struct rb_arena *arena;
    int needed;        // arrivals until all have started
    int alike;         // of the arrivals before that one, the first so many start equally many trials
    int n;             // nodes
    double step;       // normal scores between them
    double *x;         // [n] arrival times
    double *weight;    // [n] normal density times step
    double *before;    // [n] P(an arrival is before)
    double *last;      // [n] what makes the integral over the last arrival needed one over its density
    double *factor;    // [n][LANES] what each trial that starts at x contributes
    double *so_far;    // [n][LANES] E of the product over the arrivals so far, all of them before x
    double *integrand; // [n + 2 PAD][LANES]
    double whole[3];   // [stride] the integral of 1
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

static void lay_nodes(struct chain *c, double step)
{
    const struct rb_one_wave *w = c->w;
    const int left = w->new_nodes - c->needed;
    const double ways = lgamma(w->new_nodes + 1.0) - lgamma(c->needed) - lgamma(left + 1.0);
    c->step = step;
    c->n = 2 * (int)ceil(REACH / step) + 1;
    const size_t n = (size_t)c->n;
    c->x = rb_arena_array(c->arena, n, sizeof *c->x);
    c->weight = rb_arena_array(c->arena, n, sizeof *c->weight);
    c->before = rb_arena_array(c->arena, n, sizeof *c->before);
    c->last = rb_arena_array(c->arena, n, sizeof *c->last);
    c->factor = rb_arena_array(c->arena, n * LANES, sizeof *c->factor);
    c->so_far = rb_arena_array(c->arena, n * LANES, sizeof *c->so_far);
    c->integrand = rb_arena_array(c->arena, (n + 2 * PAD) * LANES, sizeof *c->integrand);
    for (int k = 0; k < c->n; k++) {
        const double z = (k - c->n / 2) * step;
        c->before[k] = normal_below(z);
        c->x[k] = rb_law_quantile(w->arrival, c->before[k]);
        c->weight[k] = step * exp(-z * z / 2) / SQRT_2_PI;
        c->last[k] = exp(ways + left * log(normal_below(-z)));
    }
}

// ---- the chain. With `stride` 2 every second node is left out: what that changes tells what the nodes err by

static double power(double base, int exponent)
{
    double product = 1;
    for (; exponent > 0; exponent >>= 1, base *= base)
        product *= exponent & 1 ? base : 1;
    return product;
}

// The integrand of the next arrival: density, what starts there, and what was before.
static void set_integrand(struct chain *c, int stride, int starts, double times, bool first)
{
    double *f = c->integrand + (size_t)PAD * LANES;
    const int nodes = (c->n - 1) / stride + 1;
    memset(c->integrand, 0, PAD * LANES * sizeof *f);
    memset(f + (size_t)nodes * LANES, 0, PAD * LANES * sizeof *f);
    for (int k = 0; k < nodes; k++) {
        const double weight = c->weight[k * stride] * stride * times;
        const double *factor = c->factor + (size_t)k * LANES, *so_far = c->so_far + (size_t)k * LANES;
        double *row = f + (size_t)k * LANES;
        for (int l = 0; l < LANES; l++)
            row[l] = weight * (first ? 1 : so_far[l]);
        if (starts == 1) {
            for (int l = 0; l < LANES; l++)
                row[l] *= factor[l];
        } else if (starts > 1) {
            for (int l = 0; l < LANES; l++)
                row[l] *= power(factor[l], starts);
        }
    }
}

// Its integral up to each node, from the six nodes nearest to each interval.
static void integrate(struct chain *c, int stride)
{
    const int nodes = (c->n - 1) / stride + 1;
    double sum[LANES] = {0};
    memset(c->so_far, 0, LANES * sizeof *c->so_far);
    for (int k = 0; k + 1 < nodes; k++) {
        const double *f = c->integrand + (size_t)(k + PAD - 2) * LANES;
        double *to = c->so_far + (size_t)(k + 1) * LANES;
        for (int l = 0; l < LANES; l++) {
            sum[l] += (11 * (f[l] + f[l + 5 * LANES]) - 93 * (f[l + LANES] + f[l + 4 * LANES]) +
                       802 * (f[l + 2 * LANES] + f[l + 3 * LANES])) /
                      1440;
            to[l] = sum[l];
        }
    }
}

// so_far: E of the product over all arrivals but the last one needed, times P(they are before x). Arrivals that start
// equally many trials need not be sorted: a power.
static void run_chain(struct chain *c, int stride)
{
    const size_t values = (size_t)((c->n - 1) / stride + 1) * LANES;
    const int before = c->needed - 1;
    if (before == 0) {
        for (size_t i = 0; i < values; i++)
            c->so_far[i] = 1;
        return;
    }
    set_integrand(c, stride, starts_at(c->w, 1), 1, true);
    integrate(c, stride);
    for (size_t i = 0; i < values; i++)
        c->so_far[i] = power(c->so_far[i], c->alike);
    for (int arrival = c->alike + 1; arrival <= before; arrival++) {
        set_integrand(c, stride, starts_at(c->w, arrival), arrival, false);
        integrate(c, stride);
    }
}

static void last_arrival(struct chain *c, int stride, double *out)
{
    const int nodes = (c->n - 1) / stride + 1;
    set_integrand(c, stride, starts_at(c->w, c->needed), 1, false);
    memset(out, 0, LANES * sizeof *out);
    for (int k = 0; k < nodes; k++) {
        const double *f = c->integrand + (size_t)(k + PAD) * LANES;
        for (int l = 0; l < LANES; l++)
            out[l] += c->last[k * stride] * f[l];
    }
}

// Dividing by the integral of 1 leaves errors that are small where the factors are near 1: in the upper tail.
static void find_whole(struct chain *c, int stride)
{
    double sum[LANES];
    for (size_t i = 0; i < (size_t)((c->n - 1) / stride + 1) * LANES; i++)
        c->factor[i] = 1;
    run_chain(c, stride);
    last_arrival(c, stride, sum);
    c->whole[stride] = sum[0];
}

// false: too many nodes.
static bool refine(struct chain *c, double step)
{
    if (!(2 * REACH / step < MAX_NODES))
        return false;
    lay_nodes(c, step);
    find_whole(c, 1);
    find_whole(c, 2);
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
    const int nodes = (c->n - 1) / stride + 1;
    for (int k = 0; k < nodes; k++) {
        for (int l = 0; l < LANES; l++)
            c->factor[k * LANES + l] = rb_law_curve_below(&c->trial, times[l] - c->x[k * stride]);
    }
    double below[LANES];
    run_chain(c, stride);
    last_arrival(c, stride, below);
    for (int l = 0; l < LANES; l++) {
        const double above = fmin(1, fmax(0, 1 - below[l] / c->whole[stride]));
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
    const int nodes = (c->n - 1) / stride + 1;
    for (int k = 0; k < nodes; k++) {
        for (int l = 0; l < LANES; l++)
            c->factor[k * LANES + l] = rb_law_curve_above(&c->trial, c->x[at[l] * stride] - c->x[k * stride]);
    }
    run_chain(c, stride);
}

static double early_at(struct chain *c, int stride)
{
    const int nodes = (c->n - 1) / stride + 1;
    const double n_open = c->w->open_slots;
    double late = 0;
    for (int k = 0; k < nodes;) {
        int at[LANES], lanes = 0;
        for (; k < nodes && lanes < LANES; k++) {
            const double density = c->last[k * stride] * c->weight[k * stride];
            if (density * power(c->before[k * stride], c->needed - 1) > NEGLIGIBLE)
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
            late += c->last[node] * c->weight[node] * stride * open * c->so_far[at[l] * LANES + l];
        }
    }
    return fmin(1, fmax(0, 1 - late / c->whole[stride]));
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
    if (arrivals_needed(w) > w->new_nodes)
        return "more trials than slots";
    return w->new_nodes > MOST_NEW_NODES ? "too many new nodes" : NULL;
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
