// Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC'11, section 3.3).
// The seed is the cipher's key; the rest of the stream's key and a block number are its counter, packed so that no
// two streams share a block.
#include "base/stream.h"

#include <assert.h>

#define ROUNDS     10
#define BLOCK_BITS 24

static inline uint32_t mul_hi_lo(uint32_t a, uint32_t b, uint32_t *lo)
{
    const uint64_t product = (uint64_t)a * b;
    *lo = (uint32_t)product;
    return (uint32_t)(product >> 32);
}

static inline void philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];
    for (int i = 0; i < ROUNDS; i++) {
        uint32_t lo0, lo1;
        const uint32_t hi0 = mul_hi_lo(UINT32_C(0xD2511F53), c0, &lo0);
        const uint32_t hi1 = mul_hi_lo(UINT32_C(0xCD9E8D57), c2, &lo1);
        c0 = hi1 ^ c1 ^ k0;
        c1 = lo1;
        c2 = hi0 ^ c3 ^ k1;
        c3 = lo0;
        k0 += UINT32_C(0x9E3779B9); // golden ratio
        k1 += UINT32_C(0xBB67AE85); // sqrt(3) - 1
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

void rb_philox4x32_10(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    philox(counter, key, out);
}

void rb_stream_init(struct rb_stream *s, const struct rb_stream_key *key)
{
    assert(key->purpose < 256 && key->stage < 65536 && key->attempt < 65536);
    *s = (struct rb_stream){
        .key = {(uint32_t)key->seed, (uint32_t)(key->seed >> 32)},
        .counter = {key->purpose << BLOCK_BITS, key->stage << 16 | key->attempt, key->index, key->replicate},
        .n_used = 4, // the first draw makes the first block
    };
}

uint32_t rb_stream_u32(struct rb_stream *s)
{
    if (s->n_used == 4) {
        rb_philox4x32_10(s->counter, s->key, s->out);
        s->n_used = 0;
        s->counter[0]++;
        // Past 2^24 blocks the stream would run into the next purpose's.
        assert((s->counter[0] & ((UINT32_C(1) << BLOCK_BITS) - 1)) != 0);
    }
    return s->out[s->n_used++];
}

uint64_t rb_stream_u64(struct rb_stream *s)
{
    const uint64_t hi = rb_stream_u32(s);
    return hi << 32 | rb_stream_u32(s);
}

// The midpoints of 2^52 equal cells are exact doubles: 52 bits and a half give 53, and neither 0 nor 1 occurs.
static double uniform_of(uint64_t bits)
{
    return ((double)(bits >> 12) + 0.5) * 0x1p-52;
}

double rb_stream_uniform(struct rb_stream *s)
{
    return uniform_of(rb_stream_u64(s));
}

double rb_stream_first_uniform(const struct rb_stream_key *key)
{
    struct rb_stream s;
    rb_stream_init(&s, key);
    philox(s.counter, s.key, s.out);
    return uniform_of((uint64_t)s.out[0] << 32 | s.out[1]);
}

uint64_t rb_stream_below(struct rb_stream *s, uint64_t n)
{
    assert(n > 0);
    // Values below 2^64 mod n are discarded: the others form a whole number of ranges of n.
    const uint64_t excess = (0 - n) % n;
    uint64_t v;
    do
        v = rb_stream_u64(s);
    while (v < excess);
    return v % n;
}
