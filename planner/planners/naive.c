// Fixed GPUs per trial; the cluster follows the number of live trials: each stage owns the smallest node count on which
// all its trials run at once, at most resources.max_nodes. Source: design section 10, Baselines.
#include "planner/search/search.h"

#include <stdlib.h>

static struct rb_candidate follow_trials(const struct rb_search *search, int offer, int gpus)
{
    const int per_node = rb_search_gpus_per_node(search, offer);
    const int max_nodes = rb_planner_max_nodes(search->req->job, &search->scenario->offers[offer]);
    struct rb_candidate c = {.n_stages = search->scenario->stages.n};
    for (int i = 0; i < c.n_stages; i++) {
        int nodes = rb_nodes_to_hold(per_node, rb_search_n_trials(search, i), gpus);
        c.stages[i] = (struct rb_choice){offer, gpus, nodes < max_nodes ? nodes : max_nodes};
    }
    return c;
}

static bool plan(struct rb_search *search, struct rb_plan_result *out, struct rb_err *err)
{
    int n_offers = search->scenario->n_offers, n = 0, best;
    RB_AUTO(rb_auto_free)
    struct rb_candidate *candidates = rb_xcalloc((size_t)n_offers * RB_LIMIT_GPUS_PER_NODE, sizeof *candidates);
    for (int offer = 0; offer < n_offers; offer++) {
        const struct rb_sizes *sizes = &search->sizes[offer];
        for (int i = 0; i < sizes->n; i++)
            candidates[n++] = follow_trials(search, offer, sizes->gpus[i]);
    }
    if (!rb_search_best_of(search, "naive", candidates, n, &best, err))
        return false;
    if (best < 0 && search->asked == &rb_planner_naive)
        return rb_search_nearest_of(search, candidates, n, out, err);
    *out = best < 0 ? rb_search_no_plan(search) : rb_search_found(search, &candidates[best]);
    return true;
}

const struct rb_planner rb_planner_naive = {
    .name = "naive",
    .summary = "the same GPUs for every trial in every stage, the cluster follows the number of live trials",
    .plan = plan,
};
