// Is a plan the cheapest? Columns of runs of single stages, the same worlds for every choice, exclude all other plans of the
// space or name the ones that they do not. With a risk of at most RB_PROOF_RISK:
//     no plan of the space that keeps the constraints with a probability of at least confidence + RB_DECIDED
//     costs less than (1 - RB_PROOF_TOLERANCE) times the plan that is proved.
//
// What excludes: (1) a theorem: nodes are billed for the work that is done on them; (2) mean costs, each less what it may be
// off by beside the plan's own, summed along shortest paths, with a price on time (a Lagrangian bound); (3) the share of worlds in
// which a beginning of a plan can still be in time when every later stage takes its least in that world. What is left is
// played as a whole, and compared and decided run by run.
// Columns never cost more or take longer than the stage does within a plan: nodes that come late, and bills of less than a minute,
// only make plans more expensive.
// Source: docs/MODEL.md, "What proved means".
#ifndef RB_PLANNER_CERTIFICATE_H
#define RB_PLANNER_CERTIFICATE_H

#include "planner/search/search.h"

#define RB_PROOF_TOLERANCE 0.005
#define RB_PROOF_FEWEST 512 // with fewer runs a plan, which a time limit may ask for, nothing is proved
#define RB_PROOF_RISK      1e-3 // over everything that is sampled for a proof

// Looks at every plan of the space for one that is better than *io_best, a feasible plan, and takes it in its place where there
// is one. *out_bound: the proof, or how far it came. *io_cut: it ended at the node or time limit, or
// the search had ended before. min_cost only.
bool rb_certify(struct rb_search *search, struct rb_candidate *io_best, struct rb_plan_bound *out_bound,
                bool *io_cut, struct rb_err *err);

#endif
