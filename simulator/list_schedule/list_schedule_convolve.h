// Sums of products for list_schedule_*.c, built twice to the same bits as the other kernels: list_schedule_kernel.h.
#ifndef RB_SIMULATOR_LIST_SCHEDULE_CONVOLVE_H
#define RB_SIMULATOR_LIST_SCHEDULE_CONVOLVE_H

#define RB_CONVOLVE_TILE 16 // results that are summed up side by side in registers

struct rb_schedule_age { // a polynomial, of a node at one age and time left
    int from, n;         // coefficients p[j] of z^(from + j), in whole fours
    double p[];          // [n]
};

struct rb_schedule_convolver {
    // out[m] = sum over i of (factor a[i]) b[m - i], in the order of i, for m < n <= n_a + n_b - 1. A tile of zeros lies
    // before b[0] and behind b[n_b - 1]; out has room for whole tiles.
    void (*convolve)(const double *a, int n_a, double factor, const double *b, int n_b, double *out, int n);
    // sum += factor weight[i apart] *ages[-i apart] for i < n, from i = 0 on; sum[k] is of z^k.
    void (*add)(struct rb_schedule_age *const *ages, const double *weight, int n, int apart, double factor, double *sum);
};

#endif
