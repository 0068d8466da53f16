// Delivers a run to a sink: all that there is, or along with the run until it is over.
#ifndef RB_EXECUTOR_EXPORT_H
#define RB_EXECUTOR_EXPORT_H

#include "executor/journal/run_files.h"
#include "executor/sinks/sink.h"

struct rb_export {
    const struct rb_run_files *files;
    struct rb_sink_target target;
    // For a follower: was it asked to end? The rest is sent first. NULL: never.
    bool (*ended)(void *ctx);
    void *ctx;
};

// A server that is away or busy is asked again for some seconds. *out_events: delivered. Errors: the sink's; SINK_TAKEN.
bool rb_export_once(const struct rb_export *e, int64_t *out_events, struct rb_err *err);
// Follows the run until no process executes it; what there is then is delivered or given up. Waits for the process that sends
// to the sink already. What goes wrong in between is written into the sink's cursor, and tried again.
bool rb_export_follow(const struct rb_export *e, struct rb_err *err);

#endif
