// One controller at work: clouds, launcher, loop, signals, progress, and what is printed when it ends. Several sessions may
// share one loop: those of the jobs of a pool, beside the one that owns its nodes.
#ifndef RB_EXECUTOR_SESSION_H
#define RB_EXECUTOR_SESSION_H

#include "commands/rbrun/rbrun.h"
#include "executor/controller/controller.h"
#include "views/live/progress.h"

enum { RB_SESSION_HARD_LIMIT_MIN = 60 }; // until a node that never hears from us is to end itself

struct rb_session_options {
    bool go_on;  // a stopped run goes on
    bool end_it; // the run is stopped as soon as the controller has come back
    bool json;
    bool quiet;  // the report is saved, and printed by somebody else
};

struct rb_run_line;

// What a session on a shared loop is given by whoever runs them all: signals, progress and the end are theirs.
struct rb_session_host {
    struct rb_loop_uv *uv;
    const char *label;          // before each line; NULL: none
    struct rb_run_line *line;   // wiped before anything is said, and events are not; NULL: they are told one by one
    const char *resume_as;      // the run that `rbrun resume` goes on with; NULL: this one
    // Nodes that are lent, not bought: the only provider, taken over, and what makes a launcher reach them. ops NULL: the
    // clouds that the plan names.
    struct rb_provider lender;
    bool on_this_machine;       // the lent nodes are; else ssh reaches them
    bool (*reach)(void *ctx, struct rb_launcher *over_nodes, struct rb_launcher **out, struct rb_err *err);
    void (*observe)(void *ctx, const struct rb_event *event); // after every turn
    void (*finished)(void *ctx);                              // the run is over; close the session later, from outside
    void *ctx;
};

// Its parts: begun, then its loop is run until it has finished, then closed. files, journal and options outlive it. Close
// saves and prints the report where the session has finished, and sets *out_code as below.
struct rb_session;
bool rb_session_begin(struct rb_run_files *files, struct rb_journal *journal, const struct rb_session_options *options,
                      const struct rb_session_host *host, struct rb_session **out, struct rb_err *err);
bool rb_session_close(struct rb_session *s, int *out_code, struct rb_err *err); // frees it, also on failure
struct rb_controller *rb_session_controller(struct rb_session *s);
void rb_session_foresee(struct rb_session *s); // a few milliseconds for how it will end; about twice a second
void rb_session_progress(struct rb_session *s, struct rb_progress *out); // where the run stands now

// Takes the open journal. *out_code: RB_CODE_OK, _FAILED, _STOPPED or _INTERRUPTED; other ends are errors.
bool rb_session_carry_out(struct rb_run_files *files, struct rb_journal *journal,
                          const struct rb_session_options *options, int *out_code, struct rb_err *err);

// Infras of a plan: "aws/us-east-1" without zones, each once. Returns how many were written, at most `max`.
int rb_session_infras(const struct rb_plan *plan, char out[][64], int max);
// Is nothing of this infra bought for real money: this machine, or a cloud on loopback?
bool rb_session_is_harmless(const char *infra);

#endif
