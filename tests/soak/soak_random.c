#include "soak_random.h"

#include "base/stream.h"

static struct rb_stream bytes;

void soak_random_seed(uint64_t seed)
{
    rb_stream_init(&bytes, &(struct rb_stream_key){.seed = seed, .purpose = RB_DRAW_SEARCH, .stage = 2});
}

void __wrap_rb_random_bytes(void *out, size_t n)
{
    for (uint8_t *p = out; n-- > 0;)
        *p++ = (uint8_t)rb_stream_u32(&bytes);
}
