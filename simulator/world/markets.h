// The spot markets of one run in virtual time: which offer a node's request goes to, whether it is granted, and what a
// market takes back. A market has memory where its profile has `spells`, where a table replays it, or where it is a
// reservation that opens or closes; requests for
// nodes that the plan has there follow the executor's law (engine/plan/stand_in.h). All others are as they were:
// refused by chance (capacity_failure), repeated at once.
//   spells   While nodes of the run are up there, the market is up. A loss of all (rb_draw_strike) begins a spell down;
//            a node that leaves otherwise, as the last one, begins the rest of a spell up. Without nodes the market
//            alternates. At the run's beginning its state is stationary. A request ends with its queueing delay,
//            granted if the market is up then.
//   table    A request is granted at once or refused at once, by capacity > nodes held. A fall takes the youngest nodes,
//            after the notice of their cloud. Nodes are not lost otherwise.
//   reservation  As a table of its own: its count from when it opens until its notice, and then nothing.
// Source: alternating renewal process; its stationary law: Cox, "Renewal Theory", 1962, chapters 5 and 7.
#ifndef RB_SIMULATOR_MARKETS_H
#define RB_SIMULATOR_MARKETS_H

#include "profiles/catalog/capacity.h"
#include "simulator/model/scenario.h"

// A table of capacity whose from_us is the run's beginning.
struct rb_market_replay {
    const struct rb_capacity_table *table;
    int64_t from_us;
};

// Bills of the scenario's spot nodes follow the table's prices, where it has them, by a run's own clock. replay NULL: no table.
void rb_markets_price(struct rb_scenario *io, const struct rb_market_replay *replay);

struct rb_markets;

// Borrows everything. NULL: no offer has a market with memory. replay NULL: no table. begin_us: the instant at which
// markets are stationary. destroy(NULL) is a no-op.
struct rb_markets *rb_markets_create(const struct rb_scenario *s, const struct rb_plan *plan,
                                     const struct rb_market_replay *replay, uint32_t replicate, int64_t begin_us);
void rb_markets_destroy(struct rb_markets *m);

// A request of a node, with the key of its draws (draws.h).
struct rb_node_request {
    int node, offer, stage, ordinal, attempt;
};
// Returns the offer to request now; may_ask as in rb_on_sale, for stand-ins that the scenario can use.
int rb_markets_ask(struct rb_markets *m, const struct rb_node_request *r, int64_t now_us,
                   bool (*may_ask)(void *ctx, int offer), void *ctx);
// Is it refused at once? Else a table's market has one node more.
bool rb_markets_refuses_now(struct rb_markets *m, int node, int64_t now_us);
// Is it refused at the end of its queueing delay? Else a market with spells has one node more.
bool rb_markets_refuses(struct rb_markets *m, int node, int64_t now_us);
// Returns when the engine learns of the refusal: at once if another offer is on sale, else after a pause.
int64_t rb_markets_refused(struct rb_markets *m, const struct rb_node_request *r, int64_t now_us,
                           bool (*may_ask)(void *ctx, int offer), void *ctx);

// The offer of a node's last request.
int rb_markets_offer(const struct rb_markets *m, int node);
// Are nodes of the offer lost by a table alone?
bool rb_markets_is_replayed(const struct rb_markets *m, int offer);
// It runs already: of a run in progress.
void rb_markets_hold(struct rb_markets *m, int node, int offer);
// A node has ended, or its request was withdrawn. No-op for a node that no market holds.
void rb_markets_left(struct rb_markets *m, int node, int64_t now_us);
// A loss takes all nodes of the offer: its market goes down.
void rb_markets_down(struct rb_markets *m, int offer, int64_t now_us);

// The table's next change for the offer after an instant; INT64_MAX: none.
int64_t rb_markets_next_change_us(const struct rb_markets *m, int offer, int64_t after_us);
// The offer's capacity has changed: calls `take` for each node that a fall takes, with the time of its loss.
void rb_markets_change(struct rb_markets *m, int offer, int64_t now_us,
                       void (*take)(void *ctx, int node, int64_t at_us), void *ctx);
// Has a table that was asked ended?
bool rb_markets_table_is_over(const struct rb_markets *m, int64_t now_us);

#endif
