// The sums of law_cells.h: included by law_cells_plain.c and law_cells_avx2.c, whose flags say what a quad of frequencies is.
#ifndef RB_SIMULATOR_LAW_CELLS_BODY_H
#define RB_SIMULATOR_LAW_CELLS_BODY_H

#include "simulator/list_schedule/complex_lanes.h"
#include "simulator/one_wave/law_cells.h"

_Static_assert(2 * LANES == RB_CELLS_FREQUENCIES, "two quads are summed up side by side");

// exp(i theta (k + 1/2)), k = 0..RB_CELLS_A_TURN-1, and exp(i theta RB_CELLS_A_TURN).
struct turns {
    struct block at[RB_CELLS_A_TURN], on;
};

static inline struct block squared(struct block z) // |z| = 1
{
    const struct quad both = quad_mul(z.re, z.im), twice = quad_mul(quad_all(2), z.im);
    return (struct block){quad_sub(quad_all(1), quad_mul(twice, z.im)), quad_mul(quad_all(2), both)};
}

static inline struct turns turns_of(struct block half)
{
    struct turns t = {.on = squared(half)};
    t.at[0] = half;
    for (int k = 1; k < RB_CELLS_A_TURN; k++)
        t.at[k] = block_mul(t.on, t.at[k - 1]);
    for (int twice = 1; twice < RB_CELLS_A_TURN; twice *= 2)
        t.on = squared(t.on);
    return t;
}

// From the last cells to the first: what has been summed is turned by as many cells as come before it.
static inline void sum_cells(const double *mass, int n, struct rb_half_angles half, double *out_re, double *out_im)
{
    const struct turns low = turns_of((struct block){quad_load(half.c), quad_load(half.s)});
    const struct turns high = turns_of((struct block){quad_load(half.c + LANES), quad_load(half.s + LANES)});
    struct block a = block_all(0), b = a;
    for (int first = n - RB_CELLS_A_TURN; first >= 0; first -= RB_CELLS_A_TURN) {
        a = block_mul(low.on, a);
        b = block_mul(high.on, b);
        for (int k = 0; k < RB_CELLS_A_TURN; k++) {
            a = block_add_times(a, mass[first + k], low.at[k]);
            b = block_add_times(b, mass[first + k], high.at[k]);
        }
    }
    quad_store(out_re, a.re);
    quad_store(out_im, a.im);
    quad_store(out_re + LANES, b.re);
    quad_store(out_im + LANES, b.im);
}

#endif
