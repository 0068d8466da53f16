// A tuning job on zones of a table: what a policy costs and whether it is late.
#ifndef RB_BENCH_SPOT_PLAY_H
#define RB_BENCH_SPOT_PLAY_H

#include "bench/spot/table.h"
#include "simulator/spot/spot_policy.h"

enum spot_rule { SPOT_GREEDY, SPOT_UNIFORM, SPOT_POLICY, SPOT_RULES };

struct spot_job {
    const struct spot_zone *zones;
    int n_zones, start_min, deadline_min; // the latter from the start
    int step_min, every;                  // a step of the clock; steps between decisions, which also follow losses
    struct {
        int trials, work_min;
    } stages[4];
    int n_stages;
    int save_every_min;                  // 0: always
    int start_least_min, start_most_min; // a cold start: drawn evenly, in whole steps
    bool starts_count;                   // on demand too, each trial of a stage pays a cold start
    double ratio;
    uint32_t replicate;
};

struct spot_played {
    double share; // of what the work costs on demand
    bool late;
};

// policy: for SPOT_POLICY.
struct spot_played spot_play(const struct spot_job *job, enum spot_rule rule, const struct rb_spot_policy *policy);
// The least that a job of one trial can cost where the future is known.
double spot_play_omniscient(const struct spot_job *job);

#endif
