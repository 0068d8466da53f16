// Gives the forecaster (simulator/forecast/forecast.h) what the policy lookahead has observed of a run.
#ifndef RB_ENGINE_POLICIES_LOOKAHEAD_H
#define RB_ENGINE_POLICIES_LOOKAHEAD_H

#include "engine/core/engine.h"
#include "engine/policies/lookahead_curves.h"
#include "engine/policies/timing.h"

struct rb_lookahead_seen {
    const struct rb_timing *timing;
    const struct rb_seen_curves *curves;
    int atom_gpus;           // a trial's first size
    bool admits;             // the last advice
};

// false: the engine follows another policy. Borrowed until the next step.
bool rb_lookahead_seen(const struct rb_engine *e, struct rb_lookahead_seen *out);

#endif
