// Runs on a table: the configuration of a trial is the row nearest to the one that its sampler proposes, among the rows
// that no earlier trial of this run has. The sampler sees that row's values; the trial reports that row's metrics and
// takes that row's seconds.
#ifndef RB_SIMULATOR_BLACKBOX_RUN_H
#define RB_SIMULATOR_BLACKBOX_RUN_H

#include "simulator/blackbox/table.h"
#include "simulator/world/world_evaluate.h"

struct rb_blackbox_step {
    int64_t cost_uusd; // spent when the report came
    double best;       // of all reports at ends of rungs so far
};

struct rb_blackbox_outcome {
    struct rb_blackbox_step *steps; // one for each that was better than all before, owned
    int n_steps;
    int n_rows;          // that trials took
    bool ran_out;        // a trial wanted one more
    int64_t target_uusd; // spent when the job's metric.target was first reported; -1: never
};

struct rb_blackbox_runs {
    const struct rb_blackbox *table;
    const struct rb_scenario *scenario;
    const struct rb_earlier *earlier;     // runs that a sampler of ours starts from, NULL: none
    struct rb_blackbox_outcome *outcomes; // [samples of the runs]; NULL: not wanted
    // Makes the suggester of a run whose configurations another program proposes, as in struct rb_world_runs; NULL: a
    // sampler of ours proposes them.
    bool (*prepare)(void *ctx, const struct rb_plan *plan, uint32_t replicate, struct rb_world_options *opt, struct rb_err *err);
    void (*finish)(void *ctx, struct rb_world_options *opt);
    void *prepare_ctx;
    uint32_t first;                       // as the runs'
};

// Sets prepare and finish of the runs. The job's space is the table's. *b outlives the runs.
void rb_blackbox_play(struct rb_blackbox_runs *b, struct rb_world_runs *runs);
void rb_blackbox_outcome_finish(struct rb_blackbox_outcome *o);

double rb_blackbox_outcome_regret(const struct rb_blackbox *t, const struct rb_blackbox_outcome *o);
// With this much spent; 1 before the first report.
double rb_blackbox_outcome_regret_at(const struct rb_blackbox *t, const struct rb_blackbox_outcome *o, int64_t cost_uusd);

#endif
