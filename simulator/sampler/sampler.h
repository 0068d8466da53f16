// The fast per-trial sampler: simulates a whole plan trial by trial, eight replicates at a time, with one look-up in a
// quantile table per latency. It has the model and the law of simulator/model/evaluate.h, but not the same draws: a
// trial's time is one draw from its whole law instead of separate draws of startup, between, within and checkpoint.
// Results are the same bytes for any number of threads and every instruction set; a replicate depends only on its
// number and the seed.
#ifndef RB_SIMULATOR_SAMPLER_H
#define RB_SIMULATOR_SAMPLER_H

#include "simulator/model/scenario.h"

enum rb_waves {
    RB_WAVES_DYNAMIC, // the first free slot takes the next trial, as in an executor; the project's model
    RB_WAVES_CHAINS,  // trial i starts when trial i - R ends
};

enum rb_sampler_isa { RB_SAMPLER_AUTO, RB_SAMPLER_SCALAR, RB_SAMPLER_AVX2 };

struct rb_sampler_tables;

struct rb_sampler_options {
    enum rb_waves waves;
    enum rb_sampler_isa isa;
    bool wait_for_all; // trials start only when all new nodes are ready; off, since an executor does not wait
    bool by_stage;     // every stage has its own draws, separate for nodes and trials: plans share the draws of the
                       // stages they share
    int first_stage;   // by_stage: the number of the first stage, which selects its draws: for a single stage or a
                       // plan's tail
    int n_inherited;   // nodes of the first stage's first entry that are ready when it starts, and are not billed
    int threads;
    uint64_t seed;
    struct rb_sampler_tables *tables; // shared with other samplers of the profile, must outlive them; NULL: own
};
struct rb_sampler_options rb_sampler_defaults(void);

struct rb_sampler;

// Compiles a plan: tables of every law, slots, billing. The scenario and the stages are not needed afterwards. NULL and
// err: a plan that does not fit the scenario, an offer that may lose nodes, early requests for anything but all nodes
// that the next stage gains from one offer (use rb_evaluate for these), an instruction set that is not available. An
// early request and its counterpart made at the barrier are the same draw.
struct rb_sampler *rb_sampler_create(const struct rb_scenario *s, const struct rb_plan_stage *stages, int n_stages,
                                     const struct rb_sampler_options *opt, struct rb_err *err);
void rb_sampler_destroy(struct rb_sampler *sampler);

// Of each replicate, [n]; NULL: not computed. Billing as rb_bill_node, in floating point: seconds rounded up, 60 s minimum.
struct rb_sampler_runs {
    double *time_s, *cost_usd; // time_s not NULL
    double *linear_usd;        // if bills were linear in times: no minimum, half a second per node for rounding
};

// Replicates first .. first + n - 1.
void rb_sampler_run_all(const struct rb_sampler *sampler, uint32_t first, int n, const struct rb_sampler_runs *out);
// Times and costs (NULL: none) only.
void rb_sampler_run(const struct rb_sampler *sampler, uint32_t first, int n, double *out_time_s, double *out_cost_usd);

#endif
