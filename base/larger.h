// The larger and the smaller of two doubles in one instruction, for hot loops. fmax and fmin are calls because they handle
// NaN; here neither argument may be NaN.
#ifndef RB_BASE_LARGER_H
#define RB_BASE_LARGER_H

static inline double rb_larger(double a, double b)
{
    return a > b ? a : b;
}

static inline double rb_smaller(double a, double b)
{
    return a < b ? a : b;
}

#endif
