// Where a sink of a job or of a command line delivers: addresses and paths, resolved. Relative paths of a job are relative to
// the job file, as all its paths are; without a path, files go into the run's own directory.
#ifndef RB_EXECUTOR_SINK_PLACE_H
#define RB_EXECUTOR_SINK_PLACE_H

#include "executor/journal/run_files.h"
#include "executor/sinks/sink.h"

// base: absolute, what relative paths are relative to. Everything is kept in the arena. Errors: SINK_URI.
bool rb_sink_place(const struct rb_sink_spec *spec, const struct rb_run_files *files, const char *base,
                   struct rb_arena *arena, struct rb_sink_target *out, struct rb_err *err);
// "http://127.0.0.1:5000, experiment digits", or a path: for people.
void rb_sink_target_name(const struct rb_sink_target *t, struct rb_buf *out);

// Before a run has a directory: can each of its job's sinks be carried out? job_path: "" if the job has no file; then paths
// are relative to the plan. f->workdir is known. Results in the work directory itself, which goes to every node, are refused;
// in a folder below it they are kept out of what is sent.
bool rb_sinks_check(const struct rb_run_files *f, const char *job_path, const char *plan_path, struct rb_err *err);
// The run's directory is there. If the job has sinks: keeps what relative paths are relative to, and what is not to be sent to
// nodes.
bool rb_sinks_keep_places(const struct rb_run_files *f, const char *job_path, const char *plan_path, struct rb_err *err);
// What it kept; of a job without sinks, which has no such paths, the work directory.
bool rb_sinks_base(const struct rb_run_files *f, struct rb_arena *arena, const char **out, struct rb_err *err);

#endif
