// Tables of spot markets over time: how many of the nodes that were asked for were up, zone by zone. One table is fitted
// (profiles/fit/market_fit.h), replayed by the mock cloud and by the virtual world.
//   set,kind,zone,instance_type,start_min,capacity[,usd_per_hour]
// From minute start_min of its set on, `capacity` nodes were up, and one cost usd_per_hour; the last row of a zone has the
// capacity `end`, and no price.
#ifndef RB_PROFILES_CAPACITY_H
#define RB_PROFILES_CAPACITY_H

#include "base/document/csv.h"
#include "profiles/catalog/catalog.h"

struct rb_capacity_step {
    int64_t at_us;
    int up;                // nodes, from then on
    int64_t uusd_per_hour; // of one, likewise; 0: not known, and then of no step of the market
};

// One zone and instance type.
struct rb_capacity {
    const char *zone, *region, *instance_type;
    const struct rb_capacity_step *steps; // [n_steps], ascending, at least one
    int n_steps;
    int64_t end_us;                       // of what was seen
    const char *infra;                    // "aws/us-east-1/us-east-1a"
};

struct rb_capacity_table {
    const struct rb_capacity *markets; // [n], in the table's order
    int n;
};

extern const char *const rb_capacity_columns[]; // ends with NULL

// set: NULL where there is one. Everything is copied into the arena. Errors: INVALID, with the line.
bool rb_capacity_from_csv(const struct rb_csv *csv, const char *set, struct rb_arena *arena,
                          struct rb_capacity_table *out, struct rb_err *err);

// The market of a spot offer in one zone; mock/REGION is another name of aws/REGION. NULL: the table has none.
const struct rb_capacity *rb_capacity_find(const struct rb_capacity_table *t, const struct rb_offer *offer);

// How many are up at an instant; -1: before the first step. The last step holds for ever.
int rb_capacity_at(const struct rb_capacity_step *steps, int n, int64_t at_us);
// Is the price of every step known?
bool rb_capacity_has_prices(const struct rb_capacity_step *steps, int n);
// The first change after an instant; INT64_MAX: none.
int64_t rb_capacity_next_us(const struct rb_capacity_step *steps, int n, int64_t after_us);

// From the notice that a spot machine is taken back until it is: two minutes on EC2, thirty seconds on Compute Engine.
int64_t rb_spot_notice_us(const char *infra);

#endif
