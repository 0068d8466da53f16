// Asks the clouds, before anything is launched, whether we may launch and end what the plan needs.
#ifndef RB_EXECUTOR_PREFLIGHT_H
#define RB_EXECUTOR_PREFLIGHT_H

#include "base/text/buf.h"
#include "executor/journal/run_files.h"

// Called once for each machine that a stage or a fallback of the plan names: infra without zone, instance type. err
// NULL: it may be launched and ended. image: the image to boot, NULL: the cloud's default. stands_in: no stage names
// it; it is requested only when a stage's own machine is sold out.
typedef void rb_run_preflight_fn(void *ctx, const char *infra, const char *instance_type, bool stands_in,
                                 const struct rb_err *err, const char *image);

// False: a cloud cannot be reached at all (credentials, endpoint). An image that is named by a parameter is looked up,
// and replaced in the plan by the image it refers to now, region by region; *out_pinned reports whether any was.
bool rb_run_preflight(struct rb_plan *plan, struct rb_arena *arena, rb_run_preflight_fn *fn, void *ctx,
                      bool *out_pinned, struct rb_err *err);

// The same for a run that is about to begin: fails where a stage could not be launched, and warns where only a fallback
// could not. out_pinned: plan.json as the run keeps it, where images were replaced; otherwise it stays empty.
bool rb_run_preflight_files(struct rb_run_files *f, struct rb_buf *out_pinned, struct rb_err *err);

#endif
