// The kernels on AVX2 vectors: built with -mavx2, called only where the processor has it.
#ifndef __AVX2__
#error "build this file with -mavx2"
#endif

#include "simulator/list_schedule/list_schedule_kernel.h"

const struct rb_schedule_kernel rb_schedule_kernel_avx2 = {
    coefficient_kernel, tabulate_kernel, {convolve_kernel, add_kernel}};
