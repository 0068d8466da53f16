// Builds the RB_* environment of a start order (design section 7) as far as it is the same on all ranks of the gang.
// The launcher adds what differs by rank or node (RB_NODE_RANK, CUDA_VISIBLE_DEVICES, directories and files).
#ifndef RB_EXECUTOR_TRIAL_ENV_H
#define RB_EXECUTOR_TRIAL_ENV_H

#include "base/arena.h"
#include "engine/core/batching.h"
#include "profiles/job/job.h"

#include <stdint.h>

struct rb_trial_order {
    const struct rb_job *job;
    const char *run_id;
    int trial, stage, attempt;
    int parent;                  // the trial whose checkpoint it began with; -1: none
    const struct rb_value *suggested; // as the engine's trial has them; NULL: the configuration follows from the seed
    int64_t resource_start, resource_end;
    const char *const *node_ips; // as the gang's nodes see each other, rank order, [n_nodes]; RB_NODE_IPS
                                 // joins them by commas
    int n_nodes;
    int gpus;                    // over all nodes
    int sharers;                 // trials that may sit on its GPU, itself included; 0: its GPUs are not shared
    struct rb_trial_batch batch; // per_gpu 0: not tuned; its variables are then left out
    int64_t checkpoint_every_s; // 0: it need not save midway
    int64_t deadline_unix_us; // -1: none; RB_DEADLINE is then empty
    const char *(*secret)(void *ctx,
                          const char *name); // value of one of job.secrets; NULL function or answer: left out
    void *secret_ctx;
};

// The job's envs first, then secrets, then ours, which win. Everything lives in `arena`, which the caller
// wipes with the arena: it holds secret values.
void rb_trial_env(const struct rb_trial_order *order, struct rb_arena *arena, struct rb_key_value **out,
                  int *out_n);

// The configuration of a trial, [job->space.n_params]: what was suggested, or what follows from the job's seed (then in
// the arena).
const struct rb_value *rb_trial_values(const struct rb_job *job, int trial, const struct rb_value *suggested,
                                       struct rb_arena *arena);
// The same as JSON: {"lr":0.01,"batch_size":64}.
void rb_trial_params_write(const struct rb_job *job, int trial, const struct rb_value *suggested, struct rb_json *j);

int64_t rb_trial_seed(const struct rb_job *job, int trial);

// 20000..31999: the same for every start of a trial, different for trials that may run beside it, and hardly ever the same
// for another run on the machine (Slurm and `local` share theirs).
int rb_trial_master_port(const char *run_id, int trial);

#endif
