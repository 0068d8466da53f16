// Sums of products for list_schedule_*.c, built twice to the same bits as the other kernels: list_schedule_kernel.h.
#ifndef RB_SIMULATOR_LIST_SCHEDULE_CONVOLVE_H
#define RB_SIMULATOR_LIST_SCHEDULE_CONVOLVE_H

#define RB_CONVOLVE_TILE 16 // results that are summed up side by side in registers

struct rb_schedule_convolver {
    // out[m] = sum over i of (factor a[i]) b[m - i], in the order of i, for m < n <= n_a + n_b - 1. A tile of zeros lies
    // before b[0] and behind b[n_b - 1]; out has room for whole tiles.
    void (*convolve)(const double *a, int n_a, double factor, const double *b, int n_b, double *out, int n);
    // sum[j] += weight p[j] for j < n, a multiple of four.
    void (*add)(double weight, const double *p, int n, double *sum);
};

#endif
