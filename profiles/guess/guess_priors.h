// What a guess assumes about GPUs and machines without a measurement, and how wide its errors are. For profiles/guess alone.
// Errors of independent sources are added as squares of log_sd, the standard deviation of the logarithm.
// A guess is a median; the profile has means: a median m with log_sd s becomes the mean m exp(s^2/2) with relative_error
// sqrt(exp(s^2) - 1).
#ifndef RB_PROFILES_GUESS_PRIORS_H
#define RB_PROFILES_GUESS_PRIORS_H

#include "profiles/guess/gpu_speeds.h"
#include "profiles/guess/guess.h"

// Eight GPUs of one node: ResNet-50 7.2 to 7.9, BERT-large 4.9 (A100) and 7.5 (H100), GNMT 4.1 times one GPU, from the same
// benchmarks as rb_gpu_speeds.
#define RB_PRIOR_GPUS           8
#define RB_PRIOR_SCALING        6.5
#define RB_PRIOR_SCALING_LOG_SD .2

#define RB_PRIOR_OWN_LOG_SD   .1  // of a time that the user measured
#define RB_PRIOR_SOME_LOG_SD  .7  // of latencies that are orders of magnitude
#define RB_PRIOR_GIVEN_LOG_SD .25 // of latencies that the user gave, or measured on another machine

static inline double rb_prior_squared(double x)
{
    return x * x;
}

// How many times as fast a trains as b; by their speeds at one task only where both have one.
double rb_prior_speed_ratio(const struct rb_gpu_speed *a, const struct rb_gpu_speed *b, enum rb_guess_kind kind);
double rb_prior_speed_log_sd(const struct rb_gpu_speed *a, const struct rb_gpu_speed *b);
const char *rb_prior_speed_source(const struct rb_gpu_speed *a, const struct rb_gpu_speed *b);

// Speed-up of `gpus` GPUs of one node, where eight are `scaling` times as fast as one.
double rb_prior_speedup(double scaling, int gpus);
// Of 1, 2, 4 ... up to `most` GPUs of one node.
void rb_prior_layouts(double scaling, int most, struct rb_arena *arena, struct rb_training *t);

struct rb_dist rb_prior_lognormal(double median, double log_sd);
// Waiting for a machine and its boot, refused requests, and how often spot nodes are taken back.
struct rb_provisioning rb_prior_provisioning(const struct rb_offer *o);

#endif
