// Computes and fits the seven-parameter throughput model of Pollux (OSDI'21, section 3.2).
//   T_grad(m) = alpha_c + beta_c m
//   T_sync    = 0 (K = 1) | alpha_r + beta_r max(K-2, 1e-8) (one node) | alpha_n + beta_n max(K-2, 1e-8) (several)
//   T_iter    = s T_grad + (T_grad^gamma + T_sync^gamma)^(1/gamma)
#ifndef RB_PROFILES_THROUGHPUT_H
#define RB_PROFILES_THROUGHPUT_H

#include "base/errors/err.h"

#include <stdbool.h>

struct rb_throughput {
    double alpha_c, beta_c; // gradient: seconds, seconds per sample
    double alpha_n, beta_n; // synchronisation between nodes: seconds, seconds per GPU beyond two
    double alpha_r, beta_r; // synchronisation inside a node
    double gamma;           // 1: no overlap .. 10: full overlap
};

double rb_throughput_grad_s(const struct rb_throughput *t, double local_batch);
double rb_throughput_sync_s(const struct rb_throughput *t, int nodes, int gpus);
// Seconds of one optimiser step; accumulation = extra gradient steps s.
double rb_throughput_iter_s(const struct rb_throughput *t, int nodes, int gpus, double local_batch, int accumulation);

struct rb_throughput_sample {
    int nodes, gpus;
    double local_batch;
    double step_s;     // whole optimiser step
    double sync_s;     // synchronisation's part of it; the rest is gradient time
    int accumulation;  // extra gradients in the step
    bool sync_unknown; // sync_s was not measured: only the whole step is known (on one GPU: all of it is gradient)
};

// Is the sample plausible? What training scripts report is untrusted.
bool rb_throughput_sample_is_valid(const struct rb_throughput_sample *s);

// Fit by bounded minimisation of the log errors (RMSLE of gradient time plus RMSLE of step time, priors as published),
// several starts, deterministic. Needs at least one sample. out_error: mean |relative error| of step time.
// A fit takes about 0.2 ms for a dozen samples, so it is repeated from the beginning at every new placement of a
// running job and never depends on earlier fits.
bool rb_throughput_fit(const struct rb_throughput_sample *samples, int n, struct rb_throughput *out,
                       double *out_error, struct rb_err *err);

#endif
