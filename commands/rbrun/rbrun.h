// Parts of rbrun: each subcommand takes its own command line and returns the exit code.
#ifndef RB_COMMANDS_RBRUN_H
#define RB_COMMANDS_RBRUN_H

#include "base/options.h"
#include "engine/plan/plan.h"
#include "executor/journal/journal.h"
#include "views/tables/text_table.h"

#define RB_RUN_COMMON_OPTIONS                                                                                  \
    {"state-dir", 0, RB_OPT_STRING, false, "DIR", "where runs live (default: the user's state directory)",     \
     0,           0},                                                                                          \
        {"db", 0, RB_OPT_STRING, false, "FILE", "profile store; accepted everywhere, rbrun needs none", 0, 0}, \
    {                                                                                                          \
        "json", 0, RB_OPT_FLAG, false, NULL, "print JSON", 0, 0                                                \
    }

// Parses argv, prints help or runs; prints the error if there is one. Returns the exit code: that of the
// error, else what run left in *out_code.
typedef bool rb_run_fn(const struct rb_args *args, int *out_code, struct rb_err *err);
int rb_run_carry_out(const struct rb_command *command, rb_run_fn *run, int argc, char **argv);
void rb_run_say_what_helps(struct rb_err *err); // of a journal that is damaged; rb_run_carry_out does

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
int rb_run_gc(int argc, char **argv);
int rb_run_doctor(int argc, char **argv);
int rb_run_explain(int argc, char **argv);

// A run's directory and the plan it carries out.
struct rb_run_files {
    char root[4096], run_id[128], dir[4352], journal[4400], workdir[4096];
    struct rb_arena arena;
    struct rb_plan plan;
    char plan_sha256[65]; // of the bytes of plan.json
};
// run NULL: the newest. Finish with rb_run_files_finish, also after a failure.
bool rb_run_files_open(struct rb_run_files *f, const struct rb_args *args, const char *run,
                       struct rb_err *err);
// The same; of several runs of the job named, the newest, and stderr says so. For what only reads.
bool rb_run_files_open_newest(struct rb_run_files *f, const struct rb_args *args, const char *run, struct rb_err *err);
void rb_run_files_finish(struct rb_run_files *f);
// plan.json into the arena: parsed, checked, with the digest of its bytes.
bool rb_run_read_plan(struct rb_run_files *f, const char *path, struct rb_err *err);

// What this machine can see of who is at work on a run or a measuring campaign. root: where runs are.
enum rb_run_hold {
    RB_RUN_NOT_HERE, // it has no directory here
    RB_RUN_AT_WORK,  // a process holds its lock
    RB_RUN_IDLE,     // none does
    RB_RUN_UNSURE,   // none is seen, but one might: see executor/journal/run_lock.h
};
enum rb_run_hold rb_run_hold(const char *root, const char *run_id);
bool rb_run_is_carried_out(const char *root, const char *run_id); // AT_WORK
// Pid of who holds the lock of the journal at that path; 0: no process does, -1: one that has no number here.
bool rb_run_holder(const char *journal, int *out_pid, struct rb_err *err);

struct rb_text_style rb_run_style(int fd);
bool rb_run_print(struct rb_buf *out, struct rb_err *err); // to stdout; empties
// The report of a run as a document; at_work: some process carries it on; pretty for files.
bool rb_run_report_json(struct rb_journal *j, const struct rb_plan *plan, bool at_work, bool pretty, struct rb_buf *out,
                        struct rb_err *err);
bool rb_run_report_print(struct rb_journal *j, const struct rb_plan *plan, bool at_work, bool json, struct rb_err *err);
bool rb_run_parse_trial(const char *text, int *out, struct rb_err *err); // its number
void rb_run_owner(char *out, size_t size); // user@host

// May machines be bought? Asks on a terminal; without one --yes is needed. what: "rents up to 6 x g5.xlarge".
bool rb_run_confirm(bool yes, const char *what, struct rb_err *err);

#endif
