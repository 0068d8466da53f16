// The guard of spot nodes: permits nothing after which a loss, a restart and the rest on demand could end late, or cost
// more than the budget. It needs no model of the market: whatever is lost and whenever, a run that asks it at least
// every ahead_s, and at once when a node is lost, ends by its deadline as long as cold starts keep their quantiles.
// Pure. Source: Wu et al., "Can't Be Late: Optimizing Spot Instance Savings under Deadlines" (NSDI'24), with the work
// that a loss destroys.
//
// Slack is the time to the deadline, less the rest of the work from the last save, less the later stages with their cold
// starts, less whatever else has to happen before the end (a save under way). Only waits, cold starts and lost work use
// it up. Seconds and micro-dollars.
#ifndef RB_SIMULATOR_SPOT_GUARD_H
#define RB_SIMULATOR_SPOT_GUARD_H

#include <stdbool.h>

enum rb_spot_mode { // of one trial
    RB_SPOT_IDLE,   // as an action: wait
    RB_SPOT_ON_SPOT,
    RB_SPOT_ON_DEMAND,
};

struct rb_spot_guard {
    double start_s[3]; // by mode: cold start, its queue and refusals included, at the quantile asked (99.9 %)
    double rate[3];    // micro-dollars a second; idle: 0
    double budget;     // micro-dollars; INFINITY: none
};

struct rb_spot_now {
    enum rb_spot_mode mode;
    double slack_s;   // of work that is done, saved or not
    double unsaved_s; // on spot or when starting there: the most work that a loss before the next question would destroy
    double ahead_s;   // until the next question, at most
    double spent;     // micro-dollars, with what is committed
    double work_s;    // the rest, with later stages
};

// On demand is always permitted where the earlier actions were; false only where even it ends late or costs too much.
bool rb_spot_guard_permits(const struct rb_spot_guard *g, const struct rb_spot_now *now, enum rb_spot_mode action);

#endif
