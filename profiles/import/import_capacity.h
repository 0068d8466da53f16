// Fits what a plan needs of a spot market to a capacity-csv (profiles/catalog/capacity.h): profiles/fit/market_fit.h.
#ifndef RB_PROFILES_IMPORT_CAPACITY_H
#define RB_PROFILES_IMPORT_CAPACITY_H

#include "base/document/csv.h"
#include "profiles/store/store.h"

// What a table does not say itself.
struct rb_capacity_options {
    const char *set;  // NULL: there is one
    double sampled_s; // between two looks at the market; 0: not given, which is an error
    bool has_together;
    double together;  // share of losses that take all nodes, for zones where one was asked for
};

// One market for each zone and type, in the table's order, in the arena. Errors: INVALID, with the line.
bool rb_markets_from_csv(const struct rb_csv *csv, const struct rb_capacity_options *o, struct rb_arena *arena,
                         const struct rb_spot_market **out, int *out_n, struct rb_err *err);

#endif
