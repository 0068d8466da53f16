// Sequential tests of a probability against the confidence asked.
#ifndef RB_PLANNER_DECIDE_H
#define RB_PLANNER_DECIDE_H

#include "planner/search/search.h"

#define RB_DECIDED         0.005 // plans that keep the constraints with less than this above the confidence may be ruled out
#define RB_DECIDED_RISK    2.5e-4 // of one plan's decision being wrong: a quarter of what a proof may be wrong with
#define RB_DECIDED_NO_MISS 4096  // runs of which none may miss where the confidence is 1, or nearly

enum rb_decision { RB_UNDECIDED, RB_DECIDED_KEEPS, RB_DECIDED_FALLS_SHORT };

// Of n independent runs `hits` kept the constraints: is the probability at least `confidence`, or below confidence + RB_DECIDED?
// Wrong with a probability of at most `risk`, 0 < risk < 1, for an n that does not depend on the runs.
enum rb_decision rb_decide_share(int hits, int n, double confidence, double risk);

// Runs first .. first + n - 1 of a plan, which are not kept. Vectors [n].
bool rb_search_runs_from(struct rb_search *search, const struct rb_candidate *candidate, uint32_t first, int n,
                         int64_t *out_time_us, int64_t *out_cost_uusd, struct rb_err *err);

#endif
