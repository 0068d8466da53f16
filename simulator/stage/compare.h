// Statistics of replicates: means with their intervals, and paired differences of two runs on the same draws.
#ifndef RB_SIMULATOR_COMPARE_H
#define RB_SIMULATOR_COMPARE_H

struct rb_mean {
    int n;
    double mean, sd;  // sd with n - 1; 0 for one value
    double low, high; // of the mean, 95 % (Student); for one value both ends are the value
};

// values [n], n >= 1, finite.
struct rb_mean rb_mean_of(const double *values, int n);

// A probability by n independent runs, in `hits` of which it was so: their share, and the 95 % interval (Clopper-Pearson).
struct rb_share {
    double share, low, high;
};

struct rb_share rb_share_of(int hits, int n); // 0 <= hits <= n, n >= 1

struct rb_paired {
    struct rb_mean difference; // of a - b
    int n_above, n_below;      // pairs with a > b, a < b
    double p_t, p_sign;        // two-sided p-value of a difference at least this large (Student's paired t; sign
                               // test without the ties). 1 if it is undefined
};

// a, b [n]: the same replicate at the same index.
struct rb_paired rb_paired_of(const double *a, const double *b, int n);

#endif
