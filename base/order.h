// Ascending orders of plain numbers, for qsort and bsearch. Doubles must not be NaN.
#ifndef RB_BASE_ORDER_H
#define RB_BASE_ORDER_H

int rb_order_ints(const void *a, const void *b);
int rb_order_int64s(const void *a, const void *b);
int rb_order_doubles(const void *a, const void *b);

#endif
