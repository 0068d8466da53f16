// Eight floats or eight 32-bit words, one for each replicate of a block, and the generator that fills them. There are
// two implementations with bit-identical results: every operation is one IEEE operation or integer arithmetic, and
// nothing is fused or reordered. The compiler flags of the including file select the implementation.
#ifndef RB_SIMULATOR_SAMPLER_LANES_H
#define RB_SIMULATOR_SAMPLER_LANES_H

#include "base/stream.h"
#include "simulator/sampler/sampler_program.h"

#define LANES RB_SAMPLER_LANES

#ifdef __AVX2__
#include "simulator/sampler/sampler_lanes_avx2.h"
#else
#include "simulator/sampler/sampler_lanes_plain.h"
#endif

// Four parallel instances of xoshiro256++ (Blackman and Vigna, "Scrambled linear pseudorandom number generators",
// 2021). Each 64-bit word serves two replicates, and Philox makes the state from (seed, block). So a replicate depends
// only on its number and the seed, as with a counter for every draw, at a third of the cost: for eight words Philox
// takes some 35 operations, xoshiro 14. AES rounds would be as fast, but slow without AES instructions.
static inline struct lane_stream lane_stream_of(uint64_t seed, uint32_t block, uint32_t number)
{
    const uint32_t counter[4] = {(uint32_t)RB_DRAW_BLOCK << 24, number, 0, block};
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    struct lane_stream g;
    philox_lanes(counter, key, g.s);
    return g;
}

static inline struct lanes draw_lanes(struct lane_stream *g, const struct rb_sampler_table *table)
{
    return table_look_up(table, next_words(g));
}

// The largest of n draws is the draw of the largest word, because quantile functions are monotone. Words alternate
// between two streams: nothing else here could be computed while waiting for the next state of a single stream.
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
