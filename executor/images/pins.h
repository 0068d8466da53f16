// Pins the container images of a plan before its first launch: every node of a run, today's and those of a resume, has the
// same one, whatever becomes of its tag.
#ifndef RB_EXECUTOR_PINS_H
#define RB_EXECUTOR_PINS_H

#include "engine/plan/plan.h"

// Replaces names in plan->containers, and in plan->images where they are the job's `image`, by REGISTRY/PATH@DIGEST. An image
// of this machine's own store (localhost/NAME) becomes its id, for infra local alone.
// Asks registries on a loop of its own; *out_any: was any replaced? Errors: IMAGE_*, with the infra before them.
bool rb_pin_images(struct rb_plan *plan, struct rb_arena *arena, bool *out_any, struct rb_err *err);
// The same for a job that is measured in one place: its images become that place's.
bool rb_pin_job(struct rb_job *job, const char *infra, struct rb_arena *arena, struct rb_err *err);

#endif
