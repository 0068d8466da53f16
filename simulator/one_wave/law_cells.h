// What a transform sums over the cells of a law's grid, at eight frequencies side by side. Built twice to the same bits: with
// AVX2 where the processor has it, and without.
//   law_cells_body.h  the sums; law_cells_avx2.c, law_cells_plain.c: what they are built with
// Private to law.c and its test.
#ifndef RB_SIMULATOR_LAW_CELLS_H
#define RB_SIMULATOR_LAW_CELLS_H

#define RB_CELLS_FREQUENCIES 8
#define RB_CELLS_A_TURN      8 // cells that are added up before all of them are turned on

struct rb_half_angles { // cos and sin of theta / 2, for every frequency's angle theta
    const double *c, *s;
};

// Sum over k of mass[k] exp(i theta (k + 1/2)), k = 0..n-1, into out_re and out_im, a number for every frequency. n: a multiple of
// RB_CELLS_A_TURN, zeros being as good as no cells.
typedef void rb_sum_cells_fn(const double *mass, int n, struct rb_half_angles half, double *out_re, double *out_im);
rb_sum_cells_fn rb_sum_cells_plain;
rb_sum_cells_fn rb_sum_cells_avx2; // only where it is built: RB_SAMPLER_HAS_AVX2

#endif
