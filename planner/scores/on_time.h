// The probability that a sum of independent times ends by a deadline, one multiplication a frequency: transforms of all
// laws on one set of frequencies, made once a law, and one dot product at the end.
//
// The indicator of T <= t is a square wave where |T - t| < window, and a square wave has odd multiples only:
//     P(T <= t) = 1/2 - (2/pi) sum over odd j of Im(E exp(i j pi (T - t) / window)) / j.
// What ends later than t + window is counted as if it had been in time, so a probability is never understated.
#ifndef RB_PLANNER_ON_TIME_H
#define RB_PLANNER_ON_TIME_H

#include "simulator/one_wave/law.h"

#define RB_ON_TIME_TERMS 1024 // most frequencies: tells times apart that differ by a thousandth of the window

struct rb_transform {
    int n;                 // beyond these it is below 1e-9 in modulus
    const double *re, *im; // [n], at the odd multiples
};

struct rb_on_time;

// For sums whose standard deviation is about `deviation_s` or more, and deadlines > 0 up to the window: times are not negative,
// and what ends a window after its deadline is late whatever is made of it. The first deadline is the window itself.
struct rb_on_time *rb_on_time_create(double window_s, double deviation_s);
void rb_on_time_set_deadline(struct rb_on_time *on_time, double deadline_s);
void rb_on_time_destroy(struct rb_on_time *on_time); // NULL is fine
int rb_on_time_terms(const struct rb_on_time *on_time);
double rb_on_time_window_s(const struct rb_on_time *on_time);
size_t rb_on_time_bytes(const struct rb_on_time *on_time); // of the transforms so far

// Of one law, made at the first request and found again by the law's address: it must outlive `on_time`. Borrowed.
const struct rb_transform *rb_on_time_transform(struct rb_on_time *on_time, const struct rb_law *law);
// Of a law that is gone sooner, into `arena`.
struct rb_transform rb_on_time_transform_once(struct rb_on_time *on_time, const struct rb_law *law, struct rb_arena *arena);

// A product of transforms: the caller's arrays [rb_on_time_terms].
struct rb_product {
    int n;
    double *re, *im;
};
void rb_product_begin(struct rb_product *p, int n_terms);                              // 1: the constant 0
void rb_product_multiply(struct rb_product *out, const struct rb_product *a, const struct rb_transform *b);

// Weights of the dot product for one limit: arrays [rb_on_time_terms].
struct rb_limit_weights {
    const double *re, *im;
};
struct rb_limit_weights rb_on_time_weights(const struct rb_on_time *on_time, double limit_s, struct rb_arena *arena);
struct rb_limit_weights rb_on_time_deadline(const struct rb_on_time *on_time); // borrowed until the next deadline

double rb_product_below(const struct rb_product *p, const struct rb_limit_weights *limit);
// The same of a times b, without storing the product.
double rb_product_below_with(const struct rb_product *a, const struct rb_transform *b,
                             const struct rb_limit_weights *limit);
// Of the product of n_factors > 0 transforms, without storing it: the whole score of a plan in one pass.
double rb_transforms_below(const struct rb_transform *const *factors, int n_factors,
                           const struct rb_limit_weights *limit);
// What the missing frequencies may still change: 0 where the product has died out.
double rb_product_leftover(const struct rb_product *p, const struct rb_on_time *on_time);

#endif
