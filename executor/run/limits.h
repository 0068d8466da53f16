// Deadline and budget of a run: what is left of them when it begins, and how a resume changes them.
#ifndef RB_EXECUTOR_LIMITS_H
#define RB_EXECUTOR_LIMITS_H

#include "engine/plan/plan.h"
#include "executor/away/machine.h"
#include "executor/journal/journal.h"

// Computes deadline and budget of this run. deadline: a duration or an instant as text, NULL: the plan's; an instant
// becomes the time that is left until then. budget_uusd: the amount that the plan must fit into, -1: none; max_uusd:
// the amount at which the run stops, whether or not the plan is likely to fit, -1: none. INFEASIBLE: the plan no longer
// fits them with its confidence. machine: the controller's, NULL: none; what it may cost is taken off both (MACHINE_BUDGET).
bool rb_run_limits(const struct rb_plan *plan, const char *deadline, int64_t budget_uusd, int64_t max_uusd,
                   const struct rb_machine *machine, int64_t *out_deadline_us, int64_t *out_budget_uusd, struct rb_err *err);

// "+1h" adds to what the run had (to now, where the deadline has passed), "1h" replaces it; NULL: stays as it is. approved_uusd:
// what the budget must not exceed (APPROVAL_COST), -1: nothing.
bool rb_run_raise_limits(struct rb_journal *journal, const char *deadline, const char *budget, int64_t approved_uusd,
                         struct rb_err *err);

// The same for limits that the caller keeps: changes both, or none. now_us: since the start of the run.
bool rb_run_change_limits(const char *deadline, const char *budget, int64_t now_us, int64_t approved_uusd,
                          int64_t *deadline_us, int64_t *budget_uusd, struct rb_err *err);

#endif
