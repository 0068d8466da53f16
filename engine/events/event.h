// Defines the events: everything that the engine can learn. Events carry their own time. The journal stores them in
// order; replaying them into a fresh engine recovers a crashed run.
#ifndef RB_ENGINE_EVENT_H
#define RB_ENGINE_EVENT_H

#include "base/arena.h"
#include "base/document/doc.h"
#include "base/document/json.h"
#include "base/limits.h"
#include "profiles/fit/step_stats.h"
#include "profiles/space/space.h"

#include <stdint.h>

struct rb_advice;

// The version of the engine's decisions. A run keeps the version of its first event, so that journals of older versions
// replay as they were written.
enum rb_rules {
    RB_RULES_OLDEST = 0, // of journals without a version
    RB_RULES_REPLACE,    // the next best replaces a promoted trial that fails; a search without a result is incomplete
    RB_RULES_NOW = RB_RULES_REPLACE,
};

enum rb_event_kind {
    RB_EVENT_START,           // rules: the run begins
    RB_EVENT_NODE_RUNNING,    // node, attempt: its queueing delay is over, billing has begun
    RB_EVENT_NODE_READY,      // node, data_us, pull_us: initialised, trials may start
    RB_EVENT_NODE_REFUSED,    // node, attempt: no capacity; nothing is billed; the engine requests it again
    RB_EVENT_NODE_LOST,       // node: preempted, died or never came up; billed to this instant
    RB_EVENT_REPORT,          // trial, attempt, resource, metric, steps: one line of a training script
    RB_EVENT_TRIAL_ENDED,     // trial, attempt, outcome; of FAILED signature and said
    RB_EVENT_TIME,            // a wake-up requested by RB_ACTION_WAKE
    RB_EVENT_ADVICE,          // changes, admit_until_us, because: other nodes and GPUs for stages that have not begun, other
                              // nodes for the one under way; changes of others are left out. Ignored if the plan could
                              // then not be carried out
    RB_EVENT_FORECAST,        // advice: the world's forecast, requested by a policy (RB_ACTION_ADVISE)
    RB_EVENT_STOP,            // reason
    RB_EVENT_LENT,            // node, gpus: the GPUs that the run may use from now on, of a node that others use as
                              // well; trials on its other GPUs must give way. Only for policies of lent GPUs
    RB_EVENT_RESUME,          // after STOP: unfinished trials start again from their last checkpoints, on new nodes
    RB_EVENT_SUGGESTED,       // trial, values, origin, because: the configuration of a new trial (RB_ACTION_SUGGEST); without
                              // values: there is no further one, and the search starts no new trial
    RB_EVENT_TRIAL_SAVED,     // trial, attempt, resource: a checkpoint from the middle of its stage is safe; if the trial is
                              // lost, it starts again from there
};

struct rb_named_value {
    const char *name;
    struct rb_value value;
};

enum rb_outcome {
    RB_OUTCOME_REACHED,       // exit 0 and resource_end reported: checkpoint is safe. Ignored before that report: it
                              // belongs to an earlier stage (an exit 0 that never reported it is FAILED)
    RB_OUTCOME_YIELDED,       // exit 75: checkpointed and gave way; starts again from there. Without progress since its
                              // start it counts as failed
    RB_OUTCOME_FAILED,        // any other exit, or the gang broke
    RB_OUTCOME_HUNG,          // no report for trial.timeout; killed
    RB_OUTCOME_EVICTED,       // asked to give way, but not in time; killed. Its work since its last checkpoint is lost,
                              // but does not count as a failure
};

// A script is broken when this many distinct trials fail in the same way before any has reported.
enum { RB_BROKEN_TRIALS = 3 };

enum rb_stop_reason {
    RB_STOP_USER,
    RB_STOP_DEADLINE,
    RB_STOP_BUDGET,
    RB_STOP_CAPACITY,
    RB_STOP_DRIFT,
    RB_STOP_FAILURE,  // the run cannot continue
    RB_STOP_RELEASED, // it owns the nodes of a pool whose jobs are over
    RB_STOP_BROKEN_SCRIPT, // by the engine itself: the first trials all failed in the same way before any reported
};

// What a stage of the plan is carried out with from now on: nodes of one offer.
struct rb_stage_change {
    int stage, offer, gpus_per_trial, nodes;
};

struct rb_event {
    enum rb_event_kind kind;
    int64_t time_us;          // since the start of the run; never decreases
    int rules;                // START: enum rb_rules
    int node, trial, attempt, stage;
    int stand_in;             // NODE_RUNNING in virtual time: 1 + the offer that runs in the plan's place; 0: the plan's
                              // own, or in the journal's launches; not written
    int64_t data_us;          // NODE_READY: so long it fetched the job's data until now; 0: it fetched none
    int64_t pull_us;          // NODE_READY: so long the image of its container was pulled; 0: there is none, it was there, or unknown
    uint64_t gpus;            // LENT: bit mask, all that may be used
    int64_t resource;
    double metric;            // any double, NaN included
    struct rb_step_stats steps; // REPORT
    enum rb_outcome outcome;
    uint64_t signature;       // FAILED: equal for failures that look alike; 0: not comparable with any
    const char *said;         // FAILED: the script's last output, sanitised; NULL: none; borrowed during the step
    enum rb_stop_reason reason;
    const struct rb_stage_change *changes; // ADVICE: by stage, [n_changes]; borrowed during the step
    int n_changes;
    int64_t admit_until_us;   // ADVICE: no configuration starts after this; 0: as before. Only tuners that start them on demand
    const struct rb_advice *advice; // FORECAST: borrowed during the step
    // SUGGESTED: of the parameters that apply, [n_values]; borrowed during the step, as are the texts
    const struct rb_named_value *values;
    int n_values;
    const char *origin;       // who proposed it: "tpe", "start", "command"
    const char *because;      // for people, of ADVICE, too; NULL: no reason given
};

// JSON of one event for the journal and events.jsonl. NaN and infinities survive as strings. What an event points to is
// copied into `arena`.
void rb_event_write(const struct rb_event *e, struct rb_json *j);
bool rb_event_read(const struct rb_node *node, struct rb_arena *arena, struct rb_event *out, struct rb_err *err);
// Of SUGGESTED: its values in the order of the space, ABSENT where it names none; texts stay the event's. out_values [n_params].
void rb_event_values(const struct rb_event *e, const struct rb_space *space, struct rb_value *out_values);
const char *rb_event_kind_name(enum rb_event_kind kind);
const char *rb_outcome_name(enum rb_outcome o);
const char *rb_stop_reason_name(enum rb_stop_reason r);
extern const char *const rb_event_kind_names[], *const rb_outcome_names[], *const rb_stop_reason_names[]; // the same, by enum

#endif
