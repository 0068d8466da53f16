// The run's memory: one sqlite file, written before every side effect (WAL, synchronous=FULL, one writer,
// flock). Events replayed into a fresh engine give its state; the launch and task tables say which of its
// orders were carried out. Nothing secret is ever written here.
#ifndef RB_EXECUTOR_JOURNAL_H
#define RB_EXECUTOR_JOURNAL_H

#include "base/arena.h"
#include "engine/core/placement.h"
#include "engine/events/event.h"
#include "profiles/catalog/billing.h"

#define RB_JOURNAL_SCHEMA 1
#define RB_JOURNAL_AWAY   (1000 + RB_JOURNAL_SCHEMA) // the same tables; the run goes on elsewhere (executor/journal/handover.h)

// In the name of a checkpoint from the middle of a stage; the resource that the trial had reached follows.
#define RB_CHECKPOINT_MIDWAY ".at-"

struct rb_journal;

struct rb_journal_meta {
    const char *run_id, *plan_sha256;
    const char *owner;          // of every instance: a tag, so it must not change when a launch is repeated
    int64_t started_unix_us;    // time 0 of the run's events
    int64_t deadline_us;        // since start; -1: none; raised by resume
    int64_t budget_uusd;        // -1: none; raised by resume
    int64_t leak_checked_at_us; // since start; -1: not checked (ignored by create)
    int instances_left;         // as the last listing showed; -1: unknown
};

// Launch life cycle (clouds: crash windows). A row is written as INTENT before the first byte goes out.
enum rb_launch_state {
    RB_LAUNCH_INTENT,      // decided; no byte was sent
    RB_LAUNCH_SENT,        // the request is on its way, or the process died while it was
    RB_LAUNCH_AMBIGUOUS,   // sent, no answer: only the identical request or a listing may resolve it
    RB_LAUNCH_REFUSED,     // definitely not launched
    RB_LAUNCH_ACKED,       // the instance exists
    RB_LAUNCH_RUNNING,     // billing has begun
    RB_LAUNCH_READY,       // trials may start
    RB_LAUNCH_TERMINATING, // must end; left only when the instance is seen to have ended
    RB_LAUNCH_GONE,        // ended, billed
};
const char *rb_launch_state_name(enum rb_launch_state s);

// A node of one request. The key is (node, attempt); attempt below zero: an instance beside the requested one. Rows
// with the same launch id and attempt >= 0 are a gang, launched by one request: the instance at place k of the launch
// belongs to the k-th of them by node.
struct rb_launch_row {
    int node, attempt, offer;
    enum rb_launch_state state;
    char launch_id[40]; // random, goes into tags
    char token[65];     // idempotency key, a digest of run, launch, attempt, region, zone, parameters
    char infra[64], instance_type[64], market[16];
    char instance_id[128]; // "" until known
    char address[128], private_address[128];
    char host_key[128]; // public half, "ssh-ed25519 AAAA..."; "" where nodes are not reached by ssh
    int64_t intent_us, running_us, ready_us, terminate_us, gone_us; // since start; -1: not yet
    int64_t running_unix_us,
        terminated_unix_us; // as the cloud reports it, or as seen; -1 unknown: billing uses these
    int64_t reserved_uusd;  // booked with the intent: the least this launch can cost
    int64_t cost_uusd;      // final once GONE
    // Of a launch on a spot market whose prices the cloud lists (rb_journal_market): the market's place, with its zone,
    // and its prices since about the start of the run, by the cloud's clock (unix); steps NULL: not known, the plan's price counts.
    char market_infra[64];
    struct rb_price_path prices; // borrowed
};

enum rb_task_state {
    RB_TASK_INTENT,  // ordered: the launcher has received it or will
    RB_TASK_EXITED,  // its processes have ended by themselves
    RB_TASK_SAVED,   // its checkpoint is safe
    RB_TASK_ENDED,   // ended without a checkpoint
    RB_TASK_KILLING, // its processes must end; not confirmed yet
    RB_TASK_KILLED,
};
const char *rb_task_state_name(enum rb_task_state s);

// One start of a trial's processes. The key is (trial, start).
struct rb_task_row {
    int trial, start;   // start: running number of the trial's starts in this run; the launcher's attempt
    int stage, attempt; // the engine's names for it
    enum rb_task_state state;
    int exit_code; // -1 until EXITED
    int64_t resource_start, resource_end;
    int64_t started_us, exited_us, ended_us; // since start; -1: not yet
    const struct rb_slot *slots;             // so that a gang can be found after a restart; borrowed, [n_slots]
    int n_slots;
    char checkpoint[512]; // the last, as the launcher reported it: relative to the run directory, or a URI; "" until saved
    int64_t kept_us;      // not in the journal: executor/report/report_saves.h; 0: nothing was saved midway
};

struct rb_note {
    int64_t time_us;
    const char *kind, *text; // kind: "fault", "replan", "warning", "drift", "paced", "spot", "replanning"
};

// create fails if the file exists. open returns INVALID, with the pid, if another controller holds the lock. It returns
// DAMAGED if the file is no journal, or lacks a launch that may have been sent (executor/launcher/launch_log.h):
// nothing else shows that the end of the journal was lost.
bool rb_journal_create(const char *path, const struct rb_journal_meta *meta, struct rb_journal **out,
                       struct rb_err *err);
bool rb_journal_open(const char *path, struct rb_journal **out, struct rb_err *err);
// The same, also if the run goes on elsewhere: for the move itself. rb_journal_open returns RUN_MOVED then.
bool rb_journal_open_moving(const char *path, struct rb_journal **out, struct rb_err *err);
bool rb_journal_open_reader(const char *path, struct rb_journal **out,
                            struct rb_err *err); // no lock; writes fail
void rb_journal_close(struct rb_journal *j);     // NULL is fine
// A copy of what is committed, one file that is whole without the writer's log. Not between begin and commit.
bool rb_journal_copy(struct rb_journal *j, const char *path, struct rb_err *err);

bool rb_journal_meta(struct rb_journal *j, struct rb_arena *arena, struct rb_journal_meta *out, struct rb_err *err);

// Error for a journal that was read but does not fit its plan or its own events: DAMAGED, naming the file. Returns
// false.
bool rb_journal_misfit(const struct rb_journal *j, struct rb_err *err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

// Every write is one committed transaction unless between begin and commit. Nothing is written after a failed
// one.
bool rb_journal_begin(struct rb_journal *j, struct rb_err *err);
bool rb_journal_commit(struct rb_journal *j, struct rb_err *err);
bool rb_journal_set_limits(struct rb_journal *j, int64_t deadline_us, int64_t budget_uusd, struct rb_err *err);
bool rb_journal_leak_check(struct rb_journal *j, int64_t at_us, int instances_left, struct rb_err *err);
bool rb_journal_event(struct rb_journal *j, const struct rb_event *e, struct rb_err *err);
bool rb_journal_launch(struct rb_journal *j, const struct rb_launch_row *row,
                       struct rb_err *err); // insert or replace
bool rb_journal_task(struct rb_journal *j, const struct rb_task_row *row,
                     struct rb_err *err); // insert or replace
bool rb_journal_note(struct rb_journal *j, int64_t time_us, const char *kind, const char *text, struct rb_err *err);
// The launch is on the market row->market_infra, row->instance_type; and what one of its machines costs from step->at_us on (unix).
bool rb_journal_market(struct rb_journal *j, const struct rb_launch_row *row, struct rb_err *err);
bool rb_journal_price(struct rb_journal *j, const char *market_infra, const char *instance_type,
                      const struct rb_capacity_step *step, struct rb_err *err);

// Reading. What no version writes is DAMAGED: an unknown state, a number out of its bounds, an event earlier than the
// one before it. Events and notes come in order of writing, launches by (node, attempt), tasks by (trial, start). The
// callback returns false to stop with its error.
bool rb_journal_each_event(struct rb_journal *j, bool (*fn)(void *ctx, const struct rb_event *e, struct rb_err *err),
                           void *ctx, struct rb_err *err);
// Only events after number *seq, 0: all; *seq becomes the number of the last one. For views that follow a run.
bool rb_journal_each_event_after(struct rb_journal *j, int64_t *seq,
                                 bool (*fn)(void *ctx, const struct rb_event *e, struct rb_err *err), void *ctx,
                                 struct rb_err *err);
bool rb_journal_launches(struct rb_journal *j, struct rb_arena *arena, struct rb_launch_row **out, int *out_n,
                         struct rb_err *err);
bool rb_journal_tasks(struct rb_journal *j, struct rb_arena *arena, struct rb_task_row **out, int *out_n,
                      struct rb_err *err);
bool rb_journal_tasks_of(struct rb_journal *j, int trial, struct rb_arena *arena, struct rb_task_row **out, int *out_n,
                         struct rb_err *err); // of one trial
bool rb_journal_notes(struct rb_journal *j, struct rb_arena *arena, struct rb_note **out, int *out_n,
                      struct rb_err *err);

// Crash tests. The n-th committed write from now on is the last (n > 0). What happens then:
enum rb_journal_death {
    RB_JOURNAL_DIES_AFTER, // it succeeds, later ones fail: the process got as far as it could without another
                           // write
    RB_JOURNAL_DIES_AT,    // it is on disk, but the caller never learns of it: no further side effect
    RB_JOURNAL_KILLS,      // the process gets SIGKILL at that instant
    RB_JOURNAL_FULL,       // it fails, as do later ones: the disk is full, and the process lives
};
void rb_journal_die(struct rb_journal *j, int64_t n, enum rb_journal_death how);
bool rb_journal_plays_dead(const struct rb_journal *j); // the process counts as dead: no further side effect
int64_t rb_journal_n_writes(const struct rb_journal *j); // committed by this handle
// Does not wait for the disk: a power cut may lose the last writes, a killed process loses nothing. For
// tests.
bool rb_journal_relax(struct rb_journal *j, struct rb_err *err);
bool rb_journal_is_relaxed(const struct rb_journal *j);

#endif
