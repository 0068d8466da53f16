// The adviser of the policy lookahead. It forecasts every curve to the deadline for every size a trial may have, and
// chooses sizes, admission and the pool so as to maximise the expected best score at the deadline. It is a pure
// function of the engine's observations, the plan and the profile.
#ifndef RB_SIMULATOR_FORECAST_H
#define RB_SIMULATOR_FORECAST_H

#include "engine/core/advice.h"
#include "engine/core/engine.h"
#include "simulator/model/scenario.h"

struct rb_forecaster {
    const struct rb_scenario *scenario; // of the plan's job, profile and offers
    const struct rb_plan *plan;
};

// A rb_adviser_fn; ctx: struct rb_forecaster. false: the policy is not lookahead, or nothing has been reported yet.
bool rb_forecast(void *ctx, const struct rb_engine *e, struct rb_arena *arena, struct rb_advice *out);

#endif
