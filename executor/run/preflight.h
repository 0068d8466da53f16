// Asks the clouds, before anything is bought, whether they would let us launch and end what the plan needs.
#ifndef RB_EXECUTOR_PREFLIGHT_H
#define RB_EXECUTOR_PREFLIGHT_H

#include "base/buf.h"
#include "executor/journal/run_files.h"

// Called once per machine that a stage or a fallback of the plan wants: infra without zone, instance type. err NULL:
// it may be launched and ended. image: what will be booted, NULL: the cloud's default. stands_in: no stage names it, it is
// only asked for when what a stage names is sold out.
typedef void rb_run_preflight_fn(void *ctx, const char *infra, const char *instance_type, bool stands_in,
                                 const struct rb_err *err, const char *image);

// False: a cloud cannot be spoken to at all (credentials, endpoint). Images that are named by a parameter are looked up
// and replaced, in the plan, by what it stands for now, region by region; *out_pinned says whether any was.
bool rb_run_preflight(struct rb_plan *plan, struct rb_arena *arena, rb_run_preflight_fn *fn, void *ctx,
                      bool *out_pinned, struct rb_err *err);

// The same for a run that is about to begin: refuses where a stage could not be launched, warns where only a fallback could
// not. out_pinned: plan.json as the run keeps it, where images were replaced; else it stays empty.
bool rb_run_preflight_files(struct rb_run_files *f, struct rb_buf *out_pinned, struct rb_err *err);

#endif
