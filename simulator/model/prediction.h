// How a run that is going on will probably end. It rests on the plan's model and on nothing else: the virtual world (world.h)
// goes on from where the run stands, replicate by replicate. What has happened is taken as it was, what is still to come is
// drawn from the profile's laws given that it has not happened yet, and the time of a unit of training is the profile's times
// the pace of the units that were seen. Not foreseen: trials that fail, a target that ends the run early, a stop for the
// budget; offers that are sold out only as the profile's capacity_failure has them.
#ifndef RB_SIMULATOR_PREDICTION_H
#define RB_SIMULATOR_PREDICTION_H

#include "engine/core/engine.h"
#include "simulator/model/scenario.h"

#define RB_PREDICTION_SAMPLES 256 // runs of the virtual world: a probability within 0.1 at 99.9 %, a median far better

struct rb_prediction;

// Never fails: what cannot be foreseen is unknown, and says why. The plan outlives it.
struct rb_prediction *rb_prediction_create(const struct rb_plan *plan);
void rb_prediction_destroy(struct rb_prediction *p); // NULL is fine

// Every event of the run, from START on.
void rb_prediction_event(struct rb_prediction *p, const struct rb_event *event);

// The run as of now. spent_uusd: what it has really cost so far, which may differ from the plan's prices. -1: no such limit.
struct rb_prediction_now {
    int64_t now_us, spent_uusd, deadline_us, budget_uusd;
};
void rb_prediction_begin(struct rb_prediction *p, const struct rb_prediction_now *now);
// Makes up to n of the runs that were begun. True when there is nothing more to make.
bool rb_prediction_make(struct rb_prediction *p, int n);

// Of the last completed ones: time and cost of the whole run. NULL: unknown, *out_why (a constant phrase) says why.
const struct rb_estimate *rb_prediction_estimate(const struct rb_prediction *p, const char **out_why);
const struct rb_plan *rb_prediction_plan(const struct rb_prediction *p);
// What the plan itself foresaw, as long as the first prediction is not complete; NULL: there is a better one, there can be none,
// or the plan was made without a prediction.
const struct rb_estimate *rb_prediction_planned(const struct rb_prediction *p);
// Time of a unit of training over the expected one; NaN: too few were seen.
double rb_prediction_pace(const struct rb_prediction *p);
const struct rb_engine *rb_prediction_engine(const struct rb_prediction *p); // after all events; NULL: the plan is no good

#endif
