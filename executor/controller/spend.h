// What a run has cost so far and what it must still cost, through the one billing function.
#ifndef RB_EXECUTOR_SPEND_H
#define RB_EXECUTOR_SPEND_H

#include "engine/plan/plan.h"
#include "executor/journal/journal.h"
#include "profiles/catalog/billing.h"

// How the nodes of an offer are billed under the plan's job. PRICE: the job asks for a disk whose price is
// unknown.
bool rb_spend_billing(const struct rb_plan *plan, int offer, struct rb_billing *out, struct rb_err *err);

// The present, twice: by the host's wall clock, which may be wrong or jump, and by the run's own, which only advances.
struct rb_spend_now {
    int64_t unix_us;
    int64_t run_us; // since the start of the run, as the other times of a row
};

// The instant at which the launch would end, on the cloud's clock, were it to end now. The wall clock is believed as far as
// the run's clock allows: the node began to run after its request, and before it was first seen to.
int64_t rb_spend_end_unix_us(const struct rb_launch_row *row, const struct rb_spend_now *now);

// Bill of a launch if it were terminated now; final once terminated_unix_us is known. Not running yet: 0.
struct rb_bill rb_spend_bill(const struct rb_billing *billing, const struct rb_launch_row *row,
                             const struct rb_spend_now *now);

// What the launch may still add if it is ended now: the grace, the minimum, and the whole time since the request where it is
// unknown whether it was launched.
int64_t rb_spend_reserved_uusd(const struct rb_billing *billing, const struct rb_launch_row *row,
                               int64_t started_unix_us, const struct rb_spend_now *now);

#endif
