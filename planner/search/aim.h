// The objective of a search on sampled sums, its limits, and the value to beat. The same test serves complete plans and
// partial ones whose remaining stages are counted at their minimum: a partial plan that cannot beat the best even then
// is cut.
#ifndef RB_PLANNER_AIM_H
#define RB_PLANNER_AIM_H

#include <stdbool.h>

enum rb_aim_kind {
    RB_AIM_OBJECTIVE,  // the objective's mean, with `need` replicates within both limits
    RB_AIM_DEADLINE,   // the smallest deadline that `need` replicates keep within the budget
    RB_AIM_BUDGET,     // the smallest budget that `need` replicates keep within the deadline
    RB_AIM_CONFIDENCE, // the most replicates within both limits
};

struct rb_aim {
    enum rb_aim_kind kind;
    double time_limit_us, cost_limit_uusd; // INFINITY: none
    int need;
    bool on_average; // a mean time within its limit counts as if all were
    double best; // INFINITY: nothing found yet
};

// True if a plan with these sums (or with sums not below these) can beat the best. `objective` is its mean.
bool rb_aim_may_beat(const struct rb_aim *aim, const double *time_us, const double *cost_uusd, int n,
                     double objective);
// Value of a plan, smaller is better; INFINITY: it does not keep the limits. scratch [n].
double rb_aim_value(const struct rb_aim *aim, const double *time_us, const double *cost_uusd, int n,
                    double objective, double *scratch);

#endif
