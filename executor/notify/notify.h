// Reports to the hooks of a job (`notify:`) what happens to its run. A notice is a row of the journal's outbox
// (executor/journal/outbox.h), written with what it reports; it is delivered from the loop, to each hook in the order of
// the numbers, and again until the hook has taken it: after 5 s, then twice as long each time up to an hour, for 24 hours.
// No hook holds up the run. Losses of nodes cause at most one notice a minute: those within a minute of a notice are counted
// together in the next one.
//   notify.c  the outbox, and when what is sent
//   notice.c  what is said
//   hook.c    how it is sent
#ifndef RB_EXECUTOR_NOTIFY_H
#define RB_EXECUTOR_NOTIFY_H

#include "executor/journal/journal.h"
#include "executor/run/progress.h"

enum { RB_NOTIFY_END_S = 5 }; // how long the end of a run waits for its hooks

struct rb_notify_config {
    const struct rb_loop *loop; // a libuv one
    struct rb_journal *journal;
    const struct rb_job *job;
    const char *run_id, *workdir;
    void (*look)(void *ctx, struct rb_progress *out); // where the run stands
    // A sentence for people: a hook does not take its notices. Once until it does again.
    void (*warn)(void *ctx, const char *text);
    void *ctx;
};

struct rb_notify;

// Begins with what is left in the outbox. *out NULL: the job has no hooks; every other call takes that.
bool rb_notify_create(const struct rb_notify_config *config, struct rb_notify **out, struct rb_err *err);
void rb_notify_destroy(struct rb_notify *n); // what is on its way is dropped, and stays in the outbox

// Writes a notice into the journal's open transaction; false: that failed. outcome: of a run that has finished, as in its
// report, else NULL. detail: a sentence, NULL: none.
bool rb_notify_write(struct rb_notify *n, enum rb_notice_kind kind, const char *outcome, const char *detail,
                     struct rb_err *err);
// Should RB_NOTICE_BUDGET_80 be written now? Once for each budget. Also false if that cannot be found out.
bool rb_notify_budget_is_due(struct rb_notify *n, const struct rb_progress *now);

// Sends what is left for at most this long, then calls done, once, from the loop. A hook that fails is not waited for if
// its next turn comes later.
void rb_notify_drain(struct rb_notify *n, int64_t most_us, void (*done)(void *ctx), void *ctx);
// How many deliveries are left, and the last reason for it: "webhook https://...: status 503"; "": none is known.
int rb_notify_count_open(struct rb_notify *n, struct rb_buf *out_why);

#endif
