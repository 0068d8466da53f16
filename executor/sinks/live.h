// Live sinks: for each sink of the job, rbrun starts itself once more (`rbrun export RUN --follow --to NAME`), with low
// priority and its output in the run's sinks.log. The child reads the journal as any reader does. It may hang or die, and its
// server may be away: the run does not notice, and says at its end what is missing.
#ifndef RB_EXECUTOR_SINKS_LIVE_H
#define RB_EXECUTOR_SINKS_LIVE_H

#include "executor/journal/run_files.h"

struct rb_sinks_live;

// The run's journal is there and locked. f outlives it. NULL: the job has no sinks. What cannot be started is a warning.
struct rb_sinks_live *rb_sinks_live_begin(const struct rb_run_files *f);
// The run is over: lets the children send the rest, for 30 s at most, and warns of what is missing. left: the user does not
// wait for anything any more; the children send the rest by themselves. NULL is fine.
void rb_sinks_live_end(struct rb_sinks_live *s, bool left);

#endif
