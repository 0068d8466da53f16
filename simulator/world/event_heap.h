// The event queue of a simulated run, with a fixed order of simultaneous events (same microsecond). The virtual world
// and the evaluator share this order: it is part of the stage model, because it decides which trial gets which GPUs.
#ifndef RB_SIMULATOR_EVENT_HEAP_H
#define RB_SIMULATOR_EVENT_HEAP_H

#include <stdbool.h>
#include <stdint.h>

// Events in the same microsecond happen in this order. So a node that starts to run at a barrier is billed before it is
// released, an early request due at a barrier is made, and a trial's progress from the last microsecond of its node or
// its deadline is kept.
enum rb_sim_order {
    RB_SIM_MARKET,       // a table of capacity changes; index: the offer
    RB_SIM_NODE_RUNNING, // or refused
    RB_SIM_NODE_REFUSED, // the engine learns of it: after a pause
    RB_SIM_NODE_READY,
    RB_SIM_WAKE,
    RB_SIM_REPORT,
    RB_SIM_TRIAL_SAVED,
    RB_SIM_TRIAL_ENDED,
    RB_SIM_SUGGESTED,    // requested at this very instant
    RB_SIM_FORECAST,     // requested at this very instant
    RB_SIM_NODE_LOST,
    RB_SIM_STOP,
};

#define RB_SIM_TAKEN (-1)

struct rb_sim_event {
    int64_t time_us;
    enum rb_sim_order order;
    int index;           // node number, or position of the trial in its stage; lower first
    int attempt, stage;  // identifies stale events: those of an earlier attempt or stage
    bool refused;        // RB_SIM_NODE_RUNNING: the request was refused
    int strike;          // RB_SIM_NODE_LOST: of the node's clock (simulator/model/draws.h); RB_SIM_TAKEN: taken with others
};

struct rb_event_heap {
    struct rb_sim_event *items;
    int n, cap;
};

void rb_event_heap_finish(struct rb_event_heap *h);
void rb_event_heap_push(struct rb_event_heap *h, const struct rb_sim_event *event);
// Removes the first event. h must not be empty.
struct rb_sim_event rb_event_heap_pop(struct rb_event_heap *h);

#endif
