// The whole distribution of a plan's time and cost, not only the quantiles of its estimate. It is sampled from runs, by
// replicates, or by the engine in the virtual world if the job is asynchronous.
#ifndef RB_SIMULATOR_DISTRIBUTION_H
#define RB_SIMULATOR_DISTRIBUTION_H

#include "base/document/json.h"
#include "simulator/model/scenario.h"

#define RB_DISTRIBUTION_SHARES 201 // of runs: 0, 0.5 %, 1 % ... 100 %

// By share of runs: the smallest value with at least that share of runs at or below it; the minimum for share 0.
struct rb_distribution {
    int n_runs;
    int64_t time_us[RB_DISTRIBUTION_SHARES], cost_uusd[RB_DISTRIBUTION_SHARES];
};

// Runs from `first` on; at most `runs`, fewer if each has very many draws. threads: no result depends on it.
bool rb_distribution_make(const struct rb_scenario *s, const struct rb_plan *plan, uint32_t first, int runs, int threads,
                          struct rb_distribution *out, struct rb_err *err);
// {"runs", "shares", "time_us", "cost_uusd"}: docs/formats/page.md
void rb_distribution_write(const struct rb_distribution *d, struct rb_json *j);

#endif
