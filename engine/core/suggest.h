// Who answers the engine when it needs the configuration of a new trial (RB_ACTION_SUGGEST): a sampler of ours or another
// program. The answer is an event, journalled like any other, so that a replay needs neither.
#ifndef RB_ENGINE_SUGGEST_H
#define RB_ENGINE_SUGGEST_H

#include "base/arena.h"
#include "engine/core/action.h"
#include "engine/events/event.h"

struct rb_engine;

struct rb_suggester {
    void *ctx;
    // Sees every event of the run with the engine's orders, in order, after the engine's step; also those of a journal that
    // is replayed.
    void (*saw)(void *ctx, const struct rb_engine *e, const struct rb_event *event, const struct rb_actions *actions);
    // The configuration of `trial`, which will first be compared at `resource`. Fills in `out` as an RB_EVENT_SUGGESTED
    // without its time; what it points to lives in `arena`. false: the answer comes later (an executor's only).
    bool (*suggest)(void *ctx, const struct rb_engine *e, int trial, int64_t resource, struct rb_arena *arena,
                    struct rb_event *out);
};

#endif
