// Pool sizes within the budget; the bill of the owned nodes until the deadline is reserved first.
#ifndef RB_SIMULATOR_FORECAST_POOL_H
#define RB_SIMULATOR_FORECAST_POOL_H

#include "engine/core/engine.h"
#include "simulator/model/scenario.h"

struct rb_pool {
    int offer;           // of the single entry that the plan's first stage lists
    int n_owned;         // nodes that are requested, booting or running
    int n_most;          // the job's limit
    int gpus_per_node;
    double boot_us;      // mean queueing and initialisation of a node
};

// false: the pool must not be changed: no budget, or the plan lists several offers.
bool rb_pool_look(const struct rb_scenario *s, const struct rb_plan *plan, const struct rb_engine *e,
                  struct rb_pool *out);
// Number of nodes that the budget pays for until the deadline, if those beyond the owned are requested at `at_us` and
// never wait for capacity (waiting is not billed, so they do not cost more). At least n_owned, at most n_most.
int rb_pool_affordable(const struct rb_pool *p, const struct rb_scenario *s, const struct rb_plan *plan,
                       const struct rb_engine *e, int64_t at_us);

#endif
