// Computes what a run has cost so far and what it must still cost, with the one billing function.
#ifndef RB_EXECUTOR_SPEND_H
#define RB_EXECUTOR_SPEND_H

#include "engine/plan/plan.h"
#include "executor/journal/journal.h"
#include "profiles/catalog/billing.h"

// How the nodes of an offer are billed under the plan's job. PRICE: the job asks for a disk whose price is
// unknown.
bool rb_spend_billing(const struct rb_plan *plan, int offer, struct rb_billing *out, struct rb_err *err);

// The present by two clocks: the host's wall clock, which may be wrong or jump, and the run's own, which only advances.
struct rb_spend_now {
    int64_t unix_us;
    int64_t run_us; // since the start of the run, like the other times of a row
};

// The instant on the cloud's clock at which the launch would end if it were ended now. The wall clock is believed only
// within what the run's clock allows: the node began to run after its request, and before it was first seen running.
int64_t rb_spend_end_unix_us(const struct rb_launch_row *row, const struct rb_spend_now *now);

// The billing with the prices of the launch's market over time, where they are known.
struct rb_billing rb_spend_priced(const struct rb_billing *billing, const struct rb_launch_row *row);

// Bill of a launch if it were terminated now; final once terminated_unix_us is known. Not running yet: 0.
struct rb_bill rb_spend_bill(const struct rb_billing *billing, const struct rb_launch_row *row,
                             const struct rb_spend_now *now);

// The amount that the launch may still add if it is ended now: the grace, the minimum, and the whole time since the
// request where it is unknown whether it was launched.
int64_t rb_spend_reserved_uusd(const struct rb_billing *billing, const struct rb_launch_row *row,
                               int64_t started_unix_us, const struct rb_spend_now *now);

#endif
