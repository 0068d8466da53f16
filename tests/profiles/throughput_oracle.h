// The published objective of a throughput fit, written a second time: what the reference fits minimised.
#ifndef RB_TESTS_PROFILES_THROUGHPUT_ORACLE_H
#define RB_TESTS_PROFILES_THROUGHPUT_ORACLE_H

#include "profiles/fit/throughput.h"

#include <math.h>

static inline double oracle_objective(const struct rb_throughput *t, const struct rb_throughput_sample *s, int n)
{
    double grad_sq = 0, step_sq = 0;
    for (int i = 0; i < n; i++) {
        grad_sq += pow(log((t->alpha_c + t->beta_c * s[i].local_batch) / (s[i].step_s - s[i].sync_s)), 2);
        step_sq += pow(log(rb_throughput_iter_s(t, s[i].nodes, s[i].gpus, s[i].local_batch, 0) / s[i].step_s), 2);
    }
    return sqrt(grad_sq / n) + sqrt(step_sq / n) + 1e-3 * pow(t->gamma - 1, 2) +
           1e-2 * (pow(t->beta_n / t->alpha_n, 2) + pow(t->beta_r / t->alpha_r, 2));
}

#endif
