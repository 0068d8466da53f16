// Estimates how fast a run trains, from the times of its units of training. The logarithm of what a unit took over what
// the profile says, all factors at their means, is
//
//     lambda(accelerator, layout) + c(trial) + b(start of the trial) + w(unit),   lambda = alpha + beta
//
// alpha: error of the accelerator's measured mean, spread rho (relative_error; 0: RB_POSTERIOR_EXACT); beta: of a
// layout, spread rho / 2; c, b, w: the profile's noise (configuration, between, within), as normal logarithms of
// factors with mean 1. The posterior of all is Gaussian. c and b are independent given lambda and are integrated out, so
// the only system that is solved has one unknown for each accelerator and layout seen.
//
// Spikes are clipped at 2.5 standard deviations. A unit that still lasts counts as one that lasts longer. The spreads of
// the noise are learned from the run. Where the data contradict the profile, rho gives way. docs/MODEL.md, "How fast a
// run trains", has the equations.
//
// Pure and deterministic: sums are formed in one order, draws are keyed (base/stream.h).
#ifndef RB_SIMULATOR_POSTERIOR_H
#define RB_SIMULATOR_POSTERIOR_H

#include "profiles/store/profile.h"

#include <stdbool.h>
#include <stdint.h>

#define RB_POSTERIOR_EXACT 0.02 // no profile is right to more than this
double rb_posterior_rho2(const struct rb_profile *profile, int training); // rho^2 of an accelerator by the profile

struct rb_posterior;

// Units of one start of a trial, between two of its reports.
struct rb_posterior_units {
    int trial, stage, attempt;
    int training;   // index in profile->training: the accelerator
    int layout;     // which of the accelerator's layouts, such as GPUs per trial; 0: all have one error
    double unit_s;  // seconds of one by the profile, before noise: rb_scenario_width_unit_s
    int64_t units;  // > 0
    double seconds; // that they took; still under way: that they have lasted
};

// Mean and standard deviation of the logarithm of a factor.
struct rb_posterior_log {
    double mean, sd;
};

// The profile must outlive it. seed: of the draws.
struct rb_posterior *rb_posterior_create(const struct rb_profile *profile, uint64_t seed);
void rb_posterior_destroy(struct rb_posterior *p); // NULL is allowed

// Later starts of a trial come later. What took no time belongs to the report before it: a script's output comes in
// bursts.
void rb_posterior_saw(struct rb_posterior *p, const struct rb_posterior_units *units);
// Estimates from all that was seen, and from the units that are under way: at most one entry a trial, of its last start.
// Everything below is of the last fit, and of the prior before.
void rb_posterior_fit(struct rb_posterior *p, const struct rb_posterior_units *under_way, int n);
bool rb_posterior_has_data(const struct rb_posterior *p); // any units were seen, finished or under way

// lambda of a layout; never seen: what the accelerator's other layouts say of it.
struct rb_posterior_log rb_posterior_speed(const struct rb_posterior *p, int training, int layout);
// The mean of lambda over the layouts of a stage, weighted by the profile's time of the units seen there; stage -1: of
// the whole run. NaN where none was seen. out_n_trials may be NULL.
struct rb_posterior_log rb_posterior_speed_in(const struct rb_posterior *p, int stage, int *out_n_trials);
// ln of the trial's factor for the whole run (noise.configuration) and for its last start (noise.between), relative to
// their means; nothing seen of it: the prior.
struct rb_posterior_log rb_posterior_configuration(const struct rb_posterior *p, int trial);
struct rb_posterior_log rb_posterior_between(const struct rb_posterior *p, int trial);
// ln of the noise as learned: spread of b and of w.
double rb_posterior_between_sd(const struct rb_posterior *p);
double rb_posterior_within_sd(const struct rb_posterior *p);

// After a fit: draws lambda for a replicate; the functions below then draw jointly with it. A draw is the factor itself.
void rb_posterior_draw(struct rb_posterior *p, uint32_t replicate);
double rb_posterior_drawn_speed(const struct rb_posterior *p, int training, int layout);
// False: nothing of it was seen, so the profile's own law applies. Multiplied by the profile's mean.
bool rb_posterior_drawn_configuration(const struct rb_posterior *p, int trial, double *out);
// drawn: the attempt that the number is keyed by; another one than `attempt` gives another number of the same law.
bool rb_posterior_drawn_between(const struct rb_posterior *p, int trial, int stage, int attempt, int drawn, double *out);

#endif
