// Synthetic learning curves, for runs without measured ones. Source: the family used for HyperSched's ablations (SoCC'19,
// released artifact): loss(k) = 1 / (b0 k / 100 + 0.1 b1 + 0.5) + 0.01 b2 + |N(0, 0.005)|, b0 ~ Exp(mean 0.1),
// b1, b2 ~ U(0, 1); accuracy = (2 - loss) / 2.
#ifndef RB_SIMULATOR_CURVE_H
#define RB_SIMULATOR_CURVE_H

#include "profiles/job.h"

#include <stdint.h>

// What a trial reports after `resource` units: accuracy where the goal is to maximise, else loss.
double rb_synthetic_curve(uint64_t seed, uint32_t replicate, enum rb_goal goal, int trial, int64_t resource);

#endif
