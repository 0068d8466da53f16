// Steps a fresh engine through a journal's events: does it give the orders that were recorded?
#ifndef RB_EXECUTOR_REPLAY_H
#define RB_EXECUTOR_REPLAY_H

#include "engine/core/engine.h"
#include "executor/journal/journal.h"

struct rb_replay {
    int n_events, n_orders;
    int n_missing; // orders that are not in the journal; each was reported on stderr
    int n_open;    // launches without an end
    enum rb_job_outcome outcome;
    enum rb_stop_reason reason; // of STOPPED
};

bool rb_replay_journal(struct rb_journal *journal, const struct rb_plan *plan, struct rb_replay *out,
                       struct rb_err *err);

#endif
