// A pool being carried out: the run that owns the nodes, the runs of its jobs, and what they share.
//   rbrun_pool.c         the commands: what is asked for, and what is printed
//   rbrun_pool_run.c     from the first node to the last end
//   rbrun_pool_files.c   runs on disk, and pool.json
//   rbrun_pool_progress.c where it stands, for the line on a terminal
//   rbrun_pool_plan.c    plans of the nodes and of the jobs
//   rbrun_pool_following.c the same from outside, from what stands on disk
//   rbrun_pool_serve.c   pages, while it goes on
//   rbrun_pool_report.c  rb-pool-report/1
#ifndef RB_EXECUTOR_POOL_RUN_H
#define RB_EXECUTOR_POOL_RUN_H

#include "library/plan_inputs.h"
#include "views/run/run_line.h"
#include "executor/run/session.h"
#include "executor/pool/arbiter.h"
#include "executor/transport/loop_uv.h"
#include "profiles/job/pool_file.h"
#include "views/live/pool_progress.h"

struct rb_pool_member;

#define RB_POOL_OF_RUN "pool" // file in the directory of a job's run: the id of the run that owns its nodes

// Where profiles and prices of its jobs are looked for; NULL: where rbplan would look.
struct rb_pool_sources {
    const char *db, *prices, *profile_file;
};

struct rb_pool_run {
    struct rb_arena arena;
    struct rb_pool_sources sources;
    struct rb_pool_file file;
    struct rb_loop_uv *uv;
    const struct rb_loop *loop;
    struct rb_session_options options; // of all its runs
    bool json;                         // the report; events are told as text
    struct rb_run_line line;           // where it stands, on a terminal; write NULL: none, events are told one by one
    int foreseen;                      // whose end was worked at last
    struct rb_run_files files; // of the run that owns the nodes
    struct rb_journal *journal;
    struct rb_session *session;
    struct rb_lender *lender;
    struct rb_arbiter *arbiter;
    struct rb_pool_member *members; // [n]
    int n;
    bool on_this_machine; // the nodes are
    bool owner_over, ending, left;
    int interrupts;
    struct rb_err failure; // of a member that could not even begin
};

// A job of it.
struct rb_pool_member {
    struct rb_pool_run *pool;
    const struct rb_pool_job *spec;
    struct rb_plan_inputs inputs;
    struct rb_run_files files;
    struct rb_journal *journal; // NULL: it has not arrived
    struct rb_provider lent; // as the session has it
    struct rb_session *session;
    char label[64];
    int number; // the arbiter's
    uint64_t timer;
    bool over;
};

// rbrun_pool_run.c: runs that have a journal go on, others begin when they arrive. Until all is over, or `left`.
bool rb_pool_run_carry_out(struct rb_pool_run *p, struct rb_err *err);
// Ends the sessions and frees everything. *out_code: as of the worst of the jobs; stays where it is higher.
bool rb_pool_run_close(struct rb_pool_run *p, int *out_code, struct rb_err *err);

// rbrun_pool_progress.c
void rb_pool_progress_line(void *pool, int width, struct rb_buf *out); // for struct rb_run_line

// rbrun_pool_files.c
bool rb_pool_open_owner(struct rb_pool_run *p, const char *root, struct rb_err *err);
bool rb_pool_plan_member(struct rb_pool_member *m, struct rb_plan *out, struct rb_err *err);
bool rb_pool_open_member(struct rb_pool_member *m, struct rb_err *err);
bool rb_pool_keep(const struct rb_pool_run *p, const char *name, const char *text, struct rb_err *err);
// What a resume must know beyond the runs themselves: pool.json. run_ids: "" of jobs that have not arrived, [n_jobs].
bool rb_pool_remember(const struct rb_pool_run *p, struct rb_err *err);
bool rb_pool_recall(const char *dir, struct rb_arena *arena, struct rb_pool_file *out,
                    struct rb_pool_sources *out_sources, const char ***out_run_ids, struct rb_err *err);

#endif
