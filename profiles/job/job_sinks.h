// Reads and writes `sinks:` of job.yaml: where a run's results go besides its own directory.
#ifndef RB_PROFILES_JOB_SINKS_H
#define RB_PROFILES_JOB_SINKS_H

#include "profiles/job/job.h"

// The word of the job file and of `rbrun export --to`, by enum rb_sink_kind; ends with NULL.
extern const char *const rb_sink_names[];

// node NULL: no sinks. Each kind at most once.
bool rb_sinks_read(const struct rb_node *node, struct rb_arena *arena, struct rb_sink_list *out, struct rb_err *err);
void rb_sinks_write(const struct rb_sink_list *sinks, struct rb_json *j);

// Is this an address that a sink may send to: http or https, a host, and neither a password nor a query? What it expects
// goes into *err.
bool rb_sink_check_uri(const char *uri, struct rb_err *err);

#endif
