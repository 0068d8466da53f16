// Checks whether the journal is whole: it has a row for every launch that may have been sent.
#ifndef RB_EXECUTOR_JOURNAL_SENT_H
#define RB_EXECUTOR_JOURNAL_SENT_H

#include "executor/journal/journal.h"

// Launches from the run's launch log.
struct rb_sent_launches {
    char (*ids)[40]; // [n]
    int n;
};
bool rb_sent_launches_read(const char *run_dir, struct rb_sent_launches *out, struct rb_err *err);
void rb_sent_launches_finish(struct rb_sent_launches *sent);
// DAMAGED: the journal lacks some of them.
bool rb_sent_launches_check(struct rb_sent_launches *sent, struct rb_journal *j, const char *path, struct rb_err *err);

#endif
