// The quantile function of a law as straight lines over cells whose width halves towards both tails: a draw is one
// look-up.
//
// A uniform 32-bit word is a probability p = y / 2^32 in the lower half, 1 - y / 2^32 in the upper, y odd and below
// 2^31. After conversion of y to float, its exponent and first mantissa bits are the number of its cell: 32 cells per
// octave, 31 octaves per side, so both tails are resolved to 2^-32. For the families of profiles/fit/dist.h with a
// coefficient of variation up to 1, the lines' error is at most 1.1e-4 of a standard deviation between the 1st and the
// 99th percentile, less than 3e-5 of the distance from the mean beyond, and less than 3e-5 of a standard deviation for
// the mean.
#ifndef RB_SIMULATOR_SAMPLER_TABLE_H
#define RB_SIMULATOR_SAMPLER_TABLE_H

#define RB_TABLE_CELL_BITS 5                                     // 32 cells per octave
#define RB_TABLE_SIDE      ((31 << RB_TABLE_CELL_BITS) + 1 + 31) // a cell for y rounded up to 2^31, padded to a cache
                                                                 // line

// seconds = base + slope * y; one load of 64 bits.
struct rb_table_cell {
    float base, slope;
};

struct rb_sampler_table {
    struct rb_table_cell cells[2 * RB_TABLE_SIDE]; // lower side, upper side
};

typedef double rb_quantile_fn(const void *ctx, double u); // 2^-32 <= u <= 1 - 2^-32; non-decreasing, may be constant
void rb_sampler_table_fill(struct rb_sampler_table *table, rb_quantile_fn *quantile, const void *ctx);

#endif
