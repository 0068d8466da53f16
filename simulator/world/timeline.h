// A plan in time: when its stages begin and end, what is paid for meanwhile, and where the expected money goes. Told from
// runs of the engine in the virtual world (simulator/world/world.h), which take and cost what replicates do; there is no other model.
#ifndef RB_SIMULATOR_TIMELINE_H
#define RB_SIMULATOR_TIMELINE_H

#include "base/json.h"
#include "engine/plan/bill_split.h"
#include "simulator/model/scenario.h"

#define RB_TIMELINE_RUNS     256 // at most, fewer where each has very many events: p5 and p95 are of a dozen runs each side
#define RB_TIMELINE_INSTANTS 161

// A phase where the job is asynchronous.
struct rb_timeline_stage {
    int n_runs;                                       // that came to it; 0: the quantiles say nothing
    struct rb_quantiles begin_us, provisioned_us, end_us; // provisioned: the last node asked for by its begin was ready
    struct rb_bill_parts cost;                        // expected
};

struct rb_timeline_instant {
    int64_t at_us;
    double nodes, gpus;          // that run and are paid for, on average
    int64_t nodes_p5, nodes_p95;
    double training_gpus;        // with a trial on them, on average
};

struct rb_timeline {
    int n_runs, n_stages;
    struct rb_timeline_stage stages[RB_LIMIT_STAGES];
    struct rb_timeline_instant instants[RB_TIMELINE_INSTANTS]; // evenly spaced, from 0 to the time that 99 % of runs have ended by
};

// Runs first..; threads: no result depends on it. The parts of the money are in the proportions of the runs, and over all
// stages they add up to the plan's expected cost. Errors: the first failing run's.
bool rb_timeline_make(const struct rb_scenario *s, const struct rb_plan *plan, uint32_t first, int threads,
                      struct rb_timeline *out, struct rb_err *err);
// {"runs", "stages", "instants"}: docs/formats/page.md
void rb_timeline_write(const struct rb_timeline *t, struct rb_json *j);

#endif
