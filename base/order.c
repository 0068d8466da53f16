#include "base/order.h"

#include <stdbool.h>
#include <stdint.h>

int rb_order_ints(const void *a, const void *b)
{
    const int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

int rb_order_int64s(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

int rb_order_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int count(const double *ascending, int n, double x, bool or_equal)
{
    int low = 0, high = n;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (ascending[middle] < x || (or_equal && !(ascending[middle] > x)))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int rb_count_below(const double *ascending, int n, double x)
{
    return count(ascending, n, x, false);
}

int rb_count_up_to(const double *ascending, int n, double x)
{
    return count(ascending, n, x, true);
}
