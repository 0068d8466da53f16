// Predicts how a current run will end, from the plan's model alone: the virtual world (world.h) continues the run from
// its present state, replicate by replicate. Past events are kept as they were. Future ones are drawn from the
// profile's laws, conditioned on not having happened yet. How fast training is, on each layout and for each trial, is
// drawn from what the units so far have shown (simulator/posterior/posterior.h). Not predicted: trials that fail, a target that ends the run early, a
// stop for the budget, which stand-in a past request took.
#ifndef RB_SIMULATOR_PREDICTION_H
#define RB_SIMULATOR_PREDICTION_H

#include "engine/core/engine.h"
#include "simulator/model/scenario.h"

#define RB_PREDICTION_SAMPLES 256 // runs of the virtual world: a probability within 0.1 at 99.9 %, a median far better

struct rb_prediction;

// Never fails: what cannot be predicted is unknown, with a reason. The plan must outlive it.
struct rb_prediction *rb_prediction_create(const struct rb_plan *plan);
void rb_prediction_destroy(struct rb_prediction *p); // NULL is allowed

// Every event of the run, from START on.
void rb_prediction_event(struct rb_prediction *p, const struct rb_event *event);

// The current state of the run. spent_uusd: its real cost so far, which may differ from the plan's prices. -1: no such
// limit.
struct rb_prediction_now {
    int64_t now_us, spent_uusd, deadline_us, budget_uusd;
};
void rb_prediction_begin(struct rb_prediction *p, const struct rb_prediction_now *now);
// Makes up to n of the runs that were begun. True when none is left to make.
bool rb_prediction_make(struct rb_prediction *p, int n);

// Times and costs [n] of runs first..first+n-1 from where the run stood when the last prediction began, if it then takes
// this advice (an event without a time; NULL: none). Runs of different advice share their draws. false: the run cannot
// be predicted, or the model does not come to an end.
bool rb_prediction_try(struct rb_prediction *p, const struct rb_event *advice, uint32_t first, int n,
                       int64_t *out_time_us, int64_t *out_cost_uusd);

// From the last completed runs: time and cost of the whole run. NULL: unknown; *out_why (a constant phrase) gives the
// reason.
const struct rb_estimate *rb_prediction_estimate(const struct rb_prediction *p, const char **out_why);
const struct rb_plan *rb_prediction_plan(const struct rb_prediction *p);
const struct rb_scenario *rb_prediction_scenario(const struct rb_prediction *p);
// The plan's own prediction, until the first prediction is complete. NULL: there is a better one, no prediction is
// possible, or the plan was made without one.
const struct rb_estimate *rb_prediction_planned(const struct rb_prediction *p);
// How long a mean unit of training takes over what the profile says, and the bounds that hold this at 95 %: as of the
// last begin, where it trains now. stage: the last one in which units were measured; -1: of an asynchronous tuner, all.
struct rb_prediction_pace {
    double pace, low, high;
    double reckoned;     // the upper bound by the profile alone (relative_error), which the plan had to reckon with
    int stage, n_trials; // whose units were measured there
};
// False: no unit was measured. out is untouched.
bool rb_prediction_pace(const struct rb_prediction *p, struct rb_prediction_pace *out);
const struct rb_engine *rb_prediction_engine(const struct rb_prediction *p); // after all events; NULL: the plan is
                                                                             // invalid

#endif
