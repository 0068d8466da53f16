// Launches: from the intent in the journal to instances. Inside the controller only.
//   gang.c      nodes that are launched together
//   launch.c    the intent, the request, and its answer
//   fallback.c  which offer is requested
//   listing.c   what the clouds report to exist
//   recover.c   requests without an outcome, after a restart
// The intent is journalled before a byte goes out. When no answer comes, the controller does not guess: it sends the
// identical request again, or a listing shows the instances.
#ifndef RB_EXECUTOR_LAUNCH_H
#define RB_EXECUTOR_LAUNCH_H

#include "base/text/buf.h"
#include "executor/controller/node.h"

struct rb_action;

enum {
    RB_CONTROLLER_COPY_S = 40,       // copies of one request arrive within ten seconds, and are listed half a minute later
    RB_CONTROLLER_LATE_S = 120,      // an unanswered one arrives at most this late
    // How long to repeat a launch that was answered with "not found": 404s of proxies pass
    RB_CONTROLLER_NOT_FOUND_S = 60,
    RB_CONTROLLER_END_SLACK_S = 3600,         // past the deadline: time for saving and ending
    RB_CONTROLLER_MAX_LIFETIME_S = 7 * 86400, // of a node, where the job has no deadline
    RB_CONTROLLER_NAME = 60,         // characters of an instance's name; tags hold 256
};

// The nodes of one request: a node, or several that are useless apart, all of them or none. Their rows share launch id
// and token, and are written together. The place of an instance in the launch decides which node it is.
struct rb_run_gang {
    struct rb_controller *c;
    struct rb_run_node **members; // [n], by node; superseded ones too
    int n;
    bool logged;           // in the run's launch log
    int tries, denials;    // repeats of the request, and how often it was denied
    int64_t unanswered_us; // when a request was left without an answer; -1: none
    int64_t unsent_us;     // since when it could not be sent; meaningless before the first failed try
    uint64_t timer;        // to the next repeat, or to the next offer
};

// Can the plan's offer be requested?
enum rb_run_offer_state {
    RB_OFFER_USABLE,
    RB_OFFER_TOO_EXPENSIVE, // the budget did not pay for it as a stand-in, and that was reported
    RB_OFFER_REJECTED,      // cannot stand in at all: refused for good, or without a price
};
struct rb_run_offer {
    enum rb_run_offer_state state;
    int64_t sold_out_us; // when the cloud last reported that, -1: never
    int64_t lost_us;     // when a node of it was last lost, -1: never, as far as this controller knows
};

// An instance that carries our run's tag but belongs to no open launch. In a rescue, which knows no launches: any instance.
struct rb_run_orphan {
    char instance_id[128];
    int infra;
    bool ended; // not listed any more; in a rescue: its termination was accepted
};

// gang.c
// Writes the intents for these orders, [n]. Nodes that one trial is spread over form a gang.
void rb_controller_record_launches(struct rb_controller *c, const struct rb_action *orders, int n);
struct rb_run_gang *rb_run_gang_create(struct rb_controller *c, int n); // the caller fills in the members
void rb_run_gang_discard(struct rb_run_gang *g);                        // the last gang, if nothing of it was written
void rb_controller_free_gangs(struct rb_controller *c);
bool rb_controller_link_gangs(struct rb_controller *c, struct rb_err *err); // from the rows that were loaded
// The first member for which `is` holds, NULL: none.
const struct rb_run_node *rb_run_gang_find(const struct rb_run_gang *g, bool (*is)(const struct rb_run_node *n));
bool rb_run_gang_is_called(const struct rb_run_gang *g); // its request has not been answered yet
void rb_run_gang_name(const struct rb_run_gang *g, struct rb_buf *out); // "nodes 3, 4"
void rb_run_gang_note(const struct rb_run_gang *g, const char *kind, const char *fmt, ...) // "nodes 3, 4: ..."
    __attribute__((format(printf, 3, 4)));
// Moves all undecided members to the state, and writes their rows together; false: the journal failed.
bool rb_run_gang_enter(struct rb_run_gang *g, enum rb_launch_state state);
// The gang cannot be completed: ends the members it has. The engine requests all of it again.
void rb_run_gang_break(struct rb_run_gang *g, const char *why);

// launch.c
// Writes the intent to launch n nodes as one gang; false: nothing was written.
bool rb_run_gang_record(struct rb_controller *c, const struct rb_action *const *orders, int n);
void rb_run_gang_send(struct rb_run_gang *g); // INTENT, SENT or AMBIGUOUS: the identical request
void rb_run_node_acknowledge(struct rb_run_node *n, const struct rb_instance *instance); // its instance exists
void rb_run_gang_drop_user_data(const struct rb_run_gang *g);
// Keeps the run from ending before copies of the request would show.
void rb_run_gang_await_copies(const struct rb_run_gang *g);
// One launch may create two instances: zone after zone is tried, and a copy of a request that one zone refused arrives
// after all. The second instance gets a row of its own with a number below zero. It is ended, and billed.
void rb_run_node_adopt_stray(struct rb_run_node *n, const struct rb_instance *instance);

// fallback.c
// The offer to request now for the node and for as many others of its kind as make `count`.
int rb_run_node_choose_offer(struct rb_run_node *n, int count);
void rb_run_gang_note_stand_in(const struct rb_run_gang *g); // if its launch requests another offer than the plan's
bool rb_run_gang_is_stand_in(const struct rb_run_gang *g);   // its launch does, and it is still wanted
void rb_controller_mark_sold_out(struct rb_controller *c, int offer, int64_t at_us);
void rb_run_gang_refused(struct rb_run_gang *g); // REFUSED: requests the next offer, at once or after a pause
// Its launch was accepted, and it ended without a machine.
void rb_run_node_was_sold_out(struct rb_run_node *n, const char *why);
// The same after a final refusal of a stand-in: this run does not request that offer again.
void rb_run_gang_reject_offer(struct rb_run_gang *g, const struct rb_err *err);
// The pauses it has had, as far as the journal shows: refusals before its launch, by the offer that refused most often.
int rb_run_node_pauses_before(const struct rb_run_node *n);

// Neither refused by its cloud a short while ago nor beyond the budget.
bool rb_run_node_can_have(const struct rb_run_node *n, int offer, int count);

// safe_spot.c
// The spot offer to request now, under resources.spot: safe; -1: what rb_run_node_choose_offer says of the others.
int rb_run_node_choose_spot(struct rb_run_node *n, int count);
// After a refusal: how long to wait before spot is asked for again; 0: another offer is requested at once.
int64_t rb_run_node_waits_for_spot(struct rb_run_node *n, int count);
void rb_controller_review_spot(struct rb_controller *c); // from time to time: may nodes on spot stay there?

// listing.c
void rb_run_cloud_wake(void *cloud); // it may have news: it is listed soon
void rb_controller_poll(void *arg); // lists every infra, now and every poll_us
void rb_controller_list_all(struct rb_controller *c);
void rb_run_node_observe(struct rb_run_node *n, const struct rb_instance *instance);
int rb_controller_find_orphan(struct rb_controller *c, int infra, const char *id, bool *out_is_new); // its index; added if new
bool rb_controller_orphans_are_over(const struct rb_controller *c);

// recover.c
bool rb_controller_replay(struct rb_controller *c, struct rb_err *err);
// After every infra was listed: repeats orders without an outcome.
void rb_controller_repeat_orders(struct rb_controller *c);

#endif
