// The kernels of list_schedule_circle.h: included by list_schedule_kernel_plain.c and list_schedule_kernel_avx2.c, which say
// what lanes are.
#ifndef RB_SIMULATOR_LIST_SCHEDULE_KERNEL_H
#define RB_SIMULATOR_LIST_SCHEDULE_KERNEL_H

#include "simulator/list_schedule_circle.h"
#include "simulator/complex_lanes.h"

#include <stddef.h>

_Static_assert(LANES == RB_CIRCLE_LANES, "a block is one set of lanes");

// The generating function of starts.
static inline struct block starts_block(const struct rb_schedule_circle *c, const struct rb_schedule_starts *s,
                                        double none, int block)
{
    const size_t n = (size_t)(c->most + 1 - c->fewest);
    const double *z = c->powers + ((size_t)block * n + (size_t)(s->from - c->fewest)) * 2 * LANES;
    struct block w = block_all(none);
    for (int j = 0; j <= s->to - s->from; j++, z += 2 * LANES)
        w = block_add_times(w, s->p[j], block_load(z));
    return w;
}

static inline struct block terms_block(const struct rb_schedule_circle *c, const struct rb_schedule_terms *t, int block)
{
    struct block v = block_all(1);
    if (t->n_slots > 0)
        v = block_power(starts_block(c, t->slot, 0, block), t->n_slots);
    for (int i = 0; i < t->n_late; i++) {
        const struct rb_schedule_factor *f = &t->late[i];
        v = block_mul(v, block_power(starts_block(c, &f->node, f->unopened, block), f->n));
    }
    return v;
}

// z^turn at the roots of one block after the other.
struct turning {
    struct block now, step;
};

static inline struct turning turning_by(const struct rb_schedule_circle *c, int turn)
{
    const int by = (int)((int64_t)LANES * turn % c->points);
    return (struct turning){block_load(c->turned + (size_t)turn * 2 * LANES),
                            {quad_all(c->re[by]), quad_all(c->im[by])}};
}

// (a - b z) z^turn
static inline struct block part_of(struct turning *turning, double a, double b, struct block z)
{
    const struct quad minus = quad_all(-b);
    const struct block line = {quad_add(quad_all(a), quad_mul(minus, z.re)), quad_mul(minus, z.im)};
    const struct block part = block_mul(turning->now, line);
    turning->now = block_mul(turning->now, turning->step);
    return part;
}

static double coefficient_kernel(const struct rb_schedule_circle *c, const struct rb_schedule_window *w,
                                 const struct rb_schedule_terms *t)
{
    const double a0 = w->f_q0 * (w->q0 + 1), b0 = w->f_q0 * w->q0 * w->f;
    const double a1 = w->f_q1 * (w->q1 + 2), b1 = w->f_q1 * (w->q1 + 1) * w->f;
    const bool together = w->turn0 == w->turn1; // the window is full
    struct turning first = turning_by(c, w->turn0), second = turning_by(c, w->turn1);
    struct quad sum = quad_all(0);
    bool faded = false;
    for (int b = 0; b < c->blocks; b++) {
        const struct block z = {quad_load(c->re + (size_t)b * LANES), quad_load(c->im + (size_t)b * LANES)};
        struct block weight = part_of(&first, together ? a0 - a1 : a0, together ? b0 - b1 : b0, z);
        if (!together)
            weight = block_add_times(weight, -1, part_of(&second, a1, b1, z));
        if (faded && !c->peaks[b])
            continue;
        weight = block_mul(weight, block_load(w->inverse + (size_t)b * 2 * LANES));
        const struct block v = terms_block(c, t, b);
        faded = quad_all_below(v.re, t->dust) && quad_all_below(v.im, t->dust);
        sum = quad_add(sum, quad_sub(quad_mul(v.re, weight.re), quad_mul(v.im, weight.im)));
    }
    return quad_sum(sum);
}

_Static_assert(RB_CONVOLVE_TILE == 4 * LANES, "four sets of lanes are summed up at once");

static void convolve_kernel(const double *a, int n_a, double factor, const double *b, int n_b, double *out,
                            int n)
{
    for (int m = 0; m < n; m += RB_CONVOLVE_TILE) {
        const int end = m + RB_CONVOLVE_TILE < n_a ? m + RB_CONVOLVE_TILE : n_a;
        struct quad sum[4] = {quad_all(0), quad_all(0), quad_all(0), quad_all(0)};
        for (int i = m < n_b ? 0 : m - n_b + 1; i < end; i++) {
            const struct quad x = quad_all(factor * a[i]);
            const double *from = b + (m - i);
            for (int k = 0; k < 4; k++)
                sum[k] = quad_add(sum[k], quad_mul(x, quad_load(from + (ptrdiff_t)k * LANES)));
        }
        for (int k = 0; k < 4; k++)
            quad_store(out + m + (ptrdiff_t)k * LANES, sum[k]);
    }
}

static void add_kernel(double weight, const double *p, int n, double *sum)
{
    const struct quad w = quad_all(weight);
    for (int j = 0; j < n; j += LANES)
        quad_store(sum + j, quad_add(quad_load(sum + j), quad_mul(w, quad_load(p + j))));
}

static void inverse_kernel(const struct rb_schedule_circle *c, double f, double *out)
{
    for (int l = 0; l < c->blocks * LANES; l++) {
        double *at = out + (size_t)(l / LANES) * 2 * LANES + l % LANES;
        const bool counts = l > 0 && l < c->kept;
        const double u = counts ? 1 - f * c->re[l] : 1, v = counts ? -f * c->im[l] : 0;
        const double re = u * u - v * v, im = 2 * u * v, size = re * re + im * im;
        const double times = !counts ? 0 : 2 * l == c->points ? 1 : 2;
        at[0] = times * (re / size);
        at[LANES] = times * (-im / size);
    }
}

#endif
