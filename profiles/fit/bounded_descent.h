// Minimises a smooth function of a few variables with bounds by L-BFGS-B (Byrd, Lu, Nocedal, Zhu, SIAM J. Sci. Comput. 16,
// 1995; Morales and Nocedal, ACM TOMS 38, 2011), its matrix written out since there are only a few variables. It takes the
// steps of the reference implementation, up to rounding: where a function has no single minimum, or a kink, the published
// fits are where those steps end.
#ifndef RB_PROFILES_BOUNDED_DESCENT_H
#define RB_PROFILES_BOUNDED_DESCENT_H

#define RB_DESCENT_MAX 8 // variables

struct rb_descent_problem {
    int n;                      // <= RB_DESCENT_MAX
    const double *low, *high;   // [n]; low <= high; equal: fixed; high may be INFINITY
    double (*value)(const void *arg, const double *x, double *out_gradient);
    const void *arg;
};

// x: the start, moved between the bounds; on return the lowest point found. Returns its value. Stops as the reference
// implementation does with its usual settings: projected gradient <= 1e-5, or a decrease <= 2.22e-9 relative.
double rb_bounded_descent(const struct rb_descent_problem *p, double *x);

#endif
