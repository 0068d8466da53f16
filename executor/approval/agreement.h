// Does an approval speak of what is about to happen? And what it speaks of: the digest of a work directory.
#ifndef RB_EXECUTOR_APPROVAL_AGREEMENT_H
#define RB_EXECUTOR_APPROVAL_AGREEMENT_H

#include "executor/approval/approval.h"

#include <stdbool.h>

// What is about to be carried out. Borrowed.
struct rb_approval_facts {
    const char *plan_sha256, *job_sha256, *workdir_sha256; // workdir NULL: not known yet, not compared
    const char (*infra)[64];                               // [n_infra]
    int n_infra;
    const char *controller;                                // user@host
    int64_t now_us;                                        // Unix time
};

// DENIED with the number of what differs: APPROVAL_PLAN, _JOB, _WORKDIR, _PLACE, _TIME.
bool rb_approval_agrees(const struct rb_approval *a, const struct rb_approval_facts *facts, struct rb_err *err);

// Digest of what nodes get of a work directory: names, modes, links and contents of all files but those of .rbignore, of
// version control, and of `but` ([n_but], paths): plan and approval, which have their own digests. No times.
bool rb_workdir_digest(const char *workdir, const char *const *but, int n_but, char out_hex[65], struct rb_err *err);

#endif
