// What must be known before planning, and where it was found: the job, its profile, and prices. The profile store
// is only read; what it lacks is looked for in files beside the job.
#ifndef RB_PROFILES_PLAN_INPUTS_H
#define RB_PROFILES_PLAN_INPUTS_H

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

// Where profile and prices are looked for; NULL: in the user's store, then in files beside the job, then the job's guess.
struct rb_input_sources {
    const char *db, *prices, *profile_file;
    bool guess; // the job's guess, whatever was measured
};

// This machine's slots and what they are, as providers/provider.h has them: called where a job may run on this machine.
typedef int rb_local_slots_fn(const char **out_accelerator);

// Owns: finish with rb_plan_inputs_finish, also after a failure. job_path is borrowed; "-": stdin.
void rb_plan_inputs_init(struct rb_plan_inputs *in, const char *job_path);
// The job alone; overrides: "key=value", as --set has them, the last wins.
bool rb_plan_inputs_job(struct rb_plan_inputs *in, const char *const *overrides, int n, struct rb_err *err);
// The job again with other overrides; it lives as long as *in. Not of stdin.
bool rb_plan_inputs_job_again(struct rb_plan_inputs *in, const char *const *overrides, int n, struct rb_job *out,
                              struct rb_err *err);
// Then the profile and the prices; says on stderr which files were used.
bool rb_plan_inputs_find(struct rb_plan_inputs *in, const struct rb_input_sources *from,
                         rb_local_slots_fn *local_slots, struct rb_err *err);
// Was the profile measured of another command, other parameters or other scripts than the job has now? A warning on stderr.
void rb_plan_inputs_warn_stale(struct rb_plan_inputs *in, rb_digest_fn *digest);
void rb_plan_inputs_finish(struct rb_plan_inputs *in); // accepts a zeroed one

// The job's work directory, which is relative to the job file; job_path NULL: to the current directory.
void rb_inputs_workdir(const struct rb_job *job, const char *job_path, struct rb_buf *out);
// Prices of the store alone; where there is no store yet, there are none. db NULL: the user's own.
bool rb_stored_prices(const char *db, struct rb_arena *arena, struct rb_catalog *out, struct rb_err *err);

#endif
