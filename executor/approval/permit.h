// What an approval permits a run to do: to begin once, and to cost no more than its amount, however often it is resumed.
#ifndef RB_EXECUTOR_APPROVAL_PERMIT_H
#define RB_EXECUTOR_APPROVAL_PERMIT_H

#include "executor/approval/approval.h"
#include "executor/journal/run_files.h"

struct rb_permit {
    bool given;                  // false: the run has none and needs none
    struct rb_approval approval;
    const char *run_id;          // borrowed from the run's files, once it has some
    bool spent;
};

// Before anything is made: the approval at that path is signed, unspent, and agrees with the plan that f holds and with the
// directories around plan_path. path NULL: there is none, which is an error where the job demands one (APPROVAL_REQUIRED).
bool rb_permit_check(const struct rb_run_files *f, const char *plan_path, const char *path, struct rb_permit *out,
                     struct rb_err *err);
// When the run has its directory: packs what nodes will get, compares that with what was approved, and keeps the approval
// there as approval.json.
bool rb_permit_keep(const struct rb_run_files *f, const char *plan_path, const char *path, struct rb_permit *permit,
                    struct rb_err *err);
// That of a run that goes on. It is neither checked nor spent a second time.
bool rb_permit_of_run(const struct rb_run_files *f, struct rb_journal *journal, struct rb_permit *out,
                      struct rb_err *err);
// Within the transaction of the first launch: spends the nonce, here and in the journal. Later calls do nothing.
bool rb_permit_spend(struct rb_permit *permit, struct rb_journal *journal, int64_t now_us, struct rb_err *err);
// The most that the run may cost: what was approved; -1: no one has said.
int64_t rb_permit_most_uusd(const struct rb_permit *permit);

#endif
