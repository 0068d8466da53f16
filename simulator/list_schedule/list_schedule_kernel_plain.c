// The kernels on plain arrays of four.
#include "simulator/list_schedule/list_schedule_kernel.h"

const struct rb_schedule_kernel rb_schedule_kernel_plain = {
    coefficient_kernel, tabulate_kernel, {convolve_kernel, add_kernel}};
