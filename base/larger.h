// The larger and the smaller of two doubles in one instruction. fmax and fmin are calls, for the sake of NaN: these are for
// numbers, in loops that do little else.
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
