// The timeline of a plan: when its stages begin and end, which nodes are paid for, and how the expected cost is
// divided. It is computed from runs of the engine in the virtual world (simulator/world/world.h), whose times and costs
// equal those of replicates; there is no other model.
#ifndef RB_SIMULATOR_TIMELINE_H
#define RB_SIMULATOR_TIMELINE_H

#include "base/document/json.h"
#include "engine/plan/bill_split.h"
#include "simulator/model/scenario.h"

#define RB_TIMELINE_RUNS     256 // upper limit, fewer if each has very many events: p5 and p95 rest on a dozen runs per
                                 // side
#define RB_TIMELINE_INSTANTS 161

// A phase where the job is asynchronous.
struct rb_timeline_stage {
    int n_runs;                                       // that reached it; 0: the quantiles are undefined
    struct rb_quantiles begin_us, provisioned_us, end_us; // provisioned: the last node requested by the stage's begin
                                                          // was ready
    struct rb_bill_parts cost;                        // expected
};

struct rb_timeline_instant {
    int64_t at_us;
    double nodes, gpus;          // running and paid for, on average
    int64_t nodes_p5, nodes_p95;
    double training_gpus;        // with a trial on them, on average
};

struct rb_timeline {
    int n_runs, n_stages;
    struct rb_timeline_stage stages[RB_LIMIT_STAGES];
    struct rb_timeline_instant instants[RB_TIMELINE_INSTANTS]; // evenly spaced, from 0 to the time by which 99 % of
                                                               // runs have ended
};

// Runs from `first` on; threads: no result depends on it. The parts of the cost are in the proportions of the runs, and
// over all stages they add up to the plan's expected cost. Errors: the first failing run's.
bool rb_timeline_make(const struct rb_scenario *s, const struct rb_plan *plan, uint32_t first, int threads,
                      struct rb_timeline *out, struct rb_err *err);
// {"runs", "stages", "instants"}: docs/formats/page.md
void rb_timeline_write(const struct rb_timeline *t, struct rb_json *j);

#endif
