#include "executor/rehearsal/worth.h"

#include "executor/rehearsal/rehearsal.h"
#include "simulator/world/world_evaluate.h"

#include <stdlib.h>

enum { FIRST_STATED = 1 << 16 }; // runs that no choice has used

const double rb_worth_confidences[RB_WORTH_OTHERS] = {0.9, 0.8, 0.65, 0.5};

static struct rb_worth worth_by(const struct rb_plan *plan, const struct rb_world_result *runs, int n)
{
    RB_AUTO(rb_auto_free) double *cost_uusd = rb_xcalloc((size_t)n, sizeof *cost_uusd);
    int n_kept = 0;
    for (int i = 0; i < n; i++) {
        cost_uusd[i] = (double)runs[i].cost_uusd;
        n_kept += rb_world_kept(&runs[i], plan->deadline_us, plan->budget_uusd);
    }
    return (struct rb_worth){rb_share_of(n_kept, n), rb_mean_of(cost_uusd, n)};
}

bool rb_worth_of(const struct rb_plan *plan, uint32_t first, int n, int threads, struct rb_worth *out,
                 struct rb_err *err)
{
    RB_AUTO(rb_auto_free) struct rb_world_result *results = rb_xcalloc((size_t)n, sizeof *results);
    const struct rb_world_runs runs = {
        .samples = n,
        .first = first,
        .threads = threads,
        .deadline_us = plan->deadline_us,
        .budget_uusd = plan->budget_uusd,
        .reactor = rb_rehearsal_begin,
    };
    struct rb_scenario s;
    if (!rb_scenario_init(&s, plan->job, plan->profile, plan->offers, plan->n_offers, plan->catalog, plan->seed, err))
        return false;
    const bool ok = rb_world_replicates(&s, plan, &runs, results, NULL, err);
    rb_scenario_finish(&s);
    if (ok)
        *out = worth_by(plan, results, n);
    return ok;
}

static bool is_same_offer(const struct rb_plan *a, int offer_a, const struct rb_plan *b, int offer_b)
{
    return rb_offer_compare(&a->offers[offer_a], &b->offers[offer_b]) == 0;
}

static bool is_same_stage(const struct rb_plan *a, const struct rb_plan *b, int stage)
{
    const struct rb_plan_stage *x = &a->stages[stage], *y = &b->stages[stage];
    bool same = x->gpus_per_trial == y->gpus_per_trial && x->trials_per_gpu == y->trials_per_gpu &&
                x->n_nodes == y->n_nodes && x->n_early == y->n_early;
    for (int i = 0; i < x->n_nodes && same; i++)
        same = x->nodes[i].count == y->nodes[i].count && is_same_offer(a, x->nodes[i].offer, b, y->nodes[i].offer);
    for (int i = 0; i < x->n_early && same; i++)
        same = x->early[i].count == y->early[i].count && x->early[i].at_us == y->early[i].at_us &&
               is_same_offer(a, x->early[i].offer, b, y->early[i].offer);
    return same;
}

// They are of one job.
static bool has_same_stages(const struct rb_plan *a, const struct rb_plan *b)
{
    for (int i = 0; i < a->n_stages; i++) {
        if (!is_same_stage(a, b, i))
            return false;
    }
    return a->admit_until_us == b->admit_until_us;
}

// The cheapest of those that are left; 0: none but the first.
static int cheapest(const struct rb_worth *worth, const bool *is_out, int n, double confidence)
{
    int best = 0;
    for (int i = 1; i < n; i++) {
        if (!is_out[i] && worth[i].kept.share >= confidence && worth[i].cost_uusd.mean < worth[best].cost_uusd.mean)
            best = i;
    }
    return best;
}

bool rb_worth_choose(const struct rb_plan *const *plans, int n, int ranked, int stated, int threads, int *out_chosen,
                     struct rb_worth *out, struct rb_err *err)
{
    const double confidence = plans[0]->confidence;
    RB_AUTO(rb_auto_free) struct rb_worth *worth = rb_xcalloc((size_t)n, sizeof *worth);
    RB_AUTO(rb_auto_free) bool *is_out = rb_xcalloc((size_t)n, sizeof *is_out);
    for (int i = 0; i < n; i++) {
        for (int before = 0; before < i; before++)
            is_out[i] = is_out[i] || has_same_stages(plans[before], plans[i]);
        if (!is_out[i] && !rb_worth_of(plans[i], 0, ranked, threads, &worth[i], err))
            return false;
    }
    for (;;) {
        const int i = cheapest(worth, is_out, n, confidence);
        if (!rb_worth_of(plans[i], FIRST_STATED, stated, threads, out, err))
            return false;
        *out_chosen = i;
        if (i == 0 || out->kept.share >= confidence)
            return true;
        is_out[i] = true; // the runs that chose it flattered it
    }
}
