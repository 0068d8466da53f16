// Cost against deadline at the job's confidence, for every planner, and the value of a little more or less time at the
// requested deadline. It is one run: all deadlines share the stage times. The range is halved where the least cost
// falls, so each deadline has one neighbour whose plan is a start and another whose plan may be optimal here as well.
// Early requests are not searched for.
// A point rests on an eighth of the runs of a single plan; if these show less than the confidence, more runs decide.
// Plans of asynchronous jobs are compared on a quarter of these runs, at both ends of the range on half. They try all
// configurations, because training fewer is not a cheaper way to the same result.
#ifndef RB_PLANNER_PARETO_H
#define RB_PLANNER_PARETO_H

#include "planner/questions/marginal.h"
#include "planner/search/planner.h"

struct rb_pareto_point {
    int64_t deadline_us;
    const char *planner;
    struct rb_estimate estimate; // of that planner's cheapest plan at this deadline
    bool proved;                 // no plan of any planner is cheaper
};

// What is beside the points.
enum rb_pareto_spot {
    RB_PARETO_ALONE,        // nothing
    // Under resources.spot: safe, where the profile knows the markets: what the run costs. The points are on demand.
    RB_PARETO_WITH_SPOT,
    // Under resources.spot: allow, where spot machines can be planned, and others: plans that have none. The points may.
    RB_PARETO_WITHOUT_SPOT,
};

struct rb_pareto {
    double confidence;
    int64_t tightest_us;         // the tightest deadline that any plan keeps, up to 1 s
    const struct rb_pareto_point *points; // by deadline, then by planner's name; [n_points]
    int n_points;
    // The other line, by deadline. A deadline is missing where no run or plan of it keeps the confidence.
    enum rb_pareto_spot spot;
    const struct rb_pareto_point *beside; // [n_beside], at deadlines of the points; those with spot are not proved
    int n_beside;
    bool spot_cut;               // the time limit ended before all deadlines were asked for, on that line
    int n_deadlines, n_proved;   // at which some plan was found; at which the optimal one is proved
    int n_undecided;             // at which it is too near to the confidence to be decided (rb_search_decide)
    bool cut;                    // a search ended at its node, time or memory limit: cheaper plans may exist
    struct rb_marginal marginal;
};

// The request's budget holds at every point; the objective is the least cost whatever the job's is. The optimal
// planner's cost never rises with the deadline, including where a search was cut. Infeasible: no plan keeps the budget
// at any deadline.
// *out lives in `arena`.
bool rb_pareto_find(const struct rb_plan_request *req, struct rb_arena *arena, struct rb_pareto *out,
                    struct rb_err *err);

// The point of `optimal` at a deadline, and that of any other planner; NULL: that planner has no plan there.
const struct rb_pareto_point *rb_pareto_at(const struct rb_pareto *pareto, int64_t deadline_us, const char *planner);

// What the other line says at a deadline; NULL: it is not known there, or the deadline is not kept.
const struct rb_estimate *rb_pareto_beside(const struct rb_pareto *pareto, int64_t deadline_us);
// What that line is called: "with spot"; NULL: there is none.
const char *rb_pareto_beside_name(const struct rb_pareto *pareto);

void rb_pareto_write(const struct rb_pareto *pareto, struct rb_json *j); // rb-pareto/1

#endif
