// P(end > t). Most of the time goes into raising a slot's factor to the number of slots, on each point of the circle; the
// loops over four lanes are what a compiler puts into vectors, without changing a bit.
#include "simulator/list_schedule_tail.h"

#include <math.h>
#include <string.h>

#define LANES RB_CIRCLE_LANES

struct block { // complex numbers at LANES neighbouring roots
    double re[LANES], im[LANES];
};

static void multiply(struct block *a, const struct block *b)
{
    for (int i = 0; i < LANES; i++) {
        const double re = a->re[i] * b->re[i] - a->im[i] * b->im[i];
        a->im[i] = a->re[i] * b->im[i] + a->im[i] * b->re[i];
        a->re[i] = re;
    }
}

static struct block power(struct block base, int exponent)
{
    struct block out = {.re = {1, 1, 1, 1}};
    bool empty = true;
    for (; exponent > 0; exponent >>= 1) {
        if (exponent & 1) {
            if (empty)
                out = base;
            else
                multiply(&out, &base);
            empty = false;
        }
        if (exponent > 1)
            multiply(&base, &base);
    }
    return out;
}

static double real_power(double base, int exponent)
{
    double out = 1;
    for (; exponent > 0; exponent >>= 1, base *= base) {
        if (exponent & 1)
            out *= base;
    }
    return out;
}

// ---- a slot's factor

struct slot {           // chances of one (age, time left), trimmed
    const double *p;    // [0]: of from completions
    int from, to;       // completions
    double total, mean; // w(1), and w'(1) / w(1)
};

static struct slot slot_of(const struct rb_renewal *r, const double *p, double dust)
{
    struct slot s = {.p = p, .from = r->min_k, .to = r->max_k};
    while (s.to > s.from && p[s.to - r->min_k] < dust)
        s.to--;
    while (s.from < s.to && *s.p < dust) {
        s.from++;
        s.p++;
    }
    double starts = 0;
    for (int k = s.from; k <= s.to; k++) {
        s.total += s.p[k - s.from];
        starts += s.p[k - s.from] * (k + 1);
    }
    s.mean = s.total > 0 ? starts / s.total : 0;
    return s;
}

static struct block slot_block(const struct slot *s, const struct rb_schedule_circle *circle, int block)
{
    struct block w = {.re = {0}};
    for (int k = s->from; k <= s->to; k++) {
        const double *z = circle->powers + ((size_t)(k - circle->min_k) * circle->blocks + block) * 2 * LANES;
        const double p = s->p[k - s->from];
        for (int i = 0; i < LANES; i++) {
            w.re[i] += p * z[i];
            w.im[i] += p * z[LANES + i];
        }
    }
    return w;
}

// ---- new nodes

static void fill_at_one(struct rb_schedule_tail *e, struct rb_schedule_row *row, int from, int to)
{
    const int c = e->s->slots_per_node;
    for (int a = from; a < to; a++) {
        const struct slot s = slot_of(&e->open, row->chances + (size_t)a * e->stride, e->dust);
        row->at_one[a] = real_power(s.total, c);
        row->slope[a] = c * s.mean * row->at_one[a];
    }
}

// Ages from <= a < to at z = 1. What is made stays one interval.
static void need_at_one(struct rb_schedule_tail *e, struct rb_schedule_row *row, int from, int to)
{
    const size_t ages = (size_t)e->max_age + 1;
    if (!row->at_one) {
        row->at_one = rb_arena_array(e->arena, ages, sizeof *row->at_one);
        row->slope = rb_arena_array(e->arena, ages, sizeof *row->slope);
        row->from = row->to = from;
    }
    if (from < row->from) {
        fill_at_one(e, row, from, row->from);
        row->from = from;
    }
    if (to > row->to) {
        fill_at_one(e, row, row->to, to);
        row->to = to;
    }
}

static void fill_block(struct rb_schedule_tail *e, const struct rb_schedule_row *row, int block, int from, int to)
{
    for (int a = from; a < to; a++) {
        const struct slot s = slot_of(&e->open, row->chances + (size_t)a * e->stride, e->dust);
        const struct block v = power(slot_block(&s, &e->circle, block), e->s->slots_per_node);
        memcpy(row->blocks[block].lanes + (size_t)a * 2 * LANES, &v, sizeof v);
    }
}

static const double *need_block(struct rb_schedule_tail *e, const struct rb_schedule_row *row, int block, int from,
                                int to)
{
    struct rb_schedule_block *b = &row->blocks[block];
    if (!b->lanes) {
        b->lanes = rb_arena_array(e->arena, ((size_t)e->max_age + 1) * 2 * LANES, sizeof *b->lanes);
        b->from = b->to = from;
    }
    if (from < b->from) {
        fill_block(e, row, block, from, b->from);
        b->from = from;
    }
    if (to > b->to) {
        fill_block(e, row, block, b->to, to);
        b->to = to;
    }
    return b->lanes;
}

// Chances of all (y, age): the lattice gives them by t = age + y.
static void make_rows(struct rb_schedule_tail *e)
{
    const int ages = e->max_age + 1;
    e->rows = rb_arena_array(e->arena, (size_t)e->last_y + 1, sizeof *e->rows);
    for (int y = e->first_y; y <= e->last_y; y++) {
        e->rows[y].chances = rb_arena_array(e->arena, (size_t)ages * e->stride, sizeof *e->rows[y].chances);
        e->rows[y].blocks = rb_arena_array(e->arena, (size_t)e->circle.blocks, sizeof *e->rows[y].blocks);
    }
    for (int t = e->first_y; t < ages + e->last_y; t++) {
        const int from = t > e->last_y ? t - e->last_y : 0, to = t - e->first_y < ages ? t - e->first_y : ages - 1;
        rb_renewal_chances(&e->open, t, from, to, e->chances, e->stride);
        for (int a = from; a <= to; a++)
            memcpy(e->rows[t - a].chances + (size_t)a * e->stride, e->chances + (size_t)(a - from) * e->stride,
                   (size_t)e->stride * sizeof *e->chances);
    }
}

struct node { // b(z; x, y): a node's factor averaged over its opening
    double total, mean;
};

static struct node node_at_one(struct rb_schedule_tail *e, int x, int y)
{
    struct rb_schedule_row *row = &e->rows[y];
    double total = e->opening.unopened[x], slope = 0;
    const int last = x < e->opening.last ? x : e->opening.last;
    if (last >= e->opening.first)
        need_at_one(e, row, x - last, x - e->opening.first + 1);
    for (int o = e->opening.first; o <= last; o++) {
        const double g = rb_opening_weight(&e->opening, o, x);
        total += g * row->at_one[x - o];
        slope += g * row->slope[x - o];
    }
    return (struct node){.total = total, .mean = total > 0 ? slope / total : 0};
}

static struct block node_block(struct rb_schedule_tail *e, int x, int y, int block)
{
    struct block b = {.re = {0}};
    for (int i = 0; i < LANES; i++)
        b.re[i] = e->opening.unopened[x];
    const int last = x < e->opening.last ? x : e->opening.last;
    if (last < e->opening.first)
        return b;
    const double *lanes = need_block(e, &e->rows[y], block, x - last, x - e->opening.first + 1);
    for (int o = e->opening.first; o <= last; o++) {
        const double g = rb_opening_weight(&e->opening, o, x);
        const double *v = lanes + (size_t)(x - o) * 2 * LANES;
        for (int i = 0; i < LANES; i++) {
            b.re[i] += g * v[i];
            b.im[i] += g * v[LANES + i];
        }
    }
    return b;
}

// A node's starts: of one slot that opens late, or of all of its slots averaged over their opening.
static void node_starts(const struct rb_schedule_tail *e, int x, double *out_mean, double *out_variance)
{
    if (e->linear) {
        rb_renewal_starts(&e->delayed, x, out_mean, out_variance);
        return;
    }
    const double c = e->s->slots_per_node;
    double first = 0, second = 0, mean, variance;
    for (int o = e->opening.first; o <= x && o <= e->opening.last; o++) {
        rb_renewal_starts(&e->open, x - o, &mean, &variance);
        first += e->opening.weight[o] * c * mean;
        second += e->opening.weight[o] * (c * variance + c * c * mean * mean);
    }
    *out_mean = first;
    *out_variance = second - first * first;
}

void rb_schedule_tail_starts(const struct rb_schedule_tail *e, int x, double *out_mean, double *out_variance)
{
    double mean = 0, variance = 0;
    if (e->s->open_slots > 0)
        rb_renewal_starts(&e->open, x, &mean, &variance);
    *out_mean = e->s->open_slots * mean;
    *out_variance = e->s->open_slots * variance;
    if (e->s->new_nodes == 0)
        return;
    node_starts(e, x, &mean, &variance);
    *out_mean += e->s->new_nodes * mean;
    *out_variance += e->s->new_nodes * variance;
}

// Of a slot: age / mean + (1 + cv^2) / 2 for long ages, no more than age / mean + 1 if cv is small.
double rb_schedule_tail_one_node(const struct rb_schedule_tail *e, int x)
{
    const struct rb_law *law = e->trial->law;
    const double cv2 = law->variance_s2 / (law->mean_s * law->mean_s);
    return e->s->slots_per_node * (x * e->trial->step_s / law->mean_s + fmax(1, (1 + cv2) / 2));
}

// ---- the coefficient

// Sum over m = first..first+points-1, m < n, of (n - m) F^(n-m-1) [z^m] W. The window is where W has its mass, so that
// what the circle folds onto it is dust.
struct window {
    int n, first; // q = n - 1 - m runs from q0 to q1
    int q0, q1;
    double f, above;  // F(y), 1 - F(y)
    int turn0, turn1; // roots by which z^(q0-n+1) and z^(q1+1-n+1) turn from one root to the next
    double f_q0, f_q1;
};

static struct window window_at(const struct rb_schedule_tail *e, double mean, double f, double above)
{
    const int points = e->circle.points;
    struct window w = {.n = e->s->n_trials, .f = f, .above = above};
    w.first = (int)floor(mean + 0.5) - points / 2;
    if (w.first < 0)
        w.first = 0;
    w.q1 = w.n - 1 - w.first;
    w.q0 = w.q1 - points + 1 > 0 ? w.q1 - points + 1 : 0;
    if (w.q1 >= 0) {
        w.f_q0 = real_power(f, w.q0);
        w.f_q1 = w.f_q0 * real_power(f, w.q1 + 1 - w.q0);
        w.turn0 = (w.q0 + points - (w.n - 1) % points) % points;
        w.turn1 = (w.q1 + 1 + points - (w.n - 1) % points) % points;
    }
    return w;
}

static double weights_at_one(const struct window *w)
{
    const double v = w->above;
    if (v * (w->q1 - w->q0) > 0.01) // the closed form below loses no more than four digits
        return (w->f_q0 * ((w->q0 + 1) * v + w->f) - w->f_q1 * ((w->q1 + 2) * v + w->f)) / (v * v);
    double total = 0, power_f = w->f_q0;
    for (int q = w->q0; q <= w->q1; q++, power_f *= w->f)
        total += (q + 1) * power_f;
    return total;
}

// Sum over q of (q + 1) (F z)^q, times z^-(n-1), at the roots of a block: a geometric sum and its derivative in closed form.
static struct block weights_at(const struct window *w, const struct rb_schedule_circle *c, int b)
{
    struct block z = {.re = {0}}, z0 = z, z1 = z, out;
    int at0 = (int)((int64_t)b * LANES * w->turn0 % c->points), at1 = (int)((int64_t)b * LANES * w->turn1 % c->points);
    for (int i = 0; i < LANES && b * LANES + i < c->points; i++) {
        z.re[i] = w->f * c->re[b * LANES + i];
        z.im[i] = w->f * c->im[b * LANES + i];
        z0.re[i] = w->f_q0 * c->re[at0];
        z0.im[i] = w->f_q0 * c->im[at0];
        z1.re[i] = w->f_q1 * c->re[at1];
        z1.im[i] = w->f_q1 * c->im[at1];
        at0 = at0 + w->turn0 < c->points ? at0 + w->turn0 : at0 + w->turn0 - c->points;
        at1 = at1 + w->turn1 < c->points ? at1 + w->turn1 : at1 + w->turn1 - c->points;
    }
    const double p = w->q0 + 1, q = w->q1 + 2;
    for (int i = 0; i < LANES; i++) {
        // With u = F z: z0 (p (1 - u) + u) - z1 (q (1 - u) + u), over (1 - u)^2.
        const double u = z.re[i], v = z.im[i];
        const double p_re = p * (1 - u) + u, p_im = (1 - p) * v, q_re = q * (1 - u) + u, q_im = (1 - q) * v;
        const double n_re = z0.re[i] * p_re - z0.im[i] * p_im - (z1.re[i] * q_re - z1.im[i] * q_im);
        const double n_im = z0.im[i] * p_re + z0.re[i] * p_im - (z1.im[i] * q_re + z1.re[i] * q_im);
        const double d_re = (1 - u) * (1 - u) - v * v, d_im = -2 * (1 - u) * v;
        const double size = d_re * d_re + d_im * d_im;
        out.re[i] = (n_re * d_re + n_im * d_im) / size;
        out.im[i] = (n_im * d_re - n_re * d_im) / size;
    }
    return out;
}

struct place { // where the integrand is computed: x until the last start, y left to the last trial
    int x, y;
    struct slot open, delayed;
    double total, mean; // of all starts at z = 1, and their mean there
};

static struct block late_slot_block(const struct rb_schedule_tail *e, const struct place *at, int b)
{
    struct block v = slot_block(&at->delayed, &e->circle, b);
    for (int i = 0; i < LANES; i++)
        v.re[i] += e->opening.unopened[at->x];
    return v;
}

static struct block block_at(struct rb_schedule_tail *e, const struct place *at, int b)
{
    struct block v = {.re = {1, 1, 1, 1}};
    if (e->s->open_slots > 0)
        v = power(slot_block(&at->open, &e->circle, b), e->s->open_slots);
    if (e->s->new_nodes > 0) {
        const struct block node = e->linear ? late_slot_block(e, at, b) : node_block(e, at->x, at->y, b);
        const struct block nodes = power(node, e->s->new_nodes);
        multiply(&v, &nodes);
    }
    return v;
}

static double coefficient(struct rb_schedule_tail *e, const struct window *w, const struct place *at)
{
    const struct rb_schedule_circle *c = &e->circle;
    const double dust = at->total * 2 * e->negligible; // of the whole: a thousandth of the accuracy
    double sum = at->total * weights_at_one(w);
    bool faded = false;
    for (int b = 0; b < c->blocks; b++) {
        if (faded && !c->peaks[b])
            continue;
        const struct block v = block_at(e, at, b), weights = weights_at(w, c, b);
        faded = true;
        for (int i = 0; i < LANES; i++) {
            const int l = b * LANES + i;
            if (l >= c->kept)
                break;
            faded &= fabs(v.re[i]) < dust && fabs(v.im[i]) < dust;
            if (l > 0)
                sum += (2 * l == c->points ? 1 : 2) * (v.re[i] * weights.re[i] - v.im[i] * weights.im[i]);
        }
    }
    return sum / c->points;
}

// The largest weight (q + 1) F^q with q >= least.
static double largest_weight(double below, double above, int least)
{
    const double q = above > 0 ? 1 / above : 1e18;
    return least >= q ? (least + 1) * exp(least * log(below)) : q < 2 ? 1 : q;
}

static struct node node_of(struct rb_schedule_tail *e, const struct place *at)
{
    if (!e->linear)
        return node_at_one(e, at->x, at->y);
    const double total = e->opening.unopened[at->x] + at->delayed.total;
    return (struct node){.total = total, .mean = total > 0 ? at->delayed.mean * at->delayed.total / total : 0};
}

static double integrand(struct rb_schedule_tail *e, struct place *at)
{
    const double below = e->trial->below[at->y], above = e->trial->above[at->y];
    const double scale = e->trial->density[at->y] * e->trial->step_s, n = e->s->n_trials;
    at->total = 1;
    at->mean = 0;
    if (e->s->open_slots > 0) {
        at->total = real_power(at->open.total, e->s->open_slots);
        at->mean = e->s->open_slots * at->open.mean;
    }
    double most = largest_weight(below, above, 0);
    if (scale * at->total * (most < n ? most : n) < e->negligible)
        return 0;
    if (e->s->new_nodes > 0) {
        const struct node node = node_of(e, at);
        at->total *= real_power(node.total, e->s->new_nodes);
        at->mean += e->s->new_nodes * node.mean;
    }
    const struct window w = window_at(e, at->mean, below, above);
    if (w.q1 < 0)
        return 0;
    most = largest_weight(below, above, w.q0);
    if (scale * at->total * (most < n ? most : n) < e->negligible)
        return 0;
    return scale * coefficient(e, &w, at);
}

double rb_schedule_tail_above(struct rb_schedule_tail *e, int t)
{
    const int n = e->s->n_trials, from = t - e->last_y > e->min_age ? t - e->last_y : e->min_age;
    const int to = t - e->first_y < e->max_age ? t - e->first_y : e->max_age;
    const double above = rb_trial_lattice_above(e->trial, t);
    double p = above >= 1 ? 1 : -expm1(n * log1p(-above));
    if (to < from)
        return p;
    if (e->s->open_slots > 0)
        rb_renewal_chances(&e->open, t, from, to, e->chances, e->stride);
    if (e->linear)
        rb_renewal_chances(&e->delayed, t, from, to, e->delayed_chances, e->delayed_stride);
    for (int x = from; x <= to; x++) {
        struct place at = {.x = x, .y = t - x};
        if (e->s->open_slots > 0)
            at.open = slot_of(&e->open, e->chances + (size_t)(x - from) * e->stride, e->dust);
        if (e->linear)
            at.delayed = slot_of(&e->delayed, e->delayed_chances + (size_t)(x - from) * e->delayed_stride, e->dust);
        p += rb_lattice_end_weight(x) * integrand(e, &at);
    }
    return p;
}

// ---- making one

bool rb_schedule_tail_make(const struct rb_list_schedule *s, const struct rb_trial_lattice *trial, int min_age,
                           int max_age, double negligible, struct rb_arena *arena, struct rb_schedule_tail *out,
                           const char **out_why)
{
    struct rb_schedule_tail e = {.s = s,
                                 .trial = trial,
                                 .min_age = min_age,
                                 .max_age = max_age,
                                 .negligible = negligible,
                                 .dust = negligible * 1e-3,
                                 .arena = arena};
    const size_t ages = (size_t)(max_age < trial->last ? trial->last : max_age) + 1;
    e.linear = s->new_nodes > 0 && s->slots_per_node == 1;
    e.first_y = trial->first > 0 ? trial->first : 1;
    e.last_y = trial->last;
    if (s->new_nodes > 0)
        rb_opening_lattice_make(s->arrival, trial->step_s, max_age + 1, e.dust, arena, &e.opening);
    if (e.linear) {
        if (!rb_renewal_make(trial, &e.opening, min_age, max_age, arena, &e.delayed, out_why))
            return false;
        e.delayed_stride = e.delayed.max_k - e.delayed.min_k + 1;
        e.delayed_chances = rb_arena_array(arena, ages * (size_t)e.delayed_stride, sizeof *e.delayed_chances);
    }
    if (s->open_slots > 0 || !e.linear) {
        if (!rb_renewal_make(trial, NULL, min_age, max_age, arena, &e.open, out_why))
            return false;
        e.stride = e.open.max_k - e.open.min_k + 1;
        e.chances = rb_arena_array(arena, ages * (size_t)e.stride, sizeof *e.chances);
    }
    *out = e;
    return true;
}

void rb_schedule_tail_set_circle(struct rb_schedule_tail *e, int points, int kept)
{
    struct rb_schedule_circle c = {.points = points, .kept = kept, .blocks = (kept + LANES - 1) / LANES};
    c.re = rb_arena_array(e->arena, (size_t)points, sizeof *c.re);
    c.im = rb_arena_array(e->arena, (size_t)points, sizeof *c.im);
    for (int l = 0; l < points; l++) {
        c.re[l] = cos(2 * 3.14159265358979323846 * l / points);
        c.im[l] = sin(2 * 3.14159265358979323846 * l / points);
    }
    const struct rb_renewal *late = &e->delayed, *open = &e->open;
    c.min_k = e->stride == 0 || (e->linear && late->min_k < open->min_k) ? late->min_k : open->min_k;
    c.max_k = e->stride == 0 || (e->linear && late->max_k > open->max_k) ? late->max_k : open->max_k;
    c.powers = rb_arena_array(e->arena, (size_t)(c.max_k - c.min_k + 1) * c.blocks * 2 * LANES, sizeof *c.powers);
    for (int k = c.min_k; k <= c.max_k; k++) {
        for (int l = 0; l < c.blocks * LANES; l++) {
            double *z = c.powers + ((size_t)(k - c.min_k) * c.blocks + l / LANES) * 2 * LANES + l % LANES;
            const int at = (int)((int64_t)l * (k + 1) % points);
            z[0] = c.re[at];
            z[LANES] = c.im[at];
        }
    }
    c.peaks = rb_arena_array(e->arena, (size_t)c.blocks, sizeof *c.peaks);
    for (int j = 0; j < e->s->slots_per_node && e->s->new_nodes > 0; j++) {
        const int at = (int)((int64_t)j * points / e->s->slots_per_node);
        for (int l = at - 2; l <= at + 3; l++) {
            if (l >= 0 && l < kept)
                c.peaks[l / LANES] = true;
        }
    }
    e->circle = c;
    if (e->s->new_nodes > 0 && !e->linear)
        make_rows(e);
}
