// Computes what a node costs. Simulator, planner bounds, executor and the mock cloud's ledger all call this one function.
// Source: EC2 and GCP per-second billing, 60 s minimum, from running to termination accepted.
#ifndef RB_PROFILES_BILLING_H
#define RB_PROFILES_BILLING_H

#include "base/text/units.h"

#define RB_BILLING_MINIMUM_US (60 * RB_US_PER_S)

struct rb_capacity_step;

// A price that changes while nodes run: each second of a node costs what the market asks at its beginning. (Clouds bill
// spot machines at the price in effect, to the second.) Before the first step the billing's own rate holds, and the last
// step's price for ever.
struct rb_price_path {
    const struct rb_capacity_step *steps; // [n], all with a price (profiles/catalog/capacity.h); NULL: the rate never changes
    int n;
    int64_t ahead_us;                     // of the clock of a node's instants: at_us = instant + ahead_us
};

struct rb_billing {
    struct rb_rate rate;        // machine
    struct rb_price_path prices; // bills at known instants follow it; what is said without instants is at `rate`
    struct rb_rate disk_rate;   // per GB; 0 if no disk
    int64_t disk_gb;
    int64_t data_uusd;          // data read once by every new node: bytes x price, already rounded up
    int64_t release_s;          // the machine outlives its node by this, and is billed (an autoscaler's); 0: it does not
};

struct rb_bill {
    int64_t machine_uusd;   // rate x billed seconds, or the sum over prices, rounded up once to the micro-dollar
    int64_t disk_uusd;      // likewise, one line item
    int64_t data_uusd;
    int64_t minimum_uusd;   // part of machine_uusd that is only due to the 60 s minimum
    int64_t billed_s;
    int64_t total_uusd;     // machine + disk + data + tail
    int64_t tail_uusd;      // rate x release_s, rounded up, one line item
};

// Lifetime from running_us (end of the queueing delay) to terminated_us. running_us < 0 or terminated before it ran:
// all zero. Overflow: assert.
struct rb_bill rb_bill_node(const struct rb_billing *b, int64_t running_us, int64_t terminated_us);

// A node cannot be stopped at once. It is billed until the provider accepts the request to end it, and a hard budget reserves
// money for that time.
#define RB_BILLING_GRACE_US (10 * RB_US_PER_S)
// Machine and disk of one node, at its rate.
int64_t rb_bill_uusd_per_hour(const struct rb_billing *b);
// The same at an instant, by the clock of a node's instants.
int64_t rb_bill_uusd_per_hour_at(const struct rb_billing *b, int64_t at_us);
// What every node costs beside its time: data and tail.
int64_t rb_bill_uusd_per_node(const struct rb_billing *b);
// The least cost of a node with this billing once it runs, at its rate.
int64_t rb_bill_least_uusd(const struct rb_billing *b);
// The least total cost of a node if its end is decided now. rbrun, the simulator and forecasts compare it with a hard
// budget. running_us < 0: requested, and not running yet.
int64_t rb_bill_bound_uusd(const struct rb_billing *b, int64_t running_us, int64_t now_us);

// data_bytes x price per GB (10^9 bytes), rounded up.
int64_t rb_bill_data_uusd(int64_t data_bytes, int64_t uusd_per_gb);

#endif
