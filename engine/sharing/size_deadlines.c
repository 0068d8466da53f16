#include "engine/sharing/size_deadlines.h"

// The fewest that are fast enough, or, if none are, the fastest number: a better model may help later.
static int fewest_gpus(const struct rb_shared_job *job, double within_s, int gpus_per_node)
{
    int fastest = -1;
    double best = 0;
    for (int gpus = job->min_gpus > 1 ? job->min_gpus : 1; gpus <= job->max_gpus; gpus++) {
        const double rate = job->rate(job->arg, (gpus + gpus_per_node - 1) / gpus_per_node, gpus);
        if (rate * within_s >= job->left)
            return gpus;
        if (rate > best) {
            best = rate;
            fastest = gpus;
        }
    }
    return fastest;
}

static int needed_gpus(const struct rb_shared_job *job, const struct rb_autoscale_options *o)
{
    if (job->deadline_us == INT64_MAX || !job->rate || !(job->left > 0))
        return -1;
    const int64_t within_us = job->deadline_us - job->age_us - o->late_provision_us - o->restart_us;
    return within_us > 0 ? fewest_gpus(job, (double)within_us / (double)RB_US_PER_S, o->gpus_per_node) : -1;
}

int rb_size_for_deadlines(const struct rb_autoscale_view *view, const struct rb_autoscale_options *options)
{
    int64_t gpus = 0;
    bool any = false;
    for (int i = 0; i < view->n_jobs; i++) {
        const int needed = needed_gpus(&view->jobs[i], options);
        any = any || needed > 0;
        gpus += needed > 0 ? needed : view->jobs[i].min_gpus;
    }
    const int64_t nodes = any ? (gpus + options->gpus_per_node - 1) / options->gpus_per_node : 0;
    return nodes < options->max_nodes ? (int)nodes : options->max_nodes;
}
