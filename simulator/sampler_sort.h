// Sorting eight columns at once: the comparisons do not depend on the values, so a whole row is compared and exchanged
// with two instructions. Rows are lanes; row i stands at at[i * LANES].
#ifndef RB_SIMULATOR_SAMPLER_SORT_H
#define RB_SIMULATOR_SAMPLER_SORT_H

#include "simulator/sampler_lanes.h"

static inline void put_in_order(float *low, float *high)
{
    const struct lanes a = lanes_load(low), b = lanes_load(high);
    lanes_store(low, lanes_min(a, b));
    lanes_store(high, lanes_max(a, b));
}

// Rows i with i & p = r in 0..n-d-1 are compared with row i + d.
static inline void put_runs_in_order(float *at, int n, int p, int r, int d)
{
    for (int run = r; run < n - d; run += 2 * p) {
        const int end = run + p < n - d ? run + p : n - d;
        for (int i = run; i < end; i++)
            put_in_order(at + (size_t)i * LANES, at + (size_t)(i + d) * LANES);
    }
}

// Merge exchange (Batcher; Knuth, "The Art of Computer Programming", volume 3, 5.2.2, algorithm M): any n.
static inline void sort_rows(float *at, int n)
{
    int top = 1;
    while (2 * top < n)
        top *= 2;
    for (int p = n > 1 ? top : 0; p > 0; p /= 2) {
        put_runs_in_order(at, n, p, 0, p);
        for (int q = top; q > p; q /= 2)
            put_runs_in_order(at, n, p, p, q - p);
    }
}

static inline void reverse_rows(float *at, int n)
{
    for (int i = 0, k = n - 1; i < k; i++, k--) {
        const struct lanes a = lanes_load(at + (size_t)i * LANES), b = lanes_load(at + (size_t)k * LANES);
        lanes_store(at + (size_t)i * LANES, b);
        lanes_store(at + (size_t)k * LANES, a);
    }
}

// Rows that fall and then rise become sorted: Batcher's bitonic merge. Rows from n up to a power of two count as
// infinite: what would be compared with them stays.
static inline void merge_valley(float *at, int n)
{
    int top = 1;
    while (2 * top < n)
        top *= 2;
    for (int d = n > 1 ? top : 0; d > 0; d /= 2)
        put_runs_in_order(at, n, d, 0, d);
}

// The first m of n rows are in any order, the others sorted.
static inline void sort_first_rows_in(float *at, int m, int n)
{
    sort_rows(at, m);
    if (m == n)
        return;
    reverse_rows(at, m);
    merge_valley(at, n);
}

#endif
