// A run's use of the nodes that were lent to it, from its journal alone.
#ifndef RB_EXECUTOR_LENT_USE_H
#define RB_EXECUTOR_LENT_USE_H

#include "engine/core/engine.h"
#include "executor/journal/journal.h"

struct rb_lent_use {
    double gpu_s;        // lent to it, busy or idle
    int64_t executed_us; // with at least one GPU
    int changes;         // times its set of lent GPUs changed, the first loan included
};

int rb_lent_gpus(const struct rb_engine *e); // GPUs that it may use now
bool rb_lent_use(struct rb_journal *j, const struct rb_plan *plan, struct rb_lent_use *out, struct rb_err *err);

#endif
