// The kernel on the same vectors of eight, with what AVX-512 adds to them: rotations and logic of three operands in one
// instruction, which the compiler finds, and more registers. Built with -mavx512vl, called only where the processor has it.
#ifndef __AVX512VL__
#error "build this file with -mavx512vl"
#endif

#include "simulator/sampler/sampler_block.h"

void rb_sampler_block_avx512(const struct rb_sampler_program *p, const struct rb_sampler_scratch *scratch,
                             uint32_t block, const struct rb_sampler_runs *out)
{
    run_block(p, scratch, block, out);
}
