// Cost against deadline at the confidence asked, for every planner, and what a little more or less time is worth at the
// deadline that was asked for. One run: all deadlines share the stage times, and the range is halved where the least cost falls,
// so that each has one neighbour's plan to start from and another's that may be the best here, too. Early requests are not
// looked for.
// A point rests on an eighth of the runs that one plan rests on; more of them decide where these say that a plan keeps less than
// was asked. Plans of asynchronous jobs are compared by a quarter of these runs, at both ends of the range by half, and try
// all configurations: a plan that trains fewer of them is no cheaper way to the same result.
#ifndef RB_PLANNER_PARETO_H
#define RB_PLANNER_PARETO_H

#include "planner/questions/marginal.h"
#include "planner/search/planner.h"

struct rb_pareto_point {
    int64_t deadline_us;
    const char *planner;
    struct rb_estimate estimate; // of that planner's cheapest plan at this deadline
    bool proved;                 // no plan at all is cheaper
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

void rb_pareto_write(const struct rb_pareto *pareto, struct rb_json *j); // rb-pareto/1

#endif
