// What scores at low resources say of scores at high ones: a Gaussian model of learning curves at the levels of a search.
// Source: Swersky, Snoek, Adams, "Freeze-thaw Bayesian optimization", arXiv:1406.3896. A curve comes near an asymptote, and
// its distance from it decays as (beta / (t + beta))^alpha; asymptotes are normal and, other than there, independent of the
// configuration: who proposes configurations knows that better, and any sampler may.
//
//     y_i(t) = f_i - gain g(t) + h_i(t) + noise,  f_i ~ N(mean, v),  g(t) = beta / (t + beta),
//     cov(h_i(t), h_i(t')) = v decay beta / (t + t' + beta),  noise ~ N(0, v noise)
#ifndef RB_ENGINE_TUNERS_LEVEL_MODEL_H
#define RB_ENGINE_TUNERS_LEVEL_MODEL_H

#include "base/limits.h"

#include <stdint.h>

// A trial's scores at the first `n` levels, oldest first. Units: those of all scores given together.
struct rb_level_curve {
    const double *scores;
    int n;
};

struct rb_level_model {
    int n_levels;
    double mean[RB_LIMIT_STAGES];                     // expected score at each level
    double sd[RB_LIMIT_STAGES + 1];                   // of the last level's true score, by how many levels are known
    double weight[RB_LIMIT_STAGES + 1][RB_LIMIT_STAGES]; // of what is known there: [known][level]
};

// By maximum likelihood over a fixed grid of (beta, decay, noise); mean, gain and v follow from each. resource
// [n_levels] ascends. With fewer than two scores, or scores that do not differ, v is 0.
void rb_level_model_fit(struct rb_level_model *m, const int64_t *resource, int n_levels,
                        const struct rb_level_curve *curves, int n_curves);

// Expected score at the last level of a trial whose first n scores are known; its standard deviation is m->sd[n].
double rb_level_model_expect(const struct rb_level_model *m, const double *scores, int n);

#endif
