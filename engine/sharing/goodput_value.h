// Computes the value of an allocation for a job: weight x u(speed-up over its fair share), less for a restart.
#ifndef RB_ENGINE_SHARING_GOODPUT_VALUE_H
#define RB_ENGINE_SHARING_GOODPUT_VALUE_H

#include "base/arena.h"
#include "engine/sharing/goodput.h"

struct rb_job_value {
    const struct rb_shared_job *job;
    double reference;    // rate on the fair share, on one node; > 0 unless the job can run nowhere
    double weight;
    double moved;        // the factor of the speed-up after a change of placement, 0..1
};

struct rb_job_values {
    const struct rb_goodput_rules *rules;
    double fairness_p;
    int fair_gpus;       // ceil(GPUs / jobs)
    struct rb_job_value *of; // [n_jobs]
};

// Owns: memory is the arena's, jobs and rules are borrowed.
void rb_job_values_init(struct rb_job_values *v, struct rb_arena *arena, const struct rb_goodput_rules *rules,
                        const struct rb_sharing_options *options, int n_gpus, const struct rb_shared_job *jobs, int n_jobs);

// Value on `gpus` GPUs of `nodes` nodes. -INFINITY: it cannot run there.
double rb_job_value_on(const struct rb_job_values *v, int job, int nodes, int gpus, bool moves);
double rb_job_value_of_nothing(const struct rb_job_values *v, int job);

#endif
