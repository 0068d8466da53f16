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

// (a - b z) z^turn at the roots of a block.
static inline struct block part_of(const struct rb_schedule_circle *c, int block, int turn, double a, double b)
{
    const int first = (int)((int64_t)LANES * block * turn % c->points);
    const struct block turned = {quad_all(c->re[first]), quad_all(c->im[first])};
    const struct quad minus = quad_all(-b);
    const struct block line = {quad_add(quad_all(a), quad_mul(minus, quad_load(c->re + (size_t)block * LANES))),
                               quad_mul(minus, quad_load(c->im + (size_t)block * LANES))};
    return block_mul(block_mul(turned, block_load(c->turned + (size_t)turn * 2 * LANES)), line);
}

static inline struct block weight_of(const struct rb_schedule_circle *c, const struct rb_schedule_window *w, int block)
{
    const double a0 = w->f_q0 * (w->q0 + 1), b0 = w->f_q0 * w->q0 * w->f;
    const double a1 = w->f_q1 * (w->q1 + 2), b1 = w->f_q1 * (w->q1 + 1) * w->f;
    const bool together = w->turn0 == w->turn1; // the window is full
    struct block part = part_of(c, block, w->turn0, together ? a0 - a1 : a0, together ? b0 - b1 : b0);
    if (!together)
        part = block_add_times(part, -1, part_of(c, block, w->turn1, a1, b1));
    return block_mul(part, block_load(w->inverse + (size_t)block * 2 * LANES));
}

// What the roots of a block contribute is added to *sum; false: next to nothing.
static inline bool add_block(const struct rb_schedule_circle *c, const struct rb_schedule_window *w,
                             const struct rb_schedule_terms *t, int block, struct quad *sum)
{
    const struct block v = terms_block(c, t, block), weight = weight_of(c, w, block);
    *sum = quad_add(*sum, quad_sub(quad_mul(v.re, weight.re), quad_mul(v.im, weight.im)));
    return !quad_all_below(v.re, t->dust) || !quad_all_below(v.im, t->dust);
}

// From the root 1 on until nothing is left, and from every peak that is not dust to either side.
static double coefficient_kernel(const struct rb_schedule_circle *c, const struct rb_schedule_window *w,
                                 const struct rb_schedule_terms *t)
{
    struct quad sum = quad_all(0);
    int end = 0; // of the blocks that need no other look
    while (end < c->blocks && add_block(c, w, t, end++, &sum))
        ;
    for (int i = 0; i < c->n_peaks; i++) {
        const int peak = c->peaks[i];
        if (peak < end)
            continue;
        const bool counts = add_block(c, w, t, peak, &sum);
        for (int b = peak - 1; counts && b >= end && add_block(c, w, t, b, &sum); b--)
            ;
        end = peak + 1;
        while (counts && end < c->blocks && add_block(c, w, t, end++, &sum))
            ;
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
