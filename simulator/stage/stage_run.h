// One stage by itself, for a search that combines stages into plans. It has the same draws as in a whole plan in which
// the stage finds `n_kept` nodes of its first entry ready when it starts, requests the others then, and keeps all of
// them until it ends.
#ifndef RB_SIMULATOR_STAGE_RUN_H
#define RB_SIMULATOR_STAGE_RUN_H

#include "simulator/model/evaluate.h"

struct rb_stage_runs {
    int n_kept;
    int first, n;     // replicates first..first+n-1
    int64_t until_us; // a run that may lose nodes counts as over at this time, even if it is not;
                      // RB_STAGE_RUN_TO_THE_END
};
#define RB_STAGE_RUN_TO_THE_END INT64_MAX

// `plan` is stage number `stage`; n_kept > 0 only from stage 1 on. out_cost_uusd is the stage's part of the bill: node
// time at its rate and, for each new node, its data and the mean cost of rounding up, half a second. The minimum of 60
// s is left out, since whether it applies depends on the node's whole lifetime. out [n].
bool rb_stage_run(const struct rb_scenario *s, int stage, const struct rb_plan_stage *plan,
                  const struct rb_stage_runs *runs, struct rb_workspace *ws, double *out_time_us, double *out_cost_uusd,
                  struct rb_err *err);

#endif
