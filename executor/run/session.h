// One controller at work: clouds, launcher, loop, signals, progress, and what is printed when it ends. Several sessions may
// share one loop: those of the jobs of a pool, beside the one that owns its nodes.
#ifndef RB_EXECUTOR_SESSION_H
#define RB_EXECUTOR_SESSION_H

#include "executor/approval/permit.h"
#include "executor/controller/controller.h"
#include "executor/journal/run_files.h"
#include "executor/run/progress.h"
#include "executor/transport/loop_uv.h"
#include "executor/transport/transport.h"

enum { RB_SESSION_HARD_LIMIT_MIN = 60 }; // until a node that never hears from us is to end itself

struct rb_session_options {
    bool go_on;  // a stopped run goes on
    bool end_it; // the run is stopped as soon as the controller has come back
    bool json;
    bool quiet;  // the report is saved, and the caller prints one of its own
    struct rb_permit *permit; // the approval that its first launch spends; NULL: it needs none
};

// How what goes on is shown. Every call may be NULL.
struct rb_run_show {
    void (*begin)(void *ctx, struct rb_loop_uv *uv); // the loop is about to run
    void (*wipe)(void *ctx);                         // before anything is written to stderr: a line that is redrawn goes
    // What happened and what was ordered. label: before each line, "" where there is one run alone.
    void (*event)(void *ctx, const char *label, const struct rb_plan *plan, const struct rb_event *event,
                  const struct rb_actions *actions);
    bool (*report)(void *ctx, struct rb_journal *journal, const struct rb_plan *plan, struct rb_err *err); // to stdout
    void *ctx;
};
void rb_run_show_wipe(const struct rb_run_show *show); // NULL is fine

// What a session on a shared loop gets from the caller, who handles signals, progress and the end of all of them.
struct rb_session_host {
    struct rb_loop_uv *uv;
    const char *label;          // before each line; NULL: none
    const char *resume_as;      // the run that `rbrun resume` goes on with; NULL: this one
    // Nodes that are lent, not bought: the only provider, taken over, and what makes a launcher reach them. ops NULL: the
    // clouds that the plan names.
    struct rb_provider lender;
    const struct rb_transport *transport; // how the lent nodes are reached
    bool (*reach)(void *ctx, struct rb_launcher *over_nodes, struct rb_launcher **out, struct rb_err *err);
    void (*observe)(void *ctx, const struct rb_event *event); // after every turn
    void (*finished)(void *ctx);                              // the run is over; close the session later, from outside
    void *ctx;
};

// Its parts: begun, then its loop is run until it has finished, then closed. files, journal, options and show outlive it.
// host NULL: loop and signals are its own. Close saves and prints the report where the session has finished; *out_code:
// RB_CODE_OK, _FAILED, _STOPPED or _INTERRUPTED; other ends are errors.
struct rb_session;
bool rb_session_begin(struct rb_run_files *files, struct rb_journal *journal, const struct rb_session_options *options,
                      const struct rb_run_show *show, const struct rb_session_host *host, struct rb_session **out,
                      struct rb_err *err);
void rb_session_run(struct rb_session *s); // one without a host, until its end
bool rb_session_close(struct rb_session *s, int *out_code, struct rb_err *err); // frees it, also on failure
struct rb_controller *rb_session_controller(struct rb_session *s);
const struct rb_transport *rb_session_transport(const struct rb_session *s); // how its nodes are reached
void rb_session_foresee(struct rb_session *s); // a few milliseconds for how it will end; about twice a second
void rb_session_progress(struct rb_session *s, struct rb_progress *out); // where the run stands now

#endif
