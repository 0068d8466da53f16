// The generating function of the starts on a circle, and the coefficient that is wanted of it. Private to
// list_schedule_*.c; the kernels are built twice, with AVX2 and without, to the same bits:
//   list_schedule_kernel.h        the kernels
//   list_schedule_kernel_avx2.c, list_schedule_kernel_plain.c
#ifndef RB_SIMULATOR_LIST_SCHEDULE_CIRCLE_H
#define RB_SIMULATOR_LIST_SCHEDULE_CIRCLE_H

#include "simulator/list_schedule/list_schedule_node.h"

#define RB_CIRCLE_LANES 4 // roots side by side: a block, in memory re of all, then im

struct rb_schedule_circle { // roots of unity z_l = exp(2 pi i l / points), l = 0..kept-1; the others are conjugates or dust
    int points, kept, blocks;
    int below;         // of the points of a window, so many lie below the mean of the starts
    double *re, *im;   // [points] all roots, and as many more as fill the last block
    double *times;     // [points] that they count: 2 for a conjugate, too; 0 from `kept` on
    double *turned;    // [points] blocks: of the j-th, 1, z_j, z_j^2, ..
    int fewest, most;  // starts of a slot or a node
    double *powers;    // [blocks][most + 1 - fewest] blocks: z_l^starts
    int *peaks, n_peaks; // blocks that may count though others between have faded, ascending: the first, and where slots of
                         // a node start together
};

// Sum over m = first..first+points-1, m < n, of (n - m) F^(n-m-1) [z^m] W. The window is where W has its mass, so that
// what the circle folds onto it is dust. With q = n - 1 - m from q0 to q1 and u = F z it is a geometric sum's derivative:
//     z^(1-n) [z^q0 F^q0 (q0 + 1 - q0 u) - z^(q1+1) F^(q1+1) (q1 + 2 - (q1 + 1) u)] / (1 - u)^2.
// Either q0 = 0 or the window is full, and z^q0 = z^(q1+1): what is in brackets is 1 + z^turn (a - b z), or without the 1.
struct rb_schedule_window {
    int q0, q1;
    double f, above;     // F(y), 1 - F(y)
    double f_q0, f_q1;   // F^q0, F^(q1+1)
    const double *table; // [blocks] of z^(1-n) (1 - F z)^-2, doubled where a root stands for its conjugate; nothing at 1
    bool endless;        // in brackets is 1: what lies beyond q1 counts for nothing
    int turn;            // number of a root
    double one, a, b;
};

struct rb_schedule_factor { // of W, of new nodes that open by one law
    struct rb_schedule_starts node;
    int n;           // nodes
    double unopened; // P(a node is not yet open)
};

struct rb_schedule_terms { // W at one place: a product of powers
    const struct rb_schedule_starts *slot;
    int n_slots, n_late;  // 0: none
    const struct rb_schedule_factor *late; // [n_late]
    double dust;          // blocks below it, with their weights, count no more
};

double rb_schedule_power(double base, int exponent);

struct rb_schedule_kernel {
    double (*coefficient)(const struct rb_schedule_circle *c, const struct rb_schedule_window *w,
                          const struct rb_schedule_terms *terms); // all but the root 1
    // The table of rb_schedule_window; turn: the number of the root z^(1-n), z being the first after 1.
    void (*tabulate)(const struct rb_schedule_circle *c, double f, int turn, double *out);
    struct rb_schedule_convolver convolver;
};
extern const struct rb_schedule_kernel rb_schedule_kernel_plain;
extern const struct rb_schedule_kernel rb_schedule_kernel_avx2; // only where it is built: RB_SAMPLER_HAS_AVX2

// points, kept and below are given.
void rb_schedule_circle_make(struct rb_schedule_circle *c, int fewest, int most, int slots_per_node,
                             struct rb_arena *arena);

#endif
