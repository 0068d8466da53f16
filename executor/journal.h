// The run's memory: one sqlite file, written before every side effect (WAL, synchronous=FULL, one writer, flock). Events
// replayed into a fresh engine give its state; the launch and task tables say which of its orders were carried out.
// Nothing secret is ever written here.
#ifndef RB_EXECUTOR_JOURNAL_H
#define RB_EXECUTOR_JOURNAL_H

#include "base/arena.h"
#include "engine/event.h"

#define RB_JOURNAL_SCHEMA 1

struct rb_journal;

struct rb_journal_meta {
    const char *run_id, *plan_sha256;
    int64_t started_unix_us;  // time 0 of the run's events
    int64_t deadline_us;      // since start; -1: none; raised by resume
    int64_t budget_uusd;      // -1: none; raised by resume
    int64_t reserved_uusd;    // worst case of what was launched and not yet billed
};

// Launch life cycle (clouds: crash windows). A row is written as INTENT before the first byte goes out.
enum rb_launch_state { RB_LAUNCH_INTENT, RB_LAUNCH_SENT, RB_LAUNCH_ACKED, RB_LAUNCH_AMBIGUOUS, RB_LAUNCH_RUNNING,
                       RB_LAUNCH_READY, RB_LAUNCH_TERMINATING, RB_LAUNCH_GONE, RB_LAUNCH_REFUSED };

struct rb_launch_row {
    int node, attempt, offer;
    enum rb_launch_state state;
    char launch_id[40];       // random, goes into tags
    char token[65];           // idempotency key, a digest of run, launch, attempt, region, zone, parameters
    char infra[64], instance_type[64], market[16];
    char instance_id[128];    // "" until known
    char address[128], private_address[128];
    char host_key[128];       // public half, "ssh-ed25519 AAAA..."
    int64_t intent_us, running_us, ready_us, terminate_us, gone_us; // since start; -1: not yet
    int64_t running_unix_us, terminated_unix_us; // as the cloud says; -1 unknown: billing uses these
    int64_t reserved_uusd, cost_uusd;            // cost: final once GONE
};

enum rb_task_state { RB_TASK_INTENT, RB_TASK_STARTED, RB_TASK_EXITED, RB_TASK_SAVED, RB_TASK_KILLED };

struct rb_task_row {
    int trial, attempt, stage;
    enum rb_task_state state;
    int exit_code;
    int64_t resource_end;
    char checkpoint[256];     // relative to the run directory, or an URI; "" until saved
};

bool rb_journal_create(const char *path, const struct rb_journal_meta *meta, struct rb_journal **out, struct rb_err *err);
bool rb_journal_open(const char *path, struct rb_journal **out, struct rb_err *err); // locked by another: INVALID naming its pid
void rb_journal_close(struct rb_journal *j);

bool rb_journal_meta(struct rb_journal *j, struct rb_arena *arena, struct rb_journal_meta *out, struct rb_err *err);
bool rb_journal_set_limits(struct rb_journal *j, int64_t deadline_us, int64_t budget_uusd, struct rb_err *err);

// Every write is one committed transaction unless between begin and commit.
bool rb_journal_begin(struct rb_journal *j, struct rb_err *err);
bool rb_journal_commit(struct rb_journal *j, struct rb_err *err);
bool rb_journal_event(struct rb_journal *j, const struct rb_event *e, struct rb_err *err);
bool rb_journal_launch(struct rb_journal *j, const struct rb_launch_row *row, struct rb_err *err); // insert or replace
bool rb_journal_task(struct rb_journal *j, const struct rb_task_row *row, struct rb_err *err);
// Free text for the report: "fault", "replan", "warning".
bool rb_journal_note(struct rb_journal *j, int64_t time_us, const char *kind, const char *text, struct rb_err *err);

// Reading, in order of writing; the callback returns false to stop with its error.
bool rb_journal_each_event(struct rb_journal *j, bool (*fn)(void *ctx, const struct rb_event *e, struct rb_err *err),
                           void *ctx, struct rb_err *err);
bool rb_journal_launches(struct rb_journal *j, struct rb_arena *arena, struct rb_launch_row **out, int *out_n, struct rb_err *err);
bool rb_journal_tasks(struct rb_journal *j, struct rb_arena *arena, struct rb_task_row **out, int *out_n, struct rb_err *err);
struct rb_note { int64_t time_us; const char *kind, *text; };
bool rb_journal_notes(struct rb_journal *j, struct rb_arena *arena, struct rb_note **out, int *out_n, struct rb_err *err);

// Test hook: after the n-th committed write every further write fails as if the process had died (0: never).
void rb_journal_die_after(struct rb_journal *j, int64_t n);
int64_t rb_journal_n_writes(const struct rb_journal *j);

#endif
