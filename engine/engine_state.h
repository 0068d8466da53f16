// What an engine holds, and the moves its parts share. Included by the engine's own files alone:
//   engine.c        life, the step switch, what can be asked
//   stage.c         groups and barriers: ask the tuner and the policy, keep, release and request nodes
//   cluster.c       nodes: request, terminate, what clouds say of them
//   trials.c        trials: start, requeue, what training scripts say
//   run_events.c    start, wake-ups, advice, stop and resume
#ifndef RB_ENGINE_ENGINE_STATE_H
#define RB_ENGINE_ENGINE_STATE_H

#include "engine/action_list.h"
#include "engine/engine.h"
#include "engine/policy.h"
#include "engine/tuner.h"

struct trial {
    struct rb_trial pub;
    int slots_cap;
    bool ended;              // of the current stage: told to the tuner
    int64_t checkpoint;      // resource of its last safe checkpoint: where it starts again
    int64_t started_from;    // resource_start of the current or last start
    int ranked_stage;        // last stage it ended with a score, -1: none
    double ranked_score;
};

struct node {
    struct rb_owned_node pub;
    bool allocated;          // belongs to the current stage's allocation: trials may be placed on it
};

struct rb_engine {
    const struct rb_plan *plan;                      // the one it was created with
    const struct rb_plan *stage_plan[RB_LIMIT_STAGES]; // whose stage s is carried out; advice replaces later ones
    const struct rb_tuner *tuner;
    void *tuner_state;
    const struct rb_policy *policy;

    int64_t now_us;
    enum rb_job_outcome outcome;
    enum rb_stop_reason stop_reason;
    bool out_of_nodes;       // more nodes were asked for than one run may ever request

    int stage;               // -1 before START
    int64_t stage_start_us[RB_LIMIT_STAGES], stage_end_us[RB_LIMIT_STAGES];
    struct rb_allocation allocation;
    int64_t resource_start, resource_end;
    int next_ordinal;        // of the current stage's requests
    int n_early_made;        // entries of allocation.early already requested

    struct trial *trials;    // by id
    int n_trials;
    int *members;            // trial by position in the current stage
    int n_members, members_cap;
    int n_waiting, n_ended;  // among the members
    int first_waiting;       // no member before this position is waiting

    struct node *nodes;      // by number
    int n_nodes, nodes_cap;
    int *owned;              // numbers of nodes that have not ended, ascending
    int n_owned, owned_cap;
    bool places_changed;     // GPUs became free or trials became waiting since the last look

    struct rb_actions *out;  // of the step being made
};

// engine.c
bool rb_engine_check_plan(const struct rb_plan *plan, struct rb_err *err); // can it be carried out at all?

// stage.c
void rb_engine_advance(struct rb_engine *e);  // the next group, or the end of the job
void rb_engine_reallocate(struct rb_engine *e); // owned nodes become what the allocation lists
void rb_engine_wake_for_early(struct rb_engine *e);
void rb_engine_request_early(struct rb_engine *e); // those that are due
void rb_engine_finish_job(struct rb_engine *e, enum rb_job_outcome outcome, const char *reason);

// cluster.c
void rb_engine_request(struct rb_engine *e, int offer, bool allocated, const char *reason);
void rb_engine_terminate(struct rb_engine *e, int node, const char *reason);
void rb_engine_forget_ended(struct rb_engine *e); // drops ended nodes from `owned`
void rb_engine_on_node_running(struct rb_engine *e, const struct rb_event *event);
void rb_engine_on_node_ready(struct rb_engine *e, const struct rb_event *event);
void rb_engine_on_node_refused(struct rb_engine *e, const struct rb_event *event);
void rb_engine_on_node_lost(struct rb_engine *e, const struct rb_event *event);

// trials.c
void rb_engine_make_members(struct rb_engine *e, const struct rb_group *group);
void rb_engine_start_waiting(struct rb_engine *e); // as many waiting trials as fit, in order of position
void rb_engine_kill_running(struct rb_engine *e, enum rb_trial_state then, const char *reason);
void rb_engine_lose_trials_on(struct rb_engine *e, int node);
void rb_engine_resume_members(struct rb_engine *e);
void rb_engine_on_report(struct rb_engine *e, const struct rb_event *event);
void rb_engine_on_trial_ended(struct rb_engine *e, const struct rb_event *event);

// run_events.c
void rb_engine_on_start(struct rb_engine *e);
void rb_engine_on_time(struct rb_engine *e);
void rb_engine_on_advice(struct rb_engine *e, const struct rb_event *event);
void rb_engine_on_stop(struct rb_engine *e, enum rb_stop_reason reason);
void rb_engine_on_resume(struct rb_engine *e);

#endif
