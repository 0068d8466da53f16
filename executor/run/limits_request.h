// How limits are changed while a process executes the run: another process leaves a request in the run's directory, and
// the one that executes it answers beside it. Each looks at the other's file now and then, so neither waits for long,
// and a process that dies in between loses nothing: what was taken is in the journal.
#ifndef RB_EXECUTOR_LIMITS_REQUEST_H
#define RB_EXECUTOR_LIMITS_REQUEST_H

#include "executor/journal/run_files.h"

// Texts as they were typed, NULL: that limit stays.
struct rb_limits_request {
    const char *id; // the process that waits for the answer knows it by this
    const char *deadline, *budget;
};

struct rb_limits_answer {
    int64_t deadline_us, budget_uusd; // of the run from now on, -1: none
    bool replanned;                   // other nodes were found
    bool kept;                        // the limits are kept with the confidence asked, or nothing is known of it
    const char *text;                 // for people
};

// --- the process that asks

// Leaves the request, and waits for the answer, whose text lies in the arena. Errors: no process executes the run or it does not
// react, and what it refuses. The request is withdrawn where it was not taken.
bool rb_limits_ask(const struct rb_run_files *f, const char *deadline, const char *budget, struct rb_arena *arena,
                   struct rb_limits_answer *out, struct rb_err *err);

// --- the process that executes the run

// Forgets what was asked of a process before this one.
void rb_limits_forget(const char *run_dir);
// *out->id NULL: nothing was asked. Then it stays asked until it is taken.
bool rb_limits_asked(const char *run_dir, struct rb_arena *arena, struct rb_limits_request *out);
void rb_limits_take(const char *run_dir);
// why NULL: done. A failure to write is a warning here; the other process sees that the request was taken.
void rb_limits_answer(const char *run_dir, const char *id, const struct rb_limits_answer *answer, const struct rb_err *why);

#endif
