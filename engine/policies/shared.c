// Shared: a job on GPUs that are lent to it, on a cluster shared with other jobs. engine/sharing decides how many it
// may use. Here all its trials get the same size, the largest at which all of them train at once.
#include "engine/policies/policies.h"
#include "engine/policies/pool.h"

#include "engine/core/engine.h"

#include <stdlib.h>

struct shared {
    const struct rb_plan *plan;
    const struct rb_training *training;
    int gpus_per_node;
    double restart_s; // mean time without training when a trial gives way and starts again
};

static bool create(const struct rb_plan *plan, void **out_state, struct rb_err *err)
{
    const struct rb_offer *offer = &plan->offers[plan->stages[0].nodes[0].offer];
    struct shared *s = rb_xcalloc(1, sizeof *s);
    (void)err;
    *s = (struct shared){
        .plan = plan,
        .training = rb_profile_training(plan->profile, offer->accelerator),
        .gpus_per_node = offer->gpus,
        .restart_s = plan->profile->startup_s.mean + plan->profile->checkpoint_s.mean,
    };
    *out_state = s;
    return true;
}

static void cluster(const struct rb_plan *plan, int phase, struct rb_allocation *out)
{
    (void)phase;
    rb_own_first_cluster(plan, "the nodes of the pool", out);
}

// -1: a size that was never measured is not used.
static double seconds_per_unit(const struct shared *s, int gpus)
{
    const int n_nodes = (gpus + s->gpus_per_node - 1) / s->gpus_per_node;
    double speedup;
    if (n_nodes > s->plan->job->trial.max_nodes || !s->training ||
        !rb_training_speedup(s->training, gpus, n_nodes, &speedup, NULL))
        return -1;
    return s->training->base_s / speedup;
}

static int count_trials(const struct rb_engine *e)
{
    int n_running, n_waiting;
    rb_engine_running(e, &n_running);
    rb_engine_waiting(e, &n_waiting);
    return n_running + n_waiting;
}

// The largest size at which all train at once, else the smallest, and some wait.
static int common_size(const struct shared *s, const struct rb_engine *e)
{
    const struct rb_trial_spec *spec = &s->plan->job->trial;
    const int n = count_trials(e);
    for (int i = spec->n_sizes - 1; i > 0; i--) {
        if (seconds_per_unit(s, spec->sizes[i]) > 0 && rb_engine_capacity(e, spec->sizes[i]) >= n)
            return spec->sizes[i];
    }
    return spec->sizes[0];
}

// Does the rest of its budget take less time with the restart than without?
static bool pays(const struct shared *s, const struct rb_trial *t, int gpus)
{
    const double left = (double)(t->resource_end - t->resource);
    const double now_s = seconds_per_unit(s, t->gpus), then_s = seconds_per_unit(s, gpus);
    return now_s > 0 && then_s > 0 && left * (now_s - then_s) > s->restart_s;
}

static void share_out(const struct shared *s, const struct rb_engine *e, struct rb_decisions *out)
{
    const int size = common_size(s, e);
    int n;
    const int *waiting = rb_engine_waiting(e, &n);
    for (int i = 0; i < n; i++) {
        if (rb_engine_trial(e, waiting[i])->gpus != size)
            rb_decide_resize(out, waiting[i], size);
    }
    const int *running = rb_engine_running(e, &n);
    for (int i = 0; i < n; i++) {
        const struct rb_trial *t = rb_engine_trial(e, running[i]);
        if (t->next_gpus > 0 && t->next_gpus != size && (t->gpus > size || pays(s, t, size)))
            rb_decide_resize(out, running[i], size);
    }
    out->reason = "the job's GPUs are shared out again";
}

static void on_lent(void *state, const struct rb_engine *e, struct rb_decisions *out)
{
    share_out(state, e, out);
}

// Only trials that no longer train leave GPUs to the others.
static void decide(void *state, const struct rb_engine *e, int trial, struct rb_decisions *out)
{
    if (rb_engine_trial(e, trial)->state != RB_TRIAL_RUNNING)
        share_out(state, e, out);
}

static int size(const struct rb_plan *plan, const struct rb_group *group)
{
    (void)group;
    return plan->job->trial.sizes[0];
}

const struct rb_policy rb_policy_shared = {
    .name = "shared",
    .on_lent_gpus = true,
    .foreseen_if = "the GPUs that the job is lent now stay as they are",
    .size = size,
    .cluster = cluster,
    .create = create,
    .destroy = free,
    .decide = decide,
    .on_lent = on_lent,
};
