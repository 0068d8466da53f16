// One controller at work: clouds, launcher, loop, signals, progress, and what is printed at the end. Several sessions
// may share one loop: those of a pool's jobs, and the one that owns its nodes.
#ifndef RB_EXECUTOR_SESSION_H
#define RB_EXECUTOR_SESSION_H

#include "executor/approval/permit.h"
#include "executor/controller/controller.h"
#include "executor/journal/run_files.h"
#include "executor/run/progress.h"
#include "executor/transport/loop_uv.h"
#include "executor/transport/transport.h"

struct rb_session_options {
    bool go_on;  // resumes a stopped run
    bool end_it; // stops the run as soon as the controller has recovered
    bool json;
    bool detached; // rb_detached_begun is called when it has begun (executor/away/detach.h)
    bool quiet;  // the report is saved, and the caller prints its own
    const char *store;        // profile store that gets the results; NULL: RB_DB, else the user's own
    struct rb_permit *permit; // the approval that its first launch spends; NULL: it needs none
};

// How progress is shown. Every call may be NULL.
struct rb_run_show {
    void (*begin)(void *ctx, struct rb_loop_uv *uv); // the loop is about to run
    // Before anything is written to stderr: erases a line that is redrawn.
    void (*wipe)(void *ctx);
    // Shows an event and its actions. label: printed before each line, "" if there is only one run.
    void (*event)(void *ctx, const char *label, const struct rb_plan *plan, const struct rb_event *event,
                  const struct rb_actions *actions);
    bool (*report)(void *ctx, struct rb_journal *journal, const struct rb_plan *plan, struct rb_err *err); // to stdout
    void *ctx;
};
void rb_run_show_wipe(const struct rb_run_show *show); // NULL is fine

// What a session on a shared loop gets from its caller, which handles signals, progress and the end of all sessions.
struct rb_session_host {
    struct rb_loop_uv *uv;
    const char *label;          // before each line; NULL: none
    const char *resume_as;      // the run that `rbrun resume` resumes; NULL: this one
    // Lent nodes: the only provider, which is taken over, and the function that finds the machine behind one. ops NULL:
    // the clouds that the plan names.
    struct rb_provider lender;
    const struct rb_transport *transport; // how the lent nodes are reached
    void (*find_machine)(void *ctx, struct rb_launch_node *node);
    void (*observe)(void *ctx, const struct rb_event *event); // after every turn
    void (*finished)(void *ctx);                              // the run is over; close the session later, from outside
    void *ctx;
};

// Begin it, run its loop until it has finished, then close it. files, journal, options and show outlive it. host NULL:
// it has its own loop and signals. Close saves and prints the report if the session has finished; *out_code:
// RB_CODE_OK, _FAILED, _STOPPED or _INTERRUPTED; other ends are errors.
struct rb_session;
bool rb_session_begin(struct rb_run_files *files, struct rb_journal *journal, const struct rb_session_options *options,
                      const struct rb_run_show *show, const struct rb_session_host *host, struct rb_session **out,
                      struct rb_err *err);
void rb_session_run(struct rb_session *s); // without a host: until its end
bool rb_session_close(struct rb_session *s, int *out_code, struct rb_err *err); // frees it, also on failure
struct rb_controller *rb_session_controller(struct rb_session *s);
// How its nodes are reached; NULL: in different ways.
const struct rb_transport *rb_session_transport(const struct rb_session *s);
// Spends a few milliseconds on its prediction, and says if the run leaves its plan. It does so every second by itself; for
// a line that shows the prediction, call it about twice a second.
void rb_session_foresee(struct rb_session *s);
void rb_session_progress(struct rb_session *s, struct rb_progress *out); // where the run stands now

#endif
