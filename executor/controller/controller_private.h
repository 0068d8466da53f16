// Inside the controller only.
//   controller.c          turns and the end of a run
//   controller_timers.c   wake-ups, deadline, heartbeats
//   controller_gang.c     nodes that are launched together
//   controller_launch.c   from the intent to the instances
//   controller_fallback.c which offer is asked for it
//   controller_nodes.c    boot and end of a node
//   controller_listing.c  what the clouds say exists
//   controller_switch.c   whether nodes end themselves when they hear nothing
//   controller_lease.c    who looks from elsewhere sees that the run is carried out
//   controller_tasks.c    processes that may exist
//   controller_starts.c   handing trials to the launcher
//   controller_trials.c   lines, exits, checkpoints
//   controller_yields.c   trials that are asked to give way
//   controller_recover.c  coming back from the journal
//   controller_rescue.c   ending everything when the journal takes no more
#ifndef RB_EXECUTOR_CONTROLLER_PRIVATE_H
#define RB_EXECUTOR_CONTROLLER_PRIVATE_H

#include "base/silence.h"
#include "executor/controller/controller.h"
#include "executor/controller/lease.h"
#include "executor/controller/spend.h"
#include "executor/launcher/last_lines.h"
#include "executor/launcher/metric_line.h"

enum {
    RB_CONTROLLER_ABSENT_LISTINGS = 3, // complete listings without an instance before its absence is believed
    RB_CONTROLLER_BOOT_FAILURES = 3,   // nodes in a row that came up but could not be set up: the job's fault
    RB_CONTROLLER_SAVE_TRIES = 3,
    RB_CONTROLLER_SOLD_OUT_S = 180,  // an offer that was sold out is asked last by other nodes
    RB_CONTROLLER_YIELD_S = 60,          // to checkpoint and give way, beside the time that units take
    RB_CONTROLLER_YIELD_UNSEEN_S = 1800, // where no unit was seen, and no trial.timeout says what is too long
    RB_CONTROLLER_HELD_UP_S = 300,       // this machine may be full for so long before the run stops
    RB_CONTROLLER_HELD_UP_PAUSE_S = 30,  // without a command that could not be started: it is over
    RB_CONTROLLER_CUT_OFF_S = 20, // a cloud that is listed every few seconds has not answered: it may be our network
    RB_CONTROLLER_REACH_S = 120, // for a node to answer a controller that comes back
    RB_CONTROLLER_COPY_S = 40,       // copies of one request arrive within ten seconds, and are listed half a minute later
    RB_CONTROLLER_LATE_S = 120,      // one that was not answered arrives this late
    RB_CONTROLLER_DENIALS = 5, // before "not allowed" is believed of what may be there; a clock that was set explains a few
    RB_CONTROLLER_LEAK_TRIES = 5, // final listings that may fail before "unknown" is reported
    RB_CONTROLLER_NEW_S = 300,   // a new instance may be listed this late: clouds take minutes, on a bad day
    RB_CONTROLLER_END_S = 1800,      // what a run that is over, or a launch that cannot be sent, waits for a cloud at most
    RB_CONTROLLER_NOT_FOUND_S = 60,  // likewise where the cloud answers that something does not exist: 404s of proxies pass
    RB_CONTROLLER_RESCUE_S = 900, // without a journal; what is not known to have ended by then is told
    RB_CONTROLLER_HEARTBEAT_S = 120,
    RB_CONTROLLER_DEAD_MAN_S = 1800, // a node ends itself this long after the last heartbeat
    RB_CONTROLLER_BEAT_SLACK_S = 600, // a deadline further than this from what a heartbeat asked for was not moved by it
    RB_CONTROLLER_END_SLACK_S = 3600,        // past the deadline: what saving and leaving may take
    RB_CONTROLLER_MAX_LIFETIME_S = 7 * 86400, // of a node, where the job has no deadline
    RB_CONTROLLER_NAME = 60,         // characters of an instance's name; tags hold 256
    RB_CONTROLLER_TAIL = 512,        // bytes of output kept for the note about a failure
};

// What one request asks for: a node, or several that are of no use apart, all of them or none. Their rows share launch id
// and token, and are written together; which of a launch's instances is whose is told by its place in the launch.
struct rb_run_gang {
    struct rb_controller *c;
    struct rb_run_node **members; // [n], by node; superseded ones too
    int n;
    bool launching;        // the request has not been answered yet
    bool logged;           // in the run's launch log
    int tries, denials;    // repeats of it, and how often we were not allowed to
    int64_t unanswered_us; // one was on its way then, and never answered; -1: none
    int64_t unsent_us;     // since then it could not be sent; meaningless before the first try failed
    uint64_t timer;        // to the next repeat, or to the next offer
};

// A node of the engine: its current launch and what is under way for it.
struct rb_run_node {
    struct rb_controller *c;
    int id;
    struct rb_run_gang *gang; // of the launch; NULL: there is none, or it is a stray's
    int member;                      // its place in the gang
    bool superseded; // its launch was refused, and the engine has asked for the node again: see rb_run_node_supersede
    bool has_row;
    struct rb_launch_row row; // as journalled
    struct rb_billing billing;
    bool ending;                       // a call of the provider has not answered yet
    bool end_accepted, end_not_found;  // what terminate answered last
    bool end_denied;                   // it was refused for good, and that was said
    bool end_known;                    // the cloud said when it ended; else terminated_unix_us is our estimate
    bool other_market;                 // it is not on the market that was asked for, and that was said
    bool looking, forgotten;           // it is asked for by name; the cloud knows it no more, or does not let us ask
    int denied_looks;                  // answers in a row that did not
    bool preparing, prepared;          // this launcher reaches it
    enum rb_switch_state armed;        // its dead man's switch, as a heartbeat to this launch found it last
    int armed_attempt;                 // the launch
    bool switch_told;                  // that it is not armed, or not moved, was said
    char waits_for[RB_CONTROLLER_TAIL]; // why it is not prepared yet; "": the launcher has not said
    int tries;                         // repeats of the termination
    int retries;                       // pauses because every offer was sold out
    int absent;                        // complete listings in a row without it
    int64_t absent_since_us, acked_us; // this controller's time
    int64_t exhausted_us;              // when the last pause began, -1: none yet
    uint64_t listing;                  // number of the listing that showed it last
    uint64_t retry_timer;
    struct rb_silence boot;            // until it is taken never to become ready
};

// One start of a trial whose processes may exist.
struct rb_run_task {
    struct rb_controller *c;
    struct rb_task_row row; // as journalled; slots owned
    bool ordered_here;      // by this controller, not by one before a restart
    bool told;              // the launcher knows it
    bool kill_told;
    bool saving;
    int save_tries;
    int64_t last_resource;         // reported by this start, -1: nothing yet
    bool beyond;                   // it has trained on after the end of its stage: it is being ended there
    uint64_t timer;                // the next try to save
    struct rb_silence silence;     // of its reports, until it is taken to hang
    bool yield_told;               // the launcher was told to ask it
    struct rb_silence yielding;    // it was asked by the engine: patience ends
    int64_t last_report_us;        // or when the launcher was told of it; attended time
    int64_t longest_unit_us;       // between two reports, the start counting as one; -1: none seen
    struct rb_step_lines steps;    // since its last report
    struct rb_last_lines printed;  // of its output, reports left out
};

struct rb_run_trial {
    int n_starts;
    int64_t last_resource; // of the last start; for the recovery
    bool asked;            // by the engine, to give way, since its last start
    char checkpoint[512];  // of the last save, as in the row
};

// A provider's answer on its way. Outlives nothing: freed with the controller.
struct rb_run_call {
    struct rb_controller *c;
    struct rb_run_call *next;
    struct rb_run_node *node; // look, terminate; NULL: none
    struct rb_run_gang *gang; // launch
    int attempt;
    int infra;
    uint64_t number; // list: which one
    int64_t asked_us;
};

// An instance that carries our run's tag but belongs to no launch that is open.
struct rb_run_orphan {
    char instance_id[128];
    int infra;
    bool ended;
};

// What launches learned about one of the plan's offers.
struct rb_run_offer {
    int64_t sold_out_us; // when that was said last, -1: never
    bool aside;          // cannot stand in at all: refused for another reason, or without a price
    bool too_dear;       // the budget did not pay for it, and that was said
};

struct rb_controller {
    struct rb_controller_config config;
    struct rb_journal *journal;
    struct rb_engine *engine;
    struct rb_launcher *launcher;
    struct rb_arena arena; // meta
    struct rb_journal_meta meta;

    int64_t base_us, base_monotonic_us; // event time = base + monotonic time since
    int64_t last_event_us;              // -1: no event yet
    bool in_transaction;
    bool dead;             // the journal failed: nothing is decided any more
    struct rb_controller_rescue *rescue; // what is done instead, NULL: nothing
    struct rb_err failure; // why the run cannot go on; code NONE: it can
    bool told_how_to_yield;   // what a script must do to give way
    bool last_stretch;        // of an anytime job: nothing is started any more
    bool advice_wanted;       // the engine has asked for a forecast, and nobody has answered
    int64_t longest_unit_us, longest_save_us; // of any trial so far
    bool stop_wanted;      // decided inside a turn, carried out after it
    enum rb_stop_reason stop_reason;

    struct rb_run_node **nodes; // by the engine's index, [n_nodes]
    int n_nodes;
    struct rb_run_node **superseded; // [n_superseded]
    int n_superseded;
    struct rb_run_gang **gangs; // every request so far, [n_gangs]
    int n_gangs;
    struct rb_run_offer *offers; // [plan->n_offers]
    struct rb_run_task **tasks; // open ones, in order of their start, [n_tasks]
    int n_tasks;
    struct rb_run_trial *trials; // [n_trials]
    int n_trials;
    struct rb_run_orphan *orphans;
    int n_orphans;
    struct rb_run_call *calls;

    bool *listing;          // [n_providers] a listing is under way
    bool *listed;           // [n_providers] answered completely since the start, or since closing began
    int *left;              // [n_providers] instances the last complete listing showed alive
    int *list_failures;     // [n_providers] in a row
    struct rb_controller_lease *leases; // [n_providers]
    int64_t *heard_us;      // [n_providers] when it answered a listing last, be it in part; at first: when we began; attended time
    int64_t back_us;        // end of the last gap that was noted, attended time; INT64_MIN: none
    int64_t held_up_since_us, held_up_us; // by this machine, which is full: since when, and when last; attended time, -1: never
    bool cut_off_told;      // since a cloud was heard last
    bool waiting_told;      // that the end waits for a cloud; since one was heard last
    uint64_t n_listings;    // asked for so far
    uint64_t believe_after; // answers to earlier ones do not count as listed
    bool recovering;        // nothing is launched before every infra was listed
    int64_t linger_until_us; // not over before: a copy of a refused launch may still arrive
    int64_t lingering_until_us; // said already
    struct rb_silence end;  // counts while the run is over and waits for its clouds, which it does not do for ever
    bool closing;           // all over but the last listing
    bool over;              // finished was or will be called
    int leak_tries;
    int boot_failures; // in a row
    bool paced;        // noted
    bool links_told;   // in checkpoints
    bool beyond_told;  // a script trains on after RB_RESOURCE_END
    int64_t *wakes;    // times the engine asked for, [n_wakes]
    int n_wakes;
    uint64_t wake_timer, poll_timer, deadline_timer, last_stretch_timer, heartbeat_timer, finish_timer;
};

// controller.c
bool rb_controller_running(const struct rb_controller *c); // the engine's job is not over
struct rb_spend_now rb_controller_spend_now(const struct rb_controller *c);
bool rb_controller_begin(struct rb_controller *c);         // false: the journal failed
bool rb_controller_commit(struct rb_controller *c);
// The event is journalled together with what was written since begin, stepped, and its orders are carried
// out.
void rb_controller_turn(struct rb_controller *c, struct rb_event event);
// Likewise several that happened together: what they order is one order, so that nodes asked for are asked for at once.
void rb_controller_turns(struct rb_controller *c, struct rb_event *events, int n);
void rb_controller_give_advice(struct rb_controller *c); // if the engine has asked for a forecast
void rb_controller_note(struct rb_controller *c, const char *kind, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void rb_controller_fail_run(struct rb_controller *c,
                        const struct rb_err *err);      // stops the run; it ends with this error
bool rb_controller_is_all_over(const struct rb_controller *c); // nothing is known to be there, or to be on its way
void rb_controller_check_over(struct rb_controller *c); // the run may be over now
void rb_controller_journal_failed(struct rb_controller *c, const struct rb_err *err);
void rb_controller_leave_run(struct rb_controller *c, const struct rb_err *err); // ends with everything as it is

// controller_timers.c
void rb_controller_arm(struct rb_controller *c, uint64_t *timer, int64_t delay_us, rb_loop_fn *fn, void *arg);
void rb_controller_disarm(struct rb_controller *c, uint64_t *timer);
int64_t rb_controller_backoff_us(int tries); // 0.2 s doubling to 30 s
void rb_controller_add_wake(struct rb_controller *c, int64_t at_us);
void rb_controller_arm_wake(struct rb_controller *c);
void rb_controller_arm_deadline(struct rb_controller *c);
void rb_controller_beat(void *arg); // now and from time to time
// When the loop came back from its last long gap, attended time; INT64_MIN: there was none.
int64_t rb_controller_last_gap(const struct rb_controller *c, int64_t *out_gap_us);
void rb_controller_notice_gap(struct rb_controller *c); // notes it, and what must not wait is done at once

// controller_gang.c
// Writes the intents to launch what is ordered, [n]; nodes that one trial is to be spread over as one gang.
void rb_controller_record_launches(struct rb_controller *c, const struct rb_action *orders, int n);
struct rb_run_gang *rb_run_gang_create(struct rb_controller *c, int n); // members: the caller's to fill in
void rb_run_gang_discard(struct rb_run_gang *g); // the last one, of which nothing was written
bool rb_controller_link_gangs(struct rb_controller *c, struct rb_err *err); // out of the rows, which were loaded
bool rb_run_node_is_undecided(const struct rb_run_node *n); // INTENT, SENT or AMBIGUOUS
const struct rb_run_node *rb_run_gang_undecided_member(const struct rb_run_gang *g);  // any; NULL: none
bool rb_run_gang_is_wanted(const struct rb_run_gang *g);                              // any of it
bool rb_run_gang_exists(const struct rb_run_gang *g);                              // likewise
bool rb_run_gang_enter(struct rb_run_gang *g, enum rb_launch_state state); // rows; false: the journal failed
void rb_run_gang_name(const struct rb_run_gang *g, struct rb_buf *out);            // "nodes 3, 4"
// It cannot come together: what there is of it is ended, and the engine asks for all of it again.
void rb_run_gang_break(struct rb_run_gang *g, const char *why);
// An open launch whose gang was seen without it in a complete listing, asked for at that time.
void rb_run_node_missed(struct rb_run_node *n, int64_t asked_us);

// controller_launch.c
// The intent to launch so many nodes as one gang; false: nothing was written.
bool rb_run_gang_record(struct rb_controller *c, const struct rb_action *const *orders, int n);
void rb_run_gang_send(struct rb_run_gang *g); // INTENT, SENT or AMBIGUOUS: the identical request
void rb_run_node_acknowledge(struct rb_run_node *n,
                                 const struct rb_instance *instance); // it exists
void rb_run_gang_drop_user_data(const struct rb_run_gang *g);
void rb_run_gang_await_copies(const struct rb_run_gang *g); // the run is not over before copies would have been seen
// One launch may make two instances where it is tried in zone after zone, and a copy of a request that was refused in one
// arrives after all. The other one gets a row of its own, numbered below zero: it is ended, and billed.
void rb_run_node_adopt_stray(struct rb_run_node *n, const struct rb_instance *instance);
bool rb_controller_within_budget(struct rb_controller *c, int64_t reserve_uusd);

// controller_fallback.c
// The offer to ask for the node now, and for as many more of its kind as make `count`.
int rb_run_node_choose_offer(struct rb_run_node *n, int count);
void rb_run_gang_note_stand_in(const struct rb_run_gang *g);  // if its launch asks for another than the plan
bool rb_run_gang_is_stand_in(const struct rb_run_gang *g);   // its launch does, and it is still wanted
void rb_controller_mark_sold_out(struct rb_controller *c, int offer, int64_t at_us);
void rb_run_gang_refused(struct rb_run_gang *g); // REFUSED: the next offer, at once or after a pause
// Likewise, where what stood in was refused for good: it is not asked again in this run.
void rb_run_gang_reject_offer(struct rb_run_gang *g, const struct rb_err *err);
// Pauses it has had, as far as the journal shows: refusals before its launch, by the offer that refused most often.
int rb_run_node_pauses_before(const struct rb_run_node *n);

// controller_lease.c
void rb_controller_begin_leases(struct rb_controller *c);
void rb_controller_end_leases(struct rb_controller *c);
int64_t rb_run_node_lease_us(const struct rb_run_node *n); // until when its launch says; unix
void rb_run_node_lease(const struct rb_run_node *n);         // its instance is known from now on

// controller_nodes.c
struct rb_run_node *rb_run_node_at(struct rb_controller *c, int node); // made if new
// Every launch, superseded ones after the nodes; i < rb_controller_n_launches.
int rb_controller_n_launches(const struct rb_controller *c);
struct rb_run_node *rb_controller_launch_at(const struct rb_controller *c, int i);
// A copy of a request may arrive long after it was refused. The refused launch is remembered beside the one that takes its
// place: an instance that belongs to it is ended and billed under its name.
void rb_run_node_supersede(struct rb_run_node *n);
// A launch beside those of the nodes.
struct rb_run_node *rb_controller_add_launch(struct rb_controller *c, const struct rb_launch_row *row,
                                                    const struct rb_billing *billing);
bool rb_run_node_is_wanted(const struct rb_run_node *n);                  // the engine still owns it
bool rb_run_node_exists(const struct rb_run_node *n);  // an instance that nobody has told to end
bool rb_run_node_is_local(const struct rb_run_node *n); // this machine: nobody else knows of it
bool rb_run_node_write(struct rb_run_node *n);         // its row; false: the journal failed
int rb_controller_infra_of(const struct rb_controller *c,
                           const char *infra); // index of its provider, -1: none
struct rb_provider *rb_run_node_provider(const struct rb_run_node *n);
void rb_run_node_await_ready(struct rb_run_node *n);
void rb_run_node_fail_boot(struct rb_run_node *n,
                               const struct rb_err *err); // lost before it was of use
void rb_run_node_prepare(struct rb_run_node *n);
void rb_run_node_prepared(void *ctx, int node, const struct rb_err *err);
bool rb_run_node_record_end(struct rb_controller *c, struct rb_run_node *n); // writes TERMINATING
void rb_run_node_terminate(struct rb_run_node *n); // TERMINATING: ask the provider until it is gone
void rb_run_node_lose(struct rb_run_node *n,
                        const char *why); // the engine is told; the instance is ended
void rb_run_node_record_gone(struct rb_run_node *n,
                        const char *why); // seen to have ended, whoever ended it
void rb_run_node_waiting(void *ctx, int node, const char *why);
void rb_run_node_unreachable(void *ctx, int node, const char *why);
bool rb_controller_nodes_are_over(const struct rb_controller *c);
struct rb_run_call *rb_run_call_begin(struct rb_controller *c, struct rb_run_node *node, int infra);
void rb_run_call_end(struct rb_run_call *call);
void rb_controller_free_calls(struct rb_controller *c);

// controller_listing.c
void rb_controller_poll(void *arg); // lists every infra, now and every poll_us
void rb_controller_list_all(struct rb_controller *c);
// The node's cloud does not answer either: what is wrong may be this machine's network, and the node as well as ever.
bool rb_run_node_is_cut_off(const struct rb_run_node *n);
void rb_run_node_observe(struct rb_run_node *n, const struct rb_instance *instance);
void rb_controller_add_orphan(struct rb_controller *c, int infra, const char *id);
bool rb_controller_orphans_are_over(const struct rb_controller *c);

// controller_switch.c
void rb_run_node_switched(void *ctx, int node, const struct rb_switch_report *report);
// What is known of the nodes of this run that may exist, as a clause without a full stop: they, or so many of them, end
// themselves when they hear nothing, or that is not known.
void rb_controller_describe_switches(struct rb_controller *c, struct rb_buf *out);

// controller_tasks.c
struct rb_run_trial *rb_run_trial_at(struct rb_controller *c, int trial);            // made if new
void rb_run_trial_begin_start(struct rb_controller *c, int trial); // what was true of the start before is over
struct rb_run_task *rb_run_task_find(struct rb_controller *c, int trial, int start); // NULL: not open
struct rb_run_task *rb_run_task_find_live(struct rb_controller *c, int trial); // not being killed; NULL
bool rb_run_task_is_live(const struct rb_run_task *t); // neither over nor being killed
struct rb_run_task *rb_run_task_open(struct rb_controller *c, const struct rb_task_row *row); // copies
void rb_run_task_close(struct rb_run_task *t); // its processes are over; frees it
void rb_run_task_disarm(struct rb_run_task *t); // nothing is expected of it any more
bool rb_run_task_write(struct rb_run_task *t); // its row; false: the journal failed
void rb_run_task_record_start(struct rb_controller *c, const struct rb_action *a);
void rb_run_task_record_kill(struct rb_controller *c, struct rb_run_task *t);
void rb_run_task_record_over(struct rb_run_task *t, enum rb_task_state state);
void rb_run_task_kill(struct rb_run_task *t);
void rb_run_task_killed(void *ctx, int trial, int start);
bool rb_run_node_may_run(const struct rb_controller *c, int node); // processes may still live there
bool rb_run_node_unfollow_tasks(struct rb_controller *c, int node); // its tasks go on, and the launcher is to be told of them again
void rb_run_node_drop_tasks(struct rb_controller *c, int node);    // its gangs are broken; inside a transaction
void rb_run_node_close_tasks(struct rb_controller *c, int node);          // nothing can run there any more
bool rb_controller_tasks_are_over(const struct rb_controller *c);
bool rb_run_node_has_tasks(const struct rb_controller *c, int node);
void rb_controller_free_tasks(struct rb_controller *c);

// controller_starts.c
void rb_controller_start_tasks(struct rb_controller *c); // tells the launcher what it may start now

// controller_trials.c
void rb_run_task_await_report(struct rb_run_task *t); // hung unless one comes in time
void rb_run_task_line(void *ctx, int trial, int start, const char *bytes, size_t n);
void rb_run_task_exited(void *ctx, int trial, int start, int exit_code);
void rb_run_task_linked(void *ctx, int trial, const char *name);
void rb_run_task_held_up(void *ctx, int trial, const struct rb_err *err); // this machine is full
void rb_run_task_saved(void *ctx, int trial, int start, const char *checkpoint, const struct rb_err *err);

// controller_yields.c
void rb_run_task_yield(struct rb_run_task *t); // asks it to give way if that is wanted and it can be reached
void rb_run_task_measure_report(struct rb_run_task *t);
void rb_run_task_measure_save(struct rb_run_task *t);
void rb_controller_arm_last_stretch(struct rb_controller *c); // before the deadline of an anytime job

// controller_recover.c
bool rb_controller_replay(struct rb_controller *c, struct rb_err *err);
void rb_controller_repeat_orders(struct rb_controller *c); // every infra was listed: say again what has no outcome

// controller_rescue.c
void rb_controller_rescue(struct rb_controller *c); // dead: ends every instance of the run, then leaves
// A launch has answered although nothing is decided any more.
void rb_run_gang_rescue(struct rb_run_gang *g, const struct rb_err *err,
                                   const struct rb_instance *instances); // [g->n]
void rb_controller_rescue_free(struct rb_controller *c);

#endif
