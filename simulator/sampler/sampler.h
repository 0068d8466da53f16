// The fast per-trial sampler: a whole plan, trial by trial, with every latency one look-up in a quantile table, eight
// replicates at a time. Same model as simulator/model/evaluate.h and the same law, but not the same draws: a trial's time is
// one draw of its whole law instead of startup, between, within and checkpoint one by one. Results are the same bytes
// for any number of threads and for every instruction set; a replicate depends on its number and the seed only.
#ifndef RB_SIMULATOR_SAMPLER_H
#define RB_SIMULATOR_SAMPLER_H

#include "simulator/model/scenario.h"

enum rb_waves {
    RB_WAVES_DYNAMIC, // the first free slot takes the next trial: what an executor does; the project's model
    RB_WAVES_CHAINS,  // trial i starts when trial i - R ends
    RB_WAVES_BARRIER, // a barrier after every wave
};

enum rb_sampler_isa { RB_SAMPLER_AUTO, RB_SAMPLER_SCALAR, RB_SAMPLER_AVX2 };

struct rb_sampler_tables;

struct rb_sampler_options {
    enum rb_waves waves;
    enum rb_sampler_isa isa;
    bool wait_for_all; // trials start only when all new nodes are ready; an executor does not wait: off
    bool by_stage;     // every stage draws for itself, nodes and trials apart: plans share the draws of what they share
    int first_stage;   // by_stage: the number of the first stage, whose draws it has: a stage by itself, or a plan's end
    int n_inherited;   // nodes of the first stage's first entry that are ready when it starts, and are not billed
    int threads;
    uint64_t seed;
    struct rb_sampler_tables *tables; // shared with other samplers of the profile, alive as long as they; NULL: own
};
struct rb_sampler_options rb_sampler_defaults(void);

struct rb_sampler;

// Compiles a plan: tables of every law, slots, billing. The scenario and the stages are not needed afterwards. NULL
// and err: a plan that does not fit the scenario, an offer that may lose nodes, early requests for anything but all
// that the next stage gains from one offer (use rb_evaluate for these), an instruction set asked for that is not there. An early request and one that is made at the barrier instead are the same draw.
struct rb_sampler *rb_sampler_create(const struct rb_scenario *s, const struct rb_plan_stage *stages, int n_stages,
                                     const struct rb_sampler_options *opt, struct rb_err *err);
void rb_sampler_destroy(struct rb_sampler *sampler);

// Of each replicate, [n]; NULL: not computed. Billing as rb_bill_node, in floating point: seconds rounded up, 60 s minimum.
struct rb_sampler_runs {
    double *time_s, *cost_usd; // time_s not NULL
    // The same draws had every stage found the nodes that it keeps ready, and were bills linear in times (no minimum, half a
    // second a node for rounding): sums of stages, whose means and laws are known. alone_usd needs alone_s.
    double *alone_s, *alone_usd;
};

// Replicates first .. first + n - 1.
void rb_sampler_run_beside(const struct rb_sampler *sampler, uint32_t first, int n, const struct rb_sampler_runs *out);
// Times and costs (NULL: none) alone.
void rb_sampler_run(const struct rb_sampler *sampler, uint32_t first, int n, double *out_time_s, double *out_cost_usd);

#endif
