// The run as a whole; inside the controller only. Its objects have headers of their own: node.h, launch.h, task.h,
// budget.h.
//   controller.c         turns and the end of a run
//   controller_timers.c  wake-ups, deadline, heartbeats, calls
//   rescue.c             ends everything when the journal takes no more writes
#ifndef RB_EXECUTOR_CONTROLLER_PRIVATE_H
#define RB_EXECUTOR_CONTROLLER_PRIVATE_H

#include "executor/controller/budget.h"
#include "executor/controller/controller.h"
#include "executor/controller/launch.h"
#include "executor/controller/lease.h"
#include "executor/controller/node.h"
#include "executor/controller/task.h"

enum {
    RB_CONTROLLER_LEAK_TRIES = 5, // final listings that may fail before "unknown" is reported
    RB_CONTROLLER_END_S = 1800,   // how long a run that is over, or a launch that cannot be sent, waits for a cloud
    RB_CONTROLLER_RESCUE_S = 900, // without a journal; then instances that are not known to have ended are reported
};

// What the controller knows of one provider.
struct rb_run_cloud {
    struct rb_controller *c;
    bool listing;      // a listing is under way
    bool woken;        // it may have changed since the last listing began
    bool listed;       // answered completely since the start, or since closing began
    int left;          // instances that the last complete listing showed alive
    int list_failures; // in a row
    int64_t heard_us;  // last answer to a listing, even a partial one; initially our start; attended time
    struct rb_lease_keeper *leases; // NULL: it has none
    // Of its spot machines (spot_prices.c):
    bool pricing;       // their prices were asked for
    int64_t priced_us;  // when they were, the last time that it answered; 0: it has not
    int price_failures; // in a row
    bool price_denied;  // the last of them: a right is missing
    bool unpriced;      // it was said that its prices are not known now
    uint64_t price_timer;
};

// A provider call whose answer has not come: freed when it comes, or with the controller.
enum rb_run_call_kind { RB_CALL_LAUNCH, RB_CALL_LOOK, RB_CALL_TERMINATE, RB_CALL_LIST, RB_CALL_RESCUE, RB_CALL_PRICES };
struct rb_run_call {
    struct rb_controller *c;
    struct rb_run_call *next;
    enum rb_run_call_kind kind;
    struct rb_run_node *node; // look, terminate; NULL: none
    struct rb_run_gang *gang; // launch
    int attempt;              // of the node, when it was called
    int infra;
    uint64_t number; // list: its number; rescue: the orphan's index
    int64_t asked_us;
};

// Warnings that a run reports once; bits of rb_controller.said.
enum {
    RB_SAID_HOW_TO_YIELD = 1, // what a script must do to yield
    RB_SAID_PACED = 2,
    RB_SAID_LINKS = 4,      // in checkpoints
    RB_SAID_BEYOND = 8,     // a script trains on after RB_RESOURCE_END
    RB_SAID_CUT_OFF = 16,   // since the last answer from a cloud
    RB_SAID_END_WAITS = 32, // the end waits for a cloud; since the last answer from one
    RB_SAID_OVERRAN = 64,   // a script trains faster than its checkpoints rest
    RB_SAID_NO_ROOM = 128,  // on this machine's disk, for midway checkpoints
};

// What spot machines of one type cost in one zone, unix time.
struct rb_run_market {
    char infra[64], instance_type[64]; // infra: with the zone
    struct rb_capacity_step *steps;    // [n], ascending
    int n;
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
    enum rb_phase phase;
    bool in_transaction;
    bool dead;                           // the journal failed: nothing is decided from now on
    struct {                             // entered then: ends every instance of the run
        bool on;
        int64_t begun_us;
        int64_t found_us; // when the last instance was found: listings requested before that prove nothing
        uint64_t timer;
    } rescue;
    struct rb_err failure;               // why the run cannot go on; code NONE: it can
    unsigned said;                       // RB_SAID_*
    bool last_stretch;                   // of an anytime job: nothing more is started
    bool suggesting;                     // rb_controller_give_suggestions is at work
    bool advice_wanted;                  // the engine has asked for a forecast and has no answer yet
    int64_t longest_unit_us, longest_save_us; // of any trial so far
    bool stop_wanted;                    // decided inside a turn, carried out after it
    enum rb_stop_reason stop_reason;

    struct rb_run_node **nodes; // by the engine's index, [n_nodes]
    int n_nodes;
    struct rb_run_node **superseded; // [n_superseded]
    int n_superseded;
    struct rb_run_gang **gangs; // every request so far, [n_gangs]
    int n_gangs;
    struct rb_run_offer *offers; // [plan->n_offers]
    struct rb_run_task **tasks;  // open ones, in order of their start, [n_tasks]
    int n_tasks;
    struct rb_run_trial *trials; // [n_trials]
    int n_trials;
    struct rb_run_orphan *orphans;
    int n_orphans;
    struct rb_run_call *calls;
    struct rb_run_market **markets; // [n_markets]
    int n_markets;

    struct rb_run_cloud *clouds;        // [n_places]
    int64_t back_us;                    // end of the last noted gap, attended time; INT64_MIN: none
    // This machine is full: since when, and when last seen so; attended time, -1: never.
    int64_t held_up_since_us, held_up_us;
    uint64_t n_listings;                // requested so far
    uint64_t believe_after;             // answers to earlier ones do not count as listed
    int64_t linger_until_us;            // the run ends later than this: a copy of a refused launch may still arrive
    int64_t lingering_until_us;         // the same, as last reported
    struct rb_silence end;              // counts while the run is over and waits for its clouds
    int leak_tries;
    int boot_failures;                  // in a row
    int64_t *wakes;                     // times the engine asked for, [n_wakes]
    int n_wakes;
    bool off_spot; // a node is being replaced by one on demand
    uint64_t wake_timer, spot_timer, poll_timer, deadline_timer, last_stretch_timer, heartbeat_timer, finish_timer,
        reservation_timer;
};

// controller.c
bool rb_controller_running(const struct rb_controller *c); // the engine's job is not over
bool rb_controller_begin(struct rb_controller *c);         // false: the journal failed
bool rb_controller_commit(struct rb_controller *c);
// Journals the event together with what was written since begin, steps the engine, and carries out its orders.
void rb_controller_turn(struct rb_controller *c, struct rb_event event);
// Likewise for several that happened together. Their actions are carried out together, so nodes requested together are
// launched together.
void rb_controller_turns(struct rb_controller *c, struct rb_event *events, int n);
void rb_controller_carry_out(struct rb_controller *c, const struct rb_action *a); // an order that was recorded
void rb_controller_give_suggestions(struct rb_controller *c); // to trials that have their GPUs and no configuration
void rb_controller_give_advice(struct rb_controller *c); // if the engine has asked for a forecast
bool rb_controller_says_first(unsigned *said, unsigned what); // marks the warning as said; true: it was not
bool rb_controller_is_all_over(const struct rb_controller *c); // nothing is known to exist or to be on its way
void rb_controller_check_over(struct rb_controller *c);        // checks whether the run is over now
// Returns ok. Not ok: a write of the journal failed; nothing is decided from now on, and the rescue begins.
bool rb_controller_wrote(struct rb_controller *c, bool ok, const struct rb_err *err);
// Ends the run and leaves everything as it is.
void rb_controller_leave_run(struct rb_controller *c, const struct rb_err *err);
const char *rb_controller_resume_name(const struct rb_controller *c); // what `rbrun resume` and `rbrun stop` take

// listing.c
bool rb_controller_is_its_machine(const struct rb_controller *c, const char *instance_id);

// controller_timers.c
void rb_controller_arm(struct rb_controller *c, uint64_t *timer, int64_t delay_us, rb_loop_fn *fn, void *arg);
void rb_controller_disarm(struct rb_controller *c, uint64_t *timer);
void rb_controller_add_wake(struct rb_controller *c, int64_t at_us);
void rb_controller_arm_wake(struct rb_controller *c);
void rb_controller_arm_deadline(struct rb_controller *c);
void rb_controller_beat(void *arg); // now and from time to time
// When the loop resumed after its last long gap, attended time; INT64_MIN: there was none.
int64_t rb_controller_last_gap(const struct rb_controller *c, int64_t *out_gap_us);
void rb_controller_notice_gap(struct rb_controller *c); // notes it, and does at once what cannot wait
struct rb_run_call *rb_run_call_begin(struct rb_controller *c, enum rb_run_call_kind kind, struct rb_run_node *node,
                                      int infra);
void rb_run_call_end(struct rb_run_call *call);
bool rb_run_call_is_open(const struct rb_run_node *n, enum rb_run_call_kind kind); // one for the node's present launch
void rb_controller_free_calls(struct rb_controller *c);

// spot_prices.c
void rb_run_node_learn_market(struct rb_run_node *n, const char *zone); // of its instance; zone NULL: unknown
void rb_run_node_follow_journalled_prices(struct rb_run_node *n);       // its row comes from the journal
// It answers a listing after failures: one more question about prices if it was given up.
void rb_run_cloud_is_back(struct rb_run_cloud *cloud);
// Is everything billed at the prices that held? Asks for those that are missing, and checks then whether the run is over.
bool rb_controller_prices_are_known(struct rb_controller *c);
void rb_controller_free_markets(struct rb_controller *c);

// rescue.c
void rb_controller_rescue(struct rb_controller *c); // dead: ends every instance of the run, then leaves
// Ends what a launch created that was answered after the journal failed.
void rb_run_gang_rescue(struct rb_run_gang *g, const struct rb_err *err, const struct rb_instance *instances); // [g->n]

#endif
