// The engine decides what a run does. One call takes an event and returns a plain list of actions that the world must carry
// out. It uses no I/O, clock, random number or global: the same events in the same order give the same actions.
#ifndef RB_ENGINE_ENGINE_H
#define RB_ENGINE_ENGINE_H

#include "engine/core/action.h"
#include "engine/core/batching.h"
#include "engine/events/event.h"
#include "engine/plan/plan.h"

struct rb_policy;

enum rb_trial_state { RB_TRIAL_WAITING, RB_TRIAL_RUNNING, RB_TRIAL_PAUSED, RB_TRIAL_STOPPED, RB_TRIAL_FAILED, RB_TRIAL_COMPLETED };
const char *rb_trial_state_name(enum rb_trial_state s); // "waiting", "running", "paused", "stopped", "failed", "completed"
enum rb_owned_state { RB_OWNED_REQUESTED, RB_OWNED_RUNNING, RB_OWNED_READY, RB_OWNED_ENDED };

// What the engine knows of a trial. Read-only outside engine/.
struct rb_trial {
    enum rb_trial_state state;
    int stage;                // last stage it was part of
    int position;             // k in that stage; asynchronous: the trial's id
    int attempt;              // of the current or last start in this stage, from 0
    int failures;             // restarts charged against trial.max_restarts
    int gpus;                 // while WAITING or RUNNING
    int sharers;              // trials that may sit on its GPU, itself included; 1: it has the GPU to itself
    int next_gpus;            // GPUs of its next start, if it was asked to give way; 0: it will pause; else `gpus`
    int next_sharers;         // likewise; else `sharers`
    int64_t started_us;       // of the current or last start, -1: never
    int parent;               // it began with this trial's checkpoint, -1: with none
    int64_t cloned_at;        // the resource of that checkpoint; 0 without a parent
    int64_t resource;         // trained and reported so far; what its parent had trained counts
    int64_t resource_end;     // of its budget
    double metric;            // last reported, NaN before the first
    double score;             // of that metric; -INFINITY before the first, and for a failed trial
    struct rb_trial_batch with; // of the current or last start
    struct rb_slot *slots;    // while RUNNING
    int n_slots;
    // What was suggested, [space.n_params]; NULL: nothing yet, or the job's configurations follow from its seed
    const struct rb_value *values;
    const char *origin, *because; // of that; NULL: none
};

struct rb_owned_node {
    enum rb_owned_state state;
    int offer, stage, ordinal, attempt; // key of its draws; the plan's offer
    int billed_offer;         // the same, except in virtual time: what stands in for it
    int gpus;
    uint64_t usable;          // bit mask: all GPUs, except on a node that is shared with other jobs
    uint64_t busy;            // bit mask
    int64_t requested_us, running_us, ready_us, ended_us; // -1: not yet
};

enum rb_job_outcome {
    RB_JOB_RUNNING,
    RB_JOB_COMPLETE,
    RB_JOB_TARGET,
    RB_JOB_STOPPED,    // it may be resumed (RB_EVENT_RESUME)
    RB_JOB_INCOMPLETE, // everything possible is done, and no trial was trained to the end with a result
};
// Is the job over for good?
static inline bool rb_job_is_final(enum rb_job_outcome o)
{
    return o == RB_JOB_COMPLETE || o == RB_JOB_TARGET || o == RB_JOB_INCOMPLETE;
}

struct rb_engine;

// The plan (with its job) is borrowed and must outlive the engine.
bool rb_engine_create(const struct rb_plan *plan, struct rb_engine **out, struct rb_err *err);
void rb_engine_destroy(struct rb_engine *e);

// One turn. Late and duplicate events about ended nodes, old attempts and lower resources are ignored by design.
void rb_engine_step(struct rb_engine *e, const struct rb_event *event, struct rb_actions *out);

// The current state, for reports and status. Borrowed until the next step.
const struct rb_plan *rb_engine_present_plan(const struct rb_engine *e); // as advice has changed it
int rb_engine_n_trials(const struct rb_engine *e);
const struct rb_trial *rb_engine_trial(const struct rb_engine *e, int trial);
int rb_engine_n_nodes(const struct rb_engine *e);
const struct rb_owned_node *rb_engine_node(const struct rb_engine *e, int node);
int64_t rb_engine_now_us(const struct rb_engine *e);            // of the last event
const int *rb_engine_running(const struct rb_engine *e, int *out_n); // ids of running trials, in no order
const int *rb_engine_waiting(const struct rb_engine *e, int *out_n); // ids, the first in the queue first, else in no order
// For policies that watch: running trials that will not pause, ordered by score, best first, ties by id.
int rb_engine_n_standing(const struct rb_engine *e);
int rb_engine_standing(const struct rb_engine *e, int place);   // the trial there
int rb_engine_place(const struct rb_engine *e, int trial);      // -1: it does not run, or will pause
// GPUs that trials have or wait for, whichever is larger
int rb_engine_claimed_gpus(const struct rb_engine *e);
// The policy's state, for its adviser; NULL: the engine follows another policy.
const void *rb_engine_policy_state(const struct rb_engine *e, const struct rb_policy *policy);
int rb_engine_n_gpus(const struct rb_engine *e);                // GPUs on which trials may be placed now, busy or free
// The number of trials of `gpus` GPUs each that the usable GPUs could hold at once if all of them were free.
int rb_engine_capacity(const struct rb_engine *e, int gpus);
// Could the trial, waiting or running, have `gpus` GPUs now if it released its own?
bool rb_engine_would_fit(const struct rb_engine *e, int trial, int gpus);
int rb_engine_stage(const struct rb_engine *e);                 // the tuner's phase, -1 before START
int64_t rb_engine_stage_start_us(const struct rb_engine *e, int stage); // -1: not started
int64_t rb_engine_stage_end_us(const struct rb_engine *e, int stage);   // -1: not ended
enum rb_job_outcome rb_engine_outcome(const struct rb_engine *e, enum rb_stop_reason *out_reason);
// Best trial by the job's goal: furthest rung first, then score, then id; asynchronous: by the last report, then id.
// A trial that failed for good is below all others. -1: none reported yet.
int rb_engine_best(const struct rb_engine *e);
// For a run that ended because its script is broken (RB_STOP_BROKEN_SCRIPT): the number of trials that failed in the
// same way, and the last output of the last of them, NULL: none; borrowed from the engine. 0: the run did not end so.
int rb_engine_broken(const struct rb_engine *e, const char **out_said);
// Did the trial end because its last failure was the same as the one before?
bool rb_engine_failed_alike(const struct rb_engine *e, int trial);
// Does the trial have its GPUs and wait for RB_EVENT_SUGGESTED?
bool rb_engine_needs_configuration(const struct rb_engine *e, int trial);
// Does the simulated time of the run still matter for this trial's attempt? Used to drop late process exits.
bool rb_engine_attempt_is_current(const struct rb_engine *e, int trial, int attempt);
// Would a checkpoint of this attempt move the place from which the trial starts again? Its resource is reported, beyond the
// last safe checkpoint, and before the end of the stage, whose checkpoint is what the start leaves.
bool rb_engine_may_save(const struct rb_engine *e, int trial, int attempt, int64_t resource);

#endif
