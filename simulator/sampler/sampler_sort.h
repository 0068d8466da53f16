// Sorts eight columns at once. The comparisons do not depend on the values, so a whole row is compared and exchanged
// with two instructions. Rows are lanes; row i is at[i * LANES]. Eight rows at a time are sorted and merged in
// registers.
#ifndef RB_SIMULATOR_SAMPLER_SORT_H
#define RB_SIMULATOR_SAMPLER_SORT_H

#include "simulator/sampler/sampler_lanes.h"

#include <math.h>

#define ROWS 8 // in registers

struct rows {
    struct lanes r[ROWS];
};

// Rows from n on count as infinite and are not moved.
static inline struct rows load_rows(const float *at, int n)
{
    struct rows rows;
    for (int i = 0; i < ROWS; i++)
        rows.r[i] = i < n ? lanes_load(at + (size_t)i * LANES) : lanes_all(INFINITY);
    return rows;
}

static inline void store_rows(float *at, int n, const struct rows *rows)
{
    for (int i = 0; i < ROWS; i++) {
        if (i < n)
            lanes_store(at + (size_t)i * LANES, rows->r[i]);
    }
}

static inline void put_in_order(struct lanes *low, struct lanes *high)
{
    const struct lanes a = *low, b = *high;
    *low = lanes_min(a, b);
    *high = lanes_max(a, b);
}

static inline void put_four_and_two_apart_in_order(struct lanes *r)
{
    for (int i = 0; i < 4; i++)
        put_in_order(&r[i], &r[i + 4]);
    for (int i = 0; i < 2; i++) {
        put_in_order(&r[i], &r[i + 2]);
        put_in_order(&r[i + 4], &r[i + 6]);
    }
}

// The network of 19 comparisons (Batcher's merge exchange; Knuth, "The Art of Computer Programming", volume 3, 5.2.2).
static inline void sort_eight(float *at, int n)
{
    struct rows rows = load_rows(at, n);
    struct lanes *r = rows.r;
    put_four_and_two_apart_in_order(r);
    for (int i = 2; i < 4; i++)
        put_in_order(&r[i], &r[i + 2]);
    for (int i = 0; i < ROWS; i += 2)
        put_in_order(&r[i], &r[i + 1]);
    put_in_order(&r[1], &r[4]);
    put_in_order(&r[3], &r[6]);
    for (int i = 1; i < 7; i += 2)
        put_in_order(&r[i], &r[i + 1]);
    store_rows(at, n, &rows);
}

static inline void merge_valley_of_eight(float *at, int n)
{
    struct rows rows = load_rows(at, n);
    struct lanes *r = rows.r;
    put_four_and_two_apart_in_order(r);
    for (int i = 0; i < ROWS; i += 2)
        put_in_order(&r[i], &r[i + 1]);
    store_rows(at, n, &rows);
}

// Compares every row of the first half of 2 d with the row d further on.
static inline void put_halves_in_order(float *at, int n, int d)
{
    for (int run = 0; run < n - d; run += 2 * d) {
        const int end = run + d < n - d ? run + d : n - d;
        for (int i = run; i < end; i++) {
            float *low = at + (size_t)i * LANES, *high = low + (size_t)d * LANES;
            struct lanes a = lanes_load(low), b = lanes_load(high);
            put_in_order(&a, &b);
            lanes_store(low, a);
            lanes_store(high, b);
        }
    }
}

// Sorts rows that fall and then rise: Batcher's bitonic merge. Rows from n up to a power of two count as infinite; rows
// compared with them are not moved.
static inline void merge_valley(float *at, int n)
{
    int top = ROWS;
    while (top < n)
        top *= 2;
    for (int d = top / 2; d >= ROWS; d /= 2)
        put_halves_in_order(at, n, d);
    for (int i = 0; i < n; i += ROWS)
        merge_valley_of_eight(at + (size_t)i * LANES, n - i);
}

static inline void reverse_rows(float *at, int n)
{
    for (int i = 0, k = n - 1; i < k; i++, k--) {
        const struct lanes a = lanes_load(at + (size_t)i * LANES), b = lanes_load(at + (size_t)k * LANES);
        lanes_store(at + (size_t)i * LANES, b);
        lanes_store(at + (size_t)k * LANES, a);
    }
}

static inline void sort_rows(float *at, int n)
{
    if (n < 2)
        return;
    for (int i = 0; i < n; i += ROWS)
        sort_eight(at + (size_t)i * LANES, n - i);
    for (int run = ROWS; run < n; run *= 2) {
        for (int i = 0; i + run < n; i += 2 * run) {
            reverse_rows(at + (size_t)i * LANES, run);
            merge_valley(at + (size_t)i * LANES, n - i < 2 * run ? n - i : 2 * run);
        }
    }
}

// The first m of n rows are unsorted, the others sorted.
static inline void sort_first_rows_in(float *at, int m, int n)
{
    sort_rows(at, m);
    if (m == n)
        return;
    reverse_rows(at, m);
    merge_valley(at, n);
}

#endif
