// Parts of rbrun: each subcommand takes its own command line and returns the exit code.
#ifndef RB_COMMANDS_RBRUN_H
#define RB_COMMANDS_RBRUN_H

#include "base/options.h"
#include "engine/plan/plan.h"
#include "executor/journal/journal.h"
#include "executor/journal/run_files.h"

#define RB_RUN_COMMON_OPTIONS                                                                                  \
    {"state-dir", 0, RB_OPT_STRING, false, "DIR", "where runs live (default: the user's state directory)",     \
     0,           0},                                                                                          \
        {"db", 0, RB_OPT_STRING, false, "FILE", "profile store; accepted everywhere, rbrun needs none", 0, 0}, \
    {                                                                                                          \
        "json", 0, RB_OPT_FLAG, false, NULL, "print JSON", 0, 0                                                \
    }

#define RB_RUN_SERVE_OPTION                                                                                            \
    {"serve", 0, RB_OPT_STRING, false, "127.0.0.1:PORT", "show the run as a page; port 0: any; prints the address",   \
     0,       0}

// Parses argv, prints help or runs; prints the error if there is one. Returns the exit code: the error's, or what run
// left in *out_code.
typedef bool rb_run_fn(const struct rb_args *args, int *out_code, struct rb_err *err);
int rb_run_carry_out(const struct rb_command *command, rb_run_fn *run, int argc, char **argv);

const char *rb_run_state_dir(const struct rb_args *args); // --state-dir; NULL: the user's own

extern const struct rb_subcommand rb_run_subcommands[];
int rb_run_main(int argc, char **argv); // rbrun plan.json, --dry-run included
int rb_run_resume(int argc, char **argv);
int rb_run_stop(int argc, char **argv);
int rb_run_status(int argc, char **argv);
int rb_run_list(int argc, char **argv);
int rb_run_report(int argc, char **argv);
int rb_run_replay(int argc, char **argv);
int rb_run_logs(int argc, char **argv);
int rb_run_fetch(int argc, char **argv);
int rb_run_export(int argc, char **argv);
int rb_run_browse(int argc, char **argv);
int rb_run_compare(int argc, char **argv);
int rb_run_gc(int argc, char **argv);
int rb_run_doctor(int argc, char **argv);
int rb_run_explain(int argc, char **argv);

bool rb_run_parse_trial(const char *text, int *out, struct rb_err *err); // the trial's number

// May machines be rented? Asks on a terminal; elsewhere --yes is needed. what: "rents up to 6 x g5.xlarge".
bool rb_run_confirm(bool yes, const char *what, struct rb_err *err);

#endif
