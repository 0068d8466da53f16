#include "planner/async/async_pool.h"

#include "engine/core/policy.h"

#include <math.h>
#include <stdlib.h>

// The bundle that the policy assigns; 0: none of the offer's sizes is one.
static int bundle(const struct rb_search *search, int offer)
{
    const struct rb_sizes *sizes = &search->sizes[offer];
    const int atom = search->req->job->policy_options.atom_gpus;
    for (int i = 0; i < sizes->n; i++) {
        if (sizes->gpus[i] >= atom)
            return sizes->gpus[i];
    }
    return 0;
}

static struct rb_candidate pool(const struct rb_search *search, int offer, int nodes)
{
    struct rb_candidate c = {.n_stages = search->scenario->stages.n};
    for (int i = 0; i < c.n_stages; i++)
        c.stages[i] = (struct rb_choice){offer, bundle(search, offer), nodes};
    return c;
}

static int least_nodes(const struct rb_search *search, int offer)
{
    return rb_nodes_per_trial(rb_search_gpus_per_node(search, offer), bundle(search, offer));
}

static bool keeps(struct rb_search *search, struct rb_candidate *c, int n, bool *out, struct rb_err *err)
{
    search->n_evaluated++;
    if (!rb_engine_estimate(search, c, n, true, &c->estimate, NULL, err))
        return false;
    *out = c->estimate.p_both >= rb_search_confidence(search);
    return true;
}

// The most nodes of an offer that the budget pays for until the deadline if the pool does not change. *out_found false:
// none.
static bool largest_pool(struct rb_search *search, int offer, struct rb_candidate *out, bool *out_found,
                         struct rb_err *err)
{
    const int least = least_nodes(search, offer);
    int low = least - 1, high = rb_planner_max_nodes(search->req->job, &search->scenario->offers[offer]);
    *out_found = false;
    while (search->req->budget_uusd >= 0 && low < high) { // too expensive, and more nodes would be as well
        const int nodes = low + (high - low + 1) / 2;
        struct rb_candidate c = pool(search, offer, nodes);
        bool kept;
        if (!keeps(search, &c, rb_async_n_screened(search), &kept, err))
            return false;
        if (kept)
            low = nodes;
        else
            high = nodes - 1;
    }
    for (int nodes = high; nodes >= least && !*out_found; nodes--) {
        *out = pool(search, offer, nodes);
        if (!keeps(search, out, search->req->samples, out_found, err))
            return false;
    }
    return true;
}

// Estimates under the policy that will be executed. If its forecasts exceed the budget, tries fewer nodes. *io_found
// false: no number of nodes works.
static bool carry_out(struct rb_search *search, struct rb_candidate *io, bool *io_found, struct rb_err *err)
{
    const int offer = io->stages[0].offer;
    for (int nodes = io->stages[0].nodes; nodes >= least_nodes(search, offer); nodes--) {
        *io = pool(search, offer, nodes);
        if (!rb_async_estimate(search, io, NULL, err))
            return false;
        if (io->estimate.p_both >= rb_search_confidence(search))
            return true;
    }
    *io_found = false;
    return true;
}

// Units that all bundles together train per second.
static bool speed(const struct rb_search *search, const struct rb_candidate *c, double *out, struct rb_err *err)
{
    const struct rb_choice *choice = &c->stages[0];
    const int per_node = rb_search_gpus_per_node(search, choice->offer);
    const int at_once = choice->gpus <= per_node ? choice->nodes * (per_node / choice->gpus)
                                                 : choice->nodes / rb_nodes_per_trial(per_node, choice->gpus);
    double unit_s;
    if (!rb_scenario_unit_s(search->scenario, choice->offer, choice->gpus, &unit_s, err))
        return false;
    *out = at_once / unit_s;
    return true;
}

static bool not_found(struct rb_search *search, struct rb_plan_result *out, struct rb_err *err)
{
    const int n_offers = search->scenario->n_offers;
    RB_AUTO(rb_auto_free) struct rb_candidate *smallest = rb_xcalloc((size_t)n_offers, sizeof *smallest);
    int n = 0;
    for (int offer = 0; offer < n_offers; offer++) {
        if (bundle(search, offer) > 0)
            smallest[n++] = pool(search, offer, least_nodes(search, offer));
    }
    return rb_search_nearest_of(search, smallest, n, out, err);
}

bool rb_async_pool_plan(struct rb_search *search, struct rb_plan_result *out, struct rb_err *err)
{
    struct rb_candidate best = {.n_stages = 0}, c;
    double best_speed = 0, its_speed;
    for (int offer = 0; offer < search->scenario->n_offers; offer++) {
        bool found;
        if (bundle(search, offer) == 0 || rb_search_is_outbid(search, offer))
            continue;
        if (!largest_pool(search, offer, &c, &found, err))
            return false;
        if (!found)
            continue;
        if (!speed(search, &c, &its_speed, err))
            return false;
        const bool cheaper = best.n_stages > 0 && c.estimate.cost_uusd.mean < best.estimate.cost_uusd.mean;
        if (its_speed > best_speed * (1 + 1e-9) || (its_speed >= best_speed * (1 - 1e-9) && cheaper)) {
            best = c;
            best_speed = its_speed;
        }
    }
    bool found = best.n_stages > 0;
    if (found && !carry_out(search, &best, &found, err))
        return false;
    if (!found)
        return not_found(search, out, err);
    *out = rb_search_found(search, &best);
    out->bound = (struct rb_plan_bound){.why_not = RB_ASYNC_WHY};
    return true;
}
