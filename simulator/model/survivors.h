// Who may survive in a run that goes on: metrics that its trials may still report, those without one as likely as any. Ranks
// at the end of one rung and of the next are correlated, not equal. The model is a normal copula with the correlation that
// planner/quality/law.h expects of rungs a factor of three apart. It matters where trials differ in speed
// (noise.configuration).
#ifndef RB_SIMULATOR_SURVIVORS_H
#define RB_SIMULATOR_SURVIVORS_H

#include "engine/core/engine.h"

struct rb_survivors {
    double *scores;  // normal scores of the trials' last metrics, by trial, [n]; NaN: none was reported
    double *metrics; // that were reported, ascending, [n_metrics]
    int n, n_metrics;
    bool minimizes;
    uint64_t seed;
};

// From the trials' last metrics. Anything that *r holds is replaced; zero-initialised at first.
void rb_survivors_make(struct rb_survivors *r, const struct rb_engine *e, enum rb_goal goal, uint64_t seed);
void rb_survivors_finish(struct rb_survivors *r);
// One of the reported metrics; in a replicate always the same. 0: none was reported.
double rb_survivors_draw(const struct rb_survivors *r, uint32_t replicate, int trial);

#endif
