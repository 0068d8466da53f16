// A spot market with memory: how long it gives nodes and how long it gives none, how soon a node is taken back at
// which age, and how many go at once. Part of rb-profile/1, in place of a constant rate of preemption. Fitted from a
// table of capacity by profiles/fit/market_fit.h. Immutable after reading; lists lie in the arena.
#ifndef RB_PROFILES_SPELLS_H
#define RB_PROFILES_SPELLS_H

#include "base/document/doc.h"
#include "base/document/json.h"
#include "profiles/fit/dist.h"
#include "profiles/fit/hazard.h"

// A node lost every minute never finishes anything.
#define RB_MAX_PREEMPTIONS 60.0 // an hour

// What a node cost over the time in which the market gave nodes, in micro-dollars an hour: the mean over that time, and
// the prices that 5 % of it was below and above. How long a price holds is not kept: a run's own mean lies in this range
// as surely as any instant's price does.
struct rb_price_range {
    int64_t mean_uusd, p5_uusd, p95_uusd; // mean 0: not known
};

struct rb_spells {
    double sampled_s, days;      // of the table: shorter spells are not in it
    struct rb_dist up_s, down_s; // complete spells with at least one node, and with none
    double together;             // share of losses that take all nodes of the market that are up
    double region_factor;        // how many times as often as usual a node is lost within half an hour of a loss in
                                 // another zone of the region; < 0: unknown
    struct rb_hazard hazard;     // of one node, by its age
    struct rb_price_range price;
};

bool rb_spells_read(const struct rb_node *node, struct rb_arena *arena, struct rb_spells *out, struct rb_err *err);
void rb_spells_write(const struct rb_spells *s, struct rb_json *j);

#endif
