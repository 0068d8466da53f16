#include "executor/pool/arbiter_view.h"

#include "engine/core/placement.h"

#include <math.h>

static double units_left(const struct rb_plan *plan, const struct rb_engine *e)
{
    double left = 0;
    for (int i = 0; i < rb_engine_n_trials(e); i++) {
        const struct rb_trial *t = rb_engine_trial(e, i);
        if (t->state == RB_TRIAL_RUNNING || t->state == RB_TRIAL_WAITING)
            left += (double)(t->resource_end - t->resource);
    }
    for (int s = rb_engine_stage(e) + 1; s < plan->n_stages; s++)
        left +=
            (double)plan->stages[s].trials * (double)(plan->stages[s].resource_end - plan->stages[s].resource_start);
    return left;
}

struct rb_arbiter_view rb_arbiter_view_of(const struct rb_plan *plan, const struct rb_engine *engine)
{
    const struct rb_offer *offer = &plan->offers[plan->stages[0].nodes[0].offer];
    int n_running, n_waiting;
    rb_engine_running(engine, &n_running);
    rb_engine_waiting(engine, &n_waiting);
    return (struct rb_arbiter_view){
        .plan = plan,
        .training = rb_profile_training(plan->profile, offer->accelerator),
        .gpus_per_node = offer->gpus,
        .n_trials = n_running + n_waiting,
        .left_units = units_left(plan, engine),
    };
}

int rb_arbiter_view_max_gpus(const struct rb_arbiter_view *v)
{
    const struct rb_trial_spec *trial = &v->plan->job->trial;
    return v->n_trials * trial->sizes[trial->n_sizes - 1];
}

// 0: that size was never measured, or is not allowed.
static double units_per_s(const struct rb_arbiter_view *v, int size)
{
    const int n_nodes = (size + v->gpus_per_node - 1) / v->gpus_per_node;
    double speedup;
    if (!v->training || n_nodes > v->plan->job->trial.max_nodes ||
        !rb_training_speedup(v->training, size, n_nodes, &speedup, NULL))
        return 0;
    return speedup / v->training->base_s;
}

// The number of trials of that size that fit; a trial over several nodes takes them whole.
static int capacity(const struct rb_arbiter_view *v, int nodes, int gpus, int size)
{
    if (size <= v->gpus_per_node)
        return nodes * (gpus / nodes / size);
    return gpus == nodes * v->gpus_per_node ? rb_placement_capacity(nodes, v->gpus_per_node, size) : 0;
}

// As policy shared does it: the largest size at which all train at once, else the smallest.
double rb_arbiter_view_rate(const void *arg, int nodes, int gpus)
{
    const struct rb_arbiter_view *v = arg;
    const struct rb_trial_spec *trial = &v->plan->job->trial;
    if (v->n_trials == 0 || nodes < 1 || gpus < nodes)
        return 0;
    int chosen = 0;
    for (int i = trial->n_sizes - 1; i > 0 && chosen == 0; i--) {
        if (units_per_s(v, trial->sizes[i]) > 0 && capacity(v, nodes, gpus, trial->sizes[i]) >= v->n_trials)
            chosen = i;
    }
    const int size = trial->sizes[chosen], n = capacity(v, nodes, gpus, size);
    return (n < v->n_trials ? n : v->n_trials) * units_per_s(v, size);
}

double rb_arbiter_view_seconds(const void *arg, int gpus)
{
    const struct rb_arbiter_view *v = arg;
    const int nodes = (gpus + v->gpus_per_node - 1) / v->gpus_per_node;
    const double rate = rb_arbiter_view_rate(arg, nodes, gpus);
    return rate > 0 ? v->left_units / rate : INFINITY;
}
