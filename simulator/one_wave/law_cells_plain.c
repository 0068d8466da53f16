// Built with the flags of all other files.
#include "simulator/one_wave/law_cells_body.h"

void rb_sum_cells_plain(const double *mass, int n, struct rb_half_angles half, double *out_re, double *out_im)
{
    sum_cells(mass, n, half, out_re, out_im);
}
