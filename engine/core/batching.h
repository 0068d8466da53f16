// Chooses the batch that a trial starts with, where the job lets it be tuned (trial.batch): the one with the largest goodput
// on the trial's GPUs. It uses the step times and the gradient noise that the run's trials have reported. Pure, like the
// engine: the choice depends only on what was reported and in which order.
// Source: Pollux (OSDI'21), section 4.1: its agent, at the starts of a trial.
#ifndef RB_ENGINE_BATCHING_H
#define RB_ENGINE_BATCHING_H

#include "engine/events/event.h"
#include "engine/plan/plan.h"
#include "profiles/fit/goodput.h"

// The batch with which a trial was started.
struct rb_trial_batch {
    struct rb_batch batch; // per_gpu 0: the job does not tune it
    double lr_factor;      // for the learning rate that was chosen for the initial batch
};

struct rb_batching;

// The batch a job begins with on `gpus` GPUs: the smallest total that holds the initial batch, at least one sample on each.
struct rb_trial_batch rb_batching_initial(const struct rb_job *job, int gpus);

// NULL: the job's batch is not tuned. The plan is borrowed; its profile's figures count until reports replace them.
struct rb_batching *rb_batching_create(const struct rb_plan *plan);
void rb_batching_destroy(struct rb_batching *b); // NULL is fine

// Trial `trial`, on `gpus` GPUs (`accelerator`, borrowed for as long as b) of `nodes` nodes with `with`, reported `stats`.
void rb_batching_report(struct rb_batching *b, int trial, const char *accelerator, int nodes, int gpus,
                        const struct rb_trial_batch *with, const struct rb_step_stats *stats);

// The batch for its next start: the initial batch while its noise or the time of a step is unknown.
struct rb_trial_batch rb_batching_choose(const struct rb_batching *b, int trial, const char *accelerator, int nodes, int gpus);

// What is known for it, as input for rb_goodput_best. false: nothing yet.
bool rb_batching_model(const struct rb_batching *b, int trial, const char *accelerator, struct rb_goodput *out);

#endif
