// Static: the nodes of the first stage are owned throughout; when trials stop, the others get more GPUs each.
// Source: design section 10, "Baselines": the largest allowed size with n g <= N G, else the smallest.
#include "engine/policies/policies.h"
#include "engine/policies/pool.h"

// May a trial have this many GPUs on these nodes?
static bool fits(const struct rb_plan *plan, const struct rb_plan_stage *cluster, int gpus)
{
    const int per_node = rb_plan_stage_gpus_per_node(plan, cluster);
    const int n_nodes = (gpus + per_node - 1) / per_node;
    const struct rb_offer *offer = &plan->offers[cluster->nodes[0].offer];
    const struct rb_training *training = rb_profile_training(plan->profile, offer->accelerator);
    double speedup;
    return n_nodes <= plan->job->trial.max_nodes && n_nodes <= rb_plan_stage_node_count(cluster) && training &&
           rb_training_speedup(training, gpus, n_nodes, &speedup, NULL);
}

static int gpus_per_trial(const struct rb_plan *plan, const struct rb_plan_stage *cluster, int n_trials)
{
    const struct rb_trial_spec *trial = &plan->job->trial;
    const int per_node = rb_plan_stage_gpus_per_node(plan, cluster);
    const int n_nodes = rb_plan_stage_node_count(cluster);
    int smallest = 0, largest = 0;
    for (int i = 0; i < trial->n_sizes; i++) {
        const int gpus = trial->sizes[i];
        if (!fits(plan, cluster, gpus))
            continue;
        smallest = smallest ? smallest : gpus;
        if ((int64_t)n_trials * gpus <= (int64_t)n_nodes * per_node)
            largest = gpus;
    }
    return largest ? largest : smallest;
}

static int size(const struct rb_plan *plan, const struct rb_group *group)
{
    const struct rb_plan_stage *first = &plan->stages[0];
    const struct rb_tuner *tuner = rb_tuner_find(plan->job->scheduler.type);
    // An asynchronous group is one trial of many: their number does not determine the GPUs of each.
    if (group->stage == 0 || (tuner && tuner->on_demand))
        return first->gpus_per_trial;
    const int gpus = gpus_per_trial(plan, first, group->n_trials);
    // The first stage's size fits its own nodes, even if it is not in the list of sizes.
    return gpus ? gpus : first->gpus_per_trial;
}

static void cluster(const struct rb_plan *plan, int phase, struct rb_allocation *out)
{
    (void)phase;
    rb_own_first_cluster(plan, "the cluster stays as large as in the first stage", out);
}

const struct rb_policy rb_policy_static = {.name = "static", .keeps_cluster = true, .size = size, .cluster = cluster};
