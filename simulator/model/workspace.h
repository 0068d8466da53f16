// The working memory of one replicate, kept between replicates so that the inner loop allocates nothing, and the
// cluster that both ways of computing a replicate share: which nodes are owned, what each node drew, what it cost.
//   replicate.c          entry; stages without lost nodes, in closed loops
//   replicate_events.c   stages with preemption, event by event
//   stage_run.c          one stage by itself, for the planner's tables
//   cluster.c            nodes
#ifndef RB_SIMULATOR_WORKSPACE_H
#define RB_SIMULATOR_WORKSPACE_H

#include "engine/core/placement.h"
#include "simulator/model/evaluate.h"
#include "simulator/model/program.h"
#include "simulator/world/event_heap.h"

// Upper limit of a run: 100 years. A plan beyond it is an error, and no sum below overflows.
#define RB_SIM_HORIZON_US (INT64_C(3155760000) * RB_US_PER_S)

struct rb_sim_node {
    int offer, stage, ordinal, attempt; // key of its draws
    int64_t running_us, ready_us;
    int64_t lost_us;                    // next strike of its clock; INT64_MAX: never
    int strike;                         // number of that strike; RB_SIM_TAKEN: it is taken with others
    bool owned;
    bool allocated;                     // of the current stage: trials may be placed on it
    bool ready;                         // its event was seen; from here on: only used event by event
    uint64_t free;                      // GPUs
    int n_trials;                       // that run on it
};

// A start of a trial in the current stage.
struct rb_sim_start {
    int attempt;
    int64_t trained;         // units of the stage that earlier starts have saved
    double save_every_s;     // on the node where it runs
};

struct rb_sim_trial {
    struct rb_sim_start start;
    int64_t started_us;
    bool running;
    int n_slots;
};

struct rb_workspace {
    const struct rb_program *program;
    uint32_t replicate;
    struct rb_replicate *out;
    struct rb_err *err;      // of the replicate being run
    bool failed;             // its error is set

    int first_stage;         // 0, except for one stage by itself (stage_run.c), which inherits nodes of one offer
    int n_inherited, inherited_offer;
    int64_t node_us;         // running to ended, over all nodes
    int n_billed_new;        // nodes that ran and were not inherited
    bool is_unbilled;        // bills are not computed: only node_us is needed
    int64_t until_us;        // event by event, the last stage ends at this time if not before; the horizon: that is an
                             // error

    int stage;
    int64_t stage_start_us;
    double unit_s;           // of the stage, in this replicate
    int next_ordinal;
    int n_early_made;

    struct rb_sim_node *nodes; // by number
    int n_nodes, nodes_cap;
    int *owned;              // numbers, ascending
    int n_owned, owned_cap;
    int *missing;            // per entry of a stage's nodes
    int missing_cap;

    int64_t *times;          // of slots or nodes
    int times_cap;

    struct rb_event_heap heap;
    struct rb_sim_trial *trials;   // by position
    struct rb_slot *slots;         // [position x max_nodes_per_trial]
    int trials_cap, slots_cap;
    int *requeued;           // min-heap of positions that lost their node
    int n_requeued, requeued_cap;
    struct rb_places places; // of the current stage's nodes that are ready
};

// cluster.c
void rb_sim_cluster_reset(struct rb_workspace *ws);
// Start of a stage: keep, release, request.
void rb_sim_cluster_allocate(struct rb_workspace *ws, const struct rb_plan_stage *stage, int64_t now_us);
// Nodes that are ready when the first stage starts, as if an earlier stage had left them.
void rb_sim_cluster_inherit(struct rb_workspace *ws);
int rb_sim_cluster_request(struct rb_workspace *ws, int offer, int stage, int ordinal, int attempt, bool allocated,
                           int64_t now_us); // its number, -1: the replicate has failed
void rb_sim_cluster_request_early(struct rb_workspace *ws, const struct rb_plan_stage *stage, int64_t now_us); // due ones
void rb_sim_cluster_end_node(struct rb_workspace *ws, int node, int64_t now_us); // and bill it
void rb_sim_cluster_forget_ended(struct rb_workspace *ws);
void rb_sim_cluster_end_all(struct rb_workspace *ws, int64_t now_us);

// The replicate cannot continue. Returns false.
bool rb_sim_fail(struct rb_workspace *ws, const char *why);

// replicate_events.c
bool rb_sim_run_events(struct rb_workspace *ws);

// replicate.c
// Duration of a start, from the kept noise if available.
double rb_sim_stage_unit_s(const struct rb_workspace *ws); // stored in unit_s at a stage's start
int64_t rb_sim_start_us(const struct rb_workspace *ws, int position, const struct rb_sim_start *start);
// Units of it that are safe by by_us after it began.
int64_t rb_sim_start_safe(const struct rb_workspace *ws, int position, const struct rb_sim_start *start, int64_t by_us);
// End of the stage if no node is lost; its nodes are requested. false: the end is after until_us, and nothing was
// changed.
bool rb_sim_run_stage(struct rb_workspace *ws, int64_t until_us, int64_t *out_end_us);
// From ws->first_stage on, with ws->n_inherited nodes: for stage_run.c.
bool rb_sim_run_from(struct rb_workspace *ws, const struct rb_program *program, uint32_t replicate,
                     struct rb_replicate *out, struct rb_err *err);
// A compiled plan, for evaluate.c.
bool rb_sim_run(struct rb_workspace *ws, const struct rb_program *program, uint32_t replicate, struct rb_replicate *out,
                struct rb_err *err);

#endif
