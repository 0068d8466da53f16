// Inside the journal only. journal.c: opening and writing; journal_read.c: reading; journal_sent.c: is it whole?
// outbox.c: notices that are to be sent; handover.c: on which host the run goes on
#ifndef RB_EXECUTOR_JOURNAL_PRIVATE_H
#define RB_EXECUTOR_JOURNAL_PRIVATE_H

#include "executor/journal/journal.h"

#include <sqlite3.h>

struct rb_journal {
    sqlite3 *db;
    int lock_fd; // -1: a reader
    bool in_transaction;
    bool relaxed; // does not wait for the disk
    bool dead; // a write failed: nothing more will be written
    int64_t n_writes;
    int64_t last_write; // rb_journal_die; 0: never
    enum rb_journal_death death;
};

// Names of states, in order of their enums.
extern const char *const rb_journal_launch_states[], *const rb_journal_task_states[];

// Writes one row, or changes some: a transaction of its own unless between begin and commit. types: 'i' an int64_t, 't'
// a text, in order of the statement's parameters.
bool rb_journal_write_row(struct rb_journal *j, struct rb_err *err, const char *sql, const char *types, ...);

// Tables that only some runs have are made by the first that writes there.
bool rb_journal_has_table(struct rb_journal *j, const char *name, bool *out, struct rb_err *err);

// Error with sqlite's message; nothing is written after it. Returns false.
bool rb_journal_sql_error(struct rb_journal *j, struct rb_err *err);
// Error that says what is wrong with the journal, and where (detail; "": nothing to add). Returns false.
bool rb_journal_damaged(const char *path, const char *what, const char *detail, struct rb_err *err);

#endif
