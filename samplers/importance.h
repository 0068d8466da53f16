// How much each parameter explains of the scores, by functional analysis of variance (fANOVA) of a random forest over
// (parameters -> score): the variance over the space of the forest's prediction, averaged over all other parameters,
// as a share of all variance of the prediction. What remains is explained only by several parameters together.
// Scores are normal scores of ranks, at one level (of the few that were promoted far, less is to be seen: then it is a
// lower one); the space is weighted by its declared distributions, so it does not
// matter where the sampler looked most. A parameter that applies only sometimes explains nothing where it does not.
// Source: Hutter, Hoos, Leyton-Brown, "An efficient approach for assessing hyperparameter importance", ICML'14.
#ifndef RB_SAMPLERS_IMPORTANCE_H
#define RB_SAMPLERS_IMPORTANCE_H

#include "base/arena.h"
#include "samplers/coordinates.h"
#include "samplers/history.h"

#define RB_IMPORTANCE_TREES   64
#define RB_IMPORTANCE_LEAST   16  // results, or three for each coordinate if these are more
#define RB_IMPORTANCE_RESULTS 512 // of more, evenly spaced ones
// The least share of the variance of scores that trees must predict, each for results that it has not seen.
#define RB_IMPORTANCE_R2      0.15

enum rb_importance_state {
    RB_IMPORTANCE_KNOWN,
    RB_IMPORTANCE_FEW,      // fewer results than `least`
    RB_IMPORTANCE_UNSEEN,   // the forest does not predict: no dependence, or too few results to see it
};

struct rb_importance {
    enum rb_importance_state state;
    // The highest with enough results at which the forest predicts; the lowest with enough if there is none, and if
    // FEW the one with most. -1: there is no result.
    int level;
    int n_results, least;
    double r2;              // out-of-bag; NAN if FEW
    double *share, *sd;     // of each coordinate, [n], in [0,1], and their standard deviation over the trees; KNOWN only
    double together, together_sd; // 1 - the sum of shares
};

// seed keys the bootstrap samples. Everything lives in the arena.
void rb_importance_of(const struct rb_coordinates *c, const struct rb_history *h, uint64_t seed, struct rb_arena *arena,
                      struct rb_importance *out);

#endif
