// A node of the engine: its launch, the link to it, and its end. Inside the controller only.
//   node.c           boot and end
//   node_dead_man.c  its switch: whether it ends itself when no heartbeat comes
//   node_lease.c     leases: others see that the run is alive
// Its launch state is the row's (docs/explanation/launch-states.md); only rb_run_node_enter changes it.
#ifndef RB_EXECUTOR_NODE_H
#define RB_EXECUTOR_NODE_H

#include "base/silence.h"
#include "executor/controller/states.h"
#include "executor/journal/journal.h"
#include "executor/launcher/launcher.h"
#include "profiles/catalog/billing.h"
#include "providers/provider.h"

struct rb_controller;
struct rb_run_cloud;
struct rb_run_gang;

enum {
    RB_CONTROLLER_FULL_NODES = 3,      // nodes in a row that had no room for a trial to begin: others will have none either
    RB_CONTROLLER_BOOT_FAILURES = 3,   // nodes in a row that started and could not be set up: the job is at fault
    RB_CONTROLLER_DENIALS = 5,         // denied answers in a row before a denial counts; a wrong clock explains a few
    RB_CONTROLLER_ABSENT_LISTINGS = 3, // complete listings without an instance before its absence is believed
    RB_CONTROLLER_NEW_S = 300,         // a new instance may be listed this late: clouds take minutes on a bad day
    RB_CONTROLLER_CUT_OFF_S = 20,  // a cloud that is listed every few seconds has not answered: perhaps our network is down
    RB_CONTROLLER_REACH_S = 120,   // for a node to answer a restarted controller
    RB_CONTROLLER_HEARTBEAT_S = 120,
    RB_CONTROLLER_DEAD_MAN_S = 1800,  // a node ends itself this long after the last heartbeat
    RB_CONTROLLER_BEAT_SLACK_S = 600, // a deadline further than this from what a heartbeat asked for was not moved by it
    RB_CONTROLLER_LEAVING_S = 60,     // after the announced end of a node; if it is there then, trials start on it again
    RB_CONTROLLER_LET_GO_S = 1,       // the deadline of the switch of a node that need not stay any longer
    RB_CONTROLLER_TAIL = 512,         // bytes of output kept for the note about a failure
};

// Does the node have a launch, and is this the current one?
enum rb_run_node_role {
    RB_NODE_UNLAUNCHED, // no row yet, or the row moved to a superseded launch
    RB_NODE_CURRENT,
    RB_NODE_SUPERSEDED, // the launch was refused, and the engine asked for the node again: rb_run_node_supersede
};

// Warnings that a node reports once; bits of rb_run_node.said.
enum {
    RB_SAID_END_DENIED = 1,
    RB_SAID_OTHER_MARKET = 2, // it is not on the requested market
    RB_SAID_SWITCH = 4,       // its dead man's switch is not armed, or was not moved
    RB_SAID_WAITS = 8,        // why it has no machine yet
    RB_SAID_STAYS = 16,       // it stays on demand, because a trial on it did not give way
};

struct rb_run_node {
    struct rb_controller *c;
    int id;
    enum rb_run_node_role role;
    struct rb_run_gang *gang; // of the launch; NULL: there is none, or the launch is a stray
    int member;               // its place in the gang
    struct rb_launch_row row; // as journalled
    struct rb_billing billing;
    enum rb_link_state link;
    enum rb_end_state end;
    bool end_dated;                     // the cloud reported when it ended; else terminated_unix_us is our estimate
    unsigned said;                      // RB_SAID_*
    int denied_looks;                   // denied answers in a row; from RB_CONTROLLER_DENIALS on, no more looks
    enum rb_switch_state armed;         // its dead man's switch, as the last heartbeat of this launch found it
    int armed_attempt;                  // the launch
    char waits_for[RB_CONTROLLER_TAIL]; // why it is not prepared yet; "": the launcher has not reported a reason
    int tries;                          // repeats of the termination
    int retries;                        // pauses because every offer was sold out
    int absent;                         // complete listings in a row without it
    int64_t absent_since_us, acked_us;  // this controller's time
    int64_t waited_us;                  // it had no machine when this listing was asked for, this controller's time; -1: none showed so
    int64_t exhausted_us;               // when the last pause began, -1: none yet
    uint64_t listing;                   // number of the listing that showed it last
    uint64_t retry_timer;
    int64_t leaves_at_us;               // it must go by then: this controller's time; 0: it need not
    uint64_t leave_timer;
    bool let_go;                        // it was asked to end, because no trial was left there
    int64_t held_us;                    // since when it is billed and something holds it up; this controller's time, -1: nothing does
    bool fetching;                      // it brings the job's data to itself, for as long as that takes
    int64_t data_us;                    // how long that took
    int64_t pull_us;                    // how long the image of its container was pulled; 0: it was not, or that is not known
    struct rb_silence boot;             // its patience ends: the node counts as lost
};

// Every launch: those of the nodes first, then the superseded ones; i < rb_controller_n_launches.
int rb_controller_n_launches(const struct rb_controller *c);
struct rb_run_node *rb_controller_launch_at(const struct rb_controller *c, int i);
struct rb_run_node *rb_run_node_at(struct rb_controller *c, int node); // created if new
void rb_controller_free_nodes(struct rb_controller *c);
// A copy of a request may arrive long after the refusal. The refused launch is kept beside the one that takes its
// place: an instance that belongs to it is ended and billed under its name.
void rb_run_node_supersede(struct rb_run_node *n);
// Adds a launch beside those of the nodes.
struct rb_run_node *rb_controller_add_launch(struct rb_controller *c, const struct rb_launch_row *row,
                                             const struct rb_billing *billing);

// Questions about a node.
bool rb_run_node_has_row(const struct rb_run_node *n);      // its launch is in the journal
bool rb_run_node_is_wanted(const struct rb_run_node *n);    // the engine still owns it
bool rb_run_node_exists(const struct rb_run_node *n);       // an instance whose end was not requested: ACKED to READY
bool rb_run_node_is_undecided(const struct rb_run_node *n); // INTENT, SENT or AMBIGUOUS
bool rb_run_node_has_ended(const struct rb_run_node *n);    // GONE or REFUSED
bool rb_run_node_is_local(const struct rb_run_node *n);     // this machine
bool rb_run_node_is_cut_off(const struct rb_run_node *n);   // its cloud does not answer either: our network may be down
bool rb_run_node_may_run(const struct rb_controller *c, int node); // processes may still exist there
bool rb_run_node_has_tasks(const struct rb_controller *c, int node);
bool rb_controller_nodes_are_over(const struct rb_controller *c);
int rb_controller_infra_of(const struct rb_controller *c, const char *infra); // index of its provider, -1: none
const struct rb_run_place *rb_run_node_place(const struct rb_run_node *n);
struct rb_provider *rb_run_node_provider(const struct rb_run_node *n);

// Changes its row's state. Nothing else assigns row.state of an existing row. Asserts that the transition is legal, and
// stamps its time.
void rb_run_node_enter(struct rb_run_node *n, enum rb_launch_state state);
void rb_run_node_copy_addresses(struct rb_run_node *n, const struct rb_instance *i); // those that are known
bool rb_run_node_write(struct rb_run_node *n); // false: the journal failed
// Enters TERMINATING, or REFUSED where nothing was sent, and writes the row; false: the journal failed.
bool rb_run_node_record_end(struct rb_controller *c, struct rb_run_node *n);
void rb_run_node_record_gone(struct rb_run_node *n, const char *why); // seen to have ended

// Boot.
void rb_run_node_await_ready(struct rb_run_node *n);                            // else it is lost
void rb_run_node_fail_boot(struct rb_run_node *n, const struct rb_err *err);    // lost before it was ready
int rb_run_node_gpus_on(const struct rb_offer *o); // how many a node must have
void rb_run_node_prepare(struct rb_run_node *n);                                // links the launcher to it
void rb_run_node_prepared(void *ctx, int node, const struct rb_err *err);       // the launcher's event
void rb_run_node_waiting(void *ctx, int node, const char *why);                 // likewise
void rb_run_node_fetching(void *ctx, int node, bool on);                        // likewise
void rb_run_node_fetched(void *ctx, int node, int64_t us);                      // likewise
void rb_run_node_pulled(void *ctx, int node, int64_t us);                       // likewise
void rb_run_node_no_room(void *ctx, int node, int trial, const char *why);      // likewise
void rb_run_node_unreachable(void *ctx, int node, const char *why);             // likewise

// End.
void rb_run_node_terminate(struct rb_run_node *n);             // TERMINATING: asks the provider until it is gone
void rb_run_node_lose(struct rb_run_node *n, const char *why); // reports it to the engine; ends the instance

// Tasks on it.
// Their processes continue; the launcher follows them again later.
bool rb_run_node_unfollow_tasks(struct rb_controller *c, int node);
void rb_run_node_drop_tasks(struct rb_controller *c, int node);     // its gangs are broken; inside a transaction
void rb_run_node_close_tasks(struct rb_controller *c, int node);    // nothing can run there now

// node_leaving.c
void rb_run_node_leaving(void *ctx, int node, int64_t seconds); // the launcher's event
// Only its own processes still hold a node that its cloud ends: once no trial is left there, these are asked to end.
void rb_run_node_let_go(struct rb_run_node *n);
// As if its cloud took it back at that time, but once its trials have given way it is ended and replaced. Trials that have
// not given way by then are killed; but a node on demand, which would go back to spot, then stays.
void rb_run_node_vacate(struct rb_run_node *n, int64_t at_us);
// A task that was sent to the node and for which `is` is true (NULL: any); NULL: there is none.
const struct rb_run_task *rb_run_node_task(const struct rb_run_node *n, bool (*is)(const struct rb_run_task *t));
void rb_controller_review_reservations(struct rb_controller *c); // from time to time: has one given notice?

//   node_dead_man.c
void rb_run_node_switched(void *ctx, int node, const struct rb_switch_report *report); // the launcher's event
// Appends a clause without a full stop about the nodes that may exist: how many of them end themselves when no
// heartbeat comes, or that this is not known.
void rb_controller_describe_switches(struct rb_controller *c, struct rb_buf *out);

// node_lease.c
void rb_run_cloud_begin_leases(struct rb_run_cloud *cloud);
int64_t rb_run_node_lease_us(const struct rb_run_node *n); // the end of the lease in its launch request; unix
void rb_run_node_lease(const struct rb_run_node *n);       // its instance is known from now on

#endif
