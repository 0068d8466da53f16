// Tables of spot capacity (columns of `rbprofile import`), on a grid of minutes.
#ifndef RB_BENCH_SPOT_TABLE_H
#define RB_BENCH_SPOT_TABLE_H

#include "base/document/csv.h"
#include "profiles/fit/market_fit.h"

enum { MOST_ZONES = 9, MOST_SLOTS = 48 };

// One zone. Nodes lie on a stack of slots: slot j is up while the capacity exceeds j.
struct spot_zone {
    struct rb_capacity whole; // of the table
    int minutes, n_slots;
    int16_t *capacity; // [minutes]
    int32_t *since;    // [n_slots][minutes]: the minute in which the slot came up or went down
};

// Zones of a set in the order of `names`. The capacity is replaced by `times` where it is at least `least`, else by 0;
// least 0: it stays as it is.
void spot_zones_read(const struct rb_csv *csv, const char *set, const char *const *names, int least, int times,
                     struct rb_arena *arena, struct spot_zone *out);
// The market as its first minutes show it.
struct rb_spells spot_zone_fit(const struct spot_zone *zones, int n, int which, int minutes, struct rb_arena *arena);
void must(bool ok, const struct rb_err *err);

#endif
