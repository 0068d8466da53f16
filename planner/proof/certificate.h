// Is a plan the cheapest? Columns are runs of single stages, in the same worlds for every choice. They exclude all other plans
// of the space, or name those that they do not exclude. With a risk of at most RB_PROOF_RISK:
//     no plan of the space that keeps the constraints with a probability of at least confidence + RB_DECIDED
//     costs less than (1 - RB_PROOF_TOLERANCE) times the plan that is proved.
//
// Plans are excluded by: (1) a theorem: nodes are billed for the work that is done on them; (2) mean costs beside the proved
// plan's, less what they may be off by, summed along shortest paths, with a price on time (a Lagrangian bound); (3) the share
// of worlds in which a beginning of a plan can still be in time if every later stage takes its least in that world. What is
// left is run as a whole, and compared and decided run by run.
// Columns never cost more or take longer than the stage does within a plan: nodes that come late, and bills of less than a
// minute, only make plans more expensive.
// The risk is that of excluding the cheapest plan that keeps the constraints. That plan does not depend on the draws, so the
// number of plans that are looked at does not matter. Means are taken to be normally distributed.
// Source: docs/MODEL.md, "What proved means".
#ifndef RB_PLANNER_CERTIFICATE_H
#define RB_PLANNER_CERTIFICATE_H

#include "planner/search/search.h"

#define RB_PROOF_TOLERANCE 0.005
#define RB_PROOF_FEWEST 512 // with fewer runs a plan, which a time limit may ask for, nothing is proved
#define RB_PROOF_RISK      1e-3 // over everything that is sampled for a proof

// Looks at every plan of the space for one that is better than *io_best, a feasible plan, and puts it there. *out_bound: the
// proof, or how far it came. *io_cut: it ended at the node or time limit, or the search had ended before. min_cost only.
bool rb_certify(struct rb_search *search, struct rb_candidate *io_best, struct rb_plan_bound *out_bound,
                bool *io_cut, struct rb_err *err);

#endif
