// The published planner. From the best fixed cluster, it takes GPUs away from one stage at a time while the plan stays
// feasible and gets cheaper, choosing the step with the largest marginal benefit M = cost saved / time added. Source:
// RubberBand (EuroSys'21); exact step and starts: design section 10, Baselines.
#include "planner/search/search.h"

#include <math.h>

struct climb {
    struct rb_candidate at;
    int gpus[RB_LIMIT_STAGES]; // GPUs allocated to each stage: reduced by a step
};

// The choice that corresponds to an allocation of `gpus` GPUs for a stage of n trials, if it divides them evenly: a
// multiple of n gives each trial its share; a divisor runs some trials at a time with the smallest size.
static bool choice_of_allocation(const struct rb_search *search, int stage, int offer, int gpus, struct rb_choice *out)
{
    const struct rb_sizes *sizes = &search->sizes[offer];
    int n = rb_search_n_trials(search, stage), per_node = rb_search_gpus_per_node(search, offer);
    int size = 0, at_once = n;
    if (gpus % n == 0) {
        for (int i = 0; i < sizes->n; i++)
            size = sizes->gpus[i] == gpus / n ? sizes->gpus[i] : size;
    } else if (gpus % sizes->gpus[0] == 0 && n % (gpus / sizes->gpus[0]) == 0) {
        size = sizes->gpus[0];
        at_once = gpus / size;
    }
    if (size == 0)
        return false;
    *out = (struct rb_choice){offer, size, rb_nodes_to_hold(per_node, at_once, size)};
    return out->nodes <= search->req->job->resources.max_nodes;
}

// The next smaller even allocation of one stage that changes its choice.
static bool step_down(const struct rb_search *search, const struct climb *from, int stage, struct climb *out)
{
    const struct rb_choice *now = &from->at.stages[stage];
    for (int gpus = from->gpus[stage] - 1; gpus >= 1; gpus--) {
        struct rb_choice next;
        if (!choice_of_allocation(search, stage, now->offer, gpus, &next))
            continue;
        if (next.nodes > now->nodes || (next.nodes == now->nodes && next.gpus == now->gpus))
            continue;
        *out = *from;
        out->at.stages[stage] = next;
        out->gpus[stage] = gpus;
        return true;
    }
    return false;
}

// Saving of a step divided by its cost: infinite if nothing is lost. The two roles are exchanged for min_time.
static double marginal_benefit(const struct rb_search *search, const struct rb_estimate *from,
                               const struct rb_estimate *to)
{
    double saved = (double)(from->cost_uusd.mean - to->cost_uusd.mean);
    double lost = (double)(to->time_us.mean - from->time_us.mean);
    if (search->req->objective == RB_OBJECTIVE_MIN_TIME) {
        double swap = saved;
        saved = -lost;
        lost = -swap;
    }
    return lost <= 0 ? INFINITY : saved / lost;
}

// Scores a step until its first runs show that it is infeasible or not better. *out_stands: it is feasible and better.
static bool score_step(struct rb_search *search, const struct climb *from, struct climb *step, bool *out_stands,
                       struct rb_err *err)
{
    if (!rb_search_settle(search, &step->at, &from->at, out_stands, err))
        return false;
    if (!*out_stands)
        rb_search_explain_loss(search, "greedy", &step->at, &from->at);
    return true;
}

// One step: the feasible, better candidate with the largest benefit; ties go to the earlier stage.
static bool best_step(struct rb_search *search, const struct climb *from, struct climb *out, bool *out_found,
                      struct rb_err *err)
{
    double best_benefit = -1;
    for (int stage = 0; stage < from->at.n_stages && rb_search_has_time_for(search, search->req->samples); stage++) {
        struct climb next;
        bool stands;
        if (!step_down(search, from, stage, &next))
            continue;
        if (!score_step(search, from, &next, &stands, err))
            return false;
        if (!stands)
            continue;
        double benefit = marginal_benefit(search, &from->at.estimate, &next.at.estimate);
        if (benefit > best_benefit) {
            best_benefit = benefit;
            *out = next;
        }
    }
    *out_found = best_benefit >= 0;
    return true;
}

static bool climb_from(struct rb_search *search, const struct rb_candidate *start, struct rb_candidate *out,
                       struct rb_err *err)
{
    struct climb now = {.at = *start}, next;
    for (int i = 0; i < start->n_stages; i++)
        now.gpus[i] = start->stages[i].nodes * rb_search_gpus_per_node(search, start->stages[i].offer);
    bool found = true;
    while (found && !rb_search_out_of_time(search)) {
        if (!best_step(search, &now, &next, &found, err))
            return false;
        if (found)
            now = next;
    }
    *out = now.at;
    return true;
}

// With a time limit, the offer of the best fixed cluster comes first.
static int first_offer(const struct rb_search *search)
{
    const int index = rb_search_index_of(&rb_planner_static);
    const struct rb_plan_result *fixed = &search->results[index];
    const bool has = search->req->time_limit_us > 0 && search->has_result[index] && fixed->feasible;
    return has ? fixed->best.stages[0].offer : 0;
}

static bool plan(struct rb_search *search, struct rb_plan_result *out, struct rb_err *err)
{
    const int n_offers = search->scenario->n_offers, first = first_offer(search);
    struct rb_candidate best, reached;
    bool exists = false;
    for (int k = 0; k < n_offers && !(k > 0 && rb_search_out_of_time(search)); k++) {
        const int i = k == 0 ? first : k <= first ? k - 1 : k;
        const struct rb_candidate *start;
        if (search->sizes[i].n == 0 || rb_search_is_outbid(search, i))
            continue;
        if (!rb_static_best(search, i, &start, err))
            return false;
        if (!start)
            continue;
        if (!climb_from(search, start, &reached, err))
            return false;
        if (!exists || rb_candidate_compare(&reached, &best, search->req->objective) < 0)
            best = reached;
        exists = true;
    }
    // It starts from a fixed cluster. If none is feasible, it can only return the static planner's answer.
    if (!exists && search->asked == &rb_planner_greedy)
        return rb_static_nearest(search, out, err);
    *out = exists ? rb_search_found(search, &best) : rb_search_no_plan(search);
    return true;
}

const struct rb_planner rb_planner_greedy = {
    .name = "greedy",
    .summary = "as published: from the best fixed cluster, shrink one stage at a time while that gets cheaper",
    .plan = plan,
};
