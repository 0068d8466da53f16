// The kernel on AVX2 vectors: built with -mavx2, called only if the processor supports it.
#ifndef __AVX2__
#error "build this file with -mavx2"
#endif

#include "simulator/sampler/sampler_block.h"

void rb_sampler_block_avx2(const struct rb_sampler_program *p, const struct rb_sampler_scratch *scratch, uint32_t block,
                           const struct rb_sampler_runs *out)
{
    run_block(p, scratch, block, out);
}
