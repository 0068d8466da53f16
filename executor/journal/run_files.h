// The files of a run: where they are, its plan, and which process executes it.
#ifndef RB_EXECUTOR_RUN_FILES_H
#define RB_EXECUTOR_RUN_FILES_H

#include "base/arena.h"
#include "engine/plan/plan.h"
#include "executor/journal/journal.h"

// A run's directory and its plan.
struct rb_run_files {
    char root[4096], run_id[128], dir[4352], journal[4400], workdir[4096];
    struct rb_arena arena;
    struct rb_plan plan;
    char plan_sha256[65]; // of the bytes of plan.json
};
// state_dir NULL: the user's own. run NULL: the newest. Finish with rb_run_files_finish, also after a failure.
bool rb_run_files_open(struct rb_run_files *f, const char *state_dir, const char *run,
                       struct rb_err *err);
// The same, but takes the newest of several runs of the named job, and reports that on stderr. For commands that only
// read.
bool rb_run_files_open_newest(struct rb_run_files *f, const char *state_dir, const char *run, struct rb_err *err);
// A run of a list, by its whole id below root, and its journal for reading. *out stays NULL on failure.
bool rb_run_files_open_listed(struct rb_run_files *f, const char *root, const char *run_id, struct rb_journal **out,
                              struct rb_err *err);
void rb_run_files_finish(struct rb_run_files *f);
// plan.json into the arena: parsed, checked, with the digest of its bytes.
bool rb_run_read_plan(struct rb_run_files *f, const char *path, struct rb_err *err);

// A new run below root: its directory, with plan.json of these bytes and f->workdir. Fills root, dir and journal, and run_id
// unless it is set.
bool rb_run_files_create(struct rb_run_files *f, const char *root, const char *name, const char *plan, size_t n_plan,
                         struct rb_err *err);
// Creates its journal, which begins now and belongs to this user; the plan's reservations are those of such a run. -1: no deadline, no budget.
bool rb_run_files_begin(const struct rb_run_files *f, int64_t deadline_us, int64_t budget_uusd, struct rb_journal **out,
                        struct rb_err *err);

// Whether a process executes a run or a measuring campaign, as far as this machine can see. root: where runs are.
enum rb_run_hold {
    RB_RUN_NOT_HERE, // it has no directory here
    RB_RUN_AT_WORK,  // a process holds its lock
    RB_RUN_IDLE,     // no process does
    RB_RUN_UNSURE,   // none is seen, but one might: see executor/journal/run_lock.h; or it has moved to another host
};
enum rb_run_hold rb_run_hold(const char *root, const char *run_id);
bool rb_run_is_carried_out(const char *root, const char *run_id); // AT_WORK
// Pid of the process that holds the lock of the journal at that path; 0: no process does, -1: one that has no number
// here.
bool rb_run_holder(const char *journal, int *out_pid, struct rb_err *err);

void rb_run_say_what_helps(struct rb_err *err); // adds the next step to the error of a damaged journal
void rb_run_owner(char *out, size_t size); // user@host, as in the tag of an instance's owner

#endif
