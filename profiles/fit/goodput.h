// Computes goodput, throughput times statistical efficiency, and the batch size that makes it largest on an allocation.
//   M = K m (s + 1)    GOODPUT(N, K, m, s) = M / T_iter(N, K, m, s) * EFF(M)
// N nodes, K GPUs, m samples per GPU and gradient, s further gradients accumulated before a step.
// Source: Pollux (OSDI'21), sections 3.2-3.3 and its released GoodputFunction.
#ifndef RB_PROFILES_GOODPUT_H
#define RB_PROFILES_GOODPUT_H

#include "profiles/fit/goodput_batches.h"
#include "profiles/fit/grad_noise.h"
#include "profiles/fit/throughput.h"

struct rb_goodput {
    struct rb_throughput throughput;
    struct rb_grad_noise noise;
    struct rb_batch_limits limits;
    const struct rb_goodput_batches *batches; // of these limits, borrowed: makes questions quick. NULL: listed each time
};

// Useful samples per second: what the same time would need at the initial batch's efficiency. The total is >= M0.
double rb_goodput_at(const struct rb_goodput *g, int nodes, int gpus, const struct rb_batch *batch);

// The largest goodput on `gpus` GPUs of `nodes` nodes, and the batch that reaches it; of equal ones the smallest total.
// 0, and *out untouched: no batch within the limits fits these GPUs.
double rb_goodput_best(const struct rb_goodput *g, int nodes, int gpus, struct rb_batch *out);

#endif
