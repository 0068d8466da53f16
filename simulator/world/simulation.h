// Simulates plans on the same draws and learning curves, replicate by replicate, and measures them.
#ifndef RB_SIMULATOR_SIMULATION_H
#define RB_SIMULATOR_SIMULATION_H

#include "engine/plan/plan.h"
#include "simulator/blackbox/run.h"
#include "simulator/forecast/curves.h"
#include "simulator/stage/compare.h"
#include "simulator/world/world_evaluate.h"

// One tuner with one sampler under one policy.
struct rb_sim_variant {
    const char *label;               // "asha:hypersched", and the keys it sets
    struct rb_job job;               // that its plan points at
    struct rb_plan plan;
    struct rb_earlier earlier;       // runs that its sampler starts from; n_runs 0: none
    struct rb_world_result *results; // [n of the simulation], owned
    struct rb_blackbox_outcome *outcomes; // the same runs, where a table stands for training; owned
};

struct rb_simulation {
    struct rb_sim_variant *variants; // [n_variants]; the others are compared with the first
    int n_variants;
    struct rb_curves curves;
    const struct rb_blackbox *table; // it stands for training instead of the curves; NULL: none
    const struct rb_market_replay *market; // spot markets from a table; NULL: as the profile says
    uint64_t seed;
    int n;                           // replicates, keys 0..n-1
    bool stop_at_deadline;           // every run, whatever its policy
    struct rb_reactor *(*reactor)(const struct rb_plan *plan); // as in struct rb_world_runs; NULL: runs keep to their plan
    // For jobs whose configurations another program proposes, as in struct rb_world_runs; NULL: they have no values.
    bool (*prepare_program)(void *ctx, const struct rb_plan *plan, uint32_t replicate, struct rb_world_options *opt, struct rb_err *err);
    void (*finish_program)(void *ctx, struct rb_world_options *opt);
    void *program_ctx;
};

// Runs all of them. Runs end at the deadline only if one of the compared policies works towards a deadline, or if that
// is requested; otherwise the whole distribution is shown.
bool rb_simulate(struct rb_simulation *sim, int threads, struct rb_err *err);

// The first run of a variant once more, observed as in struct rb_world_runs.
bool rb_sim_watch(const struct rb_simulation *sim, const struct rb_sim_variant *v,
                  void (*observe)(void *ctx, uint32_t replicate, const struct rb_engine *e, const struct rb_event *event,
                                  const struct rb_actions *actions),
                  void *ctx, struct rb_world_result *out, struct rb_err *err);

// The parts of a simulation that rb_simulate made.
void rb_sim_variant_finish(struct rb_sim_variant *v, int n);

// The reported figures of each run. The last two are a table's only.
enum rb_sim_measure {
    RB_SIM_TIME, RB_SIM_COST, RB_SIM_METRIC, RB_SIM_TRAINED, RB_SIM_FULL, RB_SIM_FIRST_FULL, RB_SIM_UNITS,
    RB_SIM_REGRET, RB_SIM_TARGET_COST,
};
int rb_sim_n_measures(const struct rb_simulation *sim);
// NaN: undefined (no finite metric; no trial at R; the target was not reached).
double rb_sim_measure(const struct rb_simulation *sim, const struct rb_sim_variant *v, int run, enum rb_sim_measure measure);
// Over the runs that have the figure; n = 0: none.
struct rb_mean rb_sim_mean(const struct rb_simulation *sim, const struct rb_sim_variant *v, enum rb_sim_measure measure);
// Of the regret in all runs with this much spent. Only with a table.
struct rb_mean rb_sim_regret_at(const struct rb_simulation *sim, const struct rb_sim_variant *v, int64_t cost_uusd);
// Variant a minus variant b, over the replicates in which both have the figure; false: there are none.
bool rb_sim_paired(const struct rb_simulation *sim, int a, int b, enum rb_sim_measure measure, struct rb_paired *out);

#endif
