// Executes a plan: turns the engine's actions into cloud calls and processes, and what happens into events. Both are
// journalled before every side effect. Knows no libuv, ssh or HTTP: the caller passes in the loop, the providers and
// the launcher, so the same code runs against the real world and, in tests, against a fake one in virtual time that
// dies after every write.
#ifndef RB_EXECUTOR_CONTROLLER_H
#define RB_EXECUTOR_CONTROLLER_H

#include "base/text/buf.h"
#include "engine/core/advice.h"
#include "engine/core/engine.h"
#include "engine/core/suggest.h"
#include "executor/controller/node_chooser.h"
#include "executor/journal/machine_row.h"
#include "executor/launcher/launcher.h"
#include "providers/provider.h"

// An infra, and how its nodes are made and reached.
struct rb_run_place {
    const char *infra; // "aws/us-east-1"
    struct rb_provider *provider;
    const struct rb_transport *transport; // of its nodes, for the launcher
    bool gives_birth;        // its nodes are launched with user data, and have addresses
    int64_t boot_timeout_us; // not ready for this long after the request: lost
    int64_t held_timeout_us; // where requests may wait for days: billed, and held up for this long: lost; 0: boot_timeout_us says it
};

struct rb_controller_config {
    const struct rb_loop *loop;
    const struct rb_plan *plan;
    struct rb_journal *journal;
    const char *run_id, *run_dir;  // run_dir absolute
    const char *resume_as;         // the argument of `rbrun resume` and `rbrun stop`; NULL: run_id
    const struct rb_run_place *places; // [n_places], one per infra used
    int n_places;
    // The machine that was made for this controller; it carries the run's tags, and its lease is kept with the nodes'. It is not
    // ended here; machine_ended is called when a listing shows that it has ended. NULL: none.
    const struct rb_machine_row *machine;
    void (*machine_ended)(void *ctx, int64_t ended_unix_us);
    // Creates the launcher once the events are known; the controller destroys it.
    struct rb_launcher *(*launcher)(void *ctx, const struct rb_launcher_events *events);
    void *launcher_ctx;
    // Creates the user data of a node at a place that gives birth, and the public half of its host key.
    bool (*birth)(void *ctx, const struct rb_run_place *place, struct rb_buf *out_user_data,
                  char out_host_key[static 128], struct rb_err *err);
    void *birth_ctx;
    const char *(*secret)(void *ctx, const char *name); // value of one of job.secrets, NULL: none
    void *secret_ctx;
    const char *ssh_user;
    int ssh_port;
    int64_t poll_us;         // listing period: one paged listing per infra per tick
    int64_t lease_us;        // length of the nodes' leases (executor/controller/lease.h); 0: the usual
    int capacity_retries;    // times a node may find every offer sold out before the run stops with CAPACITY
    bool go_on;              // resume a run that was stopped (`rbrun resume`), rather than only clean it up
    // Called in the transaction of every launch intent, before it is written; false: the run fails with the error, and nothing is
    // launched. Spends an approval with the first one. May be NULL.
    bool (*permit)(void *ctx, int64_t now_us, struct rb_err *err);
    void *permit_ctx;
    // Called for a forecast when a policy wants one; may be NULL: the policy then works without.
    rb_adviser_fn *advise;
    void *advise_ctx;
    // Proposes the configurations of new trials (scheduler.sampler); NULL: the job has none. A later answer comes through
    // rb_controller_suggested.
    const struct rb_suggester *suggester;
    // Decides between spot and on demand (resources.spot: safe); NULL: the plan's offers, and stand-ins for sold-out ones.
    const struct rb_node_chooser *chooser;
    // Called after every turn, for progress and events.jsonl; may be NULL.
    void (*observe)(void *ctx, const struct rb_event *event, const struct rb_actions *actions);
    // One line for the user about an error or about what the run waits for; journalled as a note of that kind. May be
    // NULL.
    void (*talk)(void *ctx, const char *kind, const char *text);
    // Writes a notice for the job's hooks (executor/notify) into the open transaction; false: the journal failed. detail: a
    // sentence, NULL: none. NULL: there are no hooks.
    bool (*notice)(void *ctx, enum rb_notice_kind what, const char *detail, struct rb_err *err);
    // Called once, from the loop: when the run is over and no instance is left; or with err set to why it ended
    // otherwise. After an error of the journal instances may be left: `rbrun resume` ends them.
    void (*finished)(void *ctx, enum rb_job_outcome outcome, enum rb_stop_reason reason, const struct rb_err *err);
    void *ctx; // of observe, talk, notice and finished
};

struct rb_controller;

// For a fresh or a resumed run. Replays the journal, repeats every order that has no outcome yet, and compares its rows
// with a listing of every infra ever named in the journal before it launches anything new.
bool rb_controller_create(const struct rb_controller_config *config, struct rb_controller **out, struct rb_err *err);
void rb_controller_destroy(struct rb_controller *c); // providers must not call back any more
void rb_controller_start(struct rb_controller *c);
void rb_controller_stop(struct rb_controller *c, enum rb_stop_reason reason); // graceful: kill, terminate, confirm

// Is the run over but not finished? Writes what it waits for ("2 instances to end, a listing that shows no instance"),
// and the longest it waits before it leaves with an error. False: the run is not over, or it has finished.
bool rb_controller_waits(const struct rb_controller *c, struct rb_buf *out_what, int64_t *out_at_most_us);

// Sets which GPUs of a node shared with other runs this run may use from now on (engine/events/event.h: LENT).
void rb_controller_lend(struct rb_controller *c, int node, uint64_t gpus);

// The answer of a suggester that did not have it at once: an RB_EVENT_SUGGESTED without its time.
void rb_controller_suggested(struct rb_controller *c, const struct rb_event *event);
// Other nodes for stages to come: an RB_EVENT_ADVICE without its time. Notes are written in the same transaction: its
// reason, and this one (without a time; NULL: none).
void rb_controller_advise(struct rb_controller *c, const struct rb_event *event, const struct rb_note *note);
// From now on these limits hold, and survive this process; -1: none. false with *out_wait: a launch has no answer yet, whose
// repetition must be identical; ask again. false without: one of them is exceeded already, or the run is over.
bool rb_controller_set_limits(struct rb_controller *c, int64_t deadline_us, int64_t budget_uusd, bool *out_wait,
                              struct rb_err *err);
// For parts of the run that the caller made: a line for the user, journalled with its kind.
void rb_controller_note(struct rb_controller *c, const char *kind, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
// The same, and a notice for the job's hooks, in one transaction. kind NULL: the notice alone.
void rb_controller_tell(struct rb_controller *c, enum rb_notice_kind what, const char *kind, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
// Ends the run with this error, after which it may be resumed.
void rb_controller_fail_run(struct rb_controller *c, const struct rb_err *err);

// Another run that uses the node can no longer reach it: it is replaced, as if this run's own launcher had reported it.
void rb_controller_give_up_node(struct rb_controller *c, int node);

// The journal failed: nothing is recorded from now on.
bool rb_controller_lost_journal(const struct rb_controller *c);

const struct rb_engine *rb_controller_engine(const struct rb_controller *c);
int64_t rb_controller_now_us(const struct rb_controller *c); // since the start of the run
// Dollars so far (bills of ended nodes, running ones to now) and the worst case still reserved.
void rb_controller_spend(const struct rb_controller *c, int64_t *out_spent_uusd, int64_t *out_reserved_uusd);
// Calls fn for launches that may have an instance which is not known to have ended. Returns their number.
int rb_controller_each_open_launch(const struct rb_controller *c,
                                   void (*fn)(void *ctx, const struct rb_launch_row *row), void *ctx);

#endif
