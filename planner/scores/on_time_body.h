// The kernels of on_time_kernel.h: included by on_time_kernel_plain.c and on_time_kernel_avx2.c, whose flags say what a quad of
// frequencies is. Sums keep their order, so both give the same bits.
#ifndef RB_PLANNER_ON_TIME_BODY_H
#define RB_PLANNER_ON_TIME_BODY_H

#include "planner/scores/on_time_kernel.h"
#include "simulator/list_schedule/complex_lanes.h"

_Static_assert(2 * LANES == RB_ON_TIME_LANES, "two quads are worked on side by side");

// Eight frequencies of a product.
struct pair {
    struct block low, high;
};

static inline struct block block_at(const double *re, const double *im, int k)
{
    return (struct block){quad_load(re + k), quad_load(im + k)};
}

static inline struct pair pair_of(const double *re, const double *im, int k)
{
    return (struct pair){block_at(re, im, k), block_at(re, im, k + LANES)};
}

static inline struct pair pair_times(struct pair a, const struct rb_transform *b, int k)
{
    return (struct pair){block_mul(a.low, block_at(b->re, b->im, k)), block_mul(a.high, block_at(b->re, b->im, k + LANES))};
}

static void multiply(struct rb_product *out, const struct rb_product *a, const struct rb_transform *b)
{
    out->n = a->n < b->n ? a->n : b->n;
    for (int k = 0; k < out->n; k += RB_ON_TIME_LANES) {
        const struct pair p = pair_times(pair_of(a->re, a->im, k), b, k);
        quad_store(out->re + k, p.low.re);
        quad_store(out->im + k, p.low.im);
        quad_store(out->re + k + LANES, p.high.re);
        quad_store(out->im + k + LANES, p.high.im);
    }
}

struct sums {
    struct quad low, high;
};

static inline struct sums sums_begin(void)
{
    return (struct sums){quad_all(0), quad_all(0)};
}

static inline struct quad weighed(struct quad sum, struct block b, const struct rb_limit_weights *w, int k)
{
    return quad_add(sum, quad_add(quad_mul(quad_load(w->re + k), b.re), quad_mul(quad_load(w->im + k), b.im)));
}

static inline struct sums sums_add(struct sums s, struct pair p, const struct rb_limit_weights *w, int k)
{
    return (struct sums){weighed(s.low, p.low, w, k), weighed(s.high, p.high, w, k + LANES)};
}

static inline double probability(struct sums s)
{
    const double p = 0.5 + quad_sum(quad_add(s.low, s.high));
    return p < 0 ? 0 : p > 1 ? 1 : p;
}

static double below(const struct rb_product *p, const struct rb_limit_weights *w)
{
    struct sums s = sums_begin();
    for (int k = 0; k < p->n; k += RB_ON_TIME_LANES)
        s = sums_add(s, pair_of(p->re, p->im, k), w, k);
    return probability(s);
}

static double below_with(const struct rb_product *a, const struct rb_transform *b, const struct rb_limit_weights *w)
{
    struct sums s = sums_begin();
    const int n = a->n < b->n ? a->n : b->n;
    for (int k = 0; k < n; k += RB_ON_TIME_LANES)
        s = sums_add(s, pair_times(pair_of(a->re, a->im, k), b, k), w, k);
    return probability(s);
}

static double transforms_below(const struct rb_transform *const *factors, int n_factors, const struct rb_limit_weights *w)
{
    struct sums s = sums_begin();
    int n = factors[0]->n;
    for (int i = 1; i < n_factors; i++)
        n = factors[i]->n < n ? factors[i]->n : n;
    for (int k = 0; k < n; k += RB_ON_TIME_LANES) {
        struct pair p = pair_of(factors[0]->re, factors[0]->im, k);
        for (int i = 1; i < n_factors; i++)
            p = pair_times(p, factors[i], k);
        s = sums_add(s, p, w, k);
    }
    return probability(s);
}

#endif
