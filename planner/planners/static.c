// The best fixed cluster: one offer and one node count for the whole job, every stage with the largest allowed size at
// which all its trials fit at once, else the smallest. Source: design section 10, Baselines.
#include "planner/search/reckon.h"

#include <stdlib.h>
#include <string.h>

#define THINNED 32 // with a time limit, every node count up to here is considered, then steps of 1/THINNED

// GPUs per trial of a stage on a cluster of `total` GPUs; 0: not even one trial fits.
static int size_for(const struct rb_sizes *sizes, int n_trials, int total, int per_node)
{
    int size = sizes->gpus[0];
    for (int i = 0; i < sizes->n; i++) {
        if ((int64_t)n_trials * sizes->gpus[i] <= total)
            size = sizes->gpus[i];
    }
    return rb_nodes_per_trial(per_node, size) * per_node <= total ? size : 0;
}

// For an asynchronous job the policy `static` gives every trial the first level's size (engine/policies/static.c),
// whatever the number of trials, so every size is a separate candidate cluster.
static bool has_one_size(const struct rb_search *search)
{
    return !search->scorer->barriers && strcmp(search->req->job->policy, "static") == 0;
}

// given: GPUs of every trial; 0: determined by the number of trials.
static bool fixed_cluster(const struct rb_search *search, int offer, int nodes, int given, struct rb_candidate *out)
{
    int per_node = rb_search_gpus_per_node(search, offer);
    *out = (struct rb_candidate){.n_stages = search->scenario->stages.n};
    for (int i = 0; i < out->n_stages; i++) {
        const int n_trials = given ? 1 : rb_search_n_trials(search, i);
        const struct rb_sizes *sizes = given ? &(struct rb_sizes){.gpus = {given}, .n = 1} : &search->sizes[offer];
        int size = size_for(sizes, n_trials, nodes * per_node, per_node);
        if (size == 0)
            return false;
        out->stages[i] = (struct rb_choice){offer, size, nodes};
    }
    return true;
}

static size_t most_clusters(const struct rb_search *search, int offer)
{
    const int n_sizes = has_one_size(search) ? search->sizes[offer].n : 1;
    return (size_t)rb_search_useful_nodes(search, 0, offer) * (size_t)n_sizes;
}

// All fixed clusters of one offer. out [most_clusters].
static int list_clusters(const struct rb_search *search, int offer, struct rb_candidate *out)
{
    const struct rb_sizes *sizes = &search->sizes[offer];
    const bool thin = search->req->time_limit_us > 0;
    int n = 0, most = rb_search_useful_nodes(search, 0, offer);
    for (int nodes = 1; nodes <= most; nodes += thin ? 1 + nodes / THINNED : 1) {
        if (!has_one_size(search)) {
            n += fixed_cluster(search, offer, nodes, 0, &out[n]);
            continue;
        }
        for (int i = 0; i < sizes->n; i++)
            n += fixed_cluster(search, offer, nodes, sizes->gpus[i], &out[n]);
    }
    return n;
}

bool rb_static_best(struct rb_search *search, int offer, const struct rb_candidate **out, struct rb_err *err)
{
    struct rb_static_best *memo = &search->static_best[offer];
    if (!memo->known) {
        int best;
        RB_AUTO(rb_auto_free)
        struct rb_candidate *clusters = rb_xcalloc(most_clusters(search, offer) + 1, sizeof *clusters);
        int n = list_clusters(search, offer, clusters);
        if (!rb_search_best_of(search, "static", clusters, n, &best, err))
            return false;
        memo->known = true;
        memo->exists = best >= 0;
        if (best >= 0)
            memo->candidate = clusters[best];
    }
    *out = memo->exists ? &memo->candidate : NULL;
    return true;
}

bool rb_static_nearest(struct rb_search *search, struct rb_plan_result *out, struct rb_err *err)
{
    int n_offers = search->scenario->n_offers, n = 0;
    size_t most = 0;
    for (int offer = 0; offer < n_offers; offer++)
        most += most_clusters(search, offer);
    RB_AUTO(rb_auto_free) struct rb_candidate *clusters = rb_xcalloc(most + 1, sizeof *clusters);
    for (int offer = 0; offer < n_offers; offer++)
        if (search->req->time_limit_us == 0 || !rb_search_is_outbid(search, offer))
            n += list_clusters(search, offer, &clusters[n]);
    if (search->req->time_limit_us > 0)
        rb_reckon_sort(search, clusters, n);
    return rb_search_nearest_of(search, clusters, n, out, err);
}

// With a time limit, the clusters of all offers are examined together, most promising first.
static bool plan_in_time(struct rb_search *search, struct rb_plan_result *out, struct rb_err *err)
{
    size_t most = 0;
    int n = 0, best;
    for (int offer = 0; offer < search->scenario->n_offers; offer++)
        most += most_clusters(search, offer);
    RB_AUTO(rb_auto_free) struct rb_candidate *clusters = rb_xcalloc(most + 1, sizeof *clusters);
    for (int offer = 0; offer < search->scenario->n_offers; offer++)
        n += rb_search_is_outbid(search, offer) ? 0 : list_clusters(search, offer, &clusters[n]);
    if (!rb_search_best_of(search, "static", clusters, n, &best, err))
        return false;
    if (best < 0 && search->asked == &rb_planner_static)
        return rb_static_nearest(search, out, err);
    *out = best < 0 ? rb_search_no_plan(search) : rb_search_found(search, &clusters[best]);
    if (best >= 0) // greedy starts there
        search->static_best[clusters[best].stages[0].offer] =
            (struct rb_static_best){.known = true, .exists = true, .candidate = clusters[best]};
    return true;
}

static bool plan(struct rb_search *search, struct rb_plan_result *out, struct rb_err *err)
{
    const struct rb_candidate *best = NULL;
    if (search->req->time_limit_us > 0)
        return plan_in_time(search, out, err);
    // Until there is a plan, no offer is skipped for lack of time.
    for (int i = 0; i < search->scenario->n_offers && !(best && rb_search_out_of_time(search)); i++) {
        const struct rb_candidate *c;
        if (search->sizes[i].n == 0 || rb_search_is_outbid(search, i))
            continue;
        if (!rb_static_best(search, i, &c, err))
            return false;
        if (c && (!best || rb_candidate_compare(c, best, search->req->objective) < 0))
            best = c;
    }
    if (!best && search->asked == &rb_planner_static)
        return rb_static_nearest(search, out, err);
    *out = best ? rb_search_found(search, best) : rb_search_no_plan(search);
    return true;
}

const struct rb_planner rb_planner_static = {
    .name = "static",
    .summary = "the best cluster that never changes",
    .plan = plan,
};
