// The kernel on plain arrays.
#include "simulator/sampler/sampler_block.h"

void rb_sampler_block_scalar(const struct rb_sampler_program *p, const struct rb_sampler_scratch *scratch,
                             uint32_t block, const struct rb_sampler_runs *out)
{
    run_block(p, scratch, block, out);
}
