// Lanes as arrays: the same operations as sampler_lanes_avx2.h, one by one. Included by sampler_lanes.h only.
#ifndef RB_SIMULATOR_SAMPLER_LANES_PLAIN_H
#define RB_SIMULATOR_SAMPLER_LANES_PLAIN_H

#include "base/stream.h"
#include "simulator/sampler/sampler_program.h"

#include <math.h>
#include <string.h>

struct lanes {
    float v[LANES];
};
struct words {
    uint32_t v[LANES];
};

#define EACH_LANE for (int lane = 0; lane < LANES; lane++)

static inline struct lanes lanes_all(float x)
{
    struct lanes out;
    EACH_LANE out.v[lane] = x;
    return out;
}

static inline struct lanes lanes_load(const float *at)
{
    struct lanes out;
    memcpy(out.v, at, sizeof out.v);
    return out;
}

static inline void lanes_store(float *at, struct lanes a)
{
    memcpy(at, a.v, sizeof a.v);
}

static inline struct lanes lanes_add(struct lanes a, struct lanes b)
{
    EACH_LANE a.v[lane] += b.v[lane];
    return a;
}

static inline struct lanes lanes_sub(struct lanes a, struct lanes b)
{
    EACH_LANE a.v[lane] -= b.v[lane];
    return a;
}

static inline struct lanes lanes_times(struct lanes a, float factor)
{
    EACH_LANE a.v[lane] *= factor;
    return a;
}

static inline struct lanes lanes_product(struct lanes a, struct lanes b)
{
    EACH_LANE a.v[lane] *= b.v[lane];
    return a;
}

static inline struct lanes lanes_min(struct lanes a, struct lanes b)
{
    EACH_LANE a.v[lane] = a.v[lane] < b.v[lane] ? a.v[lane] : b.v[lane];
    return a;
}

static inline struct lanes lanes_max(struct lanes a, struct lanes b)
{
    EACH_LANE a.v[lane] = a.v[lane] > b.v[lane] ? a.v[lane] : b.v[lane];
    return a;
}

static inline struct lanes lanes_ceil(struct lanes a)
{
    EACH_LANE a.v[lane] = ceilf(a.v[lane]);
    return a;
}

static inline bool lanes_any_above(struct lanes a, struct lanes b)
{
    int n = 0;
    EACH_LANE n += a.v[lane] > b.v[lane];
    return n > 0;
}

// x where a >= 0, else 0.
static inline struct lanes lanes_if_not_negative(struct lanes a, struct lanes x)
{
    EACH_LANE x.v[lane] = a.v[lane] >= 0 ? x.v[lane] : 0;
    return x;
}

// Sums are in double: at[lane] += a * factor.
static inline void add_to_doubles(double *at, struct lanes a, double factor)
{
    EACH_LANE at[lane] += (double)a.v[lane] * factor;
}

static inline struct lanes difference_of_doubles(const double *a, const double *b)
{
    struct lanes out;
    EACH_LANE out.v[lane] = (float)(a[lane] - b[lane]);
    return out;
}

static inline struct words words_all(uint32_t x)
{
    struct words out;
    EACH_LANE out.v[lane] = x;
    return out;
}

static inline struct words words_larger(struct words a, struct words b)
{
    EACH_LANE a.v[lane] = a.v[lane] > b.v[lane] ? a.v[lane] : b.v[lane];
    return a;
}

// The part of `pending` in the lanes whose word, halved, is below the limit.
static inline struct words words_below(struct words pending, struct words a, uint32_t limit)
{
    EACH_LANE pending.v[lane] = a.v[lane] >> 1 < limit ? pending.v[lane] : 0;
    return pending;
}

static inline bool words_any(struct words a)
{
    uint32_t any = 0;
    EACH_LANE any |= a.v[lane];
    return any != 0;
}

// x in the lanes that are set in `mask`, else 0.
static inline struct lanes lanes_where(struct words mask, struct lanes x)
{
    EACH_LANE x.v[lane] = mask.v[lane] ? x.v[lane] : 0;
    return x;
}

// ---- the generator

struct lane_stream {
    uint64_t s[4][LANES / 2];
};

// rb_philox4x32_10 with the lane's number in counter[2]; two words form one of 64 bits, the first is its lower half.
static inline void philox_lanes(const uint32_t counter[4], const uint32_t key[2], uint64_t out[4][LANES / 2])
{
    for (uint32_t i = 0; i < LANES; i++) {
        const uint32_t own[4] = {counter[0], counter[1], i, counter[3]};
        uint32_t block[4];
        rb_philox4x32_10(own, key, block);
        for (int k = 0; k < 4; k++)
            out[k][i / 2] = i % 2 == 0 ? block[k] : out[k][i / 2] | (uint64_t)block[k] << 32;
    }
}

static inline uint64_t rotate_left(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

static inline struct words next_words(struct lane_stream *g)
{
    struct words out;
    for (int i = 0; i < LANES / 2; i++) {
        uint64_t s0 = g->s[0][i], s1 = g->s[1][i], s2 = g->s[2][i], s3 = g->s[3][i];
        const uint64_t result = rotate_left(s0 + s3, 23) + s0, shifted = s1 << 17;
        s2 ^= s0;
        s3 ^= s1;
        s1 ^= s2;
        s0 ^= s3;
        s2 ^= shifted;
        s3 = rotate_left(s3, 45);
        g->s[0][i] = s0;
        g->s[1][i] = s1;
        g->s[2][i] = s2;
        g->s[3][i] = s3;
        out.v[2 * i] = (uint32_t)result;
        out.v[2 * i + 1] = (uint32_t)(result >> 32);
    }
    return out;
}

static inline struct lanes table_look_up(const struct rb_sampler_table *table, struct words w)
{
    struct lanes out;
    EACH_LANE {
        const uint32_t upper = w.v[lane] >> 31;
        const float y = (float)(int32_t)((w.v[lane] ^ (0 - upper)) | 1);
        uint32_t bits;
        memcpy(&bits, &y, sizeof bits);
        const uint32_t cell = (bits >> (23 - RB_TABLE_CELL_BITS)) - (127 << RB_TABLE_CELL_BITS) + upper * RB_TABLE_SIDE;
        out.v[lane] = table->cells[cell].base + table->cells[cell].slope * y;
    }
    return out;
}

#endif
