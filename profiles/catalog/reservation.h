// Capacity that is already paid for: instances of one type in one zone that the account has reserved. The planner takes
// a reservation as an offer of its own market, with as many nodes and as much time as it has; nothing here reserves or
// buys anything.
//   closing  All nodes must be gone when it closes: at its end, or half an hour earlier for a Capacity Block of EC2,
//            which then begins to end its instances. A node that stayed in another reservation would be billed on
//            demand from then on. Their trials are asked to save `notice` before.
// Sources: "Capacity Reservations" and "Capacity Blocks for ML" in the EC2 user guide, "Reservations of Compute Engine
// zonal resources" in the documentation of Compute Engine.
#ifndef RB_PROFILES_RESERVATION_H
#define RB_PROFILES_RESERVATION_H

#include "base/document/doc.h"
#include "base/document/json.h"
#include "profiles/catalog/catalog.h"

#define RB_RESERVATIONS_MAX          64 // of one job
#define RB_RESERVATION_BLOCK_ENDS_US (30 * 60 * RB_US_PER_S)
#define RB_RESERVATION_NOTICE_US     (5 * 60 * RB_US_PER_S) // where the job names none

struct rb_reservation {
    const char *infra;         // with its zone: "aws/us-east-1/us-east-1a"
    const char *instance_type;
    const char *id;            // EC2: "cr-..."; Compute Engine: its name, or projects/P/reservations/NAME
    int count;                 // instances, at most
    bool is_block;             // a Capacity Block of EC2: requested on a market of its own
    int64_t starts_at_us, ends_at_us; // unix; -1: it has begun, it has no end
    int64_t notice_us;
    int64_t uusd_per_hour;     // of a node; 0: it is paid for, whether or not it is used
    // From the start of a run, as rb_reservation_settle says. closes_us -1: never.
    int64_t opens_us, closes_us;
};

// Reads the list; texts are copied into `arena`. Until they are settled, those with a start or an end are closed. Writes
// what it reads, in full.
bool rb_reservations_read(const struct rb_node *list, struct rb_arena *arena, struct rb_reservation **out, int *out_n,
                          struct rb_err *err);
void rb_reservations_write(const struct rb_reservation *all, int n, struct rb_json *j);

// Sets opens_us and closes_us for a run that starts at this instant.
void rb_reservation_settle(struct rb_reservation *r, int64_t start_unix_us);
// The last instant at which a node of it can be requested, and at which those that it has are given notice; INT64_MAX:
// none.
int64_t rb_reservation_notice_at_us(const struct rb_reservation *r);
bool rb_reservation_is_open(const struct rb_reservation *r, int64_t run_us);
// Is the offer's capacity there only for a part of a run?
bool rb_offer_closes(const struct rb_offer *o);
int rb_offer_most_nodes(const struct rb_offer *o, int max_nodes); // of at most max_nodes, those that the offer has

// An offer of it, of a machine like `like`.
struct rb_offer rb_reservation_offer(struct rb_reservation *r, const struct rb_offer *like);

#endif
