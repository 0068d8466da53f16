// Parts of rbrun.
#ifndef RB_COMMANDS_RBRUN_H
#define RB_COMMANDS_RBRUN_H

#include "base/options.h"
#include "engine/plan/plan.h"
#include "executor/journal/journal.h"
#include "executor/journal/run_files.h"

#define RB_RUN_COMMON_OPTIONS                                                                                  \
    {"state-dir", 0, RB_OPT_STRING, false, "DIR", "where runs live (default: the user's state directory)",     \
     0,           0},                                                                                          \
        {"db", 0, RB_OPT_STRING, false, "FILE", "profile store, which gets what a run found (default: RB_DB, else the user's own)", 0, 0}, \
    {                                                                                                          \
        "json", 0, RB_OPT_FLAG, false, NULL, "print JSON", 0, 0                                                \
    }

#define RB_RUN_DETACH_OPTION                                                                                           \
    {"detach", 0, RB_OPT_FLAG, false, NULL, "go on without this terminal; returns once the run has begun", 0, 0}

#define RB_RUN_SERVE_OPTION                                                                                            \
    {"serve", 0, RB_OPT_STRING, false, "127.0.0.1:PORT", "show the run as a page; port 0: any; prints the address",   \
     0,       0}

const char *rb_run_state_dir(const struct rb_args *args); // --state-dir; NULL: the user's own

extern const struct rb_subcommand rb_run_subcommands[];
extern const struct rb_command rb_run_main; // rbrun plan.json, --dry-run included
extern const struct rb_command rb_run_pool; // rbrun --pool pool.yaml [JOB.yaml ...]
extern const struct rb_command rb_run_attach, rb_run_resume, rb_run_replan, rb_run_stop, rb_run_status, rb_run_list, rb_run_report, rb_run_replay,
    rb_run_logs, rb_run_fetch, rb_run_export, rb_run_notify, rb_run_move, rb_run_gc, rb_run_doctor, rb_run_explain, rb_run_browse, rb_run_compare;

bool rb_run_parse_trial(const char *text, int *out, struct rb_err *err); // the trial's number

// rbrun gc --expired: a watchdog, which goes by leases alone.
bool rb_run_gc_expired(const struct rb_args *args, struct rb_err *err);

// --detach: goes on with the run, whose journal exists and is closed, in a process of its own. Returns once it has begun;
// otherwise it has printed its error, and *args->out_code is its exit code. resumes: the limits of the options are new.
bool rb_run_detach(const struct rb_run_files *f, const struct rb_args *args, bool resumes, struct rb_err *err);

// May machines be rented? Asks on a terminal; elsewhere --yes is needed. what: "rents up to 6 x g5.xlarge".
bool rb_run_confirm(bool yes, const char *what, struct rb_err *err);

#endif
