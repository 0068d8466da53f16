// The outbox: notices about a run that are to be delivered to its hooks (executor/notify). A notice is written in the
// transaction of what it reports, so neither exists without the other; a delivery is open until it is settled, so a
// notice may arrive twice and is never lost. The tables are made when a job with hooks is first opened for writing;
// programs that do not know them leave them out of account.
#ifndef RB_EXECUTOR_OUTBOX_H
#define RB_EXECUTOR_OUTBOX_H

#include "executor/journal/journal.h"

enum rb_delivery {
    RB_DELIVERY_WAITING,
    RB_DELIVERY_DONE,
    RB_DELIVERY_GIVEN_UP, // failed for too long
    RB_DELIVERY_REFUSED,  // the hook wants no further notice
};

struct rb_outbox_notice {
    int64_t seq;         // from 1
    const char *kind;
    int64_t unix_us;     // when it was written
    int64_t due_unix_us; // not sent before: it may still be replaced
    int64_t count;       // of what it reports
    const char *body;    // a whole JSON document
};

bool rb_outbox_prepare(struct rb_journal *j, struct rb_err *err); // makes the tables where there are none
// Number of the next notice.
bool rb_outbox_next_seq(struct rb_journal *j, int64_t *out, struct rb_err *err);
// Writes the notice and its open deliveries, or changes count and body of one that is not due. hooks: bits, those that get it.
bool rb_outbox_put(struct rb_journal *j, const struct rb_outbox_notice *n, unsigned hooks, struct rb_err *err);
// The latest notice of this kind that follows number `after`; out->seq 0: none.
bool rb_outbox_latest(struct rb_journal *j, const char *kind, int64_t after, struct rb_arena *arena,
                      struct rb_outbox_notice *out, struct rb_err *err);
// The first open notice of a hook among those that are due at `unix_us`. None is due: out->seq is 0, and out->due_unix_us
// the earliest time at which one is, -1: there is none.
bool rb_outbox_first_open(struct rb_journal *j, int hook, int64_t unix_us, struct rb_arena *arena,
                          struct rb_outbox_notice *out, struct rb_err *err);
// seq 0: all open ones of the hook.
bool rb_outbox_settle(struct rb_journal *j, int hook, int64_t seq, enum rb_delivery how, struct rb_err *err);
// Has the hook refused further notices?
bool rb_outbox_is_refused(struct rb_journal *j, int hook, bool *out, struct rb_err *err);
bool rb_outbox_make_due(struct rb_journal *j, int64_t unix_us, struct rb_err *err); // all that are not
// Number of open deliveries. A journal without the tables has none.
bool rb_outbox_count_open(struct rb_journal *j, int *out, struct rb_err *err);

#endif
