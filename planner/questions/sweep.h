// One search, asked for one deadline after the other by every planner. Each deadline lies between two that are answered: one of
// them gives a plan to start from, and the other a plan that may be the best here, too.
#ifndef RB_PLANNER_SWEEP_H
#define RB_PLANNER_SWEEP_H

#include "planner/search/search.h"

#define RB_SWEEP_PLANNERS 8 // at most

// What every planner has found at one deadline.
struct rb_sweep_answers {
    int64_t deadline_us;
    bool is_landmark; // every planner searches there
    struct rb_plan_result of[RB_SWEEP_PLANNERS]; // in the order of rb_planners
};

struct rb_sweep {
    const struct rb_plan_request *req; // but for its deadline and objective
    struct rb_search search;           // the caller's to make and finish
    struct rb_plan_result cheapest;    // of all plans, however long it takes
    struct rb_candidate soonest;       // the fastest plan: where the first search begins; n_stages 0: none
    int n_asked;                       // deadlines
};

// The two ends of a range, which are no points: without a deadline, into sweep->cheapest; with a deadline of 0, into
// sweep->soonest.
// out_nearest_us: the tightest deadline that any plan keeps, -1: none.
bool rb_sweep_ask_cheapest(struct rb_sweep *sweep, struct rb_err *err);
bool rb_sweep_ask_soonest(struct rb_sweep *sweep, int64_t *out_nearest_us, struct rb_err *err);

// Fills here->of at here->deadline_us, by all planners that answer for one confidence. tighter, looser: answers of neighbours;
// NULL: there are none. A plan whose own figures keep less than the confidence is no answer.
bool rb_sweep_ask_all(struct rb_sweep *sweep, const struct rb_sweep_answers *tighter,
                      const struct rb_sweep_answers *looser, struct rb_sweep_answers *here, struct rb_err *err);

// Where nothing is proved a tighter deadline that was answered later may have found a cheaper plan: of n answers in order of
// deadline, the optimal planner's cost never rises afterwards.
bool rb_sweep_level(struct rb_sweep *sweep, struct rb_sweep_answers *answers, int n, struct rb_err *err);

const struct rb_plan_result *rb_sweep_optimal(const struct rb_sweep_answers *answers);

#endif
