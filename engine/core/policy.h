// A policy decides how many GPUs each trial gets and how many nodes to own. The engine asks it for the size of every group and
// for the cluster of every phase. A policy that watches the run also receives every result and may resize trials, close the
// tuner or change the pool. Pure, like the engine: its answers depend only on its inputs.
// A policy is one file under policies/ and one line in policies.c.
#ifndef RB_ENGINE_POLICY_H
#define RB_ENGINE_POLICY_H

#include "engine/core/advice.h"
#include "engine/core/placement.h"
#include "engine/core/tuner.h"
#include "engine/plan/plan.h"

struct rb_engine;

// What to own during a phase. Borrowed from the plan.
struct rb_allocation {
    const struct rb_plan_nodes *nodes;
    int n_nodes;
    const struct rb_plan_early *early;
    int n_early;
    const char *reason;                 // static text
};

struct rb_resize {
    int trial;
    struct rb_width width;              // 0 GPUs: it is to pause
};

// What a watching policy wants now. The engine zeroes it before each call; the engine owns the lists, which
// rb_decide_resize grows.
struct rb_decisions {
    struct rb_resize *resizes;          // trials that are to checkpoint, give way and start again with another size
    int n_resizes, resizes_cap;
    bool in_order;                      // those of them that wait start in the order of the list
    bool close;                         // start no more trials of the kind close_what
    enum rb_tuner_close close_what;
    int pool_nodes;                     // number of nodes of the phase's first entry to own; -1: as before
    bool advise;                        // ask the world for a forecast: on_advice receives the answer
    const char *reason;                 // static text, of all of the above
};
void rb_decide_resize(struct rb_decisions *d, int trial, int gpus); // GPUs of its own
void rb_decide_width(struct rb_decisions *d, int trial, struct rb_width width);

struct rb_policy {
    const char *name;
    bool anytime;                       // at its deadline the best trial so far wins; that is no failure
    // Its nodes are shared with other jobs: on each it may use the GPUs of RB_EVENT_LENT.
    bool on_lent_gpus;
    bool keeps_cluster;                 // owns the first stage's nodes throughout: it can execute only static plans
    bool needs_on_demand;               // works only under asynchronous tuners
    int estimate_runs;                  // the most simulated runs that an estimate uses, because each takes long; 0: no limit
    // A clause for forecasts of the end of a run: the assumption that they make because the policy decides during the
    // run. NULL: none.
    const char *foreseen_if;
    // GPUs of each trial of the group. Pure function of its inputs.
    int (*size)(const struct rb_plan *plan, const struct rb_group *group);
    // Trials that may share one GPU when the group starts there with size one; NULL: they do not share. group NULL: as
    // for the next group of an asynchronous tuner.
    int (*sharers)(const struct rb_plan *plan, const struct rb_group *group);
    // The nodes to own while the tuner is in `phase`. Pure function of its inputs.
    void (*cluster)(const struct rb_plan *plan, int phase, struct rb_allocation *out);

    // Watching; all NULL for a policy that only follows the plan.
    bool (*create)(const struct rb_plan *plan, void **out_state, struct rb_err *err);
    void (*destroy)(void *state);
    // May the tuner hand out one more trial now?
    bool (*admits)(void *state, const struct rb_engine *e);
    // Trial `trial` reported (it still trains) or no longer trains.
    void (*decide)(void *state, const struct rb_engine *e, int trial, struct rb_decisions *out);
    // GPUs became free or trials became waiting: decides which trials start next, their sizes, and which to resize.
    // Called before any waiting trial starts.
    void (*arrange)(void *state, const struct rb_engine *e, struct rb_decisions *out);
    // The usable GPUs have changed. Trials on GPUs that the run may no longer use are asked to give way in any case.
    void (*on_lent)(void *state, const struct rb_engine *e, struct rb_decisions *out);
    // The world's answer to `advise`; may come late or never.
    void (*on_advice)(void *state, const struct rb_engine *e, const struct rb_advice *advice, struct rb_decisions *out);
};

const struct rb_policy *rb_policy_find(const char *name); // NULL: unknown
// A policy that one job can use by itself: NULL also for policies of lent GPUs.
const struct rb_policy *rb_policy_find_alone(const char *name);
extern const struct rb_policy *const rb_policies[];        // sorted by name, NULL-terminated

#endif
