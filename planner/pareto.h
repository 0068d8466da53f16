// Cost against deadline at the confidence asked, for every planner, and what a little more or less time is worth at the
// deadline that was asked for. One run: all deadlines share the stage times, and the range is halved, so that each has one
// neighbour's plan to start from and another's that may be the best here, too. Early requests are not looked for.
#ifndef RB_PLANNER_PARETO_H
#define RB_PLANNER_PARETO_H

#include "planner/planner.h"

struct rb_pareto_point {
    int64_t deadline_us;
    const char *planner;
    struct rb_estimate estimate; // of that planner's cheapest plan at this deadline
};

// What the optimal plan's mean cost does when the deadline moves by one step, the largest of 1, 5, 10, 30 s, 1, 5, 10,
// 30 min, 1, 2, 6, 12, 24 h that is not above a tenth of it: a difference of two proved costs, because the cost of the
// best plan is a step function and has no slope. Per minute is that difference over the minutes of the step.
struct rb_marginal {
    bool exists;                 // a deadline was asked for and some plan keeps it
    int64_t deadline_us, step_us;
    int64_t more_uusd;           // change of mean cost with one step more: <= 0
    bool has_less;               // some plan still keeps one step less
    int64_t less_uusd;           // change with one step less: >= 0
};

struct rb_pareto {
    double confidence;
    int64_t tightest_us;         // the least deadline that any plan keeps, up to 1 s
    const struct rb_pareto_point *points; // by deadline, then by planner's name; [n_points]
    int n_points;
    int n_deadlines, n_proved;   // at which some plan was found; at which the optimal one is proved
    bool cut;                    // a search ended at its node, time or memory limit: cheaper plans may exist
    struct rb_marginal marginal;
};

// The request's budget holds at every point; its objective is the least cost whatever the job's is. The optimal planner's
// cost never rises with the deadline, cut searches included. Infeasible: no plan keeps the budget at any deadline.
// *out lives in `arena`.
bool rb_pareto_find(const struct rb_plan_request *req, struct rb_arena *arena, struct rb_pareto *out,
                    struct rb_err *err);

// The optimal point at a deadline, and any other planner's; NULL: that planner has no plan there.
const struct rb_pareto_point *rb_pareto_at(const struct rb_pareto *pareto, int64_t deadline_us, const char *planner);
int64_t rb_marginal_per_minute(const struct rb_marginal *marginal, int64_t change_uusd);

void rb_pareto_write(const struct rb_pareto *pareto, struct rb_json *j); // rb-pareto/1

#endif
