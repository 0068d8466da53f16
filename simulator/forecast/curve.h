// Synthetic learning curves, for runs without measured ones. Source: the family used for HyperSched's ablations
// (SoCC'19, released artifact): loss(k) = 1 / (b0 k / 100 + 0.1 b1 + 0.5) + 0.01 b2 + |N(0, 0.005)|, b0 ~ Exp(mean 0.1),
// b1, b2 ~ U(0, 1); accuracy = (2 - loss) / 2.
#ifndef RB_SIMULATOR_CURVE_H
#define RB_SIMULATOR_CURVE_H

#include "profiles/job/job.h"

#include <stdint.h>

struct rb_curve_family {
    double b0;    // mean of b0, how fast a trial learns: 0.1
    double b1;    // weight of b1, how well it begins: 0.1
    double b2;    // weight of b2, the part that never vanishes: 0.01
    double noise; // standard deviation of the normal whose absolute value is the noise of one report: 0.005
};
extern const struct rb_curve_family rb_curve_family_default;

// What a trial reports after `resource` units: accuracy if the goal is to maximise, else loss.
double rb_family_curve(const struct rb_curve_family *family, uint64_t seed, uint32_t replicate, enum rb_goal goal,
                       int trial, int64_t resource);
double rb_synthetic_curve(uint64_t seed, uint32_t replicate, enum rb_goal goal, int trial, int64_t resource);

#endif
