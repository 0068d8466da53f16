// Advice is what a world forecasts when a policy asks for it (RB_ACTION_ADVISE): sizes for trials and for the pool. It
// arrives in an event, which is journalled like any other, so a replay needs no forecaster.
#ifndef RB_ENGINE_ADVICE_H
#define RB_ENGINE_ADVICE_H

#include "base/arena.h"
#include "base/document/doc.h"
#include "base/document/json.h"

struct rb_advised_trial {
    int trial;
    int gpus;                // 0: pause it
};

struct rb_advice {
    const struct rb_advised_trial *trials; // ascending trial ids, [n_trials]; others stay as they are
    int n_trials;
    int pool_nodes;          // nodes to own from now on; -1: as before
    bool admit;              // may new trials still be started?
};

// The forecaster; `out` and what it points to live in `arena`. false: no advice this time.
struct rb_engine;
typedef bool rb_adviser_fn(void *ctx, const struct rb_engine *e, struct rb_arena *arena, struct rb_advice *out);

void rb_advice_write(const struct rb_advice *advice, struct rb_json *j);
const struct rb_advice *rb_advice_copy(const struct rb_advice *advice, struct rb_arena *arena);
// The result is copied into `arena`.
bool rb_advice_read(const struct rb_node *node, struct rb_arena *arena, struct rb_advice *out, struct rb_err *err);

#endif
