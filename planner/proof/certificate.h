// Proves that a plan is the cheapest. A column is a set of runs of a single stage, in the same worlds for every choice.
// Columns exclude all other plans of the space, or the plans they do not exclude are listed. With a risk of at most
// RB_PROOF_RISK:
//     no plan of the space that keeps the constraints with a probability of at least confidence + RB_DECIDED
//     costs less than (1 - RB_PROOF_TOLERANCE) times the plan that is proved.
//
// Plans are excluded by: (1) a theorem: nodes are billed for the work done on them; (2) a Lagrangian bound: mean costs
// relative to the proved plan's, less their possible error, summed along shortest paths with a price on time; (3) the
// share of worlds in which a partial plan can still be in time if every later stage takes its minimum in that world.
// The remaining plans are run as a whole, and compared and decided run by run.
// Columns never cost more or take longer than the stage does within a plan: late nodes and bills of less than a minute
// only make plans more expensive.
// The risk is the risk of excluding the cheapest plan that keeps the constraints. That plan does not depend on the
// draws, so the number of plans examined does not matter. Means are assumed to be normally distributed.
// Source: docs/MODEL.md, "What proved means".
#ifndef RB_PLANNER_CERTIFICATE_H
#define RB_PLANNER_CERTIFICATE_H

#include "planner/search/search.h"

#define RB_PROOF_TOLERANCE 0.005
#define RB_PROOF_FEWEST 512 // with fewer runs per plan, which a time limit may require, nothing is proved
#define RB_PROOF_RISK      1e-3 // over all samples drawn for a proof

// Examines every plan of the space. If one is better than *io_best, a feasible plan, it replaces it. *out_bound: the
// proof, or the bound reached. *io_cut: the node or time limit was reached here or in the search before. min_cost only.
bool rb_certify(struct rb_search *search, struct rb_candidate *io_best, struct rb_plan_bound *out_bound,
                bool *io_cut, struct rb_err *err);

#endif
