// Finds the inputs of planning: the job, its profile, and prices. The profile store is only read; what it lacks is
// searched in files beside the job.
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
    struct rb_job job;        // deadline_us is filled in if an instant was given
    struct rb_profile profile;
    struct rb_catalog catalog;
    struct rb_import *imports; // files read, alive as long as their contents
    int n_imports;
};

// Where to search for profile and prices; NULL: in the user's store, then in files beside the job, then the job's guess. A guess
// from a measured profile needs it from there; and where no GPU on offer was measured, the job's guess becomes one.
struct rb_input_sources {
    const char *db, *prices, *profile_file;
    bool guess; // the job's guess, whatever was measured
};

// This machine's slots and their kind, as in providers/provider.h: called if a job may run on this machine.
typedef int rb_local_slots_fn(bool of_cpus, const char **out_accelerator);

// Owns: finish with rb_plan_inputs_finish, also after a failure. job_path is borrowed; "-": stdin.
void rb_plan_inputs_init(struct rb_plan_inputs *in, const char *job_path);
// Reads only the job; overrides: "key=value", as in --set, the last wins.
bool rb_plan_inputs_job(struct rb_plan_inputs *in, const char *const *overrides, int n, struct rb_err *err);
// Reads the job again with other overrides; it lives as long as *in. Not from stdin.
bool rb_plan_inputs_job_again(struct rb_plan_inputs *in, const char *const *overrides, int n, struct rb_job *out,
                              struct rb_err *err);
// Then finds the profile and the prices; reports on stderr which files were used.
bool rb_plan_inputs_find(struct rb_plan_inputs *in, const struct rb_input_sources *from,
                         rb_local_slots_fn *local_slots, struct rb_err *err);
// Warns on stderr if the profile was measured with another command, other parameters or other scripts than the job's.
void rb_plan_inputs_warn_stale(struct rb_plan_inputs *in, rb_digest_fn *digest);
void rb_plan_inputs_finish(struct rb_plan_inputs *in); // accepts a zeroed one

// The job's work directory, relative to the job file; job_path NULL: to the current directory.
void rb_inputs_workdir(const struct rb_job *job, const char *job_path, struct rb_buf *out);
// Prices from the store only; none if there is no store yet. db NULL: the user's own.
bool rb_stored_prices(const char *db, struct rb_arena *arena, struct rb_catalog *out, struct rb_err *err);

#endif
