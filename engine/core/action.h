// Lists every action that the engine may order from its world. Each action is final and carries its reason.
#ifndef RB_ENGINE_ACTION_H
#define RB_ENGINE_ACTION_H

#include "engine/core/batching.h"
#include "engine/core/placement.h"

#include <stdint.h>

enum rb_action_kind {
    RB_ACTION_PROVISION,   // node, attempt, offer, stage, ordinal: request one node
    RB_ACTION_TERMINATE,   // node: release it now (or withdraw its request)
    RB_ACTION_START_TRIAL, // trial, attempt, stage, position, resource_start, resource_end, slots
    RB_ACTION_KILL_TRIAL,  // trial, attempt: end its processes on every node; no TRIAL_ENDED is expected
    RB_ACTION_YIELD_TRIAL, // trial, attempt: let it checkpoint and give way; TRIAL_ENDED then has YIELDED, or an earlier end
    RB_ACTION_WAKE,        // at_us: send RB_EVENT_TIME then
    RB_ACTION_ADVISE,      // stage: the policy wants a forecast; answer with RB_EVENT_FORECAST or never
    RB_ACTION_SUGGEST,     // trial, stage, resource_end: where it is first compared. It has its GPUs and needs a configuration;
                           // answer with RB_EVENT_SUGGESTED, and RB_ACTION_START_TRIAL follows
    RB_ACTION_DONE,        // the job is over; RB_ACTION_TERMINATE was sent for every node before
};

struct rb_action {
    enum rb_action_kind kind;
    int node, offer, ordinal;      // ordinal within its request; with (stage, attempt) the key of its draws
    int trial, attempt, stage;
    int position;                  // k: ascending trial id among the stage's trials; key of its draws
    int64_t resource_start, resource_end;
    int gpus;                      // of the trial, over all its slots
    struct rb_trial_batch with;    // START_TRIAL
    int sharers;                   // trials that may sit on its GPU, itself included; 1: it has the GPU to itself
    const struct rb_slot *slots;   // valid until the next step; [n_slots]
    int n_slots;
    int64_t at_us;
    const char *reason;            // static text: "the stage needs more nodes of this offer than are owned"
};

// A list the caller owns and reuses; rb_engine_step clears it first.
struct rb_actions {
    struct rb_action *items;
    int n, cap;
    struct rb_slot *slots;
    int n_slots, slots_cap;
};

void rb_actions_finish(struct rb_actions *a); // zero-initialised is valid
const char *rb_action_kind_name(enum rb_action_kind kind);

#endif
