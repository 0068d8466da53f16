// What is requested for a node of the plan when its own offer is sold out: which offers, in which order, and after which
// pauses. One law for the executor and the virtual world. The plan, its stages and the engine keep the plan's offer;
// bills use the offer of the actual launch.
#ifndef RB_ENGINE_STAND_IN_H
#define RB_ENGINE_STAND_IN_H

#include "engine/plan/plan.h"

// The k-th offer to request for a node of `offer`. 0 is that offer itself; then come those of the plan's fallback list
// with the same accelerator and GPUs: the same machine type elsewhere or on the other market, then other types, each in
// the order of the list. -1: there are no more. Nodes over which one trial is spread keep the type and place of their
// placement group: only the other market can stand in for them.
int rb_stand_in(const struct rb_plan *plan, int offer, int k);

// A reservation outside its window is sold out, and is not asked. An offer that was sold out is the last choice of all
// nodes for this long. A node that found every offer sold out
// pauses (base/backoff.h: rb_backoff_jittered_us of its earlier pauses), and then only later refusals count for it.
#define RB_SOLD_OUT_US (180 * RB_US_PER_S)

// What one node knows of the market.
struct rb_on_sale {
    const struct rb_plan *plan;
    int64_t now_us, paused_us;                     // of the run; its last pause began then, -1: it had none
    int64_t (*sold_out_us)(void *ctx, int offer);  // last refusal of the offer, of any node; -1: none
    // May it be requested at all? k as in rb_stand_in. Asked only of offers that would be chosen.
    bool (*may_ask)(void *ctx, int offer, int k);
    void *ctx;
};

bool rb_offer_is_sold_out(const struct rb_on_sale *m, int offer);
// The first offer that is not sold out, -1: all are.
int rb_offer_on_sale(const struct rb_on_sale *m, int offer);
// The offer to request now: the first on sale, else the one with the oldest refusal.
int rb_offer_to_ask(const struct rb_on_sale *m, int offer);
// A pause of a node of `offer`, for which nothing is on sale: at least until its reservation opens.
int64_t rb_pause_until_open_us(const struct rb_on_sale *m, int offer, int64_t pause_us);

#endif
