// Built with -mavx2, called only where the processor has it.
#ifndef __AVX2__
#error "build this file with -mavx2"
#endif

#include "simulator/one_wave/law_cells_body.h"

void rb_sum_cells_avx2(const double *mass, int n, struct rb_half_angles half, double *out_re, double *out_im)
{
    sum_cells(mass, n, half, out_re, out_im);
}
