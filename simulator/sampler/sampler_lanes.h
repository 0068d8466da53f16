// Eight floats or eight 32-bit words, one for each replicate of a block, and the generator that fills them. Vectors of the
// compiler (GCC's and Clang's vector_size), which it makes of what the processor has. Results are the same bit by bit: every
// operation is one IEEE operation or integer arithmetic, and nothing is fused or reordered. Where the compiler does not find
// the one AVX2 instruction for an operation, it is named here.
#ifndef RB_SIMULATOR_SAMPLER_LANES_H
#define RB_SIMULATOR_SAMPLER_LANES_H

#include "base/stream.h"
#include "simulator/sampler/sampler_program.h"

#include <math.h>
#include <string.h>

#ifdef __AVX2__
#include <immintrin.h>
#endif

#define LANES RB_SAMPLER_LANES

typedef float rb_floats __attribute__((vector_size(4 * LANES)));
typedef int32_t rb_ints __attribute__((vector_size(4 * LANES)));
typedef uint32_t rb_words __attribute__((vector_size(4 * LANES)));
typedef uint64_t rb_long_words __attribute__((vector_size(4 * LANES)));
typedef double rb_doubles __attribute__((vector_size(8 * LANES)));

struct lanes {
    rb_floats v;
};
struct words {
    rb_words v;
};

#define EACH_LANE for (int lane = 0; lane < LANES; lane++)

static inline struct lanes lanes_all(float x)
{
    return (struct lanes){{x, x, x, x, x, x, x, x}};
}

static inline struct lanes lanes_load(const float *at)
{
    struct lanes out;
    memcpy(&out.v, at, sizeof out.v);
    return out;
}

static inline void lanes_store(float *at, struct lanes a)
{
    memcpy(at, &a.v, sizeof a.v);
}

static inline struct lanes lanes_add(struct lanes a, struct lanes b)
{
    return (struct lanes){a.v + b.v};
}

static inline struct lanes lanes_sub(struct lanes a, struct lanes b)
{
    return (struct lanes){a.v - b.v};
}

static inline struct lanes lanes_product(struct lanes a, struct lanes b)
{
    return (struct lanes){a.v * b.v};
}

static inline struct lanes lanes_times(struct lanes a, float factor)
{
    return (struct lanes){a.v * factor};
}

// a where the mask is set, else b. Lanes of a mask are all ones or 0.
static inline struct lanes lanes_choose(rb_ints mask, struct lanes a, struct lanes b)
{
    return (struct lanes){(rb_floats)((mask & (rb_ints)a.v) | (~mask & (rb_ints)b.v))};
}

static inline bool words_any(struct words a)
{
#ifdef __AVX2__
    return !_mm256_testz_si256((__m256i)a.v, (__m256i)a.v);
#else
    uint32_t any = 0;
    EACH_LANE any |= a.v[lane];
    return any != 0;
#endif
}

static inline struct lanes lanes_min(struct lanes a, struct lanes b)
{
#ifdef __AVX2__
    return (struct lanes){_mm256_min_ps(a.v, b.v)};
#else
    return lanes_choose(a.v < b.v, a, b);
#endif
}

static inline struct lanes lanes_max(struct lanes a, struct lanes b)
{
#ifdef __AVX2__
    return (struct lanes){_mm256_max_ps(a.v, b.v)};
#else
    return lanes_choose(a.v > b.v, a, b);
#endif
}

static inline struct lanes lanes_ceil(struct lanes a)
{
    EACH_LANE a.v[lane] = ceilf(a.v[lane]);
    return a;
}

static inline bool lanes_any_above(struct lanes a, struct lanes b)
{
    return words_any((struct words){(rb_words)(a.v > b.v)});
}

// x where a >= 0, else 0.
static inline struct lanes lanes_if_not_negative(struct lanes a, struct lanes x)
{
    return lanes_choose(a.v >= 0, x, lanes_all(0));
}

// Sums are in double: at[lane] += a * factor.
static inline void add_to_doubles(double *at, struct lanes a, double factor)
{
    rb_doubles sum;
    memcpy(&sum, at, sizeof sum);
    sum += __builtin_convertvector(a.v, rb_doubles) * factor;
    memcpy(at, &sum, sizeof sum);
}

static inline struct lanes difference_of_doubles(const double *a, const double *b)
{
    rb_doubles from, less;
    memcpy(&from, a, sizeof from);
    memcpy(&less, b, sizeof less);
    return (struct lanes){__builtin_convertvector(from - less, rb_floats)};
}

static inline struct words words_all(uint32_t x)
{
    return (struct words){{x, x, x, x, x, x, x, x}};
}

static inline struct words words_larger(struct words a, struct words b)
{
#ifdef __AVX2__
    return (struct words){(rb_words)_mm256_max_epu32((__m256i)a.v, (__m256i)b.v)};
#else
    const rb_words mask = (rb_words)(a.v > b.v);
    return (struct words){(mask & a.v) | (~mask & b.v)};
#endif
}

// What is left of `pending` in the lanes whose word, halved, is below the limit.
static inline struct words words_below(struct words pending, struct words a, uint32_t limit)
{
    return (struct words){pending.v & (rb_words)((rb_ints)(a.v >> 1) < (int32_t)limit)};
}

// x in the lanes that are set in `mask`, else 0.
static inline struct lanes lanes_where(struct words mask, struct lanes x)
{
    return lanes_choose((rb_ints)mask.v, x, lanes_all(0));
}

// ---- the generator

struct lane_stream {
    rb_long_words s[4];
};

static inline rb_long_words rotate_left(rb_long_words x, int by)
{
    return x << by | x >> (64 - by);
}

static inline struct words next_words(struct lane_stream *g)
{
    const rb_long_words result = rotate_left(g->s[0] + g->s[3], 23) + g->s[0], shifted = g->s[1] << 17;
    g->s[2] ^= g->s[0];
    g->s[3] ^= g->s[1];
    g->s[1] ^= g->s[2];
    g->s[0] ^= g->s[3];
    g->s[2] ^= shifted;
    g->s[3] = rotate_left(g->s[3], 45);
    return (struct words){(rb_words)result};
}

// Products of the lower halves.
static inline rb_long_words products(rb_long_words a, uint32_t factor)
{
#ifdef __AVX2__
    return (rb_long_words)_mm256_mul_epu32((__m256i)a, _mm256_set1_epi64x(factor));
#else
    return (a & UINT32_MAX) * factor;
#endif
}

static inline rb_words multiply(rb_words a, uint32_t factor, rb_words *out_low)
{
    const rb_long_words even = products((rb_long_words)a, factor), odd = products((rb_long_words)a >> 32, factor);
    *out_low = (rb_words)((even & UINT32_MAX) | odd << 32);
    return (rb_words)(even >> 32 | (odd & ~(uint64_t)UINT32_MAX));
}

// xoshiro256++ (Blackman and Vigna, "Scrambled linear pseudorandom number generators", 2021), four generators abreast. Each
// word of 64 bits serves two replicates. The state comes from Philox (rb_philox4x32_10) with (seed, block) and the lane's
// number, so that a replicate depends only on its number and the seed, as with a counter for every draw. That costs a third:
// for eight words Philox takes some 35 operations, xoshiro 14. AES rounds would be as fast, but slow without AES instructions.
static inline struct lane_stream lane_stream_of(uint64_t seed, uint32_t block, uint32_t number)
{
    rb_words c0 = words_all((uint32_t)RB_DRAW_BLOCK << 24).v, c1 = words_all(number).v;
    rb_words c2 = {0, 1, 2, 3, 4, 5, 6, 7}, c3 = words_all(block).v;
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    for (int i = 0; i < 10; i++) {
        rb_words low0, low1;
        const rb_words high0 = multiply(c0, UINT32_C(0xD2511F53), &low0);
        const rb_words high1 = multiply(c2, UINT32_C(0xCD9E8D57), &low1);
        c0 = high1 ^ c1 ^ k0;
        c1 = low1;
        c2 = high0 ^ c3 ^ k1;
        c3 = low0;
        k0 += UINT32_C(0x9E3779B9);
        k1 += UINT32_C(0xBB67AE85);
    }
    return (struct lane_stream){{(rb_long_words)c0, (rb_long_words)c1, (rb_long_words)c2, (rb_long_words)c3}};
}

// ---- tables

#ifdef __AVX2__
// Two cells, one in each half. Loads of 64 bits instead of a gather: the processor that it was tried on (Zen 5) takes a
// gather apart into the same loads and is 10 to 20 % slower.
static inline __m128 two_cells(const struct rb_table_cell *cells, uint64_t numbers)
{
    const __m128d first = _mm_load_sd((const double *)(const void *)&cells[(uint32_t)numbers]);
    return _mm_castpd_ps(_mm_loadh_pd(first, (const double *)(const void *)&cells[numbers >> 32]));
}

static inline void load_cells(const struct rb_table_cell *cells, rb_words numbers, rb_floats *base, rb_floats *slope)
{
    const rb_long_words pairs = (rb_long_words)numbers;
    const __m128 c01 = two_cells(cells, pairs[0]), c23 = two_cells(cells, pairs[1]);
    const __m128 c45 = two_cells(cells, pairs[2]), c67 = two_cells(cells, pairs[3]);
    const __m256 c0145 = _mm256_insertf128_ps(_mm256_castps128_ps256(c01), c45, 1);
    const __m256 c2367 = _mm256_insertf128_ps(_mm256_castps128_ps256(c23), c67, 1);
    *base = _mm256_shuffle_ps(c0145, c2367, 0x88);
    *slope = _mm256_shuffle_ps(c0145, c2367, 0xDD);
}
#else
static inline void load_cells(const struct rb_table_cell *cells, rb_words numbers, rb_floats *base, rb_floats *slope)
{
    EACH_LANE {
        (*base)[lane] = cells[numbers[lane]].base;
        (*slope)[lane] = cells[numbers[lane]].slope;
    }
}
#endif

static inline struct lanes table_look_up(const struct rb_sampler_table *table, struct words w)
{
    const rb_ints upper = (rb_ints)w.v >> 31;
    const rb_floats y = __builtin_convertvector(((rb_ints)w.v ^ upper) | 1, rb_floats);
    const rb_words octaves = (rb_words)y >> (23 - RB_TABLE_CELL_BITS), side = (rb_words)upper & RB_TABLE_SIDE;
    rb_floats base, slope;
    load_cells(table->cells, octaves + side - (127 << RB_TABLE_CELL_BITS), &base, &slope);
    return (struct lanes){base + slope * y};
}

static inline struct lanes draw_lanes(struct lane_stream *g, const struct rb_sampler_table *table)
{
    return table_look_up(table, next_words(g));
}

// The largest of n draws is the draw of the largest word: quantile functions rise. Words come from two streams in turn:
// here nothing else is computed that the processor could do while it waits for the next state of one.
static inline struct lanes draw_largest(struct lane_stream streams[2], const struct rb_sampler_table *table, int n)
{
    struct lane_stream g = streams[0], h = streams[1];
    struct words largest = next_words(&g), other = words_all(0);
    for (int i = 2; i < n; i += 2) {
        other = words_larger(other, next_words(&h));
        largest = words_larger(largest, next_words(&g));
    }
    if (n % 2 == 0)
        other = words_larger(other, next_words(&h));
    streams[0] = g;
    streams[1] = h;
    return table_look_up(table, words_larger(largest, other));
}

#endif
