// Four complex numbers side by side: at neighbouring roots of unity, at neighbouring frequencies. Two implementations with the same
// results bit by bit: every operation is one IEEE operation, and nothing is fused or reordered. Which one holds is decided by the
// compiler's flags for the file that includes this.
#ifndef RB_SIMULATOR_COMPLEX_LANES_H
#define RB_SIMULATOR_COMPLEX_LANES_H

#include <math.h>
#include <stdbool.h>

#define LANES 4

#ifdef __AVX2__
#include <immintrin.h>

struct quad {
    __m256d v;
};

static inline struct quad quad_all(double x)
{
    return (struct quad){_mm256_set1_pd(x)};
}

static inline struct quad quad_load(const double *at)
{
    return (struct quad){_mm256_loadu_pd(at)};
}

static inline void quad_store(double *at, struct quad a)
{
    _mm256_storeu_pd(at, a.v);
}

static inline struct quad quad_add(struct quad a, struct quad b)
{
    return (struct quad){_mm256_add_pd(a.v, b.v)};
}

static inline struct quad quad_sub(struct quad a, struct quad b)
{
    return (struct quad){_mm256_sub_pd(a.v, b.v)};
}

static inline struct quad quad_mul(struct quad a, struct quad b)
{
    return (struct quad){_mm256_mul_pd(a.v, b.v)};
}

static inline struct quad quad_div(struct quad a, struct quad b)
{
    return (struct quad){_mm256_div_pd(a.v, b.v)};
}

static inline bool quad_all_below(struct quad a, double limit) // |a| < limit in every lane
{
    const __m256d size = _mm256_andnot_pd(_mm256_set1_pd(-0.0), a.v);
    return _mm256_movemask_pd(_mm256_cmp_pd(size, _mm256_set1_pd(limit), _CMP_LT_OQ)) == 15;
}
#else
struct quad {
    double v[LANES];
};

#define QUAD_EACH(expression) \
    struct quad out; \
    for (int i = 0; i < LANES; i++) \
        out.v[i] = (expression); \
    return out

static inline struct quad quad_all(double x)
{
    QUAD_EACH(x);
}

static inline struct quad quad_load(const double *at)
{
    QUAD_EACH(at[i]);
}

static inline void quad_store(double *at, struct quad a)
{
    for (int i = 0; i < LANES; i++)
        at[i] = a.v[i];
}

static inline struct quad quad_add(struct quad a, struct quad b)
{
    QUAD_EACH(a.v[i] + b.v[i]);
}

static inline struct quad quad_sub(struct quad a, struct quad b)
{
    QUAD_EACH(a.v[i] - b.v[i]);
}

static inline struct quad quad_mul(struct quad a, struct quad b)
{
    QUAD_EACH(a.v[i] * b.v[i]);
}

static inline struct quad quad_div(struct quad a, struct quad b)
{
    QUAD_EACH(a.v[i] / b.v[i]);
}

static inline bool quad_all_below(struct quad a, double limit) // |a| < limit in every lane
{
    bool below = true;
    for (int i = 0; i < LANES; i++)
        below &= fabs(a.v[i]) < limit;
    return below;
}

#undef QUAD_EACH
#endif

static inline double quad_sum(struct quad a)
{
    double v[LANES];
    quad_store(v, a);
    return (v[0] + v[1]) + (v[2] + v[3]);
}

// ---- complex

struct block {
    struct quad re, im;
};

static inline struct block block_all(double x)
{
    return (struct block){quad_all(x), quad_all(0)};
}

static inline struct block block_load(const double *at) // re, then im
{
    return (struct block){quad_load(at), quad_load(at + LANES)};
}

static inline void block_store(double *at, struct block a)
{
    quad_store(at, a.re);
    quad_store(at + LANES, a.im);
}

static inline struct block block_mul(struct block a, struct block b)
{
    return (struct block){quad_sub(quad_mul(a.re, b.re), quad_mul(a.im, b.im)),
                          quad_add(quad_mul(a.re, b.im), quad_mul(a.im, b.re))};
}

static inline struct block block_power(struct block base, int exponent) // exponent >= 1
{
    while (!(exponent & 1)) {
        base = block_mul(base, base);
        exponent >>= 1;
    }
    struct block out = base;
    while (exponent >>= 1) {
        base = block_mul(base, base);
        if (exponent & 1)
            out = block_mul(out, base);
    }
    return out;
}

// a + x * b
static inline struct block block_add_times(struct block a, double x, struct block b)
{
    const struct quad factor = quad_all(x);
    return (struct block){quad_add(a.re, quad_mul(factor, b.re)), quad_add(a.im, quad_mul(factor, b.im))};
}

#endif
