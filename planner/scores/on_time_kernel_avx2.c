// Built with -mavx2, called only where the processor has it.
#ifndef __AVX2__
#error "build this file with -mavx2"
#endif

#include "planner/scores/on_time_body.h"

const struct rb_on_time_kernel rb_on_time_kernel_avx2 = {multiply, below, below_with, transforms_below};
