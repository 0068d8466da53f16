// Defines the state of an engine and the functions that its parts share. Only the engine's own files include it:
//   engine.c        life, the step switch, queries
//   stage.c         groups and phases: ask the tuner and the policy; keep, release and request nodes
//   cluster.c       nodes: request, terminate, events from clouds
//   queue.c         waiting trials and their order
//   trials.c        trials: join, start, give way, start again
//   results.c       results of training scripts, and what tuner and policy decide from them
//   run_events.c    start, wake-ups, advice, stop and resume
#ifndef RB_ENGINE_ENGINE_STATE_H
#define RB_ENGINE_ENGINE_STATE_H

#include "engine/core/action_list.h"
#include "engine/core/engine.h"
#include "engine/core/policy.h"
#include "engine/core/standings.h"
#include "engine/core/tuner.h"

// Why a running trial was asked to checkpoint and give way.
enum giving_way { GIVES_NO_WAY, GIVES_WAY_TO_RESIZE, GIVES_WAY_TO_PAUSE };

struct trial {
    struct rb_trial pub;
    int slots_cap;
    struct rb_width wanted;  // pub.gpus are this many, or what the phase's nodes can hold
    bool handed_out;         // by the tuner, and its end has not been reported back yet
    enum giving_way giving_way;
    int64_t checkpoint;      // resource of its last safe checkpoint: where it starts again
    int64_t started_from;    // resource_start of the current or last start
    int64_t order;           // place in the queue: by group, then by position; kept until the tuner learns of its end
    int running_at;          // index in `running`, -1: does not run
    int64_t ranked_resource; // its resource when it last ended a stage with a score, -1: never
    double ranked_score;
    uint64_t failure;        // signature of its last failure in this stage, 0: none, or not comparable
    int64_t failed_at;       // the resource it had reached then
    bool failed_alike;       // it ended because it failed twice in the same way
    bool asked;              // its configuration was requested
};

// The trials on a busy GPU.
struct gpu_use {
    int trial;               // the last that started there
    int n_trials, sharers;   // on it now; at most
};

struct node {
    struct rb_owned_node pub;
    bool allocated;          // belongs to the current phase's allocation: trials may be placed on it
    struct gpu_use *uses;    // of the busy ones, by GPU; NULL before the first trial. [gpus]
    int n_shared;            // busy GPUs that several trials may sit on
    bool draining;           // no longer listed, but trials still run on it: it is released after the last has left
};

// May trials be placed on it now?
static inline bool rb_node_is_held(const struct node *n)
{
    return n->allocated && n->pub.state == RB_OWNED_READY;
}

struct rb_engine {
    const struct rb_plan *plan;                      // the one it was created with
    const struct rb_plan *stage_plan[RB_LIMIT_STAGES]; // the plan whose stage s is executed; advice replaces later ones
    const struct rb_tuner *tuner;
    void *tuner_state;
    const struct rb_policy *policy;
    void *policy_state;      // NULL: it does not watch
    struct rb_batching *batching; // NULL: the job's batch is not tuned
    struct rb_decisions decisions; // reused

    int64_t now_us;
    enum rb_job_outcome outcome;
    enum rb_stop_reason stop_reason;
    int rules;               // enum rb_rules, of START
    bool suggests;           // configurations are facts of the run (scheduler.sampler)
    bool closed;             // the tuner was closed: it starts fewer trials than it could have
    bool any_report;
    int n_failed;            // trials that failed for good
    int n_broken;            // trials that failed alike, which ended the run; 0: none
    const char *broken_said; // in `arena`
    bool out_of_nodes;       // more nodes were requested than one run may ever request

    int stage;               // the tuner's phase: its nodes are owned; -1 before START
    int64_t phase_start_us;
    int64_t stage_start_us[RB_LIMIT_STAGES], stage_end_us[RB_LIMIT_STAGES];
    int n_live[RB_LIMIT_STAGES];       // trials of the stage that the tuner has handed out and that have not ended
    int n_joined[RB_LIMIT_STAGES];     // trials of the stage that were ever handed out
    int next_ordinal[RB_LIMIT_STAGES]; // of the stage's node requests
    int n_live_total;
    struct rb_allocation allocation;
    // The allocation's only entry once a policy has changed its size; count 0: none has.
    struct rb_plan_nodes pool;
    int n_early_made;        // entries of allocation.early already requested

    struct trial *trials;    // by id
    int n_trials, trials_cap;
    int64_t next_order;
    int *queue;              // ids of waiting trials, a heap by order
    int n_waiting, queue_cap;
    int *running;            // ids, in no order
    int n_running, running_cap;
    struct rb_standings standings; // running trials that are not to pause, where a policy watches
    int claimed_gpus;        // GPUs of running and of waiting trials; the larger number for one that is to be resized

    struct node *nodes;      // by number
    int n_nodes, nodes_cap;
    int *owned;              // numbers of nodes that have not ended, ascending
    int n_owned, owned_cap;
    int n_drained;           // nodes whose last trial has left while they drained
    struct rb_places places; // the nodes trials may be placed on
    struct rb_slot *slots;   // of the trial being placed, [slots_cap]
    int slots_cap;
    bool places_changed;     // GPUs became free or trials became waiting since the last look

    struct rb_arena arena;   // trials' slots, nodes' uses
    struct rb_actions *out;  // of the current step
};

// engine.c
bool rb_engine_check_plan(const struct rb_plan *plan, struct rb_err *err); // can it be executed at all?

// stage.c
void rb_engine_advance(struct rb_engine *e);    // all groups that the tuner has; then a new phase, or the end
void rb_engine_enter_phase(struct rb_engine *e); // the tuner's phase, if it has changed
void rb_engine_ask(struct rb_engine *e);        // an on_demand tuner, as long as a trial could start at once
void rb_engine_reallocate(struct rb_engine *e); // owned nodes become what the allocation lists
void rb_engine_resize_pool(struct rb_engine *e, int n_nodes, const char *reason);
void rb_engine_release_drained(struct rb_engine *e);
void rb_engine_wake_for_early(struct rb_engine *e);
void rb_engine_request_early(struct rb_engine *e); // those that are due
void rb_engine_finish_job(struct rb_engine *e, enum rb_job_outcome outcome, const char *reason);
void rb_engine_finish_search(struct rb_engine *e, const char *reason); // COMPLETE, or INCOMPLETE
void rb_engine_close_tuner(struct rb_engine *e, enum rb_tuner_close what); // if it can be closed

// cluster.c
void rb_engine_request(struct rb_engine *e, int offer, bool allocated, const char *reason);
void rb_engine_terminate(struct rb_engine *e, int node, const char *reason);
void rb_engine_update_place(struct rb_engine *e, int node); // after a change of whether or how far it is free
void rb_engine_forget_ended(struct rb_engine *e); // drops ended nodes from `owned`
void rb_engine_on_node_running(struct rb_engine *e, const struct rb_event *event);
void rb_engine_on_node_ready(struct rb_engine *e, const struct rb_event *event);
void rb_engine_on_node_refused(struct rb_engine *e, const struct rb_event *event);
void rb_engine_on_node_lost(struct rb_engine *e, const struct rb_event *event);
void rb_engine_on_lent(struct rb_engine *e, const struct rb_event *event);

// queue.c
void rb_engine_enqueue(struct rb_engine *e, int trial);
int rb_engine_first_waiting(const struct rb_engine *e); // n_waiting > 0
void rb_engine_dequeue_first(struct rb_engine *e);
void rb_engine_dequeue(struct rb_engine *e, int trial); // which waits
// Waiting trials of the list swap places.
void rb_engine_reorder(struct rb_engine *e, const struct rb_resize *list, int n);

// trials.c
void rb_engine_join_group(struct rb_engine *e, const struct rb_group *group, struct rb_width width);
void rb_engine_change_waiting(struct rb_engine *e, int trial, struct rb_width width); // of a trial in the queue
// Of a running trial; 0 GPUs: it will pause.
void rb_engine_plan_resize(struct rb_engine *e, int trial, struct rb_width next);
void rb_engine_refit_waiting(struct rb_engine *e); // after a change of which nodes to own
const char *rb_engine_accelerator_of(const struct rb_engine *e, const struct rb_slot *slots); // a gang has one kind
void rb_engine_start_waiting(struct rb_engine *e); // as many waiting trials as fit, in order
void rb_engine_wait_again(struct rb_engine *e, int trial); // from its last checkpoint
void rb_engine_vacate(struct rb_engine *e, int trial);
void rb_engine_give_way(struct rb_engine *e, int trial, enum giving_way why, const char *reason);
void rb_engine_kill_trial(struct rb_engine *e, int trial, const char *reason);
void rb_engine_kill_all(struct rb_engine *e, enum rb_trial_state then, const char *reason); // running and waiting
void rb_engine_lose_trials_on(struct rb_engine *e, int node);
void rb_engine_clear_unusable(struct rb_engine *e, int node); // trials on GPUs that they may no longer use give way
void rb_engine_resume_trials(struct rb_engine *e);
void rb_engine_on_suggested(struct rb_engine *e, const struct rb_event *event);

// results.c
void rb_engine_end_paused(struct rb_engine *e, int trial); // it gave way, at its checkpoint
void rb_engine_end_unbegun(struct rb_engine *e, int trial); // it never trained
void rb_engine_on_report(struct rb_engine *e, const struct rb_event *event);
void rb_engine_on_saved(struct rb_engine *e, const struct rb_event *event);
void rb_engine_on_trial_ended(struct rb_engine *e, const struct rb_event *event);
void rb_engine_on_forecast(struct rb_engine *e, const struct rb_event *event);
void rb_engine_let_policy_arrange(struct rb_engine *e); // before waiting trials start
void rb_engine_let_policy_share(struct rb_engine *e); // the usable GPUs have changed

// run_events.c
void rb_engine_on_start(struct rb_engine *e, const struct rb_event *event);
void rb_engine_on_time(struct rb_engine *e);
void rb_engine_on_advice(struct rb_engine *e, const struct rb_event *event);
void rb_engine_on_stop(struct rb_engine *e, enum rb_stop_reason reason);
void rb_engine_on_resume(struct rb_engine *e);

#endif
