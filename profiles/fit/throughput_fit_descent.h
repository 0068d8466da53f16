// Minimises the published objective of a throughput fit from one start. Only throughput_fit.c includes this.
//   RMS(log T_grad / measured) + RMS(log T_iter / measured), each over the samples that measured it
//     + 1e-3 (gamma - 1)^2 + 1e-2 ((beta_n / alpha_n)^2 + (beta_r / alpha_r)^2)
#ifndef RB_PROFILES_THROUGHPUT_FIT_DESCENT_H
#define RB_PROFILES_THROUGHPUT_FIT_DESCENT_H

#include "profiles/fit/throughput.h"

enum { RB_ALPHA_C, RB_BETA_C, RB_ALPHA_N, RB_BETA_N, RB_ALPHA_R, RB_BETA_R, RB_GAMMA, RB_N_FIT_PARAMS };

#define RB_FIT_FLOOR 1e-8 // published lower bound of alphas and betas, in seconds

// A sample as the objective reads it.
struct rb_fit_point {
    double local_batch;
    double extra_gpus; // beyond two
    int sync;          // RB_ALPHA_N or RB_ALPHA_R, whose beta follows; -1: one GPU, nothing to synchronise
    int accumulation;
    bool grad_known;   // else log_grad_s is meaningless
    double log_grad_s, log_step_s;
};

struct rb_fit_problem {
    const struct rb_fit_point *points; // [n]
    int n, n_grads;                    // n_grads: those with a known gradient time
    const int *free_params;            // the parameters that are searched, ascending, [n_free]
    int n_free;
};

// theta: parameters, the fixed ones in place; on return those of the lowest objective found, which is returned.
double rb_throughput_fit_descend(const struct rb_fit_problem *p, double theta[RB_N_FIT_PARAMS]);

#endif
