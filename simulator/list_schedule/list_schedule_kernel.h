// The kernels of list_schedule_circle.h: included by list_schedule_kernel_plain.c and list_schedule_kernel_avx2.c, which say
// what lanes are.
#ifndef RB_SIMULATOR_LIST_SCHEDULE_KERNEL_H
#define RB_SIMULATOR_LIST_SCHEDULE_KERNEL_H

#include "simulator/list_schedule/complex_lanes.h"
#include "simulator/list_schedule/list_schedule_circle.h"

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

static inline struct block roots_block(const struct rb_schedule_circle *c, int block)
{
    return (struct block){quad_load(c->re + (size_t)block * LANES), quad_load(c->im + (size_t)block * LANES)};
}

// z^turn at the roots of a block.
static inline struct block turned_block(const struct rb_schedule_circle *c, int turn, int block)
{
    const int first = (int)((int64_t)LANES * block * turn % c->points);
    const struct block all = {quad_all(c->re[first]), quad_all(c->im[first])};
    return block_mul(all, block_load(c->turned + (size_t)turn * 2 * LANES));
}

// one + (a - b z) z^turn
static inline struct block bracket_of(const struct rb_schedule_circle *c, const struct rb_schedule_window *w, int block)
{
    const struct block line = block_add_times(block_all(w->a), -w->b, roots_block(c, block));
    return block_add_times(block_all(w->one), 1, block_mul(turned_block(c, w->turn, block), line));
}

static inline struct block weight_of(const struct rb_schedule_circle *c, const struct rb_schedule_window *w, int block)
{
    const struct block table = block_load(w->table + (size_t)block * 2 * LANES);
    return w->endless ? table : block_mul(table, bracket_of(c, w, block));
}

// What the roots of a block contribute is added to *sum; false: next to nothing.
static inline bool add_block(const struct rb_schedule_circle *c, const struct rb_schedule_window *w,
                             const struct rb_schedule_terms *t, int block, struct quad *sum)
{
    const struct block v = block_mul(terms_block(c, t, block), weight_of(c, w, block));
    *sum = quad_add(*sum, v.re);
    return !quad_all_below(v.re, t->dust) || !quad_all_below(v.im, t->dust);
}

// From every peak that is not dust to either side until nothing is left.
static double coefficient_kernel(const struct rb_schedule_circle *c, const struct rb_schedule_window *w,
                                 const struct rb_schedule_terms *t)
{
    struct quad sum = quad_all(0);
    int end = 0; // of the blocks that need no other look
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

static void add_kernel(struct rb_schedule_age *const *ages, const double *weight, int n, int apart, double factor,
                       double *sum)
{
    for (int i = 0; i < n; i++, ages -= apart, weight += apart) {
        const struct quad w = quad_all(factor * *weight);
        const struct rb_schedule_age *at = *ages;
        const double *p = at->p;
        double *to = sum + at->from;
        for (const double *end = p + at->n; p < end; p += LANES, to += LANES)
            quad_store(to, quad_add(quad_load(to), quad_mul(w, quad_load(p))));
    }
}

static void tabulate_kernel(const struct rb_schedule_circle *c, double f, int turn, double *out)
{
    for (int b = 0; b < c->blocks; b++) {
        const struct block u = block_add_times(block_all(1), -f, roots_block(c, b)), square = block_mul(u, u);
        const struct quad size = quad_add(quad_mul(square.re, square.re), quad_mul(square.im, square.im));
        const struct quad times = quad_div(quad_load(c->times + (size_t)b * LANES), size);
        const struct block inverse = {quad_mul(times, square.re), quad_mul(quad_mul(times, square.im), quad_all(-1))};
        block_store(out + (size_t)b * 2 * LANES, block_mul(inverse, turned_block(c, turn, b)));
    }
    out[0] = out[LANES] = 0; // at the root 1, where F may be 1
}

#endif
