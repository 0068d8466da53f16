// Branch and bound over the lattice, with what excludes a beginning of a plan: a Lagrangian bound on its cost, the fastest
// remaining stages, and a dominating label. Until nothing is left, or a limit is reached.
#ifndef RB_PLANNER_PROOF_H
#define RB_PLANNER_PROOF_H

#include "planner/proof/exact.h"

bool rb_proof(struct rb_exact *x, struct rb_err *err);

#endif
