// Looks for other nodes for the stages that a run has not begun, and for more or fewer of those of the stage under way
// where trials of it still wait or its stages overlap. Exchanges of nodes, of GPUs per trial and of offers
// are played on from where the run stands (simulator/model/prediction.h), all with the same draws; what is found is
// judged by runs that the search has not used. A search that starts configurations on demand and will miss its limits
// stops starting them before it gets other nodes: the latest instant that keeps the limits. It works in small steps, beside other work, and does not read a clock:
// the same run gives the same answer.
#ifndef RB_SIMULATOR_REPLAN_H
#define RB_SIMULATOR_REPLAN_H

#include "simulator/model/prediction.h"

struct rb_replan_limits {
    int64_t deadline_us, budget_uusd; // of the whole run; -1: none
    double confidence;                // with which both are to be kept
};

struct rb_replan_found {
    const struct rb_stage_change *changes; // by stage, [n]; borrowed
    int n;
    int64_t admit_until_us;                // no configuration is started after that; 0: as before. With n 0: nothing is
                                           // better than the plan in force
    double p_before, p_after;              // probability of keeping both limits
    double cost_before_uusd, cost_after_uusd; // mean, of the whole run
    double saving_se_uusd;                    // standard error of their difference, over pairs of runs
    int64_t highest_uusd;                     // the most expensive of those runs with the changes
};

struct rb_replan;

// Can anything be changed? Not where all trials of the last stage are at work, or where the run cannot be predicted.
bool rb_replan_is_possible(const struct rb_prediction *p);
// From the instant at which the prediction last began; until the end of the search no other one may begin. NULL:
// nothing can be changed. The prediction is borrowed.
struct rb_replan *rb_replan_begin(struct rb_prediction *p, const struct rb_replan_limits *limits);
void rb_replan_destroy(struct rb_replan *r); // NULL is allowed

// One step: a few runs. True: the search is over.
bool rb_replan_step(struct rb_replan *r);
int rb_replan_stage(const struct rb_replan *r); // that was under way when it began
// After the search. false: the model came to no end.
bool rb_replan_result(const struct rb_replan *r, struct rb_replan_found *out);

#endif
