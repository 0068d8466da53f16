// When a trial of a tuning job uses spot nodes, on-demand nodes or none, so that the job costs least by its deadline: a
// dynamic programme over what is left. For each stage and trial
//
//     v(s, w, m, mode) = least of {wait, stay on or start spot, stay or start on demand} + E v after one tick
//     v(s, 0, .)       = Phi(s) / trials,    Phi(s) = trials' * E_m v'(s + d, w', m, idle)   of the next stage
//
// where s is slack (simulator/spot/guard.h), w work left, m the state of the markets (simulator/spot/market_mix.h), d a
// cold start, and a loss sets w to its last save. So a stage may use all the slack of the job, later stages being kept
// on demand. What the guard forbids is no choice. Approximations: a trial's share of a barrier does not wait for the
// others; a node on spot is not moved to another market; all markets have one price.
//
// Costs are seconds of an on-demand node. Pure and deterministic. Source: Bellman, "Dynamic Programming" (1957);
// docs/MODEL.md, "Spot that cannot be late".
#ifndef RB_SIMULATOR_SPOT_POLICY_H
#define RB_SIMULATOR_SPOT_POLICY_H

#include "simulator/spot/guard.h"
#include "simulator/spot/market_mix.h"

struct rb_spot_stage {
    int trials;
    double work_s;       // of one trial
    double save_every_s; // of work, from the start of the stage; 0: nothing is lost; INFINITY: a loss takes all
};

struct rb_spot_problem {
    const struct rb_market_mix *mix;    // copied; its tick is the policy's
    const struct rb_spot_stage *stages; // [n_stages], copied
    int n_stages;
    double start_s;      // a cold start, which is billed: mean
    double start_most_s; // the quantile with which the guard reckons
    double ratio;        // price of on demand over that of spot
    double slack_s;      // the most slack that there will be: at the start of the first stage, its cold start included
};

struct rb_spot_policy;

struct rb_spot_policy *rb_spot_policy_create(const struct rb_spot_problem *p);
void rb_spot_policy_destroy(struct rb_spot_policy *p); // NULL is allowed
const struct rb_market_mix *rb_spot_policy_mix(const struct rb_spot_policy *p);

// A tick that makes tables of at most `steps` steps of time, and cold starts of whole ticks.
double rb_spot_policy_tick_s(double deadline_s, double start_s, int steps);

struct rb_spot_question {
    struct rb_spot_now now; // of the guard
    int stage;
    double work_s;                         // left in this stage
    int held;                              // the market of the node on spot
    const struct rb_market_state *markets; // [mix->n_markets]
    const double *lost_ago_s;              // likewise; NULL: no losses are known
};

// The policy's choice where the guard permits it, else on demand. out_market: where to start, or `held`; set with
// RB_SPOT_ON_SPOT.
enum rb_spot_mode rb_spot_policy_choose(const struct rb_spot_policy *p, const struct rb_spot_guard *g,
                                        const struct rb_spot_question *q, int *out_market);
// Expected cost of all trials from the start of the first stage on, idle, with this slack.
double rb_spot_policy_cost(const struct rb_spot_policy *p, double slack_s);
// v of one trial, with what later stages share: for tests. state: of the mix; on spot a class.
double rb_spot_policy_value(const struct rb_spot_policy *p, int stage, int slack, int work, enum rb_spot_mode mode,
                            int state);

#endif
