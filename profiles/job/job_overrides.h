// Puts values from the command line (--set scheduler.eta=4) into a parsed job before it is read.
#ifndef RB_PROFILES_JOB_OVERRIDES_H
#define RB_PROFILES_JOB_OVERRIDES_H

#include "base/arena.h"
#include "base/document/doc.h"

// Copies the tree into `arena` with every "path=value" applied in order; the value is YAML, an empty one is null.
// Missing maps on the way are created. Nodes from an override carry "--set path" as their file, so that errors name the
// flag; those of "--deadline=2h", a flag named like its key, carry "--deadline". n = 0: *out is root itself.
bool rb_job_override(const struct rb_node *root, const char *const *overrides, int n, struct rb_arena *arena,
                     const struct rb_node **out, struct rb_err *err);

#endif
