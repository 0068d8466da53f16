// Sequential tests of a probability against the confidence asked.
#ifndef RB_PLANNER_DECIDE_H
#define RB_PLANNER_DECIDE_H

#include "planner/search/search.h"

#define RB_DECIDED         0.005 // plans that keep the constraints with less than this above the confidence may be ruled out
#define RB_DECIDED_RISK    1e-3  // of one plan's decision being wrong
#define RB_DECIDED_NO_MISS 4096  // runs of which none may miss where the confidence is 1, or nearly

enum rb_decision { RB_UNDECIDED, RB_DECIDED_KEEPS, RB_DECIDED_FALLS_SHORT };

// Of n independent runs `hits` kept the constraints: is the probability at least `confidence`, or below confidence + RB_DECIDED?
// Wrong with a probability of at most `risk`, 0 < risk < 1, for an n that does not depend on the runs.
enum rb_decision rb_decide_share(int hits, int n, double confidence, double risk);

#endif
