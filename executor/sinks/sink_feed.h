// Turns the journal of a run into the stream of facts that sinks take. The stream is a function of the journal's events alone:
// read again, live or years later, it is the same, and it only ever grows.
#ifndef RB_EXECUTOR_SINK_FEED_H
#define RB_EXECUTOR_SINK_FEED_H

#include "executor/journal/run_files.h"
#include "executor/sinks/sink.h"

struct rb_sink_feed;

// files outlives the feed. foresees: rb_sink_feed_now says how the run will end. Reads the journal as any other reader
// does: the run is never kept waiting.
bool rb_sink_feed_open(const struct rb_run_files *files, bool foresees, struct rb_sink_feed **out, struct rb_err *err);
void rb_sink_feed_close(struct rb_sink_feed *f); // NULL is fine
const struct rb_sink_run *rb_sink_feed_run(const struct rb_sink_feed *f);

// Plays what is new in the journal to the sink; *out_any: was there anything?
bool rb_sink_feed_play(struct rb_sink_feed *f, const struct rb_sink_ops *ops, void *sink, bool *out_any,
                       struct rb_err *err);
int64_t rb_sink_feed_events(const struct rb_sink_feed *f); // number of the last event that was played
// The report as of now, which the arena keeps; at_work: some process carries the run on.
bool rb_sink_feed_now(struct rb_sink_feed *f, bool at_work, struct rb_arena *arena, struct rb_sink_now *out,
                      struct rb_err *err);

#endif
