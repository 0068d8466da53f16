// The virtual world: drives an engine with a virtual clock and sampled delays. Thousands of simulated hours a second;
// one seed, one result. Also the dry run of rbrun and the bench of every policy.
#ifndef RB_SIMULATOR_WORLD_H
#define RB_SIMULATOR_WORLD_H

#include "engine/core/advice.h"
#include "engine/core/engine.h"
#include "engine/core/suggest.h"
#include "simulator/model/scenario.h"
#include "simulator/world/markets.h"

// Metric that a simulated trial reports after `resource` units; NULL: the synthetic family (HyperSched artifact) keyed
// by the seed, the replicate and the trial. Depends only on its arguments, so compared runs share their curves.
typedef double rb_curve_fn(void *ctx, uint32_t replicate, int trial, int64_t resource);

// Watches one run and gives it advice, as rbrun's re-planning does (executor/rehearsal/rehearsal.h has one).
struct rb_reactor {
    void (*saw)(struct rb_reactor *r, const struct rb_event *event); // every event, advice included
    // What happens next is at until_us. True: *out is an event before that, at the last event or later.
    bool (*decide)(struct rb_reactor *r, int64_t until_us, struct rb_event *out);
    void (*destroy)(struct rb_reactor *r);
};

struct rb_world_options {
    uint32_t replicate;
    rb_curve_fn *curve;
    void *curve_ctx;
    bool curve_has_clones;            // it continues from a clone's parent; else a clone begins at the parent's metric
                                      // and approaches its own curve, which it reaches at the end
    // Called after every event with its consequences; for traces, Gantt charts, events.jsonl. May be NULL.
    void (*observe)(void *ctx, const struct rb_engine *e, const struct rb_event *event, const struct rb_actions *actions);
    void *observe_ctx;
    rb_adviser_fn *advise;            // answers at the same instant; NULL: none
    void *advise_ctx;
    struct rb_reactor *reactor;       // of this run; NULL: none. Not of a run with a history
    // Answers at the same instant; NULL: the configurations have no values. A search of its own for each run.
    const struct rb_suggester *suggester;
    // Seconds of one unit of a trial on one GPU, before noise; NULL or 0: the profile's, times its factor for the
    // trial's configuration. Asked when the trial starts.
    double (*unit_s)(void *ctx, int trial);
    void *unit_s_ctx;
    // What is known of these factors; NULL: they are drawn. How much longer than the profile's a mean unit takes on so
    // many GPUs of the offer; that factor of a trial's configuration; and, for a trial that is running at now_us, how
    // slow it is in this start, NaN: not known. drawn: the attempt that keys the number.
    double (*speed)(void *ctx, uint32_t replicate, int offer, int gpus);
    double (*configuration)(void *ctx, uint32_t replicate, int trial);
    double (*between)(void *ctx, uint32_t replicate, int trial, int stage, int attempt, int drawn);
    void *known_ctx; // of these three
    const struct rb_market_replay *market; // spot markets from a table; NULL: as the profile says
    int64_t deadline_us, budget_uusd; // -1: none; enforced as RB_EVENT_STOP, as the executor does
    // A run in progress: events up to now_us are kept as they happened, the rest is drawn, conditioned on not having
    // happened yet. No new plans are made; lent GPUs stay lent. [n_history]; 0: from the beginning. These events are
    // neither observed nor counted.
    const struct rb_event *history;
    int n_history;
    int64_t now_us;
};

struct rb_world_result {
    int64_t time_us, cost_uusd;
    int best_trial;
    double best_metric;
    enum rb_job_outcome outcome;
    enum rb_stop_reason stop_reason;
    int64_t n_events;
    int n_nodes;
    int n_advised;           // times that its reactor gave advice
    int64_t n_units;         // resource that was trained and reported, including lost units
    int n_trained;           // trials that have reported
    int n_full;              // of these, those that reached R
    int64_t first_full_us;   // when the first did, -1: none
};

bool rb_world_run(const struct rb_scenario *s, const struct rb_plan *plan, const struct rb_world_options *opt,
                  struct rb_world_result *out, struct rb_err *err);

#endif
