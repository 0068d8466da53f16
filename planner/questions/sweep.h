// One search that every planner answers for one deadline after another. Each deadline lies between two that are
// answered: one gives a plan to start from, and the other's plan may be optimal here as well. After each call the
// search has the sweep's own request again.
#ifndef RB_PLANNER_SWEEP_H
#define RB_PLANNER_SWEEP_H

#include "planner/search/search.h"

#define RB_SWEEP_PLANNERS 8 // upper limit

// What every planner found at one deadline.
struct rb_sweep_answers {
    int64_t deadline_us;
    bool is_landmark;                            // every planner searches there
    struct rb_plan_result of[RB_SWEEP_PLANNERS]; // in the order of rb_planners
};

struct rb_sweep {
    const struct rb_plan_request *req; // except for its deadline and objective
    struct rb_search search;           // created and finished by the caller
    struct rb_plan_result cheapest;    // the cheapest of all plans, without regard to time
    struct rb_candidate soonest;       // the fastest plan, from which the first search starts; n_stages 0: none
    int n_asked;                       // deadlines
};

// The two ends of a range, which are no points. Without a deadline the result goes to sweep->cheapest; with a deadline
// of 0, to sweep->soonest.
// out_nearest_us: the tightest deadline that any plan keeps, -1: none.
bool rb_sweep_ask_cheapest(struct rb_sweep *sweep, struct rb_err *err);
bool rb_sweep_ask_soonest(struct rb_sweep *sweep, int64_t *out_nearest_us, struct rb_err *err);

// Fills here->of at here->deadline_us with the answers of all planners that plan for a confidence (not `mean`).
// tighter, looser: answers of neighbours; NULL: there are none. A plan whose own estimate is below the confidence is no
// answer.
bool rb_sweep_ask_all(struct rb_sweep *sweep, const struct rb_sweep_answers *tighter,
                      const struct rb_sweep_answers *looser, struct rb_sweep_answers *here, struct rb_err *err);

// Without proofs, a tighter deadline that was answered later may have a cheaper plan. This makes the optimal planner's
// cost non-increasing over n answers in order of deadline.
bool rb_sweep_level(struct rb_sweep *sweep, struct rb_sweep_answers *answers, int n, struct rb_err *err);

const struct rb_plan_result *rb_sweep_optimal(const struct rb_sweep_answers *answers);

#endif
