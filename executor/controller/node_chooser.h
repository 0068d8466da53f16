// Who decides, under resources.spot: safe, whether a node is a spot node: executor/run/spot_choice.h. Its answers are no
// events. What was chosen is the offer in the row of the launch, so neither a replay nor a controller that takes over
// asks again.
#ifndef RB_EXECUTOR_NODE_CHOOSER_H
#define RB_EXECUTOR_NODE_CHOOSER_H

#include "base/text/buf.h"
#include "engine/events/event.h"
#include "simulator/spot/guard.h"
#include "simulator/spot/market_chain.h"

struct rb_node_question {
    int64_t now_us, spent_uusd;            // of the run; spent, and what is reserved
    int64_t deadline_us, budget_uusd;      // as resumes have raised them; -1: none
    int count;                             // nodes that would be requested together
    enum rb_spot_mode mode;                // of the node that is there; idle: one is to be requested
    int held;                              // its market, on spot; else -1
    double unsaved_s;                      // training that its loss before the next question would destroy, at most
    double giving_way_s;                   // how long its trials train on before they leave it, at most
    const struct rb_market_state *markets; // the spot offers among the plan's fallbacks, in that order
    const double *lost_ago_s;              // likewise: since a node was lost there; INFINITY: none was
};

struct rb_node_chooser {
    void *ctx;
    void (*saw)(void *ctx, const struct rb_event *event); // every event of the run, before its orders are carried out
    // out_market and why, a clause for people, are set with every answer but RB_SPOT_IDLE, which is: ask again in
    // every_us. A node on demand goes back to spot if the answer is RB_SPOT_ON_SPOT, else it stays.
    enum rb_spot_mode (*choose)(void *ctx, const struct rb_node_question *q, int *out_market, struct rb_buf *why);
    int64_t every_us; // how often to ask about nodes that are there
    bool returns;     // nodes on demand may go back to spot: it is worth asking about them
};

#endif
