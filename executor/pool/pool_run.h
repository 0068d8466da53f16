// A pool in execution: the run that owns the nodes, the runs of its jobs, and what they share.
#ifndef RB_EXECUTOR_POOL_RUN_H
#define RB_EXECUTOR_POOL_RUN_H

#include "executor/pool/arbiter.h"
#include "executor/pool/pool_report.h"
#include "executor/run/session.h"
#include "executor/transport/loop_uv.h"
#include "profiles/inputs/plan_inputs.h"
#include "profiles/job/pool_file.h"

struct rb_pool_member;
struct rb_sinks_live;

#define RB_POOL_OF_RUN "pool" // file in the directory of a job's run: the id of the run that owns its nodes

struct rb_pool_run {
    struct rb_arena arena;
    struct rb_input_sources sources;
    struct rb_pool_file file;
    struct rb_loop_uv *uv;
    const struct rb_loop *loop;
    struct rb_session_options options; // of all its runs
    const struct rb_run_show *show;    // of the pool and of all its runs; NULL: nothing is shown
    // Makes the plan of a job on the pool's nodes, checked for what is supported. The caller owns its memory, which
    // outlives the pool.
    bool (*plan_job)(void *ctx, int job, struct rb_plan *out, struct rb_err *err);
    void *plan_ctx;
    struct rb_run_files files; // of the run that owns the nodes
    struct rb_journal *journal;
    struct rb_session *session;
    struct rb_lender *lender;
    struct rb_arbiter *arbiter;
    struct rb_pool_member *members; // [n]
    int n;
    const struct rb_transport *transport; // how the nodes are reached
    bool owner_over, ending, left;
    int interrupts;
    struct rb_err failure; // of a member that could not begin
};

// A job of the pool.
struct rb_pool_member {
    struct rb_pool_run *pool;
    const struct rb_pool_job *spec;
    struct rb_run_files files;
    struct rb_journal *journal; // NULL: it has not arrived
    struct rb_provider lent; // as the session uses it
    struct rb_session *session;
    struct rb_sinks_live *sinks; // NULL: its job has none
    char label[64];
    int number; // the arbiter's
    uint64_t timer;
    bool over;
};

// Fills in the jobs of the pool's file (p->file, read from pool_path), and `more` that arrive at once; their paths
// become absolute.
bool rb_pool_list_jobs(struct rb_pool_run *p, const char *pool_path, const char *const *more, int n_more,
                       struct rb_err *err);
bool rb_pool_check_policy(const struct rb_pool_file *file, struct rb_err *err); // does the policy divide GPUs?
// Executes the pool until everything is over, or `left`. Runs that have a journal are resumed; the others begin when
// they arrive.
bool rb_pool_run_carry_out(struct rb_pool_run *p, struct rb_err *err);
// Ends the sessions, once. *out_code: of the worst of the jobs; unchanged where it is already higher.
bool rb_pool_run_end(struct rb_pool_run *p, int *out_code, struct rb_err *err);
void rb_pool_run_finish(struct rb_pool_run *p); // afterwards: releases the runs and frees everything

// Fills in the report; the jobs are in the pool's arena. Only after its end.
bool rb_pool_run_report(struct rb_pool_run *p, struct rb_pool_report *out, struct rb_err *err);

// ---- on disk: a directory for each of its runs, and pool.json in the directory of the run that owns the nodes

// Was this run begun as the owner of a pool's nodes? Then it is resumed as one.
bool rb_pool_is_one(const char *dir);
// A job of a pool can only be resumed and stopped with the pool: otherwise sets an error that names the pool. verb:
// "resume".
bool rb_pool_check_alone(const struct rb_run_files *f, const char *verb, struct rb_err *err);

// Creates the run that owns the nodes of `plan`, below root.
bool rb_pool_open_owner(struct rb_pool_run *p, const char *root, const struct rb_plan *plan, struct rb_err *err);
// Makes the plan of a member, checked.
bool rb_pool_plan_member(struct rb_pool_member *m, struct rb_plan *out, struct rb_err *err);
bool rb_pool_open_member(struct rb_pool_member *m, struct rb_err *err);
// Writes a file beside pool.json.
bool rb_pool_keep(const struct rb_pool_run *p, const char *name, const char *text, struct rb_err *err);
// Writes pool.json: what a resume needs beyond the runs themselves. run_ids: "" for jobs that have not arrived,
// [n_jobs].
bool rb_pool_remember(const struct rb_pool_run *p, struct rb_err *err);
// Reads the members from pool.json and their own directories; those that have not arrived have no journal.
bool rb_pool_reopen(struct rb_pool_run *p, const char *state_dir, struct rb_err *err);
// Have all jobs ended? Then there is nothing to rent a node for: the pool is only cleaned up and reported once more.
bool rb_pool_is_complete(struct rb_pool_run *p, bool *out, struct rb_err *err);
bool rb_pool_recall(const char *dir, struct rb_arena *arena, struct rb_pool_file *out,
                    struct rb_input_sources *out_sources, const char ***out_run_ids, struct rb_err *err);

#endif
