// What rbplan needs to know before it plans, and where it found it: the job, its profile, and prices. The profile store
// is only read; what it lacks is looked for in files beside the job.
#ifndef RB_LIBRARY_PLAN_INPUTS_H
#define RB_LIBRARY_PLAN_INPUTS_H

#include "base/options.h"
#include "profiles/catalog/catalog.h"
#include "profiles/job/job.h"
#include "profiles/store/profile.h"

#define RB_PLAN_INPUTS_FILES 32 // price files beside one job

struct rb_import;

struct rb_plan_inputs {
    struct rb_arena arena;
    const char *job_path;     // as given; "-": stdin
    struct rb_job job;        // deadline_us filled where an instant was given
    struct rb_profile profile;
    struct rb_catalog catalog;
    struct rb_import *imports; // files read, alive as long as what was read from them
    int n_imports;
};

// The job alone, with the command line's overrides. Owns: finish *out with rb_plan_inputs_finish.
bool rb_plan_inputs_job(struct rb_plan_inputs *out, const struct rb_args *args, struct rb_err *err);
// The same, with overrides that come after those of the command line.
bool rb_plan_inputs_job_with(struct rb_plan_inputs *out, const struct rb_args *args, const char *const *more, int n_more,
                             struct rb_err *err);
// The job once more, with overrides that come after those of the command line; it lives as long as *in. Not of stdin.
bool rb_plan_inputs_job_again(struct rb_plan_inputs *in, const struct rb_args *args, const char *const *more, int n_more,
                              struct rb_job *out, struct rb_err *err);
// Then the profile and the prices; says on stderr which files were used.
bool rb_plan_inputs_find(struct rb_plan_inputs *in, const struct rb_args *args, struct rb_err *err);
void rb_plan_inputs_finish(struct rb_plan_inputs *in); // accepts a zeroed one

#endif
