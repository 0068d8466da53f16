// What a run has had of the nodes it was lent, from its journal alone.
#ifndef RB_EXECUTOR_LENT_USE_H
#define RB_EXECUTOR_LENT_USE_H

#include "engine/core/engine.h"
#include "executor/journal/journal.h"

struct rb_lent_use {
    double gpu_s;        // lent to it, at work or not
    int64_t executed_us; // with at least one GPU
    int changes;         // times it was lent other GPUs than before, the first included
};

int rb_lent_gpus(const struct rb_engine *e); // that it may use now
bool rb_lent_use(struct rb_journal *j, const struct rb_plan *plan, struct rb_lent_use *out, struct rb_err *err);

#endif
