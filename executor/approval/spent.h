// The nonces that this user has spent: an approval is good for one run. One file a nonce, which names its run, in
// $XDG_STATE_HOME/rubberband/approvals (~/.local/state/...), wherever the run itself is kept.
#ifndef RB_EXECUTOR_APPROVAL_SPENT_H
#define RB_EXECUTOR_APPROVAL_SPENT_H

#include "base/errors/err.h"

#include <stdbool.h>

// Spends a nonce for a run; nothing happens if that run has spent it before. APPROVAL_SPENT: another run has. On disk when it
// returns.
bool rb_approval_spend(const char *nonce, const char *run_id, struct rb_err *err);
// APPROVAL_SPENT: some run has spent it.
bool rb_approval_is_unspent(const char *nonce, struct rb_err *err);

#endif
