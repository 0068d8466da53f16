// Lanes as AVX2 vectors. Included by sampler_lanes.h only.
#ifndef RB_SIMULATOR_SAMPLER_LANES_AVX2_H
#define RB_SIMULATOR_SAMPLER_LANES_AVX2_H

#include "simulator/sampler/sampler_program.h"

#include <immintrin.h>

struct lanes {
    __m256 v;
};
struct words {
    __m256i v;
};

static inline struct lanes lanes_all(float x)
{
    return (struct lanes){_mm256_set1_ps(x)};
}

static inline struct lanes lanes_load(const float *at)
{
    return (struct lanes){_mm256_loadu_ps(at)};
}

static inline void lanes_store(float *at, struct lanes a)
{
    _mm256_storeu_ps(at, a.v);
}

static inline struct lanes lanes_add(struct lanes a, struct lanes b)
{
    return (struct lanes){_mm256_add_ps(a.v, b.v)};
}

static inline struct lanes lanes_sub(struct lanes a, struct lanes b)
{
    return (struct lanes){_mm256_sub_ps(a.v, b.v)};
}

static inline struct lanes lanes_times(struct lanes a, float factor)
{
    return (struct lanes){_mm256_mul_ps(a.v, _mm256_set1_ps(factor))};
}

static inline struct lanes lanes_product(struct lanes a, struct lanes b)
{
    return (struct lanes){_mm256_mul_ps(a.v, b.v)};
}

static inline struct lanes lanes_min(struct lanes a, struct lanes b)
{
    return (struct lanes){_mm256_min_ps(a.v, b.v)};
}

static inline struct lanes lanes_max(struct lanes a, struct lanes b)
{
    return (struct lanes){_mm256_max_ps(a.v, b.v)};
}

static inline struct lanes lanes_ceil(struct lanes a)
{
    return (struct lanes){_mm256_ceil_ps(a.v)};
}

static inline bool lanes_any_above(struct lanes a, struct lanes b)
{
    return _mm256_movemask_ps(_mm256_cmp_ps(a.v, b.v, _CMP_GT_OQ)) != 0;
}

// x where a >= 0, else 0.
static inline struct lanes lanes_if_not_negative(struct lanes a, struct lanes x)
{
    return (struct lanes){_mm256_and_ps(_mm256_cmp_ps(a.v, _mm256_setzero_ps(), _CMP_GE_OQ), x.v)};
}

// Sums are in double: at[lane] += a * factor.
static inline void add_to_doubles(double *at, struct lanes a, double factor)
{
    const __m256d by = _mm256_set1_pd(factor);
    const __m256d low = _mm256_mul_pd(_mm256_cvtps_pd(_mm256_castps256_ps128(a.v)), by);
    const __m256d high = _mm256_mul_pd(_mm256_cvtps_pd(_mm256_extractf128_ps(a.v, 1)), by);
    _mm256_storeu_pd(at, _mm256_add_pd(_mm256_loadu_pd(at), low));
    _mm256_storeu_pd(at + 4, _mm256_add_pd(_mm256_loadu_pd(at + 4), high));
}

static inline struct lanes difference_of_doubles(const double *a, const double *b)
{
    const __m128 low = _mm256_cvtpd_ps(_mm256_sub_pd(_mm256_loadu_pd(a), _mm256_loadu_pd(b)));
    const __m128 high = _mm256_cvtpd_ps(_mm256_sub_pd(_mm256_loadu_pd(a + 4), _mm256_loadu_pd(b + 4)));
    return (struct lanes){_mm256_insertf128_ps(_mm256_castps128_ps256(low), high, 1)};
}

static inline struct words words_all(uint32_t x)
{
    return (struct words){_mm256_set1_epi32((int32_t)x)};
}

static inline struct words words_larger(struct words a, struct words b)
{
    return (struct words){_mm256_max_epu32(a.v, b.v)};
}

// The part of `pending` in the lanes whose word, halved, is below the limit.
static inline struct words words_below(struct words pending, struct words a, uint32_t limit)
{
    const __m256i below = _mm256_cmpgt_epi32(_mm256_set1_epi32((int32_t)limit), _mm256_srli_epi32(a.v, 1));
    return (struct words){_mm256_and_si256(pending.v, below)};
}

static inline bool words_any(struct words a)
{
    return !_mm256_testz_si256(a.v, a.v);
}

// x in the lanes that are set in `mask`, else 0.
static inline struct lanes lanes_where(struct words mask, struct lanes x)
{
    return (struct lanes){_mm256_and_ps(_mm256_castsi256_ps(mask.v), x.v)};
}

// ---- the generator

struct lane_stream {
    __m256i s[4];
};

static inline __m256i words_product(__m256i a, __m256i even_factor, __m256i *low)
{
    const __m256i even = _mm256_mul_epu32(a, even_factor);
    const __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(a, 32), even_factor);
    *low = _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xAA);
    return _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xAA);
}

// rb_philox4x32_10 with the lane's number in counter[2].
static inline void philox_lanes(const uint32_t counter[4], const uint32_t key[2], __m256i out[4])
{
    __m256i c0 = _mm256_set1_epi32((int32_t)counter[0]), c1 = _mm256_set1_epi32((int32_t)counter[1]);
    __m256i c2 = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), c3 = _mm256_set1_epi32((int32_t)counter[3]);
    const __m256i m0 = _mm256_set1_epi32((int32_t)UINT32_C(0xD2511F53));
    const __m256i m1 = _mm256_set1_epi32((int32_t)UINT32_C(0xCD9E8D57));
    uint32_t k0 = key[0], k1 = key[1];
    for (int i = 0; i < 10; i++) {
        __m256i low0, low1;
        const __m256i high0 = words_product(c0, m0, &low0), high1 = words_product(c2, m1, &low1);
        c0 = _mm256_xor_si256(_mm256_xor_si256(high1, c1), _mm256_set1_epi32((int32_t)k0));
        c1 = low1;
        c2 = _mm256_xor_si256(_mm256_xor_si256(high0, c3), _mm256_set1_epi32((int32_t)k1));
        c3 = low0;
        k0 += UINT32_C(0x9E3779B9);
        k1 += UINT32_C(0xBB67AE85);
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

static inline __m256i rotate_left(__m256i x, int by)
{
    return _mm256_or_si256(_mm256_slli_epi64(x, by), _mm256_srli_epi64(x, 64 - by));
}

static inline struct words next_words(struct lane_stream *g)
{
    const __m256i result = _mm256_add_epi64(rotate_left(_mm256_add_epi64(g->s[0], g->s[3]), 23), g->s[0]);
    const __m256i shifted = _mm256_slli_epi64(g->s[1], 17);
    g->s[2] = _mm256_xor_si256(g->s[2], g->s[0]);
    g->s[3] = _mm256_xor_si256(g->s[3], g->s[1]);
    g->s[1] = _mm256_xor_si256(g->s[1], g->s[2]);
    g->s[0] = _mm256_xor_si256(g->s[0], g->s[3]);
    g->s[2] = _mm256_xor_si256(g->s[2], shifted);
    g->s[3] = rotate_left(g->s[3], 45);
    return (struct words){result};
}

// Two cells, one in each half. Loads of 64 bits instead of a gather: the processor that it was tried on (Zen 5) takes a
// gather apart into the same loads and is 10 to 20 % slower.
static inline __m128 two_cells(const struct rb_table_cell *cells, uint64_t numbers)
{
    const __m128d first = _mm_load_sd((const double *)(const void *)&cells[(uint32_t)numbers]);
    return _mm_castpd_ps(_mm_loadh_pd(first, (const double *)(const void *)&cells[numbers >> 32]));
}

static inline struct lanes table_look_up(const struct rb_sampler_table *table, struct words w)
{
    const __m256i upper = _mm256_srai_epi32(w.v, 31);
    const __m256 y = _mm256_cvtepi32_ps(_mm256_or_si256(_mm256_xor_si256(w.v, upper), _mm256_set1_epi32(1)));
    const __m256i octaves = _mm256_srli_epi32(_mm256_castps_si256(y), 23 - RB_TABLE_CELL_BITS);
    const __m256i side = _mm256_and_si256(upper, _mm256_set1_epi32(RB_TABLE_SIDE));
    const __m256i first_octave = _mm256_set1_epi32(127 << RB_TABLE_CELL_BITS);
    const __m256i cell = _mm256_add_epi32(octaves, _mm256_sub_epi32(side, first_octave));
    const __m128i low = _mm256_castsi256_si128(cell), high = _mm256_extracti128_si256(cell, 1);
    const __m128 c01 = two_cells(table->cells, (uint64_t)_mm_cvtsi128_si64(low));
    const __m128 c23 = two_cells(table->cells, (uint64_t)_mm_extract_epi64(low, 1));
    const __m128 c45 = two_cells(table->cells, (uint64_t)_mm_cvtsi128_si64(high));
    const __m128 c67 = two_cells(table->cells, (uint64_t)_mm_extract_epi64(high, 1));
    const __m256 c0145 = _mm256_insertf128_ps(_mm256_castps128_ps256(c01), c45, 1);
    const __m256 c2367 = _mm256_insertf128_ps(_mm256_castps128_ps256(c23), c67, 1);
    const __m256 base = _mm256_shuffle_ps(c0145, c2367, 0x88), slope = _mm256_shuffle_ps(c0145, c2367, 0xDD);
    return (struct lanes){_mm256_add_ps(base, _mm256_mul_ps(slope, y))};
}

#endif
