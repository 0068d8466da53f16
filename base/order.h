// Ascending orders of plain numbers, for qsort and bsearch, and places in them. Doubles must not be NaN.
#ifndef RB_BASE_ORDER_H
#define RB_BASE_ORDER_H

int rb_order_ints(const void *a, const void *b);
int rb_order_int64s(const void *a, const void *b);
int rb_order_doubles(const void *a, const void *b);

// How many of n ascending numbers are below x, and how many are not above it.
int rb_count_below(const double *ascending, int n, double x);
int rb_count_up_to(const double *ascending, int n, double x);

#endif
