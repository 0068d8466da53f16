// Sequential tests of a probability against the confidence asked.
#ifndef RB_PLANNER_DECIDE_H
#define RB_PLANNER_DECIDE_H

#include "planner/search/search.h"

#define RB_DECIDED         0.005 // plans that keep the constraints by less than this above the confidence may be
                                 // excluded
#define RB_DECIDED_RISK    2.5e-4 // probability of a wrong decision about one plan: a quarter of the risk of a proof
#define RB_DECIDED_NO_MISS 4096  // runs of which none may miss if the confidence is 1 or nearly 1

enum rb_decision { RB_UNDECIDED, RB_DECIDED_KEEPS, RB_DECIDED_FALLS_SHORT };

// Decides from n independent runs, of which `hits` kept the constraints, whether the probability is at least
// `confidence` or below confidence + RB_DECIDED. The decision is wrong with a probability of at most `risk`, 0 < risk <
// 1, for an n that does not depend on the runs.
enum rb_decision rb_decide_share(int hits, int n, double confidence, double risk);

// Plays runs first .. first + n - 1 of a plan without keeping them. Vectors [n].
bool rb_search_runs_from(struct rb_search *search, const struct rb_candidate *candidate, uint32_t first, int n,
                         int64_t *out_time_us, int64_t *out_cost_uusd, struct rb_err *err);

#endif
