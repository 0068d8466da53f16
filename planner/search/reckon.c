#include "planner/search/reckon.h"

#include "engine/core/placement.h"
#include "simulator/laws/trial_law.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ANY_MARGIN 1.1 // of the time, where only one candidate can be run

struct reckoned {
    double time_s, cost_uusd;
    bool keeps;
    int index;
};

// A stage ends with its last trial: how many times the mean trial this takes, at the confidence asked.
static double longest_part(const struct rb_search *search, int n_trials)
{
    const struct rb_profile *p = search->scenario->profile;
    const double later = fmax(1 - search->req->confidence, 1e-3);
    return fmax(1, rb_profile_slow_factor(p, 1 - later / n_trials) * rb_dist_mean(&p->within) / rb_profile_mean_factor(p));
}

static struct reckoned reckon(const struct rb_search *search, const struct rb_candidate *c)
{
    const struct rb_scenario *s = search->scenario;
    struct reckoned sum = {0};
    for (int i = 0; i < c->n_stages; i++) {
        const struct rb_choice *choice = &c->stages[i];
        const struct rb_sim_offer *o = &s->sim_offers[choice->offer];
        const int n = rb_search_n_trials(search, i);
        const int slots = rb_placement_capacity(choice->nodes, s->offers[choice->offer].gpus, choice->gpus);
        const bool fresh = i == 0 || c->stages[i - 1].offer != choice->offer || c->stages[i - 1].nodes < choice->nodes;
        double trial_s = INFINITY;
        rb_search_trial_s(search, i, choice->offer, choice->gpus, &trial_s);
        const double waves = fmax(0, (double)n / slots - 1) + longest_part(search, n);
        const double ready_s = fresh ? rb_scenario_init_mean_s(s, choice->offer) : 0;
        const double busy_s = waves * trial_s + ready_s;
        sum.time_s += busy_s + (fresh ? rb_queue_mean_s(o->provisioning) : 0);
        sum.cost_uusd += choice->nodes * busy_s / (double)RB_S_PER_HOUR * (double)o->billing.rate.uusd_per_hour;
    }
    return sum;
}

static int compare_seconds(const struct reckoned *a, const struct reckoned *b)
{
    return (a->time_s > b->time_s) - (a->time_s < b->time_s);
}

static int by_cost(const void *pa, const void *pb)
{
    const struct reckoned *a = pa, *b = pb;
    if (a->keeps != b->keeps)
        return a->keeps ? -1 : 1;
    const int cost = a->keeps ? (a->cost_uusd > b->cost_uusd) - (a->cost_uusd < b->cost_uusd) : 0;
    const int time = cost ? cost : compare_seconds(a, b);
    return time ? time : a->index - b->index;
}

static int by_time(const void *pa, const void *pb)
{
    const struct reckoned *a = pa, *b = pb;
    const int time = a->keeps == b->keeps ? compare_seconds(a, b) : a->keeps ? -1 : 1;
    return time ? time : a->index - b->index;
}

void rb_reckon_order(const struct rb_search *search, const struct rb_candidate *candidates, int n, int *out_order)
{
    const struct rb_plan_request *req = search->req;
    const double late = search->any_plan ? ANY_MARGIN : 1;
    RB_AUTO(rb_auto_free) struct reckoned *all = rb_xcalloc((size_t)n + 1, sizeof *all);
    for (int i = 0; i < n; i++) {
        all[i] = reckon(search, &candidates[i]);
        all[i].index = i;
        const double time_us = late * all[i].time_s * (double)RB_US_PER_S;
        all[i].keeps = (req->deadline_us < 0 || time_us <= (double)req->deadline_us) &&
                       (req->budget_uusd < 0 || all[i].cost_uusd <= (double)req->budget_uusd);
    }
    qsort(all, (size_t)n, sizeof *all, req->objective == RB_OBJECTIVE_MIN_COST ? by_cost : by_time);
    for (int i = 0; i < n; i++)
        out_order[i] = all[i].index;
}

void rb_reckon_sort(const struct rb_search *search, struct rb_candidate *candidates, int n)
{
    RB_AUTO(rb_auto_free) int *order = rb_xcalloc((size_t)n + 1, sizeof *order);
    RB_AUTO(rb_auto_free) struct rb_candidate *sorted = rb_xcalloc((size_t)n + 1, sizeof *sorted);
    rb_reckon_order(search, candidates, n, order);
    for (int i = 0; i < n; i++)
        sorted[i] = candidates[order[i]];
    memcpy(candidates, sorted, (size_t)n * sizeof *sorted);
}
